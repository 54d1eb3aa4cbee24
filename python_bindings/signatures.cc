// Which of a jitted function's entries a call fits.
//
// A call walks an entry's tree alongside the actual arguments (`Matcher`), which checks the structure and collects the
// leaves' pointers without building anything; the last entry that matched is tried first, then the others that fitted
// lately, then those with the call's hash. No match: the Python function `trace` captures the user's function once.
// Start at find_entry.
#include <Python.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "ir/lengths.h"
#include "jit/backend.h"
#include "python_bindings/gil.h"
#include "python_bindings/graph.h"
#include "python_bindings/jit_function.h"
#include "python_bindings/placement.h"
#include "python_bindings/signature_hash.h"
#include "runtime/hash.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

class Matcher {
 public:
  Matcher(const Entry& entry, Leaves& leaves, bool recording) : entry_(entry), leaves_(leaves), recording_(recording) {}

  void skip_node() { ++node_; }
  // Where the arrays among the leaves are.
  int place() const { return place_; }
  bool node(PyObject* object) {
    const TreeNode& node = entry_.tree->nodes[node_++];
    switch (node.kind) {
      case NodeKind::kLeaf:
        return leaf(object);
      case NodeKind::kNone:
        return object == Py_None;
      case NodeKind::kTuple:
      case NodeKind::kNamedTuple: {
        const bool fits = node.kind == NodeKind::kTuple
                              ? PyTuple_CheckExact(object)
                              : reinterpret_cast<PyObject*>(Py_TYPE(object)) == node.type.ptr();
        if (!fits || PyTuple_GET_SIZE(object) != static_cast<Py_ssize_t>(node.arity)) return false;
        for (uint32_t i = 0; i < node.arity; ++i) {
          if (!this->node(PyTuple_GET_ITEM(object, i))) return false;
        }
        return true;
      }
      case NodeKind::kList: {
        if (!PyList_CheckExact(object) || PyList_GET_SIZE(object) != static_cast<Py_ssize_t>(node.arity)) return false;
        for (uint32_t i = 0; i < node.arity; ++i) {
          if (PyList_GET_SIZE(object) <= static_cast<Py_ssize_t>(i)) return false;
          if (!this->node(keep(PyList_GET_ITEM(object, i)))) return false;
        }
        return true;
      }
      case NodeKind::kDict: {
        if (!PyDict_CheckExact(object) || PyDict_GET_SIZE(object) != static_cast<Py_ssize_t>(node.arity)) return false;
        Py_ssize_t position = 0;
        for (uint32_t i = 0; i < node.arity; ++i) {
          PyObject* const expected = PyList_GET_ITEM(node.keys.ptr(), i);
          // Mostly the very same keys, in order: then nothing has to be looked up.
          PyObject *key = nullptr, *child = nullptr;
          if (position >= 0 && (!PyDict_Next(object, &position, &key, &child) || key != expected)) position = -1;
          if (position < 0) child = PyDict_GetItemWithError(object, expected);
          if (child == nullptr) {
            if (PyErr_Occurred()) throw py::error_already_set();
            return false;
          }
          if (!this->node(keep(child))) return false;
        }
        return true;
      }
      case NodeKind::kCustom: {
        if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != node.type.ptr()) return false;
        const CustomParts parts = open_custom(object);
        if (parts.children.size() != node.arity || !has_keys(node, parts.auxiliary)) return false;
        PyObject* const children = keep(parts.children.ptr());
        for (uint32_t i = 0; i < node.arity; ++i) {
          if (!this->node(PyTuple_GET_ITEM(children, i))) return false;
        }
        return true;
      }
    }
    return false;
  }

 private:
  // What the arguments' tuple does not hold, or another thread may take out of it while the program runs: children of
  // containers, and owners of memory that is read in place.
  PyObject* keep(PyObject* child) {
    leaves_.owners.push_back(py::reinterpret_borrow<py::object>(child));
    return child;
  }

  bool leaf(PyObject* object) {
    const Aval& expected = entry_.avals[leaf_++];
    const bool array = is_array(object);
    if (!entry_.donated.empty() || entry_.releases_gil) leaves_.arrays.push_back(array ? object : nullptr);
    if (array) {
      const Datum& datum = array_datum(object);
      if (!(datum_aval(datum) == expected)) return false;
      if (recording_) {
        leaves_.data.push_back(datum);
      } else {
        const auto* tensor = std::get_if<Tensor>(&datum);
        if (tensor == nullptr) {  // a leaked value of an ended capture: this throws
          leaves_.temporaries.push_back(concrete(datum));
          tensor = &leaves_.temporaries.back();
        }
        add(*tensor);
      }
      return true;
    }
    if (is_python_scalar(object)) {
      const PromotedType type = scalar_type(object);
      if (!(Aval(type.dtype, {}, type.weak) == expected)) return false;
    }
    if (!recording_) {
      if (const void* elements = elements_in_place(object, expected)) {
        keep(object);
        add_elements(const_cast<void*>(elements), expected);
        return true;
      }
    }
    if (const auto type = type_in_place(object); type && !(*type == expected)) return false;  // without a copy
    std::optional<Datum> datum = try_leaf(object);  // none: a container, or what tracing refuses
    if (!datum || !(datum_aval(*datum) == expected)) return false;
    if (recording_) {
      leaves_.data.push_back(*std::move(datum));
    } else {
      leaves_.temporaries.push_back(concrete(*datum));
      add(leaves_.temporaries.back());
    }
    return true;
  }

  void add(const Tensor& tensor) {
    place_ |= tensor.place();
    if (entry_.is_resident) {
      leaves_.tensors.push_back(tensor);
    } else {
      leaves_.pointers.push_back(tensor.data());
    }
  }

  // What the leaves' owners keep for as long as the call takes.
  void add_elements(void* elements, const Aval& aval) {
    if (entry_.is_resident) {
      leaves_.tensors.emplace_back(aval, Buffer::borrow(elements, static_cast<size_t>(aval.bytes()), [] {}));
    } else {
      leaves_.pointers.push_back(elements);
    }
  }

  const Entry& entry_;
  Leaves& leaves_;
  bool recording_;
  size_t node_ = 2;  // behind the nodes of (args, kwargs) and of args
  size_t leaf_ = 0;
  int place_ = kHostPlace;
};

