#include "jit/llvm/function_builder.h"

#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <map>

namespace ct::jit {

void FunctionBuilder::begin_function(llvm::Function* made) {
  function = made;
  inputs = outputs = arena = nullptr;
  b.SetInsertPoint(new_block("entry"));
}

llvm::AllocaInst* FunctionBuilder::new_register(llvm::Type* type, llvm::Constant* first) {
  llvm::IRBuilder<> entry = at_entry();
  llvm::AllocaInst* slot = entry.CreateAlloca(type);
  if (first != nullptr) entry.CreateStore(first, slot);
  registers_.push_back(slot);
  return slot;
}

void FunctionBuilder::promote_registers() {
  std::map<llvm::Function*, std::vector<llvm::AllocaInst*>> by_function;
  for (llvm::AllocaInst* slot : registers_) by_function[slot->getFunction()].push_back(slot);
  for (auto& [function, slots] : by_function) {
    llvm::DominatorTree tree(*function);
    llvm::PromoteMemToReg(slots, tree);
  }
  registers_.clear();
}

llvm::Value* FunctionBuilder::if_true(llvm::Value* condition, llvm::Value* otherwise,
                                      llvm::function_ref<llvm::Value*()> body) {
  if (condition == nullptr) return body();
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* inside = new_block("inside");
  llvm::BasicBlock* join = new_block("join");
  b.CreateCondBr(condition, inside, join);
  b.SetInsertPoint(inside);
  llvm::Value* value = body();
  llvm::BasicBlock* end = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  if (value == nullptr) return nullptr;
  llvm::PHINode* phi = b.CreatePHI(value->getType(), 2);
  phi->addIncoming(otherwise, before);
  phi->addIncoming(value, end);
  return phi;
}

LlvmValues FunctionBuilder::run_loop(llvm::Value* begin, llvm::Value* end, int64_t step, LlvmValues carries,
                                     LoopBody body) {
  auto* known_begin = llvm::dyn_cast<llvm::ConstantInt>(begin);
  auto* known_end = llvm::dyn_cast<llvm::ConstantInt>(end);
  bool guarded = true;
  if (known_begin != nullptr && known_end != nullptr) {
    int64_t first = known_begin->getSExtValue(), last = known_end->getSExtValue();
    if (first >= last) return carries;
    if (first + step >= last) return body(begin, carries);
    guarded = false;
  }
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* header = new_block("loop");
  llvm::BasicBlock* exit = new_block("done");
  if (guarded) {
    b.CreateCondBr(b.CreateICmpSLT(begin, end), header, exit);
  } else {
    b.CreateBr(header);
  }
  b.SetInsertPoint(header);
  llvm::PHINode* variable = b.CreatePHI(i64, 2);
  variable->addIncoming(begin, before);
  llvm::SmallVector<llvm::PHINode*, 4> phis;
  LlvmValues arguments;
  for (llvm::Value* carry : carries) {
    phis.push_back(b.CreatePHI(carry->getType(), 2));
    phis.back()->addIncoming(carry, before);
    arguments.push_back(phis.back());
  }
  LlvmValues next = body(variable, arguments);
  llvm::BasicBlock* latch = b.GetInsertBlock();
  llvm::Value* incremented = b.CreateNSWAdd(variable, b.getInt64(step));
  variable->addIncoming(incremented, latch);
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], latch);
  b.CreateCondBr(b.CreateICmpSLT(incremented, end), header, exit);
  b.SetInsertPoint(exit);
  if (guarded) {
    for (size_t i = 0; i < phis.size(); ++i) {
      llvm::PHINode* result = b.CreatePHI(next[i]->getType(), 2);
      result->addIncoming(carries[i], before);
      result->addIncoming(next[i], latch);
      next[i] = result;
    }
  }
  return next;
}

LlvmValues FunctionBuilder::run_in_spans(
    llvm::Value* begin, llvm::Value* end, int64_t step, int64_t span, LlvmValues carries, const LlvmValues& neutral,
    LoopBody body, llvm::function_ref<llvm::Value*(size_t carry, llvm::Value* a, llvm::Value* b)> combine) {
  return run_loop(begin, end, step * span, std::move(carries), [&](llvm::Value* first, const LlvmValues& totals) {
    llvm::Value* after = b.CreateNSWAdd(first, b.getInt64(step * span));
    LlvmValues sums = run_loop(first, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, after, end), step, neutral, body);
    for (size_t c = 0; c < sums.size(); ++c) sums[c] = combine(c, totals[c], sums[c]);
    return sums;
  });
}

}  // namespace ct::jit
