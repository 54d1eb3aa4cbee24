// The text form of a graph, which parse.h reads back:
//
//   graph (x: float32[3], y: float32[3]) {
//     a: float32[3] = mul x y
//     b: float32[] = reduce_sum a {axes=[0]}
//   } -> (b)
//
// Variables are named after the input's name where it is an identifier, else a, b, …, z, aa, …; attributes follow in
// braces, sub-graphs inside them. `print_annotated` adds bytes and the user's line to every equation for people.
#pragma once

#include <string>

#include "ir/graph.h"

namespace ct {

std::string print(const Graph& graph);
std::string print_annotated(const Graph& graph);
std::string print_attr(const AttrValue& value);  // 3, 2.5, true, "text", float32, [1, 2], [0.5, 1.0]d, graph (...)...

}  // namespace ct
