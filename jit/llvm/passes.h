// Which of LLVM's code generation passes run. Its standard pipeline for x86 has about 140, made for code written by
// people; what the emitter writes (explicit vectors, addresses in order, no calls, exceptions or debug information)
// needs about 55. The others cost about 40 % of the time of code generation and change nothing that a benchmark could
// show: passes.cc lists them, by reason.
#pragma once

#include <llvm/IR/LegacyPassManager.h>

#include <string_view>
#include <vector>

#include "jit/llvm/target.h"

namespace ct::jit {

// Stands before a pass manager while a pipeline is added to it.
class PassFilter : public llvm::legacy::PassManagerBase {
 public:
  PassFilter(llvm::legacy::PassManagerBase& passes, const TargetFacts& facts) : passes_(passes), facts_(facts) {}
  void add(llvm::Pass* pass) override;  // takes the pass, as pass managers do
  // Names in the list that LLVM does not use: it renames a pass now and then, which would undo the list in silence.
  std::vector<std::string_view> unknown_names() const;

 private:
  llvm::legacy::PassManagerBase& passes_;
  const TargetFacts& facts_;
  std::vector<std::string_view> left_out_;
};

}  // namespace ct::jit