// Positions given to jit may count from the end.
bool holds_position(const std::vector<Py_ssize_t>& positions, Py_ssize_t position, Py_ssize_t count) {
  for (Py_ssize_t candidate : positions) {
    if (candidate == position || candidate + count == position) return true;
  }
  return false;
}

bool is_static_name(const JitFunction* self, PyObject* name) {
  for (const std::string& candidate : *self->static_names) {
    if (PyUnicode_CompareWithASCIIString(name, candidate.c_str()) == 0) return true;
  }
  return false;
}

// Whether a leaf's path, "[1]['lr'][0]" say, is within a keyword argument that is donated.
bool is_donated_keyword(const JitFunction* self, std::string_view path) {
  return std::any_of(self->donated_names->begin(), self->donated_names->end(), [&](const std::string& name) {
    const std::string start = concat("[1]['", name, "']");
    return path.substr(0, start.size()) == start;
  });
}

// Equal, and of equal types, inside tuples as well: 1, 1.0 and True are equal, and so are 0.0 and -0.0, but what is
// computed with them may not be.
bool same_static(PyObject* expected, PyObject* actual) {
  if (expected == actual) return true;
  if (Py_TYPE(expected) != Py_TYPE(actual)) return false;
  if (PyTuple_CheckExact(expected)) {
    if (PyTuple_GET_SIZE(expected) != PyTuple_GET_SIZE(actual)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(expected); ++i) {
      if (!same_static(PyTuple_GET_ITEM(expected, i), PyTuple_GET_ITEM(actual, i))) return false;
    }
    return true;
  }
  if (PyFloat_CheckExact(expected) &&
      std::signbit(PyFloat_AS_DOUBLE(expected)) != std::signbit(PyFloat_AS_DOUBLE(actual))) {
    return false;
  }
  const int equal = PyObject_RichCompareBool(expected, actual, Py_EQ);
  if (equal < 0) throw py::error_already_set();
  return equal == 1;
}

}  // namespace

