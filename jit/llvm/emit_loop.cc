// Control flow: loops scalar and vectorised, reductions, While and If with their divergent forms.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "jit/llvm/emit.h"

namespace ct::jit {

using loop::BlockId;
using loop::Carry;
using loop::For;
using loop::Statement;
using loop::StatementKind;

Emitter::Values Emitter::run_loop(llvm::Value* begin, llvm::Value* end, int64_t step, Values carries,
                                  llvm::function_ref<Values(llvm::Value*, const Values&)> body) {
  auto* known_begin = llvm::dyn_cast<llvm::ConstantInt>(begin);
  auto* known_end = llvm::dyn_cast<llvm::ConstantInt>(end);
  bool guarded = true;
  if (known_begin != nullptr && known_end != nullptr) {
    int64_t first = known_begin->getSExtValue(), last = known_end->getSExtValue();
    if (first >= last) return carries;
    if (first + step >= last) return body(begin, carries);
    guarded = false;
  }
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = new_block("loop");
  llvm::BasicBlock* exit = new_block("done");
  if (guarded) {
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), header, exit);
  } else {
    b_.CreateBr(header);
  }
  b_.SetInsertPoint(header);
  llvm::PHINode* variable = b_.CreatePHI(i64_, 2);
  variable->addIncoming(begin, before);
  llvm::SmallVector<llvm::PHINode*, 4> phis;
  Values arguments;
  for (llvm::Value* carry : carries) {
    phis.push_back(b_.CreatePHI(carry->getType(), 2));
    phis.back()->addIncoming(carry, before);
    arguments.push_back(phis.back());
  }
  Values next = body(variable, arguments);
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  llvm::Value* incremented = b_.CreateNSWAdd(variable, b_.getInt64(step));
  variable->addIncoming(incremented, latch);
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], latch);
  b_.CreateCondBr(b_.CreateICmpSLT(incremented, end), header, exit);
  b_.SetInsertPoint(exit);
  if (guarded) {
    for (size_t i = 0; i < phis.size(); ++i) {
      llvm::PHINode* result = b_.CreatePHI(next[i]->getType(), 2);
      result->addIncoming(carries[i], before);
      result->addIncoming(next[i], latch);
      next[i] = result;
    }
  }
  return next;
}

bool Emitter::swaps_within(BlockId block) const {
  for (const Statement& s : program_.blocks[block].statements) {
    switch (s.kind) {
      case StatementKind::kSwap:
        return true;
      case StatementKind::kFor:
        if (swaps_within(program_.fors[s.detail].body)) return true;
        break;
      case StatementKind::kWhile:
        if (swaps_within(program_.whiles[s.detail].body)) return true;
        break;
      case StatementKind::kIf:
        if (swaps_within(program_.ifs[s.detail].then_block) || swaps_within(program_.ifs[s.detail].else_block))
          return true;
        break;
      default:
        break;
    }
  }
  return false;
}

void Emitter::emit_for(const For& loop) {
  // Pointers that swaps elsewhere may change stay the same throughout a loop without one: read them once.
  std::vector<loop::BufferId> held;
  for (loop::BufferId id : swapping_) {
    if (bases_[id] == nullptr) held.push_back(id);
  }
  if (!held.empty() && swaps_within(loop.body)) held.clear();
  for (loop::BufferId id : held) bases_[id] = base(id);
  const bool vectorizes = lanes_.width == 0 && !find_repeats(loop);
  Vectorization how = vectorizes ? choose_vectorization(program_, facts_, loop) : Vectorization{};
  if (how.width != 0 && streams_from(loop, how.width)) how.one_body = false;
  ++depth_;
  if (emit_transposed_copy(loop)) {
    // Done.
  } else if (is_shared(loop)) {
    emit_shared_for(loop, how);
  } else if (how.width == 0) {
    const std::vector<loop::BufferId> held_arrays = find_held({loop.body});
    llvm::Value* extent = extent_of(loop);
    hold(held_arrays);
    emit_scalar_for(loop, b_.getInt64(0), extent);
    release(held_arrays);
  } else {
    emit_vector_for(loop, how, b_.getInt64(0), extent_of(loop));
  }
  if (--depth_ == 0) finish_streams();
  for (loop::BufferId id : held) bases_[id] = nullptr;
}

llvm::Value* Emitter::extent_of(const For& loop) { return &loop == any_extent_ ? extent_ : uniform_index(loop.extent); }

void Emitter::emit_scalar_for(const For& loop, llvm::Value* begin, llvm::Value* end) {
  if (const auto repeats = find_repeats(loop)) {
    begin = emit_repeats(loop, *repeats, begin, end);
    if (begin == end) return;
  }
  Values inits;
  for (const Carry& carry : loop.carries) inits.push_back(widen(value(carry.init)));
  Values results =
      run_long_loop(begin, end, 1, inits, time_if_long(loop), [&](llvm::Value* i, const Values& arguments) {
        define(loop.variable, i);
        for (size_t c = 0; c < arguments.size(); ++c) {
          if (!loop.carries[c].combine) define(loop.carries[c].argument, arguments[c]);
        }
        emit_block(loop.body);
        Values next;
        for (size_t c = 0; c < arguments.size(); ++c) {
          const Carry& carry = loop.carries[c];
          llvm::Value* yielded = widen(value(carry.next));
          if (carry.combine)
            yielded = combine(*carry.combine, program_.values[carry.init].dtype, arguments[c], yielded);
          next.push_back(yielded);
        }
        return next;
      });
  for (size_t c = 0; c < results.size(); ++c) define(loop.carries[c].result, results[c]);
}

