// The reference evaluation: what every primitive means, computed the slow and readable way, one element at a time.
//
// It is derived. A primitive with an `element` rule is evaluated by running that rule on numbers (`NumberBuilder`); the
// reductions, cumulative ops, dot_general, scatters and reshape follow from their descriptors in the Primitive
// record. Only what follows from neither (control flow, callbacks) has a `reference` rule of its own. The kernels and
// the compiler are tested against this. Start at `reference_primitive`.
#pragma once

#include <vector>

#include "ir/primitive.h"
#include "runtime/tensor.h"

namespace ct {

// One ScalarOp on one dtype, through storage: `function(result, x, y)` reads and writes elements in memory (y is
// ignored by unary ops). Null when the op is not defined on the dtype.
struct ScalarFunction {
  void (*function)(void* result, const void* x, const void* y) = nullptr;
  DType result = DType::kBool;
};
ScalarFunction scalar_function(ScalarOp op, DType dtype);

// The dtype that sums, products and dot products of `dtype` accumulate in: double for real floats, complex128 for
// complex ones, integers in themselves.
DType accumulation_dtype(DType dtype);

// One equation whose primitive has no `expand` rule. `output_avals` are what its type rule says.
std::vector<Tensor> reference_primitive(const Primitive& primitive, absl::Span<const Tensor> operands,
                                        const Attrs& attrs, absl::Span<const Aval> output_avals,
                                        const RunGraph& run_graph);

}  // namespace ct
