#include "jit/fuse/products.h"

#include <algorithm>
#include <initializer_list>

#include "runtime/bfloat16_products.h"
#include "runtime/error.h"

namespace ct::jit {
namespace {

// Multiply-adds of a product below which calls of it are slow, and those that are worth a copy of an element.
constexpr double kLeastProduct = 1 << 15, kCopiedElement = 4;

// Some axes of an array as runs, in each of which neighbours have one distance by all the strides: how often the
// longest of them goes into the axes, and the distance of its neighbours by the first strides.
struct Runs {
  int64_t count = 1, distance = 1;
};
Runs runs_of(const Shape& shape, const Ints& axes, std::initializer_list<const Shape*> strides) {
  int64_t all = 1, run = 1, longest = 1, start = 1;
  Runs result;
  std::vector<int64_t> next(strides.size());
  for (size_t i = axes.size(); i-- > 0;) {
    const int64_t size = shape[axes[i]];
    if (size == 1) continue;
    bool continues = run > 1;
    size_t k = 0;
    for (const Shape* each : strides) {
      continues = continues && (*each)[axes[i]] == next[k];
      next[k++] = (*each)[axes[i]] * size;
    }
    if (!continues) start = (**strides.begin())[axes[i]];
    run = continues ? run * size : size;
    if (run > longest) result.distance = start;
    longest = std::max(longest, run);
    all *= size;
  }
  result.count = all / longest;
  return result;
}

}  // namespace

namespace {

AxisMap product_axes(const DotAxes& axes, bool left, int rank) {
  const Ints &batch = left ? axes.lhs_batch : axes.rhs_batch, &free = left ? axes.lhs_free : axes.rhs_free,
             &contract = left ? axes.lhs_contract : axes.rhs_contract;
  const size_t first_free = batch.size() + (left ? 0 : axes.lhs_free.size());
  const size_t first_contracted = batch.size() + axes.lhs_free.size() + axes.rhs_free.size();
  AxisMap map(static_cast<size_t>(rank));
  for (size_t i = 0; i < batch.size(); ++i) map[batch[i]].axis = static_cast<int>(i);
  for (size_t i = 0; i < free.size(); ++i) map[free[i]].axis = static_cast<int>(first_free + i);
  for (size_t i = 0; i < contract.size(); ++i) map[contract[i]].axis = static_cast<int>(first_contracted + i);
  return map;
}

}  // namespace

std::vector<std::optional<Limit>> product_limits(const ElementLimits& limits, const Graph& graph,
                                                 const Equation& equation) {
  // A loop for each of many short sums takes longer than all of it does.
  constexpr int64_t kLeastInner = 16;
  const DotAxes axes = dot_axes(graph, equation);
  const Var lhs = graph.operands(equation)[0], rhs = graph.operands(equation)[1];
  const int results = graph.aval(equation.first_output).rank();
  std::vector<std::optional<Limit>> found(static_cast<size_t>(results) + axes.lhs_contract.size());
  for (const Limit& limit : limits.wanted(equation.first_output)) found[limit.axis] = limit;
  if (is_complex(graph.aval(equation.first_output).dtype())) return found;
  const AxisMap of_lhs = product_axes(axes, true, graph.aval(lhs).rank());
  const AxisMap of_rhs = product_axes(axes, false, graph.aval(rhs).rank());
  Limits right;
  for (const Limit& each : limits.folded(graph.aval(rhs), rhs, 0)) {
    if (auto limit = mapped(each, of_rhs)) right.push_back(*std::move(limit));
  }
  for (const Limit& each : limits.folded(graph.aval(lhs), lhs, 0)) {
    const std::optional<Limit> limit = mapped(each, of_lhs);
    if (!limit || limit->axis < results || found[limit->axis]) continue;
    const auto alike = std::ranges::find_if(right, [&](const Limit& other) { return are_alike(*limit, other); });
    if (alike == right.end()) continue;
    const bool within = std::any_of(limit->axes.begin(), limit->axes.end(), [&](int axis) { return axis >= results; });
    if (within && graph.aval(lhs).shape()[each.axis] < kLeastInner) continue;
    found[limit->axis] = alike->offset > limit->offset ? *alike : limit;
  }
  return found;
}

OperandLimits product_operand_limits(const ElementLimits& limits, const Graph& graph, const Equation& equation) {
  if (!limits.is_wanted(equation.first_output)) return OperandLimits(2);
  const DotAxes axes = dot_axes(graph, equation);
  const std::vector<std::optional<Limit>> found = product_limits(limits, graph, equation);
  OperandLimits result;
  for (const bool left : {true, false}) {
    const int rank = graph.aval(graph.operands(equation)[left ? 0 : 1]).rank();
    const AxisMap back = inverse(product_axes(axes, left, rank), static_cast<int>(found.size()));
    Limits here;
    for (const std::optional<Limit>& each : found) {
      if (!each) continue;
      if (auto limit = mapped(*each, back)) here.push_back(*std::move(limit));
    }
    result.emplace_back(std::move(here));
  }
  return result;
}

Shape transposed_strides(const Graph& graph, Var base, const Equation& transposition) {
  const View view = *rule_view(graph, transposition, [&](int) { return whole_view(graph, base); });
  const Shape& shape = graph.aval(base).shape();
  const Shape& result = graph.aval(transposition.first_output).shape();
  const Shape dense = dense_strides(shape), result_dense = dense_strides(result);
  Shape strides(shape.size(), 0);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    for (size_t other = 0; other < result.size(); ++other) {
      if (shape[axis] > 1 && result[other] > 1 && view.strides[other] == dense[axis])
        strides[axis] = result_dense[other];
    }
  }
  return strides;
}

