#include "jit/loop/expand/butterfly.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>

namespace ct::loop {

Root root_of_unity(int64_t turns, int64_t n) {
  turns %= n;
  // The same numbers in all octants.
  const int64_t eighths = 8 * turns / n;
  const auto angle = [&](int64_t numerator) {
    return 2 * std::numbers::pi * static_cast<double>(numerator) / static_cast<double>(8 * n);
  };
  const int64_t quarters = (eighths + 1) / 2;  // the nearest axis
  const double a = angle(8 * turns - 2 * quarters * n);
  const double c = std::cos(a), s = std::sin(a);
  switch (quarters % 4) {
    case 0:
      return {c, -s};
    case 1:
      return {-s, -c};
    case 2:
      return {-c, s};
    default:
      return {s, c};
  }
}

namespace {

Complex times_root(const Complex& x, int64_t turns, int64_t n) {
  turns %= n;
  if (turns == 0) return x;
  if (4 * turns == n) return {x.im, -x.re};
  if (2 * turns == n) return {-x.re, -x.im};
  if (4 * turns == 3 * n) return {-x.im, x.re};
  Builder& b = x.re.builder();
  const auto constant = [&](double value) { return Num(b, b.constant(x.re.dtype(), value)); };
  const Root root = root_of_unity(turns, n);
  if (8 * turns % n == 0) {
    const Num half = constant(std::numbers::sqrt2 / 2);
    const Num sum = (x.re + x.im) * half, difference = (x.re - x.im) * half;
    if (root.im < 0) return root.re > 0 ? Complex{sum, -difference} : Complex{-difference, -sum};
    return root.re > 0 ? Complex{difference, sum} : Complex{-sum, difference};
  }
  const Num re = constant(root.re), im = constant(root.im);
  return {fma(x.re, re, -(x.im * im)), fma(x.re, im, x.im * re)};
}

// Pairs x[j] +- x[n - j] meet cosines and sines.
Points transform_prime(const Points& x) {
  const auto n = static_cast<int64_t>(x.size());
  const int64_t half = n / 2;
  Builder& b = x[0].re.builder();
  const auto constant = [&](double value) { return Num(b, b.constant(x[0].re.dtype(), value)); };
  Points sums, differences;
  for (int64_t j = 1; j <= half; ++j) {
    sums.push_back(x[static_cast<size_t>(j)] + x[static_cast<size_t>(n - j)]);
    differences.push_back(x[static_cast<size_t>(j)] - x[static_cast<size_t>(n - j)]);
  }
  Points result(x.size());
  result[0] = x[0];
  for (const Complex& sum : sums) result[0] = result[0] + sum;
  for (int64_t k = 1; k <= half; ++k) {
    Complex even = x[0];
    std::optional<Complex> odd;
    for (int64_t j = 1; j <= half; ++j) {
      const Root root = root_of_unity(j * k, n);
      const Complex &sum = sums[static_cast<size_t>(j - 1)], &difference = differences[static_cast<size_t>(j - 1)];
      const Num cosine = constant(root.re), sine = constant(-root.im);
      even = {fma(sum.re, cosine, even.re), fma(sum.im, cosine, even.im)};
      if (odd) {
        odd = {fma(difference.re, sine, odd->re), fma(difference.im, sine, odd->im)};
      } else {
        odd = {difference.re * sine, difference.im * sine};
      }
    }
    result[static_cast<size_t>(k)] = {even.re + odd->im, even.im - odd->re};
    result[static_cast<size_t>(n - k)] = {even.re - odd->im, even.im + odd->re};
  }
  return result;
}

// The first of the two factors that `butterfly` splits into; n itself if it does not.
int64_t first_factor(int64_t n) {
  if (n == 8) return 2;
  if (n == 16) return 4;
  for (int64_t factor = 2; factor * factor <= n; ++factor) {
    if (n % factor != 0) continue;
    int64_t power = factor;
    while (n / power % factor == 0) power *= factor;
    return power == n ? factor : power;
  }
  return n;
}

}  // namespace

Points butterfly(const Points& x) {
  const auto n = static_cast<int64_t>(x.size());
  if (n == 1) return x;
  if (n == 2) return {x[0] + x[1], x[0] - x[1]};
  const int64_t p = first_factor(n), q = n / p;
  if (q == 1) return transform_prime(x);
  const bool coprime = std::gcd(p, q) == 1;  // then no roots are needed in between
  std::vector<Points> rows;                  // [k of p][i of q]
  rows.assign(static_cast<size_t>(p), Points(static_cast<size_t>(q)));
  for (int64_t i = 0; i < q; ++i) {
    Points column;
    for (int64_t j = 0; j < p; ++j) {
      column.push_back(x[static_cast<size_t>(coprime ? (q * j + p * i) % n : q * j + i)]);
    }
    column = butterfly(column);
    for (int64_t k = 0; k < p; ++k) {
      const Complex& value = column[static_cast<size_t>(k)];
      rows[static_cast<size_t>(k)][static_cast<size_t>(i)] = coprime ? value : times_root(value, i * k, n);
    }
  }
  Points result(x.size());
  for (int64_t k = 0; k < p; ++k) {
    const Points row = butterfly(rows[static_cast<size_t>(k)]);
    for (int64_t m = 0; m < q; ++m) {
      int64_t place = k + p * m;
      if (coprime) {
        for (place = k; place % q != m; place += p) {
        }
      }
      result[static_cast<size_t>(place)] = row[static_cast<size_t>(m)];
    }
  }
  return result;
}

namespace {

// Arithmetic instructions of `butterfly`, about.
double work_of(int64_t n) {
  if (n == 1) return 0;
  if (n == 2) return 4;
  const int64_t p = first_factor(n), q = n / p;
  if (q == 1) return static_cast<double>(4 * (n / 2) * (n / 2) + 5 * (n - 1));
  const double roots = std::gcd(p, q) == 1 ? 0 : n == 4 ? 0 : 3.0 * static_cast<double>((p - 1) * (q - 1));
  return static_cast<double>(q) * work_of(p) + static_cast<double>(p) * work_of(q) + roots;
}

constexpr int64_t kRadices[] = {2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 16,
                                17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61};
// The largest whose numbers are in registers, as all are but the last.
constexpr int64_t kLargestButterfly = 23;
constexpr double kPass = 12;  // of one point: to load, to store, to turn

}  // namespace

bool is_looped(int64_t radix) { return radix > 16; }

std::vector<int64_t> radices_of(int64_t length) {
  struct Best {
    double cost = std::numeric_limits<double>::infinity();
    int64_t radix = 0;
  };
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= length; ++d) {
    if (length % d != 0) continue;
    divisors.push_back(d);
    if (d * d != length) divisors.push_back(length / d);
  }
  std::sort(divisors.begin(), divisors.end());
  std::vector<Best> best(divisors.size());
  const auto at = [&](int64_t d) {
    return static_cast<size_t>(std::lower_bound(divisors.begin(), divisors.end(), d) - divisors.begin());
  };
  best[0] = {0, 1};
  for (int64_t divisor : divisors) {
    for (int64_t radix : kRadices) {
      if (divisor % radix != 0) continue;
      const double cost = best[at(divisor / radix)].cost + kPass + work_of(radix) / static_cast<double>(radix);
      if (cost < best[at(divisor)].cost) best[at(divisor)] = {cost, radix};
    }
  }
  if (best.back().radix == 0) return {};
  std::vector<int64_t> radices;
  for (int64_t left = length; left > 1; left /= radices.back()) radices.push_back(best[at(left)].radix);
  const auto largest = std::ranges::max_element(radices);
  if (largest != radices.end() && is_looped(*largest)) std::rotate(largest, largest + 1, radices.end());
  const auto in_registers = [](int64_t radix) { return radix <= kLargestButterfly; };
  if (!radices.empty() && !std::all_of(radices.begin(), radices.end() - 1, in_registers)) return {};
  return radices;
}

}  // namespace ct::loop
