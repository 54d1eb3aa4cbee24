// The jitted callable, a hand-written CPython type with vectorcall.
//
// A `JitFunction` holds one `Entry` for each signature it was called with: the tree of its arguments, the aval of every
// leaf, the static arguments. A call walks an entry's tree alongside the actual arguments (`Matcher`), which checks the
// structure and collects the leaves' pointers without building anything; the last entry that matched is tried first.
// No match: the Python function `trace` captures the user's function once, and the graph is compiled.
//
// While a capture is live the call is recorded as one `call` equation of the same cached graph, so that grad(jit f) and
// vmap(jit f) trace the user's Python once.
#include <Python.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "device/cpu/pool.h"
#include "interpreter/evaluate.h"
#include "ir/hash.h"
#include "ir/interrupt.h"
#include "ir/lengths.h"
#include "ir/primitive.h"
#include "ir/process.h"
#include "ir/text.h"
#include "jit/compile.h"
#include "python_bindings/array.h"
#include "python_bindings/gil.h"
#include "python_bindings/graph.h"
#include "python_bindings/signature_hash.h"
#include "python_bindings/slots.h"
#include "python_bindings/tree.h"
#include "transforms/find_nan.h"
#include "transforms/higher_order/custom_rule.h"
#include "transforms/higher_order/primitives.h"

namespace ct::python {
namespace {

// What takes less time than this is done before another thread could have made use of the GIL.
constexpr int64_t kReleaseGilNanoseconds = 5'000;
constexpr size_t kMostEntries = size_t{1} << 14;
constexpr size_t kMostRecent = 4;

struct Entry {
  int references = 0;
  TreeDefPtr tree;          // of (args, kwargs), static arguments as None
  std::vector<Aval> avals;  // of the leaves
  std::vector<py::object> statics;
  uint64_t config_version = 0;
  std::vector<std::pair<std::string, int64_t>> axes;  // that collectives could name
  bool keeps_lengths = false;                         // captured inside of a mask
  GraphPtr graph;
  std::vector<Datum> captured;  // values of the extra inputs
  TreeDefPtr out_tree;
  std::vector<Aval> out_avals;
  std::shared_ptr<const Executable> executable;  // made at the first call outside a capture
  bool releases_gil = false;
  std::vector<bool> donated;  // by leaf; empty when none is
};

// Counts with the GIL held, so without atomic operations, which would be a tenth of a small call.
class EntryPtr {
 public:
  EntryPtr() = default;
  explicit EntryPtr(Entry* entry) : entry_(entry) { ++entry_->references; }
  EntryPtr(const EntryPtr& other) : entry_(other.entry_) {
    if (entry_ != nullptr) ++entry_->references;
  }
  EntryPtr(EntryPtr&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  EntryPtr& operator=(EntryPtr other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~EntryPtr() {
    if (entry_ != nullptr && --entry_->references == 0) delete entry_;
  }

  Entry& operator*() const { return *entry_; }
  Entry* operator->() const { return entry_; }
  bool operator==(const EntryPtr& other) const = default;

 private:
  Entry* entry_ = nullptr;
};

// The entries of a function: those that fitted lately, the last first, to be compared with a call one by one; and all
// of them by the hash of the calls that they fit. The oldest go when there are too many.
class Entries {
 public:
  std::vector<EntryPtr>& recent() { return recent_; }
  size_t size() const { return all_.size(); }

  // Copies: comparing may run Python code, and then other threads, which add entries.
  std::vector<EntryPtr> with_hash(uint64_t hash) const {
    std::vector<EntryPtr> found;
    const auto [first, last] = all_.equal_range(hash);
    for (auto at = first; at != last; ++at) found.push_back(at->second);
    return found;
  }
  void add(uint64_t hash, const EntryPtr& entry) {
    if (all_.size() >= kMostEntries) forget_oldest();
    all_.emplace(hash, entry);
    by_age_.emplace_back(hash, entry);
    use(entry);
  }
  // Moves an entry to the front of the recent ones.
  void use(const EntryPtr& entry) {
    auto at = std::find(recent_.begin(), recent_.end(), entry);
    if (at == recent_.end()) {
      if (recent_.size() >= kMostRecent) recent_.pop_back();
      at = recent_.insert(recent_.end(), entry);
    }
    std::rotate(recent_.begin(), at, at + 1);
  }
  void clear() {
    recent_.clear();
    by_age_.clear();
    all_.clear();
  }

 private:
  void forget_oldest() {
    const auto [hash, entry] = by_age_.front();
    by_age_.pop_front();
    const auto [first, last] = all_.equal_range(hash);
    const auto at = std::find_if(first, last, [&](const auto& each) { return each.second == entry; });
    if (at != last) all_.erase(at);
    std::erase(recent_, entry);
  }

  std::vector<EntryPtr> recent_;
  std::unordered_multimap<uint64_t, EntryPtr> all_;
  std::deque<std::pair<uint64_t, EntryPtr>> by_age_;
};

struct JitFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* trace;  // (function, args, kwargs, sources, statics) -> (Graph, captured, PyTreeDef, cacheable)
  PyObject* dict;   // __name__, __doc__, __wrapped__, attributes the user sets
  PyObject* weak_references;
  std::vector<Py_ssize_t>* static_positions;
  std::vector<std::string>* static_names;
  std::vector<Py_ssize_t>* donated_positions;
  std::vector<std::string>* donated_names;
  Entries* entries;
  std::string* backend;
  std::string* name;
  int threads;  // at most; 0: as many as the process
};

// A call's leaves as the executable and the recorder want them.
struct Leaves {
  absl::InlinedVector<void*, 32> pointers;
  absl::InlinedVector<Tensor, 4> temporaries;  // of scalars and NumPy arrays
  std::vector<Datum> data;                     // filled only when recording
  absl::InlinedVector<py::object, 32> owners;  // children of containers that are not in the arguments' tuple
  // By leaf, null for what is no array; filled when some are donated, or other threads can run with the program.
  std::vector<PyObject*> arrays;

