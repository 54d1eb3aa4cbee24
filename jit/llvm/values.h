// What the values of a program are in the function being made: in registers, in slots of the arena where they cross
// from one function to another, or behind pointers that a shared function is given.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <vector>

#include "absl/types/span.h"
#include "jit/llvm/function_builder.h"
#include "jit/llvm/outline.h"
#include "jit/loop/loop.h"

namespace ct::jit {

class Values {
 public:
  Values(const loop::Program& program, const Outline& outline, FunctionBuilder& code)
      : program_(program), outline_(outline), code_(code), values_(program.values.size()) {}

  void begin_function();
  // Null: not known here.
  llvm::Value*& operator[](loop::Value value) { return values_[value]; }
  void know(loop::Value value, llvm::Value* is);
  // The same for what a statement computes: values that other functions need go to their slots, too.
  void define(loop::Value value, llvm::Value* is);
  llvm::Value* slot_of(loop::Value value);
  llvm::Value* load_slot(loop::Value value);
  // Of a value that is in its slot: it is loaded where a statement uses it first. Loaded where they can first be had,
  // hundreds at once would be more than there are registers.
  void expect_in_slot(loop::Value value) { expected_.try_emplace(value, kOwnSlot); }
  void load_expected(loop::Value value);
  // The function is a part of the program: which slots it has for them, entries of a table say (table_of).
  void use_table(llvm::Value* table, uint64_t first, absl::Span<const loop::Value> values,
                 absl::Span<const loop::Value> results);

  llvm::DenseMap<loop::Value, llvm::Value*> varied;           // constants that are a shared function's parameters
  llvm::DenseMap<loop::Value, llvm::Value*> result_pointers;  // of a shared function

 private:
  const loop::Program& program_;
  const Outline& outline_;
  FunctionBuilder& code_;
  std::vector<llvm::Value*> values_;
  static constexpr uint64_t kOwnSlot = ~uint64_t{0};

  llvm::Value* slot_by_table(uint64_t entry);
  llvm::Value* load_from(loop::Value value, llvm::Value* slot);

  llvm::Value* table_ = nullptr;
  llvm::DenseMap<loop::Value, uint64_t> expected_, result_entries_;  // entries of the table
  std::vector<loop::Value> known_;                                   // those that this function has set
};

}  // namespace ct::jit
