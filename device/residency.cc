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
  return {aval,
          Buffer::on_device(bytes, std::make_shared<const Resident>(device, std::move(memory), /*is_others=*/true))};
}

namespace {

// Whether nobody but the caller could tell that something else is written there: `there` is the caller's, too.
bool is_only_here(const Tensor& tensor, const std::shared_ptr<const Resident>& there) {
  if (tensor.buffer().use_count() != 1 || there->is_others()) return false;
  const bool is_kept = tensor.buffer()->device_bytes() == there;
  return there.use_count() == (is_kept ? 2 : 1);
}

}  // namespace

std::vector<Tensor> run_resident(const Loaded& loaded, absl::Span<const Tensor> inputs) {
  Device& device = loaded.device();
  const Plan& plan = loaded.plan();
  std::vector<std::shared_ptr<const Resident>> residents(inputs.size());
  absl::InlinedVector<void*, 16> input_addresses(inputs.size(), nullptr), output_addresses;
  std::vector<Tensor> outputs;
  bool waits = false;
  try {
    for (const PlanBuffer& buffer : plan.buffers) {
      if (buffer.kind != PlanBuffer::Kind::kInput) continue;
      const auto position = static_cast<size_t>(buffer.position);
      if (residents[position] != nullptr) continue;
      residents[position] = bring(device, inputs[position], waits);
      input_addresses[position] = residents[position]->address();
    }
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
      const auto bytes = static_cast<size_t>(plan.outputs[i].bytes());
      const int donated = plan.donations[i];
      const auto input = static_cast<size_t>(donated);
      const bool writes_over =
          donated >= 0 && residents[input] != nullptr && is_only_here(inputs[input], residents[input]);
      auto made = writes_over ? residents[input] : std::make_shared<const Resident>(device, device.allocate(bytes));
      output_addresses.push_back(made->address());
      outputs.emplace_back(plan.outputs[i], Buffer::on_device(bytes, std::move(made)));
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
