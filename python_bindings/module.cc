// The extension module `cotangent._core`.
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
}
