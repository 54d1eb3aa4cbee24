// Arrays in the memory of devices that have their own.
//
// A program of such a device is called with tensors: those whose bytes are there are used where they are, others are
// brought, and stay there as long as their array lives, so that the next call finds them. What a program makes stays
// on the device until somebody asks for it (Buffer::data). A queue's work is done in order, so nothing waits but who
// asks, and what brings memory of the host that may change.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "device/device.h"
#include "runtime/tensor.h"

namespace ct {

// A part of a device's memory. It is given back when the last reference goes, which work that is queued by then may
// still use: whatever the next owner does comes later in the queue.
class Resident final : public DeviceBytes {
 public:
  Resident(Device& device, std::shared_ptr<Buffer> memory, bool is_others = false)
      : device_(device), memory_(std::move(memory)), is_others_(is_others) {}
  int place() const override { return device_.place(); }
  void copy_to_host(void* to, size_t bytes) const override;
  void* address() const { return memory_->data(); }
  Device& device() const { return device_; }
  bool is_others() const { return is_others_; }  // of another library, which reads it when it likes

 private:
  Device& device_;
  const std::shared_ptr<Buffer> memory_;  // its data() is the device's address
  const bool is_others_;
};

// Where a tensor's bytes are on a device: there already, or brought now. `waits` is set where the host's memory may not
// change before the queue was waited for.
std::shared_ptr<const Resident> bring(Device& device, const Tensor& tensor, bool& waits);
// The same array, made on the device as far as others can see.
Tensor put(Device& device, const Tensor& tensor);
// Memory of the device that somebody else owns, as an array: `release` is called when nothing that is queued reads it.
Tensor adopt(Device& device, const Aval& aval, void* address, std::function<void()> release);
// A plan's results, on its device. Types and number of the inputs are those of the plan. A result is written over the
// input that Plan::donations has for it, if nobody but the caller refers to that.
std::vector<Tensor> run_resident(const Loaded& loaded, absl::Span<const Tensor> inputs);

}  // namespace ct
