#include "jit/llvm/loops.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "jit/llvm/short_rows.h"
#include "jit/llvm/streams.h"
#include "jit/loop/visit.h"
#include "jit/machine/rare_branches.h"

namespace ct::jit {

using loop::BlockId;
using loop::Carry;
using loop::For;

namespace {

llvm::Value* any_lane(Emission& e, llvm::Value* mask) {
  return mask->getType()->isVectorTy() ? e.b.CreateOrReduce(mask) : mask;
}

}  // namespace

void emit_for(CpuEmission& e, const For& loop) {
  // Pointers that swaps elsewhere may change stay the same throughout a loop without one: read them once.
  const BufferIds pointers = e.addresses.know_swapping(loop.body);
  const bool vectorizes = e.lanes.width == 0 && !find_repeats(e, loop) && !find_short_rows(e, loop);
  Vectorization how = vectorizes ? choose_vectorization(e.program, e.code.facts, loop) : Vectorization{};
  if (how.width != 0 && streams_from(e, loop, how.width)) how.one_body = false;
  ++e.loop_depth;
  if (emit_transposed_copy(e, loop)) {
    // Done.
  } else if (is_shared(e, loop)) {
    emit_shared_for(e, loop, how);
  } else if (how.width == 0) {
    const std::vector<loop::BufferId> held_arrays = find_held(e, {loop.body});
    llvm::Value* extent = extent_of(e, loop);
    hold(e, held_arrays);
    emit_scalar_for(e, loop, e.b.getInt64(0), extent);
    release(e, held_arrays);
  } else {
    emit_vector_for(e, loop, how, e.b.getInt64(0), extent_of(e, loop));
  }
  if (--e.loop_depth == 0) finish_streams(e);
  e.addresses.forget(pointers);
}

// Steps of a long loop without carries, scatters say, that are written out one after the other: those of a few
// statements take as long as what counts and branches.
int64_t steps_at_once(const CpuEmission& e, const For& loop) {
  constexpr int64_t kAtOnce = 4, kLeastExtent = 256;
  constexpr size_t kMostStatements = 16;
  if (!loop.carries.empty() || !loop.extent.is_constant() || loop.extent.constant() < kLeastExtent) return 1;
  size_t count = 0;
  bool is_plain = true;
  loop::visit_statements(e.program, loop.body, [&](const loop::Statement& s) {
    ++count;
    is_plain = is_plain && (s.kind == loop::StatementKind::kIf || s.kind < loop::StatementKind::kFor);
  });
  return is_plain && count <= kMostStatements ? kAtOnce : 1;
}

int64_t span_of(const CpuEmission& e, const For& loop, int64_t iterations) {
  constexpr int64_t kFew = 64, kLongest = 1024;
  const bool adds_one_by_one =
      e.code.facts.vector_bits == 0 && !loop.carries.empty() &&
      std::ranges::all_of(loop.carries, [](const Carry& carry) { return carry.combine.has_value(); }) &&
      std::ranges::any_of(loop.carries, [&](const Carry& carry) {
        return carry.combine == ScalarOp::kAdd && is_float(e.program.values[carry.init].dtype);
      });
  if (!adds_one_by_one || iterations <= kFew) return 0;
  int64_t span = 16;
  while (span * span < iterations && span < kLongest) span *= 2;
  return span;
}

void emit_scalar_for(CpuEmission& e, const For& loop, llvm::Value* begin, llvm::Value* end) {
  if (const auto repeats = find_repeats(e, loop)) {
    begin = emit_repeats(e, loop, *repeats, begin, end);
    if (begin == end) return;
  } else if (const auto rows = find_short_rows(e, loop)) {
    begin = emit_short_rows(e, loop, *rows, begin, end);
    if (begin == end) return;
  }
  LlvmValues inits;
  for (const Carry& carry : loop.carries) inits.push_back(widen(e, value_of(e, carry.init)));
  const auto combined = [&](size_t c, llvm::Value* a, llvm::Value* b) {
    return e.math.apply(*loop.carries[c].combine, e.program.values[loop.carries[c].init].dtype, a, b);
  };
  const auto step = [&](llvm::Value* i, const LlvmValues& arguments) {
    e.values.define(loop.variable, i);
    for (size_t c = 0; c < arguments.size(); ++c) {
      if (!loop.carries[c].combine) e.values.define(loop.carries[c].argument, arguments[c]);
    }
    emit_block(e, loop.body);
    LlvmValues next;
    for (size_t c = 0; c < arguments.size(); ++c) {
      const Carry& carry = loop.carries[c];
      llvm::Value* yielded = widen(e, value_of(e, carry.next));
      if (carry.combine) yielded = combined(c, arguments[c], yielded);
      next.push_back(yielded);
    }
    return next;
  };
  LlvmValues results;
  if (const int64_t span = span_of(e, loop, loop.extent.is_constant() ? loop.extent.constant() : kUnknownIterations)) {
    LlvmValues neutral;
    for (const Carry& carry : loop.carries) {
      neutral.push_back(e.math.identity(*carry.combine, e.program.values[carry.init].dtype));
    }
    results = e.code.run_in_spans(begin, end, 1, span, inits, neutral, step, combined);
  } else {
    const double time = time_if_long(e, loop);
    if (const int64_t at_once = steps_at_once(e, loop); at_once > 1) {
      llvm::Value* whole = e.b.CreateAdd(begin, e.b.CreateAnd(e.b.CreateSub(end, begin), e.b.getInt64(-at_once)));
      run_long_loop(e, begin, whole, at_once, {}, static_cast<double>(at_once) * time,
                    [&](llvm::Value* i, const LlvmValues& none) {
                      for (int64_t u = 0; u < at_once; ++u) step(e.b.CreateNSWAdd(i, e.b.getInt64(u)), none);
                      return none;
                    });
      begin = whole;
    }
    results = run_long_loop(e, begin, end, 1, inits, time, step);
  }
  for (size_t c = 0; c < results.size(); ++c) e.values.define(loop.carries[c].result, results[c]);
}

void emit_while(CpuEmission& e, const loop::While& loop) {
  llvm::BasicBlock* before = e.b.GetInsertBlock();
  llvm::BasicBlock* header = e.code.new_block("while");
  llvm::BasicBlock* body = e.code.new_block("do");
  llvm::BasicBlock* exit = e.code.new_block("done");
  LlvmValues inits;
  for (const Carry& carry : loop.carries) inits.push_back(widen(e, value_of(e, carry.init)));
  const std::vector<loop::BufferId> held_arrays = find_held(e, {loop.condition_block, loop.body});
  hold(e, held_arrays);
  before = e.b.GetInsertBlock();
  e.b.CreateBr(header);
  e.b.SetInsertPoint(header);
  llvm::SmallVector<llvm::PHINode*, 4> phis;
  for (size_t c = 0; c < inits.size(); ++c) {
    phis.push_back(e.b.CreatePHI(inits[c]->getType(), 2));
    phis.back()->addIncoming(inits[c], before);
  }
  for (size_t c = 0; c < inits.size(); ++c) e.values.define(loop.carries[c].argument, phis[c]);
  emit_block(e, loop.condition_block);
  // Lanes whose condition fails keep their values while the others go on.
  llvm::Value* outer_mask = e.lanes.mask;
  llvm::Value* active = widen(e, value_of(e, loop.condition));
  if (outer_mask != nullptr) active = e.b.CreateAnd(active, outer_mask);
  e.b.CreateCondBr(any_lane(e, active), body, exit);
  e.b.SetInsertPoint(body);
  poll(e, e.cost.block(loop.condition_block) + e.cost.block(loop.body));
  if (e.lanes.width != 0) e.lanes.mask = active;
  emit_block(e, loop.body);
  for (size_t c = 0; c < phis.size(); ++c) {
    llvm::Value* next = widen(e, value_of(e, loop.carries[c].next));
    if (e.lanes.width != 0) next = e.b.CreateSelect(active, next, phis[c]);
    phis[c]->addIncoming(next, e.b.GetInsertBlock());
  }
  // The selects above must precede the branch, and all of them end in one block.
  e.b.CreateBr(header);
  e.lanes.mask = outer_mask;
  e.b.SetInsertPoint(exit);
  for (size_t c = 0; c < phis.size(); ++c) e.values.define(loop.carries[c].result, phis[c]);
  release(e, held_arrays);
}

void emit_if(CpuEmission& e, const loop::If& branch) {
  llvm::Value* condition = value_of(e, branch.condition);
  bool divergent = condition->getType()->isVectorTy();
  llvm::Value* outer_mask = e.lanes.mask;
  // Runs `block` where `mask` says, and returns the values that it hands out, with zeros where it did not run.
  auto guarded = [&](BlockId block, llvm::Value* mask, llvm::function_ref<loop::Value(const loop::If::Merge&)> pick) {
    LlvmValues results;
    bool empty = e.program.blocks[block].statements.empty();
    if (empty) {
      for (const loop::If::Merge& merge : branch.merges) results.push_back(widen(e, value_of(e, pick(merge))));
      return results;
    }
    llvm::Value* active = outer_mask == nullptr ? mask : e.b.CreateAnd(mask, outer_mask);
    llvm::BasicBlock* before = e.b.GetInsertBlock();
    llvm::BasicBlock* inside = e.code.new_block("then");
    llvm::BasicBlock* join = e.code.new_block("join");
    llvm::BranchInst* enter = e.b.CreateCondBr(any_lane(e, active), inside, join);
    e.b.SetInsertPoint(inside);
    if (is_rare(e.program, block)) {
      enter->setMetadata(llvm::LLVMContext::MD_prof, llvm::MDBuilder(e.code.context).createBranchWeights(1, 1000));
      std::vector<loop::Value> wanted;
      for (const loop::If::Merge& merge : branch.merges) wanted.push_back(pick(merge));
      results = emit_rare(e, block, active, wanted);
    } else {
      e.lanes.mask = active;
      emit_block(e, block);
      for (const loop::If::Merge& merge : branch.merges) results.push_back(widen(e, value_of(e, pick(merge))));
      e.lanes.mask = outer_mask;
    }
    llvm::BasicBlock* end = e.b.GetInsertBlock();
    e.b.CreateBr(join);
    e.b.SetInsertPoint(join);
    for (llvm::Value*& result : results) {
      llvm::PHINode* phi = e.b.CreatePHI(result->getType(), 2);
      phi->addIncoming(result, end);
      phi->addIncoming(llvm::Constant::getNullValue(result->getType()), before);
      result = phi;
    }
    return results;
  };
  if (divergent) {
    LlvmValues if_true = guarded(branch.then_block, condition, [](const loop::If::Merge& m) { return m.then_value; });
    LlvmValues if_false =
        guarded(branch.else_block, e.b.CreateNot(condition), [](const loop::If::Merge& m) { return m.else_value; });
    for (size_t i = 0; i < branch.merges.size(); ++i) {
      e.values.define(branch.merges[i].result, e.b.CreateSelect(condition, if_true[i], if_false[i]));
    }
    return;
  }
  llvm::BasicBlock* then_block = e.code.new_block("then");
  llvm::BasicBlock* else_block = e.code.new_block("else");
  llvm::BasicBlock* join = e.code.new_block("join");
  e.b.CreateCondBr(condition, then_block, else_block);
  struct Side {
    LlvmValues values;
    llvm::BasicBlock* end;
  };
  auto side = [&](llvm::BasicBlock* start, BlockId block,
                  llvm::function_ref<loop::Value(const loop::If::Merge&)> pick) {
    e.b.SetInsertPoint(start);
    emit_block(e, block);
    Side result;
    for (const loop::If::Merge& merge : branch.merges) result.values.push_back(widen(e, value_of(e, pick(merge))));
    result.end = e.b.GetInsertBlock();
    e.b.CreateBr(join);
    return result;
  };
  Side if_true = side(then_block, branch.then_block, [](const loop::If::Merge& m) { return m.then_value; });
  Side if_false = side(else_block, branch.else_block, [](const loop::If::Merge& m) { return m.else_value; });
  e.b.SetInsertPoint(join);
  llvm::SmallVector<llvm::PHINode*, 4> phis;
  for (size_t i = 0; i < branch.merges.size(); ++i) {
    phis.push_back(e.b.CreatePHI(if_true.values[i]->getType(), 2));
    phis.back()->addIncoming(if_true.values[i], if_true.end);
    phis.back()->addIncoming(if_false.values[i], if_false.end);
  }
  for (size_t i = 0; i < phis.size(); ++i) e.values.define(branch.merges[i].result, phis[i]);
}

}  // namespace ct::jit
