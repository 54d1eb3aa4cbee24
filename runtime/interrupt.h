// Stopping what computes for long. Whoever starts a computation that may take long makes an `Interruptible`; what
// computes (generated loops, the interpreter) asks `go_on` every now and then, about every millisecond, and returns at
// once when the answer is no. What it should have written is then undefined; what it was given is as it was.
//
// Why it should stop is for the front end to know: its hooks (runtime.h) look at that every few milliseconds, on the
// thread that made the Interruptible. Threads that help it are told by its flag.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace ct {

class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  // Throws the reason why the computation was stopped, if it was.
  void rethrow() const {
    if (stopped_.load(std::memory_order_relaxed)) std::rethrow_exception(reason_);
  }
  const std::atomic<bool>* flag() const { return &stopped_; }

 private:
  friend bool go_on() noexcept;
  bool look();

  Interruptible* const enclosing_;
  std::atomic<bool> stopped_ = false;
  bool begun_ = false;
  int64_t next_look_ = 0;  // nanoseconds of the steady clock; 0: not asked yet
  std::exception_ptr reason_;
};

// Whether this thread's computation is to go on. Takes some 30 ns, and more every few milliseconds.
bool go_on() noexcept;
inline constexpr const char* kGoOnSymbol = "ct_go_on";  // its name in object code

// Between steps of what is written in C++ and takes some milliseconds: throws the reason if it is not to go on. Threads
// that help ask `go_on`, and whom they help throws.
void throw_if_stopped();

// The flag of this thread's computation; null: it has none.
const std::atomic<bool>* interrupt_flag();
// On a thread that helps with another one's.
class HelpsComputation {
 public:
  explicit HelpsComputation(const std::atomic<bool>* flag);
  ~HelpsComputation();
  HelpsComputation(const HelpsComputation&) = delete;
  HelpsComputation& operator=(const HelpsComputation&) = delete;

 private:
  const std::atomic<bool>* enclosing_;
};

// For code that goes on without what an error has kept it from: throws again what is no error, but the wish to stop.
// In the handler of the exception.
void rethrow_stop(const std::exception& error);

// For code in C++: counts estimated time, and every now and then throws if the computation is to stop, and lets others
// fork and the process end.
void spend(int64_t nanoseconds);

}  // namespace ct
