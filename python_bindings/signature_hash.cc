#include "python_bindings/signature_hash.h"

#include <vector>

#include "python_bindings/array.h"
#include "python_bindings/tree.h"
#include "runtime/hash.h"

namespace ct::python {
namespace {

constexpr int kDeepest = 32;  // what lies deeper is told apart by comparing

uint64_t shape_hash(absl::Span<const int64_t> shape) {
  uint64_t hash = hash_combine(1, shape.size());
  for (const int64_t size : shape) hash = hash_combine(hash, static_cast<uint64_t>(size));
  return hash;
}

uint64_t hash_of(PyObject* object, int depth);

// Keys may come in any order.
uint64_t dict_hash(PyObject* dict, int depth) {
  uint64_t sum = 0;
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *child = nullptr;
  while (PyDict_Next(dict, &position, &key, &child)) {
    const uint64_t of_key = PyUnicode_CheckExact(key) ? static_cast<uint64_t>(PyObject_Hash(key)) : 0;
    sum += hash_combine(of_key, hash_of(child, depth + 1));
  }
  return hash_combine(3, sum);
}

uint64_t hash_of(PyObject* object, int depth) {
  if (is_array(object)) return shape_hash(array_aval(object).shape());
  if (object == Py_None) return 2;
  if (is_python_scalar(object)) return shape_hash({});
  if (depth > kDeepest) return 0;
  if (PyDict_CheckExact(object)) return dict_hash(object, depth);
  const bool tuple = PyTuple_CheckExact(object);
  if (tuple || PyList_CheckExact(object)) {
    // Nothing here runs Python code that could change a list, but for the containers below.
    uint64_t hash = tuple ? 4 : 5;
    for (Py_ssize_t i = 0; i < Py_SIZE(object); ++i) {
      const auto child =
          py::reinterpret_borrow<py::object>(tuple ? PyTuple_GET_ITEM(object, i) : PyList_GET_ITEM(object, i));
      hash = hash_combine(hash, hash_of(child.ptr(), depth + 1));
    }
    return hash;
  }
  if (py::isinstance<py::array>(object)) {
    const auto array = py::reinterpret_borrow<py::array>(object);
    return shape_hash({array.shape(), static_cast<size_t>(array.ndim())});
  }
  std::vector<py::object> leaves;
  flatten(object, leaves);
  if (leaves.size() == 1 && leaves[0].ptr() == object) return 6;
  uint64_t hash = 7;
  for (const py::object& leaf : leaves) hash = hash_combine(hash, hash_of(leaf.ptr(), kDeepest));
  return hash;
}

}  // namespace

uint64_t signature_hash(PyObject* argument) { return hash_of(argument, 0); }

std::optional<uint64_t> static_hash(PyObject* argument) {
  const Py_hash_t hash = PyObject_Hash(argument);
  if (hash != -1) return static_cast<uint64_t>(hash);
  PyErr_Clear();
  return std::nullopt;
}

}  // namespace ct::python
