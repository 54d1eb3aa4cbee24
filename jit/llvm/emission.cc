#include "jit/llvm/emission.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cstdlib>

#include "jit/llvm/accesses.h"
#include "runtime/error.h"

namespace ct::jit {

using loop::For;
using loop::Index;
using loop::Statement;
using loop::StatementKind;

void begin_function(Emission& e, llvm::Function* function) {
  e.values.begin_function();
  e.addresses.begin_function();
  e.any_extent = {};
  e.code.begin_function(function);
}

// ------------------------------------------------------------------------------------------------------------- values

void begin_lanes(Emission& e, loop::Value variable, unsigned width) {
  e.lanes = {variable, width};
  e.constants.block = e.b.GetInsertBlock();
  e.constants.known.clear();
}

llvm::Value* value_of(Emission& e, loop::Value value) {
  return e.lanes.width != 0 && value == e.lanes.variable ? index_value(e, Index::of(value)) : e.values[value];
}

namespace {

// A constant inside a loop would be rebuilt, element by element, by each pass of instruction selection: half of all
// compile time. Outside, and behind a fence that no pass sees through, it is one register: all registers that the lanes
// take are that one.
llvm::Value* hoisted(Emission& e, llvm::Value* value) {
  const auto in_register = static_cast<unsigned>(e.code.facts.vector_bits) / value->getType()->getScalarSizeInBits();
  const unsigned lanes = std::min(e.lanes.width, in_register);
  llvm::Value*& known = e.constants.known[value];
  if (known == nullptr) {
    llvm::IRBuilder<>::InsertPointGuard guard(e.b);
    if (llvm::Instruction* end = e.constants.block->getTerminator()) {
      e.b.SetInsertPoint(end);
    } else {
      e.b.SetInsertPoint(e.constants.block);
    }
    known = e.b.CreateVectorSplat(lanes, value);
    if (llvm::isa<llvm::Constant>(known)) {
      known = e.b.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {known->getType()}, {known});
    }
  }
  if (lanes == e.lanes.width) return known;
  llvm::SmallVector<int, 64> repeated;
  for (unsigned i = 0; i < e.lanes.width; ++i) repeated.push_back(static_cast<int>(i % lanes));
  return e.b.CreateShuffleVector(known, repeated);
}

}  // namespace

llvm::Value* widen(Emission& e, llvm::Value* value) {
  if (e.lanes.width == 0 || value->getType()->isVectorTy()) return value;
  if (llvm::isa<llvm::ConstantFP, llvm::Argument>(value)) return hoisted(e, value);
  return e.b.CreateVectorSplat(e.lanes.width, value);
}

llvm::Constant* lane_numbers(llvm::Type* element, unsigned width) {
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (unsigned i = 0; i < width; ++i) numbers.push_back(llvm::ConstantInt::get(element, i));
  return llvm::ConstantVector::get(numbers);
}

Address address_of(Emission& e, const Index& index) {
  Address result{nullptr};
  for (const Index::Term& term : index.terms()) {
    llvm::Value* number = e.values[term.value];
    auto* factor = llvm::ConstantInt::getSigned(number->getType(), term.coefficient);
    llvm::Value* part = term.coefficient == 1 ? number : e.b.CreateMul(number, factor);
    if (e.lanes.width != 0 && term.value == e.lanes.variable) result.stride = term.coefficient;
    llvm::Value*& sum = number->getType()->isVectorTy() ? result.varying : result.uniform;
    sum = sum == nullptr ? part : e.b.CreateAdd(sum, part);
  }
  // The constant last: it becomes the displacement of the memory operand.
  if (result.uniform == nullptr) {
    result.uniform = e.b.getInt64(index.constant());
  } else if (index.constant() != 0) {
    result.uniform = e.b.CreateAdd(result.uniform, e.b.getInt64(index.constant()));
  }
  return result;
}

