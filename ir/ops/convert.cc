// Changes of dtype: by value (convert) and by reading the same bits differently (bitcast).
#include "ir/combinators.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

Avals convert_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 1);
  const DType dtype = attrs.dtype("dtype");
  if ((operands[0].dtype() == DType::kKey) != (dtype == DType::kKey)) {
    throw Error(ErrorKind::kDType, concat("cannot convert ", operands[0].to_string(), " to ", dtype_name(dtype)))
        .hint("random keys are opaque: make them with key, and read them with key_data");
  }
  // Weak only where an integer joins Python's floats: that is a float and yields to other dtypes as they do.
  return {Aval(dtype, operands[0].shape(), attrs.has("weak") && attrs.flag("weak"))};
}

// Linear between dtypes that carry derivatives; the others have no tangents.
JvpResult convert_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                      const AttrsPtr& attrs) {
  const DType dtype = attrs->dtype("dtype");
  const Value result = builder.bind1(kConvert, primals, attrs);
  const bool carries = tangents[0] && is_inexact(dtype);
  return {{result}, {carries ? convert(tangents[0], dtype) : Value()}};
}

// Every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
  if (is_bool(from)) return !is_bool(to) && to != DType::kKey;
  if (dtype_kind(from) != dtype_kind(to)) return false;
  if (from == DType::kFloat8E8M0FNU && to == DType::kFloat16) return false;  // its range is float32's
  return from == to || dtype_size(from) < dtype_size(to);
}

Value simplify_convert(const SimplifyInput& m) {
  const Value x = m.operands[0];
  if (x.dtype() == m.output.dtype()) return x;
  const Equation* inner = m.made_by(x, kConvert);
  if (inner == nullptr) return {};
  const Value source = m.operand(*inner, 0);
  return widens(source.dtype(), x.dtype()) ? convert(source, m.output.dtype()) : Value{};
}

// To a wider dtype: the factors are converted. To another one the sum stays what it is: it is not rounded, and what is
// made of it is as precise as the factors are.
std::optional<terms::Sum> terms_of_conversion(const terms::Input& input) {
  const DType from = input.avals[0].dtype(), to = input.result.dtype();
  if (!is_float(from) || !is_float(to)) return std::nullopt;
  terms::Sum result = input.operands[0];
  if (dtype_size(to) <= dtype_size(from)) return result;
  for (terms::Term& term : result.terms) {
    for (terms::Factor& factor : term.factors) {
      if (factor.one_hot) continue;
      const terms::Part part{.leaf = factor.leaf, .shape = factor.shape};
      factor.leaf = input.context.intern({.kind = terms::Leaf::Kind::kConverted, .dtype = to, .parts = {part}});
    }
  }
  return result;
}

Primitive conversion() {
  const PrimitiveRef self("convert");
  Primitive result;
  result.name = self.name();
  result.attributes = {{"dtype", AttributeKind::kDType}, {"weak", AttributeKind::kFlag, kOptional}};
  result.type = convert_type;
  result.jvp = convert_jvp;
  result.simplify = simplify_by(simplify_convert);
  result.terms = terms_of_conversion;
  result.elementwise = true;
  result.length_role = LengthRole::kSame;
  result.free_to_recompute = true;
  // Real to complex and back: Re(c * t) of a real t only sees the real part of c, which is what converting keeps.
  result.transpose = linear_transpose(
      [](Value cotangent, const Aval& operand, const AttrsPtr&) { return convert(cotangent, operand.dtype()); });
  result.batch = elementwise_batch(self);
  result.mask = elementwise_mask(self);
  result.element = [](ElementBuilder& element, const Attrs& attrs, const Aval&, int, absl::Span<const Index> position) {
    return element.convert(element.read(0, position), attrs.dtype("dtype"));
  };
  return result;
}
}  // namespace

const Primitive& kConvert = define(conversion());

namespace {

Avals bitcast_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 1);
  const DType dtype = attrs.dtype("dtype");
  if (operands[0].dtype() == dtype) return {operands[0].strong()};
  if (dtype_size(operands[0].dtype()) != dtype_size(dtype)) {
    throw Error(ErrorKind::kDType,
                concat("cannot read the bits of ", operands[0].to_string(), " as ", dtype_name(dtype),
                       ": their sizes are ", dtype_size(operands[0].dtype()), " and ", dtype_size(dtype), " bytes"))
        .hint("choose a dtype of the same size");
  }
  if (is_bool(operands[0].dtype()) || is_bool(dtype)) {
    throw Error(ErrorKind::kDType,
                concat("cannot read the bits of ", operands[0].to_string(), " as ", dtype_name(dtype)))
        .hint("bool has no bit layout of its own: convert to or from uint8 instead");
  }
  return {operands[0].with_dtype(dtype)};
}

Primitive reinterpretation() {
  const PrimitiveRef self("bitcast");
  Primitive result;
  result.name = self.name();
  result.attributes = {{"dtype", AttributeKind::kDType}};
  result.type = bitcast_type;
  result.jvp = zero_jvp(self);
  result.differentiable = false;
  result.absent["transpose"] = "not differentiable: bits carry no derivative";
  result.batch = elementwise_batch(self);
  result.mask = elementwise_mask(self);
  result.element = [](ElementBuilder& element, const Attrs& attrs, const Aval&, int, absl::Span<const Index> position) {
    return element.bitcast(element.read(0, position), attrs.dtype("dtype"));
  };
  return result;
}
}  // namespace

const Primitive& kBitcast = define(reinterpretation());

Value convert(Value x, DType dtype) {
  return x.dtype() == dtype ? x : x.builder->bind1(kConvert, {x}, Attrs::make({{"dtype", dtype}}));
}
Value bitcast(Value x, DType dtype) {
  return x.dtype() == dtype ? x : x.builder->bind1(kBitcast, {x}, Attrs::make({{"dtype", dtype}}));
}

}  // namespace ct
