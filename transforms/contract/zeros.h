// Products in which an exact zero wins over infinity and NaN (ir/ops/no_nan.cc), as sums of products: factors are
// cleared of what is not finite, and the result is no number where that stood beside what was not zero. With m cleared
// as m',
//
//   sum_ij a[b,i] m[i,j] d[b,j]  =  sum_ij a[b,i] m'[i,j] d[b,j],  NaN where sum_ij (a != 0) (m is not finite) (d != 0)
//   > 0
//
// The second sum is made only when something is not finite, which a look at the factors tells.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/terms.h"
#include "transforms/contract/emit.h"
#include "transforms/contract/plan.h"

namespace ct::contraction {

// What counts, for each element of the sum, what is not finite and that zeros have not won over. Nothing where none of
// its terms needs it; none where there is no plan.
std::optional<std::vector<Plan>> plans_of_not_finite(terms::Context& context, const terms::Sum& sum, DType dtype);

// `value` with NaN, or infinity in a square, where these count something. `variable`: as an emitter has it, in the
// program of the value.
Value with_not_finite(Value value, const std::vector<Plan>& counts, bool is_square, const terms::Context& context,
                      Precision precision, const std::function<Value(Var)>& variable);

}  // namespace ct::contraction
