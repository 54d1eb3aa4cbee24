// What the engine takes from Python: places in its code, its signals, NumPy's OpenBLAS and Fourier transforms.
#include "runtime/runtime.h"

#include <filesystem>

#include "python_bindings/gil.h"
#include "python_bindings/python.h"
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

void transform(const FourierCall& call) {
  const WithInterpreter gil;
  // Imported when first needed: importing the package must stay quick.
  py::module_::import("cotangent._base.fourier")
      .attr("transform")(call.kind, view(call.operand, false), py::cast(Ints(call.lengths.begin(), call.lengths.end())),
                         view(call.result, true));
}

// Where NumPy's wheels keep OpenBLAS.
std::string numpy_libraries() {
  const std::string file = py::cast<std::string>(py::module_::import("numpy").attr("__file__"));
  return (std::filesystem::path(file).parent_path().parent_path() / "numpy.libs").string();
}

std::vector<std::string> package_directories() {
  std::vector<std::string> all;
  for (const py::handle entry : py::module_::import("sys").attr("path")) {
    if (py::isinstance<py::str>(entry) && py::len(entry) > 0) all.push_back(py::cast<std::string>(entry));
  }
  return all;
}

}  // namespace

void register_python() {
  register_runtime({locate, interrupt_hooks(), transform, numpy_libraries(), package_directories()});
}

}  // namespace ct::python
