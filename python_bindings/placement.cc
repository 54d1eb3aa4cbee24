#include "python_bindings/placement.h"

#include <cstring>
#include <functional>
#include <unordered_map>
#include <utility>

#include "device/residency.h"
#include "python_bindings/array.h"
#include "python_bindings/gil.h"
#include "python_bindings/graph.h"
#include "python_bindings/user_calls.h"
#include "transforms/common.h"

namespace ct::python {
namespace {

const Backend& known_backend(std::string_view name) {
  const Backend* found = find_backend(name);
  if (found == nullptr) {
    throw Error(ErrorKind::kValue, concat("there is no backend named '", name, "'"))
        .hint(concat("choose one of: ", join(backend_names(), ", ")));
  }
  return *found;
}

Device& device_of(std::string_view backend) { return *known_backend(backend).device; }

// Names live for ever: settings point at them.
const std::string* interned(const std::optional<std::string>& name) {
  static auto* const names = new std::unordered_map<std::string, const std::string*>;  // guarded by the GIL
  if (!name) return nullptr;
  const std::string*& known = (*names)[*name];
  if (known == nullptr) known = new std::string(*name);
  return known;
}

// The back end of the place where an array was made; empty for the host, and for what is traced.
std::string place_of(const py::object& array) {
  const auto* tensor = is_array(array.ptr()) ? std::get_if<Tensor>(&array_contents(array.ptr())) : nullptr;
  if (tensor == nullptr || !*tensor || tensor->place() == kHostPlace) return "";
  return backend_at(tensor->place());
}

Tensor copied_to(Device& device, const Tensor& tensor) {
  if (device.place() != kHostPlace) return put(device, tensor);
  Tensor copy(tensor.aval());
  std::memcpy(copy.data(), tensor.data(), static_cast<size_t>(tensor.aval().bytes()));
  return copy;
}

// The array in the memory of a back end's device; what is traced stays what it is.
py::object put_on(const py::object& array, const std::string& backend) {
  const auto* tensor = std::get_if<Tensor>(&array_datum(array.ptr()));
  if (tensor == nullptr) return array;
  Device& device = device_of(backend);
  if (device.place() == tensor->place()) return array;
  const Tensor copy = copied_to(device, *tensor);
  note_copy(*tensor, copy);
  return array_object(copy);
}

void wait_for(const py::object& array) {
  const std::string backend = place_of(array);
  if (backend.empty()) return;
  const WithoutInterpreter released;
  device_of(backend).queue().wait();
}

// Whether its elements are there: not certain where other work of the device came after it.
bool is_ready(const py::object& array) {
  const std::string backend = place_of(array);
  return backend.empty() || device_of(backend).queue().is_idle();
}

// `_base/device.py`: the back end that a placement means, given the name of the function for errors.
py::object& resolve_placement() {
  static auto* const hook = new py::object;
  return *hook;
}

// Arrays in what a function returned: itself, or those of a tuple or a list.
py::object moved(const py::object& result, const std::string& backend) {
  if (is_array(result.ptr())) return put_on(result, backend);
  if (PyTuple_CheckExact(result.ptr())) {
    py::list items;
    for (py::handle item : py::reinterpret_borrow<py::tuple>(result)) {
      items.append(moved(py::reinterpret_borrow<py::object>(item), backend));
    }
    return py::tuple(items);
  }
  return result;
}

}  // namespace

int default_place() {
  const std::string* const backend = config().backend;
  return backend == nullptr ? kHostPlace : device_of(*backend).place();
}

bool names_device(const std::string& backend) {
  return !backend.empty() && backend_at(device_of(backend).place()) == backend;
}

std::string named_backend(const Graph& graph, const std::string& own, std::string_view name) {
  std::string found = own, by(name);
  const std::function<bool(const Graph&)> look = [&](const Graph& inner) {
    for (const Equation& equation : inner.equations()) {
      const Attrs& attrs = inner.attrs(equation);
      if (equation.primitive->region == Region::kCall && attrs.has("backend")) {
        const std::string called = attrs.text("backend");
        if (found.empty()) {
          found = called, by = attrs.text("name");
        } else if (device_of(found).place() != device_of(called).place()) {
          throw Error(ErrorKind::kDevice,
                      concat(name, " is one program, which runs on one device: ", by, " is jitted for ", found,
                             ", and ", attrs.text("name"), " for ", called))
              .hint("name the same device in both, or none in the functions that are called");
        }
      }
      any_sub_graph(attrs, look);
    }
    return false;
  };
  look(graph);
  return found;
}

std::string backend_for(int place) {
  const std::string* const backend = config().backend;
  return place == kHostPlace && backend != nullptr ? *backend : backend_at(place);
}

PlacedCall::PlacedCall(py::handle function, PyObject* placement) {
  if (placement != nullptr && placement != Py_None) {
    const py::object backend = resolve_placement()(py::handle(placement), function.attr("__name__"));
    if (!backend.is_none()) backend_ = interned(py::cast<std::string>(backend));
  }
  if (backend_ != nullptr) {
    overridden_ = true;
    outer_ = override_backend(backend_);
  } else if (default_place() != kHostPlace) {
    backend_ = config().backend;
  }
}

PlacedCall::~PlacedCall() {
  if (overridden_) override_backend(outer_);
}

PyObject* PlacedCall::placed(PyObject* result) const {
  if (result == nullptr || backend_ == nullptr) return result;
  return moved(py::reinterpret_steal<py::object>(result), *backend_).release().ptr();
}

void register_placement(py::module_& module) {
  module.def("place_of", place_of);
  module.def("put_on", put_on);
  module.def("wait_for", wait_for);
  module.def("is_ready", is_ready);
  module.def("has_backend", [](const std::string& name) { return find_backend(name) != nullptr; });
  module.def("default_backend", [] { return backend_for(kHostPlace); });
  // The name of a back end, or None for the processor's.
  module.def(
      "set_default_backend",
      [](const std::optional<std::string>& name) {
        if (name) known_backend(*name);
        set_backend(interned(name));
      },
      py::arg("name").none(true));
  // For this thread, or with None no longer; what it was set to.
  module.def(
      "override_default_backend",
      [](const std::optional<std::string>& name) -> std::optional<std::string> {
        const std::string* const outer = override_backend(interned(name));
        return outer == nullptr ? std::nullopt : std::optional(*outer);
      },
      py::arg("name").none(true));
  module.def("named_backend", [](const GraphHandle& handle, const std::string& own, const std::string& name) {
    return named_backend(*handle.graph, own, name);
  });
  module.def("set_placement_hook", [](const py::object& hook) { resolve_placement() = hook; });
}

}  // namespace ct::python
