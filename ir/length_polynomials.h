// Polynomials with integer coefficients in atoms, of which lengths as expressions are made (length_form.h).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ir/graph.h"

namespace ct {

using Atom = size_t;
using Monomial = std::vector<Atom>;              // sorted; empty: the number 1
using Polynomial = std::map<Monomial, int64_t>;  // no coefficient is 0

using Smallest = std::vector<Polynomial>;  // of these
using Form = std::vector<Smallest>;        // the largest of these

// None is negative. An integer that may be is its positive part less its negative part.
enum class Part { kWhole, kPositive, kNegative };
struct AtomOf {
  Var var = kNoVar;     // or, where there is none, the quotient, rounded down:
  Polynomial dividend;  // never negative
  int64_t divisor = 1;
  Part part = Part::kWhole;  // of the variable
};
using Atoms = std::vector<AtomOf>;

Polynomial number(int64_t value);
void add_term(Polynomial& sum, const Monomial& monomial, int64_t coefficient);
Polynomial sum_of(const Polynomial& x, const Polynomial& y);
Polynomial scaled(const Polynomial& x, int64_t factor);
Polynomial product_of(const Polynomial& x, const Polynomial& y);

// Whether that is seen from the signs of the coefficients, with quotients taken for what they round.
bool never_negative(const Atoms& atoms, const Polynomial& x);

// The atom of a monomial that is only a quotient; else null.
const AtomOf* as_quotient(const Atoms& atoms, const Monomial& monomial);

}  // namespace ct
