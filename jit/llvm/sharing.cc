// The body of a shared loop becomes a function of a range of iterations, and a call of runtime/pool.h's entry takes
// the loop's place.
//
// The function is emitted as if it were inside the one around it. What it turned out to use from there then becomes
// fields of a closure on the caller's stack, read at its start.
//
// A loop is shared when it promises that its iterations are independent and an estimate says that there is enough to
// do; whether it really is, with how many threads, is decided when it runs. The code is the same for any number of
// threads, and what it computes is too.
#include "jit/llvm/sharing.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>
#include <utility>

#include "jit/llvm/loops.h"
#include "jit/llvm/short_rows.h"
#include "jit/llvm/streams.h"
#include "jit/loop/visit.h"
#include "runtime/error.h"
#include "runtime/pool.h"

namespace ct::jit {

using loop::For;
using loop::Statement;
using loop::StatementKind;

namespace {

// An outer loop of fewer iterations is left to the loops inside it, where there is enough to share.
constexpr double kFewIterations = 16;

// Whether the statements in the block may run on several threads at once, each with its own scratch memory, and nothing
// of theirs is kept in the caller's arena.
bool may_share(CpuEmission& e, loop::BlockId block) {
  for (const OutlinedCall& call : e.outline.calls_in(block)) {
    const OutlinedFunction& callee = e.outline.functions[call.function];
    if (!callee.shared || !call.results.empty()) return false;
  }
  bool may = true;
  if (!e.outline.calls_in(block).empty()) {
    // Called functions find their scratch memory in the arena, wherever in them their products are.
    loop::visit_statements(e.program, block, [&](const Statement& s) { may = may && s.kind != StatementKind::kGemm; });
  }
  for (const Statement& s : e.program.blocks[block].statements) {
    may = may && s.kind != StatementKind::kSwap && s.kind != StatementKind::kHostCall;
    loop::visit_blocks_of(e.program, s, [&](loop::BlockId inner) { may = may && may_share(e, inner); });
  }
  return may;
}

// Whether a loop or product inside is worth sharing by itself.
bool shares_inside(CpuEmission& e, loop::BlockId block) {
  for (const Statement& s : e.program.blocks[block].statements) {
    if (s.kind == StatementKind::kGemm && e.cost.statement(s) >= Pool::kLeastCold) return true;
    if (s.kind != StatementKind::kFor) continue;
    const For& loop = e.program.fors[s.detail];
    if (loop.options.parallel && loop.carries.empty() && e.cost.iterations(loop) >= kFewIterations &&
        e.cost.statement(s) >= Pool::kLeastCold) {
      return true;
    }
    if (shares_inside(e, loop.body)) return true;
  }
  return false;
}

}  // namespace

bool is_shared(CpuEmission& e, const For& loop) {
  if (!e.sharing.has_pool || e.sharing.in_range || e.lanes.width != 0 || !loop.options.parallel ||
      !loop.carries.empty())
    return false;
  const double iterations = e.cost.iterations(loop);
  if (iterations < 2 || iterations * e.cost.iteration(loop) < Pool::kLeastHot) return false;
  if (iterations < kFewIterations && shares_inside(e, loop.body)) return false;
  return may_share(e, loop.body);
}

llvm::Value* scratch_at(CpuEmission& e, int64_t begin, int64_t bytes) {
  if (e.sharing.in_range) {
    e.sharing.scratch_bytes = std::max(e.sharing.scratch_bytes, begin + bytes);
    return e.b.CreateConstInBoundsGEP1_64(e.b.getInt8Ty(), e.sharing.scratch, static_cast<uint64_t>(begin));
  }
  const int64_t own = (e.outline.arena_bytes + 63) / 64 * 64;
  e.sharing.arena_bytes = std::max(e.sharing.arena_bytes, own + begin + bytes);
  return e.code.arena_at(own + begin);
}

void emit_shared_for(CpuEmission& e, const For& loop, Vectorization how) {
  const bool in_vectors = how.width != 0 || find_repeats(e, loop) || find_short_rows(e, loop);
  share_range(e, uniform_index(e, loop.extent), e.cost.iteration(loop), in_vectors ? kVectorMultiple : 1, 0,
              [&](llvm::Value* begin, llvm::Value* end) {
                if (how.width == 0) {
                  emit_scalar_for(e, loop, begin, end);
                } else {
                  emit_vector_for(e, loop, how, begin, end);
                }
              });
}

void share_range(CpuEmission& e, llvm::Value* extent, double nanoseconds, int64_t multiple, int64_t scratch_used,
                 llvm::function_ref<void(llvm::Value*, llvm::Value*)> body) {
  if (!e.sharing.has_pool || e.sharing.in_range) return body(e.b.getInt64(0), extent);
  llvm::PointerType* pointer = e.b.getPtrTy();
  llvm::Function* outer = e.code.function;
  auto* type = llvm::FunctionType::get(e.b.getVoidTy(), {pointer, e.code.i64, e.code.i64, pointer}, false);
  auto* range =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, outer->getName() + ".range", e.code.module);
  e.code.target.set_attributes(range);

