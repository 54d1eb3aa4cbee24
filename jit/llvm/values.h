// What the values of a program are in the function being made: in registers, in slots of the arena where they cross
// from one function to another, or behind pointers that a shared function is given.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <vector>

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

  llvm::DenseMap<loop::Value, llvm::Value*> varied;           // constants that are a shared function's parameters
  llvm::DenseMap<loop::Value, llvm::Value*> result_pointers;  // of a shared function

 private:
  const loop::Program& program_;
  const Outline& outline_;
  FunctionBuilder& code_;
  std::vector<llvm::Value*> values_;
  std::vector<loop::Value> known_;  // those that this function has set
};

}  // namespace ct::jit
