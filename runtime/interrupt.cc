#include "runtime/interrupt.h"

#include "runtime/clock.h"
#include "runtime/process.h"
#include "runtime/runtime.h"

namespace ct {
namespace {

constexpr int64_t kBetweenLooks = 4'000'000;  // nanoseconds
constexpr int64_t kBetweenQuestions = 500'000;

thread_local Interruptible* current = nullptr;
thread_local const std::atomic<bool>* helped = nullptr;
thread_local int64_t spent = 0;

}  // namespace

Interruptible::Interruptible() : enclosing_(current) { current = this; }
Interruptible::~Interruptible() {
  if (begun_) runtime().interrupts.end();
  current = enclosing_;
}

bool Interruptible::look() {
  const int64_t time = nanoseconds_now();
  if (time < next_look_) return true;
  const bool first = next_look_ == 0;
  next_look_ = time + kBetweenLooks;
  if (first || runtime().interrupts.check == nullptr) return true;
  if (!begun_) {
    runtime().interrupts.begin();
    begun_ = true;
  }
  if (runtime().interrupts.check(&reason_)) return true;
  stopped_.store(true, std::memory_order_relaxed);
  return false;
}

bool go_on() noexcept {
  if (current != nullptr) return !current->stopped_.load(std::memory_order_relaxed) && current->look();
  return helped == nullptr || !helped->load(std::memory_order_relaxed);
}

void throw_if_stopped() {
  if (!go_on() && current != nullptr) current->rethrow();
}

const std::atomic<bool>* interrupt_flag() { return current != nullptr ? current->flag() : helped; }

HelpsComputation::HelpsComputation(const std::atomic<bool>* flag) : enclosing_(helped) { helped = flag; }
HelpsComputation::~HelpsComputation() { helped = enclosing_; }

void rethrow_stop(const std::exception& error) {
  const auto stops = runtime().interrupts.stops;
  if (stops != nullptr && stops(error)) throw;  // NOLINT: of the caller's handler
}

void spend(int64_t nanoseconds) {
  spent += nanoseconds;
  if (spent < kBetweenQuestions) return;
  spent = 0;
  let_others_fork();
  throw_if_stopped();
}

}  // namespace ct