  void clear() {
    pointers.clear();
    temporaries.clear();
    data.clear();
    owners.clear();
    arrays.clear();
  }
};

class Matcher {
 public:
  Matcher(const Entry& entry, Leaves& leaves, bool recording) : entry_(entry), leaves_(leaves), recording_(recording) {}

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
      case NodeKind::kCustom:
        return general(object, node);
    }
    return false;
  }

 private:
  // Children of lists and dictionaries: a container's Python code, or another thread while the program runs, may take
  // them out.
  PyObject* keep(PyObject* child) {
    leaves_.owners.push_back(py::reinterpret_borrow<py::object>(child));
    return child;
  }

  // Containers that only Python can open: flattened afresh and compared with the sub-tree.
  bool general(PyObject* object, const TreeNode& node) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != node.type.ptr()) return false;
    const size_t begin = node_ - 1;
    std::vector<py::object> parts;
    const TreeDefPtr tree = flatten(object, parts);
    if (tree->nodes.size() != node.num_nodes) return false;
    TreeDef expected;
    expected.nodes.assign(entry_.tree->nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                          entry_.tree->nodes.begin() + static_cast<std::ptrdiff_t>(begin + node.num_nodes));
    if (!(expected == *tree)) return false;
    node_ = begin + node.num_nodes;
    for (py::object& part : parts) {
      if (!leaf(keep(part.ptr()))) return false;
    }
    return true;
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
        leaves_.pointers.push_back(tensor->data());
      }
      return true;
    }
    if (is_python_scalar(object)) {
      const PromotedType type = scalar_type(object);
      if (!(Aval(type.dtype, {}, type.weak) == expected)) return false;
    }
    std::optional<Datum> datum = try_leaf(object);  // none: a container, or what tracing refuses
    if (!datum || !(datum_aval(*datum) == expected)) return false;
    if (recording_) {
      leaves_.data.push_back(*std::move(datum));
    } else {
      leaves_.temporaries.push_back(concrete(*datum));
      leaves_.pointers.push_back(leaves_.temporaries.back().data());
    }
    return true;
  }

  const Entry& entry_;
  Leaves& leaves_;
  bool recording_;
  size_t node_ = 0;
  size_t leaf_ = 0;

  friend bool matches(const JitFunction*, const Entry&, Leaves&, bool, PyObject* const*, Py_ssize_t, PyObject*);
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

