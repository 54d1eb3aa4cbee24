// When a device did the steps of a plan: for profiles.
//
// While a StepTimes lives, run_plan marks the queue before and after each step that this thread plays of that plan, and
// the device says afterwards when it came there: by its own clock where its queue returns before the work is done.
#pragma once

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "device/queue.h"

namespace ct {

class StepTimes {
 public:
  struct Time {
    double start = 0;    // since this was made; the first time
    double seconds = 0;  // all times together
  };

  explicit StepTimes(const Loaded& loaded);
  ~StepTimes();
  StepTimes(const StepTimes&) = delete;
  StepTimes& operator=(const StepTimes&) = delete;

  // That of the calling thread for that plan; null where nobody measures.
  static StepTimes* of(const Loaded& loaded);

  // A step that this thread queues.
  template <class Play>
  void around(const Step& step, const Play& play) {
    auto before = queue_.mark();
    play();
    add(step, std::move(before), queue_.mark());
  }

  // Waits. Null for a step that was not reached.
  const Time* time(const Step& step);

 private:
  struct Pending {
    const Step* step;
    std::unique_ptr<Mark> before, after;
  };
  void add(const Step& step, std::unique_ptr<Mark> before, std::unique_ptr<Mark> after);
  void settle();

  const Loaded& loaded_;
  Queue& queue_;
  const std::unique_ptr<Mark> begin_;
  StepTimes* const enclosing_;
  std::vector<Pending> pending_;
  absl::flat_hash_map<const Step*, Time> times_;
};

}  // namespace ct
