#include "transforms/contract/as_written.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "ir/ops.h"
#include "ir/primitive.h"
#include "transforms/contract/cost.h"

namespace ct::contraction {
namespace {

// Of each product in a loop that adds up several, in multiply-adds of a product of matrices: both factors are read for
// each element, and of more than a few not even rows stay in registers (measured for 2 to 30).
constexpr double kStreamedProduct = 3;

// Sides of a product of matrices.
struct Sides {
  double batch = 1, m = 1, n = 1, k = 1;
};

Sides sides_of(const Graph& graph, const Equation& equation) {
  const auto dimensions = DotDimensions::from(graph.attrs(equation));
  const auto operands = graph.operands(equation);
  const Shape& lhs = graph.aval(operands[0]).shape();
  const auto product = [&](const Ints& axes) {
    double size = 1;
    for (const int64_t axis : axes) size *= static_cast<double>(lhs[axis]);
    return size;
  };
  Sides sides{.batch = product(dimensions.lhs_batch), .k = product(dimensions.lhs_contract)};
  const double rows = std::max(1.0, sides.k * sides.batch);
  sides.m = static_cast<double>(graph.aval(operands[0]).size()) / rows;
  sides.n = static_cast<double>(graph.aval(operands[1]).size()) / rows;
  return sides;
}

// Of an equation in such a loop, beside what its operands take: one with a second operand, and more where it stands for
// several, as a product in which zeros win stands for comparisons and a choice.
double arithmetic_of(const Graph& graph, const Equation& equation) {
  if (graph.operands(equation).size() < 2) return 0;
  return equation.primitive->stands_for_others() ? kStreamedProduct : 1;
}

// Whether each of its elements is arithmetic of a few, so that loops that read it may make it themselves. Where one
// position has to be divided into several, as of a vector that was a matrix, they may, and take as long as memory.
bool is_of_elements(const Graph& graph, const Equation& equation) {
  if (equation.primitive->arrangement == Arrangement::kReshape) return false;
  if (equation.primitive->is<structures::Product>()) return sides_of(graph, equation).k <= 1;
  return !equation.primitive->is<structures::Scatter>() && !equation.primitive->is<structures::Fold>();
}

}  // namespace

AsWritten::AsWritten(const Graph& graph, const std::vector<uint32_t>& equations, int64_t most)
    : graph_(graph), most_(most) {
  find_streamed(equations);
  // By what is streamed: the operations that an element takes.
  std::map<Var, double> operations;
  for (const uint32_t i : equations) {
    const Equation& equation = graph.equations()[i];
    const Var result = equation.first_output;
    const auto operands = graph.operands(equation);
    double of_operands = 0;
    for (const Var operand : std::set<Var>(operands.begin(), operands.end())) {
      if (const auto found = operations.find(operand); found != operations.end()) of_operands += found->second;
    }
    if (streamed_.contains(result)) {
      const bool is_product = equation.primitive->is<structures::Product>() ||
                              (of_operands == 0 && equation.primitive->linear == Linear::kInEach);
      operations[result] = of_operands + (is_product ? kStreamedProduct : arithmetic_of(graph, equation));
    } else if (of_operands > 0 && equation.primitive->is<structures::Fold>()) {
      const Aval& folded = graph.aval(operands[0]);
      const DType dtype = dtype_size(folded.dtype()) <= most ? folded.dtype() : DType::kFloat32;
      nanoseconds_ += static_cast<double>(folded.size()) * (of_operands + 1) * kProcessor.multiply_add(dtype);
    } else {
      nanoseconds_ += time_of(equation);
    }
  }
}

void AsWritten::find_streamed(const std::vector<uint32_t>& equations) {
  std::set<Var> inside, in_memory, used;
  for (const uint32_t i : equations) inside.insert(graph_.equations()[i].first_output);
  for (const uint32_t i : std::views::reverse(equations)) {
    const Equation& equation = graph_.equations()[i];
    const auto operands = graph_.operands(equation);
    const bool is_wanted_outside = !used.contains(equation.first_output);
    used.insert(operands.begin(), operands.end());
    if (equation.primitive->is<structures::Fold>()) continue;
    if (is_wanted_outside || !is_of_elements(graph_, equation) || in_memory.contains(equation.first_output)) {
      in_memory.insert(operands.begin(), operands.end());
    }
  }
  for (const uint32_t i : equations) {
    const Equation& equation = graph_.equations()[i];
    const bool may_be = is_of_elements(graph_, equation) && used.contains(equation.first_output) &&
                        !in_memory.contains(equation.first_output) &&
                        std::ranges::all_of(graph_.operands(equation), [&](Var operand) {
                          return !inside.contains(operand) || streamed_.contains(operand);
                        });
    if (may_be) streamed_.insert(equation.first_output);
  }
}

double AsWritten::bytes_of(Var var) const {
  const Aval& aval = graph_.aval(var);
  return static_cast<double>(aval.size() * std::min<int64_t>(dtype_size(aval.dtype()), most_));
}

// Those that are fused with others take no time of their own.
double AsWritten::time_of(const Equation& equation) const {
  const auto operands = graph_.operands(equation);
  const Aval& result = graph_.aval(equation.first_output);
  const double stored = bytes_of(equation.first_output) * kByte;
  if (equation.primitive->is<structures::Product>()) {
    const Sides sides = sides_of(graph_, equation);
    const double products = static_cast<double>(result.size()) * sides.k;
    if (sides.k <= 1) return stored;
    if (sides.m <= 1 || sides.n <= 1) {
      const auto read = static_cast<double>(graph_.aval(operands[0]).bytes() + graph_.aval(operands[1]).bytes());
      return vector_product_time(products, read, result.dtype());
    }
    return matrix_product_time(products, std::min({sides.m, sides.n, sides.k}), static_cast<double>(result.bytes()),
                               result.dtype());
  }
  if (equation.primitive->is<structures::Scatter>()) return 2 * stored;
  if (equation.primitive->is<structures::Fold>()) return bytes_of(operands[0]) * kByte;
  return 0;
}

}  // namespace ct::contraction
