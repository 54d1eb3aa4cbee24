// Linear inequalities of integers that are not negative.
#pragma once

#include <cstdint>
#include <vector>

namespace ct {

// coefficients[i] * x[i] + … + constant >= 0, for x[i] >= 0.
struct Inequality {
  std::vector<int64_t> coefficients;
  int64_t constant = 0;
};

// Whether no integers satisfy all of them, found by eliminating one unknown after the other (Fourier and Motzkin).
// Sound and not complete: what rationals satisfy, and what takes too many steps, counts as possible.
bool impossible(const std::vector<Inequality>& all);

}  // namespace ct
