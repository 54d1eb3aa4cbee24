#include "ir/inequalities.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace ct {
namespace {

// What is left out only makes less impossible.
constexpr size_t kMostInequalities = 64;
constexpr int64_t kMostCoefficient = int64_t{1} << 30;

int64_t floor_quotient(int64_t x, int64_t divisor) { return x / divisor - (x % divisor < 0 ? 1 : 0); }

enum class Holds { kAlways, kSometimes, kNever };

Holds holds(const Inequality& one) {
  const auto& c = one.coefficients;
  if (one.constant >= 0 && std::ranges::all_of(c, [](int64_t x) { return x >= 0; })) return Holds::kAlways;
  if (one.constant < 0 && std::ranges::all_of(c, [](int64_t x) { return x <= 0; })) return Holds::kNever;
  return Holds::kSometimes;
}

// Divided by what the coefficients have in common; the constant is rounded down, as the sum of the others is whole.
void tighten(Inequality& one) {
  int64_t common = 0;
  for (const int64_t x : one.coefficients) common = std::gcd(common, x);
  if (common <= 1) return;
  for (int64_t& x : one.coefficients) x /= common;
  one.constant = floor_quotient(one.constant, common);
}

bool is_moderate(const Inequality& one) {
  const auto small = [](int64_t x) { return x >= -kMostCoefficient && x <= kMostCoefficient; };
  return small(one.constant) && std::ranges::all_of(one.coefficients, small);
}

// The sum in which the unknown has gone. `above`: its coefficient is positive there, and negative in `below`.
Inequality combined(const Inequality& above, const Inequality& below, size_t unknown) {
  const int64_t a = -below.coefficients[unknown], b = above.coefficients[unknown];
  Inequality sum;
  for (size_t i = 0; i < above.coefficients.size(); ++i) {
    sum.coefficients.push_back(a * above.coefficients[i] + b * below.coefficients[i]);
  }
  sum.constant = a * above.constant + b * below.constant;
  return sum;
}

class System {
 public:
  // Whether one that can never hold was among them.
  bool add(Inequality one) {
    tighten(one);
    const Holds how = holds(one);
    if (how == Holds::kSometimes && is_moderate(one)) all_.push_back(std::move(one));
    return how == Holds::kNever;
  }

  bool impossible() {
    while (const std::optional<size_t> unknown = cheapest()) {
      if (eliminate(*unknown)) return true;
      if (all_.size() > kMostInequalities) return false;
    }
    return false;
  }

 private:
  // The unknown that leaves the fewest inequalities when it goes.
  std::optional<size_t> cheapest() const {
    if (all_.empty()) return std::nullopt;
    std::optional<size_t> best;
    size_t least = std::numeric_limits<size_t>::max();
    for (size_t i = 0; i < all_[0].coefficients.size(); ++i) {
      const auto count = [&](auto has) {
        return static_cast<size_t>(
            std::ranges::count_if(all_, [&](const Inequality& one) { return has(one.coefficients[i]); }));
      };
      const size_t above = count([](int64_t x) { return x > 0; }), below = count([](int64_t x) { return x < 0; });
      if (above + below == 0 || (above + 1) * below >= least) continue;
      least = (above + 1) * below;
      best = i;
    }
    return best;
  }

  bool eliminate(size_t unknown) {
    std::vector<Inequality> above, below, others;
    for (Inequality& one : all_) {
      const int64_t x = one.coefficients[unknown];
      (x > 0 ? above : x < 0 ? below : others).push_back(std::move(one));
    }
    all_ = std::move(others);
    // The unknown itself is not negative.
    above.push_back({std::vector<int64_t>(width(above, below)), 0});
    above.back().coefficients[unknown] = 1;
    for (const Inequality& high : above) {
      for (const Inequality& low : below) {
        if (add(combined(high, low, unknown))) return true;
      }
    }
    return false;
  }

  static size_t width(const std::vector<Inequality>& above, const std::vector<Inequality>& below) {
    return (above.empty() ? below : above)[0].coefficients.size();
  }

  std::vector<Inequality> all_;
};

}  // namespace

bool impossible(const std::vector<Inequality>& all) {
  System system;
  for (const Inequality& one : all) {
    if (system.add(one)) return true;
  }
  return system.impossible();
}

}  // namespace ct
