// What runs plans. `cpu` (cpu/cpu.h) calls native code and plays other plans step by step; `null` (null/null.h) only
// counts. A back end of the compiler (jit/backend.h) says on which device its plans run; users choose it by name.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "device/loaded.h"
#include "device/plan.h"
#include "device/queue.h"
#include "runtime/memory_advice.h"
#include "runtime/tensor.h"

namespace ct {

// Of memories, beside kHostPlace: a bit each, so that the union of those of several arrays tells whether it is one
// place. The emulated device's memory is the host's, but nothing else may know that. GPUs have the bits above it.
inline constexpr int kEmulatedPlace = 1, kFirstGpuPlace = 2, kMostGpus = 16;

// Devices live as long as the process.
class Device {
 public:
  virtual ~Device() = default;
  // Of its memory: kHostPlace, or a bit of its own (residency.h).
  virtual int place() const { return kHostPlace; }
  // Queues a copy from another device's memory, which that device's later work comes after; false where only the host
  // can bring it.
  virtual bool copy_from(Device& other, void* to, const void* from, int64_t bytes) {
    static_cast<void>(other), static_cast<void>(to), static_cast<void>(from), static_cast<void>(bytes);
    return false;
  }
  // In the device's memory; Error(kMemory), without a hint, when there is none.
  virtual std::shared_ptr<Buffer> allocate(size_t bytes) = 0;
  // What to do then.
  virtual std::string memory_advice() const { return kMemoryAdvice; }
  virtual absl::StatusOr<LoadedPtr> load(const Plan& plan, std::shared_ptr<const HostTable> host_table = nullptr) = 0;
  // That of the calling thread.
  virtual Queue& queue() = 0;
};

}  // namespace ct
