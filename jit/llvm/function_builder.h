// Where code goes: a module, the function being made in it, what that function was given, and the place in it.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "jit/llvm/target.h"

namespace ct::jit {

using LlvmValues = llvm::SmallVector<llvm::Value*, 4>;
// An iteration: from the loop's variable and what it carries to what it carries on.
using LoopBody = llvm::function_ref<LlvmValues(llvm::Value*, const LlvmValues&)>;

struct FunctionBuilder {
  FunctionBuilder(Target& target, llvm::Module& module)
      : target(target), facts(target.facts()), module(module), context(target.context()), b(context) {}

  void begin_function(llvm::Function* made);
  llvm::BasicBlock* new_block(const char* name) { return llvm::BasicBlock::Create(context, name, function); }
  // At the begin of the function.
  llvm::IRBuilder<> at_entry() { return {&function->getEntryBlock(), function->getEntryBlock().begin()}; }
  llvm::Value* arena_at(int64_t offset) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), arena, static_cast<uint64_t>(offset));
  }
  // A stack slot that becomes values when all functions are complete.
  llvm::AllocaInst* new_register(llvm::Type* type, llvm::Constant* first = nullptr);
  void promote_registers();
  // What the body gives if the condition holds; without a condition (null) it always does.
  llvm::Value* if_true(llvm::Value* condition, llvm::Value* otherwise, llvm::function_ref<llvm::Value*()> body);
  // for (i = begin; i < end; i += step) carries = body(i, carries). No code for loops known to run zero times, no loop
  // for once.
  LlvmValues run_loop(llvm::Value* begin, llvm::Value* end, int64_t step, LlvmValues carries, LoopBody body);
  // The same for carries that are combined with what each iteration gives, in spans of so many iterations, each of
  // which starts with `neutral`: a sum of spans has the rounding errors of as many additions as a span and they are.
  LlvmValues run_in_spans(llvm::Value* begin, llvm::Value* end, int64_t step, int64_t span, LlvmValues carries,
                          const LlvmValues& neutral, LoopBody body,
                          llvm::function_ref<llvm::Value*(size_t carry, llvm::Value* a, llvm::Value* b)> combine);

  Target& target;
  const TargetFacts& facts;
  llvm::Module& module;
  llvm::LLVMContext& context;
  llvm::IRBuilder<> b;
  llvm::IntegerType* const i64 = b.getInt64Ty();
  std::string symbol;                                                            // of the entry
  uint32_t module_number = 0;                                                    // of the program's modules
  llvm::GlobalValue::LinkageTypes linkage = llvm::GlobalValue::InternalLinkage;  // between functions of the program
  llvm::Function* function = nullptr;
  llvm::Value *inputs = nullptr, *outputs = nullptr, *arena = nullptr;  // a shared one has only the last

 private:
  std::vector<llvm::AllocaInst*> registers_;
};

}  // namespace ct::jit
