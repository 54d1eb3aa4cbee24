// Whether one length is at most another for all sizes, where the signs of coefficients do not tell: n is at most
// min(1, n) + max(n - 1, 0), whichever is the smaller and the larger there.
#pragma once

#include <functional>
#include <optional>

#include "ir/length_polynomials.h"

namespace ct {

// The most that a variable is (null: not known).
using MostOf = std::function<std::optional<int64_t>(Var)>;

// Sound, and complete for sums, differences, products by numbers, minima and maxima but for what holds for integers
// only; with quotients of those, too, where there are few.
bool at_most_in_all_cases(const Atoms& atoms, const MostOf& most_of, const Form& x, const Form& y);

}  // namespace ct