bool matches(const JitFunction* self, const Entry& entry, Leaves& leaves, bool recording, PyObject* const* args,
             Py_ssize_t count, PyObject* keyword_names) {
  leaves.clear();
  if (entry.config_version != config().version()) return false;
  const std::vector<TreeNode>& nodes = entry.tree->nodes;
  if (nodes[1].arity != static_cast<uint32_t>(count)) return false;
  Matcher matcher(entry, leaves, recording);
  matcher.node_ = 2;
  size_t next_static = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!self->static_positions->empty() && holds_position(*self->static_positions, i, count)) {
      if (!same_static(entry.statics[next_static++].ptr(), args[i])) return false;
      ++matcher.node_;
    } else if (!matcher.node(args[i])) {
      return false;
    }
  }
  const TreeNode& keywords = nodes[1 + nodes[1].num_nodes];
  const Py_ssize_t keyword_count = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
  if (keywords.arity != static_cast<uint32_t>(keyword_count)) return false;
  ++matcher.node_;
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
      ++matcher.node_;
    } else if (!matcher.node(value)) {
      return false;
    }
  }
  return true;
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
          .hint("pass tuples instead of lists, or make the argument dynamic");
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
  py::list sources;
  for (size_t i = 0; i < leaves.size(); ++i) {
    // "[0][2]['w']" is leaf 'w' of positional argument 2; "[1]['lr']" is keyword lr.
    const bool positional = paths[i].substr(0, 3) == "[0]";
    const std::string path = (positional ? "args" : "kwargs") + paths[i].substr(3);
    const Datum datum = leaf_from_python(leaves[i], path + " of " + *self->name);
    const Aval aval = datum_aval(datum);
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
  std::vector<py::object> placeholders;
  entry->out_tree = flatten(traced[2], placeholders);
  entry->out_avals = entry->graph->output_avals();
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

// The entry that fits, or a new one.
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

py::object rebuild(const Entry& entry, absl::Span<py::object> outputs) {
  if (entry.out_tree->nodes.size() == 1 && entry.out_tree->num_leaves() == 1) return std::move(outputs[0]);
  return unflatten(*entry.out_tree, outputs);
}

py::object record(JitFunction* self, const EntryPtr& entry, Leaves& leaves) {
  std::vector<Datum> operands = std::move(leaves.data);
  operands.insert(operands.end(), entry->captured.begin(), entry->captured.end());
  const AttrsPtr attrs = Attrs::make({{"graph", entry->graph}, {"name", *self->name}});
  std::vector<py::object> outputs;
  for (Datum& datum : bind_with_location(kCall, operands, attrs)) outputs.push_back(array_object(std::move(datum)));
  return rebuild(*entry, absl::MakeSpan(outputs));
}

// What could not be compiled, as the kind of error that it was.
[[noreturn]] void throw_status(const absl::Status& status, const std::string& what) {
  ErrorKind kind = ErrorKind::kValue;
  if (status.code() == absl::StatusCode::kUnimplemented) kind = ErrorKind::kUnsupported;
  if (status.code() == absl::StatusCode::kResourceExhausted) kind = ErrorKind::kMemory;
  throw Error(kind, concat(what, " failed: ", std::string_view(status.message().data(), status.message().size())));
}

// While other threads go on.
absl::StatusOr<std::shared_ptr<const Executable>> compile_released(const GraphPtr& graph,
                                                                   const CompileOptions& options = {}) {
  const WithoutInterpreter released;
  return compile(graph, options);
}

void compile_entry(JitFunction* self, const EntryPtr& entry) {
  CompileOptions options;
  options.backend = *self->backend;
  options.donated = entry->donated;
  auto executable = compile_released(entry->graph, options);
  if (!executable.ok()) throw_status(executable.status(), "compiling " + *self->name);
  entry->executable = *executable;
  entry->releases_gil = entry->executable->nanoseconds() >= kReleaseGilNanoseconds;
}

// debug_nans: throws when a result holds a NaN, with the operation that made it. Runs the program once more, slowly.
void check_nans(const Graph& graph, absl::Span<const Tensor> inputs, absl::Span<const Tensor> results) {
  if (std::none_of(results.begin(), results.end(), has_nan)) return;
  if (const auto origin = find_nan(graph, inputs)) throw nan_error(*origin, &graph);
}

// Memory of donated arrays for the results that may be written over them, if nothing else refers to it. The arrays lose
// it before the program runs: other threads may have them, too.
void take_donations(const Entry& entry, const Leaves& leaves, absl::Span<Tensor> results) {
  const absl::Span<const int> donations = entry.executable->donations();
  absl::InlinedVector<void*, 16> pointers(leaves.pointers.begin(), leaves.pointers.end());
  std::sort(pointers.begin(), pointers.end());
  for (size_t i = 0; i < results.size(); ++i) {
    if (donations[i] < 0) continue;
    PyObject* object = leaves.arrays[static_cast<size_t>(donations[i])];
    auto* tensor = object == nullptr ? nullptr : std::get_if<Tensor>(&array_contents(object));
    if (tensor == nullptr || !*tensor || tensor->buffer().use_count() != 1 || tensor->buffer()->borrowed()) continue;
    const auto [first, last] = std::equal_range(pointers.begin(), pointers.end(), tensor->data());
    if (last - first != 1) continue;  // another argument is the same array
    results[i] = tensor->reinterpret(entry.out_avals[i]);
    *tensor = Tensor(tensor->aval(), nullptr);
  }
}

// Results as Python objects, before the program writes them; those that were donated memory are in it.
class Results {
 public:
  Results(const Entry& entry, const Leaves& leaves, bool donates) {
    absl::InlinedVector<Tensor, 8> donated;
    if (donates) {
      donated.resize(entry.out_avals.size());
      take_donations(entry, leaves, absl::MakeSpan(donated));
    }
    for (size_t i = 0; i < entry.out_avals.size(); ++i) {
      void* data = nullptr;
      PyObject* array = nullptr;
      if (donates && donated[i]) {
        data = donated[i].data();
        array = make_array(std::move(donated[i]));
      } else {
        array = make_unwritten_array(entry.out_avals[i], data);
      }
      if (array == nullptr) throw py::error_already_set();
      arrays_.push_back(py::reinterpret_steal<py::object>(array));
      pointers_.push_back(data);
    }
  }

  void* const* pointers() const { return pointers_.data(); }
  absl::Span<py::object> arrays() { return absl::MakeSpan(arrays_); }
  std::vector<Tensor> tensors() const {
    std::vector<Tensor> tensors;
    for (const py::object& array : arrays_) tensors.push_back(std::get<Tensor>(array_contents(array.ptr())));
    return tensors;
  }

 private:
  absl::InlinedVector<py::object, 32> arrays_;
  absl::InlinedVector<void*, 32> pointers_;
};

py::object execute(JitFunction* self, const EntryPtr& entry, Leaves& leaves) {
  for (const Datum& datum : entry->captured) leaves.pointers.push_back(std::get<Tensor>(datum).data());
  // debug_nans may want the arguments again.
  const bool debug_nans = config().debug_nans;
  Results results(*entry, leaves, !entry->donated.empty() && !debug_nans);
  std::optional<ThreadLimit> limit;
  if (self->threads != 0) limit.emplace(self->threads);
  if (entry->releases_gil) {
    // Another thread may donate an array that this program reads.
    absl::InlinedVector<Tensor, 8> read;
    for (PyObject* array : leaves.arrays) {
      if (array == nullptr) continue;
      if (const auto* tensor = std::get_if<Tensor>(&array_contents(array))) read.push_back(*tensor);
    }
    const WithoutInterpreter released;
    entry->executable->run(leaves.pointers.data(), results.pointers());
  } else {
    entry->executable->run(leaves.pointers.data(), results.pointers());
  }
  if (debug_nans) {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < leaves.pointers.size(); ++i) {
      const Aval& aval = entry->graph->aval(static_cast<Var>(i));
      inputs.emplace_back(aval, Buffer::borrow(leaves.pointers[i], static_cast<size_t>(aval.bytes()), [] {}));
    }
    check_nans(*entry->graph, inputs, results.tensors());
  }
  return rebuild(*entry, results.arrays());
}

