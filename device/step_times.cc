#include "device/step_times.h"

#include <utility>

#include "device/device.h"

namespace ct {
namespace {

// So that a loop that the host drives holds few of a driver's events.
constexpr size_t kMostPending = 1024;

thread_local StepTimes* current = nullptr;

}  // namespace

StepTimes::StepTimes(const Loaded& loaded)
    : loaded_(loaded), queue_(loaded.device().queue()), begin_(queue_.mark()), enclosing_(current) {
  current = this;
}

StepTimes::~StepTimes() { current = enclosing_; }

StepTimes* StepTimes::of(const Loaded& loaded) {
  return current != nullptr && &current->loaded_ == &loaded ? current : nullptr;
}

void StepTimes::add(const Step& step, std::unique_ptr<Mark> before, std::unique_ptr<Mark> after) {
  pending_.push_back({&step, std::move(before), std::move(after)});
  if (pending_.size() >= kMostPending) settle();
}

void StepTimes::settle() {
  if (pending_.empty()) return;
  queue_.wait();
  for (const Pending& each : std::exchange(pending_, {})) {
    const auto [found, is_first] = times_.try_emplace(each.step);
    if (is_first) found->second.start = each.before->since(*begin_);
    found->second.seconds += each.after->since(*each.before);
  }
}

const StepTimes::Time* StepTimes::time(const Step& step) {
  settle();
  const auto found = times_.find(&step);
  return found == times_.end() ? nullptr : &found->second;
}

}  // namespace ct
