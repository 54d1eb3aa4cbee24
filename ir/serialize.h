// The saved form of a graph: a header (magic, format version, the document's length, checksum), one CBOR document, and
// the bytes of the arrays that are saved with it.
//
//   {"primitives": [name...],             what equations refer to by number, so are the next two
//    "avals": [[dtype, weak, size...]...],
//    "locations": [[file, line, function]...],
//    "graphs": [{"inputs": [aval...], "names": [text...],
//                "equations": [[primitive, location, [operand...], [aval...], [[key, kind, value]...]]...],
//                "outputs": [variable...]}...],
//    "constants": count}                 of the last inputs of the saved graph: their values follow, one after the
//    other
//
// Graphs stand after the graphs that their attributes hold and refer to them by number; equal ones are saved once; the
// last is the saved one. Variables are numbered as in Graph. Reals are saved as their 64 bits.
//
// Files of every released version load forever: `kFormatVersion` goes up with each change of this layout, and `load`
// keeps a reader for each. Loading trusts nothing. Every equation is bound anew, so that its type rule has checked
// operands and attributes, and results must have the recorded types. Whatever is wrong gives Error(kCorruptFile).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "ir/graph.h"
#include "runtime/tensor.h"

namespace ct {

inline constexpr uint32_t kFormatVersion = 2;  // 1: no constants

struct SaveOptions {
  bool locations = true;    // file, line and function of each equation
  bool directories = true;  // where the file is
};

// A graph with the values of its last inputs, or of none.
struct SavedProgram {
  GraphPtr graph;
  std::vector<Tensor> constants;
};

// Throws Error(kUnsupported) for graphs that hold opaque values.
std::string serialize(const Graph& graph, const SaveOptions& options = {}, absl::Span<const Tensor> constants = {});
SavedProgram deserialize_program(std::string_view bytes);
GraphPtr deserialize(std::string_view bytes);  // the graph alone

}  // namespace ct
