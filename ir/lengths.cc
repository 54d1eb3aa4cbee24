#include "ir/lengths.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "ir/length_form.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

int32_t checked(int64_t length) {
  if (length > std::numeric_limits<int32_t>::max() || length < std::numeric_limits<int32_t>::min()) {
    throw Error(ErrorKind::kUnsupported, concat("a ragged axis of up to ", length, " elements is too long"))
        .hint("lengths are int32: keep ragged axes below 2**31 elements");
  }
  return static_cast<int32_t>(length);
}

// A size as a rule wants it. Where the length was set by the last equation, that: the array itself may be what the
// program is to be linear in, and then its size would be too.
Value length_of(Value x, int axis) {
  const Equation* equation = x.builder->producer(x.var);
  const bool set = equation != nullptr && equation->primitive->length_role == LengthRole::kSet &&
                   x.builder->attrs(*equation).integer("axis") == axis;
  return set ? Value{x.builder, x.builder->operands(*equation)[1]} : dimension_size(x, axis);
}

Value shared(const Primitive& primitive, Value x, Value y) { return x.builder->bind_shared(primitive, {x, y})[0]; }

// Of operands in one order, however they came.
Value shared_in_order(const Primitive& primitive, Value x, Value y) {
  if (x.var > y.var) std::swap(x, y);
  return shared(primitive, x, y);
}

thread_local int lengths_kept = 0;

}  // namespace

KeepLengths::KeepLengths() { ++lengths_kept; }
KeepLengths::~KeepLengths() { --lengths_kept; }
bool keeps_lengths() { return lengths_kept > 0; }

Value size_of(Value x, int axis) {
  if (keeps_lengths()) return dimension_size(x, axis);
  return constant_length(*x.builder, x.shape()[static_cast<size_t>(axis)]);
}

Value constant_length(Builder& builder, int64_t length) {
  return builder.bind_shared(
      kFull, {},
      Attrs::make(
          {{"dtype", DType::kInt32}, {"shape", Ints()}, {"value", int64_t{checked(length)}}, {"weak", false}}))[0];
}

std::optional<int64_t> known_length(Value length) { return constant_of_length(length); }

Value add_lengths(Value x, Value y) { return shared_in_order(kAdd, x, y); }
Value add_lengths(Value x, int64_t y) { return y == 0 ? x : add_lengths(x, constant_length(*x.builder, y)); }
Value scale_length(Value x, int64_t factor) {
  return factor == 1 ? x : shared(kMul, x, constant_length(*x.builder, factor));
}
Value divided_length(Value x, int64_t divisor) { return exact_quotient(x, divisor); }
Value at_least_zero(Value x) { return shared(kMax, x, constant_length(*x.builder, 0)); }
Value smaller_length(Value x, Value y) { return shared_in_order(kMin, x, y); }
Value larger_length(Value x, Value y) { return shared_in_order(kMax, x, y); }
Value smaller_length(Value x, int64_t limit) { return shared(kMin, x, constant_length(*x.builder, limit)); }

Value strided_length(Value x, int64_t start, int64_t stride) {
  if (start == 0 && stride == 1) return x;
  // One side of the division may be negative, where it truncates upwards: not below zero after the max.
  Value length = add_lengths(x, stride - 1 - start);
  if (stride != 1) length = shared(kDiv, length, constant_length(*x.builder, stride));
  return start == 0 ? length : at_least_zero(length);
}

Value dilated_length(Value x, int64_t interior) {
  return interior == 0 ? x : at_least_zero(add_lengths(scale_length(x, interior + 1), -interior));
}

void refuse_batched_lengths(std::string_view primitive) {
  throw Error(ErrorKind::kUnsupported,
              "one axis cannot have a different length for each example of a vmap inside a mask")
      .op(primitive)
      .hint("put the vmap outside: ct.vmap(ct.mask(f)) gives every example its own lengths");
}

Value with_lengths_of(Value tangent, Value primal, absl::Span<const int64_t> axes) {
  if (!keeps_lengths()) return tangent;
  for (int64_t axis : axes) {
    const int at = static_cast<int>(axis);
    tangent = set_length(tangent, length_of(primal, at), at);
  }
  return tangent;
}

Value with_lengths_of(Value tangent, Value primal) {
  Ints axes(primal.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return with_lengths_of(tangent, primal, axes);
}

Value give_lengths_of(Value tangent, Value primal, absl::Span<const int64_t> axes) {
  if (!keeps_lengths()) return tangent;
  for (int64_t axis : axes) {
    const int at = static_cast<int>(axis);
    tangent = first_elements(tangent, length_of(primal, at), at);
  }
  return tangent;
}

bool depends_on_lengths(const Primitive& primitive, const Attrs& attrs) {
  if (primitive.length_role == LengthRole::kSize || primitive.length_role == LengthRole::kFill) return true;
  if (primitive.region == Region::kRagged) return false;
  if (primitive.is<structures::Scan>() && attrs.has("counted")) return true;
  const auto inside = [](const GraphPtr& graph) {
    const absl::Span<const Equation> equations = graph->equations();
    return std::any_of(equations.begin(), equations.end(), [&](const Equation& equation) {
      return depends_on_lengths(*equation.primitive, graph->attrs(equation));
    });
  };
  bool has_graphs = false;
  for (const auto& [key, value] : attrs.items()) {
    if (const auto* graph = std::get_if<GraphPtr>(&value)) {
      if (inside(*graph)) return true;
      has_graphs = true;
    } else if (const auto* graphs = std::get_if<std::vector<GraphPtr>>(&value)) {
      if (std::any_of(graphs->begin(), graphs->end(), inside)) return true;
      has_graphs = true;
    }
  }
  // What expands to something else outside of a mask, and has a rule of its own inside.
  return !has_graphs && primitive.mask && primitive.expand;
}

}  // namespace ct
