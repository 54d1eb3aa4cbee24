// The jitted callable, a hand-written CPython type with vectorcall.
//
// A call looks for the entry of its signature (signatures.cc), which hands it the pointers of the arguments' leaves,
// and runs the entry's compiled program on them and on results that are made before. A new entry is compiled first
// (compiled.cc).
//
// While a capture is live the call is recorded as one `call` equation of the same cached graph, so that grad(jit f) and
// vmap(jit f) trace the user's Python once.
#include <Python.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "jit/compile.h"
#include "python_bindings/gil.h"
#include "python_bindings/graph.h"
#include "python_bindings/jit_function.h"
#include "python_bindings/placement.h"
#include "python_bindings/slots.h"
#include "python_bindings/tracebacks.h"
#include "runtime/error.h"
#include "runtime/pool.h"
#include "transforms/higher_order/primitives.h"

namespace ct::python {
namespace {

py::object rebuild(const Entry& entry, absl::Span<py::object> outputs) {
  if (entry.out_tree->nodes.size() == 1 && entry.out_tree->num_leaves() == 1) return std::move(outputs[0]);
  return unflatten(*entry.out_tree, outputs);
}

py::object record(JitFunction* self, const EntryPtr& entry, Leaves& leaves) {
  for (const Entry::EqualLengths& lengths : entry->equal_lengths) {
    const auto array = [&](const Entry::Length& length) {
      return length.closed_over ? length.closed_over : array_object(leaves.data[length.leaf]);
    };
    lengths.check(array(lengths.first), array(lengths.second));
  }
  std::vector<Datum> operands = std::move(leaves.data);
  operands.insert(operands.end(), entry->captured.begin(), entry->captured.end());
  AttrsPtr attrs = Attrs::make({{"graph", entry->graph}, {"name", *self->name}});
  if (names_device(*self->backend)) attrs = attrs->with("backend", *self->backend);
  std::vector<py::object> outputs;
  for (Datum& datum : bind_with_location(kCall, operands, attrs)) outputs.push_back(array_object(std::move(datum)));
  return rebuild(*entry, absl::MakeSpan(outputs));
}

// Memory of donated arrays for the results that may be written over them, if nothing else refers to it. The arrays lose
// it before the program runs: other threads may have them, too.
void take_donations(const Entry& entry, const Leaves& leaves, absl::Span<Tensor> results) {
  const absl::Span<const int> donations = entry.loaded->plan().donations;
  absl::InlinedVector<void*, 16> pointers(leaves.pointers.begin(), leaves.pointers.end());
  std::sort(pointers.begin(), pointers.end());
  for (size_t i = 0; i < results.size(); ++i) {
    if (donations[i] < 0) continue;
    PyObject* object = leaves.arrays[static_cast<size_t>(donations[i])];
    auto* tensor = object == nullptr ? nullptr : std::get_if<Tensor>(&array_contents(object));
    if (tensor == nullptr || !*tensor || tensor->buffer().use_count() != 1 || !tensor->buffer()->may_be_overwritten())
      continue;
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

struct LengthView {
  const Aval& aval;
  const void* data;

  // An error may keep it for longer than the call.
  py::object copy() const {
    const Tensor tensor(aval);
    std::memcpy(tensor.data(), data, static_cast<size_t>(aval.bytes()));
    return array_object(tensor);
  }
};

LengthView view(const Entry::Length& length, const Entry& entry, const Leaves& leaves) {
  if (!length.closed_over) {
    const void* data = entry.is_resident ? leaves.tensors[length.leaf].data() : leaves.pointers[length.leaf];
    return {entry.avals[length.leaf], data};
  }
  const auto& tensor = std::get<Tensor>(array_datum(length.closed_over.ptr()));
  return {tensor.aval(), tensor.data()};
}

bool same_numbers(const LengthView& x, const LengthView& y) {
  if (x.aval.dtype() != DType::kInt32 || y.aval.dtype() != DType::kInt32) return false;
  const int64_t step_x = x.aval.rank() == 0 ? 0 : 1, step_y = y.aval.rank() == 0 ? 0 : 1;
  if (step_x == step_y && x.aval.shape() != y.aval.shape()) return false;
  const auto *first = static_cast<const int32_t*>(x.data), *second = static_cast<const int32_t*>(y.data);
  const int64_t size = (step_x == 0 ? y : x).aval.size();
  for (int64_t i = 0; i < size; ++i) {
    if (first[i * step_x] != second[i * step_y]) return false;
  }
  return true;
}

// Mostly they are equal; what is wrong with others, Python says.
void check_equal_lengths(const Entry& entry, const Leaves& leaves) {
  for (const Entry::EqualLengths& lengths : entry.equal_lengths) {
    const LengthView first = view(lengths.first, entry, leaves), second = view(lengths.second, entry, leaves);
    if (!same_numbers(first, second)) lengths.check(first.copy(), second.copy());
  }
}

// A donated array that only so many refer to, or null.
Tensor* donated_tensor(const Entry& entry, const Leaves& leaves, size_t leaf, int64_t references) {
  if (!entry.donated[leaf] || leaves.arrays[leaf] == nullptr) return nullptr;
  auto* tensor = std::get_if<Tensor>(&array_contents(leaves.arrays[leaf]));
  if (tensor == nullptr || !*tensor || tensor->buffer().use_count() != references) return nullptr;
  return tensor;
}

// Donated arrays on their way to results that may be written over them, if nothing but `inputs` refers to them
// besides. They lose their memory before the program runs: other threads may have them, too. By result: whether there
// is one.
std::vector<bool> take_resident_donations(const Entry& entry, const Leaves& leaves) {
  const absl::Span<const int> donations = entry.loaded->plan().donations;
  std::vector<bool> taken(donations.size());
  for (size_t i = 0; i < donations.size(); ++i) {
    if (donations[i] < 0) continue;
    Tensor* tensor = donated_tensor(entry, leaves, static_cast<size_t>(donations[i]), 2);
    if (tensor == nullptr) continue;
    *tensor = Tensor(tensor->aval(), nullptr);
    taken[i] = true;
  }
  return taken;
}

// Each other result of the type of a donated array that nothing else refers to ends that array, whose memory the device
// has back then.
void end_donated(const Entry& entry, const Leaves& leaves, const std::vector<bool>& taken) {
  for (size_t i = 0; i < entry.out_avals.size(); ++i) {
    const Aval& aval = entry.out_avals[i];
    for (size_t leaf = 0; leaf < leaves.arrays.size() && !taken[i]; ++leaf) {
      Tensor* tensor = donated_tensor(entry, leaves, leaf, 1);
      if (tensor == nullptr || tensor->dtype() != aval.dtype() || tensor->shape() != aval.shape()) continue;
      *tensor = Tensor(tensor->aval(), nullptr);
      break;
    }
  }
}

py::object execute_resident(const Entry& entry, Leaves& leaves) {
  std::vector<Tensor> inputs = std::move(leaves.tensors);
  for (const Datum& datum : entry.captured) inputs.push_back(std::get<Tensor>(datum));
  std::vector<Tensor> results;
  const bool checks = config().invalid().any();
  std::vector<bool> taken(entry.out_avals.size());
  // Who wants to know of NaN or infinities may need the arguments again.
  if (!entry.donated.empty() && !checks) taken = take_resident_donations(entry, leaves);
  const auto give_up_inputs = [&] {
    inputs.clear();
    if (!entry.donated.empty()) end_donated(entry, leaves, taken);
  };
  try {
    const WithoutInterpreter released;
    results = (*entry.loaded)(inputs);
  } catch (...) {
    give_up_inputs();  // as where results would have been written over them
    throw;
  }
  if (checks) check_results(*entry.graph, inputs, results);
  give_up_inputs();
  absl::InlinedVector<py::object, 32> arrays;
  for (Tensor& result : results) arrays.push_back(array_object(std::move(result)));
  return rebuild(entry, absl::MakeSpan(arrays));
}

py::object execute(JitFunction* self, const EntryPtr& entry, Leaves& leaves) {
  check_equal_lengths(*entry, leaves);
  if (entry->is_resident) return execute_resident(*entry, leaves);
  for (const Datum& datum : entry->captured) leaves.pointers.push_back(std::get<Tensor>(datum).data());
  // Who wants to know of NaN or infinities may need the arguments again.
  const bool checks = config().invalid().any();
  Results results(*entry, leaves, !entry->donated.empty() && !checks);
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
    entry->loaded->run(leaves.pointers.data(), results.pointers());
  } else {
    entry->loaded->run(leaves.pointers.data(), results.pointers());
  }
  if (checks) {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < leaves.pointers.size(); ++i) {
      const Aval& aval = entry->graph->aval(static_cast<Var>(i));
      inputs.emplace_back(aval, Buffer::borrow(leaves.pointers[i], static_cast<size_t>(aval.bytes()), [] {}));
    }
    check_results(*entry->graph, inputs, results.tensors());
  }
  return rebuild(*entry, results.arrays());
}

// What a function that is captured raises when it cannot be captured as it is, and what is called then: with the jitted
// function, its arguments and its keywords. Guarded by the GIL; null where nobody has set them.
PyObject* refusal = nullptr;
PyObject* after_refusal = nullptr;

PyObject* call_after_refusal(PyObject* object, PyObject* const* args, size_t flags, PyObject* keyword_names) {
  PyErr_Clear();
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    py::tuple positional(static_cast<size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) positional[static_cast<size_t>(i)] = py::handle(args[i]);
    py::dict keywords;
    const Py_ssize_t named = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
    for (Py_ssize_t i = 0; i < named; ++i) keywords[PyTuple_GET_ITEM(keyword_names, i)] = py::handle(args[count + i]);
    return py::handle(after_refusal)(py::handle(object), positional, keywords).release().ptr();
  });
}

