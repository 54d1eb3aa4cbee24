// Reads the text form that print.h writes; `print(*parse(print(g)))` is `print(g)`, letter for letter.
//
//   graph   = "graph" "(" [input {"," input}] ")" "{" {equation} "}" "->" "(" [name {"," name}] ")"
//   input   = name ":" type
//   equation = [result {"," result}] "=" primitive {name} ["{" [attribute {"," attribute}] "}"]
//   result  = name [":" type]                        a type that is given is checked against the type rule's
//   type    = dtype "[" [size {"," size}] "]" ["*"]    "*": weak
//   attribute = key "=" value
//   value   = true | false | integer | real | "text" | dtype | [integers] | [reals]d | graph | <graphs>
//
// Line breaks and indentation are free, `#` starts a comment. Equations keep the line they stand on as their location.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace ct {

// `file` is what locations and errors call the text. Throws Error(kValue) "file:line:column: what is wrong"; a type
// rule's own Error comes through with the equation's location.
GraphPtr parse(std::string_view text, const std::string& file = "<text>");

}  // namespace ct
