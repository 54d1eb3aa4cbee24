// Kernels of programs whose results may be written over donated inputs; of others: emit_kernels in compiler.h.
#pragma once

#include "absl/types/span.h"
#include "jit/llvm/compiler.h"

namespace ct::jit {

// `donations`: by output, the input whose memory it may be (Plan::donations), or -1; empty: none is.
absl::StatusOr<Plan> emit_donating_kernels(const loop::Program& program, std::string_view architecture,
                                           const Machine& machine, absl::Span<const int> donations,
                                           int64_t without_barrier = -1);

}  // namespace ct::jit
