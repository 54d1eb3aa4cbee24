// What every file of the binding shares: the conversions between Python objects and the library's types.
//
// Two types are hand-written CPython types because every traced operation and every call passes through them: `Array`
// (array.cc) and `JitFunction` (jit.cc). Everything else is pybind11. Read array.cc first, then bind.cc.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <vector>

#include "interpreter/trace.h"
#include "runtime/error.h"
#include "runtime/runtime.h"
#include "runtime/tensor.h"
#include "transforms/find_invalid.h"
#include "transforms/transforms.h"

namespace ct::python {

namespace py = pybind11;

// ---- errors.cc ---------------------------------------------------------------------------------------------------
void register_errors(py::module_& module);
// Sets the Python exception for `error`, with its structured fields as attributes.
void set_python_error(const Error& error);
// Where an error leaves a public function that the user called: what its message says of the primitive that the
// function is made of, it says of the function.
void name_called_function(PyObject* function) noexcept;
// Sets the Python exception for the C++ exception that is being handled.
void set_python_exception() noexcept;
PyObject* python_exception(ErrorKind kind);  // the class, borrowed
// Runs `body`, turning whatever it throws into a Python exception and `failure`.
template <class Body, class Result>
Result guarded(Result failure, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    set_python_exception();
  }
  return failure;
}

// ---- location.cc -------------------------------------------------------------------------------------------------
// The innermost Python frame outside this package, as an interned location; kNoLocation when nothing is captured.
LocationId user_location();
// Whether the innermost Python function, but for so many, is outside of this package, methods that delegate apart.
bool called_by_user(int skipped = 0);
bool written_by_user(py::handle function);
LocationId calling_location();  // the same whether something is captured or not
// The innermost frame that is neither of this package nor of an installed one, for messages: the line that the user can
// change. Of the two, the first is kNoLocation when nothing is captured.
LocationId asking_location();
LocationId users_location();
bool is_package_code(PyCodeObject* code);
void register_locations(py::module_& module);

// ---- dtypes.cc ---------------------------------------------------------------------------------------------------
py::object numpy_dtype(DType dtype);                // the np.dtype (ml_dtypes for bfloat16 and float8)
std::optional<DType> known_dtype(py::handle spec);  // of dtype objects and scalar types seen before; a look-up
DType dtype_from_python(py::handle spec);           // np.dtype, scalar type, name, Python type; DTypeError otherwise
struct Config {
  bool enable_x64 = false;
  bool disable_jit = false;
  bool debug_nans = false, debug_infs = false;
  Invalid invalid() const { return {debug_nans, debug_infs}; }
  bool index_checks = false;  // indexing records checks that checkify looks for
  bool narrow = false;        // no operand and no result of promotion has 64 bits while `enable_x64` is off
  // How compiled programs evaluate sums of products; of several, the first one that is set.
  bool products_off = false, products_direct = false, products_always = false, products_blocks = false;
  Products products() const {
    if (products_off) return Products::kOff;
    if (products_direct) return Products::kDirect;
    if (products_always) return Products::kAlways;
    return products_blocks ? Products::kBlocks : Products::kGram;
  }
  // The name of the default back end, which lives for ever; null: the processor's (placement.h).
  const std::string* backend = nullptr;
  uint64_t context = 0;  // stands for options that only Python knows, on which captured programs depend as well
  // What captured and compiled programs depend on: part of the key of everything cached by signature.
  uint64_t version() const {
    const uint64_t flags = uint64_t{enable_x64} | uint64_t{index_checks} << 1 | uint64_t{narrow} << 2;
    const uint64_t own = flags | static_cast<uint64_t>(products()) << 3 | reinterpret_cast<uintptr_t>(backend) << 8;
    return own ^ context * 0x9e3779b97f4a7c15U;
  }
};
// Of this thread: the process's settings, but for those that this thread overrides. With the GIL.
const Config& config();
void set_backend(const std::string* backend);
// For this thread; null: no longer. Returns what was set so.
const std::string* override_backend(const std::string* backend);
// The dtype that stands for this one under the current settings: of 32 bits for 64 where these are off.
DType permitted_dtype(DType dtype);
DType default_float();
DType default_int();
DType default_complex();
PromotedType inexact_type(PromotedType type);  // in which functions of real numbers are computed
void register_dtypes(py::module_& module);

// ---- convert.cc --------------------------------------------------------------------------------------------------
// True for bool, int, float, complex and subclasses, and not for those that NumPy's numbers are.
bool is_python_scalar(PyObject* object);
bool is_number_of_numpy(PyObject* object);
// The method by which an object of another class makes itself an array (JAX's name of it is known too); null if none.
const char* array_method(PyObject* object);
// The weak type of a Python scalar (bool is strong).
PromotedType scalar_type(PyObject* object);
// A scalar of a given type: a tensor when eager, a `full` equation when capturing.
Datum scalar_datum(PyObject* object, const Aval& aval, bool operand = false);
// Copies an array, NumPy scalar, nested list or any array-like; throws kType naming the type for anything else.
Tensor tensor_from_python(py::handle object);
// The elements of a NumPy array that are, as they lie, those of an Array of this type; null where they are not.
const void* elements_in_place(PyObject* object, const Aval& aval);
// The type for which they are.
std::optional<Aval> type_in_place(PyObject* object);
py::array tensor_to_numpy(const Tensor& tensor);  // read-only view of the same bytes
void register_conversions(py::module_& module);

// Any operand of an operation: Array, Python scalar or array-like.
Datum datum_from_python(py::handle object);
// A leaf of a pytree argument: like datum_from_python, but lists are not arrays and errors name `path`.
Datum leaf_from_python(py::handle object, const std::string& path);
// The same, or none for an object that is no leaf.
std::optional<Datum> try_leaf(py::handle object);

// ---- bind.cc -----------------------------------------------------------------------------------------------------
// debug_nans, debug_infs: throws when a result of an operation holds such a number.
void check_results(const Primitive& primitive, absl::Span<const Datum> operands, const AttrsPtr& attrs,
                   absl::Span<const Datum> results);
std::vector<Datum> bind_with_location(const Primitive& primitive, absl::Span<const Datum> operands,
                                      const AttrsPtr& attrs = Attrs::empty());
Datum convert_datum(const Datum& x, DType dtype, bool weak = false);     // `weak`: where that changes the dtype
Datum broadcast_datum(const Datum& x, absl::Span<const int64_t> shape);  // NumPy's rules, aligned at the last axis
// NumPy's broadcast shape; throws kShape naming both shapes.
Shape broadcast_shapes(absl::Span<const int64_t> a, absl::Span<const int64_t> b);
void register_bind(py::module_& module);

void register_array(py::module_& module);
void register_views(py::module_& module);
void register_tree(py::module_& module);
void register_graph(py::module_& module);
void register_primitives(py::module_& module);
void register_jit(py::module_& module);
void register_profile(py::module_& module);
void register_export(py::module_& module);
// runtime.cc: `register_runtime` with what these give.
void register_python();
SourceLocation locate(const void* code, int instruction);
InterruptHooks interrupt_hooks();

}  // namespace ct::python
