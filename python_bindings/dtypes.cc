#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "python_bindings/array.h"
#include "python_bindings/python.h"
#include "runtime/pool.h"
#include "runtime/subnormals.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

// Floats that NumPy has by the package ml_dtypes.
bool is_small_float(DType dtype) { return dtype == DType::kBFloat16 || is_float8(dtype); }

py::object import_dtype(DType dtype) {
  const std::string name(dtype_name(dtype));
  const py::module_ numpy = py::module_::import("numpy");
  switch (dtype) {
    case DType::kKey:
      return py::module_::import("cotangent._base.keys").attr("KEY_DTYPE");
    default:
      if (!is_small_float(dtype)) return numpy.attr("dtype")(name);
      return numpy.attr("dtype")(py::module_::import("cotangent._base.small_floats").attr("small_float")(name));
  }
}

using Option = bool Config::*;

constexpr std::pair<std::string_view, Option> kOptions[] = {
    {"enable_x64", &Config::enable_x64},           {"disable_jit", &Config::disable_jit},
    {"debug_nans", &Config::debug_nans},           {"debug_infs", &Config::debug_infs},
    {"index_checks", &Config::index_checks},       {"narrow", &Config::narrow},
    {"products_off", &Config::products_off},       {"products_direct", &Config::products_direct},
    {"products_always", &Config::products_always}, {"products_blocks", &Config::products_blocks}};

Option option(const std::string& name) {
  for (const auto& [known, member] : kOptions) {
    if (known == name) return member;
  }
  CT_CHECK(false);
}

// All guarded by the GIL. A thread takes over what changed in the process when it next asks.
Config process_config{.products_direct = true};
uint64_t process_changes = 1;

struct ThreadConfig {
  Config effective;
  Config overridden;  // which options this thread sets itself
  uint64_t changes_seen = 0;
};
// Not of the initial-exec model, quick as that is: it would put the thread-local data of all of LLVM into a block of
// which other libraries of the process need some, too.
thread_local constinit ThreadConfig thread_config;

// nullopt: not overridden.
std::optional<bool> override_option(const std::string& name, std::optional<bool> value) {
  const Option member = option(name);
  const bool effective = config().*member;
  std::optional<bool> previous;
  if (thread_config.overridden.*member) previous = effective;
  thread_config.overridden.*member = value.has_value();
  thread_config.effective.*member = value.value_or(process_config.*member);
  return previous;
}

// What NumPy makes of a spec.
DType look_up_dtype(py::handle spec) {
  std::string name;
  if (py::isinstance<py::str>(spec)) {
    name = py::cast<std::string>(spec);
    if (const auto direct = dtype_from_name(name)) return *direct;
  } else if (PyType_Check(spec.ptr()) && py::hasattr(spec, "_spec") && py::isinstance<py::str>(spec.attr("_spec"))) {
    // ct.numpy.bfloat16 and its like, whose dtype NumPy may not know.
    if (const auto direct = dtype_from_name(py::cast<std::string>(spec.attr("_spec")))) return *direct;
  }
  if (spec.ptr() == numpy_dtype(DType::kKey).ptr()) return DType::kKey;
  // NumPy takes whatever has a dtype for one.
  PyObject* dtype = is_array(spec.ptr())
                        ? nullptr
                        : PyObject_CallOneArg(py::module_::import("numpy").attr("dtype").ptr(), spec.ptr());
  if (dtype != nullptr) {
    name = py::cast<std::string>(py::reinterpret_steal<py::object>(dtype).attr("name"));
    if (const auto found = dtype_from_name(name)) return *found;
  } else {
    if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_ImportError) != 0)
      throw py::error_already_set();  // it says which package
    PyErr_Clear();
  }
  py::list names;
  for (int i = 0; i < kNumDTypes; ++i) names.append(py::str(std::string(dtype_name(static_cast<DType>(i)))));
  const std::string near =
      py::cast<std::string>(py::module_::import("cotangent._base.arguments").attr("suggestion")(spec, names));
  throw Error(ErrorKind::kDType,
              concat("not a supported dtype: ",
                     py::cast<std::string>(py::module_::import("cotangent._base.misplaced").attr("shown")(spec)), near))
      .hint(
          "supported: bool, int8-64, uint8-64, float16, bfloat16, float32, float64, complex64, complex128, and the "
          "float8 kinds as storage; elements smaller than a byte are not");
}

// Objects that stand for a dtype whatever the configuration, kept alive.
constexpr size_t kMostKnownSpecs = 256;
std::unordered_map<PyObject*, DType>& known_specs() {
  static auto* instance = new std::unordered_map<PyObject*, DType>;  // guarded by the GIL
  return *instance;
}

}  // namespace

py::object numpy_dtype(DType dtype) {
  static auto* cache = new std::array<py::object, kNumDTypes>;
  py::object& slot = (*cache)[static_cast<size_t>(dtype)];
  if (!slot) slot = import_dtype(dtype);
  return slot;
}