  const llvm::IRBuilder<>::InsertPoint here = e.b.saveIP();
  e.code.function = range;
  const Stops outer_stops = std::exchange(e.stops, {.wanted = e.stops.wanted});
  e.sharing.in_range = true;
  e.sharing.scratch = range->getArg(3);
  e.sharing.scratch_bytes = 0;
  llvm::BasicBlock* entry = e.code.new_block("entry");
  llvm::BasicBlock* start = e.code.new_block("start");
  e.b.SetInsertPoint(start);
  // Whoever waits for the range may read what it stored.
  const bool pending = std::exchange(e.streams.pending, false);
  body(range->getArg(1), range->getArg(2));
  finish_streams(e);
  e.streams.pending = pending;
  e.b.CreateRetVoid();
  e.code.function = outer;
  e.stops = outer_stops;
  e.sharing.in_range = false;

  // What came from outside, in the order in which it is used.
  llvm::MapVector<llvm::Value*, llvm::SmallVector<llvm::Use*, 4>> captured;
  for (llvm::Instruction& instruction : llvm::instructions(range)) {
    for (llvm::Use& use : instruction.operands()) {
      const auto* other = llvm::dyn_cast<llvm::Instruction>(use.get());
      const auto* argument = llvm::dyn_cast<llvm::Argument>(use.get());
      if ((other != nullptr && other->getFunction() != range) ||
          (argument != nullptr && argument->getParent() != range))
        captured[use.get()].push_back(&use);
    }
  }
  llvm::SmallVector<llvm::Type*, 16> fields;
  for (const auto& [value, uses] : captured) fields.push_back(value->getType());
  auto* closure_type = llvm::StructType::get(e.code.context, fields);
  e.b.SetInsertPoint(entry);
  for (unsigned i = 0; auto& [value, uses] : captured) {
    llvm::Value* own = e.b.CreateLoad(fields[i], e.b.CreateStructGEP(closure_type, range->getArg(0), i));
    for (llvm::Use* use : uses) use->set(own);
    ++i;
  }
  e.b.CreateBr(start);

  e.b.restoreIP(here);
  auto* loop_type = llvm::ArrayType::get(e.code.i64, sizeof(ParallelLoop) / 8);
  llvm::IRBuilder<> stack = e.code.at_entry();
  llvm::Value* closure = stack.CreateAlloca(closure_type);
  llvm::Value* loop = stack.CreateAlloca(loop_type);
  for (unsigned i = 0; auto& [value, uses] : captured)
    e.b.CreateStore(value, e.b.CreateStructGEP(closure_type, closure, i++));
  const auto in_program = static_cast<int64_t>(std::min(e.cost.program(), 1e15));
  const int64_t own_scratch = (scratch_used + 63) / 64 * 64;
  llvm::Value* scratch = llvm::ConstantPointerNull::get(pointer);
  if (e.sharing.scratch_bytes > 0) scratch = scratch_at(e, own_scratch, e.sharing.scratch_bytes);
  // Picoseconds, so that cheap iterations count.
  const auto picoseconds = static_cast<int64_t>(std::clamp(nanoseconds * 1000, 1.0, 1e12));
  llvm::Value* most = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, extent, e.b.getInt64(INT64_MAX / picoseconds));
  llvm::Value* total = e.b.CreateSDiv(e.b.CreateMul(most, e.b.getInt64(picoseconds)), e.b.getInt64(1000));
  llvm::Value* const values[] = {range,
                                 closure,
                                 extent,
                                 e.b.getInt64(multiple),
                                 e.b.getInt64(e.sharing.scratch_bytes),
                                 scratch,
                                 total,
                                 e.b.getInt64(in_program)};
  static_assert(sizeof values / sizeof values[0] == sizeof(ParallelLoop) / 8);
  for (unsigned i = 0; llvm::Value* value : values) {
    e.b.CreateStore(value, e.b.CreateConstInBoundsGEP1_64(e.code.i64, loop, i++));
  }
  llvm::FunctionCallee run = e.code.module.getOrInsertFunction(kParallelSymbol, e.b.getVoidTy(), pointer);
  llvm::cast<llvm::Function>(run.getCallee())->addFnAttr(llvm::Attribute::NoUnwind);
  e.b.CreateCall(run, {loop});
  const auto* count = llvm::dyn_cast<llvm::ConstantInt>(extent);
  stop_if_told(e, count == nullptr ? 1e9 : nanoseconds * static_cast<double>(count->getSExtValue()));
}

}  // namespace ct::jit
