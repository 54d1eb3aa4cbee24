// The type `Array`, written against the CPython API because every operation passes through it.
//
// Slots here are the ones whose cost matters: arithmetic, comparison, attributes, bool/float/int. Everything else
// (methods, indexing, matmul, power) is attached to the type by the Python package, which may assign to it.
#include "python_bindings/array.h"

#include <cstddef>
#include <utility>

#include "python_bindings/array_documentation.h"
#include "python_bindings/indexing.h"
#include "python_bindings/operands.h"
#include "python_bindings/slots.h"
#include "python_bindings/tracebacks.h"
#include "python_bindings/views.h"
#include "runtime/text.h"

namespace ct::python {

PyTypeObject* array_type = nullptr;
PyTypeObject* traced_type = nullptr;

void throw_donated(const Aval& aval) {
  const std::string message =
      concat("this array of type ", aval.to_string(),
             " was deleted, or donated to a jitted function (donate_argnums), which wrote a result over it"
             "\n  use the function's result instead, or pass a copy: f(ct.numpy.copy(x))"
             "\n  see docs/errors.md#deleted-array");
  PyErr_SetString(py::module_::import("cotangent.errors").attr("DeletedArrayError").ptr(), message.c_str());
  throw py::error_already_set();
}

namespace {

// (array, ragged axes) -> shape tuple with symbolic sizes, and symbolic number of elements; of mask captures.
PyObject* shape_hook = nullptr;
PyObject* size_hook = nullptr;

const Primitive* primitive(const char* name) { return &get_primitive(name); }

PyObject* unary(const Primitive* op, PyObject* self) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    const Datum* operand = &array_datum(self);
    return make_array(bind1_with_location(*op, {&operand, 1}));
  });
}

template <const char* kName, Promotion kPromotion>
PyObject* binary_slot(PyObject* left, PyObject* right) {
  static const Primitive* op = primitive(kName);
  return bind_operator(*op, left, right, kPromotion);
}
template <const char* kName>
PyObject* unary_slot(PyObject* self) {
  static const Primitive* op = primitive(kName);
  return unary(op, self);
}

constexpr char kAddName[] = "add", kSubName[] = "sub", kMulName[] = "mul", kDivName[] = "div", kAndName[] = "and",
               kOrName[] = "or", kXorName[] = "xor", kNegName[] = "neg", kNotName[] = "not", kShlName[] = "shift_left";

PyObject* right_shift(PyObject* left, PyObject* right) {
  static const Primitive* arithmetic = primitive("shift_right_arithmetic");
  static const Primitive* logical = primitive("shift_right_logical");
  bool is_unsigned = false;
  const int known = guarded(-1, [&] {
    Operand a, b;
    if (answers_operators(right) || !read_operand(left, a) || !read_operand(right, b)) return 0;
    is_unsigned = is_unsigned_integer(promote_types(a.type, b.type).dtype);
    return 1;
  });
  if (known < 0) return nullptr;
  if (known == 0) return bind_operator(*logical, left, right, Promotion::kJoin);  // says so
  return bind_operator(is_unsigned ? *logical : *arithmetic, left, right, Promotion::kJoin);
}

// An array of its own, of the same memory; what is traced has none.
PyObject* positive(PyObject* self) { return array_object(array_datum(self)).release().ptr(); }
// Bools are their own, as with NumPy.
PyObject* absolute(PyObject* self) {
  static const Primitive* op = primitive("abs");
  return datum_aval(array_datum(self)).dtype() == DType::kBool ? positive(self) : unary(op, self);
}

// Random keys are equal when their bits are; they have no order.
Datum comparable(const Datum& x, int op) {
  if (datum_aval(x).dtype() != DType::kKey || (op != Py_EQ && op != Py_NE)) return x;
  static const Primitive* bitcast = primitive("bitcast");
  return bind_with_location(*bitcast, {&x, 1}, Attrs::make({{"dtype", DType::kUInt64}}))[0];
}

bool holds_complex(PyObject* object) {
  if (is_array(object)) return is_complex(datum_aval(array_datum(object)).dtype());
  if (py::isinstance<py::array>(object)) return py::reinterpret_borrow<py::array>(object).dtype().kind() == 'c';
  return PyComplex_Check(object);
}

