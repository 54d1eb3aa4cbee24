// A length as an expression, so that lengths that were worked out in different ways are found to be equal.
//
// n - 1, max(n + -1, 0) and the length of x[1:][:n - 1] are different equations. Read as an expression, a length is the
// largest of smallest of polynomials in atoms with integer coefficients: sums, products, quotients by constants, max
// and min all have that form. Atoms are what no rule looks into: inputs, results of other equations, and rounded
// quotients of polynomials. None is negative, which lets max(n, 0) be n: an integer that may be is a difference of two.
//
// Two expressions are equal when each is found to be at most the other. The test is sound and not complete: what it
// cannot tell counts as different, which is an error message and never a wrong result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "ir/builder.h"

namespace ct {

// An integer scalar of a width that lengths are worked out in: as int32, or as the integers that a program makes of
// sizes.
bool is_length_type(const Aval& aval);

// Whether the results of the primitive are lengths as expressions of operands that are: numbers, sums, products and so
// on; and whether the equation has such operands, too.
bool computes_lengths(const Primitive& primitive);
bool computes_length(const Builder& builder, const Equation& equation);

// Whether two int32 scalars of one builder are the same number for all sizes.
bool same_length(Value x, Value y);

// The number that a length is for all sizes.
std::optional<int64_t> constant_of_length(Value x);

// Between which numbers a length lies, from what is known of the values that it is made of (null: anything from 0 on).
struct Range {
  int64_t least;
  int64_t most;
};
using RangeOf = std::function<std::optional<Range>(Var)>;
Range range_of_length(Value x, const RangeOf& of_atom);

// x / divisor where x is a multiple of it for all sizes, as new equations; else null.
Value exact_quotient(Value x, int64_t divisor);

}  // namespace ct
