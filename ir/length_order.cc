// If x were larger than y for some sizes, then one of the smallest of which x is the largest would be: each of its
// polynomials would be larger than some polynomial of each of the smallest of y. For every choice of these polynomials
// that is a system of inequalities, and x is at most y where none has a solution.
//
// Quotients are linear once the remainders of what they divide are known, so there is a system for each of these.
#include "ir/length_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/inequalities.h"

namespace ct {
namespace {

constexpr size_t kMostChoices = 256;     // of polynomials
constexpr int64_t kMostRemainders = 64;  // of all sizes together
constexpr size_t kMostSigned = 4;
constexpr int64_t kMostBound = int64_t{1} << 28;

// Polynomials that are not negative, as inequalities of unknowns: a monomial of which a remainder is asked is
// period * unknown + remainder, every other one an unknown.
class Cases {
 public:
  Cases(const Atoms& atoms, const MostOf& most_of, const std::vector<Polynomial>& assumptions)
      : atoms_(atoms), most_of_(most_of), assumptions_(assumptions) {
    for (const Polynomial& one : assumptions) collect(one, false);
    int64_t count = 1;
    for (const auto& [monomial, divided] : unknowns_) {
      if (divided) count = std::min(count * period_, kMostRemainders + 1);
    }
    if (count > kMostRemainders) period_ = 1;
    for (Atom atom = 0; atom < atoms.size(); ++atom) {
      if (atoms[atom].part == Part::kPositive && signed_.size() < kMostSigned) signed_.push_back(atom);
    }
  }

  bool all_impossible() {
    for (signs_ = 0; signs_ < size_t{1} << signed_.size(); ++signs_) {
      remainders_.assign(unknowns_.size(), 0);
      do {
        if (!is_impossible()) return false;
      } while (next());
    }
    return true;
  }

 private:
  void collect(const Polynomial& polynomial, bool divided) {
    for (const auto& [monomial, coefficient] : polynomial) {
      if (monomial.empty()) continue;
      const auto [at, added] = unknowns_.try_emplace(monomial, false);
      const AtomOf* quotient = as_quotient(atoms_, monomial);
      if (quotient == nullptr) {
        at->second = at->second || divided;
      } else if (added) {
        period_ = std::min(std::lcm(period_, quotient->divisor), kMostRemainders + 1);
        collect(quotient->dividend, true);
      }
    }
  }

  // The next remainders; whether there were any left.
  bool next() {
    size_t i = 0;
    for (const auto& [monomial, divided] : unknowns_) {
      if (divided && ++remainders_[i] < period_) return true;
      remainders_[i++] = 0;
    }
    return false;
  }

  bool is_impossible() {
    linear_.clear();
    std::vector<Inequality> all;
    size_t i = 0;
    // In the order of atoms, so that dividends come before their quotients.
    for (const auto& [monomial, divided] : unknowns_) {
      Inequality value{std::vector<int64_t>(unknowns_.size()), remainders_[i]};
      value.coefficients[i++] = divided ? period_ : 1;
      if (is_zero(monomial)) {
        value.coefficients[i - 1] = 0;
        // With a remainder it is not.
        if (value.constant != 0) return true;
      } else if (const AtomOf* quotient = as_quotient(atoms_, monomial)) {
        value = quotient_of(linear(quotient->dividend), quotient->divisor, std::move(value), all);
      } else if (const std::optional<int64_t> most = most_of(monomial)) {
        all.push_back(sum(value, -1, {std::vector<int64_t>(unknowns_.size()), *most}));
      }
      linear_.emplace(monomial, std::move(value));
    }
    for (const Polynomial& one : assumptions_) all.push_back(linear(one));
    return impossible(all);
  }

  // One part of each integer that may be negative is 0.
  bool is_zero(const Monomial& monomial) const {
    return std::ranges::any_of(monomial, [&](Atom atom) {
      const Part part = atoms_[atom].part;
      if (part == Part::kWhole) return false;
      const auto at = std::ranges::find(signed_, part == Part::kPositive ? atom : atom - 1) - signed_.begin();
      return static_cast<size_t>(at) < signed_.size() && (((signs_ >> at) & 1) != 0) == (part == Part::kPositive);
    });
  }

