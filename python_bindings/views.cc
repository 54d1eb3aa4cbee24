#include "python_bindings/views.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace ct::python {

// The place of an array among those that it was made of and that were made of it. One whose array has ended is kept as
// long as it stands between two that have not: x.T[0] is linked to x.
struct ViewLinks {
  ArrayObject* array = nullptr;  // null: has ended
  ViewLinks* base = nullptr;
  PyObject* how = nullptr;  // from the base to this
  ViewLinks *first_view = nullptr, *next = nullptr, *previous = nullptr;
};

namespace {

using Dropped = absl::InlinedVector<PyObject*, 4>;

ViewLinks& links_of(PyObject* object) {
  auto* array = reinterpret_cast<ArrayObject*>(object);
  if (array->views == nullptr) array->views = new ViewLinks{.array = array};
  return *array->views;
}

// Null: there are none, or the object only stands for an array, as a tracer of a library's own does.
ViewLinks* known_links(PyObject* object) {
  return is_array(object) ? reinterpret_cast<ArrayObject*>(object)->views : nullptr;
}

// Takes the links out of its base's; the caller gets the reference to how it was made.
[[nodiscard]] PyObject* detach(ViewLinks& links) {
  if (links.previous != nullptr) {
    links.previous->next = links.next;
  } else if (links.base != nullptr) {
    links.base->first_view = links.next;
  }
  if (links.next != nullptr) links.next->previous = links.previous;
  links.base = links.next = links.previous = nullptr;
  return std::exchange(links.how, nullptr);
}

void end(ViewLinks* links) {
  if (links->array != nullptr) links->array->views = nullptr;
  delete links;
}

bool is_needed(const ViewLinks& links) { return links.first_view != nullptr || links.array != nullptr; }

// What is not needed any more ends: this, and bases that only led to it.
void end_unneeded(ViewLinks* links, Dropped& dropped) {
  while (links != nullptr && !is_needed(*links)) {
    ViewLinks* base = links->base;
    dropped.push_back(detach(*links));
    end(links);
    links = base;
  }
}

// Where no array is left above, views are arrays of their own.
void end_without_base(ViewLinks* links, Dropped& dropped) {
  absl::InlinedVector<ViewLinks*, 4> ending = {links};
  while (!ending.empty()) {
    ViewLinks* last = ending.back();
    ending.pop_back();
    while (ViewLinks* view = last->first_view) {
      dropped.push_back(detach(*view));
      if (view->array == nullptr) ending.push_back(view);
    }
    end(last);
  }
}

py::object array_or_none(const ViewLinks& links) {
  return links.array == nullptr ? py::none()
                                : py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(links.array));
}

// The first and the last position of an item of an index, of an axis of that size; false: not known, or no axis is
// taken.
bool positions(PyObject* item, Py_ssize_t size, Py_ssize_t& first, Py_ssize_t& last) {
  if (PyLong_CheckExact(item)) {
    first = PyLong_AsSsize_t(item);
    if (first < 0) first += size;
    last = first;
    if (PyErr_Occurred()) PyErr_Clear();
    return first >= 0 && first < size;
  }
  if (!PySlice_Check(item)) return false;
  const auto* slice = reinterpret_cast<PySliceObject*>(item);
  for (PyObject* bound : {slice->start, slice->stop, slice->step}) {
    if (bound != Py_None && !PyLong_CheckExact(bound)) return false;
  }
  Py_ssize_t start = 0, stop = 0, step = 1;
  if (PySlice_Unpack(item, &start, &stop, &step) < 0) {
    PyErr_Clear();
    return false;
  }
  const Py_ssize_t count = PySlice_AdjustIndices(size, &start, &stop, step);
  first = step > 0 ? start : start + (count - 1) * step;
  last = count == 0 ? first - 1 : step > 0 ? start + (count - 1) * step : start;
  return true;
}

// Whether two indices are known to have no element in common, as two rows have none.
bool disjoint(PyObject* left, PyObject* right, const Shape& shape) {
  const auto items = [](PyObject*& index) {
    const bool several = PyTuple_Check(index);
    return std::pair(several ? &PyTuple_GET_ITEM(index, 0) : &index, several ? PyTuple_GET_SIZE(index) : 1);
  };
  const auto [a, left_count] = items(left);
  const auto [b, right_count] = items(right);
  for (Py_ssize_t axis = 0; axis < std::min({left_count, right_count, std::ssize(shape)}); ++axis) {
    Py_ssize_t first = 0, last = 0, other_first = 0, other_last = 0;
    const auto size = static_cast<Py_ssize_t>(shape[static_cast<size_t>(axis)]);
    if (!positions(a[axis], size, first, last) || !positions(b[axis], size, other_first, other_last)) return false;
    if (last < other_first || other_last < first) return true;
  }
  return false;
}

