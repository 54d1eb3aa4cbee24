// Giving Python's lock to other threads and taking it back. All of the binding does it by these two classes: they keep
// the rules of runtime/process.h, and they survive the end of the interpreter.
//
// Until Python 3.14 a thread that asks for the lock after the interpreter has ended is ended by pthread_exit, which on
// Linux unwinds its stack: it would run destructors that need the lock, and meets functions that are noexcept, which
// ends the process. Such a thread is stopped where it is instead (`stop_at_the_end`): the end of the process removes
// it.
#pragma once

#include <Python.h>

#include <atomic>
#include <optional>
#include <utility>

#include "python_bindings/python.h"
#include "runtime/process.h"

namespace ct::python {

// Before this thread may lose the lock with C++ functions on its stack. Cheap from the second time on.
void stop_at_the_end();

// Stops a thread that Python has never known when the interpreter has ended: it could not become known any more.
void stop_strangers_at_the_end();

// The state with which this thread left the interpreter (WithoutInterpreter), and comes back to it: Python's own record
// of it is gone when the interpreter ends, and a thread that asked by that would be made known a second time, which
// ends the process.
inline thread_local PyThreadState* left_with = nullptr;

// Takes the lock, on any thread, whether it is held or not.
class WithInterpreter {
 public:
  WithInterpreter() : state_(std::exchange(left_with, nullptr)) {
    stop_at_the_end();
    if (state_ != nullptr) {
      PyEval_RestoreThread(state_);
      return;
    }
    stop_strangers_at_the_end();
    gil_.emplace();
  }
  ~WithInterpreter() {
    gil_.reset();
    if (state_ != nullptr) left_with = PyEval_SaveThread();
  }
  WithInterpreter(const WithInterpreter&) = delete;
  WithInterpreter& operator=(const WithInterpreter&) = delete;

 private:
  NotWorking waits_;
  PyThreadState* state_;
  std::optional<py::gil_scoped_acquire> gil_;
};

// Lets other threads have the interpreter. Whoever waits for it sleeps, and waking costs more than a call spends in the
// interpreter: so a thread that comes back waits a moment for one that came back before it and will soon leave again.
class WithoutInterpreter {
 public:
  WithoutInterpreter() {
    stop_at_the_end();
    one_is_back_.store(false, std::memory_order_relaxed);
    left_with = state_ = PyEval_SaveThread();
  }
  ~WithoutInterpreter() {
    left_with = nullptr;
    for (int i = 0; i < kMostWaits && one_is_back_.load(std::memory_order_relaxed); ++i) pause();
    PyEval_RestoreThread(state_);
    one_is_back_.store(true, std::memory_order_relaxed);
  }
  WithoutInterpreter(const WithoutInterpreter&) = delete;
  WithoutInterpreter& operator=(const WithoutInterpreter&) = delete;

 private:
  static constexpr int kMostWaits = 100;  // 2 to 4 us

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  static inline std::atomic<bool> one_is_back_ = false;
  PyThreadState* state_;
};

}  // namespace ct::python
