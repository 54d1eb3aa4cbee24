// The interface in which a primitive says what ONE element of its result is.
//
// An element rule receives the position of the output element (one Index an axis) and returns a Scalar made of reads
// of operands at computed positions and ScalarOps. Two implementations give it meaning: the reference evaluator
// runs it on numbers, one element at a time; the compiler runs it once against loop IR, where chains of element
// rules become fused, vectorised loops. Index arithmetic is affine where it can be, so that the compiler sees strides.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "ir/scalar_op.h"
#include "runtime/aval.h"

namespace ct {

// Handles into the ElementBuilder that made them.
struct Scalar {
  uint32_t id = 0;
  DType dtype = DType::kBool;
};
struct Index {
  uint32_t id = 0;
};
using Indices = absl::InlinedVector<Index, 6>;

class ElementBuilder {
 public:
  virtual ~ElementBuilder() = default;

  // The element of operand `operand` at a position inside its shape (positions outside are undefined behaviour:
  // clamp, or guard with `read_guarded`).
  virtual Scalar read(int operand, absl::Span<const Index> position) = 0;
  // The element where `inside` holds; `otherwise` elsewhere, and then nothing is read.
  virtual Scalar read_guarded(int operand, absl::Span<const Index> position, Scalar inside, Scalar otherwise) = 0;
  virtual const Aval& operand_aval(int operand) const = 0;

  virtual Scalar constant(DType dtype, double value) = 0;
  virtual Scalar constant_integer(DType dtype, int64_t value) = 0;
  virtual Scalar constant_complex(DType dtype, double real, double imag) = 0;
  virtual Scalar unary(ScalarOp op, Scalar x) = 0;
  virtual Scalar binary(ScalarOp op, Scalar x, Scalar y) = 0;  // x and y of one dtype
  virtual Scalar select(Scalar predicate, Scalar if_true, Scalar if_false) = 0;
  virtual Scalar convert(Scalar x, DType dtype) = 0;
  virtual Scalar bitcast(Scalar x, DType dtype) = 0;  // between dtypes of one size

  virtual Index index_constant(int64_t value) = 0;
  virtual Index index_add(Index x, Index y) = 0;
  virtual Index index_scale(Index x, int64_t factor) = 0;
  virtual Index index_div(Index x, int64_t divisor) = 0;  // x >= 0, divisor > 0
  virtual Index index_mod(Index x, int64_t divisor) = 0;
  virtual Index index_from(Scalar integer) = 0;
  virtual Scalar index_value(Index x, DType dtype) = 0;

  Index index_offset(Index x, int64_t offset) { return offset == 0 ? x : index_add(x, index_constant(offset)); }
  // low <= x < high
  virtual Scalar in_range(Index x, int64_t low, int64_t high) {
    const Scalar value = index_value(x, DType::kInt64);
    return binary(ScalarOp::kAnd, binary(ScalarOp::kGe, value, constant_integer(DType::kInt64, low)),
                  binary(ScalarOp::kLt, value, constant_integer(DType::kInt64, high)));
  }
};

}  // namespace ct
