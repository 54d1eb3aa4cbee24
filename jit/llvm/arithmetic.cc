#include "jit/llvm/arithmetic.h"

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "jit/llvm/soft_root.h"
#include "jit/loop/float_layout.h"
#include "runtime/error.h"

namespace ct::jit {

using llvm::Intrinsic::ID;

namespace {

bool is_small_float(DType dtype) { return is_float(dtype) && dtype != DType::kFloat32 && dtype != DType::kFloat64; }

}  // namespace

llvm::Type* register_type(llvm::LLVMContext& context, DType dtype) {
  if (is_bool(dtype)) return llvm::Type::getInt1Ty(context);
  if (dtype == DType::kFloat64) return llvm::Type::getDoubleTy(context);
  if (is_float(dtype)) return llvm::Type::getFloatTy(context);
  return llvm::Type::getIntNTy(context, 8 * dtype_size(dtype));
}

llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) return register_type(context, dtype);
  return llvm::Type::getIntNTy(context, 8 * dtype_size(dtype));
}

llvm::Type* Arithmetic::like(llvm::Type* element, llvm::Value* shape) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape->getType());
  return vector == nullptr ? element : llvm::FixedVectorType::get(element, vector->getNumElements());
}

llvm::Value* Arithmetic::constant(DType dtype, uint64_t bits) {
  llvm::Type* type = register_type(b_.getContext(), dtype);
  if (dtype == DType::kFloat64) return llvm::ConstantFP::get(type, llvm::APFloat(std::bit_cast<double>(bits)));
  if (dtype == DType::kFloat32)
    return llvm::ConstantFP::get(type, llvm::APFloat(std::bit_cast<float>(static_cast<uint32_t>(bits))));
  if (is_float(dtype)) return decode_small(llvm::ConstantInt::get(memory_type(b_.getContext(), dtype), bits), dtype);
  return llvm::ConstantInt::get(type, bits);
}

llvm::Value* Arithmetic::identity(ScalarOp op, DType dtype) {
  llvm::Type* type = register_type(b_.getContext(), dtype);
  if (is_float(dtype)) {
    switch (op) {
      case ScalarOp::kAdd:
        return llvm::ConstantFP::getNegativeZero(type);
      case ScalarOp::kMul:
        return llvm::ConstantFP::get(type, 1.0);
      case ScalarOp::kMax:
        return llvm::ConstantFP::getInfinity(type, /*Negative=*/true);
      case ScalarOp::kMin:
        return llvm::ConstantFP::getInfinity(type);
      default:
        CT_CHECK(false);
    }
  }
  unsigned width = type->getIntegerBitWidth();
  bool is_signed = is_signed_integer(dtype);
  switch (op) {
    case ScalarOp::kMul:
      return llvm::ConstantInt::get(type, 1);
    case ScalarOp::kAnd:
      return llvm::ConstantInt::getAllOnesValue(type);
    case ScalarOp::kMax:
      return llvm::ConstantInt::get(
          type, is_signed ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getMinValue(width));
    case ScalarOp::kMin:
      return llvm::ConstantInt::get(
          type, is_signed ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width));
    default:
      return llvm::ConstantInt::get(type, 0);
  }
}

llvm::Value* Arithmetic::apply(ScalarOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
  if (is_float(dtype)) return apply_float(op, a, b);
  return apply_integer(op, is_signed_integer(dtype), a, b);
}

