// The square root of float64 on processors whose arithmetic is of float32 only: LLVM would call libm.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

namespace ct::jit {

// double root(double), rounded as IEEE 754 says. The module's one.
llvm::Function* soft_root(llvm::Module& module);

}  // namespace ct::jit
