// Between which numbers the elements of an integer array lie, whatever the inputs are: what makes a value that a
// program computes, a count of what is true, say, usable as a size, for which a bound must be known.
#pragma once

#include <limits>
#include <optional>

#include "ir/length_form.h"

namespace ct {

// Null where the program does not say.
std::optional<Range> range_of(Value x);

// The same of an integer that need not be a length: lengths, and what they are computed from, are never negative.
std::optional<Range> range_of_integer(Value x);
// Whether that is known.
bool never_negative(Value x);
// A range that begins here may begin anywhere below.
inline constexpr int64_t kLeastKnown = -int64_t{std::numeric_limits<int32_t>::max()};

}  // namespace ct
