#include "ir/combinators.h"

#include <algorithm>
#include <string>

#include "ir/length_form.h"
#include "ir/length_text.h"
#include "ir/masking.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/marked_shapes.h"
#include "runtime/text.h"

namespace ct {
namespace {

std::string dtype_set_string(DTypeSet set) {
  if (set == kArithmetic) return "bool, integer, float or complex dtypes";
  std::vector<std::string> names;
  if (set & kBools) names.push_back("bool");
  if ((set & kIntegers) == kIntegers) {
    names.push_back("integer");
  } else {
    if (set & kSignedIntegers) names.push_back("signed integer");
    if (set & kUnsignedIntegers) names.push_back("unsigned integer");
  }
  if (set & kFloats) names.push_back("float");
  if (set & kComplexes) names.push_back("complex");
  std::string text = names[0];
  for (size_t i = 1; i < names.size(); ++i) text += (i + 1 == names.size() ? " or " : ", ") + names[i];
  return text + " dtypes";
}

std::string types_string(absl::Span<const Aval> operands) {
  std::vector<std::string> names;
  for (const Aval& operand : operands) names.push_back(operand.to_string());
  return join(names, " and ");
}

std::string dtype_hint(DType dtype, DTypeSet allowed) {
  if (dtype == DType::kKey) return "random keys are opaque: draw numbers from them, or read them with key_data";
  if (is_complex(dtype) && (allowed & kFloats)) return "take the real or imaginary part, or the absolute value";
  if (allowed & kFloats) return "convert it first, for example with x.astype('float32')";
  if (allowed & kIntegers) return "convert it first, for example with x.astype('int32')";
  if (allowed & kComplexes) return "convert it first, for example with x.astype('complex64')";
  return "compare it with 0 to get a bool";
}

}  // namespace

// ---- Checks -------------------------------------------------------------------------------------------------------

void check_operand_count(absl::Span<const Aval> operands, size_t count) {
  if (operands.size() == count) return;
  throw Error(ErrorKind::kType,
              concat("takes ", count, count == 1 ? " operand" : " operands", ", got ", operands.size()))
      .hint("pass exactly the operands that the primitive's documentation lists");
}

void check_dtype(const Aval& operand, DTypeSet allowed) {
  const DTypeInfo& info = dtype_info(operand.dtype());
  const auto kind = static_cast<int>(info.kind);
  if (info.kind == DTypeKind::kFloat && !info.computes) {
    throw Error(ErrorKind::kDType, concat("cannot compute with ", operand.to_string(), ": ", info.name,
                                          " is a storage format without arithmetic"))
        .hint("convert it first, for example with x.astype('float32'), and convert the result back");
  }
  if (info.kind != DTypeKind::kKey && (allowed >> kind & 1)) return;
  throw Error(ErrorKind::kDType, concat("takes ", dtype_set_string(allowed), ", got ", operand.to_string()))
      .hint(dtype_hint(operand.dtype(), allowed))
      .see("dtype-not-taken");
}

void check_same_types(absl::Span<const Aval> operands) {
  for (const Aval& operand : operands) {
    if (operand.shape() != operands[0].shape()) {
      throw Error(ErrorKind::kShape, concat("operands must have equal shapes, got ", types_string(operands)))
          .hint("broadcast them to one shape first");
    }
  }
  for (const Aval& operand : operands) {
    if (operand.dtype() != operands[0].dtype()) {
      throw Error(ErrorKind::kDType, concat("operands must have equal dtypes, got ", types_string(operands)))
          .hint("convert them to one dtype first");
    }
  }
}

void check_axis(int64_t axis, int rank) {
  if (axis >= 0 && axis < rank) return;
  throw Error(ErrorKind::kIndex, concat("axis ", axis, " is out of range for an array of rank ", rank))
      .hint(rank == 0 ? "a scalar has no axes" : concat("axes go from 0 to ", rank - 1));
}

void check_axes(absl::Span<const int64_t> axes, int rank) {
  for (size_t i = 0; i < axes.size(); ++i) {
    check_axis(axes[i], rank);
    if (i > 0 && axes[i] <= axes[i - 1]) {
      throw Error(ErrorKind::kValue, concat("axes must be sorted and without repeats, got [", join(axes, ", "), "]"))
          .hint("list each axis once");
    }
  }
}

// ---- Whole primitives ---------------------------------------------------------------------------------------------

namespace {

// What all primitives made of one ScalarOp share.
Primitive scalar_primitive(std::string name, ScalarOp op, DTypeSet dtypes) {
  const PrimitiveRef ref(name);
  const bool two = scalar_op_info(op).arity == 2;
  Primitive result;
  result.name = std::move(name);
  result.type = same_type_rule(two ? 2 : 1, dtypes);
  result.batch = elementwise_batch(ref);
  result.mask = elementwise_mask(ref);
  result.element = two ? binary_element(op) : unary_element(op);
  result.scalar = true;
  result.elementwise = true;
  result.scalar_op = op;
  return result;
}

Primitive flat(Primitive result, const std::string& why) {
  result.jvp = zero_jvp(PrimitiveRef(result.name));
  result.differentiable = false;
  result.absent["transpose"] = "not differentiable: " + why;
  return result;
}

constexpr const char* kNotLinear = "not linear in any operand";

}  // namespace

Primitive unary(std::string name, ScalarOp op, DTypeSet dtypes, UnaryTangent derivative) {
  Primitive result = scalar_primitive(std::move(name), op, dtypes);
  result.jvp = derivative_jvp(PrimitiveRef(result.name), std::move(derivative));
  result.absent["transpose"] = kNotLinear;
  return result;
}

Primitive binary(std::string name, ScalarOp op, DTypeSet dtypes, BinaryTangent by_x, BinaryTangent by_y) {
  Primitive result = scalar_primitive(std::move(name), op, dtypes);
  result.jvp = derivative_jvp(PrimitiveRef(result.name), std::move(by_x), std::move(by_y));
  result.absent["transpose"] = kNotLinear;
  return result;
}

Primitive flat_unary(std::string name, ScalarOp op, DTypeSet dtypes, const std::string& why) {
  return flat(scalar_primitive(std::move(name), op, dtypes), why);
}

Primitive flat_binary(std::string name, ScalarOp op, DTypeSet dtypes, const std::string& why) {
  return flat(scalar_primitive(std::move(name), op, dtypes), why);
}

Primitive comparison(std::string name, ScalarOp op, DTypeSet dtypes) {
  Primitive result = flat(scalar_primitive(std::move(name), op, dtypes), "the result is bool");
  result.type = [operand_rule = result.type](absl::Span<const Aval> operands, const Attrs& attrs) {
    return Avals{operand_rule(operands, attrs)[0].with_dtype(DType::kBool)};
  };
  return result;
}

Primitive linear_unary(std::string name, ScalarOp op, DTypeSet dtypes, LinearTranspose transpose) {
  Primitive result = scalar_primitive(std::move(name), op, dtypes);
  result.jvp = linear_jvp(PrimitiveRef(result.name));
  result.transpose = linear_transpose(std::move(transpose));
  return result;
}

// ---- Single rules -------------------------------------------------------------------------------------------------

TypeRule same_type_rule(size_t operand_count, DTypeSet dtypes) {
  return [operand_count, dtypes](absl::Span<const Aval> operands, const Attrs&) {
    check_operand_count(operands, operand_count);
    for (const Aval& operand : operands) check_dtype(operand, dtypes);
    check_same_types(operands);
    for (const Aval& operand : operands) {
      if (!operand.weak()) return Avals{operand};
    }
    return Avals{operands[0]};
  };
}

JvpRule zero_jvp(PrimitiveRef primitive) {
  return [primitive = std::move(primitive)](Builder& builder, absl::Span<const Value> primals, absl::Span<const Value>,
                                            const AttrsPtr& attrs) {
    Values outputs = builder.bind(*primitive, primals, attrs);
    Values tangents(outputs.size());
    return JvpResult{std::move(outputs), std::move(tangents)};
  };
}

JvpRule derivative_jvp(PrimitiveRef primitive, UnaryTangent derivative) {
  return
      [primitive = std::move(primitive), derivative = std::move(derivative)](
          Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents, const AttrsPtr& attrs) {
        const Value result = builder.bind1(*primitive, primals, attrs);
        return JvpResult{{result}, {tangents[0] ? derivative(tangents[0], primals[0], result) : Value()}};
      };
}

JvpRule derivative_jvp(PrimitiveRef primitive, BinaryTangent by_x, BinaryTangent by_y) {
  return
      [primitive = std::move(primitive), by_x = std::move(by_x), by_y = std::move(by_y)](
          Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents, const AttrsPtr& attrs) {
        const Value x = primals[0], y = primals[1];
        const Value result = builder.bind1(*primitive, primals, attrs);
        Value tangent;
        if (tangents[0]) tangent = by_x(tangents[0], x, y, result);
        if (tangents[1]) tangent = add_tangents(tangent, by_y(tangents[1], x, y, result));
        return JvpResult{{result}, {tangent}};
      };
}

JvpRule linear_jvp(PrimitiveRef primitive) {
  return [primitive = std::move(primitive)](Builder& builder, absl::Span<const Value> primals,
                                            absl::Span<const Value> tangents, const AttrsPtr& attrs) {
    const Value result = builder.bind1(*primitive, primals, attrs);
    if (std::none_of(tangents.begin(), tangents.end(), [](const Value& tangent) { return bool(tangent); })) {
      return JvpResult{{result}, {Value()}};
    }
    Values filled;
    for (size_t i = 0; i < primals.size(); ++i) {
      filled.push_back(instantiate(builder, tangents[i], primals[i].aval()));
    }
    return JvpResult{{result}, {builder.bind1(*primitive, filled, attrs)}};
  };
}

JvpRule linear_in_first_jvp(PrimitiveRef primitive) {
  return [primitive = std::move(primitive)](Builder& builder, absl::Span<const Value> primals,
                                            absl::Span<const Value> tangents, const AttrsPtr& attrs) {
    const Value result = builder.bind1(*primitive, primals, attrs);
    if (!tangents[0]) return JvpResult{{result}, {Value()}};
    Values operands(primals.begin(), primals.end());
    operands[0] = tangents[0];
    return JvpResult{{result}, {builder.bind1(*primitive, operands, attrs)}};
  };
}

TransposeRule linear_transpose(LinearTranspose transpose) {
  return [transpose = std::move(transpose)](Builder&, const TransposeInput& input, const AttrsPtr& attrs) {
    return Values{transpose(input.cotangents[0], input.avals[0], attrs)};
  };
}

Value known_operand(const TransposeInput& input, int operand) {
  if (!input.linear(operand)) return input.operands[operand];
  throw Error(ErrorKind::kNotDifferentiable,
              concat("operand ", operand, ", ", input.avals[operand].to_string(),
                     ", depends on what the program should be linear in, and so does another operand"))
      .hint("a derivative rule must be linear in the tangents; of a function that is not linear take ct.vjp");
}

BatchRule elementwise_batch(PrimitiveRef primitive) {
  return [primitive = std::move(primitive)](Builder& builder, absl::Span<const Batched> operands, int64_t size,
                                            const AttrsPtr& attrs) {
    const int axis = batch_axis_of(operands);
    Values values;
    for (const Batched& operand : operands) values.push_back(batch_at(operand, axis, size));
    std::vector<Batched> results;
    for (const Value& output : builder.bind(*primitive, values, attrs)) results.push_back({output, axis});
    return results;
  };
}

MaskRule elementwise_mask(PrimitiveRef primitive) {
  return
      [primitive = std::move(primitive)](Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
        Values values;
        Values lengths(operands[0].value.rank());
        for (const Masked& operand : operands) {
          values.push_back(operand.value);
          for (size_t axis = 0; axis < lengths.size(); ++axis) {
            const auto at = static_cast<int>(axis);
            const Masked before{operands[0].value, lengths};
            const Meeting meeting{before, at, operand, at};
            lengths[axis] = merge_lengths(lengths[axis], operand.lengths[axis], primitive.name(), at, &meeting);
          }
        }
        std::vector<Masked> results;
        for (const Value& output : builder.bind(*primitive, values, attrs)) results.push_back({output, lengths});
        return results;
      };
}

ElementRule unary_element(ScalarOp op) {
  return [op](ElementBuilder& element, const Attrs&, const Aval&, int, absl::Span<const Index> position) {
    return element.unary(op, element.read(0, position));
  };
}

ElementRule binary_element(ScalarOp op) {
  return [op](ElementBuilder& element, const Attrs&, const Aval&, int, absl::Span<const Index> position) {
    const Scalar x = element.read(0, position);
    return element.binary(op, x, element.read(1, position));
  };
}

// ---- Tools of batch rules -----------------------------------------------------------------------------------------

Value batch_at(const Batched& x, int axis, int64_t size) {
  return x.batched() ? move_axis(x.value, x.axis, axis) : broadcast_axis(x.value, axis, size);
}

int batch_axis_of(absl::Span<const Batched> operands) {
  int shared = -1;
  for (const Batched& operand : operands) {
    if (!operand.batched()) continue;
    if (shared >= 0 && operand.axis != shared) return 0;
    shared = operand.axis;
  }
  return std::max(shared, 0);
}

Ints past_batch(absl::Span<const int64_t> axes, int64_t batch_axis) {
  Ints result;
  for (int64_t axis : axes) result.push_back(past_batch(axis, batch_axis));
  return result;
}

// ---- Tools of mask rules ------------------------------------------------------------------------------------------

Masked exact(Value value) { return {value, Values(value.rank())}; }

namespace {

MarkedShape marked(LengthNames& names, const Masked& x, int axis) {
  MarkedShape shape{{}, {axis}};
  for (int i = 0; i < x.value.rank(); ++i) {
    shape.sizes.push_back(x.ragged(i) ? names.text(x.lengths[i]) : std::to_string(x.value.shape()[i]));
  }
  return shape;
}

}  // namespace

Value merge_lengths(Value a, Value b, std::string_view op, int axis, const Meeting* meeting) {
  if (!a) return b;
  if (!b || same_length(a, b) || note_meeting(a, b)) return a;
  LengthNames names;
  const std::string left = names.text(a), right = names.text(b);
  const bool computed = names.is_computed(a) || names.is_computed(b);
  std::string shapes;
  if (meeting != nullptr) {
    shapes = marked_shapes({marked(names, meeting->x, meeting->x_axis), marked(names, meeting->y, meeting->y_axis)});
  }
  throw Error(ErrorKind::kShape,
              concat("axis ", axis, " has two different ragged lengths: ", left, " and ", right, shapes))
      .op(op)
      .hint(computed ? "they must be equal for every length that there may be: cut both to the smaller one, "
                       "n = ct.numpy.minimum(x.shape[axis], y.shape[axis]): x[:n] and y[:n]"
                     : "the operands must agree on the length: give both axes the same name in ct.Ragged(..., "
                       "names=...), or the same length value")
      .see("lengths-that-differ");
}

Value valid_positions(Value length, absl::Span<const int64_t> shape, int axis) {
  // Along the axis only: what does not vary along the others is a factor of its own (terms.h).
  const Shape line = {shape[axis]};
  const Value valid = lt(iota(*length.builder, Aval(DType::kInt32, line), 0), broadcast_scalar(length, line));
  return shape.size() == 1 ? valid : broadcast(valid, shape, {axis});
}

Value fill_padded(const Masked& x, int axis, double fill) {
  if (!x.ragged(axis)) return x.value;
  return select(valid_positions(x.lengths[axis], x.value.shape(), axis), x.value, full_like(x.value, fill));
}

// ---- Tangents -----------------------------------------------------------------------------------------------------

Value add_tangents(Value x, Value y) {
  if (!x) return y;
  if (!y) return x;
  if (!dtype_info(x.dtype()).computes) {
    return convert(add(convert(x, DType::kFloat32), convert(y, DType::kFloat32)), x.dtype());
  }
  return add(x, y);
}

Value instantiate(Builder& builder, Value x, const Aval& aval) { return x ? x : zeros(builder, aval); }

}  // namespace ct
