#include "device/cpu/cpu.h"

#include <algorithm>
#include <cstring>

#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/text.h"

namespace ct {
namespace {

NativeLoader native_loader = nullptr;

class Cpu final : public Device {
 public:
  std::shared_ptr<Buffer> allocate(size_t bytes) override { return Buffer::allocate(bytes); }

  absl::StatusOr<LoadedPtr> load(const Plan& plan, std::shared_ptr<const HostTable> host_table) override {
    if (const std::string problem = check_plan(plan); !problem.empty()) return absl::InvalidArgumentError(problem);
    if (!plan.host_functions.empty() && host_table == nullptr) {
      return absl::InvalidArgumentError(concat("nobody brought the host functions of '", plan.name, "'"));
    }
    if (!is_native(plan)) return std::make_shared<const Loaded>(plan, *this, std::move(host_table));
    absl::StatusOr<NativeCode> native = load_native(plan);
    if (!native.ok()) return native.status();
    // The mapping is all that is called; a large program's objects are megabytes.
    Plan linked = plan;
    linked.codes.clear();
    linked.codes.shrink_to_fit();
    return std::make_shared<const Loaded>(std::move(linked), *this, std::move(host_table), *std::move(native));
  }
  Queue& queue() override { return queue_; }

 private:
  static bool is_native(const Plan& plan) {
    return plan.blocks.size() == 1 && plan.blocks[0].size() == 1 &&
           std::holds_alternative<NativeStep>(plan.blocks[0][0]);
  }
  HostQueue queue_;  // without state: of all threads
};

}  // namespace

Device& cpu_device() {
  static Cpu* device = new Cpu;
  return *device;
}

void set_native_loader(NativeLoader loader) { native_loader = loader; }

absl::StatusOr<NativeCode> load_native(const Plan& plan) {
  if (native_loader == nullptr) return absl::UnimplementedError("there is no loader of native code");
  return native_loader(plan);
}

void HostQueue::native(const Loaded& loaded, void* const* inputs, void* const* outputs) {
  CT_CHECK(loaded.entry() != nullptr);
  loaded.run_native(inputs, outputs);
}

// Plans for the host have no such steps.
void HostQueue::launch(const Loaded&, const KernelStep&, absl::Span<void* const>) { CT_CHECK(false); }
void HostQueue::product(const ProductStep&, const void*, const void*, void*) { CT_CHECK(false); }

void HostQueue::copy(void* to, const void* from, int64_t bytes) {
  if (bytes != 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

bool HostQueue::copy_to_device(void* to, const void* from, int64_t bytes) {
  copy(to, from, bytes);
  return false;
}

void HostQueue::fill(void* to, uint8_t byte, int64_t bytes) {
  if (bytes != 0) std::memset(to, byte, static_cast<size_t>(bytes));
}

void HostQueue::host(const Loaded& loaded, const HostStep& step, absl::Span<const void* const> inputs,
                     absl::Span<void* const> outputs) {
  CT_CHECK(loaded.host_table() != nullptr);
  loaded.host_table()->call(step.function, inputs.data(), outputs.data());
}

void HostQueue::loop(int64_t count, const void* go_on, const Body& body) {
  if (count == -1) {
    while (*static_cast<const volatile uint8_t*>(go_on) != 0 && ct::go_on()) body();
  } else {
    for (int64_t i = 0; i < count && ct::go_on(); ++i) body();
  }
}

void HostQueue::branch(const void* index, absl::Span<const Body> bodies) {
  int32_t chosen;
  std::memcpy(&chosen, index, sizeof chosen);
  bodies[static_cast<size_t>(std::clamp<int64_t>(chosen, 0, static_cast<int64_t>(bodies.size()) - 1))]();
}

}  // namespace ct
