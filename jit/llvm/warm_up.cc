#include "jit/llvm/warm_up.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "jit/llvm/compiler.h"
#include "jit/llvm/target.h"
#include "runtime/cores.h"
#include "runtime/pool.h"

namespace ct::jit {

namespace {

std::atomic<bool> running = false;
thread_local bool is_helper = false;

// Elements and a product: what most programs make the code generator do.
loop::Program usual_program() {
  loop::Builder b("warm_up");
  const loop::BufferId in = b.input(DType::kFloat32, 64), out = b.output(DType::kFloat32, 64);
  const loop::Matrix a{in, 0, 8, 1}, c{out, 0, 8, 1};
  b.gemm(8, 8, 8, a, a, c, false);
  b.for_each(64, {.vectorize = true, .parallel = true}, [&](const loop::Index& i) {
    b.store(out, i, b.apply(ScalarOp::kAdd, b.load(out, i), b.constant(DType::kFloat32, 1)));
  });
  return b.finish();
}

void add_idle_target() {
  absl::StatusOr<std::unique_ptr<Target>> target = Target::create({});
  if (!target.ok()) return;
  (void)(*target)->emit(*(*target)->new_module("warm_up"));
  add_idle_target({}, *std::move(target));
}

class Helper {
 public:
  Helper() {
    running = true;
    // Signals are for the threads that the program itself made.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([] {
        is_helper = true;
        try {
          (void)compile(usual_program());
        } catch (const std::exception&) {
          // Who compiles says what is wrong.
        }
        running = false;
        running.notify_all();
        try {
          add_idle_target();
        } catch (const std::exception&) {
          // One thread fewer helps.
        }
      });
    } catch (const std::exception&) {
      running = false;  // no thread to be had, or no memory for one
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  // At the end of the process: before LLVM's own globals go, which were there first.
  ~Helper() { join(); }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  void join() {
    std::lock_guard lock(mutex_);
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::mutex mutex_;
  std::thread thread_;
};

Helper& helper() {
  static Helper instance;
  return instance;
}

}  // namespace

void start_warm_up() {
  if (usable_cores() < 2 || threads() < 2) return;
  helper();
  // A child would find the code generator's locks taken, by a thread that it does not have.
  static const int registered = pthread_atfork([] { helper().join(); }, nullptr, nullptr);
  (void)registered;
}

void await_warm_up() {
  if (!is_helper) running.wait(true);
}

}  // namespace ct::jit