// Complex numbers are ordered by their real, then their imaginary part: a composition, which Python has.
PyObject* compare_complex(PyObject* left, PyObject* right, int op) {
  static constexpr const char* kNames[] = {"less", "less_equal", "equal", "not_equal", "greater", "greater_equal"};
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    LocationScope scope(user_location());
    return py::module_::import("cotangent.numpy").attr(kNames[op])(py::handle(left), py::handle(right)).release().ptr();
  });
}

PyObject* compare(PyObject* left, PyObject* right, int op) {
  if (op != Py_EQ && op != Py_NE && (holds_complex(left) || holds_complex(right))) {
    return compare_complex(left, right, op);
  }
  static const Primitive* const kOps[] = {primitive("lt"), primitive("le"), primitive("eq"),
                                          primitive("ne"), primitive("gt"), primitive("ge")};
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    Operand operands[2];
    if (answers_operators(right) || !read_operand(left, operands[0]) || !read_operand(right, operands[1])) {
      // For == and != Python would fall back on identity, which is never what a program means.
      if (PyList_Check(right) || PyTuple_Check(right)) {
        throw Error(ErrorKind::kType, concat("an array cannot be compared with a ", Py_TYPE(right)->tp_name))
            .hint("make an array of it: ct.numpy.array([1, 2, 3])");
      }
      Py_RETURN_NOTIMPLEMENTED;
    }
    check_sizes_beside_ragged(operands);
    Datum made[2];
    const Datum* promoted[2];
    promote_operands(absl::MakeSpan(operands), Promotion::kJoin, absl::MakeSpan(made), absl::MakeSpan(promoted));
    const Datum compared[] = {comparable(*promoted[0], op), comparable(*promoted[1], op)};
    const Datum* pointers[] = {&compared[0], &compared[1]};
    return make_array(bind1_with_location(*kOps[op], pointers));
  });
}

// The same error, with what to write instead of the user's line that asks, where that is known of the line.
Error with_instead(const Error& error, std::string_view use) {
  const py::object instead = py::module_::import("cotangent._asked").attr("instead")(use, error.what());
  if (instead.is_none()) return error;
  const auto [hint, section] = py::cast<std::pair<std::string, std::string>>(instead);
  return Error(error.kind(), error.message(), error.site()).at(error.location()).hint(hint).see(section);
}

// The single element, for bool(), int(), float() and index(). Truth values and whole numbers carry no derivative, so
// these decisions may look at what is differentiated.
py::object item(PyObject* self, const char* use) {
  const Datum& datum = array_datum(self);
  const Aval& aval = datum_aval(datum);
  if (aval.size() != 1) {
    const bool truth = std::string_view(use) == "bool()";
    throw Error(truth ? ErrorKind::kValue : ErrorKind::kType,
                concat(use, " needs an array of one element; this one has shape ", shape_string(aval.shape())))
        .hint(truth ? "use .any() or .all(), or ct.numpy.where for element-wise choices"
                    : "index it, or reduce it, first")
        .see("truth-of-an-array");
  }
  LocationScope scope(asking_location());
  try {
    const Tensor tensor = std::string_view(use) == "float()" ? concrete(datum, use) : peek(datum, use);
    return tensor_to_numpy(tensor).attr("item")();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kConcretization) throw;
    throw with_instead(error, use);
  }
}

int to_bool(PyObject* self) {
  return guarded(-1, [&] { return PyObject_IsTrue(item(self, "bool()").ptr()); });
}
PyObject* to_int(PyObject* self) {
  return guarded(static_cast<PyObject*>(nullptr), [&] { return PyNumber_Long(item(self, "int()").ptr()); });
}
PyObject* to_float(PyObject* self) {
  return guarded(static_cast<PyObject*>(nullptr), [&] { return PyNumber_Float(item(self, "float()").ptr()); });
}
PyObject* to_index(PyObject* self) {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const Aval& aval = array_aval(self);
    if (!is_integer(aval.dtype()) || aval.rank() != 0) {
      Error error(ErrorKind::kType,
                  concat("only integer scalar arrays can be used as an index; this one is ", aval.to_string()));
      error.at(asking_location());
      // What is made of sizes and numbers alone is weak; what comes from data is not.
      error.hint(is_float(aval.dtype()) && aval.rank() == 0
                     ? (aval.weak() ? "for a whole number divide with //, as n // 2"
                                    : "convert it, x.astype('int32'); a quotient of integers is one by //, as n // 2")
                     : "take one element, x[i]; a list at several positions is an array: ct.numpy.array(list)[x]");
      throw error;
    }
    return item(self, "index()").release().ptr();
  });
}

