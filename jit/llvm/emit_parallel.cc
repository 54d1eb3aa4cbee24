// Loops whose iterations several threads share: the body becomes a function of a range of iterations, and a call of
// device/cpu/pool.h's entry takes the loop's place.
//
// The function is emitted as if it were inside the one around it. What it turned out to use from there then becomes
// fields of a closure on the caller's stack, read at its start.
//
// A loop is shared when it promises that its iterations are independent and an estimate says that there is enough to
// do; whether it really is, with how many threads, is decided when it runs. The code is the same for any number of
// threads, and what it computes is too.
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>
#include <utility>

#include "device/cpu/pool.h"
#include "ir/error.h"
#include "jit/llvm/emit.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::For;
using loop::Statement;
using loop::StatementKind;

namespace {

// An outer loop of fewer iterations is left to the loops inside it, where there is enough to share.
constexpr double kFewIterations = 16;

}  // namespace

// Whether the statements in the block may run on several threads at once, each with its own scratch memory, and nothing
// of theirs is kept in the caller's arena.
bool Emitter::may_share(loop::BlockId block) const {
  for (const OutlinedCall& call : outline_.calls_in(block)) {
    const OutlinedFunction& callee = outline_.functions[call.function];
    if (!callee.shared || !call.results.empty()) return false;
  }
  bool may = true;
  if (!outline_.calls_in(block).empty()) {
    // Called functions find their scratch memory in the arena, wherever in them their products are.
    loop::visit_statements(program_, block, [&](const Statement& s) { may = may && s.kind != StatementKind::kGemm; });
  }
  for (const Statement& s : program_.blocks[block].statements) {
    may = may && s.kind != StatementKind::kSwap && s.kind != StatementKind::kHostCall;
    loop::visit_blocks_of(program_, s, [&](loop::BlockId inner) { may = may && may_share(inner); });
  }
  return may;
}

// Whether a loop or product inside is worth sharing by itself.
bool Emitter::shares_inside(loop::BlockId block) {
  for (const Statement& s : program_.blocks[block].statements) {
    if (s.kind == StatementKind::kGemm && cost_.statement(s) >= Pool::kLeastCold) return true;
    if (s.kind != StatementKind::kFor) continue;
    const For& loop = program_.fors[s.detail];
    if (loop.options.parallel && loop.carries.empty() && cost_.iterations(loop) >= kFewIterations &&
        cost_.statement(s) >= Pool::kLeastCold) {
      return true;
    }
    if (shares_inside(loop.body)) return true;
  }
  return false;
}

bool Emitter::is_shared(const For& loop) {
  if (!shares_loops_ || in_range_ || lanes_.width != 0 || !loop.options.parallel || !loop.carries.empty()) return false;
  const double iterations = cost_.iterations(loop);
  if (iterations < 2 || iterations * cost_.iteration(loop) < Pool::kLeastHot) return false;
  if (iterations < kFewIterations && shares_inside(loop.body)) return false;
  return may_share(loop.body);
}

void Emitter::emit_shared_for(const For& loop, Vectorization how) {
  const bool in_vectors = how.width != 0 || find_repeats(loop);
  share_range(uniform_index(loop.extent), cost_.iteration(loop), in_vectors ? kVectorMultiple : 1, 0,
              [&](llvm::Value* begin, llvm::Value* end) {
                if (how.width == 0) {
                  emit_scalar_for(loop, begin, end);
                } else {
                  emit_vector_for(loop, how, begin, end);
                }
              });
}

