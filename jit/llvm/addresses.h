// Where the arrays of a program are in the function being made.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <vector>

#include "jit/llvm/function_builder.h"
#include "jit/llvm/outline.h"
#include "jit/loop/loop.h"

namespace ct::jit {

using BufferIds = llvm::SmallVector<loop::BufferId, 16>;

class Addresses {
 public:
  Addresses(const loop::Program& program, const Outline& outline, FunctionBuilder& code)
      : program_(program),
        outline_(outline),
        code_(code),
        bases_(program.buffers.size()),
        constants_(program.buffers.size()) {}

  void begin_function();
  // A shared function is given pointers that may be outside of their arrays, until an index is added.
  void begin_shared() { is_shared_ = true; }
  // A part of the program finds its arrays in a table (table_of).
  // Returns how many entries these have.
  uint64_t use_table(llvm::Value* table, absl::Span<const loop::BufferId> arrays);
  void set_swapping(absl::Span<const loop::BufferId> buffers);
  // Of a buffer that swaps in this function only: its pointer is in a register.
  void keep_in_register(loop::BufferId buffer, llvm::Value* is);

  llvm::Value* base(loop::BufferId buffer);
  llvm::Value* original_base(loop::BufferId buffer);  // before any swap
  llvm::Value* element_pointer(loop::BufferId buffer, llvm::Value* index);
  llvm::GlobalVariable* constant(loop::BufferId buffer);
  void swap(loop::BufferId a, loop::BufferId b);
  void keep(loop::BufferId buffer, llvm::Value* is);  // of a buffer that swaps: where it is from here on

  // Null: of a constant, of a buffer that swaps, or of one that is looked up at the next statement that uses it.
  llvm::Value* known_base(loop::BufferId buffer) const { return bases_[buffer]; }
  void set_base(loop::BufferId buffer, llvm::Value* is);
  // Reads pointers once, until `forget`: those that the statement and the ones inside it use; those that swaps
  // elsewhere may change, for a loop without one.
  BufferIds know_bases(const loop::Statement& statement);
  BufferIds know_swapping(loop::BlockId body);
  void forget(absl::Span<const loop::BufferId> buffers);

  bool are_known = false;  // inside a statement: the bases of all that it uses

 private:
  llvm::Value* base_by_table(loop::BufferId buffer);

  const loop::Program& program_;
  const Outline& outline_;
  FunctionBuilder& code_;
  bool is_shared_ = false;  // the function
  std::vector<llvm::Value*> bases_;
  bool swaps(loop::BufferId buffer) const {
    return outline_.pointer_slots.contains(buffer) || pointer_registers_.contains(buffer);
  }
  llvm::Value* pointer_slot(loop::BufferId buffer);

  std::vector<loop::BufferId> known_, swapping_;  // buffers of this function
  llvm::DenseMap<loop::BufferId, llvm::Value*> pointer_registers_;
  llvm::Value* table_ = nullptr;
  llvm::DenseMap<loop::BufferId, uint64_t> table_entries_;  // where the part's arrays are in it
  std::vector<llvm::GlobalVariable*> constants_;
};

// Tables above this size exist once in a program of several modules.
inline constexpr size_t kLargeTable = 1 << 12;
// Of each array of a call, what base_by_table finds: for temporaries the byte in the arena, for inputs and outputs the
// position in their list and the byte from there.
llvm::GlobalVariable* table_of(const OutlinedCall& call, const loop::Program& program, const Outline& outline,
                               FunctionBuilder& code);

}  // namespace ct::jit
