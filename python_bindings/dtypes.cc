#include <array>

#include "ir/text.h"
#include "python_bindings/python.h"

namespace ct::python {
namespace {

py::object import_dtype(DType dtype) {
  const std::string name(dtype_name(dtype));
  const py::module_ numpy = py::module_::import("numpy");
  switch (dtype) {
    case DType::kBFloat16:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E5M2:
      return numpy.attr("dtype")(py::module_::import("ml_dtypes").attr(name.c_str()));
    case DType::kKey:
      return numpy.attr("dtype")("uint64");
    default:
      return numpy.attr("dtype")(name);
  }
}

bool& flag(const std::string& name) {
  if (name == "enable_x64") return config().enable_x64;
  if (name == "disable_jit") return config().disable_jit;
  if (name == "debug_nans") return config().debug_nans;
  if (name == "index_checks") return config().index_checks;
  throw Error(ErrorKind::kValue, concat("there is no option '", name, "'"));
}

}  // namespace

py::object numpy_dtype(DType dtype) {
  static auto* cache = new std::array<py::object, kNumDTypes>;
  py::object& slot = (*cache)[static_cast<size_t>(dtype)];
  if (!slot) slot = import_dtype(dtype);
  return slot;
}

Config& config() {
  static Config instance;
  return instance;
}

DType default_float() { return config().enable_x64 ? DType::kFloat64 : DType::kFloat32; }
DType default_int() { return config().enable_x64 ? DType::kInt64 : DType::kInt32; }
DType default_complex() { return config().enable_x64 ? DType::kComplex128 : DType::kComplex64; }

DType dtype_from_python(py::handle spec) {
  // The builtin types mean the defaults, as everywhere in this package.
  if (spec.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type)) return default_float();
  if (spec.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type)) return default_int();
  if (spec.ptr() == reinterpret_cast<PyObject*>(&PyComplex_Type)) return default_complex();
  std::string name;
  if (py::isinstance<py::str>(spec)) {
    name = py::cast<std::string>(spec);
    if (const auto direct = dtype_from_name(name)) return *direct;
  }
  PyObject* dtype = PyObject_CallOneArg(py::module_::import("numpy").attr("dtype").ptr(), spec.ptr());
  if (dtype != nullptr) {
    name = py::cast<std::string>(py::reinterpret_steal<py::object>(dtype).attr("name"));
    if (const auto found = dtype_from_name(name)) return *found;
  } else {
    PyErr_Clear();
  }
  throw Error(ErrorKind::kDType, concat("not a supported dtype: ", py::cast<std::string>(py::repr(spec))))
      .hint("supported: bool, int8-64, uint8-64, float16, bfloat16, float32, float64, complex64, complex128");
}

void register_dtypes(py::module_& module) {
  module.def("dtype_name", [](py::handle spec) { return std::string(dtype_name(dtype_from_python(spec))); });
  module.def("canonical_dtype", [](py::handle spec) { return numpy_dtype(dtype_from_python(spec)); });
  module.def("default_float_dtype", [] { return numpy_dtype(default_float()); });
  module.def("default_int_dtype", [] { return numpy_dtype(default_int()); });
  module.def("default_complex_dtype", [] { return numpy_dtype(default_complex()); });
  module.def("get_enable_x64", [] { return config().enable_x64; });
  module.def("get_flag", [](const std::string& name) { return flag(name); });
  module.def("set_flag", [](const std::string& name, bool value) { flag(name) = value; });
  // (dtype, weak) pairs in, (dtype, weak) out.
  module.def("promote_types", [](const std::vector<std::pair<py::object, bool>>& types) {
    if (types.empty()) throw Error(ErrorKind::kValue, "promote_types needs at least one type");
    PromotedType result{dtype_from_python(types[0].first), types[0].second};
    for (size_t i = 1; i < types.size(); ++i) {
      result = promote_types(result, {dtype_from_python(types[i].first), types[i].second});
    }
    return std::make_pair(numpy_dtype(result.dtype), result.weak);
  });
  module.def("dtype_kind", [](py::handle spec) {
    static const char* const kNames[] = {"bool", "signed", "unsigned", "float", "complex", "key"};
    return kNames[static_cast<int>(dtype_kind(dtype_from_python(spec)))];
  });
}

}  // namespace ct::python
