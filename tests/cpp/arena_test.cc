// The layout of temporaries by itself: what is wanted at once has no byte in common, and the block is as small as it
// can be where that is known.
#include "jit/schedule/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace ct::jit {
namespace {

int64_t most_wanted(const std::vector<ArenaPlace>& places) {
  int64_t most = 0;
  for (const ArenaPlace& moment : places) {
    int64_t wanted = 0;
    for (const ArenaPlace& place : places) {
      if (place.first <= moment.first && moment.first <= place.last) wanted += place.bytes;
    }
    most = std::max(most, wanted);
  }
  return most;
}

void expect_apart(const std::vector<ArenaPlace>& places, int64_t bytes) {
  for (size_t a = 0; a < places.size(); ++a) {
    const ArenaPlace& x = places[a];
    EXPECT_GE(x.offset, 0);
    EXPECT_LE(x.offset + x.bytes, bytes);
    for (size_t b = 0; b < a; ++b) {
      const ArenaPlace& y = places[b];
      if (x.last < y.first || y.last < x.first || x.bytes == 0 || y.bytes == 0) continue;
      EXPECT_TRUE(x.offset + x.bytes <= y.offset || y.offset + y.bytes <= x.offset) << a << " and " << b;
    }
  }
}

TEST(Arena, NothingIsEmpty) {
  std::vector<ArenaPlace> places;
  EXPECT_EQ(lay_out(places), 0);
}

TEST(Arena, WhatIsDeadMakesRoom) {
  std::vector<ArenaPlace> places = {{0, 1, 64}, {2, 3, 64}, {1, 2, 32}};
  EXPECT_EQ(lay_out(places), 96);
  expect_apart(places, 96);
}

// In the order of time the second would follow the first, and the third find no gap that is large enough.
TEST(Arena, ALargeOneIsPlacedBeforeASmallOneSplitsItsGap) {
  std::vector<ArenaPlace> places = {{0, 1, 64}, {1, 3, 16}, {2, 3, 128}};
  EXPECT_EQ(lay_out(places), 144);
  expect_apart(places, 144);
}

TEST(Arena, RandomPlacesHaveNoByteInCommon) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const int count = 1 + static_cast<int>(random() % 40);
    std::vector<ArenaPlace> places;
    for (int p = 0; p < count; ++p) {
      const int first = static_cast<int>(random() % 30);
      places.push_back({first, first + static_cast<int>(random() % 12), static_cast<int64_t>(random() % 6) * 64});
    }
    const int64_t bytes = lay_out(places);
    EXPECT_GE(bytes, most_wanted(places));
    expect_apart(places, bytes);
  }
}

// So many at once that the second layout is given up: the first still holds.
TEST(Arena, ThousandsThatAreWantedAtOnce) {
  std::vector<ArenaPlace> places;
  for (int p = 0; p < 3000; ++p) places.push_back({p % 7, 10 + p % 5, 64 * (1 + p % 3)});
  const int64_t bytes = lay_out(places);
  EXPECT_GE(bytes, most_wanted(places));
  expect_apart(places, bytes);
}

}  // namespace
}  // namespace ct::jit
