// custom_vmap: a function with a batch rule of the program's own, which is a call with an attribute "rule". The rule is
// asked for a program when the equation is batched, with what is then known: the size, and which operands are batched.
//
// Forward mode keeps the rule: its derivative is the derivative of the program that it makes. Reverse mode goes inside
// the function: whoever wants the rule there batches first.
#pragma once

#include <vector>

#include "ir/primitive.h"
#include "transforms/higher_order/subgraphs.h"

namespace ct {

// What the attribute "rule" of a call holds: makes the program for a batch when one is wanted. The front end's are
// Python functions.
class BatchMaker {
 public:
  virtual ~BatchMaker() = default;
  // `operands`: with the batch dimension in front where `batched`. The result's out_axes are 0 and -1.
  virtual BatchGraph make(int64_t size, const Flags& batched, const Avals& operands) const = 0;
};

// The rule as a maker; an Error when it is none.
const BatchMaker& maker_of(const OpaquePtr& rule);
// The rule of the derivative: operands are primals, then the tangents in `moving`; results are the function's, then
// those tangents of them that `nonzero_out` marks.
OpaquePtr derived_rule(const OpaquePtr& rule, const Flags& moving, const Flags& nonzero_out);
std::vector<Batched> batch_by_rule(Builder& builder, const OpaquePtr& rule, absl::Span<const Batched> operands,
                                   const BatchAxis& axis);

}  // namespace ct