void Emitter::emit_while(const loop::While& loop) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = new_block("while");
  llvm::BasicBlock* body = new_block("do");
  llvm::BasicBlock* exit = new_block("done");
  Values inits;
  for (const Carry& carry : loop.carries) inits.push_back(widen(value(carry.init)));
  const std::vector<loop::BufferId> held_arrays = find_held({loop.condition_block, loop.body});
  hold(held_arrays);
  before = b_.GetInsertBlock();
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::SmallVector<llvm::PHINode*, 4> phis;
  for (size_t c = 0; c < inits.size(); ++c) {
    phis.push_back(b_.CreatePHI(inits[c]->getType(), 2));
    phis.back()->addIncoming(inits[c], before);
  }
  for (size_t c = 0; c < inits.size(); ++c) define(loop.carries[c].argument, phis[c]);
  emit_block(loop.condition_block);
  // Lanes whose condition fails keep their values while the others go on.
  llvm::Value* outer_mask = lanes_.mask;
  llvm::Value* active = widen(value(loop.condition));
  if (outer_mask != nullptr) active = b_.CreateAnd(active, outer_mask);
  b_.CreateCondBr(any_lane(active), body, exit);
  b_.SetInsertPoint(body);
  poll(cost_.block(loop.condition_block) + cost_.block(loop.body));
  if (lanes_.width != 0) lanes_.mask = active;
  emit_block(loop.body);
  for (size_t c = 0; c < phis.size(); ++c) {
    llvm::Value* next = widen(value(loop.carries[c].next));
    if (lanes_.width != 0) next = b_.CreateSelect(active, next, phis[c]);
    phis[c]->addIncoming(next, b_.GetInsertBlock());
  }
  // The selects above must precede the branch, and all of them end in one block.
  b_.CreateBr(header);
  lanes_.mask = outer_mask;
  b_.SetInsertPoint(exit);
  for (size_t c = 0; c < phis.size(); ++c) define(loop.carries[c].result, phis[c]);
  release(held_arrays);
}

void Emitter::emit_if(const loop::If& branch) {
  llvm::Value* condition = value(branch.condition);
  bool divergent = condition->getType()->isVectorTy();
  llvm::Value* outer_mask = lanes_.mask;
  // Runs `block` where `mask` says, and returns the values that it hands out, with zeros where it did not run.
  auto guarded = [&](BlockId block, llvm::Value* mask, llvm::function_ref<loop::Value(const loop::If::Merge&)> pick) {
    Values results;
    bool empty = program_.blocks[block].statements.empty();
    if (empty) {
      for (const loop::If::Merge& merge : branch.merges) results.push_back(widen(value(pick(merge))));
      return results;
    }
    llvm::Value* active = outer_mask == nullptr ? mask : b_.CreateAnd(mask, outer_mask);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* inside = new_block("then");
    llvm::BasicBlock* join = new_block("join");
    llvm::BranchInst* enter = b_.CreateCondBr(any_lane(active), inside, join);
    b_.SetInsertPoint(inside);
    if (is_rare(block)) {
      enter->setMetadata(llvm::LLVMContext::MD_prof, llvm::MDBuilder(context_).createBranchWeights(1, 1000));
      std::vector<loop::Value> wanted;
      for (const loop::If::Merge& merge : branch.merges) wanted.push_back(pick(merge));
      results = emit_rare(block, active, wanted);
    } else {
      lanes_.mask = active;
      emit_block(block);
      for (const loop::If::Merge& merge : branch.merges) results.push_back(widen(value(pick(merge))));
      lanes_.mask = outer_mask;
    }
    llvm::BasicBlock* end = b_.GetInsertBlock();
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    for (llvm::Value*& result : results) {
      llvm::PHINode* phi = b_.CreatePHI(result->getType(), 2);
      phi->addIncoming(result, end);
      phi->addIncoming(llvm::Constant::getNullValue(result->getType()), before);
      result = phi;
    }
    return results;
  };
  if (divergent) {
    Values if_true = guarded(branch.then_block, condition, [](const loop::If::Merge& m) { return m.then_value; });
    Values if_false =
        guarded(branch.else_block, b_.CreateNot(condition), [](const loop::If::Merge& m) { return m.else_value; });
    for (size_t i = 0; i < branch.merges.size(); ++i) {
      define(branch.merges[i].result, b_.CreateSelect(condition, if_true[i], if_false[i]));
    }
    return;
  }
  llvm::BasicBlock* then_block = new_block("then");
  llvm::BasicBlock* else_block = new_block("else");
  llvm::BasicBlock* join = new_block("join");
  b_.CreateCondBr(condition, then_block, else_block);
  struct Side {
    Values values;
    llvm::BasicBlock* end;
  };
  auto side = [&](llvm::BasicBlock* start, BlockId block,
                  llvm::function_ref<loop::Value(const loop::If::Merge&)> pick) {
    b_.SetInsertPoint(start);
    emit_block(block);
    Side result;
    for (const loop::If::Merge& merge : branch.merges) result.values.push_back(widen(value(pick(merge))));
    result.end = b_.GetInsertBlock();
    b_.CreateBr(join);
    return result;
  };
  Side if_true = side(then_block, branch.then_block, [](const loop::If::Merge& m) { return m.then_value; });
  Side if_false = side(else_block, branch.else_block, [](const loop::If::Merge& m) { return m.else_value; });
  b_.SetInsertPoint(join);
  llvm::SmallVector<llvm::PHINode*, 4> phis;
  for (size_t i = 0; i < branch.merges.size(); ++i) {
    phis.push_back(b_.CreatePHI(if_true.values[i]->getType(), 2));
    phis.back()->addIncoming(if_true.values[i], if_true.end);
    phis.back()->addIncoming(if_false.values[i], if_false.end);
  }
  for (size_t i = 0; i < phis.size(); ++i) define(branch.merges[i].result, phis[i]);
}

}  // namespace ct::jit
