// Algebra on single equations, for programs that will not go into a mask region any more. Each rule looks at one
// equation and at what made its operands, and returns a value that the equation can be replaced by, or null. Rules
// change no bits beyond these: x + 0 keeps a -0, and NaN payloads.
//
// To add a rule, write a function of type `Rule` and name its primitive in `rule_table` at the end. A rule may emit
// equations; what it emits is not looked at again in this run.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "interpreter/evaluate.h"
#include "ir/error.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "transforms/common.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

struct Match {
  Builder& builder;
  const Primitive& primitive;
  absl::Span<const Value> operands;
  const AttrsPtr& attrs;
  Aval output;

  // The equation that made `value` when its primitive has this name, else null.
  const Equation* made_by(Value value, const Primitive& by) const {
    const Equation* equation = builder.producer(value.var);
    return equation != nullptr && equation->primitive == &by ? equation : nullptr;
  }
  Value operand(const Equation& equation, int index) const { return {&builder, builder.operands(equation)[index]}; }

  bool is_full(Value value) const { return made_by(value, kFull) != nullptr; }
  // A constant of any numeric dtype equal to `wanted`.
  bool is_full(Value value, double wanted) const {
    const Equation* equation = made_by(value, kFull);
    if (equation == nullptr) return false;
    const Attrs& constant = builder.attrs(*equation);
    if (is_complex(value.dtype())) {
      for (const auto& [key, item] : constant.items()) {
        if (key == "value") return std::get<std::vector<double>>(item) == std::vector<double>{wanted, 0};
      }
      return false;
    }
    if (is_float(value.dtype())) return constant.real("value") == wanted;
    return static_cast<double>(constant.integer("value")) == wanted;
  }
  // A constant of a real floating dtype that is neither infinite nor NaN.
  bool is_finite_full(Value value) const {
    const Equation* equation = made_by(value, kFull);
    return equation != nullptr && std::isfinite(builder.attrs(*equation).real("value"));
  }
  // The constant that made `value`, in another shape.
  Value full_of(Value value, absl::Span<const int64_t> shape) const {
    const Equation* equation = made_by(value, kFull);
    const AttrsPtr constant = builder.attrs_ptr(*equation);
    return builder.bind1(*equation->primitive, {}, constant->with("shape", Ints(shape.begin(), shape.end())));
  }
};

using Rule = Value (*)(const Match& match);

// An update put among zeros, added to an array: the array updated, in its own memory if nothing else needs that. The
// cotangents of what a loop reads by index are summed in this way. Only where no element is updated twice, which would
// change the order of the sum.
Value simplify_sum_with_update(const Match& m, Value x, Value update) {
  const Equation* found = m.made_by(update, kDynamicUpdateSlice);
  if (found == nullptr) found = m.made_by(update, kScatterAdd);
  if (found == nullptr || !m.is_full(m.operand(*found, 0), 0)) return {};
  // Copies: what is found moves when equations are added.
  const Equation equation = *found;
  const AttrsPtr attrs = m.builder.attrs_ptr(equation);
  const int64_t batch_dims = attrs->integer("batch_dims");
  if (equation.primitive == &kScatterAdd) {
    const Value indices = m.operand(equation, 1);
    const bool once = num_elements(absl::MakeConstSpan(indices.shape()).subspan(batch_dims)) <= 1 ||
                      (attrs->has("unique") && attrs->flag("unique"));
    if (!once) return {};
    return m.builder.bind1(*equation.primitive, {x, indices, m.operand(equation, 2)}, attrs);
  }
  const Value term = m.operand(equation, 1);
  Values operands{x};
  for (size_t i = 2; i < equation.operand_count; ++i) operands.push_back(m.operand(equation, static_cast<int>(i)));
  const Ints sizes(term.shape().begin() + batch_dims, term.shape().end());
  const Value read = m.builder.bind1(kDynamicSlice, operands, attrs->with("sizes", sizes));
  operands.insert(operands.begin() + 1, read + term);
  return m.builder.bind1(*equation.primitive, operands, attrs);
}

