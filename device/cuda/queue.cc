#include "device/cuda/queue.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "device/cuda/loaded.h"
#include "runtime/interrupt.h"

namespace ct::cuda {
namespace {

// About what an iteration takes that the host drives.
constexpr int64_t kIteration = 10'000;  // nanoseconds
constexpr int64_t kMostByValue = 16;    // bytes

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

class EventMark final : public Mark {
 public:
  explicit EventMark(const GpuContext& context) : driver_(context.driver()) {
    driver_.cuEventCreate(&event_, kTimedEvent);
    const Status recorded = driver_.cuEventRecord.attempt(event_, context.stream());
    if (recorded == Status::kSuccess) return;
    driver_.cuEventDestroy.attempt(event_);
    throw driver_.failure(driver_.cuEventRecord.name(), recorded);
  }
  ~EventMark() override { driver_.cuEventDestroy.attempt(event_); }
  EventMark(const EventMark&) = delete;
  EventMark& operator=(const EventMark&) = delete;

  double since(const Mark& earlier) const override {
    float milliseconds = 0;
    driver_.cuEventElapsedTime(&milliseconds, static_cast<const EventMark&>(earlier).event_, event_);
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  const Driver& driver_;
  Event event_ = nullptr;
};

}  // namespace

class StreamQueue::Settled {
 public:
  explicit Settled(const StreamQueue& queue) : queue_(queue) {}
  ~Settled() {
    if (!settled_) queue_.driver().cuStreamSynchronize.attempt(queue_.context_.stream());
  }
  Settled(const Settled&) = delete;
  Settled& operator=(const Settled&) = delete;

  void wait() {
    queue_.driver().cuStreamSynchronize(queue_.context_.stream());
    settled_ = true;
  }

 private:
  const StreamQueue& queue_;
  bool settled_ = false;
};

template <class Number>
Number StreamQueue::read(const void* from) {
  Number number{};
  Settled settled(*this);
  copy_to_host(&number, from, sizeof number);
  settled.wait();
  return number;
}

void StreamQueue::native(const Loaded&, void* const*, void* const*) {
  throw Error(ErrorKind::kInternal, "a GPU does not run code of the host");
}

void StreamQueue::launch(const Loaded& loaded, const KernelStep& kernel, absl::Span<void* const> arguments) {
  std::vector<void*> values(arguments.begin(), arguments.end());
  std::vector<void*> places;
  for (void*& value : values) places.push_back(&value);
  const LaunchConfig config{.grid_x = kernel.blocks,
                            .grid_y = 1,
                            .grid_z = 1,
                            .block_x = kernel.threads,
                            .block_y = 1,
                            .block_z = 1,
                            .shared_bytes = kernel.shared_bytes,
                            .stream = context_.stream(),
                            .attributes = nullptr,
                            .attribute_count = 0};
  driver().cuLaunchKernelEx(&config, static_cast<const CudaLoaded&>(loaded).function(kernel), places.data(), nullptr);
}

void StreamQueue::copy(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  driver().cuMemcpyDtoDAsync(address_of(to), address_of(from), static_cast<size_t>(bytes), context_.stream());
}

void StreamQueue::product(const ProductStep& product, const void* a, const void* b, void* c) {
  context_.products().make(context_, product, a, b, c);
}

void StreamQueue::fill(void* to, uint8_t byte, int64_t bytes) {
  if (bytes == 0) return;
  driver().cuMemsetD8Async(address_of(to), byte, static_cast<size_t>(bytes), context_.stream());
}

// Few words travel with the call: a learning rate, a key. Nobody waits for these.
bool StreamQueue::copy_to_device(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return false;
  if (bytes > kMostByValue || bytes % 4 != 0) {
    driver().cuMemcpyHtoDAsync(address_of(to), from, static_cast<size_t>(bytes), context_.stream());
    return true;
  }
  for (int64_t at = 0; at < bytes; at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(from) + at, sizeof word);
    driver().cuMemsetD32Async(address_of(to) + static_cast<Address>(at), word, 1, context_.stream());
  }
  return false;
}

void StreamQueue::copy_to_host(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  driver().cuMemcpyDtoHAsync(to, address_of(from), static_cast<size_t>(bytes), context_.stream());
}

void StreamQueue::host(const Loaded& loaded, const HostStep& step, absl::Span<const void* const> inputs,
                       absl::Span<void* const> outputs) {
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::vector<const void*> operands;
  std::vector<void*> results;
  CT_CHECK(loaded.host_table() != nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    buffers.push_back(Buffer::allocate(static_cast<size_t>(step.inputs[i].bytes)));
    operands.push_back(buffers.back()->data());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    buffers.push_back(Buffer::allocate(static_cast<size_t>(step.outputs[i].bytes)));
    results.push_back(buffers.back()->data());
  }
  Settled inputs_settled(*this);
  for (size_t i = 0; i < inputs.size(); ++i) copy_to_host(buffers[i]->data(), inputs[i], step.inputs[i].bytes);
  inputs_settled.wait();
  loaded.host_table()->call(step.function, operands.data(), results.data());
  context_.enter();
  Settled results_settled(*this);
  for (size_t i = 0; i < outputs.size(); ++i) copy_to_device(outputs[i], results[i], step.outputs[i].bytes);
  results_settled.wait();
}

void StreamQueue::loop(int64_t count, const void* go_on, const Body& body) {
  for (int64_t i = 0; count == -1 ? read<uint8_t>(go_on) != 0 : i < count; ++i) {
    body();
    spend(kIteration);
  }
}

void StreamQueue::branch(const void* index, absl::Span<const Body> bodies) {
  const auto chosen = read<int32_t>(index);
  bodies[static_cast<size_t>(std::clamp<int64_t>(chosen, 0, static_cast<int64_t>(bodies.size()) - 1))]();
}

// An event that is destroyed goes when what waits for it has gone on.
void StreamQueue::order(Stream first, Stream then) {
  Event event = nullptr;
  driver().cuEventCreate(&event, kDisableTiming);
  Status status = driver().cuEventRecord.attempt(event, first);
  const char* call = driver().cuEventRecord.name();
  if (status == Status::kSuccess) {
    status = driver().cuStreamWaitEvent.attempt(then, event, 0);
    call = driver().cuStreamWaitEvent.name();
  }
  const Status destroyed = driver().cuEventDestroy.attempt(event);
  if (status != Status::kSuccess) throw driver().failure(call, status);
  if (destroyed != Status::kSuccess) throw driver().failure(driver().cuEventDestroy.name(), destroyed);
}

std::unique_ptr<Mark> StreamQueue::mark() { return std::make_unique<EventMark>(context_); }

void StreamQueue::follow(uintptr_t other) { order(reinterpret_cast<Stream>(other), context_.stream()); }
void StreamQueue::lead(uintptr_t other) { order(context_.stream(), reinterpret_cast<Stream>(other)); }
void StreamQueue::follow_all() noexcept { driver().cuCtxSynchronize.attempt(); }

void StreamQueue::wait() {
  try {
    driver().cuStreamSynchronize(context_.stream());
  } catch (...) {
    settle();
    throw;
  }
}
bool StreamQueue::is_idle() {
  const Status status = driver().cuStreamQuery.attempt(context_.stream());
  if (status == Status::kSuccess || status == Status::kNotReady) return status == Status::kSuccess;
  throw driver().failure(driver().cuStreamQuery.name(), status);
}
void StreamQueue::settle() noexcept { driver().cuStreamSynchronize.attempt(context_.stream()); }

}  // namespace ct::cuda