llvm::Value* Arithmetic::apply_float(ScalarOp op, llvm::Value* a, llvm::Value* b) {
  llvm::Type* type = a->getType();
  auto number = [&](double value) { return llvm::ConstantFP::get(type, value); };
  auto unary = [&](ID id) { return b_.CreateUnaryIntrinsic(id, a); };
  switch (op) {
    case ScalarOp::kNeg:
      return b_.CreateFNeg(a);
    case ScalarOp::kAbs:
      return unary(llvm::Intrinsic::fabs);
    case ScalarOp::kSign: {
      llvm::Value* one = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, number(1), a);
      // Zeros and NaN are their own sign.
      return b_.CreateSelect(b_.CreateFCmpONE(a, number(0)), one, a);
    }
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kRound:
      if (!facts_.rounds) return round_without_instruction(op, a);
      return unary(op == ScalarOp::kFloor  ? llvm::Intrinsic::floor
                   : op == ScalarOp::kCeil ? llvm::Intrinsic::ceil
                                           : llvm::Intrinsic::roundeven);
    case ScalarOp::kSqrt:
      if (!facts_.doubles && type->getScalarType()->isDoubleTy()) return root_without_instruction(a);
      return unary(llvm::Intrinsic::sqrt);
    case ScalarOp::kIsFinite:
      return b_.CreateFCmpONE(unary(llvm::Intrinsic::fabs), llvm::ConstantFP::getInfinity(type));
    case ScalarOp::kAdd:
      return b_.CreateFAdd(a, b);
    case ScalarOp::kSub:
      return b_.CreateFSub(a, b);
    case ScalarOp::kMul:
      return b_.CreateFMul(a, b);
    case ScalarOp::kDiv:
      return b_.CreateFDiv(a, b);
    case ScalarOp::kMax:
    case ScalarOp::kMin: {
      // One machine instruction gives b when the operands do not compare; the second select lets a NaN in a win.
      llvm::Value* ordered = op == ScalarOp::kMax ? b_.CreateFCmpOGT(a, b) : b_.CreateFCmpOLT(a, b);
      return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, b_.CreateSelect(ordered, a, b));
    }
    case ScalarOp::kEq:
      return b_.CreateFCmpOEQ(a, b);
    case ScalarOp::kNe:
      return b_.CreateFCmpUNE(a, b);
    case ScalarOp::kLt:
      return b_.CreateFCmpOLT(a, b);
    case ScalarOp::kLe:
      return b_.CreateFCmpOLE(a, b);
    case ScalarOp::kGt:
      return b_.CreateFCmpOGT(a, b);
    case ScalarOp::kGe:
      return b_.CreateFCmpOGE(a, b);
    default:
      break;
  }
  throw Error(ErrorKind::kInternal, "the loop IR has an operation on floats that it does not define")
      .op(scalar_op_info(op).name);
}

// Where LLVM would call libm. A sum with the least number that has no fraction bits is rounded to an integer.
llvm::Value* Arithmetic::round_without_instruction(ScalarOp op, llvm::Value* a) {
  auto number = [&](double value) { return llvm::ConstantFP::get(a->getType(), value); };
  llvm::Value* whole = number(std::ldexp(1.0, a->getType()->getScalarType()->isDoubleTy() ? 52 : 23));
  llvm::Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  llvm::Value* rounded =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, b_.CreateFSub(b_.CreateFAdd(size, whole), whole), a);
  if (op == ScalarOp::kFloor) {
    rounded = b_.CreateSelect(b_.CreateFCmpOGT(rounded, a), b_.CreateFSub(rounded, number(1)), rounded);
  } else if (op == ScalarOp::kCeil) {
    rounded = b_.CreateSelect(b_.CreateFCmpOLT(rounded, a), b_.CreateFAdd(rounded, number(1)), rounded);
  }
  rounded = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, rounded, a);
  // Larger numbers have no fraction; neither have infinities and NaN.
  return b_.CreateSelect(b_.CreateFCmpOLT(size, whole), rounded, a);
}

llvm::Value* Arithmetic::root_without_instruction(llvm::Value* a) {
  llvm::Function* root = soft_root(*b_.GetInsertBlock()->getModule());
  auto* shape = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  if (shape == nullptr) return b_.CreateCall(root, {a});
  llvm::Value* roots = llvm::PoisonValue::get(shape);
  for (uint64_t i = 0; i < shape->getNumElements(); ++i) {
    roots = b_.CreateInsertElement(roots, b_.CreateCall(root, {b_.CreateExtractElement(a, i)}), i);
  }
  return roots;
}

// A comparison of what was extended with a number that fits: of what it was before. A number that is not negative has
// the same order there whether signs count or not, as extending repeats the sign.
static void narrow_comparison(llvm::Value*& a, llvm::Value*& b) {
  auto* extended = llvm::dyn_cast<llvm::SExtInst>(a);
  auto* number = llvm::dyn_cast<llvm::Constant>(b);
  if (extended == nullptr || number == nullptr || !number->getType()->isVectorTy()) return;
  auto* splat = llvm::dyn_cast_or_null<llvm::ConstantInt>(number->getSplatValue());
  llvm::Type* type = extended->getOperand(0)->getType();
  const unsigned bits = type->getScalarSizeInBits();
  if (splat == nullptr || splat->isNegative() || !splat->getValue().isSignedIntN(bits)) return;
  a = extended->getOperand(0);
  b = llvm::ConstantInt::get(type, splat->getZExtValue());
}

