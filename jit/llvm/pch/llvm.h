// As runtime/pch/standard.h, with LLVM's.
#ifndef CT_PCH_LLVM_H  // compiled as a main file, of which there is no once
#define CT_PCH_LLVM_H

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "runtime/pch/standard.h"

#endif
