#include "python_bindings/python_object.h"

#include <unordered_map>

#include "python_bindings/gil.h"
#include "python_bindings/graph.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

// By address; an object in here lives as long as its entry. Guarded by the GIL.
std::unordered_map<PyObject*, std::weak_ptr<const PythonObject>>& known() {
  static auto* table = new std::unordered_map<PyObject*, std::weak_ptr<const PythonObject>>;
  return *table;
}

// Tells a reader of the traceback which operation of the program called.
void add_note(py::error_already_set& error) {
  const std::string where = location_string(LocationScope::current());
  if (where.empty()) return;
  const py::object value = error.value();
  const std::string note = concat("raised by the callback at ", where);
  if (PyObject_HasAttrString(value.ptr(), "add_note") != 0) {
    value.attr("add_note")(note);
  }
}

}  // namespace

Tensor result_tensor(py::handle value, const Aval& expected, const std::string& what, const std::string& says) {
  const Datum datum = datum_from_python(value);
  const Tensor* given = std::get_if<Tensor>(&datum);
  CT_CHECK(given != nullptr);
  if (given->shape() != expected.shape()) {
    throw Error(ErrorKind::kShape, concat(what, " has shape ", shape_string(given->shape()), "; ", says, " says ",
                                          shape_string(expected.shape())))
        .hint("return an array of that shape, or say the shape that it has")
        .see("callback-result");
  }
  // Widths may differ: NumPy computes in 64 bits where it can. Kinds may not, but for Python numbers.
  const bool same_kind = (is_inexact(expected.dtype()) && is_inexact(given->dtype()) &&
                          (is_complex(expected.dtype()) || !is_complex(given->dtype()))) ||
                         (is_integer(expected.dtype()) && is_integer(given->dtype())) ||
                         expected.dtype() == given->dtype();
  if (!same_kind && !is_python_scalar(value.ptr())) {
    throw Error(ErrorKind::kDType, concat(what, " has dtype ", dtype_name(given->dtype()), "; ", says, " says ",
                                          dtype_name(expected.dtype())))
        .hint(concat("return result.astype(\"", dtype_name(expected.dtype()), "\")"));
  }
  return concrete(convert_datum(*given, expected.dtype()));
}

std::shared_ptr<const PythonObject> PythonObject::of(py::handle object) {
  std::weak_ptr<const PythonObject>& slot = known()[object.ptr()];
  if (auto found = slot.lock()) return found;
  std::shared_ptr<const PythonObject> made(new PythonObject(py::reinterpret_borrow<py::object>(object)));
  slot = made;
  return made;
}

PythonObject::~PythonObject() {
  if (Py_IsInitialized() == 0) {
    object_.release();
    return;
  }
  const WithInterpreter gil;
  const auto entry = known().find(object_.ptr());
  if (entry != known().end() && entry->second.expired()) known().erase(entry);
  object_ = py::object();
}

std::string PythonObject::to_string() const {
  const WithInterpreter gil;
  return py::cast<std::string>(py::repr(object_));
}

std::vector<Tensor> PythonObject::call(absl::Span<const Tensor> operands, absl::Span<const Aval> results) const {
  const WithInterpreter gil;
  // The user's function computes; what may be under capture on this thread is none of its business.
  EagerScope eager;
  py::list arrays;
  for (const Tensor& operand : operands) arrays.append(tensor_to_numpy(operand));
  try {
    const py::sequence returned = object_(arrays);
    CT_CHECK(returned.size() == results.size());  // whoever made the object has looked
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < results.size(); ++i) {
      tensors.push_back(
          result_tensor(returned[i], results[i], concat("result ", i, " of the callback"), "result_shape_dtypes"));
    }
    return tensors;
  } catch (py::error_already_set& error) {
    add_note(error);
    throw;
  }
}

BatchGraph PythonObject::make(int64_t size, const Flags& batched, const Avals& operands) const {
  const WithInterpreter gil;
  py::list avals;
  for (const Aval& aval : operands) avals.append(aval_tuple(aval));
  const py::tuple made = object_(size, batched, avals);
  BatchGraph result{py::cast<GraphHandle&>(made[0]).graph, {}};
  for (const bool in_front : py::cast<std::vector<bool>>(made[1])) result.out_axes.push_back(in_front ? 0 : -1);
  return result;
}

GraphPtr PythonObject::make(const Flags& moving) const {
  const WithInterpreter gil;
  // What is being captured where the derivative is taken is none of the rule's business.
  EagerScope eager;
  const py::object made = object_(moving);
  return py::cast<GraphHandle&>(made).graph;
}

}  // namespace ct::python
