#include "python_bindings/operands.h"

#include <algorithm>

#include "runtime/text.h"

namespace ct::python {
namespace {

// NumPy's float64 and complex128 numbers are Python floats and complex numbers by class, and mostly come from constants
// like np.sqrt(2): while 64 bits are not the default, they yield to an array's dtype as Python's numbers do.
bool yields_to_arrays(PyObject* object) {
  return (PyFloat_Check(object) || PyComplex_Check(object)) && !config().enable_x64;
}

void describe(PyObject* object, Operand& operand) {
  const Aval aval = datum_aval(*operand.datum);
  operand.type = {aval.dtype(), aval.weak() || (!is_array(object) && yields_to_arrays(object))};
  operand.shape = aval.shape();
}

bool is_numpy_number(const Operand& operand) {
  return operand.datum != nullptr && operand.type.weak && !datum_aval(*operand.datum).weak();
}

// A number of NumPy's next to a floating array of weak type, which a Python number would not widen.
PromotedType narrowed(const PromotedType& number) {
  return {is_complex(number.dtype) ? DType::kComplex64 : default_float(), true};
}

Datum materialize(const Operand& operand, PromotedType type, const Shape& shape) {
  if (operand.scalar != nullptr) {
    if (innermost_capture() != nullptr) return scalar_datum(operand.scalar, Aval(type.dtype, shape, type.weak), true);
    return broadcast_datum(scalar_datum(operand.scalar, Aval(type.dtype, {}, type.weak), true), shape);
  }
  return broadcast_datum(convert_datum(*operand.datum, type.dtype, type.weak), shape);
}

}  // namespace

bool read_operand(PyObject* object, Operand& operand) {
  if (is_array(object)) {
    operand.datum = &array_datum(object);
  } else if (is_python_scalar(object)) {
    operand.scalar = object;
    operand.type = scalar_type(object);
    return true;
  } else if (py::isinstance<py::array>(object) || array_method(object) != nullptr ||
             PyObject_HasAttrString(object, "__array__")) {
    operand.owned = datum_from_python(object);
    operand.datum = &operand.owned;
  } else {
    return false;
  }
  describe(object, operand);
  return true;
}

void read_any_operand(PyObject* object, Operand& operand) {
  if (read_operand(object, operand)) return;
  operand.owned = datum_from_python(object);
  operand.datum = &operand.owned;
  describe(object, operand);
}

void promote_operands(absl::Span<const Operand> operands, Promotion promotion, absl::Span<Datum> made,
                      absl::Span<const Datum*> promoted) {
  const bool floating = std::any_of(operands.begin(), operands.end(), [](const Operand& operand) {
    return operand.datum != nullptr && is_inexact(operand.type.dtype) && !is_numpy_number(operand);
  });
  const auto type_of = [&](const Operand& operand) {
    return floating && is_numpy_number(operand) ? narrowed(operand.type) : operand.type;
  };
  PromotedType type = type_of(operands[0]);
  Shape shape = operands[0].shape;
  for (const Operand& operand : operands.subspan(1)) {
    type = promote_types(type, type_of(operand), default_float());
    if (shape != operand.shape) shape = broadcast_shapes(shape, operand.shape);
  }
  if (promotion == Promotion::kInexact) type = inexact_type(type);
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (operand.datum != nullptr && operand.type.dtype == type.dtype && operand.shape == shape) {
      promoted[i] = operand.datum;
    } else {
      made[i] = materialize(operand, type, shape);
      promoted[i] = &made[i];
    }
  }
}

Datum bind1_with_location(const Primitive& primitive, absl::Span<const Datum* const> operands, const AttrsPtr& attrs) {
  if (innermost_capture() != nullptr) {
    LocationScope scope(user_location());
    return bind1(primitive, operands, attrs);
  }
  Datum result = bind1(primitive, operands, attrs);
  if (config().debug_nans) {
    std::vector<Datum> data;
    for (const Datum* operand : operands) data.push_back(*operand);
    check_nans(primitive, data, attrs, {&result, 1});
  }
  return result;
}

PyObject* bind_operator(const Primitive& primitive, PyObject* left, PyObject* right, Promotion promotion) {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    if (is_array(left) && is_array(right)) {
      const Datum* operands[] = {&array_datum(left), &array_datum(right)};
      const Aval aval = datum_aval(*operands[0]);
      if (aval == datum_aval(*operands[1]) && (promotion == Promotion::kJoin || is_inexact(aval.dtype()))) {
        return make_array(bind1_with_location(primitive, operands));
      }
    }
    Operand operands[2];
    if (!read_operand(left, operands[0]) || !read_operand(right, operands[1])) Py_RETURN_NOTIMPLEMENTED;
    Datum made[2];
    const Datum* promoted[2];
    promote_operands(operands, promotion, absl::MakeSpan(made), absl::MakeSpan(promoted));
    return make_array(bind1_with_location(primitive, promoted));
  });
}

}  // namespace ct::python
