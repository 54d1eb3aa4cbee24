// Which bits of `cpuid` code asks for, and the code that looks at them: functions of exported libraries do before they
// run it.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include "jit/llvm/c_functions.h"
#include "jit/llvm/target.h"

namespace ct::jit {

// Of the features that code for this target may use.
CpuWords cpu_words(const Target& target);
// bool fits(): whether the processor has them all.
llvm::Function* emit_fits(llvm::Module& module, const Target& target, const CpuWords& words);

}  // namespace ct::jit
