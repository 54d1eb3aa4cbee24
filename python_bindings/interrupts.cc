// Python's signals while a compiled program runs (runtime/interrupt.h).
//
// Python's own handler of a signal notes that it came; the functions that the program set for it run when the main
// thread interprets again. While that thread computes here, nobody would know: so a computation that has taken some
// milliseconds puts a handler in front of each that is there, which notes the same for us and then calls it. Only the
// main thread runs Python's handlers, and only it may set others, so they stay what they were until the computation
// takes its own away again. `_thread.interrupt_main` sends no signal: for its sake Python is asked now and then anyway.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "python_bindings/gil.h"
#include "python_bindings/python.h"
#include "runtime/interrupt.h"

namespace ct::python {
namespace {

#if defined(NSIG)
constexpr int kSignals = NSIG;
#else
constexpr int kSignals = 65;
#endif

std::atomic<bool> seen = false;
struct sigaction behind[kSignals];  // what was there before ours
int computations = 0;               // of the main thread, one inside the other

void note(int number, siginfo_t* info, void* context) {
  seen.store(true, std::memory_order_relaxed);
  const struct sigaction& next = behind[number];
  if ((next.sa_flags & SA_SIGINFO) != 0) {
    next.sa_sigaction(number, info, context);
  } else if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) {
    next.sa_handler(number);
  }
}

bool is_note(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == note;
}

// A fault of the processor is handled where it happens.
bool is_fault(int number) {
  return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGTRAP ||
         number == SIGABRT || number == SIGSYS;
}

void put_in_front() {
  for (int number = 1; number < kSignals; ++number) {
    struct sigaction action;
    if (is_fault(number) || sigaction(number, nullptr, &action) != 0 || is_note(action)) continue;
    if ((action.sa_flags & SA_SIGINFO) == 0 && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) continue;
    behind[number] = action;
    action.sa_sigaction = note;
    action.sa_flags |= SA_SIGINFO;
    sigaction(number, &action, nullptr);
  }
}

void take_away() {
  for (int number = 1; number < kSignals; ++number) {
    struct sigaction action;
    // A callback may have set another one.
    if (sigaction(number, nullptr, &action) != 0 || !is_note(action)) continue;
    sigaction(number, &behind[number], nullptr);
  }
}

// Asked with the lock, and remembered: but the child of a fork has another main thread.
bool on_main_thread() {
  thread_local pid_t asked_in = 0;
  thread_local bool is_main = false;
  if (asked_in != getpid()) {
    const WithInterpreter gil;
    try {
      const py::module_ threading = py::module_::import("threading");
      const py::object main = threading.attr("main_thread")().attr("ident"), own = threading.attr("get_ident")();
      is_main = main.equal(own);
    } catch (const py::error_already_set&) {
      is_main = false;  // the interpreter is ending
    }
    asked_in = getpid();
  }
  return is_main;
}

using Clock = std::chrono::steady_clock;
Clock::time_point next_question;

void begin() {
  if (!on_main_thread() || computations++ > 0) return;
  put_in_front();
  // For what came before.
  next_question = Clock::now() + std::chrono::milliseconds(50);
}

void end() {
  if (computations > 0 && on_main_thread() && --computations == 0) take_away();
}

bool check(std::exception_ptr* reason) {
  if (!on_main_thread()) return true;
  const Clock::time_point time = Clock::now();
  if (!seen.exchange(false, std::memory_order_relaxed) && time < next_question) return true;
  next_question = time + std::chrono::seconds(1);
  const WithInterpreter gil;
  if (PyErr_CheckSignals() == 0) return true;
  *reason = std::make_exception_ptr(py::error_already_set());
  return false;
}

// KeyboardInterrupt, SystemExit and the like are no errors.
bool stops(const std::exception& error) {
  const auto* raised = dynamic_cast<const py::error_already_set*>(&error);
  if (raised == nullptr) return false;
  const WithInterpreter gil;
  return !raised->matches(PyExc_Exception);
}

}  // namespace

InterruptHooks interrupt_hooks() { return {begin, check, end, stops}; }

}  // namespace ct::python
