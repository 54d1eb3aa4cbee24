#include "device/run_plan.h"

#include <cstddef>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "device/device.h"
#include "device/named_range.h"
#include "device/step_text.h"
#include "device/step_times.h"

namespace ct {
namespace {

class Player {
 public:
  Player(const Loaded& loaded, Queue& queue, void* const* inputs, void* const* outputs)
      : loaded_(loaded),
        plan_(loaded.plan()),
        queue_(queue),
        times_(StepTimes::of(loaded)),
        inputs_(inputs),
        outputs_(outputs) {
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
      const bool is_whole = !std::holds_alternative<LoopStep>(step) && !std::holds_alternative<BranchStep>(step);
      if (is_whole && (times_ != nullptr || NamedRange::wanted())) {
        play_watched(step);
      } else {
        play(step);
      }
    }
  }

 private:
  using Addresses = absl::InlinedVector<void*, 8>;

  void* address(const Where& where) const { return bases_[where.buffer] + where.offset; }
  void* address(const ByteRange& range) const { return address(range.at); }
  template <class Place>
  Addresses addresses(const std::vector<Place>& places) const {
    Addresses result;
    for (const Place& place : places) result.push_back(address(place));
    return result;
  }

  void play(const Step& step) {
    std::visit([&](const auto& each) { play(each); }, step);
  }
  void play_watched(const Step& step) {
    const NamedRange range(step_text(plan_, step));
    if (times_ == nullptr) return play(step);
    times_->around(step, [&] { play(step); });
  }

  void play(const NativeStep&) { queue_.native(loaded_, inputs_, outputs_); }
  void play(const KernelStep& step) { queue_.launch(loaded_, step, addresses(step.arguments)); }
  void play(const ProductStep& step) {
    queue_.product(step, address(step.a.at), address(step.b.at), address(step.c.at));
  }
  void play(const CopyStep& step) { queue_.copy(address(step.to), address(step.from), step.bytes); }
  void play(const FillStep& step) { queue_.fill(address(step.to), step.byte, step.bytes); }
  void play(const HostStep& step) {
    const Addresses inputs = addresses(step.inputs);
    queue_.host(loaded_, step, inputs, addresses(step.outputs));
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
  StepTimes* const times_;  // null unless somebody measures
  void* const* inputs_;
  void* const* outputs_;
  std::shared_ptr<Buffer> arena_;
  absl::InlinedVector<std::byte*, 16> bases_;
};

}  // namespace

void queue_plan(const Loaded& loaded, Queue& queue, void* const* inputs, void* const* outputs) {
  Player(loaded, queue, inputs, outputs).block(0);
}

void run_plan(const Loaded& loaded, Queue& queue, void* const* inputs, void* const* outputs) {
  queue_plan(loaded, queue, inputs, outputs);
  queue.wait();
}

}  // namespace ct
