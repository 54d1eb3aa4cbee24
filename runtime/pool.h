// The threads of this process, and how they share out the iterations of one loop.
//
// There is one pool (`Pool::process()`); its workers are started by the first loop that is worth it. A loop is cut into
// one range for each thread, and a range into pieces. A thread takes pieces from the front of its own range, the same
// one each time, so that what it wrote in the last loop or call is still in its core's cache: elsewhere it is a
// microsecond away where cores share no cache. Then it takes from the backs of the others' ranges, so that a worker
// that comes late, or not at all, costs nothing but its help. One loop at a time: who finds the pool busy runs its loop
// alone, which is right when several threads call at once, and for loops inside loops.
//
// A worker that has nothing to do spins for kSpin, then parks. A loop that follows soon after another finds the
// workers spinning and pays less than a microsecond; waking a parked one takes some 30. So a loop's estimated time
// decides (`worth_sharing`): kLeastHot is enough while workers spin or when loops follow each other closely, else the
// loop, or the program that it belongs to, must take kLeastCold.
//
// Sharing costs, too: each thread makes the others wait for it twice, when it joins and when it leaves, so a loop is
// given no more threads than its time pays for (`threads_that_pay`). And no thread wakes more than kMostWoken others:
// those wake the next. Machines of many cores: docs/design/049-pool-on-many-cores.md. Where all of that still makes a
// program slower, it is measured and its loops run alone (runtime/sharing_trials.h).
//
// What a loop computes never depends on who computes which piece: only on its body. Start at Pool::run.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/sharing_trials.h"

namespace ct {

// Iterations [begin, end) of a loop. `scratch` is private to the call and aligned to kArenaAlignment.
using RangeBody = void (*)(void* context, int64_t begin, int64_t end, void* scratch);

// Generated code fills one of these (jit/llvm/sharing.cc): fields of eight bytes in this order.
struct ParallelLoop {
  RangeBody body;
  void* context;
  int64_t extent;                 // iterations; none if negative
  int64_t multiple;               // pieces begin at multiples of this
  int64_t scratch_bytes;          // what the body needs
  void* scratch;                  // the caller's own
  int64_t nanoseconds;            // that one thread would take for all of it, about
  int64_t in_program;             // the same for the whole program: waking pays for the loops that follow, too
  const void* program = nullptr;  // an address in its code, the same for all of its loops; null: they are not measured
};

class Pool {
 public:
  static constexpr int64_t kLeastHot = 20'000, kLeastCold = 100'000;  // nanoseconds
  static constexpr int64_t kLeastPiece = 4'000;
  static constexpr int64_t kSpin = 100'000;
  static constexpr int64_t kThreadCost = 100;  // of a loop, for each thread, that no other thread can use
  static constexpr int kMostWoken = 16;        // by one thread: a call of the system, and 1.5 microseconds for each
  static constexpr int kMostWorkers = 1023;

  // Threads that are never waited for: a pool lives until the process ends. `most_workers` besides the caller.
  explicit Pool(int most_workers);
  // That of this process. After a fork the child has a new one.
  static Pool& process();

  // More make a loop of this time longer: n threads take nanoseconds / n, and kThreadCost n.
  static int64_t threads_that_pay(int64_t nanoseconds);

  // On at most `threads` threads, the caller's included. Returns when all iterations are done.
  void run(const ParallelLoop& loop, int threads) noexcept;

  int workers() const { return started_.load(std::memory_order_relaxed); }
  // How many loops were shared with workers: for tests.
  int64_t loops_shared() const { return shared_.load(std::memory_order_relaxed); }

 private:
  struct Job;
  // What is left of a thread's own range, in steps: the first << 32 | the one after the last.
  struct alignas(64) Range {
    std::atomic<uint64_t> left = 0;
  };
  void work(int own_range, void* scratch);
  void start_workers(int wanted);
  void wake_workers();
  void leave_core_to_caller();
  void work_forever(int own_range);
  bool wait_for_job(uint64_t& seen);
  bool worth_sharing(const ParallelLoop& loop);
  bool share(const ParallelLoop& loop, int threads);

  // What all threads read lies apart from what some of them write: a line that another core has changed is a transfer.
  const int most_workers_;
  const std::unique_ptr<SharingTrials> trials_;
  const std::unique_ptr<Range[]> ranges_;  // the caller's, then the workers'
  Job* const job_;
  // The job on offer: its number << 32 | kOpen | seats that are left << 10 | workers inside.
  alignas(64) std::atomic<uint64_t> gate_ = 0;
  alignas(64) std::atomic<uint32_t> signal_ = 0;  // what parked workers wait on
  std::atomic<int> parked_ = 0;
  alignas(64) std::atomic<bool> busy_ = false;
  std::atomic<int> callers_ = 0;
  std::atomic<int> started_ = 0;
  std::atomic<int64_t> shared_ = 0;
  std::atomic<int64_t> last_loop_ = 0;  // when the last one came that could be worth it
  std::vector<pthread_t> workers_;
  int core_of_caller_ = -1;  // that workers keep away from
};

// How many threads a loop may use: of the process, and of this thread while a ThreadLimit lives. At least 1; what is
// asked for is cut to usable_cores(), 0 means all of these. The environment's CT_THREADS is where it starts.
void set_threads(int threads);
int threads();

class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);  // 0: no other than there is
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int enclosing_;
};

// What generated code calls, and its name in object code.
void run_parallel(const ParallelLoop* loop) noexcept;
inline constexpr const char* kParallelSymbol = "ct_parallel";

}  // namespace ct