// The axes whose sizes are values; empty outside of masks.
py::list ragged_axes(PyObject* self) {
  py::list axes;
  const auto* traced = std::get_if<Traced>(&array_contents(self));
  if (traced == nullptr || shape_hook == nullptr || !traced->capture->live()) return axes;
  const Values lengths = traced->capture->lengths_of(traced->var);
  for (size_t axis = 0; axis < lengths.size(); ++axis) {
    if (lengths[axis]) axes.append(axis);
  }
  return axes;
}

Py_ssize_t length(PyObject* self) {
  const Aval aval = array_aval(self);
  if (aval.rank() == 0) {
    PyErr_SetString(PyExc_TypeError,
                    "len() of an array without axes\n  it is one number: use it as it is, or x.reshape(1)");
    return -1;
  }
  return guarded(Py_ssize_t{-1}, [&] {
    const py::list ragged = ragged_axes(self);
    if (ragged.size() > 0 && py::cast<int>(ragged[0]) == 0) {
      throw Error(ErrorKind::kConcretization,
                  concat("len() of an array whose axis 0 is ragged: it is anything from 0 to ", aval.dim(0)))
          .at(user_location())
          .hint("use x.shape[0], which is a value, or ct.lax.scan and ct.lax.map over the axis");
    }
    return static_cast<Py_ssize_t>(aval.dim(0));
  });
}

PyObject* get_shape(PyObject* self, void*) {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const py::list ragged = ragged_axes(self);
    if (ragged.size() > 0) return PyObject_CallFunctionObjArgs(shape_hook, self, ragged.ptr(), nullptr);
    const Shape& shape = datum_aval(array_contents(self)).shape();
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
    for (size_t axis = 0; tuple != nullptr && axis < shape.size(); ++axis) {
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(axis), PyLong_FromLongLong(shape[axis]));
    }
    return tuple;
  });
}
PyObject* get_bound_shape(PyObject* self, void*) {
  const Shape& shape = array_aval(self).shape();
  return py::tuple(py::cast(Ints(shape.begin(), shape.end()))).release().ptr();
}
PyObject* get_dtype(PyObject* self, void*) {
  return guarded(static_cast<PyObject*>(nullptr),
                 [&] { return numpy_dtype(array_aval(self).dtype()).release().ptr(); });
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(array_aval(self).rank()); }
PyObject* get_size(PyObject* self, void*) {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const py::list ragged = ragged_axes(self);
    if (ragged.size() > 0) return PyObject_CallFunctionObjArgs(size_hook, self, ragged.ptr(), nullptr);
    return PyLong_FromLongLong(array_aval(self).size());
  });
}
PyObject* get_nbytes(PyObject* self, void*) {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const py::list ragged = ragged_axes(self);
    if (ragged.size() == 0) return PyLong_FromLongLong(array_aval(self).bytes());
    const auto size =
        py::reinterpret_steal<py::object>(PyObject_CallFunctionObjArgs(size_hook, self, ragged.ptr(), nullptr));
    return size ? (size * py::int_(dtype_size(array_aval(self).dtype()))).release().ptr() : nullptr;
  });
}
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromLong(dtype_size(array_aval(self).dtype())); }
PyObject* get_weak_type(PyObject* self, void*) { return PyBool_FromLong(array_aval(self).weak()); }

int refuse_shape(PyObject*, PyObject*, void*) {
  PyErr_SetString(PyExc_AttributeError,
                  "x.shape = ...: the shape of an array cannot change\n  write x = x.reshape(shape), which is a view");
  return -1;
}
int refuse_dtype(PyObject*, PyObject*, void*) {
  PyErr_SetString(
      PyExc_AttributeError,
      "x.dtype = ...: the dtype of an array cannot change\n  write x = x.astype(dtype), or x.view(dtype) for "
      "the same bytes read as another one");
  return -1;
}

