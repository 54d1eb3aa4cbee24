// One machine to emit for: LLVM's TargetMachine, its code generation pipeline (kept alive: building it costs more than
// compiling a small kernel), and the few facts that the emitter asks about.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/llvm/compiler.h"
#include "jit/machine/target_facts.h"

namespace ct::jit {

// Not thread safe: `borrow_target` hands each to one thread at a time.
class Target {
 public:
  static absl::StatusOr<std::unique_ptr<Target>> create(const TargetOptions& options);

  const TargetFacts& facts() const { return facts_; }
  // The level whose ready-made functions its processor can call, or 0 (tiles.h).
  int ready_level() const;
  llvm::LLVMContext& context() { return *context_; }
  bool has_feature(const char* name) const;  // by LLVM's name
  unsigned pointer_bits() const { return machine_->getPointerSizeInBits(0); }
  // An empty module with this target's triple and data layout.
  std::unique_ptr<llvm::Module> new_module(std::string_view name);
  // Attributes that every function needs to be compiled for this cpu.
  void set_attributes(llvm::Function* function) const;
  // Runs the pipeline. Object code, or text: assembly, PTX.
  std::string emit(llvm::Module& module, bool as_text = false);
  std::vector<std::string> unknown_pass_names();  // compiler.h
  // After something was thrown through LLVM: never used again, and not destroyed either.
  void abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }

 private:
  struct Pipeline {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream{bytes};
    llvm::legacy::PassManager passes;
  };
  std::unique_ptr<Pipeline> build_pipeline(bool as_text, std::vector<std::string>* unknown_names = nullptr);

  void new_context();

  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<Pipeline> object_pipeline_;
  TargetFacts facts_;          // what programs are made for
  TargetFacts machine_facts_;  // what they run on
  int modules_ = 0;            // since the context was made
  bool abandoned_ = false;
};

// A target from the pool of those that no thread uses, or a new one; it returns to the pool with the handle.
using TargetHandle = std::unique_ptr<Target, void (*)(Target*)>;
absl::StatusOr<TargetHandle> borrow_target(const TargetOptions& options);
// The same for a thread that helps one which has its own: it does not wait for the warm-up, which it may be part of.
absl::StatusOr<TargetHandle> borrow_another_target(const TargetOptions& options);
size_t idle_targets(const TargetOptions& options);
// Behind those that have been used, which are in the processor's caches.
void add_idle_target(const TargetOptions& options, std::unique_ptr<Target> target);

}  // namespace ct::jit
