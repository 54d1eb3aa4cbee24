// Questions whether the program is to go on (ir/interrupt.h), about every millisecond of a long one.
//
// A function counts down the estimated time of what it has done, in a register; when none is left it asks, and returns
// early if the answer is no. Loops that take long are cut in runs of iterations and ask between these, so that their
// inner loops know nothing of it; loops whose end nobody knows count in each iteration. A program that is short by the
// cost model, and has no such loop, has no questions.
//
// Who calls a function that may have returned early, a range of a shared loop say, asks after the call: the answer
// stays no.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <utility>

#include "ir/interrupt.h"
#include "jit/llvm/emit.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::Statement;
using loop::StatementKind;

namespace {

constexpr double kLongProgram = 2e6;     // nanoseconds
constexpr double kBetweenPolls = 5e5;    // of estimated time
constexpr double kShortIteration = 2e4;  // loops of such are cut in runs
constexpr double kPicoseconds = 1000;

}  // namespace

bool may_take_long(const loop::Program& program) {
  return !program.whiles.empty() || CostModel(program).program() >= kLongProgram;
}

double Emitter::time_if_long(const loop::For& loop) {
  if (!polls_ || lanes_.width != 0) return 0;
  const bool endless = !program_.range_of(loop.extent).known();
  const double iteration = cost_.iteration(loop);
  return endless || cost_.iterations(loop) * iteration >= kBetweenPolls ? std::max(iteration, 0.01) : 0;
}

// A library has nobody to ask, but a flag. The call's own note of it stays set, whatever becomes of the flag.
llvm::Value* Emitter::read_stop_flag() {
  llvm::Type* type = b_.getInt32Ty();
  llvm::Value* slot = arena_at(outline_.stop_slot);
  llvm::LoadInst* flag = b_.CreateLoad(type, stop_flag(module_));
  flag->setVolatile(true);
  llvm::Value* told = b_.CreateOr(flag, b_.CreateLoad(type, slot));
  b_.CreateStore(told, slot);
  return b_.CreateIsNull(told);
}

llvm::GlobalVariable* stop_flag(llvm::Module& module) {
  constexpr const char* kName = "stop_flag";
  if (llvm::GlobalVariable* known = module.getNamedGlobal(kName)) return known;
  llvm::Type* type = llvm::Type::getInt32Ty(module.getContext());
  return new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                  llvm::ConstantInt::get(type, 0), kName);
}

llvm::Value* Emitter::ask_to_go_on() {
  if (!shares_loops_) return read_stop_flag();
  llvm::FunctionCallee ask = module_.getOrInsertFunction(kGoOnSymbol, b_.getInt1Ty());
  auto* declared = llvm::cast<llvm::Function>(ask.getCallee());
  declared->addRetAttr(llvm::Attribute::ZExt);
  declared->addFnAttr(llvm::Attribute::NoUnwind);
  declared->addFnAttr(llvm::Attribute::Cold);
  return b_.CreateCall(ask);
}

void Emitter::poll(double nanoseconds) {
  if (!polls_ || lanes_.width != 0) return;
  constexpr auto kAll = static_cast<int64_t>(kBetweenPolls * kPicoseconds);
  if (time_left_ == nullptr) {
    llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    time_left_ = entry.CreateAlloca(i64_);
    entry.CreateStore(entry.getInt64(kAll), time_left_);
    promoted_.push_back(time_left_);
  }
  const auto spent = static_cast<int64_t>(std::clamp(nanoseconds, 0.25, 1e9) * kPicoseconds);
  llvm::Value* left = b_.CreateSub(b_.CreateLoad(i64_, time_left_), b_.getInt64(spent));
  b_.CreateStore(left, time_left_);
  llvm::BasicBlock* asks = new_block("asks");
  llvm::BasicBlock* goes_on = new_block("goes_on");
  b_.CreateCondBr(b_.CreateICmpSLT(left, b_.getInt64(0)), asks, goes_on,
                  llvm::MDBuilder(context_).createBranchWeights(1, 100'000));
  b_.SetInsertPoint(asks);
  b_.CreateStore(b_.getInt64(kAll), time_left_);
  go_on_if(ask_to_go_on());
  b_.CreateBr(goes_on);
  b_.SetInsertPoint(goes_on);
}

void Emitter::stop_if_told(double nanoseconds) {
  if (polls_ && lanes_.width == 0 && nanoseconds >= kBetweenPolls / 2) go_on_if(ask_to_go_on());
}

// Between the statements of a block.
void Emitter::count_time(const loop::Statement& statement, double& pending) {
  if (!polls_ || lanes_.width != 0) return;
  pending += cost_.statement(statement);
  if (pending < kBetweenPolls / 2) return;
  poll(pending);
  pending = 0;
}

// Whether a function that holds these statements may ask.
bool Emitter::may_stop(loop::BlockId block, uint32_t begin, uint32_t end) {
  if (!polls_) return false;
  double nanoseconds = 0;
  bool endless = false;
  for (uint32_t i = begin; i < end; ++i) {
    const Statement& s = program_.blocks[block].statements[i];
    nanoseconds += cost_.statement(s);
    endless = endless || s.kind == StatementKind::kWhile;
    loop::visit_blocks_of(program_, s, [&](loop::BlockId inner) {
      loop::visit_statements(program_, inner,
                             [&](const Statement& t) { endless = endless || t.kind == StatementKind::kWhile; });
    });
  }
  return endless || nanoseconds >= kBetweenPolls / 2;
}

Emitter::Values Emitter::run_long_loop(llvm::Value* begin, llvm::Value* end, int64_t step, Values carries,
                                       double nanoseconds,
                                       llvm::function_ref<Values(llvm::Value*, const Values&)> body) {
  if (nanoseconds <= 0) return run_loop(begin, end, step, std::move(carries), body);
  if (nanoseconds >= kShortIteration) {
    return run_loop(begin, end, step, std::move(carries), [&](llvm::Value* i, const Values& arguments) {
      poll_anywhere(nanoseconds);
      return body(i, arguments);
    });
  }
  const double in_run = std::clamp(kBetweenPolls / 2 / std::max(nanoseconds, 0.01), 1.0, 1e9);
  const int64_t run = static_cast<int64_t>(in_run) * step;
  return run_loop(begin, end, run, std::move(carries), [&](llvm::Value* i, const Values& arguments) {
    poll_anywhere(in_run * nanoseconds);
    llvm::Value* after = b_.CreateNSWAdd(i, b_.getInt64(run));
    llvm::Value* stop = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, after, end);
    return run_loop(i, stop, step, arguments, body);
  });
}

// In the middle of a vectorised loop too, between its vectors: what is stopped has no need of its lanes.
void Emitter::poll_anywhere(double nanoseconds) {
  const unsigned width = std::exchange(lanes_.width, 0);
  poll(nanoseconds);
  lanes_.width = width;
}

}  // namespace ct::jit