bool matches(const JitFunction* self, const Entry& entry, Leaves& leaves, bool recording, PyObject* const* args,
             Py_ssize_t count, PyObject* keyword_names) {
  leaves.clear();
  if (entry.config_version != config().version()) return false;
  const std::vector<TreeNode>& nodes = entry.tree->nodes;
  if (nodes[1].arity != static_cast<uint32_t>(count)) return false;
  Matcher matcher(entry, leaves, recording);
  size_t next_static = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!self->static_positions->empty() && holds_position(*self->static_positions, i, count)) {
      if (!same_static(entry.statics[next_static++].ptr(), args[i])) return false;
      matcher.skip_node();
    } else if (!matcher.node(args[i])) {
      return false;
    }
  }
  const TreeNode& keywords = nodes[1 + nodes[1].num_nodes];
  const Py_ssize_t keyword_count = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
  if (keywords.arity != static_cast<uint32_t>(keyword_count)) return false;
  matcher.skip_node();
  for (Py_ssize_t k = 0; k < keyword_count; ++k) {
    PyObject* key = PyList_GET_ITEM(keywords.keys.ptr(), k);
    PyObject* value = nullptr;
    for (Py_ssize_t j = 0; j < keyword_count && value == nullptr; ++j) {
      PyObject* name = PyTuple_GET_ITEM(keyword_names, j);
      if (name == key || PyUnicode_Compare(name, key) == 0) value = args[count + j];
    }
    if (value == nullptr) return false;
    if (is_static_name(self, key)) {
      if (!same_static(entry.statics[next_static++].ptr(), value)) return false;
      matcher.skip_node();
    } else if (!matcher.node(value)) {
      return false;
    }
  }
  return recording || !self->backend->empty() || matcher.place() == entry.place ||
         backend_for(matcher.place()) == entry.backend;
}