void Emitter::share_range(llvm::Value* extent, double nanoseconds, int64_t multiple, int64_t scratch_used,
                          llvm::function_ref<void(llvm::Value*, llvm::Value*)> body) {
  if (!shares_loops_ || in_range_) return body(b_.getInt64(0), extent);
  llvm::PointerType* pointer = b_.getPtrTy();
  llvm::Function* outer = function_;
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, i64_, i64_, pointer}, false);
  auto* range = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, outer->getName() + ".range", module_);
  target_.set_attributes(range);

  const llvm::IRBuilder<>::InsertPoint here = b_.saveIP();
  function_ = range;
  llvm::BasicBlock* failed = std::exchange(failed_, nullptr);
  llvm::AllocaInst* time_left = std::exchange(time_left_, nullptr);
  in_range_ = true;
  range_scratch_ = range->getArg(3);
  range_scratch_bytes_ = 0;
  llvm::BasicBlock* entry = new_block("entry");
  llvm::BasicBlock* start = new_block("start");
  b_.SetInsertPoint(start);
  // Whoever waits for the range may read what it stored.
  const bool pending = std::exchange(stores_pending_, false);
  body(range->getArg(1), range->getArg(2));
  finish_streams();
  stores_pending_ = pending;
  b_.CreateRetVoid();
  function_ = outer;
  failed_ = failed;
  time_left_ = time_left;
  in_range_ = false;

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
  auto* closure_type = llvm::StructType::get(context_, fields);
  b_.SetInsertPoint(entry);
  for (unsigned i = 0; auto& [value, uses] : captured) {
    llvm::Value* own = b_.CreateLoad(fields[i], b_.CreateStructGEP(closure_type, range->getArg(0), i));
    for (llvm::Use* use : uses) use->set(own);
    ++i;
  }
  b_.CreateBr(start);

  b_.restoreIP(here);
  auto* loop_type = llvm::ArrayType::get(i64_, sizeof(ParallelLoop) / 8);
  llvm::IRBuilder<> stack(&outer->getEntryBlock(), outer->getEntryBlock().begin());
  llvm::Value* closure = stack.CreateAlloca(closure_type);
  llvm::Value* loop = stack.CreateAlloca(loop_type);
  for (unsigned i = 0; auto& [value, uses] : captured)
    b_.CreateStore(value, b_.CreateStructGEP(closure_type, closure, i++));
  const auto in_program = static_cast<int64_t>(std::min(cost_.program(), 1e15));
  const int64_t own_scratch = (scratch_used + 63) / 64 * 64;
  llvm::Value* scratch = llvm::ConstantPointerNull::get(pointer);
  if (range_scratch_bytes_ > 0) scratch = arena_at(reserve_scratch(own_scratch + range_scratch_bytes_) + own_scratch);
  // Picoseconds, so that cheap iterations count.
  const auto picoseconds = static_cast<int64_t>(std::clamp(nanoseconds * 1000, 1.0, 1e12));
  llvm::Value* most = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, extent, b_.getInt64(INT64_MAX / picoseconds));
  llvm::Value* total = b_.CreateSDiv(b_.CreateMul(most, b_.getInt64(picoseconds)), b_.getInt64(1000));
  llvm::Value* const values[] = {range,
                                 closure,
                                 extent,
                                 b_.getInt64(multiple),
                                 b_.getInt64(range_scratch_bytes_),
                                 scratch,
                                 total,
                                 b_.getInt64(in_program)};
  static_assert(sizeof values / sizeof values[0] == sizeof(ParallelLoop) / 8);
  for (unsigned i = 0; llvm::Value* value : values) {
    b_.CreateStore(value, b_.CreateConstInBoundsGEP1_64(i64_, loop, i++));
  }
  llvm::FunctionCallee run = module_.getOrInsertFunction(kParallelSymbol, b_.getVoidTy(), pointer);
  llvm::cast<llvm::Function>(run.getCallee())->addFnAttr(llvm::Attribute::NoUnwind);
  b_.CreateCall(run, {loop});
  const auto* count = llvm::dyn_cast<llvm::ConstantInt>(extent);
  stop_if_told(count == nullptr ? 1e9 : nanoseconds * static_cast<double>(count->getSExtValue()));
}

}  // namespace ct::jit
