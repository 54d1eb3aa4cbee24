// How long products take, in nanoseconds: of plans, and of the equations that they would replace, by the same figures.
#pragma once

#include <algorithm>

#include "runtime/processor.h"

namespace ct::contraction {

// A pass over memory, a byte (measured on programs of this kind).
inline constexpr double kByte = 0.08;

// A matrix and a vector: nothing is used twice, so that bytes count that are `moved`.
inline double vector_product_time(double multiply_adds, double moved, DType dtype) {
  return std::max(multiply_adds * 6 * kProcessor.multiply_add(dtype), moved * kByte);
}

// Two matrices. A product whose least side is s takes (s + 6) / s of the time that its multiplications would.
inline double matrix_product_time(double multiply_adds, double least, double stored, DType dtype) {
  return multiply_adds * kProcessor.multiply_add(dtype) * (least + 6) / least + stored * kByte;
}

}  // namespace ct::contraction