PyGetSetDef getters[] = {
    {"shape", kGuarded<get_shape>, refuse_shape, documentation::kShape, nullptr},
    {"_bound_shape", kGuarded<get_bound_shape>, nullptr, "Static sizes: bounds for ragged axes.", nullptr},
    {"dtype", kGuarded<get_dtype>, refuse_dtype, documentation::kDtype, nullptr},
    {"ndim", kGuarded<get_ndim>, nullptr, documentation::kNdim, nullptr},
    {"size", kGuarded<get_size>, nullptr, documentation::kSize, nullptr},
    {"nbytes", kGuarded<get_nbytes>, nullptr, documentation::kNbytes, nullptr},
    {"itemsize", kGuarded<get_itemsize>, nullptr, documentation::kItemsize, nullptr},
    {"weak_type", kGuarded<get_weak_type>, nullptr, documentation::kWeakType, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// The buffer protocol: NumPy-compatible, read-only.
const char* buffer_format(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "?";
    case DType::kInt8:
      return "b";
    case DType::kInt16:
      return "h";
    case DType::kInt32:
      return "i";
    case DType::kInt64:
      return "q";
    case DType::kUInt8:
      return "B";
    case DType::kUInt16:
      return "H";
    case DType::kUInt32:
      return "I";
    case DType::kUInt64:
      return "Q";
    case DType::kFloat16:
      return "e";
    case DType::kFloat32:
      return "f";
    case DType::kFloat64:
      return "d";
    case DType::kComplex64:
      return "Zf";
    case DType::kComplex128:
      return "Zd";
    default:
      return nullptr;
  }
}

struct ExportedView {
  Tensor tensor;
  std::vector<Py_ssize_t> shape;
  std::vector<Py_ssize_t> strides;
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  const int status = guarded(-2, [&] {
    if (flags & PyBUF_WRITABLE)
      throw Error(ErrorKind::kValue, "the buffer of an array is read-only").hint("copy it: numpy.array(x)");
    auto exported = std::make_unique<ExportedView>();
    LocationScope scope(user_location());
    exported->tensor = concrete(array_datum(self), "the buffer protocol");
    const Aval& aval = exported->tensor.aval();
    const char* format = buffer_format(aval.dtype());
    if (format == nullptr) {
      throw Error(ErrorKind::kDType, concat("the buffer protocol has no format for ", dtype_name(aval.dtype())))
          .hint("use numpy.asarray(x) or DLPack");
    }
    const Py_ssize_t itemsize = dtype_size(aval.dtype());
    exported->shape.assign(aval.shape().begin(), aval.shape().end());
    exported->strides.resize(exported->shape.size());
    Py_ssize_t stride = itemsize;
    for (size_t axis = exported->shape.size(); axis-- > 0;) {
      exported->strides[axis] = stride;
      stride *= exported->shape[axis];
    }
    view->buf = exported->tensor.data();
    view->len = static_cast<Py_ssize_t>(aval.bytes());
    view->readonly = 1;
    view->itemsize = itemsize;
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
    view->ndim = aval.rank();
    view->shape = (flags & PyBUF_ND) ? exported->shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = exported.release();
    view->obj = Py_NewRef(self);
    return 0;
  });
  if (status == 0) return 0;
  // The protocol wants BufferError, with the reason; a value that must not leave its program is no matter of it.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (PyErr_GivenExceptionMatches(type, python_exception(ErrorKind::kConcretization))) {
    PyErr_Restore(type, value, traceback);
    return -1;
  }
  PyErr_SetObject(PyExc_BufferError, value);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return -1;
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<ExportedView*>(view->internal); }

// Objects freed lately, for arrays to come; guarded by the GIL. Small arrays that nothing else refers to keep their
// memory, so that the next one of about the size needs no other allocation.
class FreeArrays {
 public:
  // Null: there is none. The object has its type and one reference; its datum is a tensor with room for so many bytes.
  ArrayObject* take_with_memory(int64_t bytes) {
    const size_t number = lines(bytes);
    if (number < kSizes) return take(with_memory_[number], array_type);
    for (Kept& kept : larger_) {
      if (kept.lines != number) continue;
      kept.lines = 0;
      PyObject_Init(reinterpret_cast<PyObject*>(kept.array), array_type);
      return kept.array;
    }
    return nullptr;
  }
  // The same; the datum is not alive.
  ArrayObject* take_bare(PyTypeObject* type) { return take(bare_, type); }

