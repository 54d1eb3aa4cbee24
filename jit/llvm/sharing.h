// Loops whose iterations several threads share, and the scratch memory of products, which each thread has its own of.
#pragma once

#include <cstdint>

#include "jit/llvm/function_builder.h"
#include "jit/loop/loop.h"
#include "jit/machine/vectorize.h"

namespace ct::jit {

struct CpuEmission;

struct Sharing {
  // Whose threads share loops.
  enum class Threads : uint8_t {
    kNone,
    kProcess,  // runtime/pool.h: the code runs in this process
    kCaller,   // of a library: what its caller gives it (ct_run::parallel)
  };
  Threads threads = Threads::kNone;
  bool in_process() const { return threads == Threads::kProcess; }
  bool shared_loops = false;          // there is one
  llvm::Function* program = nullptr;  // by which the pool knows loops of one program: the first that it may share
  // In a function of a range: its own scratch memory, and how much it uses.
  bool in_range = false;
  llvm::Value* scratch = nullptr;
  int64_t scratch_bytes = 0;
  int64_t arena_bytes = 0;  // with the scratch memory of what is not shared
};

// What the pool is told of a loop (ParallelLoop): times, those of iterations in picoseconds, so that cheap ones count;
// memory, as it is aligned; and by which address it knows the program, that of the first function that may share.
int64_t picoseconds_of(double nanoseconds);
int64_t nanoseconds_of_program(CpuEmission& e);
int64_t aligned_scratch(int64_t bytes);
llvm::Function* program_of(CpuEmission& e, llvm::Function* function);

bool is_shared(CpuEmission& e, const loop::For& loop);
void emit_shared_for(CpuEmission& e, const loop::For& loop, Vectorization how);
// Iterations [0, extent) of `body`, cut at multiples of `multiple`; alone where sharing is not possible.
// `nanoseconds` is an iteration's cost; `scratch_used` bytes of scratch memory are taken.
void share_range(CpuEmission& e, llvm::Value* extent, double nanoseconds, int64_t multiple, int64_t scratch_used,
                 llvm::function_ref<void(llvm::Value* begin, llvm::Value* end)> body);
// Bytes [begin, begin + bytes) of scratch memory.
llvm::Value* scratch_at(CpuEmission& e, int64_t begin, int64_t bytes);

}  // namespace ct::jit
