// How the floats narrower than float32 lie in their bits.
#pragma once

#include "runtime/dtype.h"
#include "runtime/float_types.h"

namespace ct::loop {

// Of those that have a mantissa.
struct FloatLayout {
  int bits;
  int mantissa;   // explicit bits
  int least;      // exponent of the smallest normal number
  float largest;  // finite
  Specials specials = Specials::kInfinities;
};

FloatLayout float_layout(DType dtype);

}  // namespace ct::loop