PyObject* call_jitted(PyObject* object, PyObject* const* args, size_t flags, PyObject* keyword_names) {
  auto* self = reinterpret_cast<JitFunction*>(object);
  if (config().disable_jit) return PyObject_Vectorcall(self->function, args, flags, keyword_names);
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    Leaves leaves;
    const bool recording = innermost_capture() != nullptr;
    EntryPtr entry = find_entry(self, leaves, recording, args, PyVectorcall_NARGS(flags), keyword_names);
    if (!entry->executable && !recording) {
      // Meanwhile other threads may take memory from arrays among the arguments, or change containers.
      do {
        compile_entry(self, entry);
        if (matches(self, *entry, leaves, recording, args, PyVectorcall_NARGS(flags), keyword_names)) break;
        entry = find_entry(self, leaves, recording, args, PyVectorcall_NARGS(flags), keyword_names);
      } while (!entry->executable);
    }
    return (recording ? record(self, entry, leaves) : execute(self, entry, leaves)).release().ptr();
  });
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<JitFunction*>(object);
  Py_VISIT(self->function);
  Py_VISIT(self->trace);
  Py_VISIT(self->dict);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

int clear(PyObject* object) {
  auto* self = reinterpret_cast<JitFunction*>(object);
  Py_CLEAR(self->function);
  Py_CLEAR(self->trace);
  Py_CLEAR(self->dict);
  return 0;
}

