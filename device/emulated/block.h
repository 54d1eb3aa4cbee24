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

// One kernel: all its blocks, one after the other. Throws Error(kInternal) when threads of a block wait at a barrier
// that others never come to.
using EmulatedKernel = void (*)(void* const* arguments);
void run_blocks(EmulatedKernel kernel, absl::Span<void* const> arguments, uint32_t blocks, uint32_t threads,
                uint32_t shared_bytes);

// Of the functions that emulated kernels call; null: none has that name.
const void* find_emulated(std::string_view name);

inline constexpr const char* kEmulatedPrefix = "ct_emulated.";
inline constexpr const char* kEmulatedShared = "ct_emulated.shared_memory";
inline constexpr const char* kEmulatedAccess = "ct_emulated.access";  // address, bytes, whether it writes
inline constexpr const char* kKernelsSymbol = "ct_kernels";

}  // namespace ct
