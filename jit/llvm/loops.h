// Control flow: loops scalar and vectorised, reductions, While and If with their divergent forms.
#pragma once

#include <optional>

#include "jit/llvm/emit.h"
#include "jit/machine/vectorize.h"

namespace ct::jit {

void emit_for(CpuEmission& e, const loop::For& loop);
void emit_while(CpuEmission& e, const loop::While& loop);
void emit_if(CpuEmission& e, const loop::If& branch);

// Into spans of how many iterations a fold falls of which each element is added to the last sum, without lanes that
// have sums of their own; 0: none. About the root of their number, so that there are no more spans than iterations of
// one.
int64_t span_of(const CpuEmission& e, const loop::For& loop, int64_t iterations);
constexpr int64_t kUnknownIterations = 1024;  // where a length is data
// Iterations [begin, end), where begin is a multiple of any vector's width.
void emit_scalar_for(CpuEmission& e, const loop::For& loop, llvm::Value* begin, llvm::Value* end);
void emit_vector_for(CpuEmission& e, const loop::For& loop, Vectorization how, llvm::Value* begin, llvm::Value* end);
// Whether it was one (transposed_copies.cc).
bool emit_transposed_copy(CpuEmission& e, const loop::For& loop);

// Elements that are stored several times in a row, by an inner loop (repeats.cc).
struct Repeats {
  const loop::For* inner;
  unsigned width;
};
std::optional<Repeats> find_repeats(Emission& e, const loop::For& loop);
// All whole vectors from `begin` on; returns where they end.
llvm::Value* emit_repeats(CpuEmission& e, const loop::For& loop, const Repeats& repeats, llvm::Value* begin,
                          llvm::Value* end);

// Branches that lanes rarely take (rare_branches.cc). Lanes out of `active` have any results.
LlvmValues emit_rare(CpuEmission& e, loop::BlockId block, llvm::Value* active, absl::Span<const loop::Value> results);

}  // namespace ct::jit
