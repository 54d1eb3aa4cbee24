#include "transforms/contract/zeros.h"

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "ir/builder.h"
#include "ir/ops.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"

namespace ct::contraction {
namespace {

using terms::Leaf;
using terms::LeafId;
using terms::Part;
using terms::Term;

// A leaf as it was before it was cleared of what is not finite.
LeafId as_it_was(terms::Context& context, LeafId id) {
  Leaf leaf = context.leaf(id);
  if (leaf.kind == Leaf::Kind::kFinite) return as_it_was(context, leaf.parts[0].leaf);
  if (leaf.kind == Leaf::Kind::kVariable) return id;
  for (Part& part : leaf.parts) part.leaf = as_it_was(context, part.leaf);
  return context.intern(std::move(leaf));
}

// Whether factor k is not finite where nothing wins over it.
Term not_finite(terms::Context& context, const Term& term, size_t k) {
  uint32_t zeros = 0;
  for (const auto& each : term.zeros_win) {
    if ((each.over >> k & 1) != 0) zeros |= each.zeros;
  }
  Term result{.axes = term.axes};
  for (size_t other = 0; other < term.factors.size(); ++other) {
    if (other != k && (zeros >> other & 1) == 0) continue;
    terms::Factor factor = term.factors[other];
    if (!factor.one_hot) {
      factor.leaf = context.intern({.kind = other == k ? Leaf::Kind::kNotFinite : Leaf::Kind::kNotZero,
                                    .parts = {{.leaf = as_it_was(context, factor.leaf), .shape = factor.shape}}});
    }
    result.factors.push_back(std::move(factor));
  }
  return result;
}

Value over_all(Value x, Value (*fold)(Value, absl::Span<const int64_t>)) {
  Ints axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return fold(x, axes);
}

// The factors that are asked whether they are not finite, each of them once.
std::vector<Part> asked(const std::vector<Plan>& counts, const terms::Context& context) {
  std::set<std::pair<LeafId, Ints>> seen;
  std::vector<Part> result;
  for (const Plan& plan : counts) {
    for (const terms::Factor& factor : plan.term().factors) {
      if (factor.one_hot || context.leaf(factor.leaf).kind != Leaf::Kind::kNotFinite) continue;
      if (seen.insert({factor.leaf, factor.shape}).second) {
        result.push_back({.leaf = factor.leaf, .shape = factor.shape});
      }
    }
  }
  return result;
}

// Whether any of them is not.
Value is_any(const std::vector<Part>& parts, Emitter& emitter) {
  Value found;
  for (const Part& part : parts) {
    const Value any = over_all(emitter.leaf(part.leaf, part.shape), reduce_max);
    found = found ? max(found, any) : any;
  }
  return gt(found, zeros_like(found));
}

// What a square is that has such a factor: infinite, or no number where one of them is none.
Value infinite_or_none(const std::vector<Part>& parts, const terms::Context& context, Emitter& emitter, DType dtype) {
  Value total;
  for (const Part& part : parts) {
    const Part& source = context.leaf(part.leaf).parts[0];
    const Value x = emitter.leaf(source.leaf, source.shape);
    const Value found = convert(over_all(select(is_finite(x), zeros_like(x), abs(x)), reduce_sum), dtype);
    total = total ? total + found : found;
  }
  return total;
}

}  // namespace

std::optional<std::vector<Plan>> plans_of_not_finite(terms::Context& context, const terms::Sum& sum, DType dtype) {
  std::vector<Plan> result;
  std::set<std::string> seen;
  for (const Term& term : sum.terms) {
    uint32_t cleared = 0;
    for (const auto& each : term.zeros_win) cleared |= each.over;
    for (size_t k = 0; k < term.factors.size(); ++k) {
      if ((cleared >> k & 1) == 0 || term.factors[k].one_hot) continue;
      const Term count = not_finite(context, term, k);
      if (!seen.insert(text_of(count)).second) continue;
      auto plan = Plan::of(context, count, dtype, {});
      if (!plan) return std::nullopt;
      result.push_back(*std::move(plan));
    }
  }
  return result;
}

Value with_not_finite(Value value, const std::vector<Plan>& counts, bool is_square, const terms::Context& context,
                      Precision precision, const std::function<Value(Var)>& variable) {
  if (counts.empty()) return value;
  precision.wide = precision.narrow;
  const std::vector<Part> parts = asked(counts, context);
  Emitter outside(*value.builder, context, variable, precision);
  Builder inner, skipped;
  Values operands{convert(is_any(parts, outside), DType::kInt32)}, inputs;
  std::map<Var, Value> known;
  Emitter emitter(
      inner, context,
      [&](Var var) {
        const auto [at, is_new] = known.insert({var, Value()});
        if (!is_new) return at->second;
        operands.push_back(variable(var));
        skipped.input(operands.back().aval());
        inputs.push_back(inner.input(operands.back().aval()));
        return at->second = inputs.back();
      },
      precision);
  Value total;
  for (const Plan& plan : counts) {
    const Value count = reshape(emitter.term(plan, std::nullopt, 0), value.shape());
    total = total ? total + count : count;
  }
  const Aval type = value.aval();
  Value filling = full(inner, type, std::numeric_limits<double>::quiet_NaN());
  if (is_square) filling = broadcast(infinite_or_none(parts, context, emitter, type.dtype()), type.shape(), {});
  const Value filled = select(gt(total, zeros_like(total)), filling, zeros(inner, type));
  inner.arrange_inputs(inputs);
  const GraphPtr some = inner.finish({filled}), none = skipped.finish({zeros(skipped, type)});
  return value + cond(*value.builder, {none, some}, operands)[0];
}

}  // namespace ct::contraction
