// Where programs run and arrays are made: where it is said (`jit(f, device=d)`, `zeros(3, device=d)`), else where the
// arrays are that go in, else on the thread's default device. A back end's name stands for its device, as everywhere
// in the binding; `_base/device.py` has the users' names for them.
#pragma once

#include <optional>
#include <string>

#include "jit/backend.h"
#include "python_bindings/python.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct::python {

// Of this thread: the place of the back end that runs what names none.
int default_place();
// The back end for programs whose arrays are at a place: the default one for the host's.
std::string backend_for(int place);

// Whether a back end is the one that compiles for its device. Others, the interpreter, say how a program runs.
bool names_device(const std::string& backend);
// The back end of a program that names one itself, or none: then that of the functions that it calls which are jitted
// for a device; empty where there are none. Throws where devices differ, calling the program by its name.
std::string named_backend(const Graph& graph, const std::string& own, std::string_view name);

// The place of those of `count` things that are not on the host; kHostPlace if all are. `place(i)` and `text(i)`, how
// the user calls it, are of the thing i.
template <class Place, class Text>
int common_place(size_t count, const Place& place, const Text& text, std::string_view what) {
  std::optional<size_t> first;
  for (size_t i = 0; i < count; ++i) {
    if (place(i) == kHostPlace) continue;
    if (!first) first = i;
    if (place(i) == place(*first)) continue;
    throw Error(ErrorKind::kDevice, concat(what, " are on two devices: ", text(*first), " on ",
                                           backend_at(place(*first)), ", ", text(i), " on ", backend_at(place(i))))
        .hint("move one of them: ct.device_put(x, device)");
  }
  return first ? place(*first) : kHostPlace;
}

// A call that makes arrays, of a function that a placement may be given to: what it computes runs on that device, or
// on the default one, and `placed` moves there what was made elsewhere.
class PlacedCall {
 public:
  // `placement`: null or None where none is given. Throws for what is none, naming the function.
  PlacedCall(py::handle function, PyObject* placement);
  ~PlacedCall();
  PlacedCall(const PlacedCall&) = delete;
  PlacedCall& operator=(const PlacedCall&) = delete;
  // The result of the call, or null with an error set, as it is; new references both.
  PyObject* placed(PyObject* result) const;

 private:
  const std::string* backend_ = nullptr;  // where the result goes, if anywhere
  bool overridden_ = false;
  const std::string* outer_ = nullptr;
};

void register_placement(py::module_& module);

}  // namespace ct::python