llvm::Value* Arithmetic::apply_integer(ScalarOp op, bool is_signed, llvm::Value* a, llvm::Value* b) {
  if (is_comparison(op)) narrow_comparison(a, b);
  llvm::Type* type = a->getType();
  auto number = [&](int64_t value) { return llvm::ConstantInt::getSigned(type, value); };
  unsigned bits = type->getScalarSizeInBits();
  switch (op) {
    case ScalarOp::kNeg:
      return b_.CreateNeg(a);
    case ScalarOp::kAbs:
      return is_signed ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse()) : a;
    case ScalarOp::kSign: {
      llvm::Value* positive = b_.CreateZExt(b_.CreateICmpNE(a, number(0)), type);
      return is_signed ? b_.CreateSelect(b_.CreateICmpSLT(a, number(0)), number(-1), positive) : positive;
    }
    case ScalarOp::kNot:
      return b_.CreateNot(a);
    case ScalarOp::kPopulationCount:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, a);
    case ScalarOp::kLeadingZeros:
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a, b_.getFalse());
    case ScalarOp::kAdd:
      return b_.CreateAdd(a, b);
    case ScalarOp::kSub:
      return b_.CreateSub(a, b);
    case ScalarOp::kMul:
      return b_.CreateMul(a, b);
    case ScalarOp::kDiv:
    case ScalarOp::kRem: {
      // Divide by 1 where the machine would trap: by zero, and the least number by -1 (which is then its own quotient).
      llvm::Value* by_zero = b_.CreateICmpEQ(b, number(0));
      llvm::Value* unsafe = by_zero;
      if (is_signed) {
        llvm::Value* least = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(bits));
        unsafe = b_.CreateOr(by_zero, b_.CreateAnd(b_.CreateICmpEQ(a, least), b_.CreateICmpEQ(b, number(-1))));
      }
      llvm::Value* divisor = b_.CreateSelect(unsafe, number(1), b);
      if (op == ScalarOp::kDiv) {
        llvm::Value* quotient = is_signed ? b_.CreateSDiv(a, divisor) : b_.CreateUDiv(a, divisor);
        return b_.CreateSelect(by_zero, number(-1), quotient);
      }
      llvm::Value* remainder = is_signed ? b_.CreateSRem(a, divisor) : b_.CreateURem(a, divisor);
      return b_.CreateSelect(by_zero, a, remainder);
    }
    case ScalarOp::kMax:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    case ScalarOp::kMin:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case ScalarOp::kAnd:
      return b_.CreateAnd(a, b);
    case ScalarOp::kOr:
      return b_.CreateOr(a, b);
    case ScalarOp::kXor:
      return b_.CreateXor(a, b);
    case ScalarOp::kShl:
    case ScalarOp::kShrLogical: {
      llvm::Value* in_range = b_.CreateICmpULT(b, number(bits));
      llvm::Value* count = b_.CreateSelect(in_range, b, number(0));
      llvm::Value* shifted = op == ScalarOp::kShl ? b_.CreateShl(a, count) : b_.CreateLShr(a, count);
      return b_.CreateSelect(in_range, shifted, number(0));
    }
    case ScalarOp::kShrArithmetic:
      return b_.CreateAShr(a, b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b, number(bits - 1)));
    case ScalarOp::kEq:
      return b_.CreateICmpEQ(a, b);
    case ScalarOp::kNe:
      return b_.CreateICmpNE(a, b);
    case ScalarOp::kLt:
      return is_signed ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
    case ScalarOp::kLe:
      return is_signed ? b_.CreateICmpSLE(a, b) : b_.CreateICmpULE(a, b);
    case ScalarOp::kGt:
      return is_signed ? b_.CreateICmpSGT(a, b) : b_.CreateICmpUGT(a, b);
    case ScalarOp::kGe:
      return is_signed ? b_.CreateICmpSGE(a, b) : b_.CreateICmpUGE(a, b);
    default:
      break;
  }
  throw Error(ErrorKind::kInternal, "the loop IR has an operation on integers that it does not define")
      .op(scalar_op_info(op).name);
}

