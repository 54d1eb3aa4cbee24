// What the expand rules of factorisations are written with: loops over columns, loops that end by what they compute,
// and parts of matrices. Every function works on all matrices of a batch.
#pragma once

#include <functional>

#include "ir/ops/linalg/matrices.h"

namespace ct::linalg {

// Of Jacobi's methods, which are done after 9 for hundreds of columns. So many whatever the matrix, so that nobody has
// to wait for what a step finds.
inline constexpr int64_t kSweeps = 12;

// ---- A loop over columns ------------------------------------------------------------------------------------------

struct Step {
  Values carries, slices;
};
// Given the column's number, an int32 scalar.
using StepRule = std::function<Step(Builder& builder, Value column, const Values& constants, const Values& carries)>;

// The last carries, then what each step made, stacked at axis 0.
Values column_loop(Builder& builder, const Values& constants, const Values& carries, int64_t steps, bool reverse,
                   const StepRule& step);

// ---- Loops that end by what they compute --------------------------------------------------------------------------

// A bool scalar.
using ConditionRule = std::function<Value(Builder& builder, const Values& carries)>;
using BodyRule = std::function<Values(Builder& builder, const Values& constants, const Values& carries)>;

// The last carries.
Values loop_while(Builder& builder, const Values& constants, const Values& carries, const ConditionRule& condition,
                  const BodyRule& body);

// ---- Parts of matrices --------------------------------------------------------------------------------------------

int64_t rows_of(Value a);
int64_t columns_of(Value a);
Value part(Value a, Value index,
           int from_end);                 // at position `index`, an int32 scalar, of an axis counted from the end
Value spread(Value numbers, Value like);  // a number for each matrix, as equal elements of vectors or matrices
Value positions(Value like, int from_end);
Value equal_to(Value like, Value scalar);
Value zero_unless(Value condition, Value x);
Value outer(Value column, Value row, Value like);
Value identity_like(Value a);
// True for the leading part of matrices with these real sizes.
Value is_inside(Value a, Value rows, Value columns);
Value embedded(Value a, Value size);  // the operand with the identity around its real part; null is the whole
Value size_operand(absl::Span<const Value> operands, size_t index);
Value bind_triangular(const Values& operands, const Triangular& system);

// ---- Numbers ------------------------------------------------------------------------------------------------------

Value conjugated(Value x);
Value real_part(Value x);
Value squared_size(Value x);
Value largest_part(Value x);   // the larger of the sizes of real and imaginary part
Value pivot_size(Value x);     // LAPACK's measure of a pivot; NaN is the smallest
double precision_of(Value x);  // the distance of 1 to the next number
Value poison_of(Value a);      // for each matrix 0, or NaN where an element is no finite number
Value with_poison(Value x, Value poison);

// Matrices divided by powers of two so that their largest elements are about 1; zeros for those with poison.
struct PowerScaled {
  Value a, scale, poison;
};
PowerScaled scaled_to_one(Value a);

}  // namespace ct::linalg
