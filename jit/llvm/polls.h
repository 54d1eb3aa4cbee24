// Questions whether the program is to go on (runtime/interrupt.h), about every millisecond of a long one, and the ways
// out of a function that those have where the answer is no. In what follows `nanoseconds` is what was done since the
// last one.
#pragma once

#include "absl/types/span.h"
#include "jit/llvm/function_builder.h"
#include "jit/loop/loop.h"

namespace ct::jit {

struct CpuEmission;

struct Stops {
  void begin_function() { *this = {.wanted = wanted}; }

  bool wanted = false;                    // there are questions
  bool asked = false;                     // by the statement that is emitted
  llvm::AllocaInst* time_left = nullptr;  // until this function asks again
  llvm::BasicBlock* failed = nullptr;     // returns
};

void go_on_if(CpuEmission& e, llvm::Value* succeeded);       // else the function returns, and with it the program
double time_if_long(CpuEmission& e, const loop::For& loop);  // of an iteration; 0: the loop needs no questions
void poll(CpuEmission& e, double nanoseconds);
// Behind these statements of a block; `pending` is what others before them took.
void count_time(CpuEmission& e, absl::Span<const loop::Statement> statements, double& pending);
// Whether a function that holds these statements may ask.
bool may_stop(CpuEmission& e, loop::BlockId block, uint32_t begin, uint32_t end);
// After what takes so long and may have returned early.
void stop_if_told(CpuEmission& e, double nanoseconds);
// FunctionBuilder::run_loop, with questions where a step takes `nanoseconds`; none if that is 0.
LlvmValues run_long_loop(CpuEmission& e, llvm::Value* begin, llvm::Value* end, int64_t step, LlvmValues carries,
                         double nanoseconds, LoopBody body);

}  // namespace ct::jit