Value simplify_add(const Match& m) {
  if (m.is_full(m.operands[1], 0)) return m.operands[0];
  if (m.is_full(m.operands[0], 0)) return m.operands[1];
  if (const Value sum = simplify_sum_with_update(m, m.operands[0], m.operands[1])) return sum;
  return simplify_sum_with_update(m, m.operands[1], m.operands[0]);
}

Value simplify_sub(const Match& m) {
  if (m.is_full(m.operands[1], 0)) return m.operands[0];
  if (is_integer(m.output.dtype())) {
    if (m.is_full(m.operands[0], 0)) return neg(m.operands[1]);
    if (m.operands[0] == m.operands[1]) return zeros(m.builder, m.output);
  }
  return {};
}

Value simplify_mul(const Match& m) {
  for (int side = 0; side < 2; ++side) {
    const Value constant = m.operands[side];
    const Value other = m.operands[1 - side];
    if (m.is_full(constant, 1)) return other;
    if (m.is_full(constant, -1) && !is_complex(m.output.dtype())) return neg(other);
    // Not for floats: NaN * 0 is NaN.
    if (!is_inexact(m.output.dtype()) && m.is_full(constant, 0)) return constant;
  }
  return {};
}

Value simplify_div(const Match& m) { return m.is_full(m.operands[1], 1) ? m.operands[0] : Value{}; }

// Where the zero that matters is a constant, or one operand is known not to be zero.
Value simplify_mul_no_nan(const Match& m) {
  for (int side = 0; side < 2; ++side) {
    const Value constant = m.operands[side];
    const Value other = m.operands[1 - side];
    if (!m.is_full(constant)) continue;
    if (m.is_full(constant, 0)) return zeros(m.builder, m.output);
    if (m.is_full(constant, 1)) return other;
    if (m.is_full(constant, -1) && !is_complex(m.output.dtype())) return neg(other);
    if (is_float(m.output.dtype()) && m.is_finite_full(constant)) return mul(constant, other);
  }
  return {};
}

Value simplify_div_no_nan(const Match& m) {
  const Value x = m.operands[0], y = m.operands[1];
  if (m.is_full(y, 1)) return x;
  if (m.is_full(x, 0)) return zeros(m.builder, m.output);
  if (!is_float(m.output.dtype())) return {};
  const bool never_zero = m.is_full(x);
  return never_zero || (m.is_finite_full(y) && !m.is_full(y, 0)) ? div(x, y) : Value{};
}

Value simplify_pow(const Match& m) {
  const Value x = m.operands[0];
  const Value exponent = m.operands[1];
  if (m.is_full(exponent, 1)) return x;
  if (m.is_full(exponent, 2)) return mul(x, x);
  if (m.is_full(exponent, 0) && !is_complex(x.dtype())) return full(m.builder, m.output, 1);
  if (m.is_full(exponent, -1) && is_float(x.dtype())) return div(full(m.builder, m.output, 1), x);
  return {};
}

// neg neg, not not, conj conj, and reverses of the same axes.
Value simplify_involution(const Match& m) {
  const Equation* inner = m.made_by(m.operands[0], m.primitive);
  return inner != nullptr && m.builder.attrs(*inner) == *m.attrs ? m.operand(*inner, 0) : Value{};
}

Value simplify_and(const Match& m) {
  if (!is_bool(m.output.dtype())) return {};
  for (int side = 0; side < 2; ++side) {
    if (m.is_full(m.operands[side], 1)) return m.operands[1 - side];
    if (m.is_full(m.operands[side], 0)) return m.operands[side];
  }
  return m.operands[0] == m.operands[1] ? m.operands[0] : Value{};
}

Value simplify_or(const Match& m) {
  if (!is_bool(m.output.dtype())) return {};
  for (int side = 0; side < 2; ++side) {
    if (m.is_full(m.operands[side], 0)) return m.operands[1 - side];
    if (m.is_full(m.operands[side], 1)) return m.operands[side];
  }
  return m.operands[0] == m.operands[1] ? m.operands[0] : Value{};
}

