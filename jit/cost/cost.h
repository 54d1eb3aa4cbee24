// How long parts of a program take on one core, about: from operations and bytes, by the table in runtime/processor.h.
// Good to a factor of two or three, which is what its users need: whether a loop is worth sharing
// among threads, whether another Python thread should have the interpreter meanwhile.
//
// It depends on the program alone, so that decisions made by it are the same everywhere.
#pragma once

#include <vector>

#include "jit/loop/loop.h"

namespace ct::jit {

class CostModel {
 public:
  explicit CostModel(const loop::Program& program) : program_(program), blocks_(2 * program.blocks.size(), -1) {}

  // In nanoseconds. `vectorized`: of one lane, inside a loop that runs on vectors.
  double statement(const loop::Statement& statement, bool vectorized = false);
  double block(loop::BlockId block, bool vectorized = false);
  // Of one iteration.
  double iteration(const loop::For& loop, bool vectorized = false);
  double gemm(const loop::Gemm& gemm) const;
  // The most iterations that there can be, where that is known, else a guess.
  double iterations(const loop::For& loop) const;
  double program() { return block(0); }

 private:
  double access(const loop::Statement& statement, bool vectorized) const;

  const loop::Program& program_;
  std::vector<double> blocks_;  // by block, scalar and vectorised; negative: not known yet
};

}  // namespace ct::jit
