// A Plan on one device, ready to run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "device/plan.h"
#include "runtime/arena.h"
#include "runtime/subnormals.h"
#include "runtime/tensor.h"

namespace ct {

class Device;

// inputs[i], outputs[i]: row-major elements, aligned to their element type. `arena`: at least arena_bytes, aligned to
// kArenaAlignment, private to the call; may be null when arena_bytes is 0. Reentrant; never fails.
using PlanEntry = void (*)(void* const* inputs, void* const* outputs, void* arena);

// Before the arena of a library's code, which knows nothing of this process: what it asks of its caller, now and then
// whether it is to go on, and for threads that share its loops. Code of libraries that were made earlier knows the
// first fields.
struct LibraryCaller {
  int (*stops)(void* context);  // not 0: it is to return
  void* context;
  int32_t told;  // what it answered, ever
  // Or null: task(data, i) for each i < tasks, in any order.
  void (*parallel)(void* pool, uint32_t tasks, void (*task)(void* data, uint32_t i), void* data);
  void* pool;
};
inline constexpr int64_t kCallerBytes = 64;  // that it takes, so that the arena stays aligned
static_assert(sizeof(LibraryCaller) <= kCallerBytes);

// A native step's code in this process.
struct NativeCode {
  PlanEntry entry = nullptr;
  std::shared_ptr<const void> memory;  // what `entry` points into
  bool asks_caller = false;
};

// The functions of the host that a plan calls. They throw what fails.
class HostTable {
 public:
  virtual ~HostTable() = default;
  virtual std::vector<std::string> texts() const = 0;  // Plan::host_functions
  // Row-major elements in, row-major elements out.
  virtual void call(uint32_t function, const void* const* inputs, void* const* outputs) const = 0;
};

// Programs that take less are not asked whether to go on (jit/llvm/polls.cc).
inline constexpr int64_t kMayBeLong = 10'000;  // nanoseconds

// Immutable and safe to use from many threads at once.
class Loaded {
 public:
  // `host_table` may be null where the plan calls no host functions. `native`: of a plan that is one native step, whose
  // codes it has no further use for.
  Loaded(Plan plan, Device& device, std::shared_ptr<const HostTable> host_table, NativeCode native = {});

  virtual ~Loaded() = default;
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  // Pointers to row-major elements; outputs are preallocated. Allocates nothing on the host, except that the first call
  // of a thread may get scratch memory: Error(kMemory) if there is none. Throws what a host function throws; outputs
  // are then undefined. So they are when the front end interrupts a long program (runtime/interrupt.h), whose reason it
  // then throws.
  void run(void* const* inputs, void* const* outputs) const {
    const SubnormalScope subnormals;
    if (short_entry_ == nullptr) return run_watched(inputs, outputs);
    short_entry_(inputs, outputs, plan_.arena_bytes == 0 ? nullptr : cpu_arena(plan_.arena_bytes));
  }
  // Checks types, allocates the results. On a device with memory of its own this is how a plan is run (residency.h):
  // results are there when somebody asks for them, and may only then say what failed.
  std::vector<Tensor> operator()(absl::Span<const Tensor> inputs) const;

  const Plan& plan() const { return plan_; }
  Device& device() const { return device_; }
  const HostTable* host_table() const { return host_table_.get(); }
  PlanEntry entry() const { return native_.entry; }  // null unless the plan is one native step
  // That step, with what its calls out of it need.
  void run_native(void* const* inputs, void* const* outputs) const;

 protected:
  // The steps of a plan that is not one native step.
  void play(void* const* inputs, void* const* outputs) const;
  // Those of a device with memory of its own.
  virtual std::vector<Tensor> play_resident(absl::Span<const Tensor> inputs) const;

 private:
  void run_watched(void* const* inputs, void* const* outputs) const;

  const Plan plan_;
  Device& device_;
  const std::shared_ptr<const HostTable> host_table_;
  const NativeCode native_;
  PlanEntry short_entry_ = nullptr;  // of programs that nothing has to be prepared for
};
using LoadedPtr = std::shared_ptr<const Loaded>;

}  // namespace ct