llvm::Value* Arithmetic::fma(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  const bool is_instruction = facts_.fma && (facts_.doubles || !a->getType()->getScalarType()->isDoubleTy());
  if (!is_instruction) return b_.CreateFAdd(b_.CreateFMul(a, b), c);
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

llvm::Value* Arithmetic::scale(llvm::Value* x, llvm::Value* exponent, llvm::Value* exponent_as_float) {
  const bool is_double = x->getType()->getScalarType()->isDoubleTy();
  auto* shape = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (shape != nullptr &&
      shape->getNumElements() * (is_double ? 64u : 32u) > static_cast<unsigned>(facts_.vector_bits)) {
    // Half by half.
    const auto lanes = static_cast<int>(shape->getNumElements());
    llvm::SmallVector<int, 64> all(static_cast<size_t>(lanes));
    std::iota(all.begin(), all.end(), 0);
    const llvm::ArrayRef<int> low = llvm::ArrayRef(all).take_front(static_cast<size_t>(lanes / 2));
    const llvm::ArrayRef<int> high = llvm::ArrayRef(all).take_back(static_cast<size_t>(lanes / 2));
    const auto half = [&](llvm::ArrayRef<int> part) {
      return scale(b_.CreateShuffleVector(x, part), b_.CreateShuffleVector(exponent, part),
                   b_.CreateShuffleVector(exponent_as_float, part));
    };
    llvm::Value* first = half(low);
    return b_.CreateShuffleVector(first, half(high), all);
  }
  if (facts_.arch == TargetFacts::Arch::kX86 && facts_.masks_any_size && shape != nullptr) {
    // AVX-512 has it as one instruction.
    llvm::Intrinsic::ID id = llvm::Intrinsic::not_intrinsic;
    switch (shape->getNumElements() * (is_double ? 64 : 32)) {
      case 512:
        id =
            is_double ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512 : llvm::Intrinsic::x86_avx512_mask_scalef_ps_512;
        break;
      case 256:
        id =
            is_double ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_256 : llvm::Intrinsic::x86_avx512_mask_scalef_ps_256;
        break;
      case 128:
        id =
            is_double ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_128 : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
        break;
      default:
        break;
    }
    if (id != llvm::Intrinsic::not_intrinsic) {
      const unsigned lanes = std::max(shape->getNumElements(), 8u);
      llvm::SmallVector<llvm::Value*, 5> arguments = {x, exponent_as_float, x,
                                                      llvm::Constant::getAllOnesValue(b_.getIntNTy(lanes))};
      if (shape->getNumElements() * (is_double ? 64 : 32) == 512)
        arguments.push_back(b_.getInt32(4));  // as the mode says
      return b_.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), arguments);
    }
  }
  // Two exact steps and one rounding, so that results may be subnormal and the exponent beyond the largest.
  llvm::Type* type = exponent->getType();
  const unsigned mantissa = is_double ? 52 : 23, bias = is_double ? 1023 : 127;
  auto power = [&](llvm::Value* n) {
    llvm::Value* biased = b_.CreateAdd(n, llvm::ConstantInt::get(type, bias));
    return b_.CreateBitCast(b_.CreateShl(biased, llvm::ConstantInt::get(type, mantissa)), x->getType());
  };
  llvm::Value* half = b_.CreateAShr(exponent, llvm::ConstantInt::get(type, 1));
  return b_.CreateFMul(b_.CreateFMul(x, power(half)), power(b_.CreateSub(exponent, half)));
}

llvm::Value* Arithmetic::mul_high(llvm::Value* a, llvm::Value* b) {
  unsigned bits = a->getType()->getScalarSizeInBits();
  if (bits == 64 && !facts_.wide_products) {
    // By halves: LLVM would call a function of the compiler's library.
    llvm::Value* low = llvm::ConstantInt::get(a->getType(), UINT32_MAX);
    llvm::Value *a_low = b_.CreateAnd(a, low), *a_high = b_.CreateLShr(a, 32);
    llvm::Value *b_low = b_.CreateAnd(b, low), *b_high = b_.CreateLShr(b, 32);
    llvm::Value* middle = b_.CreateAdd(b_.CreateMul(a_high, b_low), b_.CreateLShr(b_.CreateMul(a_low, b_low), 32));
    llvm::Value* other = b_.CreateAdd(b_.CreateMul(a_low, b_high), b_.CreateAnd(middle, low));
    return b_.CreateAdd(b_.CreateMul(a_high, b_high),
                        b_.CreateAdd(b_.CreateLShr(middle, 32), b_.CreateLShr(other, 32)));
  }
  llvm::Type* wide = like(b_.getIntNTy(2 * bits), a);
  llvm::Value* product = b_.CreateMul(b_.CreateZExt(a, wide), b_.CreateZExt(b, wide));
  return b_.CreateTrunc(b_.CreateLShr(product, llvm::ConstantInt::get(wide, bits)), a->getType());
}

