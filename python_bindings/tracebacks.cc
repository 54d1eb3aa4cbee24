#include "python_bindings/tracebacks.h"

#include <frameobject.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/status.h"

namespace ct::python {
namespace {

bool wants_all_frames() {
  const char* value = std::getenv("CT_TRACEBACK");
  return value != nullptr && std::strcmp(value, "full") == 0;
}

bool shows_all = wants_all_frames();  // guarded by the GIL, as what follows is

bool notes_sites = false;
constexpr const char* kLeftBefore = "_left_package";
auto& sites() {
  static auto* const kept = new std::set<std::pair<std::string, int>>;
  return *kept;
}

void note_site(std::string_view file, int line) noexcept {
  if (!notes_sites) return;
  try {
    while (file.substr(0, 3) == "../") file.remove_prefix(3);
    sites().emplace(file, line);
  } catch (const std::exception&) {  // no memory: it is not noted
  }
}

PyTracebackObject* as_traceback(PyObject* object) { return reinterpret_cast<PyTracebackObject*>(object); }

bool is_own(const PyTracebackObject* entry) {
  PyCodeObject* code = PyFrame_GetCode(entry->tb_frame);
  const bool own = is_package_code(code);
  Py_DECREF(code);
  return own;
}

const PyTracebackObject* innermost(const PyTracebackObject* entry) {
  while (entry->tb_next != nullptr) entry = entry->tb_next;
  return entry;
}

void note_site(const PyTracebackObject* entry) {
  PyCodeObject* code = PyFrame_GetCode(entry->tb_frame);
  sites().emplace(py::cast<std::string>(py::handle(code->co_filename)), PyCode_Addr2Line(code, entry->tb_lasti));
  Py_DECREF(code);
}

// Whether the innermost frame is at a `raise`.
bool was_raised(const PyTracebackObject* end) {
  static const int opcode = py::cast<int>(py::module_::import("opcode").attr("opmap")["RAISE_VARARGS"]);
  PyCodeObject* code = PyFrame_GetCode(end->tb_frame);
  const auto instructions = py::reinterpret_steal<py::bytes>(PyCode_GetCode(code));
  Py_DECREF(code);
  if (!instructions) throw py::error_already_set();
  const std::string_view bytes = instructions;
  const auto at = static_cast<size_t>(end->tb_lasti);
  return end->tb_lasti >= 0 && at < bytes.size() && static_cast<unsigned char>(bytes[at]) == opcode;
}

// What nobody raises on purpose: whoever looks for the reason needs every frame.
bool is_defect(PyObject* error, const PyTracebackObject* end) {
  const auto is = [&](PyObject* type) { return PyErr_GivenExceptionMatches(error, type) != 0; };
  if (is(PyExc_AssertionError) || is(PyExc_SystemError) || is(python_exception(ErrorKind::kInternal))) return true;
  return (is(PyExc_NameError) || is(PyExc_AttributeError) || is(PyExc_KeyError)) && !was_raised(end);
}

// Unlinks the entries of this package. The first that stays is what is returned, borrowed; it may be null.
PyObject* without_own(PyObject* traceback) {
  PyTracebackObject* first = nullptr;
  PyTracebackObject* last = nullptr;
  for (PyTracebackObject* entry = as_traceback(traceback); entry != nullptr; entry = entry->tb_next) {
    if (is_own(entry)) continue;
    if (last == nullptr) {
      first = entry;
    } else if (last->tb_next != entry) {
      Py_INCREF(entry);
      Py_XSETREF(last->tb_next, entry);
    }
    last = entry;
  }
  if (last != nullptr && last->tb_next != nullptr) Py_CLEAR(last->tb_next);
  return reinterpret_cast<PyObject*>(first);
}

void shorten(PyObject* error, int depth);

// Of an error that another one came from.
void shorten_origin(PyObject* origin, int depth) {  // takes the reference
  if (origin != nullptr && origin != Py_None) shorten(origin, depth + 1);
  Py_XDECREF(origin);
}

// What functions in C say of an array that has told them, with an error of its own that they drop, why it is no number.
void explain_dropped(PyObject* error) {
  if (Py_TYPE(error) != reinterpret_cast<PyTypeObject*>(PyExc_TypeError)) return;
  py::module_::import("cotangent._asked").attr("explain_dropped")(py::handle(error));
}

void shorten(PyObject* error, int depth) {
  constexpr int kDeepest = 20;  // errors may come from each other in circles
  if (depth > kDeepest) return;
  if (depth == 0) explain_dropped(error);
  PyObject* traceback = PyException_GetTraceback(error);  // None where all frames have been taken out
  if (traceback != nullptr && PyTraceBack_Check(traceback)) {
    const PyTracebackObject* end = innermost(as_traceback(traceback));
    const bool own = is_own(end);
    if (own && notes_sites) note_site(end);
    // What has left a function of this package before was raised on purpose, though that frame is gone.
    if (!shows_all && (!(own && is_defect(error, end)) || PyObject_HasAttrString(error, kLeftBefore) != 0)) {
      if (own && PyObject_SetAttrString(error, kLeftBefore, Py_True) != 0) PyErr_Clear();
      PyObject* kept = without_own(traceback);
      PyException_SetTraceback(error, kept == nullptr ? Py_None : kept);
    }
  }
  Py_XDECREF(traceback);
  shorten_origin(PyException_GetCause(error), depth);
  shorten_origin(PyException_GetContext(error), depth);
}

}  // namespace

void note_site(const Error& error) noexcept {
  note_site(error.site().file_name(), static_cast<int>(error.site().line()));
}

void note_site(const absl::Status& status) noexcept {
  if (const auto site = site_of(status)) note_site(site->first, site->second);
}

bool has_frames_of_user(PyObject* traceback) noexcept {
  if (traceback == nullptr || !PyTraceBack_Check(traceback)) return false;
  for (PyTracebackObject* entry = as_traceback(traceback); entry != nullptr; entry = entry->tb_next) {
    if (!is_own(entry)) return true;
  }
  return false;
}

void leave_package() noexcept {
  if (shows_all && !notes_sites) return;
  PyObject* type = nullptr;
  PyObject* error = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  if (type == nullptr) return;
  PyErr_NormalizeException(&type, &error, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(error, traceback);
  try {
    shorten(error, 0);
  } catch (...) {  // it keeps its frames
  }
  Py_XDECREF(traceback);
  traceback = PyException_GetTraceback(error);
  if (traceback == Py_None) Py_CLEAR(traceback);
  PyErr_Restore(type, error, traceback);
}

void register_tracebacks(py::module_& module) {
  module.def("shorten_traceback", [](const py::object& error) { shorten(error.ptr(), 0); });
  module.def("set_full_tracebacks", [](bool full) { shows_all = full; });
  module.def("get_full_tracebacks", [] { return shows_all; });
  // Notes from here on where errors are made; what was noted so far, as files of this package and lines.
  module.def("note_error_sites", [](bool note) {
    notes_sites = note;
    return std::exchange(sites(), {});
  });
}

}  // namespace ct::python
