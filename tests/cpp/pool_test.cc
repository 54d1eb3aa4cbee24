// The pool of threads by itself: every iteration runs once, whoever calls, from wherever.
#include "runtime/pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "runtime/cores.h"
#include "runtime/recording.h"

namespace ct {
namespace {

// Counts how often each iteration ran.
struct Counts {
  explicit Counts(int64_t extent) : times(static_cast<size_t>(extent)) {}
  std::vector<std::atomic<int>> times;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::map<int64_t, std::thread::id> begins;
  size_t meets = 1;  // threads that wait for each other, for a while: on a busy machine workers come late
  const std::chrono::steady_clock::time_point end_of_patience =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);

  static void body(void* context, int64_t begin, int64_t end, void* scratch) {
    auto& self = *static_cast<Counts*>(context);
    for (int64_t i = begin; i < end; ++i) self.times[static_cast<size_t>(i)].fetch_add(1);
    if (scratch != nullptr) std::memset(scratch, static_cast<int>(begin), 256);
    std::unique_lock lock(self.mutex);
    self.threads.insert(std::this_thread::get_id());
    self.begins[begin] = std::this_thread::get_id();
    while (self.threads.size() < self.meets && std::chrono::steady_clock::now() < self.end_of_patience) {
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      lock.lock();
    }
  }

