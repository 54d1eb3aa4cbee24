// User locations: which line of the user's program an operation came from.
//
// A location is recorded as (code object, instruction offset), two words, and turned into file and line only when
// somebody asks. Code objects seen once are kept alive for good, so that the pair stays meaningful.
#include <unordered_map>

#include "python_bindings/python.h"

namespace ct::python {
namespace {

std::string package_directory;  // frames below it are ours

// Whether a code object belongs to this package, remembered by code object.
bool is_internal(PyCodeObject* code) {
  static auto* known = new std::unordered_map<PyCodeObject*, bool>;
  auto [it, inserted] = known->try_emplace(code, false);
  if (inserted) {
    Py_INCREF(code);
    Py_ssize_t length = 0;
    const char* file = PyUnicode_AsUTF8AndSize(code->co_filename, &length);
    if (file == nullptr) PyErr_Clear();
    it->second =
        file != nullptr && !package_directory.empty() &&
        std::string_view(file, static_cast<size_t>(length)).substr(0, package_directory.size()) == package_directory;
  }
  return it->second;
}

SourceLocation resolve(const void* code_pointer, int instruction) {
  py::gil_scoped_acquire gil;
  auto* code = reinterpret_cast<PyCodeObject*>(const_cast<void*>(code_pointer));
  SourceLocation location;
  location.file = py::cast<std::string>(py::handle(code->co_filename));
  location.line = PyCode_Addr2Line(code, instruction);
  location.function = py::cast<std::string>(py::handle(code->co_name));
  return location;
}

}  // namespace

LocationId user_location() { return current_capture() ? calling_location() : kNoLocation; }

LocationId calling_location() {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  LocationId location = kNoLocation;
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const bool internal = is_internal(code);
    if (!internal) location = intern_location(code, PyFrame_GetLasti(frame));
    Py_DECREF(code);
    if (!internal) break;
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return location;
}

void register_locations(py::module_& module) {
  set_location_resolver(resolve);
  module.def("set_package_directory", [](std::string path) { package_directory = std::move(path); });
}

}  // namespace ct::python
