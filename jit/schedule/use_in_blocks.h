// What a product makes is used where it is made: the other direction of schedule/gather_in_blocks.h. The derivative of
// a convolution by its input is a product, of every output's cotangent and the filters, and then for each element of
// the input a sum over the windows that saw it. The array between them is many times as large as either, and goes
// through memory twice. So the product is made for some features of an example at a time, and what these are added to
// at once.
//
//   for each example: product[feature, ...] = a @ b        for each example, block of features:
//   for each example, feature: sum over product        ->    block = a @ b[features]
//                                                             for each feature of the block: sum over block
#pragma once

#include "jit/loop/loop.h"

namespace ct::jit {

void use_in_blocks(loop::Program& program);

}  // namespace ct::jit
