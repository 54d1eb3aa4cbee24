// What a device does, in the order in which it is told: the interface that run_plan plays plans on.
//
// Addresses are those of the device's memory. What fails throws; queues that return before the work is done throw what
// failed at `wait`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/types/span.h"
#include "device/loaded.h"

namespace ct {

// A point in what a queue does, to measure time with.
class Mark {
 public:
  virtual ~Mark() = default;
  // In seconds, from an earlier one of the same queue to this one. The queue was waited for since.
  virtual double since(const Mark& earlier) const = 0;
};

// Of a queue that has done what it is told when it returns.
class ClockMark final : public Mark {
 public:
  double since(const Mark& earlier) const override {
    return std::chrono::duration<double>(now_ - static_cast<const ClockMark&>(earlier).now_).count();
  }

 private:
  const std::chrono::steady_clock::time_point now_ = std::chrono::steady_clock::now();
};

class Queue {
 public:
  using Body = std::function<void()>;  // queues the steps of a block

  virtual ~Queue() = default;

  virtual void native(const Loaded& loaded, void* const* inputs, void* const* outputs) = 0;
  virtual void launch(const Loaded& loaded, const KernelStep& kernel, absl::Span<void* const> arguments) = 0;
  // Only of plans for devices that have a library for it.
  virtual void product(const ProductStep& product, const void* a, const void* b, void* c) = 0;
  virtual void copy(void* to, const void* from, int64_t bytes) = 0;
  virtual void fill(void* to, uint8_t byte, int64_t bytes) = 0;
  virtual void host(const Loaded& loaded, const HostStep& step, absl::Span<const void* const> inputs,
                    absl::Span<void* const> outputs) = 0;
  virtual void loop(int64_t count, const void* go_on, const Body& body) = 0;
  virtual void branch(const void* index, absl::Span<const Body> bodies) = 0;
  // Also when it throws, nothing is under way afterwards.
  virtual void wait() = 0;
  // Whether nothing is under way: what asks does not wait.
  virtual bool is_idle() { return true; }
  // The same as `wait`, after something else failed: throws nothing.
  virtual void settle() noexcept {}

  // Between the memory of the host and the device's. Whether the host's may not change before the next `wait`.
  virtual bool copy_to_device(void* to, const void* from, int64_t bytes) = 0;
  // The host's memory is written when the next `wait` returns.
  virtual void copy_to_host(void* to, const void* from, int64_t bytes) = 0;

  virtual std::unique_ptr<Mark> mark() { return std::make_unique<ClockMark>(); }

  // Queues of the same device that other libraries have, by the handles that its driver gives them. 0: there are none.
  virtual uintptr_t handle() const { return 0; }
  // What is queued here from now on comes after what was queued there.
  virtual void follow(uintptr_t /*other*/) {}
  // What is queued there from now on comes after what was queued here.
  virtual void lead(uintptr_t /*other*/) {}
  // The same as `follow`, of all the others that there are, and of those that are gone; throws nothing.
  virtual void follow_all() noexcept {}
};

}  // namespace ct
