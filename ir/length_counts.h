// Numbers of elements that are counted: of an axis of n elements no more than n are true.
#pragma once

#include "ir/builder.h"

namespace ct {

// The length that a count cannot exceed, where an integer scalar is the sum of ones and zeros that are zeros behind a
// length; else null.
Value counted_length(Value count);

}  // namespace ct