  Inequality linear(const Polynomial& polynomial) const {
    Inequality result{std::vector<int64_t>(unknowns_.size()), 0};
    for (const auto& [monomial, coefficient] : polynomial) {
      if (monomial.empty()) {
        result.constant += coefficient;
      } else {
        result = sum(linear_.at(monomial), coefficient, result);
      }
    }
    return result;
  }

  static Inequality sum(const Inequality& x, int64_t factor, Inequality y) {
    for (size_t i = 0; i < y.coefficients.size(); ++i) y.coefficients[i] += factor * x.coefficients[i];
    y.constant += factor * x.constant;
    return y;
  }

  // The dividend is not negative.
  static Inequality quotient_of(const Inequality& dividend, int64_t divisor, Inequality otherwise,
                                std::vector<Inequality>& all) {
    if (std::ranges::all_of(dividend.coefficients, [&](int64_t x) { return x % divisor == 0; })) {
      Inequality quotient = dividend;
      for (int64_t& x : quotient.coefficients) x /= divisor;
      quotient.constant = (dividend.constant - (dividend.constant % divisor + divisor) % divisor) / divisor;
      return quotient;
    }
    const Inequality gap = sum(otherwise, -divisor, dividend);  // from 0 to divisor - 1
    all.push_back(gap);
    all.push_back(sum(gap, -1, {std::vector<int64_t>(gap.coefficients.size()), divisor - 1}));
    return otherwise;
  }

  std::optional<int64_t> most_of(const Monomial& monomial) const {
    int64_t product = 1;
    for (const Atom atom : monomial) {
      if (atoms_[atom].var == kNoVar) return std::nullopt;
      const std::optional<int64_t> most = most_of_(atoms_[atom].var);
      if (!most || *most > kMostBound || *most < 0) return std::nullopt;
      product *= *most;
      if (product > kMostBound) return std::nullopt;
    }
    return product;
  }

  const Atoms& atoms_;
  const MostOf& most_of_;
  const std::vector<Polynomial>& assumptions_;
  std::vector<Atom> signed_;           // positive parts; the negative part of one is the next atom
  size_t signs_ = 0;                   // of these, by bit
  std::map<Monomial, bool> unknowns_;  // whether it is divided
  std::vector<int64_t> remainders_;    // by unknown
  int64_t period_ = 1;
  std::map<Monomial, Inequality> linear_;  // what each is
};

Polynomial larger_by(const Polynomial& x, const Polynomial& y, int64_t least) {
  Polynomial gap = sum_of(x, scaled(y, -1));
  add_term(gap, {}, -least);
  return gap;
}

bool smallest_at_most(const Atoms& atoms, const MostOf& most_of, const Smallest& x, const Form& y) {
  // Of each smallest of y, the polynomials that could be below all of x.
  std::vector<Smallest> choices;
  size_t count = 1;
  for (const Smallest& smallest : y) {
    Smallest below;
    for (const Polynomial& one : smallest) {
      const bool never = std::ranges::any_of(
          x, [&](const Polynomial& other) { return never_negative(atoms, larger_by(one, other, 0)); });
      if (!never) below.push_back(one);
    }
    if (below.empty()) return true;
    count *= below.size();
    if (count > kMostChoices) return false;
    choices.push_back(std::move(below));
  }
  for (size_t choice = 0; choice < count; ++choice) {
    std::vector<Polynomial> assumptions;
    size_t rest = choice;
    for (const Smallest& below : choices) {
      const Polynomial& chosen = below[rest % below.size()];
      rest /= below.size();
      for (const Polynomial& one : x) assumptions.push_back(larger_by(one, chosen, 1));
    }
    if (!Cases(atoms, most_of, assumptions).all_impossible()) return false;
  }
  return true;
}

}  // namespace

bool at_most_in_all_cases(const Atoms& atoms, const MostOf& most_of, const Form& x, const Form& y) {
  return std::ranges::all_of(x, [&](const Smallest& one) { return smallest_at_most(atoms, most_of, one, y); });
}

}  // namespace ct
