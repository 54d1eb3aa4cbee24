// Which frames a traceback shows: those of the user's program.
//
// Where an error leaves a function that users call, `leave_package` takes the frames of this package out of its
// traceback, and of those of the errors that it came from. CT_TRACEBACK=full in the environment, or
// ct.config.update("traceback", "full"), leaves them in; and so do errors that nobody raised on purpose. Functions that
// CPython calls directly and that users call are named in their tables as `kLeaving<function>`.
#pragma once

#include "absl/status/status.h"
#include "python_bindings/python.h"
#include "python_bindings/slots.h"

namespace ct::python {

// An error has been set.
void leave_package() noexcept;

template <auto kFunction, class Type = decltype(kFunction)>
struct LeavingSlot;
template <auto kFunction, class Result, class... Arguments>
struct LeavingSlot<kFunction, Result (*)(Arguments...)> {
  static Result call(Arguments... arguments) noexcept {
    const Result result = kGuarded<kFunction>(arguments...);
    bool failed = false;
    if constexpr (std::is_pointer_v<Result>) {
      failed = result == nullptr;
    } else {
      failed = result == -1 && PyErr_Occurred() != nullptr;
    }
    if (failed) leave_package();
    return result;
  }
};
template <auto kFunction>
inline constexpr auto kLeaving = &LeavingSlot<kFunction>::call;

// The same as an entry of PyType_Slot.
template <auto kFunction>
void* leaving_slot() {
  return reinterpret_cast<void*>(kLeaving<kFunction>);
}

// Whether a traceback, which may be null, has a frame that is not of this package.
bool has_frames_of_user(PyObject* traceback) noexcept;

// For tests, which ask what places of this package have been reached: where this error was made.
void note_site(const Error& error) noexcept;
void note_site(const absl::Status& status) noexcept;  // what it was before it became a status

void register_tracebacks(py::module_& module);

}  // namespace ct::python
