// The steps of a loop, backwards, when only their number and the first carries are known: carries of earlier steps are
// made again from a fixed number of kept ones. docs/design/017-reverse-while.md has the reasons and the cost.
//
// Start with `steps_back`; the state of its loop is described in while_reverse.cc.
#pragma once

#include "ir/builder.h"

namespace ct {

// How many carries are kept at a time, the first included.
inline constexpr int64_t kKeptCarries = 32;

struct StepsBack {
  GraphPtr forward;   // constants, carries -> the next carries
  GraphPtr backward;  // constants, carries, cotangents of the step's results -> terms of the sums, cotangents
  size_t num_sums = 0;
};
// From the last step to the first. `cotangents`: first values of the sums, then the cotangents of the last results.
// Returns what has become of them.
Values steps_back(Builder& builder, const StepsBack& steps, Value number, absl::Span<const Value> constants,
                  absl::Span<const Value> carries, absl::Span<const Value> cotangents);

}  // namespace ct