namespace {

int place_of(const Datum& datum) {
  const auto* tensor = std::get_if<Tensor>(&datum);
  return tensor == nullptr ? kHostPlace : tensor->place();
}

// Where the arguments are: of those that are not on the host, all in one place.
int place_of(absl::Span<const int> places, absl::Span<const std::string> paths, const std::string& name) {
  return common_place(
      places.size(), [&](size_t i) { return places[i]; }, [&](size_t i) { return paths[i]; },
      concat("arguments of ", name));
}

// Where a program runs whose arguments are in `place`: there too, or where the arrays are that it closes over.
int place_beside(int place, absl::Span<const Datum> closure, const std::string& name) {
  const size_t count = closure.size();
  return common_place(
      count + 1, [&](size_t i) { return i == 0 ? place : place_of(closure[i - 1]); },
      [&](size_t i) { return i == 0 ? "its arguments" : concat("array ", i, " of ", count, " that it closes over"); },
      concat("what ", name, " works on"));
}

// Lengths to compare in each call; whether later calls may use them. What a program computed itself is not compared.
bool add_comparisons(Entry& entry, const py::list& comparisons) {
  bool cacheable = true;
  for (py::handle item : comparisons) {
    const auto comparison = py::cast<py::tuple>(item);
    Entry::EqualLengths lengths;
    bool known = true, once = false;
    for (size_t side = 0; side < 2; ++side) {
      Entry::Length& length = side == 0 ? lengths.first : lengths.second;
      const py::object value = comparison[side];
      if (!is_array(value.ptr())) {
        length.leaf = py::cast<size_t>(value);
        continue;
      }
      length.closed_over = value;
      const auto* traced = std::get_if<Traced>(&array_contents(value.ptr()));
      known &= traced == nullptr || traced->capture->live();
      once |= traced != nullptr;
    }
    if (!known) continue;
    cacheable &= !once;
    lengths.check = comparison[2];
    entry.equal_lengths.push_back(std::move(lengths));
  }
  return cacheable;
}

// The entry of a call that nothing matched: captures the user's function.
EntryPtr make_entry(JitFunction* self, PyObject* const* args, Py_ssize_t count, PyObject* keyword_names,
                    bool& cacheable) {
  stop_at_the_end();
  const EntryPtr entry(new Entry);
  entry->config_version = config().version();
  entry->axes = named_axes();
  entry->keeps_lengths = keeps_lengths();
  py::tuple dynamic(count);
  const auto add_static = [&](PyObject* value) {
    if (PyObject_Hash(value) == -1) {
      PyErr_Clear();
      throw Error(ErrorKind::kValue, concat("static arguments must be hashable; got a ", Py_TYPE(value)->tp_name))
          .hint("pass tuples instead of lists, or make the argument dynamic")
          .see("static-argument-not-hashable");
    }
    entry->statics.push_back(py::reinterpret_borrow<py::object>(value));
  };
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (holds_position(*self->static_positions, i, count)) {
      add_static(args[i]);
      dynamic[static_cast<size_t>(i)] = py::none();
    } else {
      dynamic[static_cast<size_t>(i)] = py::reinterpret_borrow<py::object>(args[i]);
    }
  }
  py::dict keywords;
  py::dict static_keywords;
  const Py_ssize_t keyword_count = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
  py::list names;
  for (Py_ssize_t k = 0; k < keyword_count; ++k) names.append(py::handle(PyTuple_GET_ITEM(keyword_names, k)));
  names.attr("sort")();
  for (py::handle name : names) {
    for (Py_ssize_t k = 0; k < keyword_count; ++k) {
      if (!name.equal(py::handle(PyTuple_GET_ITEM(keyword_names, k)))) continue;
      PyObject* value = args[count + k];
      if (is_static_name(self, name.ptr())) {
        add_static(value);
        keywords[name] = py::none();
        static_keywords[name] = py::handle(value);
      } else {
        keywords[name] = py::handle(value);
      }
    }
  }
  std::vector<py::object> leaves;
  entry->tree = flatten(py::make_tuple(dynamic, keywords), leaves);
  const std::vector<std::string> paths = leaf_paths(*entry->tree);
  std::vector<int> places;
  py::list sources;
  for (size_t i = 0; i < leaves.size(); ++i) {
    // "[0][2]['w']" is leaf 'w' of positional argument 2; "[1]['lr']" is keyword lr.
    const bool positional = paths[i].substr(0, 3) == "[0]";
    const std::string path = (positional ? "args" : "kwargs") + paths[i].substr(3);
    std::optional<Aval> type = type_in_place(leaves[i].ptr());
    if (type) {
      places.push_back(kHostPlace);
    } else {
      const Datum datum = leaf_from_python(leaves[i], path + " of " + *self->name);
      places.push_back(place_of(datum));
      type = datum_aval(datum);
    }
    const Aval& aval = *type;
    entry->avals.push_back(aval);
    if (!self->donated_positions->empty() || !self->donated_names->empty()) {
      entry->donated.push_back(positional
                                   ? holds_position(*self->donated_positions, std::atoi(paths[i].c_str() + 4), count)
                                   : is_donated_keyword(self, paths[i]));
    }
    if (is_array(leaves[i].ptr())) {
      sources.append(leaves[i]);
      continue;
    }
    sources.append(py::make_tuple(py::tuple(py::cast(Ints(aval.shape().begin(), aval.shape().end()))),
                                  numpy_dtype(aval.dtype()), aval.weak()));
  }
  entry->place = place_of(places, paths, *self->name);
  py::list static_positions;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (holds_position(*self->static_positions, i, count))
      static_positions.append(py::make_tuple(i, py::handle(args[i])));
  }
  const py::tuple traced = py::cast<py::tuple>(py::handle(self->trace)(py::handle(self->function), dynamic, keywords,
                                                                       sources, static_positions, static_keywords));
  entry->graph = py::cast<GraphHandle&>(traced[0]).graph;
  cacheable = true;
  for (py::handle captured : py::list(traced[1])) {
    Datum datum = datum_from_python(captured);
    cacheable &= std::holds_alternative<Tensor>(datum);
    entry->captured.push_back(std::move(datum));
  }
  entry->backend = named_backend(*entry->graph, *self->backend, *self->name);
  if (entry->backend.empty()) entry->backend = backend_for(place_beside(entry->place, entry->captured, *self->name));
  const Backend* backend = find_backend(entry->backend);
  entry->is_resident = backend != nullptr && backend->device->place() != kHostPlace;
  std::vector<py::object> placeholders;
  entry->out_tree = flatten(traced[2], placeholders);
  entry->out_avals = entry->graph->output_avals();
  cacheable &= add_comparisons(*entry, py::cast<py::list>(traced[3]));
  return entry;
}

