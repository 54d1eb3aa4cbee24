#include "device/residency.h"

#include "absl/container/inlined_vector.h"
#include "device/run_plan.h"

namespace ct {

void Resident::copy_to_host(void* to, size_t bytes) const {
  Queue& queue = device_.queue();
  queue.copy_to_host(to, address(), static_cast<int64_t>(bytes));
  queue.wait();
}

std::shared_ptr<const Resident> bring(Device& device, const Tensor& tensor, bool& waits) {
  const std::shared_ptr<Buffer>& buffer = tensor.buffer();
  auto elsewhere = std::static_pointer_cast<const Resident>(buffer->device_bytes());
  if (elsewhere != nullptr && elsewhere->place() == device.place()) return elsewhere;
  const int64_t bytes = tensor.aval().bytes();
  auto brought = std::make_shared<const Resident>(device, device.allocate(static_cast<size_t>(bytes)));
  if (tensor.place() != kHostPlace &&
      device.copy_from(elsewhere->device(), brought->address(), elsewhere->address(), bytes)) {
    return brought;
  }
  const void* const on_host =
      buffer->data();  // first: it may use another device, and the thread's queue is then that's
  waits |= device.queue().copy_to_device(brought->address(), on_host, bytes);
  // What somebody else owns may be changed by them.
  if (!buffer->borrowed()) buffer->keep_on_device(brought);
  return brought;
}

Tensor put(Device& device, const Tensor& tensor) {
  if (tensor.place() == device.place()) return tensor;
  try {
    bool waits = false;
    auto there = bring(device, tensor, waits);
    if (waits) device.queue().wait();
    return {tensor.aval(), Buffer::on_device(static_cast<size_t>(tensor.aval().bytes()), std::move(there))};
  } catch (Error& error) {
    if (error.kind() == ErrorKind::kMemory) error.hint(device.memory_advice());
    throw;
  }
}

Tensor adopt(Device& device, const Aval& aval, void* address, std::function<void()> release) {
  const auto bytes = static_cast<size_t>(aval.bytes());
  auto memory = Buffer::borrow(address, bytes, [&device, release = std::move(release)] {
    try {
      device.queue().settle();
    } catch (const Error&) {  // the device is gone, and with it what was queued
    }
    release();
  });
  return {aval, Buffer::on_device(bytes, std::make_shared<const Resident>(device, std::move(memory)))};
}

std::vector<Tensor> run_resident(const Loaded& loaded, absl::Span<const Tensor> inputs) {
  Device& device = loaded.device();
  const Plan& plan = loaded.plan();
  std::vector<std::shared_ptr<const Resident>> residents;
  absl::InlinedVector<void*, 16> input_addresses(inputs.size(), nullptr), output_addresses;
  std::vector<Tensor> outputs;
  bool waits = false;
  try {
    for (const PlanBuffer& buffer : plan.buffers) {
      if (buffer.kind != PlanBuffer::Kind::kInput) continue;
      const auto position = static_cast<size_t>(buffer.position);
      if (input_addresses[position] != nullptr) continue;
      residents.push_back(bring(device, inputs[position], waits));
      input_addresses[position] = residents.back()->address();
    }
    for (const Aval& aval : plan.outputs) {
      const auto bytes = static_cast<size_t>(aval.bytes());
      auto made = std::make_shared<const Resident>(device, device.allocate(bytes));
      output_addresses.push_back(made->address());
      outputs.emplace_back(aval, Buffer::on_device(bytes, std::move(made)));
    }
    queue_plan(loaded, device.queue(), input_addresses.data(), output_addresses.data());
  } catch (...) {
    if (waits) device.queue().settle();
    throw;
  }
  if (waits) device.queue().wait();
  return outputs;
}

}  // namespace ct
