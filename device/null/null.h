// A device that computes nothing and counts what it is told to do: plans can be played without the hardware they are
// for. Its memory has no addresses.
#pragma once

#include "device/device.h"

namespace ct {

struct NullCounts {
  int64_t allocated_bytes = 0;
  int64_t kernels = 0;
  int64_t products = 0;
  int64_t copies = 0;
  int64_t fills = 0;
  int64_t host_calls = 0;  // native code among them
  int64_t waits = 0;       // of the host for the device: at the end, and for what decides how a plan goes on
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
    void product(const ProductStep&, const void*, const void*, void*) override { ++counts.products; }
    void copy(void*, const void*, int64_t) override { ++counts.copies; }
    void fill(void*, uint8_t, int64_t) override { ++counts.fills; }
    void host(const Loaded&, const HostStep&, absl::Span<const void* const>, absl::Span<void* const>) override {
      ++counts.host_calls;
    }
    // As if the condition failed after one iteration, and the first branch were taken.
    void loop(int64_t count, const void*, const Body& body) override {
      if (count == -1) counts.waits += 2;  // for each look at the condition
      for (int64_t i = 0; i < (count == -1 ? 1 : count); ++i) body();
    }
    void branch(const void*, absl::Span<const Body> bodies) override {
      ++counts.waits;
      bodies[0]();
    }
    void wait() override { ++counts.waits; }
    bool copy_to_device(void*, const void*, int64_t) override {
      ++counts.copies;
      return false;
    }
    void copy_to_host(void*, const void*, int64_t) override { ++counts.copies; }
    NullCounts counts;
  };
  Counter queue_;
};

}  // namespace ct
