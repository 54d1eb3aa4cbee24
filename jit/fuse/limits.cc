#include "jit/fuse/limits.h"

#include <algorithm>
#include <numeric>

#include "jit/fuse/graph_facts.h"
#include "runtime/float_types.h"

namespace ct::jit {
namespace {

constexpr int64_t kLargestStep = int64_t{1} << 20;  // keeps calculations far from overflow

int64_t ceil_div(int64_t x, int64_t divisor) { return x >= 0 ? (x + divisor - 1) / divisor : -(-x / divisor); }

bool is_integer_or_bool(DType dtype) { return is_integer(dtype) || is_bool(dtype); }

// The axes of a source, if they are all there.
std::optional<std::vector<int>> mapped_axes(const std::vector<int>& axes, const AxisMap& map) {
  std::vector<int> result;
  for (int axis : axes) {
    if (axis >= 0 && !map[axis].is_same()) return std::nullopt;
    result.push_back(axis < 0 ? -1 : map[axis].axis);
  }
  return result;
}

std::optional<Bound> mapped(const std::optional<Bound>& bound, const AxisMap& map) {
  if (!bound) return std::nullopt;
  auto axes = mapped_axes(bound->axes, map);
  if (!axes) return std::nullopt;
  return Bound{bound->source, bound->offset, *std::move(axes)};
}

}  // namespace

bool are_alike(const Limit& a, const Limit& b) {
  return a.axis == b.axis && a.source == b.source && a.axes == b.axes && a.factor == b.factor && a.step == b.step;
}

bool contains(const Limits& limits, const Limit& limit) {
  return std::ranges::any_of(limits,
                             [&](const Limit& each) { return are_alike(each, limit) && each.offset <= limit.offset; });
}

void keep_common(Limits& limits, const Limits& other) {
  Limits result;
  for (Limit& each : limits) {
    const auto alike = std::ranges::find_if(other, [&](const Limit& limit) { return are_alike(each, limit); });
    if (alike == other.end()) continue;
    each.offset = std::max(each.offset, alike->offset);
    result.push_back(std::move(each));
  }
  limits = std::move(result);
}

std::optional<Limit> mapped(const Limit& limit, const AxisMap& map) {
  const AxisOf& along = map[limit.axis];
  if (along.axis < 0) return std::nullopt;
  // step * index < factor * source + offset, with over * index = times * p + something, at least `least`.
  Limit result{along.axis, limit.source, along.over * limit.offset - limit.step * along.least, {}};
  result.factor = along.over * limit.factor;
  result.step = along.times * limit.step;
  if (std::max(result.factor, result.step) > kLargestStep) return std::nullopt;
  const int64_t common = std::gcd(result.factor, result.step);
  result.factor /= common;
  result.step /= common;
  result.offset = ceil_div(result.offset, common);
  for (int axis : limit.axes) {
    if (axis >= 0 && (!map[axis].is_same() || map[axis].axis == along.axis)) return std::nullopt;
    result.axes.push_back(axis < 0 ? -1 : map[axis].axis);
  }
  return result;
}

ElementForm mapped(const ElementForm& form, const AxisMap& map) {
  ElementForm result;
  result.constant = form.constant;
  result.never_negative = form.never_negative;
  if (form.index_axis >= 0) {
    const AxisOf& along = map[form.index_axis];
    if (along.is_shifted()) {
      result.index_axis = along.axis;
      result.index_offset = form.index_offset + along.least;
    }
  }
  if (form.source != kNoVar) {
    if (auto axes = mapped_axes(form.source_axes, map)) {
      result.source = form.source;
      result.source_axes = *std::move(axes);
    }
  }
  result.bound = mapped(form.bound, map);
  if (form.compared != kNoVar) {
    auto axes = mapped_axes(form.compared_axes, map);
    result.compared_bound = mapped(form.compared_bound, map);
    if (axes && result.compared_bound) {
      result.compared = form.compared;
      result.compared_axes = *std::move(axes);
    }
  }
  const auto limits = [&](const Limits& from, Limits& to) {
    for (const Limit& each : from) {
      if (auto limit = mapped(each, map)) to.push_back(*std::move(limit));
    }
  };
  limits(form.when_true, result.when_true);
  limits(form.when_false, result.when_false);
  const bool moved_alike = std::ranges::all_of(map, [](const AxisOf& each) { return each.least == each.most; });
  result.exact = form.exact && moved_alike && result.when_true.size() == form.when_true.size();
  for (const Filling& each : form.fillings) {
    if (auto limit = mapped(each.limit, map)) result.fillings.push_back({*std::move(limit), each.value});
  }
  return result;
}

AxisMap inverse(const AxisMap& map, int rank) {
  AxisMap result(rank);
  for (size_t i = 0; i < map.size(); ++i) {
    const AxisOf& of = map[i];
    if (of.axis >= 0) result[of.axis] = {static_cast<int>(i), -of.most, -of.least, of.over, of.times};
  }
  return result;
}

// Lengths and comparisons come first: most graphs have none.
ElementLimits::ElementLimits(const GraphFacts& facts) : forms_(facts.graph.num_vars()) {
  const absl::Span<const Equation> equations = facts.graph.equations();
  for (size_t i = 0; i < equations.size(); ++i) {
    any_ = any_ || facts.lowering[i]->has_length(facts.graph, equations[i]);
  }
  find_forms(facts, true);
  if (!any_) {
    forms_.clear();
    return;
  }
  find_forms(facts, false);
  wanted_.resize(facts.graph.num_vars());
  shown_.resize(facts.graph.num_vars(), kNoVar);
  find_wanted(facts);
}

ElementForm ElementLimits::form(const Graph& graph, Var var) const {
  const ElementForm& known = forms_[var];
  const Aval& aval = graph.aval(var);
  if (known.is_known() || !is_integer(aval.dtype())) return known;
  ElementForm result = known;
  result.source = var;
  for (int axis = 0; axis < aval.rank(); ++axis) result.source_axes.push_back(aval.shape()[axis] == 1 ? -1 : axis);
  return result;
}

void ElementLimits::find_forms(const GraphFacts& facts, bool of_integers) {
  const absl::Span<const Equation> equations = facts.graph.equations();
  for (uint32_t i = 0; i < equations.size(); ++i) {
    for (uint32_t k = 0; k < equations[i].output_count; ++k) {
      const Var var = equations[i].first_output + k;
      if ((!facts.by_elements[i] || is_integer_or_bool(facts.graph.aval(var).dtype())) != of_integers) continue;
      forms_[var] = facts.lowering[i]->form(*this, facts.graph, equations[i], static_cast<int>(k));
      const ElementForm& form = forms_[var];
      any_ = any_ || !form.when_true.empty() || !form.when_false.empty() || !form.fillings.empty();
    }
  }
}

std::optional<Limit> ElementLimits::either(const Limit& a, const Limit& b) const {
  if (a.source == kNoVar && b.source != kNoVar) return either(b, a);
  if (a.axis != b.axis) return std::nullopt;
  Limit result = a;
  const bool never_negative = a.source != kNoVar && forms_[a.source].never_negative;
  if (b.source == kNoVar) {
    if (a.source != kNoVar && !never_negative) return std::nullopt;
    result.offset = std::max(a.offset, a.step * (b.offset - 1) + 1);
    return result;
  }
  if (a.source != b.source || a.axes != b.axes || (a.factor != b.factor && !never_negative)) return std::nullopt;
  result.factor = std::max(a.factor, b.factor);
  result.step = std::min(a.step, b.step);
  result.offset = std::max(a.offset, b.offset);
  return result;
}

void ElementLimits::join(Limits& limits, const Limits& other) const {
  Limits result;
  for (const Limit& a : limits) {
    for (const Limit& b : other) {
      const std::optional<Limit> both = either(a, b);
      if (both && !contains(result, *both)) result.push_back(*both);
    }
  }
  limits = std::move(result);
}

void ElementLimits::want(Var var, const Limits& limits) {
  Wanted& wanted = wanted_[var];
  if (wanted.any) return join(wanted.limits, limits);
  wanted.any = true;
  for (const Limit& each : limits) {
    const bool first = std::none_of(wanted.limits.begin(), wanted.limits.end(),
                                    [&](const Limit& other) { return other.axis == each.axis; });
    if (first) wanted.limits.push_back(each);
  }
}

void ElementLimits::find_wanted(const GraphFacts& facts) {
  const Graph& graph = facts.graph;
  for (Var var : graph.outputs()) want(var, {});
  const absl::Span<const Equation> equations = graph.equations();
  for (size_t i = equations.size(); i-- > 0;) {
    for (uint32_t k = 0; k < equations[i].output_count; ++k) {
      const Var var = equations[i].first_output + k;
      std::erase_if(wanted_[var].limits, [](const Limit& limit) { return limit.source == kNoVar; });
      if (forms_[var].fillings.empty() || wanted_[var].limits.empty()) continue;
      shown_[var] = facts.lowering[i]->shown(*this, graph, equations[i], static_cast<int>(k), wanted_[var].limits);
    }
    const absl::Span<const Var> operands = graph.operands(equations[i]);
    const OperandLimits limits = facts.lowering[i]->operand_limits(*this, graph, equations[i]);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (limits[k]) want(operands[k], *limits[k]);
    }
  }
  // Those along axes of one element have been passed on, and are worth no loop.
  for (Var var = 0; var < wanted_.size(); ++var) {
    const Shape& shape = graph.aval(var).shape();
    std::erase_if(wanted_[var].limits,
                  [&](const Limit& limit) { return limit.source == kNoVar || shape[limit.axis] <= 1; });
  }
}

double rounded(DType dtype, double value) {
  double result = value;
  dispatch_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_complex_v<T>) result = convert_element<double>(convert_element<T>(value));
  });
  return result;
}

Limits ElementLimits::folded(const Aval& aval, Var var, double identity) const {
  Limits result;
  const DType dtype = aval.dtype();
  for (const Filling& each : known(var).fillings) {
    const bool changes_nothing = rounded(dtype, each.value) == rounded(dtype, identity);
    if (changes_nothing && aval.shape()[each.limit.axis] > 1) result.push_back(each.limit);
  }
  return result;
}

}  // namespace ct::jit