llvm::Value* index_value(Emission& e, const Index& index) {
  Address a = address_of(e, index);
  if (a.is_uniform()) return a.uniform;
  const loop::Range range = e.program.range_of(index);
  if (a.varying == nullptr && std::abs(a.stride) < INT32_MAX && range.low >= INT32_MIN && range.high <= INT32_MAX) {
    // Twice as many lanes fit a register; comparisons need no more (arithmetic.cc).
    llvm::Type* word = e.b.getInt32Ty();
    llvm::Value* lanes =
        e.b.CreateMul(lane_numbers(word, e.lanes.width), widen(e, llvm::ConstantInt::getSigned(word, a.stride)));
    llvm::Value* numbers = e.b.CreateAdd(widen(e, e.b.CreateTrunc(a.uniform, word)), lanes);
    return e.b.CreateSExt(numbers, llvm::FixedVectorType::get(e.code.i64, e.lanes.width));
  }
  llvm::Value* result = widen(e, a.uniform);
  if (a.stride != 0) {
    llvm::Value* lanes = lane_numbers(e.code.i64, e.lanes.width);
    result = e.b.CreateAdd(result, e.b.CreateMul(lanes, widen(e, e.b.getInt64(a.stride))));
  }
  return a.varying == nullptr ? result : e.b.CreateAdd(result, a.varying);
}

llvm::Value* uniform_index(Emission& e, const Index& index) {
  Address a = address_of(e, index);
  CT_CHECK(a.is_uniform());
  return a.uniform;
}

llvm::Value* extent_of(Emission& e, const For& loop) {
  return &loop == e.any_extent.loop ? e.any_extent.extent : uniform_index(e, loop.extent);
}

llvm::Value* emit_instruction(Emission& e, const Statement& s) {
  llvm::Value* operands[3] = {nullptr, nullptr, nullptr};
  bool vector = false;
  for (int i = 0; i < 3; ++i) {
    if (s.operands[i] == loop::kNoValue) continue;
    operands[i] = value_of(e, s.operands[i]);
    vector |= operands[i]->getType()->isVectorTy();
  }
  if (vector) {
    for (llvm::Value*& operand : operands) {
      if (operand != nullptr) operand = widen(e, operand);
    }
  }
  auto operand_dtype = [&] { return e.program.values[s.operands[0]].dtype; };
  switch (s.kind) {
    case StatementKind::kConstant:
      if (const auto at = e.values.varied.find(s.result); at != e.values.varied.end()) return at->second;
      return e.math.constant(s.dtype, s.bits);
    case StatementKind::kScalar:
      // Index arithmetic is mostly of numbers known not to be negative, whose unsigned division is cheaper.
      if ((s.op == ScalarOp::kDiv || s.op == ScalarOp::kRem) && s.dtype == DType::kInt64 &&
          e.program.values[s.operands[0]].range.low >= 0 && e.program.values[s.operands[1]].range.low > 0) {
        return s.op == ScalarOp::kDiv ? e.b.CreateUDiv(operands[0], operands[1])
                                      : e.b.CreateURem(operands[0], operands[1]);
      }
      return e.math.apply(s.op, operand_dtype(), operands[0], operands[1]);
    case StatementKind::kFma:
      return e.math.fma(operands[0], operands[1], operands[2]);
    case StatementKind::kScale:
      return e.math.scale(operands[0], operands[1], operands[2]);
    case StatementKind::kMulHigh:
      return e.math.mul_high(operands[0], operands[1]);
    case StatementKind::kSelect:
      return e.b.CreateSelect(operands[0], operands[1], operands[2]);
    case StatementKind::kConvert:
      return e.math.convert(operands[0], operand_dtype(), s.dtype);
    case StatementKind::kBitcast: {
      llvm::Value* stored = e.math.encode(operands[0], operand_dtype());
      llvm::Type* type = memory_type(e.code.context, s.dtype);
      if (auto* shape = llvm::dyn_cast<llvm::FixedVectorType>(stored->getType())) {
        type = llvm::FixedVectorType::get(type, shape->getNumElements());
      }
      return e.math.decode(e.b.CreateBitCast(stored, type), s.dtype);
    }
    case StatementKind::kIndex:
      return index_value(e, s.index);
    case StatementKind::kLoad:
      return emit_load(e, s.buffer, s.index, s.bits == 1);
    default:
      CT_CHECK(false);
  }
}

}  // namespace ct::jit