DotAxes dot_axes(const Graph& graph, const Equation& equation) {
  const Shape& lhs = graph.aval(graph.operands(equation)[0]).shape();
  const Shape& rhs = graph.aval(graph.operands(equation)[1]).shape();
  DotAxes axes{DotDimensions::from(graph.attrs(equation))};
  axes.lhs_free = free_axes(static_cast<int>(lhs.size()), axes.lhs_contract, axes.lhs_batch);
  axes.rhs_free = free_axes(static_cast<int>(rhs.size()), axes.rhs_contract, axes.rhs_batch);
  for (int64_t axis : axes.lhs_batch) axes.batch *= lhs[axis];
  for (int64_t axis : axes.lhs_free) axes.m *= lhs[axis];
  for (int64_t axis : axes.rhs_free) axes.n *= rhs[axis];
  for (int64_t axis : axes.lhs_contract) axes.k *= lhs[axis];
  return axes;
}

View ProductViews::view_of(Var var) const {
  if (const Var shown = limits_.shown(var); shown != kNoVar) return view_of(shown);
  if (!facts_.is_input(var) && !storage_.required[var] && !facts_.is_output[var]) {
    const Equation& equation = facts_.equation_of(var);
    const ViewOf of_operand = [&](int operand) { return view_of(graph_.operands(equation)[operand]); };
    auto view = facts_.lowering[facts_.definition[var]]->view(graph_, equation, of_operand);
    if (view) return *view;
  }
  return whole_view(graph_, var);
}

void ProductViews::require_view(const Equation& product, int operand, const char* reason) {
  const Var var = read_by(product, operand);
  View view = view_of(var);
  if (facts_.size_of(view.base) == 1 || (view.base != var && is_cut_up(product, operand, var, view))) {
    view = whole_view(graph_, var);
  }
  storage_.require(view.base, reason);
  views[graph_.operands(product)[operand]] = std::move(view);
}

// The operand; or what it was as bfloat16 before it was made float32, where both operands were and it pays.
Var ProductViews::read_by(const Equation& product, int operand) const {
  const absl::Span<const Var> operands = graph_.operands(product);
  if (!bfloat16_) return operands[operand];
  const DotAxes axes = dot_axes(graph_, product);
  if (!takes_bfloat16_tiles(axes.m, axes.n, axes.k)) return operands[operand];
  const auto narrow = [&](Var var) {
    if (facts_.is_input(var) || graph_.aval(var).dtype() != DType::kFloat32) return kNoVar;
    const Equation& made_by = facts_.equation_of(var);
    const bool converts = made_by.primitive->elementwise && made_by.primitive->free_to_recompute;
    if (!converts || made_by.operand_count != 1) return kNoVar;
    const Var source = graph_.operands(made_by)[0];
    return graph_.aval(source).dtype() == DType::kBFloat16 ? source : kNoVar;
  };
  return narrow(operands[0]) != kNoVar && narrow(operands[1]) != kNoVar ? narrow(operands[operand]) : operands[operand];
}

void ProductViews::require_dense(Var var, const char* reason) {
  const View view = view_of(var);
  const Shape& shape = graph_.aval(var).shape();
  const Shape dense = dense_strides(shape);
  // What elements are computed of for nothing else is not made longer.
  const bool in_memory = facts_.is_input(view.base) || storage_.required[view.base] || !facts_.has_elements(view.base);
  bool is_dense = facts_.size_of(var) > 1 && (in_memory || facts_.size_of(view.base) == facts_.size_of(var));
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    is_dense = is_dense && (shape[axis] == 1 || view.strides[axis] == dense[axis]);
  }
  storage_.require(is_dense ? view.base : var, reason);
  if (is_dense && view.base != var) views[var] = view;
}

