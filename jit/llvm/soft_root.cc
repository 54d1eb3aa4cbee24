// Digit by digit, in integers: "Freely distributable libm" (fdlibm), e_sqrt.c.
#include "jit/llvm/soft_root.h"

#include <llvm/IR/IRBuilder.h>

#include <utility>

namespace ct::jit {
namespace {

constexpr const char* kName = "soft_root";
constexpr int kMantissa = 52, kBias = 1023;

class Root {
 public:
  explicit Root(llvm::Module& module)
      : b_(module.getContext()),
        function_(llvm::Function::Create(llvm::FunctionType::get(b_.getDoubleTy(), {b_.getDoubleTy()}, false),
                                         llvm::GlobalValue::InternalLinkage, kName, module)) {
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(block("entry"));
  }

  llvm::Function* emit() {
    llvm::Value* bits = b_.CreateBitCast(function_->getArg(0), b_.getInt64Ty());
    llvm::Value* magnitude = b_.CreateAnd(bits, number(INT64_MAX));
    llvm::Value* infinity = number(int64_t{0x7ff} << kMantissa);
    return_if(b_.CreateOr(b_.CreateICmpEQ(magnitude, number(0)), b_.CreateICmpEQ(bits, infinity)), bits);
    return_if(b_.CreateICmpUGT(magnitude, infinity), b_.CreateOr(bits, number(int64_t{1} << (kMantissa - 1))));
    return_if(b_.CreateICmpSLT(bits, number(0)), number(int64_t{0xfff} << (kMantissa - 1)));
    const auto [exponent, mantissa] = parts(bits);
    // Of an even exponent, half of which is the result's.
    llvm::Value* odd = b_.CreateAnd(exponent, number(1));
    llvm::Value* half = b_.CreateAShr(exponent, number(1));
    llvm::Value* digits = root_of(b_.CreateShl(b_.CreateShl(mantissa, odd), number(1)));
    llvm::Value* shifted = b_.CreateShl(b_.CreateAdd(half, number(kBias - 1)), number(kMantissa));
    return_bits(b_.CreateAdd(b_.CreateLShr(digits, number(1)), shifted));
    return function_;
  }

 private:
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  llvm::ConstantInt* number(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  void return_bits(llvm::Value* bits) { b_.CreateRet(b_.CreateBitCast(bits, b_.getDoubleTy())); }
  void return_if(llvm::Value* condition, llvm::Value* bits) {
    llvm::BasicBlock* returns = block("returns");
    llvm::BasicBlock* next = block("next");
    b_.CreateCondBr(condition, returns, next);
    b_.SetInsertPoint(returns);
    return_bits(bits);
    b_.SetInsertPoint(next);
  }

  // The exponent without its bias, and the mantissa with its first bit.
  std::pair<llvm::Value*, llvm::Value*> parts(llvm::Value* bits) {
    llvm::Value* exponent = b_.CreateLShr(bits, number(kMantissa));
    llvm::Value* rest = b_.CreateAnd(bits, number((int64_t{1} << kMantissa) - 1));
    llvm::Value* subnormal = b_.CreateICmpEQ(exponent, number(0));
    llvm::Value* zeros = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, rest, b_.getFalse());
    // Of a subnormal number at most 63: it is not zero.
    llvm::Value* shift = b_.CreateSelect(subnormal, b_.CreateSub(zeros, number(63 - kMantissa)), number(0));
    llvm::Value* normal = b_.CreateOr(rest, number(int64_t{1} << kMantissa));
    return {b_.CreateSub(b_.CreateSelect(subnormal, b_.CreateSub(number(1), shift), exponent), number(kBias)),
            b_.CreateSelect(subnormal, b_.CreateShl(rest, shift), normal)};
  }

  // Two more bits than the mantissa has, the last of them rounded to even by what is left.
  llvm::Value* root_of(llvm::Value* of) {
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* loop = block("digit");
    llvm::BasicBlock* done = block("done");
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode* left = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* twice = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* root = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* digit = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::Value* trial = b_.CreateAdd(twice, digit);
    llvm::Value* fits = b_.CreateICmpULE(trial, left);
    llvm::Value* less = b_.CreateSelect(fits, b_.CreateSub(left, trial), left);
    llvm::Value* grown = b_.CreateSelect(fits, b_.CreateAdd(root, digit), root);
    const auto carry = [&](llvm::PHINode* phi, llvm::Value* first, llvm::Value* next) {
      phi->addIncoming(first, before);
      phi->addIncoming(next, loop);
    };
    carry(left, of, b_.CreateShl(less, number(1)));
    carry(twice, number(0), b_.CreateSelect(fits, b_.CreateAdd(trial, digit), twice));
    carry(root, number(0), grown);
    llvm::Value* smaller = b_.CreateLShr(digit, number(1));
    carry(digit, number(int64_t{1} << (kMantissa + 1)), smaller);
    b_.CreateCondBr(b_.CreateICmpEQ(smaller, number(0)), done, loop);
    b_.SetInsertPoint(done);
    llvm::Value* rounded = b_.CreateAdd(grown, b_.CreateAnd(grown, number(1)));
    return b_.CreateSelect(b_.CreateICmpEQ(less, number(0)), grown, rounded);
  }

  llvm::IRBuilder<> b_;
  llvm::Function* const function_;
};

}  // namespace

llvm::Function* soft_root(llvm::Module& module) {
  llvm::Function* known = module.getFunction(kName);
  return known != nullptr ? known : Root(module).emit();
}

}  // namespace ct::jit
