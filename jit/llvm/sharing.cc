// The body of a shared loop becomes a function of a range of iterations, and a call of runtime/pool.h's entry takes
// the loop's place. In a library the caller's `parallel` does, if it gave one: tasks that are a range each.
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

#include "jit/llvm/library_caller.h"
#include "jit/llvm/loops.h"
#include "jit/llvm/short_rows.h"
#include "jit/llvm/streams.h"
#include "jit/loop/visit.h"
#include "runtime/arena.h"
#include "runtime/error.h"
#include "runtime/pool.h"

namespace ct::jit {

using loop::For;
using loop::Statement;
using loop::StatementKind;

namespace {

// An outer loop of fewer iterations is left to the loops inside it, where there is enough to share.
constexpr double kFewIterations = 16;

// Nothing is known of a caller's threads: not how many there are, nor whether they are awake.
constexpr int64_t kMostTasks = 64;
constexpr double kLeastTask = 25'000;               // nanoseconds
constexpr int64_t kMostScratch = int64_t{1} << 20;  // of all tasks, but for kFewTasks
constexpr int64_t kFewTasks = 4;

double least_shared(CpuEmission& e) { return e.sharing.in_process() ? Pool::kLeastHot : Pool::kLeastCold; }

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

// Iterations [0, extent) as a function of a range of them.
struct Range {
  llvm::Function* function;  // void (closure, begin, end, scratch)
  llvm::Value* closure;
  llvm::Value* extent;
  int64_t multiple;     // ranges begin at multiples of it
  double nanoseconds;   // of an iteration
  int64_t own_scratch;  // where the ranges' scratch memory begins
};

void run_in_process(CpuEmission& e, const Range& range) {
  llvm::PointerType* pointer = e.b.getPtrTy();
  llvm::Value* loop = e.code.at_entry().CreateAlloca(llvm::ArrayType::get(e.code.i64, sizeof(ParallelLoop) / 8));
  llvm::Value* scratch = llvm::ConstantPointerNull::get(pointer);
  if (e.sharing.scratch_bytes > 0) scratch = scratch_at(e, range.own_scratch, e.sharing.scratch_bytes);
  const int64_t picoseconds = picoseconds_of(range.nanoseconds);
  llvm::Value* most =
      e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, range.extent, e.b.getInt64(INT64_MAX / picoseconds));
  llvm::Value* total = e.b.CreateSDiv(e.b.CreateMul(most, e.b.getInt64(picoseconds)), e.b.getInt64(1000));
  llvm::Value* const values[] = {range.function,
                                 range.closure,
                                 range.extent,
                                 e.b.getInt64(range.multiple),
                                 e.b.getInt64(e.sharing.scratch_bytes),
                                 scratch,
                                 total,
                                 e.b.getInt64(nanoseconds_of_program(e)),
                                 program_of(e, range.function)};
  static_assert(sizeof values / sizeof values[0] == sizeof(ParallelLoop) / 8);
  for (unsigned i = 0; llvm::Value* value : values) {
    e.b.CreateStore(value, e.b.CreateConstInBoundsGEP1_64(e.code.i64, loop, i++));
  }
  llvm::FunctionCallee run = e.code.module.getOrInsertFunction(kParallelSymbol, e.b.getVoidTy(), pointer);
  llvm::cast<llvm::Function>(run.getCallee())->addFnAttr(llvm::Attribute::NoUnwind);
  e.b.CreateCall(run, {loop});
}

// What a task of a library's caller is given: the range's function and closure, the extent, the iterations of a task,
// scratch memory, and how much of it a task has.
llvm::StructType* task_type(CpuEmission& e) {
  llvm::Type* pointer = e.b.getPtrTy();
  return llvm::StructType::get(pointer, pointer, e.code.i64, e.code.i64, pointer, e.code.i64);
}

// void (data, i), the same for all ranges of the module.
llvm::Function* task_function(CpuEmission& e) {
  constexpr const char* kName = "shared_task";
  if (llvm::Function* known = e.code.module.getFunction(kName)) return known;
  llvm::Type* pointer = e.b.getPtrTy();
  auto* type = llvm::FunctionType::get(e.b.getVoidTy(), {pointer, e.b.getInt32Ty()}, false);
  auto* task = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, kName, e.code.module);
  e.code.target.set_attributes(task);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(e.code.context, "entry", task));
  const auto field = [&](unsigned index) {
    return b.CreateLoad(task_type(e)->getElementType(index), b.CreateStructGEP(task_type(e), task->getArg(0), index));
  };
  llvm::Value* number = b.CreateZExt(task->getArg(1), e.code.i64);
  llvm::Value* step = field(3);
  llvm::Value* begin = b.CreateMul(number, step);
  llvm::Value* end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(begin, step), field(2));
  llvm::Value* scratch = b.CreateGEP(b.getInt8Ty(), field(4), b.CreateMul(number, field(5)));
  auto* range = llvm::FunctionType::get(b.getVoidTy(), {pointer, e.code.i64, e.code.i64, pointer}, false);
  b.CreateCall(range, field(0), {field(1), begin, end, scratch});
  b.CreateRetVoid();
  return task;
}

