// What the files of the jitted callable share: the callable, and the signatures that it was called with.
//
// A `JitFunction` holds one `Entry` for each signature: the tree of its arguments, the aval of every leaf, the static
// arguments, and what was captured and compiled for them. jit.cc calls: start there. signatures.cc finds the entry of a
// call or makes it, compiled.cc compiles it.
#pragma once

#include <Python.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/compile.h"
#include "python_bindings/array.h"
#include "python_bindings/tree.h"

namespace ct::python {

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
  LoadedPtr loaded;  // made at the first call outside a capture
  bool releases_gil = false;
  std::string backend;        // that of the function, or of the place where the arrays among its arguments are
  int place = kHostPlace;     // of these
  bool is_resident = false;   // for a device that has memory of its own: called with tensors, not with pointers
  std::vector<bool> donated;  // by leaf; empty when none is
  // Lengths of ragged axes that the program takes for one.
  struct Length {
    size_t leaf = 0;
    py::object closed_over;  // instead of a leaf
  };
  struct EqualLengths {
    Length first, second;
    py::object check;  // (array, array): raises an error unless they are equal
  };
  std::vector<EqualLengths> equal_lengths;
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
  static constexpr size_t kMost = size_t{1} << 14;
  static constexpr size_t kMostRecent = 4;

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
    if (all_.size() >= kMost) forget_oldest();
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
  PyObject* trace;  // (function, args, kwargs, sources, statics) -> (Graph, captured, tree of the result, comparisons
                    // of lengths)
  PyObject* dict;   // __name__, __doc__, __wrapped__, attributes the user sets
  PyObject* weak_references;
  PyObject* substitute;  // what is called in its place; null: itself
  std::vector<Py_ssize_t>* static_positions;
  std::vector<std::string>* static_names;
  std::vector<Py_ssize_t>* donated_positions;
  std::vector<std::string>* donated_names;
  Entries* entries;
  std::string* backend;  // empty: that of the place where the arguments are
  std::string* name;
  int threads;  // at most; 0: as many as the process
};

// A call's leaves as the program and the recorder want them.
struct Leaves {
  absl::InlinedVector<void*, 32> pointers;
  std::vector<Tensor> tensors;                 // instead of pointers, for programs that are resident
  absl::InlinedVector<Tensor, 4> temporaries;  // of scalars, and of NumPy arrays that cannot be read in place
  std::vector<Datum> data;                     // filled only when recording
  absl::InlinedVector<py::object, 32> owners;  // of what is read, where it is not in the arguments' tuple
  // By leaf, null for what is no array; filled when some are donated, or other threads can run with the program.
  std::vector<PyObject*> arrays;

  void clear() {
    pointers.clear();
    tensors.clear();
    temporaries.clear();
    data.clear();
    owners.clear();
    arrays.clear();
  }
};

// ---- signatures.cc -----------------------------------------------------------------------------------------------
// Whether a call fits an entry; its leaves are then in `leaves`. `recording`: while something is captured.
bool matches(const JitFunction* self, const Entry& entry, Leaves& leaves, bool recording, PyObject* const* args,
             Py_ssize_t count, PyObject* keyword_names);
// The entry that fits, or a new one.
EntryPtr find_entry(JitFunction* self, Leaves& leaves, bool recording, PyObject* const* args, Py_ssize_t count,
                    PyObject* keyword_names);

// ---- compiled.cc -------------------------------------------------------------------------------------------------
void compile_entry(JitFunction* self, const EntryPtr& entry);
// debug_nans, debug_infs: throws when a result holds such a number, with the operation that made it. Runs the program
// once more, slowly.
void check_results(const Graph& graph, absl::Span<const Tensor> inputs, absl::Span<const Tensor> results);
void register_compiled(py::module_& module);

}  // namespace ct::python
