#include "python_bindings/indexing.h"

#include <cstddef>
#include <cstring>

#include "interpreter/kernels/move.h"
#include "ir/primitives.h"
#include "python_bindings/operands.h"
#include "python_bindings/views.h"

namespace ct::python {
namespace {

PyObject* index_hook = nullptr;
PyObject* assignment_hook = nullptr;

// What an index selects: a window of the array's axes, and the axes of the result.
struct Window {
  Ints start, limit, stride;  // of every axis of the array, stride positive
  Shape sizes;                // likewise
  Ints reversed;              // axes taken backwards
  Shape shape;                // of the result
  Shape kept;                 // sizes without the axes that integers index, before axes are inserted
  Ints kept_positions;        // of those in the result
  bool whole = true;          // the window is the array
  bool removes = false, inserts = false;
};

bool read_bound(PyObject* object, Py_ssize_t& value, bool& given) {
  given = object != Py_None;
  if (!given) return true;
  if (!PyLong_CheckExact(object)) return false;
  value = PyNumber_AsSsize_t(object, nullptr);  // out of range: the nearest
  return true;
}

bool add_slice(PyObject* item, int64_t size, Window& window) {
  const auto* slice = reinterpret_cast<PySliceObject*>(item);
  const auto axis = static_cast<int64_t>(window.start.size());
  Py_ssize_t start = 0, stop = 0, step = 1;
  bool has_start = false, has_stop = false, has_step = false;
  if (!read_bound(slice->start, start, has_start) || !read_bound(slice->stop, stop, has_stop) ||
      !read_bound(slice->step, step, has_step) || step == 0) {
    return false;
  }
  if (step < -PY_SSIZE_T_MAX) step = -PY_SSIZE_T_MAX;
  if (!has_start) start = step < 0 ? PY_SSIZE_T_MAX : 0;
  if (!has_stop) stop = step < 0 ? PY_SSIZE_T_MIN : PY_SSIZE_T_MAX;
  const int64_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(size), &start, &stop, step);
  int64_t first = start;
  int64_t stride = step;
  if (stride < 0) {  // the same elements forward, then reversed
    window.reversed.push_back(axis);
    first += (count - 1) * stride;
    stride = -stride;
  }
  if (count == 0) first = 0;
  if (count <= 1) stride = 1;
  window.whole &= count == size;
  window.start.push_back(first);
  window.limit.push_back(count == 0 ? 0 : first + (count - 1) * stride + 1);
  window.stride.push_back(stride);
  window.sizes.push_back(count);
  window.kept_positions.push_back(static_cast<int64_t>(window.shape.size()));
  window.kept.push_back(count);
  window.shape.push_back(count);
  return true;
}

// False: not an index for here.
bool read_index(PyObject* const* items, Py_ssize_t count, const Shape& shape, Window& window) {
  Py_ssize_t used = 0;
  for (Py_ssize_t i = 0; i < count; ++i) used += items[i] != Py_None && items[i] != Py_Ellipsis;
  const auto rank = static_cast<Py_ssize_t>(shape.size());
  if (used > rank) return false;
  bool ellipsis = false;
  const auto take_whole = [&](Py_ssize_t axes) {
    for (; axes > 0; --axes) {
      const int64_t size = shape[window.start.size()];
      window.start.push_back(0);
      window.limit.push_back(size);
      window.stride.push_back(1);
      window.sizes.push_back(size);
      window.kept_positions.push_back(static_cast<int64_t>(window.shape.size()));
      window.kept.push_back(size);
      window.shape.push_back(size);
    }
  };
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = items[i];
    if (item == Py_None) {
      window.inserts = true;
      window.shape.push_back(1);
    } else if (item == Py_Ellipsis) {
      if (ellipsis) return false;
      ellipsis = true;
      take_whole(rank - used);
    } else if (PyLong_CheckExact(item)) {
      const int64_t size = shape[window.start.size()];
      int64_t position = PyNumber_AsSsize_t(item, nullptr);
      if (position < -size || position >= size) return false;
      if (position < 0) position += size;
      window.start.push_back(position);
      window.limit.push_back(position + 1);
      window.stride.push_back(1);
      window.sizes.push_back(1);
      window.whole &= size == 1;
      window.removes = true;
    } else if (PySlice_Check(item)) {
      if (!add_slice(item, shape[window.start.size()], window)) return false;
    } else {
      return false;
    }
  }
  if (!ellipsis) take_whole(rank - used);
  return true;
}

