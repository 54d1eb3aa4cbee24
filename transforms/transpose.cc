// Linear programs run backward. What does not depend on the linear inputs is evaluated forward; then the linear
// equations are visited in reverse, each turning the cotangents of its outputs into those of its operands.
#include "transforms/transpose.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

Values apply_rule(Builder& builder, const Primitive& primitive, const TransposeInput& input, const AttrsPtr& attrs) {
  if (primitive.transpose) return primitive.transpose(builder, input, attrs);
  if (primitive.expand) {
    const Avals avals(input.avals.begin(), input.avals.end());
    return backward_pass(builder, *expansion(primitive, avals, attrs), input.operands, input.cotangents);
  }
  Error error = missing_rule(primitive, "transpose", ErrorKind::kNotDifferentiable);
  throw error.hint(
      "reverse mode needs it; forward mode (jvp, jacfwd) does not; of a function that is not linear take ct.vjp");
}

// An integer or a bool made of what the program is linear in: a choice or a position that depends on a tangent, say.
void check_linear(absl::Span<const Value> operands, absl::Span<const Aval> avals) {
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k] || is_inexact(avals[k].dtype())) continue;
    throw Error(ErrorKind::kNotDifferentiable,
                concat("operand ", k, ", ", avals[k].to_string(), ", depends on what the program should be linear in"))
        .hint("a derivative rule must be linear in the tangents: take sizes, indices and choices from the primals");
  }
}

void check_cotangent(const Primitive& primitive, const Value& cotangent, const Aval& operand, size_t index) {
  if (same_type(cotangent.aval(), operand)) return;
  throw Error(ErrorKind::kType, concat("the transpose rule returned a cotangent of type ", cotangent.aval().to_string(),
                                       " for operand ", index, " of type ", operand.to_string()))
      .op(primitive.name)
      .hint("a cotangent has the shape and dtype of its operand");
}

// A cotangent that a `select` in the program has cut to where its predicate holds. The cut is made late: equations that
// work element by element get the whole of `value`, and the zeros are put in behind them. So what such equations
// multiply with at elements that were not selected, infinity and NaN included, does not matter; and where they were one
// select with a derivative at the front, they are one select at the back.
struct Cut {
  Value value;
  Value predicate{};  // null: not cut
  bool when = true;
  LocationId location = LocationScope::current();
};

Value made_cut(const Cut& cut) {
  LocationScope scope(cut.location);
  const Value zero = zeros_like(cut.value);
  return cut.when ? select(cut.predicate, cut.value, zero) : select(cut.predicate, zero, cut.value);
}

// The cut that a rule made with its last equations: `cotangent` as a select between a value and zero.
Cut find_cut(const Builder& builder, Value cotangent, size_t first_new) {
  const absl::Span<const Equation> emitted = builder.equations().subspan(first_new);
  const auto maker = [&](Var var) {
    return std::find_if(emitted.begin(), emitted.end(), [&](const Equation& e) { return e.first_output == var; });
  };
  const auto is_zero = [&](Var var) {
    const auto found = maker(var);
    if (found == emitted.end() || found->primitive->arrangement != Arrangement::kUniform) return false;
    const AttrsPtr& attrs = builder.attrs_ptr(*found);
    return is_float(attrs->dtype("dtype")) && attrs->real("value") == 0;
  };
  const auto found = maker(cotangent.var);
  if (found == emitted.end() || found->primitive->arrangement != Arrangement::kChoice) return {cotangent};
  const absl::Span<const Var> operands = builder.operands(*found);
  Builder* self = cotangent.builder;
  if (is_zero(operands[2])) return {{self, operands[1]}, {self, operands[0]}, true};
  if (is_zero(operands[1])) return {{self, operands[2]}, {self, operands[0]}, false};
  return {cotangent};
}

// What is cut by both.
Cut intersect(const Cut& outer, const Cut& inner) {
  if (!inner.predicate) return {inner.value, outer.predicate, outer.when};
  if (inner.predicate == outer.predicate && inner.when == outer.when) return inner;
  const Value a = outer.when ? outer.predicate : logical_not(outer.predicate);
  return {inner.value, bit_and(a, inner.when ? inner.predicate : logical_not(inner.predicate)), true};
}

