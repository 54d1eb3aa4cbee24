// A pool of more threads than cores against one of two: what a loop takes of the clock and of the processors, in turn.
//
//   g++ -std=c++20 -O2 -I. benchmarks/pool_oversubscribed.cc build-release/runtime/libct_runtime.a -o
//   pool_oversubscribed
//       $(pkg-config --libs absl_strings absl_status absl_hash absl_raw_hash_set absl_synchronization) -ldl -lpthread
//   ./pool_oversubscribed 16
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "runtime/pool.h"

namespace {

int64_t nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

void work(void*, int64_t begin, int64_t end, void*) {
  volatile double x = 1;
  for (int64_t i = begin; i < end; ++i) {
    for (int k = 0; k < 40; ++k) x = x * 1.0000001;
  }
}

struct Times {
  double wall, processor;
};

Times of_loops(ct::Pool& pool, const ct::ParallelLoop& loop, int threads, int count) {
  for (int i = 0; i < 3; ++i) pool.run(loop, threads);
  const int64_t wall = nanoseconds(CLOCK_MONOTONIC), processor = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < count; ++i) pool.run(loop, threads);
  const Times result{static_cast<double>(nanoseconds(CLOCK_MONOTONIC) - wall) / count,
                     static_cast<double>(nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - processor) / count};
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // its threads park
  return result;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 16;
  double unit = 1e9;
  for (int i = 0; i < 200; ++i) {
    const int64_t start = nanoseconds(CLOCK_MONOTONIC);
    work(nullptr, 0, 1000, nullptr);
    unit = std::min(unit, static_cast<double>(nanoseconds(CLOCK_MONOTONIC) - start) / 1000);
  }
  auto& two = *new ct::Pool(1);  // pools are never destroyed
  auto& many = *new ct::Pool(threads - 1);
  for (const double microseconds : {50.0, 300.0, 3000.0}) {
    const auto total = static_cast<int64_t>(microseconds * 1000);
    const ct::ParallelLoop loop{work,  nullptr, static_cast<int64_t>(microseconds * 1000 / unit), 1, 0, nullptr,
                                total, total};
    std::vector<double> wall, processor;
    for (int round = 0; round < 9; ++round) {
      const int count = std::max(3, static_cast<int>(6000 / microseconds));
      const Times few = of_loops(two, loop, 2, count), all = of_loops(many, loop, threads, count);
      wall.push_back(few.wall / all.wall);
      processor.push_back(few.processor / all.processor);
    }
    std::printf("loops of %.0f us: %d threads do %.2f times what 2 do in a time, %.2f times in a processor's time\n",
                microseconds, threads, median(wall), median(processor));
  }
}
