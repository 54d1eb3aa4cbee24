// Constants: full (one value everywhere) and iota (0, 1, ... along an axis). Without operands there is nothing to
// transpose, to batch or to mask.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/combinators.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/float_types.h"
#include "runtime/text.h"

namespace ct {
namespace {

const AttrValue& attribute(const Attrs& attrs, std::string_view key) {
  if (!attrs.has(key))
    throw Error(ErrorKind::kValue, concat("attribute '", key, "' is missing"))
        .hint(concat("write it between the braces: {", key, "=...}"));
  return std::ranges::find(attrs.items(), key, &Attrs::Item::first)->second;
}

bool is_representable(DType dtype, int64_t value) {
  if (dtype == DType::kInt64 || dtype == DType::kUInt64 || dtype == DType::kKey) return true;  // as bits
  if (is_bool(dtype)) return value == 0 || value == 1;
  const int bits = dtype_size(dtype) * 8;
  if (is_unsigned_integer(dtype)) return value >= 0 && value < int64_t{1} << bits;
  return value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1);
}

// Value kinds: a double for floats, [re, im] for complex numbers, an integer for the rest (64 bits: their pattern).
Avals full_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 0);
  const DType dtype = attrs.dtype("dtype");
  const AttrValue& value = attribute(attrs, "value");
  if (is_complex(dtype)) {
    const auto* parts = std::get_if<std::vector<double>>(&value);
    if (parts == nullptr || parts->size() != 2) {
      throw Error(ErrorKind::kType, concat("the value of a ", dtype_name(dtype), " array must be two reals"))
          .hint("write the real and the imaginary part: [1.0, 0.0]d");
    }
  } else if (is_float(dtype)) {
    if (!std::holds_alternative<double>(value)) {
      throw Error(ErrorKind::kType, concat("the value of a ", dtype_name(dtype), " array must be a real"))
          .hint("write it with a point: 1.0");
    }
  } else {
    const auto* integer = std::get_if<int64_t>(&value);
    if (integer == nullptr) {
      throw Error(ErrorKind::kType, concat("the value of a ", dtype_name(dtype), " array must be an integer"))
          .hint("write it without a point: 1");
    }
    if (!is_representable(dtype, *integer)) {
      throw Error(ErrorKind::kValue, concat("value ", *integer, " does not fit ", dtype_name(dtype)))
          .hint("choose a wider dtype");
    }
  }
  return {Aval(dtype, attrs.ints("shape"), attrs.flag("weak"))};
}

Scalar full_element(ElementBuilder& element, const Attrs& attrs, const Aval& aval, int, absl::Span<const Index>) {
  const DType dtype = aval.dtype();
  if (is_complex(dtype)) {
    const auto& parts = std::get<std::vector<double>>(attribute(attrs, "value"));
    return element.constant_complex(dtype, parts[0], parts[1]);
  }
  if (is_float(dtype)) return element.constant(dtype, attrs.real("value"));
  return element.constant_integer(dtype, attrs.integer("value"));
}

Avals iota_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 0);
  const Aval result(attrs.dtype("dtype"), attrs.ints("shape"));
  check_dtype(result, kNumbers);
  check_axis(attrs.integer("axis"), result.rank());
  return {result};
}

Scalar iota_element(ElementBuilder& element, const Attrs& attrs, const Aval& aval, int,
                    absl::Span<const Index> position) {
  const int64_t axis = attrs.integer("axis");
  if (is_integer(aval.dtype())) return element.index_value(position[axis], aval.dtype());
  // int32 converts in vectors; int64 does not on most machines.
  const bool narrow = aval.dim(static_cast<int>(axis)) <= std::numeric_limits<int32_t>::max();
  return element.convert(element.index_value(position[axis], narrow ? DType::kInt32 : DType::kInt64), aval.dtype());
}

Primitive constant(std::string name, std::vector<AttributeRecord> attributes, TypeRule type, ElementRule element,
                   Arrangement arrangement) {
  const PrimitiveRef self(name);
  Primitive result;
  result.name = std::move(name);
  result.attributes = std::move(attributes);
  result.type = std::move(type);
  result.jvp = zero_jvp(self);
  result.differentiable = false;
  result.batch = [self](Builder& builder, absl::Span<const Batched>, int64_t, const AttrsPtr& attrs) {
    return std::vector<Batched>{{builder.bind1(*self, {}, attrs), -1}};
  };
  result.mask = [self](Builder& builder, absl::Span<const Masked>, const AttrsPtr& attrs) {
    return std::vector<Masked>{exact(builder.bind1(*self, {}, attrs))};
  };
  result.element = std::move(element);
  result.arrangement = arrangement;
  result.free_to_recompute = true;
  result.absent["transpose"] = "no operands";
  return result;
}

}  // namespace

const Primitive& kFull = define(constant("full",
                                         {{"dtype", AttributeKind::kDType},
                                          {"shape", AttributeKind::kIntegers},
                                          {"value", AttributeKind::kNumber},
                                          {"weak", AttributeKind::kFlag}},
                                         full_type, full_element, Arrangement::kUniform));

const Primitive& kIota = define(constant(
    "iota", {{"axis", AttributeKind::kInteger}, {"dtype", AttributeKind::kDType}, {"shape", AttributeKind::kIntegers}},
    iota_type, iota_element, Arrangement::kCounting));

namespace {

Value bind_full(Builder& builder, const Aval& aval, AttrValue value) {
  Ints shape(aval.shape().begin(), aval.shape().end());
  return builder.bind1(
      kFull, {},
      Attrs::make(
          {{"dtype", aval.dtype()}, {"shape", std::move(shape)}, {"value", std::move(value)}, {"weak", aval.weak()}}));
}

// One pattern for all NaNs, so that equal programs hash equally.
double canonical(double value) { return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value; }

}  // namespace

Value full(Builder& builder, Aval aval, double value) {
  if (is_complex(aval.dtype())) return full_complex(builder, aval, value, 0);
  if (is_float(aval.dtype())) return bind_full(builder, aval, canonical(value));
  const int64_t integer = dispatch_dtype(aval.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return convert_element<int64_t>(convert_element<T>(value));  // saturates
  });
  return bind_full(builder, aval, integer);
}

Value full_integer(Builder& builder, Aval aval, int64_t value) {
  if (is_complex(aval.dtype())) return full_complex(builder, aval, static_cast<double>(value), 0);
  if (is_float(aval.dtype())) return bind_full(builder, aval, static_cast<double>(value));
  const int64_t wrapped = dispatch_dtype(aval.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return convert_element<int64_t>(convert_element<T>(value));
  });
  return bind_full(builder, aval, wrapped);
}

Value full_complex(Builder& builder, Aval aval, double real, double imag) {
  CT_CHECK(is_complex(aval.dtype()));
  return bind_full(builder, aval, std::vector<double>{canonical(real), canonical(imag)});
}

Value full_like(Value x, double value) { return full(*x.builder, x.aval(), value); }
Value zeros(Builder& builder, Aval aval) { return full_integer(builder, aval, 0); }
Value zeros_like(Value x) { return zeros(*x.builder, x.aval()); }

Value iota(Builder& builder, Aval aval, int axis) {
  Ints shape(aval.shape().begin(), aval.shape().end());
  return builder.bind1(kIota, {},
                       Attrs::make({{"axis", int64_t{axis}}, {"dtype", aval.dtype()}, {"shape", std::move(shape)}}));
}

}  // namespace ct