// The cotangents of a walk: those in `cotangents`, and those that are to be cut, by variable.
class Cotangents {
 public:
  explicit Cotangents(Values& values) : values_(values) {}

  Value get(Var var) {
    if (const auto cut = cuts_.find(var); cut != cuts_.end()) {
      values_[var] = made_cut(cut->second);
      cuts_.erase(cut);
    }
    return values_[var];
  }
  bool has(Var var) const { return values_[var] || cuts_.contains(var); }
  // The cut that is still to be made, if any.
  Cut uncut(Var var) const {
    const auto cut = cuts_.find(var);
    return cut != cuts_.end() ? cut->second : Cut{values_[var]};
  }
  void add(Var var, const Cut& more) {
    if (!has(var) && more.predicate) {
      cuts_[var] = more;
      return;
    }
    const Cut before = uncut(var);
    if (before.predicate && before.predicate == more.predicate && before.when != more.when) {
      // Both sides of one select.
      cuts_.erase(var);
      values_[var] = before.when ? select(before.predicate, before.value, more.value)
                                 : select(before.predicate, more.value, before.value);
      return;
    }
    values_[var] = add_tangents(get(var), more.predicate ? made_cut(more) : more.value);
  }
  void finish() {
    std::vector<Var> left;
    for (const auto& [var, _] : cuts_) left.push_back(var);
    std::sort(left.begin(), left.end());  // the order of equations is the same in every run
    for (Var var : left) get(var);
  }

 private:
  Values& values_;
  absl::flat_hash_map<Var, Cut> cuts_;
};

}  // namespace

template <class Source>
void walk_back(Builder& builder, const Source& source, size_t first, size_t last, const std::vector<bool>& linear,
               absl::Span<const Value> values, Values& all_cotangents) {
  Cotangents cotangents(all_cotangents);
  absl::InlinedVector<Var, 6> vars;
  absl::InlinedVector<Value, 6> operands;
  absl::InlinedVector<Aval, 6> avals;
  absl::InlinedVector<Value, 2> results;
  for (size_t i = last; i-- > first;) {
    // Copies: when the source is the builder itself, its arrays grow under the rule.
    const Equation equation = source.equations()[i];
    if (equation.output_count == 0 || !linear[equation.first_output]) continue;
    results.clear();
    bool any = false;
    for (uint32_t k = 0; k < equation.output_count; ++k) any |= cotangents.has(equation.first_output + k);
    if (!any) continue;
    LocationScope scope(location_of(equation));
    const bool through = equation.primitive->elementwise && equation.output_count == 1;
    Cut cut;
    if (through) {
      cut = cotangents.uncut(equation.first_output);
      results.push_back(cut.value);
    } else {
      for (uint32_t k = 0; k < equation.output_count; ++k) results.push_back(cotangents.get(equation.first_output + k));
    }
    vars.clear();
    operands.clear();
    avals.clear();
    for (Var var : source.operands(equation)) {
      vars.push_back(var);
      if constexpr (std::is_same_v<Source, Builder>) {
        operands.push_back(linear[var] ? Value{} : Value{&builder, var});
      } else {
        operands.push_back(linear[var] ? Value{} : values[var]);
      }
      avals.push_back(source.aval(var));
    }
    const AttrsPtr attrs = source.attrs_ptr(equation);
    try {
      check_linear(operands, avals);
      const size_t first_new = builder.equations().size();
      const Values found = apply_rule(builder, *equation.primitive, {operands, avals, results}, attrs);
      CT_CHECK(found.size() == vars.size());
      for (size_t k = 0; k < vars.size(); ++k) {
        if (!found[k] || !linear[vars[k]]) continue;
        check_cotangent(*equation.primitive, found[k], avals[k], k);
        const Cut more = through ? find_cut(builder, found[k], first_new) : Cut{found[k]};
        cotangents.add(vars[k], cut.predicate ? intersect(cut, more) : more);
      }
    } catch (Error& error) {
      error.op(equation.primitive->name).at(location_of(equation));
      throw;
    }
  }
  cotangents.finish();
}

template void walk_back<Graph>(Builder&, const Graph&, size_t, size_t, const std::vector<bool>&,
                               absl::Span<const Value>, Values&);
template void walk_back<Builder>(Builder&, const Builder&, size_t, size_t, const std::vector<bool>&,
                                 absl::Span<const Value>, Values&);

