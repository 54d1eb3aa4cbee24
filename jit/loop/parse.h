// Reads the text that to_string writes; `to_string(parse(to_string(p)))` is `to_string(p)`, letter for letter.
//
//   program   = "program" name "(" "arena" bytes "bytes" ")" {buffer} {statement}
//   buffer    = "buffer" array ":" dtype "[" elements "]" ["=" "hexadecimal digits"]     a constant's bytes
//   array     = "in"N | "out"N | "temp"N "@" offset | "const"N     N: argument number; position in the list of buffers
//   statement = defined ":" dtype "=" instruction
//             | "store" at "=" value | "fill" at "count" index "byte" N | "copy" at "=" at "count" index
//             | "swap" array "," array | "gemm" MxNxK matrix ("=" | "+=") matrix "@" matrix
//             | "host" "call" N "name" "(" arrays ")" "=" "(" arrays ")"
//             | "for" defined "<" index ["parallel"] ["vectorize"] ["whole"] [carries body | block]
//             | "while" [carries] block "do" "if" value body
//             | "if" value block ["else" block] {"merge" defined "=" "then" value "else" value}
//   instruction = number | "bits" N | operation values | "index" index | "load" at ["always"]
//   carries   = "carry" defined "=" (operation | defined) "from" value {"," ...}
//   body      = block "yield" {value}
//   value     = "%"N;  defined = value ["in" "[" low "," high "]"], "_" for an end that is not known
//   at        = array "[" index "]";  index = term {"+" term};  term = N | [N "*"] value
//
// A block is indented by two spaces more than the statement that it belongs to.
#pragma once

#include <string>
#include <string_view>

#include "jit/loop/loop.h"

namespace ct::loop {

// `file` is what errors call the text. Throws Error(kValue) "file:line:column: what is wrong". What is read names only
// what there is; whether it is legal is for `check` to say.
Program parse(std::string_view text, const std::string& file = "<text>");

}  // namespace ct::loop
