#include "device/loaded.h"

#include <cstddef>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "device/device.h"
#include "device/host_call.h"
#include "device/memory_text.h"
#include "device/residency.h"
#include "device/run_plan.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/parallel.h"
#include "runtime/pool.h"
#include "runtime/text.h"

namespace ct {
namespace {

// A library's tasks on this process's threads (LibraryCaller::parallel). Such loops are worth it.
void run_tasks(void* /*pool*/, uint32_t tasks, void (*task)(void* data, uint32_t i), void* data) {
  parallel_for(tasks, Pool::kLeastCold, Pool::kLeastCold, [&](int64_t i) { task(data, static_cast<uint32_t>(i)); });
}

}  // namespace

Loaded::Loaded(Plan plan, Device& device, std::shared_ptr<const HostTable> host_table, NativeCode native)
    : plan_(std::move(plan)), device_(device), host_table_(std::move(host_table)), native_(std::move(native)) {
  if (plan_.nanoseconds < kMayBeLong && plan_.host_functions.empty() && !native_.asks_caller) {
    short_entry_ = native_.entry;
  }
}

void Loaded::run_native(void* const* inputs, void* const* outputs) const {
  if (native_.asks_caller) {
    auto* caller = static_cast<LibraryCaller*>(cpu_arena(plan_.arena_bytes + kCallerBytes));
    *caller = {.stops = [](void*) -> int { return go_on() ? 0 : 1; },
               .context = nullptr,
               .told = 0,
               .parallel = threads() > 1 ? &run_tasks : nullptr,
               .pool = nullptr};
    return native_.entry(inputs, outputs, reinterpret_cast<std::byte*>(caller) + kCallerBytes);
  }
  if (plan_.host_functions.empty()) {
    return native_.entry(inputs, outputs, plan_.arena_bytes == 0 ? nullptr : cpu_arena(plan_.arena_bytes));
  }
  // Scratch memory of its own: what is called may run programs on this thread, with the thread's arena.
  const auto arena = Buffer::allocate(static_cast<size_t>(plan_.arena_bytes));
  const HostScope scope(*host_table_);
  native_.entry(inputs, outputs, arena->data());
  scope.rethrow();
}

void Loaded::run_watched(void* const* inputs, void* const* outputs) const {
  std::optional<Interruptible> scope;
  if (plan_.nanoseconds >= kMayBeLong) scope.emplace();
  if (native_.entry != nullptr) {
    run_native(inputs, outputs);
  } else {
    play(inputs, outputs);
  }
  if (scope) scope->rethrow();
}

void Loaded::play(void* const* inputs, void* const* outputs) const {
  run_plan(*this, device_.queue(), inputs, outputs);
}

std::vector<Tensor> Loaded::play_resident(absl::Span<const Tensor> inputs) const {
  try {
    return run_resident(*this, inputs);
  } catch (Error& error) {
    if (error.kind() == ErrorKind::kMemory) {
      error.hint(concat(largest_arrays(plan_), "\n  ", device_.memory_advice()));
    }
    throw;
  }
}

std::vector<Tensor> Loaded::operator()(absl::Span<const Tensor> inputs) const {
  if (inputs.size() != plan_.inputs.size()) {
    throw Error(ErrorKind::kType,
                concat("compiled for ", plan_.inputs.size(), " arguments, called with ", inputs.size()))
        .hint("pass an array for each input of the graph");
  }
  absl::InlinedVector<void*, 16> input_pointers, output_pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!same_type(inputs[i].aval(), plan_.inputs[i])) {
      throw Error(ErrorKind::kType, concat("argument ", i, " was compiled for ", plan_.inputs[i].to_string(),
                                           ", called with ", inputs[i].aval().to_string()))
          .hint("compile the graph for other types, too");
    }
  }
  if (device_.place() != kHostPlace) {
    std::optional<Interruptible> scope;
    if (plan_.nanoseconds >= kMayBeLong) scope.emplace();
    std::vector<Tensor> outputs = play_resident(inputs);
    if (scope) scope->rethrow();
    return outputs;
  }
  for (const Tensor& input : inputs) input_pointers.push_back(input.data());
  std::vector<Tensor> outputs;
  for (const Aval& aval : plan_.outputs) {
    outputs.emplace_back(aval);
    output_pointers.push_back(outputs.back().data());
  }
  run(input_pointers.data(), output_pointers.data());
  return outputs;
}

}  // namespace ct
