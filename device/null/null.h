// A device that computes nothing and counts what it is told to do: plans can be played without the hardware they are
// for. Its memory has no addresses.
#pragma once

#include "device/device.h"

namespace ct {

struct NullCounts {
  int64_t allocated_bytes = 0;
  int64_t kernels = 0;
  int64_t copies = 0;
  int64_t host_calls = 0;  // native code among them
};

class NullDevice final : public Device {
 public:
  std::shared_ptr<Buffer> allocate(size_t bytes) override;
  absl::StatusOr<LoadedPtr> load(const Plan& plan, std::shared_ptr<const HostTable> host_table = nullptr) override;
  Queue& queue() override { return queue_; }
  const NullCounts& counts() const { return queue_.counts; }

 private:
  class Counter final : public Queue {
   public:
    void native(const Loaded&, void* const*, void* const*) override { ++counts.host_calls; }
    void launch(const Loaded&, const KernelStep&, absl::Span<void* const>) override { ++counts.kernels; }
    void copy(void*, const void*, int64_t) override { ++counts.copies; }
    void host(const Loaded&, uint32_t, absl::Span<const void* const>, absl::Span<void* const>) override {
      ++counts.host_calls;
    }
    // As if the condition failed after one iteration, and the first branch were taken.
    void loop(int64_t count, const void*, const Body& body) override {
      for (int64_t i = 0; i < (count == -1 ? 1 : count); ++i) body();
    }
    void branch(const void*, absl::Span<const Body> bodies) override { bodies[0](); }
    void wait() override {}
    NullCounts counts;
  };
  Counter queue_;
};

}  // namespace ct