  bool all_once() const {
    for (const auto& count : times) {
      if (count.load() != 1) return false;
    }
    return true;
  }
};

ParallelLoop loop_of(Counts& counts, int64_t multiple = 1, int64_t nanoseconds = 10'000'000) {
  return {.body = &Counts::body,
          .context = &counts,
          .extent = static_cast<int64_t>(counts.times.size()),
          .multiple = multiple,
          .scratch_bytes = 0,
          .scratch = nullptr,
          .nanoseconds = nanoseconds,
          .in_program = nanoseconds};
}

// Pools are never destroyed, as their threads are not waited for; from here they can still be reached.
Pool& pool_of(int workers) {
  static auto* pools = new std::vector<Pool*>;
  return *pools->emplace_back(new Pool(workers));
}

TEST(Pool, RunsEachIterationOnce) {
  Pool& pool = pool_of(3);
  for (const int64_t extent : {0, 1, 2, 3, 7, 64, 65, 1000, 4097}) {
    for (const int64_t multiple : {1, 16, 64}) {
      for (const int threads : {1, 2, 3, 4, 100}) {
        Counts counts(extent);
        pool.run(loop_of(counts, multiple), threads);
        EXPECT_TRUE(counts.all_once()) << extent << " " << multiple << " " << threads;
        for (const auto& [begin, thread] : counts.begins) EXPECT_EQ(begin % multiple, 0);
      }
    }
  }
  EXPECT_LE(pool.workers(), 3);
}

TEST(Pool, ANegativeExtentIsNone) {
  Pool& pool = pool_of(1);
  Counts counts(4);
  ParallelLoop loop = loop_of(counts);
  loop.extent = -5;
  pool.run(loop, 2);
  EXPECT_TRUE(counts.begins.empty());
}

TEST(Pool, WorkersHelp) {
  Pool& pool = pool_of(3);
  Counts counts(64);
  counts.meets = 2;
  pool.run(loop_of(counts), 4);
  EXPECT_TRUE(counts.all_once());
  EXPECT_GE(counts.threads.size(), 2u);
  EXPECT_LE(counts.threads.size(), 4u);
}

TEST(Pool, EachThreadBeginsInItsOwnRange) {
  Pool& pool = pool_of(1);
  for (int i = 0; i < 20; ++i) {
    Counts counts(64);
    counts.meets = 2;
    pool.run(loop_of(counts), 2);
    EXPECT_TRUE(counts.all_once());
    EXPECT_EQ(counts.begins.at(0), std::this_thread::get_id());
    EXPECT_NE(counts.begins.at(32), std::this_thread::get_id());
  }
}

TEST(Pool, WhoIsDoneTakesFromTheOthers) {
  Pool& pool = pool_of(1);
  struct Slow {
    std::atomic<int> by_caller = 0;
    static void body(void* context, int64_t begin, int64_t end, void*) {
      static thread_local bool is_worker = begin >= 32;  // by where it begins
      if (is_worker) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (!is_worker) static_cast<Slow*>(context)->by_caller += static_cast<int>(end - begin);
    }
  } slow;
  pool.run({&Slow::body, &slow, 64, 1, 0, nullptr, 10'000'000, 10'000'000}, 2);
  EXPECT_GT(slow.by_caller, 32);
}

TEST(Pool, OneThreadKeepsToTheCaller) {
  Pool& pool = pool_of(3);
  Counts counts(1000);
  pool.run(loop_of(counts), 1);
  EXPECT_EQ(counts.threads, std::set<std::thread::id>{std::this_thread::get_id()});
  EXPECT_EQ(counts.begins.size(), 1u);
  EXPECT_EQ(pool.workers(), 0);
}

TEST(Pool, LittleWorkWakesNobody) {
  Pool& pool = pool_of(3);
  Counts counts(1000);
  pool.run(loop_of(counts, 1, Pool::kLeastCold - 1), 4);
  EXPECT_EQ(pool.workers(), 0);
  ParallelLoop loop = loop_of(counts, 1, Pool::kLeastHot - 1);
  loop.in_program = 10 * Pool::kLeastCold;
  pool.run(loop, 4);
  EXPECT_EQ(pool.workers(), 0);
  loop.nanoseconds = Pool::kLeastHot;
  pool.run(loop, 4);
  EXPECT_GT(pool.workers(), 0);
}

TEST(Pool, LoopsThatFollowEachOtherWakeIt) {
  Pool& pool = pool_of(3);
  Counts counts(4);  // so few that the next loop begins soon, under a sanitizer as well
  for (int i = 0; i < 100 && pool.workers() == 0; ++i) pool.run(loop_of(counts, 1, Pool::kLeastHot), 4);
  EXPECT_GT(pool.workers(), 0);
}

// n threads take W / n, and each of them costs c.
TEST(Pool, AThreadMoreOrLessWouldNotPay) {
  for (const int64_t nanoseconds : {Pool::kLeastHot, Pool::kLeastCold, int64_t{1'000'000}, int64_t{40'000'000}}) {
    const auto takes = [&](int64_t threads) {
      return static_cast<double>(nanoseconds) / static_cast<double>(threads) +
             static_cast<double>(threads * Pool::kThreadCost);
    };
    const int64_t best = Pool::threads_that_pay(nanoseconds);
    EXPECT_LE(takes(best), takes(best - 1)) << nanoseconds;
    EXPECT_LE(takes(best), takes(best + 2)) << nanoseconds;
  }
  EXPECT_EQ(Pool::threads_that_pay(0), 2);
  EXPECT_EQ(Pool::threads_that_pay(INT64_MAX), Pool::threads_that_pay(INT64_MAX - 1));
}

TEST(Pool, ALoopIsGivenAsManyThreadsAsPay) {
  Pool& pool = pool_of(60);
  Counts counts(1000);
  pool.run(loop_of(counts, 1, 200'000), 61);
  EXPECT_TRUE(counts.all_once());
  EXPECT_EQ(pool.workers() + 1, Pool::threads_that_pay(200'000));
}

// More than one thread wakes: who was woken goes on.
TEST(Pool, AllOfManyParkedWorkersWake) {
  constexpr int kMany = 2 * Pool::kMostWoken + 8;
  Pool& pool = pool_of(kMany);
  for (int i = 0; i < 3; ++i) {
    Counts counts(64 * kMany);
    counts.meets = kMany + 1;
    pool.run(loop_of(counts), kMany + 1);
    EXPECT_TRUE(counts.all_once());
    ASSERT_EQ(counts.threads.size(), static_cast<size_t>(kMany) + 1) << i;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // they park
  }
}

// ---- more threads than cores ------------------------------------------------------------------------------------

TEST(Oversubscribed, NothingIsLost) {
  Pool& pool = pool_of(15);
  int64_t shared = 0;
  for (int i = 0; i < 400; ++i) {
    Counts counts(1 + i * 7 % 513);
    const int64_t before = pool.loops_shared();
    pool.run(loop_of(counts, i % 3 == 0 ? 16 : 1, i % 2 == 0 ? Pool::kLeastHot : 10'000'000), 16);
    EXPECT_TRUE(counts.all_once()) << i;
    shared += pool.loops_shared() - before;
  }
  EXPECT_EQ(shared, pool.loops_shared());
  EXPECT_LE(pool.workers(), 15);
}

// Everybody calls until each has made its calls: who were kept waiting by the others would keep them all.
TEST(Oversubscribed, NoCallerIsKeptWaiting) {
  constexpr int kCallers = 16, kLoops = 20;
  Pool& pool = pool_of(15);
  std::atomic<int> behind = kCallers, wrong = 0, loops = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < kLoops || behind > 0; ++i) {
        Counts counts(97);
        pool.run(loop_of(counts), 16);
        wrong += counts.all_once() ? 0 : 1;
        ++loops;
        if (i + 1 == kLoops) --behind;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(loops, kCallers * kLoops);
}

TEST(Pool, ScratchMemoryIsPrivate) {
  Pool& pool = pool_of(3);
  struct Check {
    std::atomic<bool> same = true;
    static void body(void* context, int64_t begin, int64_t, void* scratch) {
      auto* bytes = static_cast<volatile unsigned char*>(scratch);
      const auto mine = static_cast<unsigned char>(begin);
      for (int i = 0; i < 4096; ++i) bytes[i] = mine;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      for (int i = 0; i < 4096; ++i) {
        if (bytes[i] != mine) static_cast<Check*>(context)->same = false;
      }
      if (reinterpret_cast<uintptr_t>(scratch) % 64 != 0) static_cast<Check*>(context)->same = false;
    }
  } check;
  alignas(64) static unsigned char own[4096];
  pool.run({&Check::body, &check, 200, 1, 4096, own, 10'000'000, 10'000'000}, 4);
  EXPECT_TRUE(check.same);
}

TEST(Pool, ManyCallersAtOnce) {
  Pool& pool = pool_of(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        Counts counts(257);
        pool.run(loop_of(counts), 4);
        wrong += counts.all_once() ? 0 : 1;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Pool, ALoopInsideALoopRunsAlone) {
  Pool& pool = pool_of(3);
  struct Outer {
    Pool& pool;
    std::atomic<int> wrong = 0;
    static void body(void* context, int64_t begin, int64_t end, void*) {
      auto& self = *static_cast<Outer*>(context);
      for (int64_t i = begin; i < end; ++i) {
        Counts inner(100);
        self.pool.run(loop_of(inner), 4);
        self.wrong += inner.all_once() && inner.threads.size() == 1 ? 0 : 1;
      }
    }
  } outer{pool};
  pool.run({&Outer::body, &outer, 64, 1, 0, nullptr, 10'000'000, 10'000'000}, 4);
  EXPECT_EQ(outer.wrong, 0);
}

TEST(Pool, ParkedWorkersWakeAgain) {
  Pool& pool = pool_of(2);
  for (int i = 0; i < 20; ++i) {
    Counts counts(64);
    counts.meets = 2;
    pool.run(loop_of(counts), 3);
    EXPECT_TRUE(counts.all_once());
    EXPECT_GE(counts.threads.size(), 2u) << i;
    std::this_thread::sleep_for(std::chrono::microseconds(3 * Pool::kSpin / 1000));
  }
}

TEST(Pool, WorkersRoundAsTheCallerDoes) {
  Pool& pool = pool_of(3);
  struct Rounding {
    std::atomic<int> others = 0;
    static void body(void* context, int64_t, int64_t, void*) {
      if (std::fegetround() != FE_UPWARD) ++static_cast<Rounding*>(context)->others;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  } rounding;
  std::fesetround(FE_UPWARD);
  pool.run({&Rounding::body, &rounding, 64, 1, 0, nullptr, 10'000'000, 10'000'000}, 4);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(rounding.others, 0);
}

#if !defined(__SANITIZE_THREAD__)  // which does not follow a fork of a program with threads
TEST(Pool, AChildOfAForkHasItsOwn) {
  if (usable_cores() < 2) GTEST_SKIP() << "one core";
  Counts before(64);
  before.meets = 2;  // a thread that begins holds locks of the address sanitizer, which a fork would copy
  Pool::process().run(loop_of(before), 2);
  const pid_t child = fork();
  if (child == 0) {
    Counts counts(64);
    counts.meets = 2;
    Pool::process().run(loop_of(counts), 2);
    _exit(counts.all_once() && Pool::process().loops_shared() == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  Counts after(64);
  Pool::process().run(loop_of(after), 2);
  EXPECT_TRUE(after.all_once());
}
#endif

TEST(LoopRecording, HasTheLoopsOfItsThread) {
  Counts first(100), second(3), inner(5), elsewhere(100);
  struct Outer {
    Counts& inner;
    static void body(void* context, int64_t begin, int64_t, void*) {
      const ParallelLoop loop = loop_of(static_cast<Outer*>(context)->inner);
      if (begin == 0) run_parallel(&loop);
    }
  } outer{inner};
  const ParallelLoop loops[] = {loop_of(first, 16), loop_of(second), {&Outer::body, &outer, 4, 1, 0, nullptr, 9, 9}};
  LoopRecording recording(4);
  EXPECT_EQ(threads(), 4);
  for (const ParallelLoop& loop : loops) run_parallel(&loop);
  std::thread([&] {
    const ParallelLoop loop = loop_of(elsewhere);
    run_parallel(&loop);
  }).join();
  EXPECT_TRUE(first.all_once() && second.all_once() && inner.all_once() && elsewhere.all_once());
  EXPECT_EQ(first.threads, std::set<std::thread::id>{std::this_thread::get_id()});
  ASSERT_EQ(recording.loops().size(), 3u);  // a loop inside a loop is part of it
  EXPECT_EQ(recording.loops()[0].extent, 100);
  EXPECT_EQ(recording.loops()[0].multiple, 16);
  EXPECT_EQ(recording.loops()[0].parts.size(), 4u);
  EXPECT_EQ(recording.loops()[1].parts.size(), 3u);
  for (const auto& [begin, thread] : first.begins) EXPECT_EQ(begin % 16, 0);
  for (const RecordedLoop& loop : recording.loops()) {
    EXPECT_EQ(loop.took, std::accumulate(loop.parts.begin(), loop.parts.end(), int64_t{0}));
  }
  EXPECT_GE(recording.elapsed(), recording.loops()[2].began + recording.loops()[2].took);
}

TEST(Threads, AreLimited) {
  const int cores = usable_cores();
  set_threads(0);
  EXPECT_EQ(threads(), cores);
  set_threads(1000);
  EXPECT_EQ(threads(), cores);
  {
    const ThreadLimit limit(1);
    EXPECT_EQ(threads(), 1);
    const ThreadLimit none(0);
    EXPECT_EQ(threads(), 1);
  }
  EXPECT_EQ(threads(), cores);
  set_threads(1);
  EXPECT_EQ(threads(), 1);
  set_threads(0);
}

}  // namespace
}  // namespace ct
