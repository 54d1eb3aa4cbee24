// Libraries that primitives run on the host: where LAPACK is looked for, and NumPy's Fourier transforms.
#include "ir/ops/fft.h"
#include "python_bindings/gil.h"
#include "python_bindings/python.h"
#include "runtime/lapack.h"
#include "runtime/pool.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

// The tensor's own memory as a NumPy array; not to be kept.
py::array view(const Tensor& tensor, bool writable) {
  const Shape& shape = tensor.shape();
  py::array array(py::reinterpret_borrow<py::dtype>(numpy_dtype(tensor.dtype())),
                  std::vector<py::ssize_t>(shape.begin(), shape.end()), tensor.data(), py::none());
  if (!writable) array.attr("setflags")(py::arg("write") = false);
  return array;
}

void transform(const FftCall& call) {
  const WithInterpreter gil;
  // Imported when first needed: importing the package must stay quick.
  py::module_::import("cotangent._base.fourier")
      .attr("transform")(call.kind, view(call.operand, false), py::cast(Ints(call.lengths.begin(), call.lengths.end())),
                         view(call.result, true));
}

}  // namespace

void register_libraries(py::module_& module) {
  module.def("set_library_directory", &lapack::set_library_directory);
  lapack::set_thread_limit(threads);
  set_fft_engine(transform);
}

}  // namespace ct::python