// The equations of a window, in the order in which the Python function makes them.
Datum record(const Datum& array, const Window& window) {
  Datum result = array;
  const auto apply = [&](const Primitive& primitive, std::vector<Attrs::Item> attributes) {
    const Datum* operand = &result;
    result = bind1_with_location(primitive, {&operand, 1}, Attrs::make(std::move(attributes)));
  };
  if (!window.whole) apply(kSlice, {{"start", window.start}, {"limit", window.limit}, {"stride", window.stride}});
  if (!window.reversed.empty()) apply(kReverse, {{"axes", window.reversed}});
  if (window.removes) apply(kReshape, {{"shape", Ints(window.kept.begin(), window.kept.end())}});
  if (window.inserts) {
    apply(kBroadcast, {{"shape", Ints(window.shape.begin(), window.shape.end())}, {"axes", window.kept_positions}});
  }
  return result;
}

void copy_small(void* to, const void* from, int64_t bytes) {
  switch (bytes) {
    case 0:
      return;
    case 1:
      std::memcpy(to, from, 1);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    case 8:
      std::memcpy(to, from, 8);
      return;
    default:
      std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

// x[i] of a concrete array and a Python int, outside of captures: loops over the elements of an array should not pay
// for what other indices need. Null without an error: not for here.
PyObject* element_of(PyObject* self, PyObject* index) {
  if (!PyLong_CheckExact(index) || innermost_capture() != nullptr) return nullptr;
  const auto* tensor = std::get_if<Tensor>(&array_datum(self));
  if (tensor == nullptr || tensor->place() != kHostPlace) return nullptr;
  const Aval aval = tensor->aval();
  if (aval.rank() == 0) return nullptr;
  const int64_t size = aval.dim(0);
  int64_t position = PyNumber_AsSsize_t(index, nullptr);
  if (position < 0) position += size;
  if (position < 0 || position >= size) return nullptr;
  const Aval element = aval.element();
  if (size == 1) return make_array(tensor->reinterpret(element));
  void* data = nullptr;
  PyObject* result = make_unwritten_array(element, data);
  const int64_t bytes = element.bytes();
  if (result != nullptr) copy_small(data, tensor->as<std::byte>() + position * bytes, bytes);
  return result;
}

// Whether only the expression that is being evaluated refers to an object.
bool is_temporary(PyObject* object) {
#if PY_VERSION_HEX >= 0x030E0000
  return PyUnstable_Object_IsUniqueReferencedTemporary(object) != 0;
#else
  return Py_REFCNT(object) == 1;
#endif
}

// x[index], an array of its own.
PyObject* take(PyObject* self, PyObject* index) {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const Capture* capture = innermost_capture();
    if (capture == nullptr || !capture->masks()) {
      const Datum& datum = array_datum(self);
      const Aval aval = datum_aval(datum);
      const bool several = PyTuple_CheckExact(index);
      PyObject* const* items = several ? &PyTuple_GET_ITEM(index, 0) : &index;
      Window window;
      if (read_index(items, several ? PyTuple_GET_SIZE(index) : 1, aval.shape(), window)) {
        const auto* tensor = std::get_if<Tensor>(&datum);
        const bool is_here = capture == nullptr && tensor != nullptr && tensor->place() == kHostPlace;
        if (!is_here || !window.reversed.empty()) {
          return make_array(record(datum, window));
        }
        const Aval result(aval.dtype(), window.shape, aval.weak());
        if (window.whole) return make_array(tensor->reinterpret(result));
        return make_array(strided_slice(*tensor, window.start, window.stride, window.sizes, result));
      }
    }
    if (index_hook == nullptr) throw Error(ErrorKind::kInternal, "there is no function for this index");
    return PyObject_CallFunctionObjArgs(index_hook, self, index, nullptr);
  });
}

}  // namespace

void set_index_hook(PyObject* hook) { index_hook = hook; }
void set_assignment_hook(PyObject* hook) { Py_XSETREF(assignment_hook, hook); }

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_TypeError, "del x[i]: the size of an array cannot change\n  use x = ct.numpy.delete(x, i)");
    return -1;
  }
  if (assignment_hook == nullptr) throw Error(ErrorKind::kInternal, "there is no function for assignments");
  PyObject* held = is_temporary(self) ? Py_False : Py_True;
  PyObject* done = PyObject_CallFunctionObjArgs(assignment_hook, self, index, value, held, nullptr);
  Py_XDECREF(done);
  return done == nullptr ? -1 : 0;
}

PyObject* get_item(PyObject* self, PyObject* index) {
  PyObject* result = element_of(self, index);
  // Of a vector it is a number, which is no view.
  if (result != nullptr && array_aval(result).rank() == 0) return result;
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (result == nullptr) result = take(self, index);
  if (result == nullptr || !is_array(result) || !makes_view(index, array_aval(result))) return result;
  if (result != self) link_view(result, self, index);
  return result;
}

}  // namespace ct::python
