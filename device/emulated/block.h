// A block of a GPU's threads on one thread of the host: each is a fiber, which runs until it comes to a barrier or to
// its end. Nothing is simulated but the order of threads, which may be chosen: what a kernel computes must not depend
// on it.
//
// Generated code (jit/llvm/emulate.cc) calls the functions that find_emulated knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

namespace ct {

enum class ThreadOrder : uint8_t { kForward, kReverse, kRandom };
// Of all blocks from now on; at first that of CT_THREAD_ORDER in the environment: forward, reverse or random.
void set_thread_order(ThreadOrder order);

// A block while it runs: what its threads ask the hardware for, and which of them have begun and ended. Generated code
// reads and writes it.
struct EmulatedBlock {
  const uint32_t* order = nullptr;  // of threads
  std::byte* shared = nullptr;      // memory
  uint32_t threads = 0, block = 0, blocks = 0;
  uint32_t begun = 0, ended = 0;  // threads
  uint32_t thread = 0;            // that runs
};

// Runs those threads of a block that have not begun, one after the other. One that waits at a barrier stays in the
// middle of it, and another call goes on with the next.
using EmulatedKernel = void (*)(void* const* arguments, EmulatedBlock* block);
// One kernel: all its blocks, one after the other. Throws Error(kInternal) when threads of a block wait at a barrier
// that others never come to, and the reason when the computation is to stop (runtime/interrupt.h).
void run_blocks(EmulatedKernel kernel, absl::Span<void* const> arguments, uint32_t blocks, uint32_t threads,
                uint32_t shared_bytes);

// Of the functions that emulated kernels call; null: none has that name.
const void* find_emulated(std::string_view name);

inline constexpr const char* kEmulatedBarrier = "ct_emulated.barrier";  // an EmulatedBlock*
inline constexpr const char* kEmulatedAccess = "ct_emulated.access";    // address, bytes, whether it writes
inline constexpr const char* kEmulatedGoOn = "ct_emulated.go_on";       // whether the thread is to go on, else it ends
inline constexpr const char* kKernelsSymbol = "ct_kernels";

}  // namespace ct
