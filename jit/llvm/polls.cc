// A function counts down the estimated time of what it has done, in a register; when none is left it asks, and returns
// early if the answer is no. Loops that take long are cut in runs of iterations and ask between these, so that their
// inner loops know nothing of it; loops whose end nobody knows count in each iteration. A program that is short by the
// cost model, and has no such loop, has no questions.
//
// Who calls a function that may have returned early, a range of a shared loop say, asks after the call: the answer
// stays no.
#include "jit/llvm/polls.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <utility>

#include "jit/llvm/emit.h"
#include "jit/llvm/library_caller.h"
#include "jit/loop/visit.h"
#include "jit/machine/questions.h"
#include "runtime/interrupt.h"

namespace ct::jit {

using loop::Statement;
using loop::StatementKind;

namespace {

constexpr double kPicoseconds = 1000;

// A library asks whoever calls it. Once told to stop, it stays so.
llvm::Value* ask_caller(CpuEmission& e) {
  llvm::Type* i32 = e.b.getInt32Ty();
  llvm::Type* pointer = e.b.getPtrTy();
  const auto field = [&](CallerField which) { return caller_field(e.code, which); };
  llvm::Value* answer = e.b.CreateCall(llvm::FunctionType::get(i32, {pointer}, false),
                                       e.b.CreateLoad(pointer, field(CallerField::kStops)),
                                       {e.b.CreateLoad(pointer, field(CallerField::kContext))});
  // Threads that share a loop ask at the same time.
  llvm::Value* at = field(CallerField::kTold);
  llvm::LoadInst* known = e.b.CreateAlignedLoad(i32, at, llvm::Align(4));
  known->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::BasicBlock* tells = e.code.new_block("tells");
  llvm::BasicBlock* told = e.code.new_block("told");
  e.b.CreateCondBr(e.b.CreateIsNull(answer), told, tells);
  e.b.SetInsertPoint(tells);
  e.b.CreateAlignedStore(answer, at, llvm::Align(4))->setAtomic(llvm::AtomicOrdering::Monotonic);
  e.b.CreateBr(told);
  e.b.SetInsertPoint(told);
  return e.b.CreateIsNull(e.b.CreateOr(answer, known));
}

llvm::Value* ask_to_go_on(CpuEmission& e) {
  if (e.outline.asks_caller) return ask_caller(e);
  llvm::FunctionCallee ask = e.code.module.getOrInsertFunction(kGoOnSymbol, e.b.getInt1Ty());
  auto* declared = llvm::cast<llvm::Function>(ask.getCallee());
  declared->addRetAttr(llvm::Attribute::ZExt);
  declared->addFnAttr(llvm::Attribute::NoUnwind);
  declared->addFnAttr(llvm::Attribute::Cold);
  return e.b.CreateCall(ask);
}

}  // namespace

bool may_take_long(const loop::Program& program) {
  return !program.whiles.empty() || CostModel(program).program() >= kLongProgram;
}

void go_on_if(CpuEmission& e, llvm::Value* succeeded) {
  if (e.stops.failed == nullptr) {
    e.stops.failed = e.code.new_block("failed");
    llvm::IRBuilder<> at(e.stops.failed);
    if (e.code.function->getReturnType()->isVoidTy()) {
      at.CreateRetVoid();
    } else {
      at.CreateRet(at.getFalse());
    }
  }
  llvm::BasicBlock* next = e.code.new_block("called");
  e.b.CreateCondBr(succeeded, next, e.stops.failed);
  e.b.SetInsertPoint(next);
}

double time_if_long(CpuEmission& e, const loop::For& loop) {
  if (!e.stops.wanted || e.lanes.width != 0) return 0;
  const bool endless = !e.program.range_of(loop.extent).known();
  const double iteration = e.cost.iteration(loop);
  return endless || e.cost.iterations(loop) * iteration >= kBetweenQuestions ? std::max(iteration, 0.01) : 0;
}

void poll(CpuEmission& e, double nanoseconds) {
  if (!e.stops.wanted || e.lanes.width != 0) return;
  constexpr auto kAll = static_cast<int64_t>(kBetweenQuestions * kPicoseconds);
  if (e.stops.time_left == nullptr) {
    e.stops.time_left = e.code.new_register(e.code.i64, e.b.getInt64(kAll));
  }
  const auto spent = static_cast<int64_t>(std::clamp(nanoseconds, 0.25, 1e9) * kPicoseconds);
  llvm::Value* left = e.b.CreateSub(e.b.CreateLoad(e.code.i64, e.stops.time_left), e.b.getInt64(spent));
  e.b.CreateStore(left, e.stops.time_left);
  llvm::BasicBlock* asks = e.code.new_block("asks");
  llvm::BasicBlock* goes_on = e.code.new_block("goes_on");
  e.b.CreateCondBr(e.b.CreateICmpSLT(left, e.b.getInt64(0)), asks, goes_on,
                   llvm::MDBuilder(e.code.context).createBranchWeights(1, 100'000));
  e.b.SetInsertPoint(asks);
  e.b.CreateStore(e.b.getInt64(kAll), e.stops.time_left);
  go_on_if(e, ask_to_go_on(e));
  e.b.CreateBr(goes_on);
  e.b.SetInsertPoint(goes_on);
}

void stop_if_told(CpuEmission& e, double nanoseconds) {
  if (!e.stops.wanted || e.lanes.width != 0 || nanoseconds < kBetweenQuestions / 2) return;
  go_on_if(e, ask_to_go_on(e));
  e.stops.asked = true;
}

// What takes so long that there is a question after it needs no count of the time. So the code of a long program has
// few branches.
void count_time(CpuEmission& e, absl::Span<const Statement> statements, double& pending) {
  if (!e.stops.wanted || e.lanes.width != 0) return;
  for (const Statement& statement : statements) pending += e.cost.statement(statement);
  if (!e.stops.asked) stop_if_told(e, pending);
  if (std::exchange(e.stops.asked, false)) pending = 0;
}

// Whether a function that holds these statements may ask.
bool may_stop(CpuEmission& e, loop::BlockId block, uint32_t begin, uint32_t end) {
  if (!e.stops.wanted) return false;
  double nanoseconds = 0;
  bool endless = false;
  for (uint32_t i = begin; i < end; ++i) {
    const Statement& s = e.program.blocks[block].statements[i];
    nanoseconds += e.cost.statement(s);
    endless = endless || s.kind == StatementKind::kWhile;
    loop::visit_blocks_of(e.program, s, [&](loop::BlockId inner) {
      loop::visit_statements(e.program, inner,
                             [&](const Statement& t) { endless = endless || t.kind == StatementKind::kWhile; });
    });
  }
  return endless || nanoseconds >= kBetweenQuestions / 2;
}

namespace {

// In the middle of a vectorised loop too, between its vectors: what is stopped has no need of its lanes.
void poll_anywhere(CpuEmission& e, double nanoseconds) {
  const unsigned width = std::exchange(e.lanes.width, 0);
  poll(e, nanoseconds);
  e.lanes.width = width;
}

}  // namespace

LlvmValues run_long_loop(CpuEmission& e, llvm::Value* begin, llvm::Value* end, int64_t step, LlvmValues carries,
                         double nanoseconds, llvm::function_ref<LlvmValues(llvm::Value*, const LlvmValues&)> body) {
  if (nanoseconds <= 0) return e.code.run_loop(begin, end, step, std::move(carries), body);
  if (nanoseconds >= kShortIteration) {
    return e.code.run_loop(begin, end, step, std::move(carries), [&](llvm::Value* i, const LlvmValues& arguments) {
      poll_anywhere(e, nanoseconds);
      return body(i, arguments);
    });
  }
  const double in_run = std::clamp(kBetweenQuestions / 2 / std::max(nanoseconds, 0.01), 1.0, 1e9);
  const int64_t run = static_cast<int64_t>(in_run) * step;
  return e.code.run_loop(begin, end, run, std::move(carries), [&](llvm::Value* i, const LlvmValues& arguments) {
    poll_anywhere(e, in_run * nanoseconds);
    llvm::Value* after = e.b.CreateNSWAdd(i, e.b.getInt64(run));
    llvm::Value* stop = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, after, end);
    return e.code.run_loop(i, stop, step, arguments, body);
  });
}

}  // namespace ct::jit
