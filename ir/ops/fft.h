// Who computes discrete Fourier transforms: the front end registers a library (the Python package: NumPy's pocketfft).
// docs/design/012-fft.md says why.
#pragma once

#include <functional>
#include <string>

#include "absl/types/span.h"
#include "ir/builder.h"
#include "runtime/tensor.h"

namespace ct {

// fft_expand.cc: the expand rule of the primitive, for programs that have no such library.
Values fft_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs);

struct FftCall {
  const std::string& kind;  // "fft", "ifft", "rfft", "irfft"
  const Tensor& operand;
  absl::Span<const int64_t> lengths;  // of the last axes: of the time domain
  const Tensor& result;               // to be written
};
using FftEngine = std::function<void(const FftCall& call)>;

// Replaces the engine; to be called before the first transform.
void set_fft_engine(FftEngine engine);

}  // namespace ct
