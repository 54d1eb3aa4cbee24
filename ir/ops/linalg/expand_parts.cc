#include "ir/ops/linalg/expand_parts.h"

#include <limits>

#include "ir/primitives.h"

namespace ct::linalg {

// ---- A loop over columns ------------------------------------------------------------------------------------------

Values column_loop(Builder& builder, const Values& constants, const Values& carries, int64_t steps, bool reverse,
                   const StepRule& step) {
  Avals avals;
  for (const Value& value : constants) avals.push_back(value.aval().strong());
  for (const Value& value : carries) avals.push_back(value.aval().strong());
  avals.push_back(Aval(DType::kInt32, {}));
  const auto constant_count = static_cast<std::ptrdiff_t>(constants.size());
  const GraphPtr graph = build_graph(avals, [&](Builder& inner, const Values& inputs) {
    Step made = step(inner, inputs.back(), Values(inputs.begin(), inputs.begin() + constant_count),
                     Values(inputs.begin() + constant_count, inputs.end() - 1));
    Values outputs = std::move(made.carries);
    outputs.insert(outputs.end(), made.slices.begin(), made.slices.end());
    return outputs;
  });
  Values operands = constants;
  operands.insert(operands.end(), carries.begin(), carries.end());
  operands.push_back(iota(builder, Aval(DType::kInt32, {steps}), 0));
  return builder.bind(get_primitive("scan"), operands,
                      Attrs::make({{"graph", graph},
                                   {"length", steps},
                                   {"num_carries", static_cast<int64_t>(carries.size())},
                                   {"num_constants", static_cast<int64_t>(constants.size())},
                                   {"reverse", reverse}}));
}

// ---- Parts of matrices --------------------------------------------------------------------------------------------

int64_t rows_of(Value a) { return a.shape()[a.rank() - 2]; }
int64_t columns_of(Value a) { return a.shape()[a.rank() - 1]; }

Value part(Value a, Value index, int from_end) { return gather(a, index, a.rank() - from_end, 0); }

Value spread(Value numbers, Value like) {
  Ints axes;
  for (int axis = 0; axis < numbers.rank(); ++axis) axes.push_back(axis);
  return broadcast(numbers, like.shape(), axes);
}

Value positions(Value like, int from_end) {
  return iota(*like.builder, Aval(DType::kInt32, like.shape()), like.rank() - from_end);
}
Value equal_to(Value like, Value scalar) { return broadcast_scalar(scalar, like.shape()); }

Value zero_unless(Value condition, Value x) { return select(condition, x, zeros_like(x)); }

Value conjugated(Value x) { return is_complex(x.dtype()) ? conj(x) : x; }
Value real_part(Value x) { return is_complex(x.dtype()) ? real(x) : x; }

Value outer(Value column, Value row, Value like) { return mul(as_columns(column, like), as_rows(row, like)); }

Value pivot_size(Value x) {
  const Value size = is_complex(x.dtype()) ? add(abs(real(x)), abs(imag(x))) : abs(x);
  return zero_unless(eq(size, size), size);
}

Value identity_like(Value a) { return select(is_diagonal(a), full_like(a, 1), zeros_like(a)); }

Value is_inside(Value a, Value rows, Value columns) {
  return bit_and(lt(positions(a, 2), spread(rows, a)), lt(positions(a, 1), spread(columns, a)));
}

Value embedded(Value a, Value size) { return size ? select(is_inside(a, size, size), a, identity_like(a)) : a; }

Value size_operand(absl::Span<const Value> operands, size_t index) {
  return index < operands.size() ? operands[index] : Value();
}

Value bind_triangular(const Values& operands, const Triangular& system) {
  return operands[0].builder->bind1(kTriangularSolve, operands,
                                    Attrs::make({{"left_side", system.left_side},
                                                 {"lower", system.lower},
                                                 {"transpose_a", system.transpose},
                                                 {"conjugate_a", system.conjugate},
                                                 {"unit_diagonal", system.unit_diagonal}}));
}

// ---- Loops that end by what they compute --------------------------------------------------------------------------

Values loop_while(Builder& builder, const Values& constants, const Values& carries, const ConditionRule& condition,
                  const BodyRule& body) {
  Avals of_carries, of_body;
  for (const Value& value : constants) of_body.push_back(value.aval().strong());
  for (const Value& value : carries) of_carries.push_back(value.aval().strong());
  of_body.insert(of_body.end(), of_carries.begin(), of_carries.end());
  const auto constant_count = static_cast<std::ptrdiff_t>(constants.size());
  const GraphPtr test =
      build_graph(of_carries, [&](Builder& inner, const Values& inputs) { return Values{condition(inner, inputs)}; });
  const GraphPtr step = build_graph(of_body, [&](Builder& inner, const Values& inputs) {
    return body(inner, Values(inputs.begin(), inputs.begin() + constant_count),
                Values(inputs.begin() + constant_count, inputs.end()));
  });
  Values operands = constants;
  operands.insert(operands.end(), carries.begin(), carries.end());
  return builder.bind(get_primitive("while"), operands,
                      Attrs::make({{"body", step},
                                   {"condition", test},
                                   {"num_body_constants", static_cast<int64_t>(constants.size())},
                                   {"num_condition_constants", int64_t{0}}}));
}

// ---- Numbers ------------------------------------------------------------------------------------------------------

Value squared_size(Value x) {
  return is_complex(x.dtype()) ? add(mul(real(x), real(x)), mul(imag(x), imag(x))) : mul(x, x);
}

Value largest_part(Value x) { return is_complex(x.dtype()) ? max(abs(real(x)), abs(imag(x))) : abs(x); }

double precision_of(Value x) {
  const bool is_wide = real_dtype(x.dtype()) == DType::kFloat64;
  return is_wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

Value poison_of(Value a) {
  const Value by_part = is_complex(a.dtype()) ? add(sub(real(a), real(a)), sub(imag(a), imag(a))) : sub(a, a);
  return reduce_sum(by_part, {a.rank() - 2, a.rank() - 1});
}

Value with_poison(Value x, Value poison) {
  const Value all = spread(poison, x);
  return add(x, is_complex(x.dtype()) ? make_complex(all, all) : all);
}

PowerScaled scaled_to_one(Value a) {
  const int rank = a.rank();
  const Value poison = poison_of(a);
  const Value finite = select(ne(spread(poison, a), spread(poison, a)), zeros_like(a), a);
  const Value largest = reduce_max(largest_part(finite), {rank - 2, rank - 1});
  const bool wide = largest.dtype() == DType::kFloat64;
  const Aval bits(wide ? DType::kUInt64 : DType::kUInt32, largest.shape());
  const int64_t one = wide ? int64_t{1} << 52 : int64_t{1} << 23, most = wide ? 0x7fd : 0xfd;
  Builder& builder = *a.builder;
  const Value exponent =
      bit_and(bitcast(largest, bits.dtype()), full_integer(builder, bits, one * (wide ? 0x7ff : 0xff)));
  const Value power = min(max(exponent, full_integer(builder, bits, one)), full_integer(builder, bits, one * most));
  const Value inverse = bitcast(sub(full_integer(builder, bits, one * (most + 1)), power), largest.dtype());
  return {mul(finite, to_dtype(spread(inverse, a), a)), bitcast(power, largest.dtype()), poison};
}

}  // namespace ct::linalg
