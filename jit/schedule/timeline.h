// When each buffer of a program lives.
#pragma once

#include <vector>

#include "jit/loop/loop.h"

namespace ct::jit {

// Where the statements of a program are, in the order of the text. A lifetime is a stretch of one block: the innermost
// that contains all uses. Uses in a loop's body only are a lifetime within one iteration, as whatever is not carried
// is written before it is read; but iterations of a parallel loop may run at once, so there it is the whole loop.
struct Interval {
  loop::BlockId block = loop::kNoBlock;
  int first = 0, last = 0;
  bool used() const { return block != loop::kNoBlock; }
};

class Timeline {
 public:
  explicit Timeline(const loop::Program& program);

  // The statement of `block` that is under way at this time.
  struct Moment {
    const loop::Statement* statement;
    int last;
  };
  Moment statement_at(loop::BlockId block, int time) const;

  const Interval& lifetime(loop::BufferId id) { return lifetimes_[find(id)]; }
  // By statements of the whole program.
  Interval outer_lifetime(loop::BufferId id);
  // They become one buffer.
  void join(loop::BufferId from, loop::BufferId to);
  // One number for all buffers that swaps connect, or that have become one.
  loop::BufferId find(loop::BufferId id);

 private:
  struct Block {
    loop::BlockId parent = loop::kNoBlock;
    int depth = 0;
    int first = 0, last = 0;  // of the statement that it belongs to
    std::vector<int> starts;  // of its own statements
    int end = 0;              // of the last of them
  };

  void number(loop::BlockId block, int depth);
  void collect(loop::BlockId block, const Interval& parallel);
  void climb(Interval& interval) const;
  void merge(Interval& into, Interval other) const;

  const loop::Program& program_;
  std::vector<Block> blocks_;
  std::vector<Interval> lifetimes_;
  std::vector<loop::BufferId> group_;
  int now_ = 0;
};

}  // namespace ct::jit
