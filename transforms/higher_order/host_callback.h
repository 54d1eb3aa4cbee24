// host_callback: a function of the front end (Python), called with the values of its operands while a program runs. The
// one primitive of pure_callback, io_callback, debug.callback and debug.print.
#pragma once

#include <vector>

#include "ir/builder.h"
#include "runtime/tensor.h"

namespace ct {

// What a host_callback equation calls. `call` may run on any thread; what it throws ends the program.
class HostCallable : public Opaque {
 public:
  virtual std::vector<Tensor> call(absl::Span<const Tensor> operands, absl::Span<const Aval> results) const = 0;
};

// The first elements along each axis, as many as `shape` says, in memory of their own.
Tensor leading_part(const Tensor& x, const Shape& shape);

}  // namespace ct