  // False: full.
  bool give(ArrayObject* array) {
    const auto* tensor = std::get_if<Tensor>(&array->datum);
    if (tensor != nullptr && *tensor && tensor->buffer().use_count() == 1) {
      const Buffer& buffer = *tensor->buffer();
      const size_t number = lines(static_cast<int64_t>(buffer.bytes()));
      const bool is_free = buffer.may_be_overwritten();
      if (is_free && buffer.small() && give(array, with_memory_[number])) return true;
      if (is_free && !buffer.small() && number <= kMostLines && kMost > 0) {
        Kept& kept = larger_[next_larger_++ % kLarger];
        if (kept.lines != 0) free(kept.array);
        kept = {number, array};
        return true;
      }
    }
    array->datum.~Datum();
    return give(array, bare_);
  }

 private:
  static constexpr size_t kSizes = 16;
  // Larger ones, which malloc takes several times as long for as a call does: a few, whatever their sizes.
  static constexpr size_t kLarger = 8, kMostLines = 1024;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr int kMost = 0;  // let the sanitizer see every object
#else
  static constexpr int kMost = 128;
#endif
  struct List {
    ArrayObject* first = nullptr;
    int count = 0;
  };
  struct Kept {
    size_t lines = 0;  // 0: none
    ArrayObject* array = nullptr;
  };

  static size_t lines(int64_t bytes) { return (static_cast<size_t>(bytes) + 63) / 64; }

  static ArrayObject* take(List& list, PyTypeObject* type) {
    ArrayObject* array = list.first;
    if (array == nullptr) return nullptr;
    list.first = reinterpret_cast<ArrayObject*>(std::exchange(array->weak_references, nullptr));
    --list.count;
    PyObject_Init(reinterpret_cast<PyObject*>(array), type);
    return array;
  }
  void free(ArrayObject* array) {
    array->datum.~Datum();
    if (!give(array, bare_)) array_type->tp_free(reinterpret_cast<PyObject*>(array));
  }
  static bool give(ArrayObject* array, List& list) {
    if (list.count >= kMost) return false;
    array->weak_references = reinterpret_cast<PyObject*>(std::exchange(list.first, array));
    ++list.count;
    return true;
  }

  List with_memory_[kSizes];  // by lines of 64 bytes
  List bare_;
  Kept larger_[kLarger];
  size_t next_larger_ = 0;
};
FreeArrays free_arrays;

void deallocate(PyObject* self) {
  auto* array = reinterpret_cast<ArrayObject*>(self);
  if (array->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  if (array->views != nullptr) end_links(array);
  PyTypeObject* type = Py_TYPE(self);
  if (!free_arrays.give(array)) type->tp_free(self);
  Py_DECREF(type);
}

PyObject* no_constructor(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "Array cannot be called; make arrays with ct.numpy.array(...)");
  return nullptr;
}

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weak_references), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

PyObject* make_array(Datum datum) {
  PyTypeObject* type = std::holds_alternative<Traced>(datum) ? traced_type : array_type;
  ArrayObject* array = free_arrays.take_bare(type);
  if (array == nullptr) {
    array = reinterpret_cast<ArrayObject*>(type->tp_alloc(type, 0));
    if (array == nullptr) return nullptr;
    array->weak_references = nullptr;
    array->views = nullptr;
  }
  new (&array->datum) Datum(std::move(datum));
  array->made_in = innermost_capture_number();
  return reinterpret_cast<PyObject*>(array);
}

void become(PyObject* object, PyObject* other) {
  if (object == other) return;
  const Datum before = std::exchange(array_contents(object), array_datum(other));  // ended when all is in place
  PyTypeObject* type = Py_TYPE(object);
  if (type == Py_TYPE(other)) return;
  Py_SET_TYPE(object, reinterpret_cast<PyTypeObject*>(Py_NewRef(Py_TYPE(other))));
  Py_DECREF(type);
}

