// The stream of a GPU as a queue. What decides how a plan goes on is read by the host, which waits for it.
#pragma once

#include <memory>

#include "device/cuda/context.h"
#include "device/queue.h"

namespace ct::cuda {

class StreamQueue final : public Queue {
 public:
  explicit StreamQueue(GpuContext& context) : context_(context) {}

  void native(const Loaded& loaded, void* const* inputs, void* const* outputs) override;
  void launch(const Loaded& loaded, const KernelStep& kernel, absl::Span<void* const> arguments) override;
  void product(const ProductStep& product, const void* a, const void* b, void* c) override;
  void copy(void* to, const void* from, int64_t bytes) override;
  void fill(void* to, uint8_t byte, int64_t bytes) override;
  // Its inputs are copied to the host, and its outputs back.
  void host(const Loaded& loaded, const HostStep& step, absl::Span<const void* const> inputs,
            absl::Span<void* const> outputs) override;
  void loop(int64_t count, const void* go_on, const Body& body) override;
  void branch(const void* index, absl::Span<const Body> bodies) override;
  void wait() override;
  bool is_idle() override;
  void settle() noexcept override;
  bool copy_to_device(void* to, const void* from, int64_t bytes) override;
  void copy_to_host(void* to, const void* from, int64_t bytes) override;
  std::unique_ptr<Mark> mark() override;
  uintptr_t handle() const override { return reinterpret_cast<uintptr_t>(context_.stream()); }
  void follow(uintptr_t other) override;
  void lead(uintptr_t other) override;
  void follow_all() noexcept override;

 private:
  // Around whatever copies between the device and memory of the host that ends with the scope: nothing is under way any
  // more when something is thrown.
  class Settled;
  // Waits, and returns what is at a place in the device's memory.
  template <class Number>
  Number read(const void* from);
  void order(Stream first, Stream then);

  const Driver& driver() const { return context_.driver(); }

  GpuContext& context_;
};

}  // namespace ct::cuda
