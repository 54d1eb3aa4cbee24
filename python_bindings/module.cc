// The extension module `cotangent._core`.
#include <algorithm>
#include <cstdlib>

#include "jit/llvm/warm_up.h"
#include "python_bindings/checked.h"
#include "python_bindings/functions.h"
#include "python_bindings/placement.h"
#include "python_bindings/primitive_functions.h"
#include "python_bindings/python.h"
#include "python_bindings/tracebacks.h"
#include "python_bindings/user_calls.h"
#include "runtime/process.h"

namespace ct::python {
namespace {

// The first two protocols of pickle make an object of the class that those of pybind11 derive from. There is none, and
// the exception that says so ends the process. Whoever asks for them gets the third, which all versions of Python read.
void pickle_by_later_protocols(py::module_& module) {
  PyObject* base = py::detail::get_internals().instance_base;
  const py::object reduce = py::module_::import("builtins").attr("object").attr("__reduce_ex__");
  for (const auto& [name, value] : py::dict(module.attr("__dict__"))) {
    if (PyType_Check(value.ptr()) == 0 || PyObject_IsSubclass(value.ptr(), base) != 1) continue;
    value.attr("__reduce_ex__") =
        py::cpp_function([reduce](const py::object& self, int protocol) { return reduce(self, std::max(protocol, 2)); },
                         py::name("__reduce_ex__"), py::is_method(value));
  }
}

}  // namespace
}  // namespace ct::python

PYBIND11_MODULE(_core, module) {
  using namespace ct::python;
  ct::jit::start_warm_up();
  // Before what static objects hold is destroyed: those that LLVM makes when it first needs them go first of all, so
  // that it has to be when Python's end is done with. The other is for programs that end without that.
  Py_AtExit(ct::end_all_work);
  std::atexit(ct::end_all_work);
  module.doc() = "The compiled core of cotangent: arrays, capture, transforms, compiler.";
  register_python();
  register_errors(module);
  register_locations(module);
  register_tracebacks(module);
  register_dtypes(module);
  register_array(module);
  register_views(module);
  register_conversions(module);
  register_bind(module);
  register_functions(module);
  register_primitive_functions(module);
  register_entrances(module);
  register_checked(module);
  register_placement(module);
  register_user_calls(module);
  register_tree(module);
  register_graph(module);
  register_primitives(module);
  register_jit(module);
  register_profile(module);
  register_export(module);
  pickle_by_later_protocols(module);
}
