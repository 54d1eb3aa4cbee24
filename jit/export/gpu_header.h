// The headers of libraries for GPUs: what C programs call, with which arrays, and what they get back.
#pragma once

#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "ir/graph.h"
#include "jit/export/gpu_library.h"
#include "jit/llvm/c_functions.h"

namespace ct {

// Of a program for a GPU of an architecture; `has_products`: cuBLASLt makes some.
std::string gpu_header(const Graph& graph, const GpuLibraryOptions& options, int64_t arena_bytes, bool has_products,
                       std::string_view architecture, absl::Span<const jit::BoundedInput> lengths);

}  // namespace ct