Values backward_pass(Builder& builder, const Graph& graph, absl::Span<const Value> operands,
                     absl::Span<const Value> cotangents) {
  CT_CHECK(operands.size() == graph.num_inputs() && cotangents.size() == graph.outputs().size());
  Values values(graph.num_vars());
  std::vector<bool> linear(graph.num_vars(), false);
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    values[i] = operands[i];
    linear[i] = !operands[i];
  }
  Values known;
  for (const Equation& equation : graph.equations()) {
    bool depends = false;
    for (Var var : graph.operands(equation)) depends |= linear[var];
    if (depends) {
      for (uint32_t k = 0; k < equation.output_count; ++k) linear[equation.first_output + k] = true;
      continue;
    }
    LocationScope scope(location_of(equation));
    known.clear();
    for (Var var : graph.operands(equation)) known.push_back(values[var]);
    const Values outputs = builder.bind(*equation.primitive, known, graph.attrs_ptr(equation));
    std::copy(outputs.begin(), outputs.end(), values.begin() + equation.first_output);
  }

  Values accumulated(graph.num_vars());
  for (size_t k = 0; k < cotangents.size(); ++k) {
    const Var var = graph.outputs()[k];
    if (linear[var]) accumulated[var] = add_tangents(accumulated[var], cotangents[k]);
  }
  walk_back(builder, graph, 0, graph.equations().size(), linear, values, accumulated);
  Values result(graph.num_inputs());
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    if (linear[i]) result[i] = accumulated[i];
  }
  return result;
}

LinearSheet separate_linear(Builder& builder, const Graph& graph, absl::Span<const Value> operands) {
  Builder unknown;
  SplitContext context(builder, unknown);
  std::vector<SplitValue> inputs;
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    inputs.push_back(operands[i] ? SplitValue::on_known(operands[i])
                                 : SplitValue::on_unknown(unknown.input(graph.aval(i))));
  }
  LinearSheet sheet;
  sheet.outputs = split_inline(context, graph, inputs);
  Values outputs;
  for (const SplitValue& output : sheet.outputs) {
    if (!output.is_known()) outputs.push_back(output.unknown);
  }
  Values order;
  for (const SplitValue& input : inputs) {
    if (!input.is_known()) order.push_back(input.unknown);
  }
  order.insert(order.end(), context.residual_inputs().begin(), context.residual_inputs().end());
  unknown.arrange_inputs(order);
  sheet.graph = unknown.finish(outputs);
  sheet.residuals.assign(context.residuals().begin(), context.residuals().end());
  return sheet;
}

Values transpose_sheet(Builder& builder, const LinearSheet& sheet, absl::Span<const Value> cotangents) {
  Values incoming;
  for (size_t k = 0; k < sheet.outputs.size(); ++k) {
    if (!sheet.outputs[k].is_known()) incoming.push_back(cotangents[k]);
  }
  Values operands(sheet.graph->num_inputs() - sheet.residuals.size());
  operands.insert(operands.end(), sheet.residuals.begin(), sheet.residuals.end());
  Values found = backward_pass(builder, *sheet.graph, operands, incoming);
  found.resize(found.size() - sheet.residuals.size());
  return found;
}

GraphPtr transpose_graph(const Graph& graph, const std::vector<bool>& linear) {
  CT_CHECK(linear.size() == graph.num_inputs());
  check_differentiable_inputs(graph, linear, "transpose");
  Builder builder;
  Values operands(graph.num_inputs());
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    if (linear[i]) continue;
    const bool named = i < graph.input_names().size();
    operands[i] = builder.input(graph.aval(i), named ? graph.input_names()[i] : std::string());
  }
  Values cotangents(graph.outputs().size());
  for (size_t k = 0; k < cotangents.size(); ++k) {
    const Aval aval = graph.aval(graph.outputs()[k]);
    if (is_inexact(aval.dtype())) cotangents[k] = builder.input(aval);
  }
  const LinearSheet sheet = separate_linear(builder, graph, operands);
  const Values results = transpose_sheet(builder, sheet, cotangents);
  Values outputs;
  size_t next = 0;
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    if (linear[i]) outputs.push_back(instantiate(builder, results[next++], graph.aval(i)));
  }
  return builder.finish(outputs);
}

}  // namespace ct