Value simplify_part(const Match& m) {
  const Equation* parts = m.made_by(m.operands[0], kComplex);
  return parts == nullptr ? Value{} : m.operand(*parts, &m.primitive == &kReal ? 0 : 1);
}

Value simplify_select(const Match& m) {
  if (m.operands[1] == m.operands[2]) return m.operands[1];
  if (m.is_full(m.operands[0], 1)) return m.operands[1];
  if (m.is_full(m.operands[0], 0)) return m.operands[2];
  const Equation* inverted = m.made_by(m.operands[0], kNot);
  return inverted == nullptr ? Value{} : select(m.operand(*inverted, 0), m.operands[2], m.operands[1]);
}

// Every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
  if (is_bool(from)) return !is_bool(to) && to != DType::kKey;
  if (dtype_kind(from) != dtype_kind(to)) return false;
  if (from == DType::kFloat8E8M0FNU && to == DType::kFloat16) return false;  // its range is float32's
  return from == to || dtype_size(from) < dtype_size(to);
}

Value simplify_convert(const Match& m) {
  const Value x = m.operands[0];
  if (x.dtype() == m.output.dtype()) return x;
  const Equation* inner = m.made_by(x, kConvert);
  if (inner == nullptr) return {};
  const Value source = m.operand(*inner, 0);
  return widens(source.dtype(), x.dtype()) ? convert(source, m.output.dtype()) : Value{};
}

Value simplify_broadcast(const Match& m) {
  const Value x = m.operands[0];
  if (m.is_full(x)) return m.full_of(x, m.output.shape());
  if (x.shape() == m.output.shape()) return x;
  const Equation* inner = m.made_by(x, kBroadcast);
  if (inner == nullptr) return {};
  Ints axes = m.builder.attrs(*inner).ints("axes");
  for (int64_t& axis : axes) axis = m.attrs->ints("axes")[axis];
  return broadcast(m.operand(*inner, 0), m.output.shape(), axes);
}

Value simplify_reshape(const Match& m) {
  const Value x = m.operands[0];
  if (m.is_full(x)) return m.full_of(x, m.output.shape());
  if (x.shape() == m.output.shape()) return x;
  const Equation* inner = m.made_by(x, kReshape);
  return inner == nullptr ? Value{} : reshape(m.operand(*inner, 0), m.output.shape());
}

Value simplify_transpose(const Match& m) {
  const Value x = m.operands[0];
  if (m.is_full(x)) return m.full_of(x, m.output.shape());
  Ints permutation = m.attrs->ints("permutation");
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  const Equation* inner = m.made_by(x, kTranspose);
  if (inner == nullptr) return {};
  for (int64_t& axis : permutation) axis = m.builder.attrs(*inner).ints("permutation")[axis];
  return transpose(m.operand(*inner, 0), permutation);
}

Value simplify_reverse(const Match& m) {
  const Value x = m.operands[0];
  if (m.is_full(x)) return x;
  const Ints& axes = m.attrs->ints("axes");
  if (std::all_of(axes.begin(), axes.end(), [&](int64_t axis) { return x.shape()[axis] <= 1; })) return x;
  return simplify_involution(m);
}

Value simplify_slice(const Match& m) {
  const Value x = m.operands[0];
  if (m.is_full(x)) return m.full_of(x, m.output.shape());
  return x.shape() == m.output.shape() ? x : Value{};
}

Value simplify_pad(const Match& m) {
  const auto all_zero = [&](std::string_view key) {
    const Ints& amounts = m.attrs->ints(key);
    return std::all_of(amounts.begin(), amounts.end(), [](int64_t amount) { return amount == 0; });
  };
  return all_zero("low") && all_zero("high") && all_zero("interior") ? m.operands[0] : Value{};
}