PyObject* make_unwritten_array(Aval aval, void*& data) {
  if (ArrayObject* array = free_arrays.take_with_memory(aval.bytes())) {
    Tensor& tensor = *std::get_if<Tensor>(&array->datum);
    tensor.reuse(aval);
    data = tensor.data();
    array->made_in = innermost_capture_number();
    return reinterpret_cast<PyObject*>(array);
  }
  Tensor tensor(aval);
  data = tensor.data();
  return make_array(std::move(tensor));
}

void register_array(py::module_& module) {
  PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(documentation::kArray)},
                         {Py_tp_dealloc, slot(deallocate)},
                         {Py_tp_new, slot(no_constructor)},
                         {Py_tp_getset, getters},
                         {Py_tp_members, members},
                         {Py_tp_richcompare, leaving_slot<compare>()},
                         {Py_tp_hash, slot(PyObject_HashNotImplemented)},
                         {Py_nb_add, leaving_slot<binary_slot<kAddName, Promotion::kJoin>>()},
                         {Py_nb_subtract, leaving_slot<binary_slot<kSubName, Promotion::kJoin>>()},
                         {Py_nb_multiply, leaving_slot<binary_slot<kMulName, Promotion::kJoin>>()},
                         {Py_nb_true_divide, leaving_slot<binary_slot<kDivName, Promotion::kInexact>>()},
                         {Py_nb_and, leaving_slot<binary_slot<kAndName, Promotion::kJoin>>()},
                         {Py_nb_or, leaving_slot<binary_slot<kOrName, Promotion::kJoin>>()},
                         {Py_nb_xor, leaving_slot<binary_slot<kXorName, Promotion::kJoin>>()},
                         {Py_nb_lshift, leaving_slot<binary_slot<kShlName, Promotion::kJoin>>()},
                         {Py_nb_rshift, leaving_slot<right_shift>()},
                         {Py_nb_negative, leaving_slot<unary_slot<kNegName>>()},
                         {Py_nb_positive, leaving_slot<positive>()},
                         {Py_nb_absolute, leaving_slot<absolute>()},
                         {Py_nb_invert, leaving_slot<unary_slot<kNotName>>()},
                         {Py_nb_bool, leaving_slot<to_bool>()},
                         {Py_nb_int, leaving_slot<to_int>()},
                         {Py_nb_float, leaving_slot<to_float>()},
                         {Py_nb_index, leaving_slot<to_index>()},
                         {Py_mp_length, leaving_slot<length>()},
                         {Py_mp_subscript, leaving_slot<get_item>()},
                         {Py_mp_ass_subscript, leaving_slot<set_item>()},
                         {Py_bf_getbuffer, guarded_slot<get_buffer>()},
                         {Py_bf_releasebuffer, slot(release_buffer)},
                         {0, nullptr}};
  PyType_Spec spec = {"cotangent.Array", sizeof(ArrayObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  array_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (array_type == nullptr) throw py::error_already_set();
  module.attr("Array") = py::handle(reinterpret_cast<PyObject*>(array_type));
  // NumPy asks the type, and not the object, whether it has functions of its own for NumPy's; traced arrays do.
  PyType_Slot traced_slots[] = {
      {Py_tp_doc, const_cast<char*>("An array whose value belongs to a program that is being captured.")},
      {Py_tp_dealloc, slot(deallocate)},
      {0, nullptr}};
  PyType_Spec traced_spec = {"cotangent.Traced", sizeof(ArrayObject), 0, Py_TPFLAGS_DEFAULT, traced_slots};
  traced_type =
      reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&traced_spec, reinterpret_cast<PyObject*>(array_type)));
  if (traced_type == nullptr) throw py::error_already_set();
  array_type->tp_flags &= ~static_cast<unsigned long>(Py_TPFLAGS_BASETYPE);  // nobody else derives from it
  PyType_Modified(array_type);
  module.attr("Traced") = py::handle(reinterpret_cast<PyObject*>(traced_type));
  module.def("set_shape_hooks", [](py::object shape, py::object size) {
    shape_hook = shape.release().ptr();
    size_hook = size.release().ptr();
  });
  // Indexing beyond integers, slices and None: (array, index) -> array.
  module.def("set_index_hook", [](py::object hook) { set_index_hook(hook.release().ptr()); });
  module.def("set_assignment_hook", [](py::object hook) { set_assignment_hook(hook.release().ptr()); });
}

}  // namespace ct::python
