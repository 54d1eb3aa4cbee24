// User locations: which line of the user's program an operation came from.
//
// A location is recorded as (code object, instruction offset), two words, and turned into file and line only when
// somebody asks. Code objects seen once are kept alive for good, so that the pair stays meaningful.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python_bindings/gil.h"
#include "python_bindings/python.h"

namespace ct::python {
namespace {

std::string package_directory;  // frames below it are ours
// Whether equations are given the user's line; a graph that serves many lines has none.
thread_local bool notes_locations = true;

bool is_own(std::string_view file) { return !package_directory.empty() && file.starts_with(package_directory); }

// Where Python's own library and its scripts are: nobody's program.
std::vector<std::string> installed_directories;

// Written by somebody else than whoever runs the program: a package that is installed, and Python's own library.
bool is_installed(std::string_view file) {
  if (file.find("-packages/") != std::string_view::npos || file.starts_with("<frozen ") || file.ends_with(".pyx")) {
    return true;
  }
  return std::any_of(installed_directories.begin(), installed_directories.end(),
                     [&](const std::string& directory) { return file.starts_with(directory); });
}

// This package, and those that call it on behalf of the user's line: NumPy by its dispatch, and others that ask an
// array for its elements.
bool is_library(std::string_view file) {
  if (is_own(file)) return true;
  const size_t packages = file.find("-packages/");
  if (packages == std::string_view::npos) return false;
  const std::string_view rest = file.substr(packages + std::string_view("-packages/").size());
  for (const std::string_view library : {"numpy/", "scipy/", "torch/"}) {
    if (rest.substr(0, library.size()) == library) return true;
  }
  return false;
}

enum class Author : uint8_t {
  kUser,
  kInstalled,  // a package that is installed, whose functions are as good as the user's, and whose lines are not
  kLibrary,    // this package, or such another one
  kDelegate,   // of this package, and does no more than to call the function that an operator or method stands for
};

// Whether a line of it is a line of the program: operations come from there, and arrays there are exact.
bool is_program(Author author) { return author == Author::kUser || author == Author::kInstalled; }

bool is_delegate(std::string_view file) {
  if (!is_own(file)) return false;
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return name == "_array_methods.py" || name == "_array_shapes.py" || name == "_numpy_dispatch.py" ||
         name == "boundary.py";
}

// Whose a code object is, remembered by code object. Code objects asked about are kept alive.
Author author_of(PyCodeObject* code) {
  static auto* known = new std::unordered_map<PyCodeObject*, Author>;
  auto [it, inserted] = known->try_emplace(code, Author::kUser);
  if (inserted) {
    Py_INCREF(code);
    Py_ssize_t length = 0;
    const char* file = PyUnicode_AsUTF8AndSize(code->co_filename, &length);
    if (file == nullptr) PyErr_Clear();
    if (file != nullptr) {
      const std::string_view path(file, static_cast<size_t>(length));
      it->second = is_delegate(path)    ? Author::kDelegate
                   : is_library(path)   ? Author::kLibrary
                   : is_installed(path) ? Author::kInstalled
                                        : Author::kUser;
    }
  }
  return it->second;
}

// The places that operations came from lately: a loop comes by the same ones again and again.
struct Recent {
  PyCodeObject* code;
  int instruction;
  LocationId location;  // of code of the program
  Author author;
};
constexpr size_t kRecent = 256;

const Recent& recent_place(PyFrameObject* frame) {
  static auto* recent = new std::array<Recent, kRecent>{};  // guarded by the GIL
  PyCodeObject* code = PyFrame_GetCode(frame);
  const int instruction = PyFrame_GetLasti(frame);
  Recent& slot =
      (*recent)[(reinterpret_cast<uintptr_t>(code) / 64 * 31 + static_cast<uintptr_t>(instruction)) % kRecent];
  if (slot.code != code || slot.instruction != instruction) {
    const Author author = author_of(code);
    slot = {code, instruction, is_program(author) ? intern_location(code, instruction) : kNoLocation, author};
  }
  Py_DECREF(code);
  return slot;
}

// The file of a code object, as the user knows it: a cell of a notebook is no file.
std::string file_as_known(py::handle name) {
  const auto file = py::cast<std::string>(name);
  if (file.find("ipykernel_") == std::string::npos && !file.starts_with("<ipython-input-")) return file;
  return py::cast<std::string>(py::module_::import("cotangent._base.messages").attr("cell_name")(name));
}

}  // namespace

SourceLocation locate(const void* code_pointer, int instruction) {
  const WithInterpreter gil;
  auto* code = reinterpret_cast<PyCodeObject*>(const_cast<void*>(code_pointer));
  SourceLocation location;
  location.file = file_as_known(py::handle(code->co_filename));
  location.line = PyCode_Addr2Line(code, instruction);
  location.function = py::cast<std::string>(py::handle(code->co_name));
  return location;
}

LocationId user_location() {
  return innermost_capture() != nullptr && notes_locations ? calling_location() : kNoLocation;
}

bool called_by_user(int skipped) {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  for (; skipped > 0 && frame != nullptr; --skipped) {
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Author author = Author::kLibrary;
  while (frame != nullptr) {
    author = recent_place(frame).author;
    PyFrameObject* back = author == Author::kDelegate ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    frame = back;
  }
  return is_program(author);
}

bool written_by_user(py::handle function) {
  py::object inner = py::reinterpret_borrow<py::object>(function);
  for (const char* name : {"func", "__wrapped__"}) {
    while (py::hasattr(inner, name)) inner = inner.attr(name);
  }
  if (!py::hasattr(inner, "__code__") && PyCallable_Check(inner.ptr()) != 0) {
    inner = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(Py_TYPE(inner.ptr()))).attr("__call__");
  }
  const py::object code = py::getattr(inner, "__code__", py::none());
  return PyCode_Check(code.ptr()) && is_program(author_of(reinterpret_cast<PyCodeObject*>(code.ptr())));
}

bool is_package_code(PyCodeObject* code) {
  Py_ssize_t length = 0;
  const char* file = PyUnicode_AsUTF8AndSize(code->co_filename, &length);
  if (file == nullptr) PyErr_Clear();
  return file != nullptr && is_own(std::string_view(file, static_cast<size_t>(length)));
}

LocationId calling_location() {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  LocationId location = kNoLocation;
  while (frame != nullptr && location == kNoLocation) {
    location = recent_place(frame).location;
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return location;
}

LocationId users_location() {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  LocationId installed = kNoLocation, users = kNoLocation;
  while (frame != nullptr && users == kNoLocation) {
    const Recent& place = recent_place(frame);
    if (place.author == Author::kUser) users = place.location;
    if (place.author == Author::kInstalled && installed == kNoLocation) installed = place.location;
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return users == kNoLocation ? installed : users;
}

LocationId asking_location() {
  return innermost_capture() != nullptr && notes_locations ? users_location() : kNoLocation;
}

void register_locations(py::module_& module) {
  // Whether this thread's captures have locations from here on; whether they had.
  module.def("note_locations", [](bool note) { return std::exchange(notes_locations, note); });
  module.def("called_by_user", called_by_user);
  module.def("written_by_user", written_by_user);
  module.def("calling_place", [] { return location_string(users_location()); });
  module.def("author_of", [](py::handle code) -> std::string_view {
    switch (author_of(reinterpret_cast<PyCodeObject*>(code.ptr()))) {
      case Author::kUser:
        return "user";
      case Author::kInstalled:
        return "installed";
      case Author::kLibrary:
      case Author::kDelegate:
        return is_package_code(reinterpret_cast<PyCodeObject*>(code.ptr())) ? "package" : "library";
    }
    return "";
  });
  module.def("set_package_directory", [](std::string path) { package_directory = std::move(path); });
  module.def("set_installed_directories",
             [](std::vector<std::string> paths) { installed_directories = std::move(paths); });
}

}  // namespace ct::python
