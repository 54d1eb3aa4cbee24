// Python objects as attributes of equations. One object makes one attribute, so that graphs captured at different times
// with the same function are equal.
#pragma once

#include "python_bindings/python.h"
#include "transforms/higher_order/custom_rule.h"
#include "transforms/higher_order/custom_vmap.h"
#include "transforms/higher_order/host_callback.h"

namespace ct::python {

// A value that a user's function returned, as a tensor of the type it was to have: the shape must be that, the kind of
// dtype too (but for Python numbers), widths are converted. `what` begins the message of the error, `says` names who
// said what it should be.
Tensor result_tensor(py::handle value, const Aval& expected, const std::string& what, const std::string& says);

class PythonObject final : public HostCallable, public BatchMaker, public RuleMaker {
 public:
  static std::shared_ptr<const PythonObject> of(py::handle object);
  ~PythonObject() override;
  PythonObject(const PythonObject&) = delete;
  PythonObject& operator=(const PythonObject&) = delete;

  py::object object() const { return object_; }
  std::string to_string() const override;
  // object([operands as NumPy arrays]) -> one array-like for each result. Takes the GIL.
  std::vector<Tensor> call(absl::Span<const Tensor> operands, absl::Span<const Aval> results) const override;
  // object(size, [whether an operand is batched], [(shape, dtype, weak)]) -> (Graph, [whether a result is batched]).
  BatchGraph make(int64_t size, const Flags& batched, const Avals& operands) const override;
  // object([whether an operand is differentiated]) -> Graph.
  GraphPtr make(const Flags& moving) const override;

 private:
  explicit PythonObject(py::object object) : object_(std::move(object)) {}
  py::object object_;
};

}  // namespace ct::python
