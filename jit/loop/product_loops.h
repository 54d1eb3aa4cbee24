// Matrix products as loops: of integers, of few complex numbers, and for targets whose programs are loops only.
#pragma once

#include "jit/loop/loop.h"

namespace ct::loop {

// c = a b, or c += a b. Strides are in whole elements, of complex numbers too.
void product_loops(Builder& builder, int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, const Matrix& c,
                   bool accumulate);

}  // namespace ct::loop
