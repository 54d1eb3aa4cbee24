// Giving Python's lock to other threads and taking it back. All of the binding does it by these two classes: they keep
// the rules of ir/process.h, and they survive the end of the interpreter.
//
// Until Python 3.14 a thread that asks for the lock after the interpreter has ended is ended by pthread_exit, which on
// Linux unwinds its stack: it would run destructors that need the lock, and meets functions that are noexcept, which
// ends the process. Such a thread is stopped where it is instead (`stop_at_the_end`): the end of the process removes
// it.
#pragma once

#include <Python.h>

#include <atomic>
#include <optional>

#include "ir/process.h"
#include "python_bindings/python.h"

namespace ct::python {

// Before this thread may lose the lock with C++ functions on its stack. Cheap from the second time on.
void stop_at_the_end();

// Takes the lock, on any thread, whether it is held or not.
class WithInterpreter {
 public:
  WithInterpreter() {
    stop_at_the_end();
    gil_.emplace();
  }

 private:
  NotWorking waits_;
  std::optional<py::gil_scoped_acquire> gil_;
};

// Lets other threads have the interpreter. Whoever waits for it sleeps, and waking costs more than a call spends in the
// interpreter: so a thread that comes back waits a moment for one that came back before it and will soon leave again.
class WithoutInterpreter {
 public:
  WithoutInterpreter() {
    stop_at_the_end();
    one_is_back_.store(false, std::memory_order_relaxed);
    state_ = PyEval_SaveThread();
  }
  ~WithoutInterpreter() {
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
