// One-hot arrays of equal integers over fewer values. A gradient of an embedding is 1[b,t,v] d[b,t,e], with an index v
// over the whole table; what is made of it where the integers of all one-hot factors are the same needs those values
// only that an example names: an index u over their places in the example, of which equal integers share the first one.
//
//   1[b,t,v] 1[b,s,v]  =  1'[b,t,u] 1'[b,s,u] 1"[b,u,v]
//
// 1' compares with the place of the first equal integer, 1" the distinct integers with values; without v elsewhere, 1"
// is left out. So sums of equal integers are made whole before they are squared, in memory of what names them.
#pragma once

#include <optional>

#include "ir/ops.h"
#include "ir/terms.h"

namespace ct::contraction {

struct OverDistinct {
  terms::Term term;
  double comparisons = 0;  // of integers with each other
};

// None where no index of the term becomes shorter.
std::optional<OverDistinct> over_distinct(terms::Context& context, const terms::Term& term);

// The leaves that it makes, of integers in the shape of the leaf's part.
Value places_of_first(const terms::Leaf& leaf, Value integers);
Value distinct_integers(const terms::Leaf& leaf, Value integers);
Value counts_of_equal(const terms::Leaf& leaf, Value integers, DType dtype);

}  // namespace ct::contraction