PyObject* call_itself(PyObject* object, PyObject* const* args, size_t flags, PyObject* keyword_names) {
  auto* self = reinterpret_cast<JitFunction*>(object);
  if (config().disable_jit) return PyObject_Vectorcall(self->function, args, flags, keyword_names);
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    Leaves leaves;
    const bool recording = innermost_capture() != nullptr;
    EntryPtr entry = find_entry(self, leaves, recording, args, PyVectorcall_NARGS(flags), keyword_names);
    if (!entry->loaded && !recording) {
      // Meanwhile other threads may take memory from arrays among the arguments, or change containers.
      do {
        compile_entry(self, entry);
        if (matches(self, *entry, leaves, recording, args, PyVectorcall_NARGS(flags), keyword_names)) break;
        entry = find_entry(self, leaves, recording, args, PyVectorcall_NARGS(flags), keyword_names);
      } while (!entry->loaded);
    }
    return (recording ? record(self, entry, leaves) : execute(self, entry, leaves)).release().ptr();
  });
}

PyObject* call_substitute(PyObject* object, PyObject* const* args, size_t flags, PyObject* keyword_names) {
  const py::object substitute = py::reinterpret_borrow<py::object>(reinterpret_cast<JitFunction*>(object)->substitute);
  if (!substitute) return call_itself(object, args, flags, keyword_names);  // the collector has cleared it
  return PyObject_Vectorcall(substitute.ptr(), args, flags, keyword_names);
}

