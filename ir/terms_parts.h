// What the pass and the sums themselves ask of terms: sets of indices, concatenations of concatenations as one, sizes
// of coefficients.
#pragma once

#include <algorithm>

#include "ir/terms.h"

namespace ct::terms {

inline bool contains(const Indices& indices, Index index) { return std::ranges::find(indices, index) != indices.end(); }

// Whether a part is a whole concatenation along the axis of the one that it is a part of.
bool is_concatenated_further(const Part& part, const Leaf& leaf_of_part);
// A part of that one as a part of the outer one.
Part part_of_part(const Part& part, const Part& inner);

// The power of two in a coefficient; 0 for that of nothing.
int exponent_of(long double coefficient);

}  // namespace ct::terms