void run_by_caller(CpuEmission& e, const Range& range) {
  e.sharing.shared_loops = true;
  const int64_t stride = aligned_scratch(e.sharing.scratch_bytes);
  int64_t most = kMostTasks;
  if (const auto* count = llvm::dyn_cast<llvm::ConstantInt>(range.extent)) {
    const double total = range.nanoseconds * static_cast<double>(count->getSExtValue());
    most = static_cast<int64_t>(std::clamp(total / kLeastTask, 2.0, double{kMostTasks}));
  }
  if (stride > 0) most = std::min(most, std::max(kMostScratch / stride, kFewTasks));
  llvm::PointerType* pointer = e.b.getPtrTy();
  llvm::Value* scratch = llvm::ConstantPointerNull::get(pointer);
  if (stride > 0) scratch = scratch_at(e, range.own_scratch, stride * most);

  const auto divided_up = [&](llvm::Value* value, llvm::Value* by) {
    return e.b.CreateSDiv(e.b.CreateAdd(value, e.b.CreateSub(by, e.b.getInt64(1))), by);
  };
  llvm::Value* units = divided_up(range.extent, e.b.getInt64(range.multiple));
  llvm::Value* step = e.b.CreateMul(divided_up(units, e.b.getInt64(most)), e.b.getInt64(range.multiple));
  llvm::Value* parallel = e.b.CreateLoad(pointer, caller_field(e.code, CallerField::kParallel));
  llvm::BasicBlock* shares = e.code.new_block("shares");
  llvm::BasicBlock* alone = e.code.new_block("alone");
  llvm::BasicBlock* done = e.code.new_block("done");
  e.b.CreateCondBr(e.b.CreateOr(e.b.CreateIsNull(parallel), e.b.CreateICmpSLE(range.extent, step)), alone, shares);

  e.b.SetInsertPoint(shares);
  llvm::Value* task = e.code.at_entry().CreateAlloca(task_type(e));
  llvm::Value* const fields[] = {range.function, range.closure, range.extent, step, scratch, e.b.getInt64(stride)};
  for (unsigned i = 0; llvm::Value* value : fields) {
    e.b.CreateStore(value, e.b.CreateStructGEP(task_type(e), task, i++));
  }
  llvm::Value* tasks = e.b.CreateTrunc(divided_up(range.extent, step), e.b.getInt32Ty());
  llvm::Value* pool = e.b.CreateLoad(pointer, caller_field(e.code, CallerField::kPool));
  auto* type = llvm::FunctionType::get(e.b.getVoidTy(), {pointer, e.b.getInt32Ty(), pointer, pointer}, false);
  e.b.CreateCall(type, parallel, {pool, tasks, task_function(e), task});
  e.b.CreateBr(done);

  e.b.SetInsertPoint(alone);
  e.b.CreateCall(range.function, {range.closure, e.b.getInt64(0), range.extent, scratch});
  e.b.CreateBr(done);
  e.b.SetInsertPoint(done);
}

}  // namespace

int64_t picoseconds_of(double nanoseconds) { return static_cast<int64_t>(std::clamp(nanoseconds * 1000, 1.0, 1e12)); }

int64_t nanoseconds_of_program(CpuEmission& e) { return static_cast<int64_t>(std::min(e.cost.program(), 1e15)); }

int64_t aligned_scratch(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

llvm::Function* program_of(CpuEmission& e, llvm::Function* function) {
  if (e.sharing.program == nullptr) e.sharing.program = function;
  return e.sharing.program;
}

bool is_shared(CpuEmission& e, const For& loop) {
  if (e.sharing.threads == Sharing::Threads::kNone || e.sharing.in_range || e.lanes.width != 0 ||
      !loop.options.parallel || !loop.carries.empty())
    return false;
  const double iterations = e.cost.iterations(loop);
  if (iterations < 2 || iterations * e.cost.iteration(loop) < least_shared(e)) return false;
  if (iterations < kFewIterations && shares_inside(e, loop.body)) return false;
  return may_share(e, loop.body);
}

llvm::Value* scratch_at(CpuEmission& e, int64_t begin, int64_t bytes) {
  if (e.sharing.in_range) {
    e.sharing.scratch_bytes = std::max(e.sharing.scratch_bytes, begin + bytes);
    return e.b.CreateConstInBoundsGEP1_64(e.b.getInt8Ty(), e.sharing.scratch, static_cast<uint64_t>(begin));
  }
  const int64_t own = aligned_scratch(e.outline.arena_bytes);
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
  if (e.sharing.threads == Sharing::Threads::kNone || e.sharing.in_range) return body(e.b.getInt64(0), extent);
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
  llvm::Value* closure = e.code.at_entry().CreateAlloca(closure_type);
  for (unsigned i = 0; auto& [value, uses] : captured)
    e.b.CreateStore(value, e.b.CreateStructGEP(closure_type, closure, i++));
  const Range made{range, closure, extent, multiple, nanoseconds, aligned_scratch(scratch_used)};
  if (e.sharing.in_process()) {
    run_in_process(e, made);
  } else {
    run_by_caller(e, made);
  }
  const auto* count = llvm::dyn_cast<llvm::ConstantInt>(extent);
  stop_if_told(e, count == nullptr ? 1e9 : nanoseconds * static_cast<double>(count->getSExtValue()));
}

}  // namespace ct::jit
