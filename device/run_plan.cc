#include "device/run_plan.h"

#include <cstddef>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "device/device.h"

namespace ct {
namespace {

class Player {
 public:
  Player(const Loaded& loaded, Queue& queue, void* const* inputs, void* const* outputs)
      : loaded_(loaded), plan_(loaded.plan()), queue_(queue), inputs_(inputs), outputs_(outputs) {
    std::byte* arena = nullptr;
    if (!plan_.buffers.empty() && plan_.arena_bytes > 0) {
      arena_ = loaded.device().allocate(static_cast<size_t>(plan_.arena_bytes));
      arena = static_cast<std::byte*>(arena_->data());
    }
    for (const PlanBuffer& buffer : plan_.buffers) {
      const auto position = static_cast<size_t>(buffer.position);
      switch (buffer.kind) {
        case PlanBuffer::Kind::kInput:
          bases_.push_back(static_cast<std::byte*>(inputs[position]) + buffer.offset);
          break;
        case PlanBuffer::Kind::kOutput:
          bases_.push_back(static_cast<std::byte*>(outputs[position]) + buffer.offset);
          break;
        case PlanBuffer::Kind::kArena:
          bases_.push_back(arena + buffer.offset);
          break;
      }
    }
  }

  void block(size_t number) {
    if (number >= plan_.blocks.size()) return;
    for (const Step& step : plan_.blocks[number]) {
      std::visit([&](const auto& each) { play(each); }, step);
    }
  }

 private:
  using Addresses = absl::InlinedVector<void*, 8>;

  void* address(const Where& where) const { return bases_[where.buffer] + where.offset; }
  Addresses addresses(absl::Span<const Where> places) const {
    Addresses result;
    for (const Where& where : places) result.push_back(address(where));
    return result;
  }

  void play(const NativeStep&) { queue_.native(loaded_, inputs_, outputs_); }
  void play(const KernelStep& step) { queue_.launch(loaded_, step, addresses(step.arguments)); }
  void play(const CopyStep& step) { queue_.copy(address(step.to), address(step.from), step.bytes); }
  void play(const HostStep& step) {
    const Addresses inputs = addresses(step.inputs);
    queue_.host(loaded_, step.function, inputs, addresses(step.outputs));
  }
  void play(const LoopStep& step) {
    queue_.loop(step.count, step.count == -1 ? address(step.go_on) : nullptr, [this, &step] { block(step.body); });
  }
  void play(const BranchStep& step) {
    std::vector<Queue::Body> bodies;
    for (uint32_t body : step.bodies) {
      bodies.emplace_back([this, body] { block(body); });
    }
    queue_.branch(address(step.index), bodies);
  }

  const Loaded& loaded_;
  const Plan& plan_;
  Queue& queue_;
  void* const* inputs_;
  void* const* outputs_;
  std::shared_ptr<Buffer> arena_;
  absl::InlinedVector<std::byte*, 16> bases_;
};

}  // namespace

void run_plan(const Loaded& loaded, Queue& queue, void* const* inputs, void* const* outputs) {
  Player(loaded, queue, inputs, outputs).block(0);
  queue.wait();
}

}  // namespace ct
