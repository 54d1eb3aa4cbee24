// Whether a program's loops are shared follows what they take, told by a clock that the tests set.
#include "runtime/sharing_trials.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace ct {
namespace {

constexpr auto kShared = SharingWay::kShared, kAlone = SharingWay::kAlone;

// A program of some loops, each of which takes so much, shared and alone.
class Trials : public testing::Test {
 protected:
  struct Times {
    int64_t shared = 0, alone = 0;
  };

  // Runs the program's loops so often; how many of them ran alone.
  int run(const std::vector<Times>& loops, int times, int program = 0, int64_t gap = 1'000) {
    int alone = 0;
    for (int i = 0; i < times; ++i) {
      for (size_t j = 0; j < loops.size(); ++j) {
        const SharingWay way = trials_->way(code_at(program));
        alone += way == kAlone ? 1 : 0;
        now_ += gap;
        const int64_t begin = now_;
        now_ += way == kShared ? loops[j].shared : loops[j].alone;
        trials_->tell(code_at(program), code_at(program + static_cast<int>(j) + 1), way, 30'000, begin, now_);
      }
    }
    return alone;
  }

  static const void* code_at(int i) { return reinterpret_cast<const void*>(static_cast<uintptr_t>(4096 + 64 * i)); }

  std::unique_ptr<SharingTrials> trials_ = std::make_unique<SharingTrials>();
  int64_t now_ = 1'000'000;
};

TEST_F(Trials, LoopsThatGainStayShared) {
  const int alone = run({{20'000, 35'000}, {15'000, 25'000}}, 50'000);
  EXPECT_EQ(trials_->way(code_at(0)), kShared);
  EXPECT_GT(alone, 0);        // it was tried
  EXPECT_LT(alone, 12 * 20);  // and soon seen
}

TEST_F(Trials, LoopsThatLoseRunAlone) {
  const int alone = run({{80'000, 35'000}, {60'000, 25'000}}, 1'000);
  EXPECT_EQ(trials_->way(code_at(0)), kAlone);
  EXPECT_GT(alone, 1'700);
}

// One loop that loses much counts for more than one that gains little: they go one way.
TEST_F(Trials, TheProgramDecides) {
  run({{20'000, 30'000}, {120'000, 40'000}}, 1'000);
  EXPECT_EQ(trials_->way(code_at(0)), kAlone);
}

TEST_F(Trials, NothingMuchIsNoReason) {
  run({{98'000, 100'000}}, 10'000);
  EXPECT_EQ(trials_->way(code_at(0)), kShared);
  run({{100'000, 98'000}}, 10'000, 10);
  EXPECT_EQ(trials_->way(code_at(10)), kShared);
}

TEST_F(Trials, WhatChangesIsSeen) {
  run({{80'000, 35'000}}, 1'000);
  EXPECT_EQ(trials_->way(code_at(0)), kAlone);
  run({{20'000, 35'000}}, 3'000);
  EXPECT_EQ(trials_->way(code_at(0)), kShared);
  run({{80'000, 35'000}}, 5'000);
  EXPECT_EQ(trials_->way(code_at(0)), kAlone);
}

// What one thread does between shared loops is slow where it reads what the others wrote.
TEST_F(Trials, TimeBetweenLoopsCounts) {
  for (int i = 0; i < 1'000; ++i) {
    const SharingWay way = trials_->way(code_at(0));
    now_ += way == kShared ? 30'000 : 2'000;
    const int64_t begin = now_;
    now_ += way == kShared ? 20'000 : 30'000;
    trials_->tell(code_at(0), code_at(1), way, 30'000, begin, now_);
  }
  EXPECT_EQ(trials_->way(code_at(0)), kAlone);
}

TEST_F(Trials, LongPausesDoNot) {
  run({{20'000, 35'000}}, 1'000, 0, 10'000'000);
  EXPECT_EQ(trials_->way(code_at(0)), kShared);
}

// The system took the core away, once, in a trial.
TEST_F(Trials, OneAccidentIsNoReason) {
  run({{80'000, 35'000}}, 1'000);
  ASSERT_EQ(trials_->way(code_at(0)), kAlone);
  for (int i = 0; i < 20'000; ++i) {
    const bool accident = i % 97 == 0;
    run({{80'000, accident ? 20'000'000 : 35'000}}, 1);
  }
  EXPECT_EQ(trials_->way(code_at(0)), kAlone);
}

TEST_F(Trials, ProgramsAreJudgedByThemselves) {
  for (int i = 0; i < 2'000; ++i) {
    run({{80'000, 35'000}}, 1, 0);
    run({{20'000, 35'000}}, 1, 10);
  }
  EXPECT_EQ(trials_->way(code_at(0)), kAlone);
  EXPECT_EQ(trials_->way(code_at(10)), kShared);
}

TEST_F(Trials, OneAtATime) {
  EXPECT_TRUE(trials_->try_enter());
  EXPECT_FALSE(trials_->try_enter());
  trials_->leave();
  EXPECT_TRUE(trials_->try_enter());
}

}  // namespace
}  // namespace ct
