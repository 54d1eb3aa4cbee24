// What is known of integers: the ranges that follow from how a value is made. A pass may know more, or less, of one.
#pragma once

#include "jit/loop/loop.h"

namespace ct::loop {

// Of every value of the dtype; of 64 bits and of floats, nothing.
Range dtype_range(DType dtype);

// Of what an instruction defines, by the ranges of its operands.
Range result_range(const Program& program, const Statement& s);

// Of the variable of a loop.
Range variable_range(const Program& program, const Index& extent);

}  // namespace ct::loop