PyObject* call_jitted(PyObject* object, PyObject* const* args, size_t flags, PyObject* keyword_names) {
  PyObject* result = call_itself(object, args, flags, keyword_names);
  if (result != nullptr || refusal == nullptr || PyErr_ExceptionMatches(refusal) == 0) return result;
  return call_after_refusal(object, args, flags, keyword_names);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<JitFunction*>(object);
  Py_VISIT(self->function);
  Py_VISIT(self->trace);
  Py_VISIT(self->dict);
  Py_VISIT(self->substitute);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

int clear(PyObject* object) {
  auto* self = reinterpret_cast<JitFunction*>(object);
  Py_CLEAR(self->function);
  Py_CLEAR(self->trace);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->substitute);
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

// Its name; functions of exported libraries have a text of their arguments besides.
PyObject* represent(PyObject* object) {
  auto* self = reinterpret_cast<JitFunction*>(object);
  PyObject* arguments = self->dict == nullptr ? nullptr : PyDict_GetItemString(self->dict, "__text_signature__");
  if (arguments == nullptr || !PyUnicode_Check(arguments))
    return PyUnicode_FromFormat("<jitted %s>", self->name->c_str());
  return PyUnicode_FromFormat("<jitted %s%U>", self->name->c_str(), arguments);
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
  self->vectorcall = kLeaving<call_jitted>;
  self->function = function.release().ptr();
  self->trace = trace.release().ptr();
  self->dict = nullptr;
  self->weak_references = nullptr;
  self->substitute = nullptr;
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

}  // namespace

void register_jit(py::module_& module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(R"(A function compiled for every signature it is called with: what `ct.jit` returns.

Examples
--------
>>> f = ct.jit(lambda x: x + 1)
>>> isinstance(f, type(ct.jit(abs))), float(f(1.0))
(True, 2.0)
)")},
      {Py_tp_dealloc, slot(deallocate)},
      {Py_tp_repr, guarded_slot<represent>()},
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
  // Where capturing a jitted function raises an exception of this class, its call is handed to `handler`.
  module.def("set_jit_refusal", [](py::object exception, py::object handler) {
    Py_XSETREF(refusal, exception.release().ptr());
    Py_XSETREF(after_refusal, handler.release().ptr());
  });
  // From now on calls of the jitted function are calls of another one.
  module.def("substitute_jit", [](const py::object& jitted, py::object substitute) {
    auto* self = reinterpret_cast<JitFunction*>(jitted.ptr());
    Py_XSETREF(self->substitute, substitute.release().ptr());
    self->vectorcall = kLeaving<call_substitute>;
  });
  // What donation does to an array, on request.
  module.def("delete_array", [](const py::object& array) {
    if (auto* tensor = std::get_if<Tensor>(&array_contents(array.ptr()))) *tensor = Tensor(tensor->aval(), nullptr);
  });
  // An array of the same elements to which none of this happens with the first.
  module.def("share_array", [](const py::object& array) { return array_object(array_datum(array.ptr())); });
  // `x[i] = y`, by an array that has the elements after it. Nobody else's memory or program changes.
  module.def("become", [](const py::object& array, const py::object& other) { become(array.ptr(), other.ptr()); });
  // Whether the array was made by the function that is captured now, or outside of all captures where none is.
  module.def("is_own", [](const py::object& array) {
    return reinterpret_cast<ArrayObject*>(array.ptr())->made_in == innermost_capture_number();
  });
  module.def("is_deleted", [](const py::object& array) {
    const auto* tensor = std::get_if<Tensor>(&array_contents(array.ptr()));
    return tensor != nullptr && !*tensor;
  });
  register_compiled(module);
}

}  // namespace ct::python
