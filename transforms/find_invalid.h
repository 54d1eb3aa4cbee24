// Where a NaN, or an infinity, came from: for programs whose results hold one, when the user asked to be told
// (debug_nans, debug_infs).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "runtime/error.h"
#include "runtime/tensor.h"

namespace ct {

// What the user wants to be told of.
struct Invalid {
  bool nans = false, infs = false;
  bool any() const { return nans || infs; }
};

// The first such number of an array, "nan" or "inf"; empty: it has none.
std::string_view find_invalid(const Tensor& tensor, Invalid what);

// The first equation that made, of operands without, such a number that reached the outputs.
struct InvalidOrigin {
  std::string_view number;
  std::string primitive;  // empty: `input` held it already
  LocationId location = kNoLocation;
  int input = -1;
};

// Runs the graph on these inputs, equation by equation. Padding of masked results does not count. Equations that act on
// the world and have no results are left out: they have happened.
std::optional<InvalidOrigin> find_invalid(const Graph& graph, absl::Span<const Tensor> inputs, Invalid what);

// What debug_nans and debug_infs raise: Error(kFloatingPoint).
Error invalid_error(const InvalidOrigin& origin, const Graph* graph = nullptr);

}  // namespace ct