// An element of many pieces would look at all of them to find its own: each is written where it belongs instead.
Value simplify_concatenate(const Match& m) {
  constexpr size_t kMostPieces = 16, kMostColumns = 24;  // columns: a few elements here and there
  constexpr int64_t kColumn = 8;
  if (m.operands.size() == 1) return m.operands[0];
  const auto axis = static_cast<size_t>(m.attrs->integer("axis"));
  const absl::Span<const int64_t> shape = m.operands[0].shape();
  const bool columns = num_elements(shape.first(axis)) > 1 && num_elements(shape.subspan(axis)) < kColumn;
  if (m.operands.size() <= (columns ? kMostColumns : kMostPieces) || m.output.dtype() == DType::kKey) return {};
  const Aval index(DType::kInt64, {});
  Values starts(m.output.shape().size(), zeros(m.builder, index));
  Value result = zeros(m.builder, m.output);
  int64_t start = 0;
  for (const Value& piece : m.operands) {
    if (start > 0) starts[axis] = full_like(starts[axis], static_cast<double>(start));
    start += piece.shape()[axis];
    if (num_elements(piece.shape()) > 0) result = dynamic_update_slice(result, piece, starts);
  }
  return result;
}

// Nothing to combine: no axes, or only axes of size 1.
Value simplify_reduce(const Match& m) {
  const Value x = m.operands[0];
  const Ints& axes = m.attrs->ints("axes");
  const bool trivial = std::all_of(axes.begin(), axes.end(), [&](int64_t axis) { return x.shape()[axis] == 1; });
  if (trivial) return reshape(x, m.output.shape());
  if (m.is_full(x, 0) && &m.primitive == &kReduceSum) return zeros(m.builder, m.output);
  const bool extremum = &m.primitive == &kReduceMax || &m.primitive == &kReduceMin;
  return extremum && x.aval().size() > 0 && m.is_full(x) ? m.full_of(x, m.output.shape()) : Value{};
}

Value simplify_cumsum(const Match& m) {
  return m.operands[0].shape()[m.attrs->integer("axis")] <= 1 ? m.operands[0] : Value{};
}

// All elements in their order.
Value simplify_gather(const Match& m) {
  const Value x = m.operands[0];
  const int64_t axis = m.attrs->integer("axis");
  const bool all = m.operands[1].rank() == 1 && m.operands[1].shape()[0] == x.shape()[axis];
  return all && m.attrs->integer("batch_dims") == 0 && m.made_by(m.operands[1], kIota) != nullptr ? x : Value{};
}

// Outside of mask regions sizes are what the shapes say.
Value simplify_dimension_size(const Match& m) {
  return full_integer(m.builder, m.output, m.operands[0].shape()[m.attrs->integer("axis")]);
}

Value simplify_set_length(const Match& m) { return m.operands[0]; }

// A counted scan that takes all its steps is one that is not counted: outside of masks the size of a sequence is known.
std::optional<Values> simplify_counted_scan(Builder& builder, const Primitive& scan, absl::Span<const Value> operands,
                                            const AttrsPtr& attrs) {
  if (!attrs->has("counted")) return std::nullopt;
  const Equation* count = builder.producer(operands.back().var);
  if (count == nullptr || count->primitive != &kFull) return std::nullopt;
  if (builder.attrs(*count).integer("value") < attrs->integer("length")) return std::nullopt;
  std::vector<Attrs::Item> rest;
  for (const Attrs::Item& item : attrs->items()) {
    if (item.first != "counted") rest.push_back(item);
  }
  return builder.bind(scan, operands.subspan(0, operands.size() - 1), Attrs::make(std::move(rest)));
}

// A constant with the value of an evaluated scalar.
Value constant_of(Builder& builder, const Aval& aval, const Tensor& scalar) {
  if (is_complex(aval.dtype())) {
    const std::complex<double> value = load_complex(scalar, 0);
    return full_complex(builder, aval, value.real(), value.imag());
  }
  if (is_float(aval.dtype())) return full(builder, aval, load_real(scalar, 0));
  return full_integer(builder, aval, load_integer(scalar, 0));
}

