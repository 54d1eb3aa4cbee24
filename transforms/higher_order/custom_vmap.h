// custom_vmap: a function with a batch rule of the program's own.
#pragma once

#include <vector>

#include "transforms/higher_order/subgraphs.h"

namespace ct {

// What the attribute "rule" of a custom_vmap equation holds: makes the program for a batch when one is wanted. The
// front end's are Python functions.
class BatchMaker {
 public:
  virtual ~BatchMaker() = default;
  // `operands`: with the batch dimension in front where `batched`. The result's out_axes are 0 and -1.
  virtual BatchGraph make(int64_t size, const Flags& batched, const Avals& operands) const = 0;
};

}  // namespace ct
