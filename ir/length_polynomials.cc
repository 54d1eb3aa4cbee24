#include "ir/length_polynomials.h"

#include <algorithm>

namespace ct {

Polynomial number(int64_t value) { return value == 0 ? Polynomial() : Polynomial{{{}, value}}; }

void add_term(Polynomial& sum, const Monomial& monomial, int64_t coefficient) {
  const auto [term, added] = sum.try_emplace(monomial, 0);
  term->second += coefficient;
  if (term->second == 0) sum.erase(term);
}

Polynomial sum_of(const Polynomial& x, const Polynomial& y) {
  Polynomial sum = x;
  for (const auto& [monomial, coefficient] : y) add_term(sum, monomial, coefficient);
  return sum;
}

Polynomial scaled(const Polynomial& x, int64_t factor) {
  Polynomial result;
  if (factor == 0) return result;
  for (const auto& [monomial, coefficient] : x) result.emplace(monomial, coefficient * factor);
  return result;
}

Polynomial product_of(const Polynomial& x, const Polynomial& y) {
  Polynomial product;
  for (const auto& [left, a] : x) {
    for (const auto& [right, b] : y) {
      Monomial both = left;
      both.insert(both.end(), right.begin(), right.end());
      std::sort(both.begin(), both.end());
      add_term(product, both, a * b);
    }
  }
  return product;
}

namespace {

// Whether no term is negative: then the polynomial of sizes is not, either.
bool no_negative_term(const Polynomial& x) {
  return std::all_of(x.begin(), x.end(), [](const auto& term) { return term.second >= 0; });
}

// The least that the polynomial is where quotients that are subtracted, and those that are added, too, if `added`,
// stand for their dividends: d times a quotient is at most its dividend p, and at least p - d + 1. Times a positive
// number.
Polynomial least_of(const Atoms& atoms, const Polynomial& x, bool added) {
  Polynomial least = x;
  for (const auto& [monomial, coefficient] : x) {
    if (monomial.size() != 1 || (coefficient >= 0 && !added)) continue;
    const AtomOf& atom = atoms[monomial[0]];
    if (atom.var != kNoVar) continue;
    // Times the divisor, so that the dividend has whole coefficients.
    const auto found = least.find(monomial);
    if (found == least.end()) continue;  // the dividend of another one has cancelled it
    const int64_t own = found->second;
    least = scaled(least, atom.divisor);
    least.erase(monomial);
    least = sum_of(least, scaled(atom.dividend, own));
    if (own > 0) add_term(least, {}, -own * (atom.divisor - 1));
  }
  return least;
}

}  // namespace

bool never_negative(const Atoms& atoms, const Polynomial& x) {
  return no_negative_term(x) || no_negative_term(least_of(atoms, x, false)) ||
         no_negative_term(least_of(atoms, x, true));
}

const AtomOf* as_quotient(const Atoms& atoms, const Monomial& monomial) {
  if (monomial.size() != 1 || atoms[monomial[0]].var != kNoVar) return nullptr;
  return &atoms[monomial[0]];
}

}  // namespace ct