// Whether a leaf has ragged axes: then the program may depend on which, and it serves this call only.
bool any_ragged(absl::Span<const Datum> data) {
  for (const Datum& datum : data) {
    const auto* traced = std::get_if<Traced>(&datum);
    if (traced == nullptr || !traced->capture->live()) continue;
    for (const Value& length : traced->capture->lengths_of(traced->var)) {
      if (length) return true;
    }
  }
  return false;
}

// Equal for calls that one entry fits; none when a static argument cannot be hashed.
std::optional<uint64_t> hash_of_call(const JitFunction* self, PyObject* const* args, Py_ssize_t count,
                                     PyObject* keyword_names) {
  uint64_t hash = hash_combine(config().version(), static_cast<uint64_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const bool is_static = holds_position(*self->static_positions, i, count);
    const std::optional<uint64_t> part = is_static ? static_hash(args[i]) : signature_hash(args[i]);
    if (!part) return std::nullopt;
    hash = hash_combine(hash, *part);
  }
  // Keywords may come in any order.
  uint64_t sum = 0;
  const Py_ssize_t keyword_count = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
  for (Py_ssize_t k = 0; k < keyword_count; ++k) {
    PyObject* name = PyTuple_GET_ITEM(keyword_names, k);
    const std::optional<uint64_t> part =
        is_static_name(self, name) ? static_hash(args[count + k]) : signature_hash(args[count + k]);
    if (!part) return std::nullopt;
    sum += hash_combine(static_cast<uint64_t>(PyObject_Hash(name)), *part);
  }
  return hash_combine(hash, sum);
}

}  // namespace

EntryPtr find_entry(JitFunction* self, Leaves& leaves, bool recording, PyObject* const* args, Py_ssize_t count,
                    PyObject* keyword_names) {
  Entries& entries = *self->entries;
  std::vector<EntryPtr>& recent = entries.recent();
  // The one that fitted last time, outside of captures: without what only captures have, named axes and ragged ones.
  // Comparing may run Python code, and then other threads, which change the list: what is compared is held.
  if (!recording && !recent.empty() && recent[0]->axes.empty()) {
    EntryPtr entry = recent[0];
    if (matches(self, *entry, leaves, recording, args, count, keyword_names)) return entry;
  }
  const auto axes = named_axes();
  bool ragged = false;
  const auto fits = [&](const EntryPtr& entry) {
    if (ragged || entry->axes != axes || (recording && entry->keeps_lengths != keeps_lengths())) return false;
    if (!matches(self, *entry, leaves, recording, args, count, keyword_names)) return false;
    ragged = any_ragged(leaves.data);
    return !ragged;
  };
  for (size_t i = 0; i < recent.size(); ++i) {
    const EntryPtr entry = recent[i];
    if (!fits(entry)) continue;
    entries.use(entry);
    return entry;
  }
  const std::optional<uint64_t> hash = hash_of_call(self, args, count, keyword_names);
  if (hash) {
    for (const EntryPtr& entry : entries.with_hash(*hash)) {
      if (!fits(entry)) continue;
      entries.use(entry);
      return entry;
    }
  }
  bool cacheable = true;
  EntryPtr entry = make_entry(self, args, count, keyword_names, cacheable);
  if (!matches(self, *entry, leaves, recording, args, count, keyword_names)) {
    throw Error(ErrorKind::kInternal, "a call does not match the signature made from it");
  }
  if (hash && cacheable && !any_ragged(leaves.data)) entries.add(*hash, entry);
  return entry;
}

}  // namespace ct::python
