// Nests that schedule/order.cc gives another order: one file for each kind, and what they share.
#pragma once

#include <vector>

#include "jit/loop/loop.h"

namespace ct::jit {

inline constexpr int64_t kLeastOrdered = 1 << 15;  // elements of a nest: what fits the first cache needs no order
inline constexpr size_t kMostPrologue = 6;         // statements that are done anew in each row

// A loop around the nest, whose iterations may run at once: what a nest keeps in memory, each has for itself.
struct ParallelLoop {
  loop::Value variable;
  int64_t extent;
};

int64_t constant_extent(const loop::For& loop);         // 0 where it is no constant
int64_t largest_divisor(int64_t number, int64_t most);  // up to `most`; 1 where there is none

// The statement of a block that is its only loop, with nothing but instructions before it; -1 if there is no such.
int only_loop(const loop::Program& program, loop::BlockId block);

void append_gemm(loop::Program& program, loop::BlockId block, loop::Gemm gemm);

// Replaces the statement by those of another block.
void replace_statement(loop::Program& program, loop::BlockId block, size_t position, loop::BlockId made);

// Both replace the nest at `position` of the block if it is of their kind and large enough, and say whether they did.
bool fold_by_rows(loop::Program& program, loop::BlockId block, size_t position,
                  const std::vector<ParallelLoop>& around);
bool tile_transpose(loop::Program& program, loop::BlockId block, size_t position,
                    const std::vector<ParallelLoop>& around);

}  // namespace ct::jit
