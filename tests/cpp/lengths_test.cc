// Lengths as expressions: what is found to be equal is equal for all sizes, and little that is equal is not found.
#include "ir/lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "ir/inequalities.h"
#include "ir/length_form.h"
#include "ir/ops.h"

namespace ct {
namespace {

constexpr int64_t kBounds[] = {5, 3};

struct Sizes {
  int64_t n, m;
};

struct Expression {
  Value value;
  std::function<int64_t(const Sizes&)> of;
};

class Expressions {
 public:
  explicit Expressions(unsigned seed) : random_(seed) {
    builder.share_equations();
    for (const int64_t bound : kBounds) {
      inputs_.push_back(builder.input(Aval(DType::kInt32, {})));
      builder.bound_length(inputs_.back(), bound);
    }
  }

  Expression draw(int depth) {
    if (depth == 0) {
      if (below(3) == 0) return number(below(4));
      const bool first = below(3) > 0;
      return {inputs_[first ? 0 : 1], [first](const Sizes& sizes) { return first ? sizes.n : sizes.m; }};
    }
    const Expression x = draw(depth - 1), y = draw(below(depth));
    switch (below(6)) {
      case 0:
        return {add(x.value, y.value), [=](const Sizes& sizes) { return x.of(sizes) + y.of(sizes); }};
      case 1:
        return {sub(x.value, y.value), [=](const Sizes& sizes) { return x.of(sizes) - y.of(sizes); }};
      case 2:
        return {max(x.value, y.value), [=](const Sizes& sizes) { return std::max(x.of(sizes), y.of(sizes)); }};
      case 3:
        return {min(x.value, y.value), [=](const Sizes& sizes) { return std::min(x.of(sizes), y.of(sizes)); }};
      case 4: {
        const Expression divisor = number(2 + below(2));
        return {div(x.value, divisor.value), [=](const Sizes& sizes) { return x.of(sizes) / divisor.of(sizes); }};
      }
      default:
        return {max(x.value, number(0).value), [=](const Sizes& sizes) { return std::max<int64_t>(x.of(sizes), 0); }};
    }
  }

  Expression number(int64_t value) {
    return {constant_length(builder, value), [value](const Sizes&) { return value; }};
  }

  int below(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  Builder builder;

 private:
  std::mt19937 random_;
  Values inputs_;
};

bool equal(const Expression& x, const Expression& y) {
  for (int64_t n = 0; n <= kBounds[0]; ++n) {
    for (int64_t m = 0; m <= kBounds[1]; ++m) {
      if (x.of({n, m}) != y.of({n, m})) return false;
    }
  }
  return true;
}

TEST(Lengths, WhatIsFoundEqualIsEqual) {
  int all = 0, found = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Expressions expressions(seed);
    std::vector<Expression> drawn;
    for (int i = 0; i < 6; ++i) drawn.push_back(expressions.draw(expressions.below(4)));
    for (const Expression& x : drawn) {
      for (const Expression& y : drawn) {
        if (x.value == y.value) continue;
        const bool same = same_length(x.value, y.value);
        const bool expected = equal(x, y);
        ASSERT_TRUE(expected || !same) << "seed " << seed;
        all += expected;
        found += same;
      }
    }
  }
  EXPECT_GT(all, 1000);
  EXPECT_GT(found, all * 95 / 100) << "of " << all;
}

// An integer that is not known to be a length may be negative.
TEST(Lengths, IntegersMayBeNegative) {
  Builder builder;
  const Value k = builder.input(Aval(DType::kInt32, {}));
  const Value n = builder.input(Aval(DType::kInt32, {}));
  builder.bound_length(n, 4);
  EXPECT_FALSE(same_length(k, at_least_zero(k)));
  EXPECT_TRUE(same_length(at_least_zero(add_lengths(at_least_zero(k), 1)), add_lengths(at_least_zero(k), 1)));
  EXPECT_TRUE(same_length(n, at_least_zero(n)));
  EXPECT_TRUE(same_length(n, smaller_length(n, 4)));
  EXPECT_FALSE(same_length(n, smaller_length(n, 3)));
}

TEST(Inequalities, WhatIsImpossibleHasNoSolution) {
  std::mt19937 random(0);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  int none = 0, found = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<Inequality> all;
    for (int i = 0; i < 3; ++i) {  // a box, so that all solutions can be tried
      all.push_back({{0, 0, 0}, 6});
      all.back().coefficients[static_cast<size_t>(i)] = -1;
    }
    for (int64_t count = draw(1, 4); count > 0; --count) {
      all.push_back({{draw(-3, 3), draw(-3, 3), draw(-3, 3)}, draw(-6, 4)});
    }
    bool solved = false;
    for (int64_t point = 0; point < 7 * 7 * 7 && !solved; ++point) {
      solved = std::ranges::all_of(all, [&](const Inequality& one) {
        return one.coefficients[0] * (point % 7) + one.coefficients[1] * (point / 7 % 7) +
                   one.coefficients[2] * (point / 49) + one.constant >=
               0;
      });
    }
    const bool refuted = impossible(all);
    ASSERT_FALSE(refuted && solved) << "round " << round;
    none += !solved;
    found += refuted;
  }
  EXPECT_GT(none, 500);
  EXPECT_GT(found, none * 95 / 100) << "of " << none;
}

TEST(Inequalities, WithoutUnknownsAndWithLargeNumbers) {
  EXPECT_FALSE(impossible({}));
  EXPECT_TRUE(impossible({{{}, -1}}));
  EXPECT_FALSE(impossible({{{}, 0}}));
  const int64_t large = int64_t{1} << 40;
  EXPECT_FALSE(impossible({{{large, -3}, -1}, {{-large, 5}, -1}}));
  EXPECT_TRUE(impossible({{{-large, -3}, -1}}));
}

}  // namespace
}  // namespace ct