void deallocate(PyObject* object) {
  auto* self = reinterpret_cast<JitFunction*>(object);
  PyObject_GC_UnTrack(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  clear(object);
  delete self->static_positions;
  delete self->static_names;
  delete self->donated_positions;
  delete self->donated_names;
  delete self->entries;
  delete self->backend;
  delete self->name;
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* bind_method(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

PyObject* cache_size(PyObject* object, PyObject*) {
  return PyLong_FromSize_t(reinterpret_cast<JitFunction*>(object)->entries->size());
}
PyObject* clear_entries(PyObject* object, PyObject*) {
  reinterpret_cast<JitFunction*>(object)->entries->clear();
  Py_RETURN_NONE;
}

// The cached graph of a call with these arguments, its captured values and its output structure: for export and
// printing.
PyObject* lower(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keyword_names) {
  auto* self = reinterpret_cast<JitFunction*>(object);
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    Leaves leaves;
    const EntryPtr entry = find_entry(self, leaves, true, args, count, keyword_names);
    py::list captured;
    for (const Datum& datum : entry->captured) captured.append(array_object(datum));
    return py::make_tuple(GraphHandle{entry->graph}, captured).release().ptr();
  });
}

PyMethodDef methods[] = {
    {"_cache_size", kGuarded<cache_size>, METH_NOARGS, "Number of signatures this function was traced for."},
    {"clear_cache", kGuarded<clear_entries>, METH_NOARGS, "Forgets every signature."},
    {"_lower", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(kGuarded<lower>)), METH_FASTCALL | METH_KEYWORDS,
     "The graph and captured values of a call with these arguments."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(JitFunction, vectorcall), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(JitFunction, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(JitFunction, weak_references), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef getters[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                         {nullptr, nullptr, nullptr, nullptr, nullptr}};

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

PyTypeObject* jit_type = nullptr;

py::object make_jit(py::object function, py::object trace, std::vector<Py_ssize_t> static_positions,
                    std::vector<std::string> static_names, std::vector<Py_ssize_t> donated,
                    std::vector<std::string> donated_names, std::string name, std::string backend, int threads) {
  PyObject* object = jit_type->tp_alloc(jit_type, 0);
  if (object == nullptr) throw py::error_already_set();
  auto* self = reinterpret_cast<JitFunction*>(object);
  self->vectorcall = kGuarded<call_jitted>;
  self->function = function.release().ptr();
  self->trace = trace.release().ptr();
  self->dict = nullptr;
  self->weak_references = nullptr;
  self->static_positions = new std::vector<Py_ssize_t>(std::move(static_positions));
  self->static_names = new std::vector<std::string>(std::move(static_names));
  self->donated_positions = new std::vector<Py_ssize_t>(std::move(donated));
  self->donated_names = new std::vector<std::string>(std::move(donated_names));
  self->entries = new Entries;
  self->name = new std::string(std::move(name));
  self->backend = new std::string(std::move(backend));
  self->threads = threads;
  return py::reinterpret_steal<py::object>(object);
}

// While other threads go on, if it takes long.
std::vector<Tensor> evaluate_released(const Graph& graph, absl::Span<const Tensor> inputs) {
  constexpr int64_t kManyElements = 100'000;
  int64_t elements = 0;
  bool loops = false;
  for (Var var = 0; var < graph.num_vars() && elements < kManyElements; ++var) elements += graph.aval(var).size();
  for (const Equation& equation : graph.equations()) {
    loops =
        loops || equation.primitive->lowering == Lowering::kWhile || equation.primitive->lowering == Lowering::kScan;
  }
  const Interruptible scope;
  std::optional<WithoutInterpreter> released;
  if (loops || elements >= kManyElements) released.emplace();
  const Working computes(Work::kCompute);
  return evaluate(graph, inputs);
}

// Eager transformed functions (grad(f)(x) in a loop) run here: interpreted the first time, compiled from the second on.
std::vector<Tensor> run_or_compile(const GraphPtr& captured, absl::Span<const Tensor> inputs) {
  const GraphPtr graph = without_rules(captured);
  struct Warm {
    GraphPtr graph;
    int calls = 0;
    std::shared_ptr<const Executable> executable;
  };
  constexpr size_t kCapacity = 1024;
  static auto* known = new std::unordered_map<uint64_t, std::shared_ptr<Warm>>;  // guarded by the GIL
  if (known->size() >= kCapacity && !known->count(graph->hash())) known->clear();
  std::shared_ptr<Warm>& slot = (*known)[graph->hash()];
  if (!slot || !same_graph(*slot->graph, *graph)) slot = std::make_shared<Warm>(Warm{graph, 0, nullptr});
  // The table may change while callbacks or rules written in Python run.
  const std::shared_ptr<Warm> warm = slot;
  if (warm->calls++ == 0) return evaluate_released(*graph, inputs);
  if (!warm->executable) {
    auto executable = compile_released(graph);
    // What cannot be compiled (a host-only operation) is interpreted every time.
    if (!executable.ok()) return evaluate_released(*graph, inputs);
    warm->executable = *executable;
  }
  const std::shared_ptr<const Executable> executable = warm->executable;
  std::optional<WithoutInterpreter> released;
  if (executable->nanoseconds() >= kReleaseGilNanoseconds) released.emplace();
  return (*executable)(inputs);
}

std::vector<Tensor> run_warming_up(const GraphPtr& graph, absl::Span<const Tensor> inputs) {
  std::vector<Tensor> results =
      config().disable_jit ? evaluate_released(*graph, inputs) : run_or_compile(graph, inputs);
  if (config().debug_nans) check_nans(*graph, inputs, results);
  return results;
}

struct ExecutableHandle {
  std::shared_ptr<const Executable> executable;
};

}  // namespace

void register_jit(py::module_& module) {
  PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("A function compiled for every signature it is called with.")},
                         {Py_tp_dealloc, slot(deallocate)},
                         {Py_tp_traverse, slot(traverse)},
                         {Py_tp_clear, slot(clear)},
                         {Py_tp_call, slot(PyVectorcall_Call)},
                         {Py_tp_descr_get, guarded_slot<bind_method>()},
                         {Py_tp_methods, methods},
                         {Py_tp_members, members},
                         {Py_tp_getset, getters},
                         {0, nullptr}};
  PyType_Spec spec = {
      "cotangent.JitFunction", sizeof(JitFunction), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  jit_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (jit_type == nullptr) throw py::error_already_set();
  module.attr("JitFunction") = py::handle(reinterpret_cast<PyObject*>(jit_type));
  module.def("make_jit", make_jit);
  // What donation does to an array, on request.
  module.def("delete_array", [](const py::object& array) {
    if (auto* tensor = std::get_if<Tensor>(&array_contents(array.ptr()))) *tensor = Tensor(tensor->aval(), nullptr);
  });
  // An array of the same memory that neither of these happens to with the first; what is traced has none.
  module.def("share_array", [](const py::object& array) {
    const auto* tensor = std::get_if<Tensor>(&array_contents(array.ptr()));
    if (tensor == nullptr) return array;
    if (!*tensor) throw_donated(tensor->aval());
    return array_object(Tensor(*tensor));
  });
  module.def("is_deleted", [](const py::object& array) {
    const auto* tensor = std::get_if<Tensor>(&array_contents(array.ptr()));
    return tensor != nullptr && !*tensor;
  });
  set_eager_graph_runner(run_warming_up);

  py::class_<ExecutableHandle>(module, "Executable", "A compiled graph.")
      .def("__call__",
           [](const ExecutableHandle& self, const py::list& operands) {
             std::vector<Tensor> inputs;
             for (py::handle operand : operands) {
               Datum datum = datum_from_python(operand);
               // Its value, where it has one, would carry no derivative.
               if (!std::holds_alternative<Tensor>(datum)) {
                 throw Error(ErrorKind::kType, "compiled code takes values, not what a transform traces")
                     .hint("transform the function that was compiled");
               }
               inputs.push_back(std::get<Tensor>(std::move(datum)));
             }
             py::list result;
             for (Tensor& output : (*self.executable)(inputs)) result.append(array_object(std::move(output)));
             return result;
           })
      .def("loop_text", [](const ExecutableHandle& self) { return loop_text(*self.executable); })
      .def_property_readonly("arena_bytes",
                             [](const ExecutableHandle& self) { return self.executable->arena_bytes(); });
  module.def(
      "compile_graph",
      [](const GraphHandle& handle, const std::string& backend, const std::string& cpu, bool use_disk_cache) {
        CompileOptions options;
        options.backend = backend;
        options.cpu = cpu;
        options.use_disk_cache = use_disk_cache;
        const GraphPtr graph = handle.graph;
        auto executable = compile_released(graph, options);
        if (!executable.ok()) throw_status(executable.status(), "compiling");
        return ExecutableHandle{*executable};
      },
      py::arg("graph"), py::arg("backend") = "llvm", py::arg("cpu") = "", py::arg("use_disk_cache") = true);
}

}  // namespace ct::python
