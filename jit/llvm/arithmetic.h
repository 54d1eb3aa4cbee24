// Arithmetic of one element (or one vector of elements) in LLVM IR, with the semantics of ir/scalar_op.h.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "ir/scalar_op.h"
#include "jit/llvm/target.h"
#include "runtime/dtype.h"

namespace ct::jit {

// How a value of `dtype` is held: as in registers (bool is i1, the small floats are float), or as it lies in memory.
llvm::Type* register_type(llvm::LLVMContext& context, DType dtype);
llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype);

// Arithmetic on scalars or vectors alike. Operands of one call have equal types.
class Arithmetic {
 public:
  Arithmetic(llvm::IRBuilder<>& builder, const TargetFacts& facts) : b_(builder), facts_(facts) {}

  llvm::Value* apply(ScalarOp op, DType operand_dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* scale(llvm::Value* x, llvm::Value* exponent, llvm::Value* exponent_as_float);
  llvm::Value* mul_high(llvm::Value* a, llvm::Value* b);
  llvm::Value* convert(llvm::Value* value, DType from, DType to);
  // Between the forms in memory and in registers.
  llvm::Value* decode(llvm::Value* stored, DType dtype);
  llvm::Value* encode(llvm::Value* value, DType dtype);
  llvm::Value* constant(DType dtype, uint64_t bits);
  // All lanes of a vector into one value: halves against each other, the same tree whatever the target makes of it.
  llvm::Value* combine_lanes(ScalarOp op, DType dtype, llvm::Value* vector);
  // The neutral element of a reduction.
  llvm::Value* identity(ScalarOp op, DType dtype);

 private:
  llvm::Type* like(llvm::Type* element, llvm::Value* shape);
  llvm::Value* round_to(llvm::Value* value, DType dtype);
  llvm::Value* decode_small(llvm::Value* stored, DType dtype);
  llvm::Value* encode_small(llvm::Value* value, DType dtype);
  llvm::Value* apply_integer(ScalarOp op, bool is_signed, llvm::Value* a, llvm::Value* b);
  llvm::Value* apply_float(ScalarOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* round_without_instruction(ScalarOp op, llvm::Value* a);
  llvm::Value* root_without_instruction(llvm::Value* a);

  llvm::IRBuilder<>& b_;
  const TargetFacts& facts_;
};

}  // namespace ct::jit
