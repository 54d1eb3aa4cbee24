#include "jit/fuse/products.h"

#include <algorithm>
#include <initializer_list>

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
  if (!facts_.is_input(var) && !storage_.required[var] && !facts_.is_output[var]) {
    const Equation& equation = facts_.equation_of(var);
    const ViewOf of_operand = [&](int operand) { return view_of(graph_.operands(equation)[operand]); };
    auto view = facts_.lowering[facts_.definition[var]]->view(graph_, equation, of_operand);
    if (view) return *view;
  }
  return whole_view(graph_, var);
}

void ProductViews::require_view(const Equation& product, int operand, const char* reason) {
  const Var var = graph_.operands(product)[operand];
  View view = view_of(var);
  if (facts_.size_of(view.base) == 1 || (view.base != var && is_cut_up(product, operand, view))) {
    view = whole_view(graph_, var);
  }
  storage_.require(view.base, reason);
  views[var] = std::move(view);
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

// Whether a product that read its operand through the view would fall into small products around which there are
// loops, and into fewer and larger ones if the operand were stored as it is.
bool ProductViews::is_cut_up(const Equation& product, int operand, const View& view) const {
  const Var var = graph_.operands(product)[operand];
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
