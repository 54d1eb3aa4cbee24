// Where a NaN came from: for programs whose results hold one, when the user asked to be told (debug_nans).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/error.h"
#include "runtime/tensor.h"

namespace ct {

bool has_nan(const Tensor& tensor);

// The first equation that made, of operands without, a NaN that reached the outputs.
struct NanOrigin {
  std::string primitive;  // empty: `input` held it already
  LocationId location = kNoLocation;
  int input = -1;
};

// Runs the graph on these inputs, equation by equation. Padding of masked results does not count. Equations that act on
// the world and have no results are left out: they have happened.
std::optional<NanOrigin> find_nan(const Graph& graph, absl::Span<const Tensor> inputs);

// What debug_nans raises: Error(kFloatingPoint).
Error nan_error(const NanOrigin& origin, const Graph* graph = nullptr);

}  // namespace ct
