// Whether a program's loops gain from threads is measured while it runs, as no estimate can tell: what one thread wrote
// and another reads costs nothing where cores share a cache, and more than a small loop's work where they do not; two
// virtual processors may be one core; other programs may be on the others. A loop's results do not depend on who
// computes them, so both ways may be tried at any time.
//
// Each program has a way, at first `kShared`. Now and then it goes the other way for kTrial loops, or fewer if that is
// obviously better or worse, and keeps to it if they took less than the same loops usually do. Trials become rarer
// while they change nothing. All loops of a program go one way at a time: where a loop finds its data depends on how
// the loops before it ran.
//
// Used by the pool alone; one caller at a time (`try_enter`).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace ct {

enum class SharingWay : uint8_t { kShared, kAlone };

class SharingTrials {
 public:
  static constexpr int kTrial = 64;               // loops
  static constexpr int kFirstInterval = 64;       // loops between trials
  static constexpr int kMostInterval = 32'768;    // so a trial that loses costs 0.2 % of what it loses
  static constexpr int kSettling = 8;             // loops of a trial until data lies as that way leaves it
  static constexpr int kLeast = 8;                // loops, after these, that say enough if they are obvious
  static constexpr double kLess = 0.95;           // of the usual time: worth a change
  static constexpr double kObvious = 1.3;         // times more or less
  static constexpr int64_t kLongestGap = 50'000;  // nanoseconds between loops that count as theirs
  static constexpr int64_t kLongestLoop = int64_t{1'000'000};  // of longer ones, sharing costs nothing

  // False if another thread is there: it then neither asks nor tells.
  bool try_enter() { return !entered_.exchange(true, std::memory_order_acquire); }
  void leave() { entered_.store(false, std::memory_order_release); }

  // `program` and `loop` are addresses of code, which tell them apart.
  SharingWay way(const void* program);
  // The loop took from `begin` to `end`, where `estimate` was expected; all in nanoseconds.
  void tell(const void* program, const void* loop, SharingWay way, int64_t estimate, int64_t begin, int64_t end);

 private:
  struct Program {
    const void* key = nullptr;
    SharingWay usual = SharingWay::kShared;
    bool trying = false;
    int left = kFirstInterval;  // loops until the trial begins or ends
    int interval = kFirstInterval;
    int64_t last_end = 0;
    int compared = 0;               // loops whose time is known both ways
    double tried = 0, usually = 0;  // nanoseconds of these
  };
  // Time over estimate, each way; 0 if not known.
  struct Loop {
    const void* key = nullptr;
    std::array<float, 2> ratio = {};
  };
  // Two that meet in a table forget each other.
  Program& program_of(const void* key);
  Loop& loop_of(const void* key);
  static void end_trial(Program& program);

  std::atomic<bool> entered_ = false;
  std::array<Program, 128> programs_;
  std::array<Loop, 1024> loops_;
};

}  // namespace ct