// Scalar functions of constants, computed now.
Value fold(const Match& m) {
  const bool elementwise = m.primitive.scalar || &m.primitive == &kConvert;
  if (!elementwise || m.operands.empty() || m.output.dtype() == DType::kKey) return {};
  for (const Value& operand : m.operands) {
    if (!m.is_full(operand)) return {};
  }
  std::vector<Tensor> scalars;
  for (const Value& operand : m.operands) {
    const Equation* constant = m.made_by(operand, kFull);
    const AttrsPtr attrs = m.builder.attrs(*constant).with("shape", Ints{});
    scalars.push_back(evaluate_primitive(*constant->primitive, {}, attrs)[0]);
  }
  return constant_of(m.builder, m.output, evaluate_primitive(m.primitive, scalars, m.attrs)[0]);
}

// What is known of arrays without elements: those themselves, and what folds of them give. Loops over them would divide
// by sizes that are 0.
Value without_elements(const Match& m) {
  if (m.output.dtype() == DType::kKey) return {};
  if (m.output.size() == 0) return m.operands.empty() ? Value{} : zeros(m.builder, m.output);
  if (m.primitive.lowering != Lowering::kReduce || m.operands[0].aval().size() > 0) return {};
  const Tensor result = evaluate_primitive(m.primitive, {Tensor(m.operands[0].aval())}, m.attrs)[0];
  return constant_of(m.builder, m.output, result);
}

const absl::flat_hash_map<const Primitive*, Rule>& rule_table() {
  static const auto* const table = [] {
    const std::pair<std::string_view, Rule> rows[] = {
        {"add", simplify_add},
        {"sub", simplify_sub},
        {"mul", simplify_mul},
        {"div", simplify_div},
        {"mul_no_nan", simplify_mul_no_nan},
        {"div_no_nan", simplify_div_no_nan},
        {"pow", simplify_pow},
        {"neg", simplify_involution},
        {"not", simplify_involution},
        {"conj", simplify_involution},
        {"and", simplify_and},
        {"or", simplify_or},
        {"real", simplify_part},
        {"imag", simplify_part},
        {"select", simplify_select},
        {"convert", simplify_convert},
        {"broadcast", simplify_broadcast},
        {"reshape", simplify_reshape},
        {"transpose", simplify_transpose},
        {"reverse", simplify_reverse},
        {"slice", simplify_slice},
        {"pad", simplify_pad},
        {"concatenate", simplify_concatenate},
        {"reduce_sum", simplify_reduce},
        {"reduce_prod", simplify_reduce},
        {"reduce_max", simplify_reduce},
        {"reduce_min", simplify_reduce},
        {"cumsum", simplify_cumsum},
        {"gather", simplify_gather},
        {"dimension_size", simplify_dimension_size},
        {"set_length", simplify_set_length},
    };
    auto* result = new absl::flat_hash_map<const Primitive*, Rule>;
    for (const auto& [name, rule] : rows) result->emplace(&get_primitive(name), rule);
    return result;
  }();
  return *table;
}

}  // namespace

GraphPtr simplify(const Graph& graph) {
  const auto& rules = rule_table();
  return rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        const Primitive& primitive = *equation.primitive;
        if (equation.output_count == 1) {
          const Match match{builder, primitive, operands, attrs, graph.aval(equation.first_output)};
          if (const Value folded = fold(match)) return Values{folded};
          if (!has_side_effects(primitive, *attrs)) {
            if (const Value known = without_elements(match)) return Values{known};
          }
          if (const auto rule = rules.find(&primitive); rule != rules.end()) {
            if (const Value replacement = rule->second(match)) return Values{replacement};
          }
        }
        if (&primitive == &kScan) {
          const AttrsPtr simpler = map_graphs(attrs, simplify);
          if (auto results = simplify_counted_scan(builder, primitive, operands, simpler)) return *results;
          return builder.bind(primitive, operands, simpler);
        }
        // Inside a &kMask region sizes are not what the shapes say; its equations are simplified once it is expanded.
        return builder.bind(primitive, operands, &primitive == &kMask ? attrs : map_graphs(attrs, simplify));
      });
}

}  // namespace ct