// Whether a product written the other way round would fall into more products than one written as it is, each with
// too little work to be worth it: then its result is transposed by a loop. A product of few rows takes as long as
// reading its other operand does, and must read it in the order in which it lies.
bool ProductViews::is_cut_up_by_transposing(const Equation& product, const Equation& transposition) const {
  const DotAxes axes = dot_axes(graph_, product);
  const Shape dense = dense_strides(graph_.aval(product.first_output).shape());
  const Shape written = transposed_strides(graph_, product.first_output, transposition);
  int64_t as_it_is = 1, other_way = 1;
  bool across[] = {false, false};
  size_t out_axis = axes.lhs_batch.size();
  for (int operand : {0, 1}) {
    const Var var = graph_.operands(product)[operand];
    const Shape& shape = graph_.aval(var).shape();
    const Ints& free = operand == 0 ? axes.lhs_free : axes.rhs_free;
    const Shape own = storage_.required[var] || !views[var] ? dense_strides(shape) : views[var]->strides;
    Shape dense_here(shape.size(), 0), written_here(shape.size(), 0);
    for (const int64_t axis : free) {
      dense_here[axis] = dense[out_axis];
      written_here[axis] = written[out_axis++];
    }
    const Runs as_it_is_here = runs_of(shape, free, {&own, &dense_here});
    const Runs other_way_here = runs_of(shape, free, {&own, &written_here});
    as_it_is *= as_it_is_here.count;
    other_way *= other_way_here.count;
    across[operand] = as_it_is_here.distance == 1 && other_way_here.distance != 1;
  }
  if (other_way <= as_it_is) return false;
  // An operand that is read across the order in which it lies costs more than a pass over the result, unless many
  // rows of the other one share what was read.
  constexpr int64_t kRowsPerStep = 4;
  if ((across[0] && axes.n < kRowsPerStep * axes.k) || (across[1] && axes.m < kRowsPerStep * axes.k)) return true;
  constexpr int64_t kFewRows = 8;
  constexpr double kLeastPart = 1 << 11;
  const double work = static_cast<double>(axes.batch * axes.m) * static_cast<double>(axes.n * axes.k);
  return std::min(axes.m, axes.n) < kFewRows || work < kLeastPart * static_cast<double>(axes.batch * other_way);
}

// Whether a product that read `var`, its operand, through the view would fall into small products around which there
// are loops, and into fewer and larger ones if the operand were stored as it is.
bool ProductViews::is_cut_up(const Equation& product, int operand, Var var, const View& view) const {
  const Shape& shape = graph_.aval(var).shape();
  const DotAxes axes = dot_axes(graph_, product);
  const Ints& free = operand == 0 ? axes.lhs_free : axes.rhs_free;
  const Ints& contract = operand == 0 ? axes.lhs_contract : axes.rhs_contract;
  const auto runs = [&](const Ints& group, const Shape& strides) { return runs_of(shape, group, {&strides}).count; };
  const Shape dense = dense_strides(shape);
  const int64_t of_view = runs(free, view.strides) * runs(contract, view.strides);
  const int64_t of_copy = runs(free, dense) * runs(contract, dense);
  if (of_view <= of_copy) return false;
  if (is_only_for(var, view.base)) return true;
  const double work = static_cast<double>(axes.batch * axes.m) * static_cast<double>(axes.n * axes.k);
  return work < kLeastProduct * static_cast<double>(axes.batch * of_view) &&
         work > kCopiedElement * static_cast<double>(facts_.size_of(var));
}

// Whether the view's base is computed for nothing but `var`, so that either can be stored at the same cost.
bool ProductViews::is_only_for(Var var, Var base) const {
  while (var != base) {
    Var next = kNoVar;
    for (Var operand : graph_.operands(facts_.equation_of(var))) {
      if (next == kNoVar && view_of(operand).base == base) next = operand;
    }
    if (next == kNoVar || facts_.uses[next].size() != 1) return false;
    var = next;
  }
  return facts_.has_elements(base) && !storage_.required[base] && !facts_.is_output[base];
}

// A product that is only transposed can be written that way round at once.
void ProductViews::transpose_results() {
  for (const Equation& equation : graph_.equations()) {
    const Var product = equation.first_output;
    if (!equation.primitive->is<structures::Product>() || facts_.has_elements(product) || facts_.is_output[product] ||
        storage_.required[product] || facts_.uses[product].size() != 1 || facts_.size_of(product) <= 1) {
      continue;
    }
    const Equation& use = graph_.equations()[facts_.uses[product][0].equation];
    if (!use.primitive->computes_elements()) continue;
    const auto view = rule_view(graph_, use, [&](int) { return whole_view(graph_, product); });
    if (!view || view->base != product || view->offset != 0 || !is_permutation(*view, use.first_output)) continue;
    if (is_cut_up_by_transposing(equation, use)) continue;
    transposed[product] = use.first_output;
    storage_.require(use.first_output, "a matrix product writes it");
  }
}

// Every element of the view's base once.
bool ProductViews::is_permutation(const View& view, Var var) const {
  const Shape& shape = graph_.aval(var).shape();
  if (num_elements(shape) != facts_.size_of(view.base)) return false;
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride, size
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] > 1) axes.emplace_back(view.strides[axis], shape[axis]);
  }
  std::sort(axes.begin(), axes.end());
  int64_t expected = 1;
  for (const auto& [stride, size] : axes) {
    if (stride != expected) return false;
    expected = stride * size;
  }
  return true;
}

}  // namespace ct::jit