// All that was made of an array and may have elements in common with what is at `where`, bases in front of their views:
// the number of the base in the list (-1: the array), the view, or None where it has ended, and how it was made.
py::list views_below(const ViewLinks& links, PyObject* where) {
  py::list views;
  const Shape shape = array_aval(reinterpret_cast<PyObject*>(links.array)).shape();
  std::vector<const ViewLinks*> bases = {&links};
  for (size_t base = 0; base < bases.size(); ++base) {
    for (const ViewLinks* view = bases[base]->first_view; view != nullptr; view = view->next) {
      if (base == 0 && disjoint(where, view->how, shape)) continue;
      views.append(py::make_tuple(static_cast<int64_t>(base) - 1, array_or_none(*view), py::handle(view->how)));
      bases.push_back(view);
    }
  }
  return views;
}

// Whether it takes an axis away, or a part of it, or inserts one.
bool is_basic(PyObject* item) {
  if (item == Py_None || item == Py_Ellipsis || PySlice_Check(item)) return true;
  if (PyBool_Check(item)) return false;
  if (is_array(item)) return array_aval(item).rank() == 0 && is_integer(array_aval(item).dtype());
  return PyIndex_Check(item) && !PySequence_Check(item);
}

}  // namespace

bool makes_view(PyObject* index, const Aval& result) {
  const bool several = PyTuple_Check(index);
  bool has_ellipsis = false;
  for (Py_ssize_t i = 0; i < (several ? PyTuple_GET_SIZE(index) : 1); ++i) {
    PyObject* item = several ? PyTuple_GET_ITEM(index, i) : index;
    if (!is_basic(item)) return false;
    has_ellipsis |= item == Py_Ellipsis;
  }
  return result.rank() > 0 || has_ellipsis;
}

bool is_view(PyObject* array) {
  const ViewLinks* links = known_links(array);
  return links != nullptr && links->base != nullptr;
}

void link_view(PyObject* view, PyObject* base, PyObject* how) {
  if (!is_array(view) || !is_array(base)) return;
  ViewLinks& links = links_of(view);
  if (view == base || links.base != nullptr) return;
  links.base = &links_of(base);
  links.how = Py_NewRef(how);
  links.next = std::exchange(links.base->first_view, &links);
  if (links.next != nullptr) links.next->previous = &links;
}

void end_links(ArrayObject* array) {
  ViewLinks* links = std::exchange(array->views, nullptr);
  if (links == nullptr) return;
  links->array = nullptr;
  Dropped dropped;  // last: they may end other arrays
  if (links->base == nullptr) {
    end_without_base(links, dropped);
  } else {
    end_unneeded(links, dropped);
  }
  for (PyObject* how : dropped) Py_XDECREF(how);
}

void register_views(py::module_& module) {
  module.def("link_view", [](const py::object& view, const py::object& base, const py::object& how) {
    link_view(view.ptr(), base.ptr(), how.ptr());
  });
  // The array is one of its own from now on.
  module.def("unlink_view", [](const py::object& array) {
    if (!is_view(array.ptr())) return;
    ViewLinks* links = known_links(array.ptr());
    Dropped dropped;
    ViewLinks* base = links->base;
    dropped.push_back(detach(*links));
    end_unneeded(base, dropped);
    for (PyObject* how : dropped) Py_XDECREF(how);
  });
  // What the array was made of: (array, or None where it has ended; how its view was made of it), the nearest first.
  module.def("bases_of_view", [](const py::object& array) {
    py::list bases;
    const ViewLinks* links = known_links(array.ptr());
    for (; links != nullptr && links->base != nullptr; links = links->base) {
      bases.append(py::make_tuple(array_or_none(*links->base), py::handle(links->how)));
    }
    return bases;
  });
  module.def("views_of_array", [](const py::object& array, const py::object& where) {
    const ViewLinks* links = known_links(array.ptr());
    return links == nullptr ? py::list() : views_below(*links, where.ptr());
  });
}

}  // namespace ct::python