const Config& config() {
  ThreadConfig& mine = thread_config;
  if (mine.changes_seen != process_changes) {
    for (const auto& [name, member] : kOptions) {
      if (!(mine.overridden.*member)) mine.effective.*member = process_config.*member;
    }
    if (mine.overridden.backend == nullptr) mine.effective.backend = process_config.backend;
    if (mine.overridden.context == 0) mine.effective.context = process_config.context;
    mine.changes_seen = process_changes;
  }
  return mine.effective;
}

void set_backend(const std::string* backend) {
  process_config.backend = backend;
  ++process_changes;
}

const std::string* override_backend(const std::string* backend) {
  thread_config.effective.backend = backend != nullptr ? backend : process_config.backend;
  return std::exchange(thread_config.overridden.backend, backend);
}

DType permitted_dtype(DType dtype) {
  if (!config().narrow || config().enable_x64) return dtype;
  switch (dtype) {
    case DType::kInt64:
      return DType::kInt32;
    case DType::kUInt64:
      return DType::kUInt32;
    case DType::kFloat64:
      return DType::kFloat32;
    case DType::kComplex128:
      return DType::kComplex64;
    default:
      return dtype;
  }
}

DType default_float() { return config().enable_x64 ? DType::kFloat64 : DType::kFloat32; }
DType default_int() { return config().enable_x64 ? DType::kInt64 : DType::kInt32; }
PromotedType inexact_type(PromotedType type) {
  if (is_inexact(type.dtype)) return type;
  return {dtype_size(type.dtype) < 8 ? DType::kFloat32 : default_float(), type.weak};
}
DType default_complex() { return config().enable_x64 ? DType::kComplex128 : DType::kComplex64; }

std::optional<DType> known_dtype(py::handle spec) {
  const auto it = known_specs().find(spec.ptr());
  return it == known_specs().end() ? std::nullopt : std::optional(it->second);
}

DType dtype_from_python(py::handle spec) {
  if (const auto known = known_dtype(spec)) return *known;
  // The builtin types mean the defaults, as everywhere in this package.
  if (spec.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type)) return default_float();
  if (spec.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type)) return default_int();
  if (spec.ptr() == reinterpret_cast<PyObject*>(&PyComplex_Type)) return default_complex();
  const DType dtype = look_up_dtype(spec);
  // NumPy's dtypes of native byte order are single objects, and its scalar types live as long as it does.
  const bool lasting =
      PyType_Check(spec.ptr()) || (!py::isinstance<py::str>(spec) && spec.ptr() == numpy_dtype(dtype).ptr());
  if (lasting && known_specs().size() < kMostKnownSpecs) known_specs().emplace(spec.inc_ref().ptr(), dtype);
  return dtype;
}

void register_dtypes(py::module_& module) {
  module.def("dtype_name", [](py::handle spec) { return std::string(dtype_name(dtype_from_python(spec))); });
  module.def("small_float_names", [] {
    std::vector<std::string> names;
    for (int i = 0; i < kNumDTypes; ++i) {
      if (is_small_float(static_cast<DType>(i))) names.emplace_back(dtype_name(static_cast<DType>(i)));
    }
    return names;
  });
  module.def("default_float_dtype", [] { return numpy_dtype(default_float()); });
  module.def("default_int_dtype", [] { return numpy_dtype(default_int()); });
  module.def("default_complex_dtype", [] { return numpy_dtype(default_complex()); });
  module.def("get_enable_x64", [] { return config().enable_x64; });
  module.def("get_threads", threads);
  module.def("set_threads", set_threads);
  module.def("set_flush_subnormals", set_flush_subnormals);
  module.def("get_flag", [](const std::string& name) { return config().*option(name); });
  module.def("set_flag", [](const std::string& name, bool value) {
    process_config.*option(name) = value;
    ++process_changes;
  });
  // Sets an option for this thread, or with None no longer; what it was set to.
  module.def("override_flag", override_option, py::arg("name"), py::arg("value").none(true));
  module.def("set_context", [](uint64_t context) {
    process_config.context = context;
    ++process_changes;
  });
  // For this thread, with 0 no longer; what it was set to.
  module.def("override_context", [](uint64_t context) {
    config();  // takes over what has changed
    thread_config.effective.context = context != 0 ? context : process_config.context;
    return std::exchange(thread_config.overridden.context, context);
  });
  // The dtype in which a function of real numbers is computed on elements of another one.
  module.def("inexact_dtype",
             [](py::handle spec) { return numpy_dtype(inexact_type({dtype_from_python(spec), false}).dtype); });
  // (dtype, weak) pairs in, (dtype, weak) out.
  module.def("promote_types", [](const std::vector<std::pair<py::object, bool>>& types) {
    CT_CHECK(!types.empty());
    PromotedType result{dtype_from_python(types[0].first), types[0].second};
    bool has_wide = permitted_dtype(result.dtype) != result.dtype;
    for (size_t i = 1; i < types.size(); ++i) {
      const PromotedType other{dtype_from_python(types[i].first), types[i].second};
      has_wide = has_wide || permitted_dtype(other.dtype) != other.dtype;
      result = promote_types(result, other, default_float());
      if (!has_wide) result.dtype = permitted_dtype(result.dtype);
    }
    return std::make_pair(numpy_dtype(result.dtype), result.weak);
  });
}

}  // namespace ct::python