// Halves against each other: the same tree whatever the target makes of it.
llvm::Value* Arithmetic::combine_lanes(ScalarOp op, DType dtype, llvm::Value* vector) {
  unsigned width = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  while (width > 1) {
    width /= 2;
    llvm::SmallVector<int, 64> low, high;
    for (unsigned i = 0; i < width; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(width + i));
    }
    vector = apply(op, dtype, b_.CreateShuffleVector(vector, low), b_.CreateShuffleVector(vector, high));
  }
  return b_.CreateExtractElement(vector, uint64_t{0});
}

// ----------------------------------------------------------------------------------------------------------
// conversions

llvm::Value* Arithmetic::decode(llvm::Value* stored, DType dtype) {
  if (is_bool(dtype)) return b_.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
  return is_small_float(dtype) ? decode_small(stored, dtype) : stored;
}

llvm::Value* Arithmetic::encode(llvm::Value* value, DType dtype) {
  if (is_bool(dtype)) return b_.CreateZExt(value, like(b_.getInt8Ty(), value));
  return is_small_float(dtype) ? encode_small(value, dtype) : value;
}

llvm::Value* Arithmetic::decode_small(llvm::Value* stored, DType dtype) {
  llvm::Type* word = like(b_.getInt32Ty(), stored);
  llvm::Type* real = like(b_.getFloatTy(), stored);
  if (dtype == DType::kBFloat16) return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(stored, word), 16), real);
  if (dtype == DType::kFloat16 && facts_.half_conversions) {
    return b_.CreateFPExt(b_.CreateBitCast(stored, like(b_.getHalfTy(), stored)), real);
  }
  auto number = [&](uint32_t bits) { return llvm::ConstantInt::get(word, bits); };
  if (dtype == DType::kFloat8E8M0FNU) {
    llvm::Value* exponent = b_.CreateZExt(stored, word);
    llvm::Value* power = b_.CreateShl(exponent, 23);
    power = b_.CreateSelect(b_.CreateICmpEQ(exponent, number(0)), number(0x400000), power);
    power = b_.CreateSelect(b_.CreateICmpEQ(exponent, number(0xff)), number(0x7fc00000), power);
    return b_.CreateBitCast(power, real);
  }
  const loop::FloatLayout f = loop::float_layout(dtype);
  uint32_t magnitude_mask = (1u << (f.bits - 1)) - 1;
  llvm::Value* bits = b_.CreateZExt(stored, word);
  llvm::Value* magnitude = b_.CreateAnd(bits, number(magnitude_mask));
  llvm::Value* sign = b_.CreateShl(b_.CreateAnd(bits, number(1u << (f.bits - 1))), 32 - f.bits);
  // Read the fields as a float32: too small by a power of two, which one exact product puts right, subnormals included.
  llvm::Value* shifted = b_.CreateShl(magnitude, 23 - f.mantissa);
  llvm::Value* scaled =
      b_.CreateFMul(b_.CreateBitCast(shifted, real), llvm::ConstantFP::get(real, std::ldexp(1.0, 126 + f.least)));
  llvm::Value* result = b_.CreateBitCast(scaled, word);
  if (f.specials == Specials::kInfinities) {
    uint32_t infinity = magnitude_mask & ~((1u << f.mantissa) - 1);
    result = b_.CreateSelect(b_.CreateICmpUGE(magnitude, number(infinity)), b_.CreateOr(shifted, number(0x7f800000)),
                             result);
  } else if (f.specials == Specials::kAllOnesNan) {
    result = b_.CreateSelect(b_.CreateICmpEQ(magnitude, number(magnitude_mask)), number(0x7fc00000), result);
  }
  result = b_.CreateOr(result, sign);
  if (f.specials == Specials::kNegativeZeroNan) {
    result = b_.CreateSelect(b_.CreateICmpEQ(bits, number(1u << (f.bits - 1))), number(0x7fc00000), result);
  }
  return b_.CreateBitCast(result, real);
}

