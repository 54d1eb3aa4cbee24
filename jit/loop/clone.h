// Copying statements of a program to another place in it, with fresh values: what passes that reorder loops are made
// of.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "jit/loop/loop.h"

namespace ct::loop {

class Cloner {
 public:
  explicit Cloner(Program& program) : program_(program) {}

  // Uses of `value` in what is cloned become `index` (an int64) or `replacement`.
  void replace(Value value, Index index) { map_.insert_or_assign(value, std::move(index)); }
  void replace_value(Value value, Value replacement) { map_.insert_or_assign(value, Index::of(replacement)); }

  // Loads of this buffer at an index at which the statements given to `clone` (not those in loops and branches inside)
  // have stored become the value stored.
  void forward(BufferId buffer) { forwarded_.insert(buffer); }

  // Appends copies to `block`.
  void clone(const std::vector<Statement>& statements, BlockId block);
  void clone(BlockId from, BlockId block);
  Index index(const Index& from) const;
  // What stands for a scalar; a sum of several values is computed at the end of `block`.
  Value value(Value from, BlockId block);

 private:
  void clone(Statement s, BlockId block);
  BlockId clone_block(BlockId from);
  Value fresh(Value from);
  void begin_carries(std::vector<Carry>& carries, BlockId block);
  void end_carries(std::vector<Carry>& carries, BlockId body);

  struct Stored {
    Index index;
    Value value;
  };

  Program& program_;
  absl::flat_hash_map<Value, Index> map_;
  absl::flat_hash_set<BufferId> forwarded_;
  absl::flat_hash_map<BufferId, Stored> stored_;
  int depth_ = 0;
};

// Makers of parts, for the same passes.

// What registers hold for elements of `dtype`: complex numbers are two of these.
DType machine_dtype(DType dtype);
Value new_value(Program& program, DType dtype, Range range = {});
BlockId new_block(Program& program);
BufferId new_temporary(Program& program, DType dtype, int64_t elements);
// A loop around a new, empty block, at the end of `block`.
struct NewLoop {
  Value variable;
  BlockId body;
};
NewLoop append_for(Program& program, BlockId block, const Index& extent, LoopOptions options);
// An instruction, which defines what is returned; of one machine element, a load at an index that is in bounds in any
// case, and a store.
Value append(Program& program, BlockId block, Statement instruction);
Value append_scalar(Program& program, BlockId block, ScalarOp op, Value a, Value b);
Value append_load(Program& program, BlockId block, BufferId buffer, Index index);
void append_store(Program& program, BlockId block, BufferId buffer, Index index, Value value);

// Whether all that happens in the block is arithmetic, loads, stores, loops and branches.
bool only_elements(const Program& program, BlockId block);

}  // namespace ct::loop
