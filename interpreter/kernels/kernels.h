// Prebuilt kernels: the fast evaluation of the primitives that matter, compiled into the library for every dtype, so
// that eager operations and first calls never wait for a compiler.
//
// A kernel is a function from operand tensors to result tensors, found by primitive through `find_kernel` (table.cc
// lists them all). It agrees with the reference evaluation (reference.h), exactly for everything but the order and
// width in which floats are summed. A kernel may decline a case by returning false, and the reference runs instead.
#pragma once

#include "ir/primitive.h"
#include "runtime/tensor.h"

namespace ct {

struct KernelInput {
  const Primitive& primitive;
  absl::Span<const Tensor> operands;
  const Attrs& attrs;
  absl::Span<const Aval> output_avals;
  // Operands whose buffer nobody else holds may be overwritten: the evaluator has no further use for them.
  bool may_overwrite = false;
};

// Fills results[i], which start null; allocating is the kernel's business so that it can alias an operand instead.
using Kernel = bool (*)(const KernelInput& input, absl::Span<Tensor> results);

Kernel find_kernel(const Primitive& primitive);  // null: there is none

// A fresh tensor for output `output`, or the buffer of an operand that has the same bytes an element and may be
// overwritten.
Tensor elementwise_result(const KernelInput& input, int output = 0);

namespace kernels {

// elementwise.cc
bool scalar_op(const KernelInput& input, absl::Span<Tensor> results);  // any primitive with `scalar` set
bool select(const KernelInput& input, absl::Span<Tensor> results);
bool convert(const KernelInput& input, absl::Span<Tensor> results);
bool alias(const KernelInput& input, absl::Span<Tensor> results);  // reshape, bitcast and identities
bool threefry(const KernelInput& input, absl::Span<Tensor> results);
// create.cc
bool full(const KernelInput& input, absl::Span<Tensor> results);
bool iota(const KernelInput& input, absl::Span<Tensor> results);
// move.cc
bool broadcast(const KernelInput& input, absl::Span<Tensor> results);
bool transpose(const KernelInput& input, absl::Span<Tensor> results);
bool reverse(const KernelInput& input, absl::Span<Tensor> results);
bool slice(const KernelInput& input, absl::Span<Tensor> results);
bool pad(const KernelInput& input, absl::Span<Tensor> results);
bool concatenate(const KernelInput& input, absl::Span<Tensor> results);
// reduce.cc
bool reduce(const KernelInput& input, absl::Span<Tensor> results);      // of structures::Fold
bool cumulative(const KernelInput& input, absl::Span<Tensor> results);  // of structures::RunningFold
// dot.cc
bool dot_general(const KernelInput& input, absl::Span<Tensor> results);
// index.cc
bool gather(const KernelInput& input, absl::Span<Tensor> results);
bool scatter(const KernelInput& input, absl::Span<Tensor> results);  // of structures::Scatter
// windows.cc
bool dynamic_slice(const KernelInput& input, absl::Span<Tensor> results);
bool dynamic_update_slice(const KernelInput& input, absl::Span<Tensor> results);
bool window_slice(const KernelInput& input, absl::Span<Tensor> results);

}  // namespace kernels
}  // namespace ct