// `value` is exactly representable in dtype.
llvm::Value* Arithmetic::encode_small(llvm::Value* value, DType dtype) {
  llvm::Type* word = like(b_.getInt32Ty(), value);
  llvm::Type* narrow = like(memory_type(b_.getContext(), dtype), value);
  llvm::Value* bits = b_.CreateBitCast(value, word);
  if (dtype == DType::kBFloat16) return b_.CreateTrunc(b_.CreateLShr(bits, 16), narrow);
  if (dtype == DType::kFloat16 && facts_.half_conversions) {
    return b_.CreateBitCast(b_.CreateFPTrunc(value, like(b_.getHalfTy(), value)), narrow);
  }
  auto number = [&](uint32_t bits) { return llvm::ConstantInt::get(word, bits); };
  if (dtype == DType::kFloat8E8M0FNU) {
    llvm::Value* is_nan = b_.CreateFCmpUNO(value, value);
    return b_.CreateTrunc(b_.CreateSelect(is_nan, number(0xff), b_.CreateLShr(bits, 23)), narrow);
  }
  const loop::FloatLayout f = loop::float_layout(dtype);
  llvm::Value* sign = b_.CreateAnd(b_.CreateLShr(bits, 32 - f.bits), number(1u << (f.bits - 1)));
  llvm::Value* absolute = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  llvm::Value* magnitude = b_.CreateAnd(bits, number(0x7fffffff));
  llvm::Value* normal = b_.CreateSub(b_.CreateLShr(magnitude, 23 - f.mantissa), number((126 + f.least) << f.mantissa));
  llvm::Value* is_small = b_.CreateFCmpOLT(absolute, llvm::ConstantFP::get(value->getType(), std::ldexp(1.0, f.least)));
  llvm::Value* units =
      b_.CreateFMul(absolute, llvm::ConstantFP::get(value->getType(), std::ldexp(1.0, f.mantissa - f.least)));
  // Huge values would make the conversion undefined; the select below does not use them.
  units = b_.CreateSelect(is_small, units, llvm::ConstantFP::get(value->getType(), 0.0));
  llvm::Value* result = b_.CreateSelect(is_small, b_.CreateFPToSI(units, word), normal);
  uint32_t all = (1u << (f.bits - 1)) - 1;
  llvm::Value* is_nan = b_.CreateICmpUGT(magnitude, number(0x7f800000));
  if (f.specials == Specials::kInfinities) {
    uint32_t infinity = all & ~((1u << f.mantissa) - 1);
    result = b_.CreateSelect(b_.CreateICmpEQ(magnitude, number(0x7f800000)), number(infinity), result);
    result = b_.CreateSelect(is_nan, number(infinity | 1u << (f.mantissa - 1)), result);
  } else if (f.specials == Specials::kAllOnesNan) {
    result = b_.CreateSelect(is_nan, number(all), result);
  }
  result = b_.CreateOr(result, sign);
  if (f.specials == Specials::kNegativeZeroNan) result = b_.CreateSelect(is_nan, number(1u << (f.bits - 1)), result);
  return b_.CreateTrunc(result, narrow);
}

