#include "runtime/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <thread>

#include "runtime/arena.h"
#include "runtime/clock.h"
#include "runtime/cores.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/recording.h"

namespace ct {
namespace {

constexpr uint64_t kInside = 1, kInsideMask = 1023;
constexpr uint64_t kSeat = 1024, kSeatMask = kSeat * 1023;
constexpr uint64_t kOpen = uint64_t{1} << 31;
constexpr uint64_t kNumber = uint64_t{1} << 32;
constexpr int64_t kMostSteps = UINT32_MAX;  // of a loop

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Those of std::atomic wake one or all.
void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

void run_alone(const ParallelLoop& loop) { loop.body(loop.context, 0, loop.extent, loop.scratch); }

}  // namespace

struct Pool::Job {
  ParallelLoop loop;
  int64_t step;   // iterations
  int64_t piece;  // steps, at most
  int ranges;
  std::atomic<int> to_wake = 0;      // parked workers for whom there is a seat
  const std::atomic<bool>* stopped;  // of the caller's computation
  std::fenv_t arithmetic;            // rounding and flushing of the caller: results must not depend on the thread
};

Pool::Pool(int most_workers)
    : most_workers_(std::min(most_workers, kMostWorkers)),
      trials_(std::make_unique<SharingTrials>()),
      ranges_(new Range[static_cast<size_t>(std::max(most_workers_, 0)) + 1]),
      job_(new Job) {
  workers_.reserve(static_cast<size_t>(std::max(most_workers_, 0)));  // what runs loops must not throw
}

namespace {

struct Caller {
  explicit Caller(std::atomic<int>& callers)
      : callers(callers), others(callers.fetch_add(1, std::memory_order_relaxed)) {}
  ~Caller() { callers.fetch_sub(1, std::memory_order_relaxed); }
  std::atomic<int>& callers;
  const int others;
};

}  // namespace

int64_t Pool::threads_that_pay(int64_t nanoseconds) {
  return std::max<int64_t>(2, static_cast<int64_t>(std::sqrt(nanoseconds / kThreadCost)));
}

bool Pool::worth_sharing(const ParallelLoop& loop) {
  if (loop.nanoseconds < kLeastHot) return false;
  const bool hot = started_.load(std::memory_order_relaxed) > parked_.load(std::memory_order_relaxed);
  const int64_t time = nanoseconds_now();
  const int64_t since_last = time - last_loop_.exchange(time, std::memory_order_relaxed);
  return hot || std::max(loop.nanoseconds, loop.in_program) >= kLeastCold || since_last < kSpin;
}

// Pieces of the thread's own range, then of the others'.
void Pool::work(int own_range, void* scratch) {
  const Job& job = *job_;
  for (int i = 0; i < job.ranges; ++i) {
    std::atomic<uint64_t>& range = ranges_[static_cast<size_t>((own_range + i) % job.ranges)].left;
    uint64_t left = range.load(std::memory_order_relaxed);
    for (;;) {
      const auto first = static_cast<int64_t>(left >> 32), last = static_cast<int64_t>(left & kMostSteps);
      if (first == last) break;
      // Halves of the rest towards the end, so that threads finish together.
      const int64_t count = std::min(job.piece, (last - first + 1) / 2);
      const int64_t begin = i == 0 ? first : last - count, end = begin + count;
      const int64_t first_left = i == 0 ? end : first, last_left = i == 0 ? last : begin;
      const uint64_t rest = static_cast<uint64_t>(first_left) << 32 | static_cast<uint64_t>(last_left);
      if (!range.compare_exchange_weak(left, rest, std::memory_order_relaxed)) continue;
      job.loop.body(job.loop.context, begin * job.step, std::min(job.loop.extent, end * job.step), scratch);
      left = range.load(std::memory_order_relaxed);
    }
  }
}

void Pool::run(const ParallelLoop& loop, int threads) noexcept {
  if (loop.extent <= 0) return;
  if (loop.program == nullptr || loop.nanoseconds < kLeastHot || loop.nanoseconds > SharingTrials::kLongestLoop ||
      !trials_->try_enter()) {
    if (!share(loop, threads)) run_alone(loop);
    return;
  }
  const SharingWay way = trials_->way(loop.program);
  const int64_t begin = nanoseconds_now();
  const bool shared = way == SharingWay::kShared && share(loop, threads);
  if (!shared) run_alone(loop);
  if (shared == (way == SharingWay::kShared)) {  // as was said
    trials_->tell(loop.program, reinterpret_cast<const void*>(loop.body), way, loop.nanoseconds, begin,
                  nanoseconds_now());
  }
  trials_->leave();
}

// False, and nothing done, where threads are not to be had or not worth it.
bool Pool::share(const ParallelLoop& loop, int threads) {
  const int64_t units = (loop.extent + loop.multiple - 1) / loop.multiple;
  // None so small that it is lost in the cost of taking it.
  const int64_t most_steps = std::min({units, loop.nanoseconds / kLeastPiece, kMostSteps});
  if (std::min<int64_t>(threads, most_steps) < 2 || !worth_sharing(loop)) return false;
  // Cores that other callers are on are not free.
  const Caller caller(callers_);
  const int free_workers = most_workers_ - caller.others;
  const int wanted = static_cast<int>(
      std::min<int64_t>({threads - 1, most_steps - 1, threads_that_pay(loop.nanoseconds) - 1, free_workers}));
  if (wanted < 1 || busy_.exchange(true, std::memory_order_acquire)) return false;

  start_workers(wanted);
  leave_core_to_caller();
  Job& job = *job_;
  job.loop = loop;
  job.step = (units + most_steps - 1) / most_steps * loop.multiple;
  job.ranges = wanted + 1;
  job.to_wake.store(0, std::memory_order_relaxed);
  const int64_t steps = (loop.extent + job.step - 1) / job.step;
  // Pieces, for those that come late or are slower.
  job.piece = std::max<int64_t>(steps / job.ranges / 8, 1);
  for (int64_t i = 0; i < job.ranges; ++i) {
    const int64_t first = i * steps / job.ranges, last = (i + 1) * steps / job.ranges;
    ranges_[static_cast<size_t>(i)].left.store(static_cast<uint64_t>(first) << 32 | static_cast<uint64_t>(last),
                                               std::memory_order_relaxed);
  }
  job.stopped = interrupt_flag();
  std::fegetenv(&job.arithmetic);
  const uint64_t number = (gate_.load(std::memory_order_relaxed) / kNumber + 1) * kNumber;
  // Sequentially consistent, as are the worker's steps into its sleep: either it sees the job or it is seen asleep.
  gate_.store(number | kOpen | static_cast<uint64_t>(wanted) * kSeat, std::memory_order_seq_cst);
  if (const int parked = parked_.load(std::memory_order_seq_cst); parked > 0) {
    const int awake = started_.load(std::memory_order_relaxed) - parked;
    if (awake < wanted) {
      job.to_wake.store(std::min(wanted - awake, parked), std::memory_order_relaxed);
      signal_.fetch_add(1, std::memory_order_seq_cst);
      wake_workers();
    }
  }
  work(0, loop.scratch);
  gate_.fetch_and(~kOpen, std::memory_order_relaxed);
  for (int tries = 0; (gate_.load(std::memory_order_acquire) & kInsideMask) != 0; ++tries) {
    // A worker that the system has put aside in the middle of a piece needs a core more than this thread does.
    if (tries < 2000) {
      pause();
    } else {
      sched_yield();
    }
  }
  shared_.fetch_add(1, std::memory_order_relaxed);
  busy_.store(false, std::memory_order_release);
  return true;
}

// Some of those that are still to be woken; who is woken goes on with the others.
void Pool::wake_workers() {
  std::atomic<int>& to_wake = job_->to_wake;
  int left = to_wake.load(std::memory_order_relaxed);
  while (left > 0) {
    const int mine = std::min(left, kMostWoken);
    if (to_wake.compare_exchange_weak(left, left - mine, std::memory_order_relaxed)) return wake(signal_, mine);
  }
}

void Pool::start_workers(int wanted) {
  if (started_.load(std::memory_order_relaxed) >= wanted) return;
  // Signals are for the threads that the program itself made.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (started_.load(std::memory_order_relaxed) < wanted) {
    try {
      std::thread worker([this, own_range = started_.load(std::memory_order_relaxed) + 1] { work_forever(own_range); });
      workers_.push_back(worker.native_handle());
      worker.detach();
      core_of_caller_ = -1;
    } catch (const std::exception&) {
      break;  // no thread to be had, or no memory for one
    }
    started_.fetch_add(1, std::memory_order_relaxed);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Where cores share no cache that the system knows of, it wakes a thread on the core on which it went to sleep, even
// when the caller is there and another core is idle: it then waits for a tick of the clock, milliseconds. With many
// cores it looks further.
void Pool::leave_core_to_caller() {
  constexpr size_t kManyWorkers = 8;
  const int core = sched_getcpu();
  if (core < 0 || core == core_of_caller_ || workers_.size() >= kManyWorkers) return;
  core_of_caller_ = core;
  cpu_set_t others;
  if (sched_getaffinity(0, sizeof others, &others) != 0) return;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0) return;
  for (const pthread_t worker : workers_) pthread_setaffinity_np(worker, sizeof others, &others);
}

// Whether a seat was taken in a job other than the one seen last. Parks when there is none for long.
bool Pool::wait_for_job(uint64_t& seen) {
  int64_t since = 0;
  for (int tries = 1;; ++tries) {
    uint64_t gate = gate_.load(std::memory_order_acquire);
    if ((gate & kOpen) != 0 && (gate & kSeatMask) != 0 && gate / kNumber != seen) {
      if (gate_.compare_exchange_weak(gate, gate - kSeat + kInside, std::memory_order_acquire)) {
        seen = gate / kNumber;
        return true;
      }
      continue;
    }
    pause();
    if (tries % 64 != 0) continue;
    const int64_t time = nanoseconds_now();
    if (since == 0) since = time;
    if (time - since < kSpin) {
      sched_yield();
      continue;
    }
    const uint32_t before = signal_.load(std::memory_order_seq_cst);
    parked_.fetch_add(1, std::memory_order_seq_cst);
    gate = gate_.load(std::memory_order_seq_cst);
    if ((gate & kOpen) == 0 || (gate & kSeatMask) == 0 || gate / kNumber == seen) {
      sleep_while(signal_, before);
    }
    parked_.fetch_sub(1, std::memory_order_seq_cst);
    return false;
  }
}

void Pool::work_forever(int own_range) {
  uint64_t seen = 0;
  for (;;) {
    if (!wait_for_job(seen)) continue;
    wake_workers();
    const Job& job = *job_;
    void* scratch = nullptr;
    bool can_help = true;
    try {
      if (job.loop.scratch_bytes > 0) scratch = cpu_arena(job.loop.scratch_bytes);
    } catch (const Error&) {
      can_help = false;  // no memory: the caller has its own and does without this thread
    }
    if (can_help) {
      const HelpsComputation helps(job.stopped);
      std::fesetenv(&job.arithmetic);
      work(own_range % job.ranges, scratch);
    }
    gate_.fetch_sub(kInside, std::memory_order_release);
  }
}

// -------------------------------------------------------------------------------------------------- of the process

namespace {

std::atomic<Pool*> process_pool = nullptr;

int clamp_threads(int threads) { return threads <= 0 ? usable_cores() : std::min(threads, usable_cores()); }

std::atomic<int>& process_threads() {
  static std::atomic<int> threads = [] {
    const char* text = std::getenv("CT_THREADS");
    return clamp_threads(text == nullptr ? 0 : std::atoi(text));
  }();
  return threads;
}

thread_local int thread_limit = 0;

}  // namespace

Pool& Pool::process() {
  Pool* pool = process_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  // The child of a fork has none of its parent's threads, and maybe a pool in the middle of a loop: it gets a new one.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { process_pool.store(nullptr); });
  (void)registered;
  auto* made = new Pool(usable_cores() - 1);
  if (process_pool.compare_exchange_strong(pool, made, std::memory_order_acq_rel)) return *made;
  delete made->job_;
  delete made;  // it has no threads yet
  return *pool;
}

void set_threads(int threads) { process_threads().store(clamp_threads(threads), std::memory_order_relaxed); }

int threads() {
  if (const LoopRecording* recording = LoopRecording::current()) return recording->parts();
  return thread_limit > 0 ? thread_limit : process_threads().load(std::memory_order_relaxed);
}

ThreadLimit::ThreadLimit(int threads) : enclosing_(thread_limit) {
  if (threads > 0) thread_limit = clamp_threads(threads);
}
ThreadLimit::~ThreadLimit() { thread_limit = enclosing_; }

void run_parallel(const ParallelLoop* loop) noexcept {
  if (LoopRecording* recording = LoopRecording::current()) {
    if (loop->extent > 0) recording->run(*loop);
    return;
  }
  const int count = threads();
  if (count > 1) return Pool::process().run(*loop, count);
  if (loop->extent > 0) run_alone(*loop);
}

}  // namespace ct
