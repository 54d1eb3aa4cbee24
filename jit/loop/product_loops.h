// Matrix products as loops: of integers, of few complex numbers, and for targets whose programs are loops only.
#pragma once

#include "jit/loop/loop.h"

namespace ct::loop {

// Strides are in whole elements, of complex numbers too.
void product_loops(Builder& builder, const Gemm& gemm);

}  // namespace ct::loop