// A float to the nearest float that dtype can represent, ties to even.
llvm::Value* Arithmetic::round_to(llvm::Value* value, DType dtype) {
  if (dtype == DType::kFloat16 && facts_.half_conversions) {
    return b_.CreateFPExt(b_.CreateFPTrunc(value, like(b_.getHalfTy(), value)), value->getType());
  }
  llvm::Type* word = like(b_.getInt32Ty(), value);
  auto number = [&](uint32_t bits) { return llvm::ConstantInt::get(word, bits); };
  llvm::Value* bits = b_.CreateBitCast(value, word);
  if (dtype == DType::kFloat8E8M0FNU) {
    // The steps of Float8E8M0FNU's constructor.
    llvm::Value* power = b_.CreateAnd(b_.CreateAdd(bits, number(0x400000)), number(0xff800000));
    llvm::Value* tiny = b_.CreateSelect(b_.CreateICmpULT(bits, number(0x600000)), number(0x400000), number(0x800000));
    power = b_.CreateSelect(b_.CreateICmpULT(bits, number(0x800000)), tiny, power);
    llvm::Value* is_number = b_.CreateICmpULT(b_.CreateSub(bits, number(1)), number(0x7f000000 + 0x3fffff));
    return b_.CreateBitCast(b_.CreateSelect(is_number, power, number(0x7fc00000)), value->getType());
  }
  const loop::FloatLayout f = loop::float_layout(dtype);
  int dropped = 23 - f.mantissa;
  llvm::Value* odd = b_.CreateAnd(b_.CreateLShr(bits, dropped), number(1));
  llvm::Value* rounded = b_.CreateAdd(bits, b_.CreateAdd(odd, number((1u << (dropped - 1)) - 1)));
  llvm::Value* result = b_.CreateBitCast(b_.CreateAnd(rounded, number(~((1u << dropped) - 1))), value->getType());
  auto real = [&](double x) { return llvm::ConstantFP::get(value->getType(), x); };
  if (dtype != DType::kBFloat16) {
    llvm::Value* absolute = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
    // Adding a number whose last place is the smallest subnormal of dtype rounds to it.
    llvm::Value* magic = real(std::ldexp(1.0, f.least - f.mantissa + 23));
    llvm::Value* small = b_.CreateFSub(b_.CreateFAdd(absolute, magic), magic);
    small = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, small, value);
    result = b_.CreateSelect(b_.CreateFCmpOLT(absolute, real(std::ldexp(1.0, f.least))), small, result);
    llvm::Value* overflow = f.specials == Specials::kInfinities
                                ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign,
                                                           llvm::ConstantFP::getInfinity(value->getType()), value)
                                : llvm::ConstantFP::getNaN(value->getType());
    llvm::Value* rounded_size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, result);
    result = b_.CreateSelect(b_.CreateFCmpOGT(rounded_size, real(f.largest)), overflow, result);
  }
  if (f.specials == Specials::kNegativeZeroNan) {
    result = b_.CreateSelect(b_.CreateFCmpOEQ(result, real(0)), real(0), result);
  }
  // The carry of the addition above may have made a NaN anything.
  llvm::Value* nan =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::getNaN(value->getType()), value);
  return b_.CreateSelect(b_.CreateFCmpUNO(value, value), nan, result);
}

llvm::Value* Arithmetic::convert(llvm::Value* value, DType from, DType to) {
  if (from == to) return value;
  llvm::Type* type = like(register_type(b_.getContext(), to), value);
  if (is_bool(to)) {
    llvm::Value* zero = llvm::Constant::getNullValue(value->getType());
    return is_float(from) ? b_.CreateFCmpUNE(value, zero) : b_.CreateICmpNE(value, zero);
  }
  if (is_float(from) && is_float(to)) {
    if (from == DType::kFloat64 && is_small_float(to)) {
      // Through float32 rounded to odd, so that the second rounding sees what the first one dropped.
      llvm::Type* word = like(b_.getInt32Ty(), value);
      llvm::Value* nearest = b_.CreateFPTrunc(value, type);
      llvm::Value* back = b_.CreateFPExt(nearest, value->getType());
      llvm::Value* too_big = b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                              b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
      llvm::Value* bits = b_.CreateSub(b_.CreateBitCast(nearest, word), b_.CreateZExt(too_big, word));
      bits = b_.CreateOr(bits, b_.CreateZExt(b_.CreateFCmpONE(back, value), word));
      return round_to(b_.CreateBitCast(bits, type), to);
    }
    if (to == DType::kFloat64) return b_.CreateFPExt(value, type);
    if (from == DType::kFloat64) return b_.CreateFPTrunc(value, type);
    return is_small_float(to) ? round_to(value, to) : value;
  }
  if (is_float(to)) {
    value = is_signed_integer(from) ? b_.CreateSIToFP(value, type) : b_.CreateUIToFP(value, type);
    return is_small_float(to) ? round_to(value, to) : value;
  }
  if (is_float(from)) {
    ID id = is_signed_integer(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b_.CreateIntrinsic(id, {type, value->getType()}, {value});
  }
  return b_.CreateIntCast(value, type, is_signed_integer(from));
}

}  // namespace ct::jit
