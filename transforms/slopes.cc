// The derivative of an element-wise piece of a function, as one factor of the cotangent:
//
//   z = x * s(x)                                             z = x * s(x);  slope = s + x * s'
//   …                                        ->              …
//   dx = dz * s + (dz * x) * s'                              dx = dz * slope
//
// where dz is known later than x: behind a product, a fold or a loop that z goes into. So one array is kept for the
// backward pass, which the forward pass computes beside z, in place of s, s' and whatever else dz is multiplied by, and
// of x. The slope is what the equations make of a cotangent of 1, so that zeros win where they did
// (docs/design/010-safe-gradients.md); sums of products are rounded in another order.
//
// Start with `factor_slopes` at the end.
#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "ir/ops.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

constexpr size_t kMostEquations = 64;  // of one piece
// Fewer arrays than this, computed from others element by element, are not worth another order of rounding.
constexpr size_t kLeastFactors = 2;

// A variable that is linear in an earlier one by element-wise equations, which nothing else uses.
struct Piece {
  Var source = kNoVar, result = kNoVar;
  std::vector<uint32_t> equations = {};  // in their order, that of `result` the last one
  uint32_t known_after = 0;              // the equation behind which all factors are there
};

class Pieces {
 public:
  explicit Pieces(const Graph& graph)
      : graph_(graph),
        definition_(graph.num_vars(), nullptr),
        level_(graph.num_vars(), 0),
        source_(graph.num_vars()),
        leaves_(graph.num_vars()) {}

  std::vector<Piece> find() {
    for (Var var = 0; var < graph_.num_vars(); ++var) source_[var] = var;
    for (const Equation& equation : graph_.equations()) look_at(equation);
    for (const Var output : graph_.outputs()) leaves_[output] = true;
    std::vector<Piece> pieces;
    for (Var var = graph_.num_inputs(); var < graph_.num_vars(); ++var) {
      if (source_[var] == var || !leaves_[var]) continue;
      if (Piece piece{.source = source_[var], .result = var}; complete(piece)) pieces.push_back(std::move(piece));
    }
    return pieces;
  }

 private:
  uint32_t index_of(const Equation& equation) const {
    return static_cast<uint32_t>(&equation - graph_.equations().data());
  }
  bool is_uniform(Var var) const {
    return definition_[var] != nullptr && definition_[var]->primitive->arrangement == Arrangement::kUniform;
  }
  bool is_zero(Var var) const { return is_uniform(var) && graph_.attrs(*definition_[var]).real("value") == 0; }

  // How many folds, products and loops are on the way to what the equation makes, and what that is linear in.
  void look_at(const Equation& equation) {
    const absl::Span<const Var> operands = graph_.operands(equation);
    int level = 0;
    for (const Var operand : operands) level = std::max(level, level_[operand]);
    const Primitive& primitive = *equation.primitive;
    const bool is_element_by_element = primitive.elementwise || primitive.computes_elements() ||
                                       primitive.is<structures::SameBytes>() ||
                                       primitive.arrangement != Arrangement::kNone;
    if (!is_element_by_element) ++level;
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      definition_[equation.first_output + k] = &equation;
      level_[equation.first_output + k] = level;
    }
    const Var result = equation.first_output;
    if (may_be_in_piece(equation)) {
      if (const Var source = linear_in(primitive, operands); source != kNoVar) source_[result] = source;
    }
    for (const Var operand : operands) {
      if (equation.output_count != 1 || source_[result] != source_[operand]) leaves_[operand] = true;
    }
  }
  bool may_be_in_piece(const Equation& equation) const {
    if (equation.output_count != 1 || !equation.primitive->elementwise) return false;
    const Aval& aval = graph_.aval(equation.first_output);
    if (aval.size() == 1) return false;  // numbers are in registers
    // Slopes of float16 would overflow where cotangents are scaled so that they do not.
    return is_float(aval.dtype()) && aval.dtype() != DType::kFloat16;
  }

  Var linear_in(const Primitive& primitive, absl::Span<const Var> operands) const {
    switch (primitive.linear) {
      case Linear::kInAll:
        return common(operands.front(), operands.back());
      case Linear::kInEach: {
        const int late = level_[operands[0]] > level_[operands[1]] ? 0 : 1;
        return scaled(operands[late], operands[1 - late]);
      }
      case Linear::kInFirst:
        return scaled(operands[0], operands[1]);
      case Linear::kInNone:
        break;
    }
    if (primitive.arrangement != Arrangement::kChoice) return kNoVar;
    const Var source = common(operands[1], operands[2]);
    return source == kNoVar || level_[operands[0]] >= level_[source] ? kNoVar : source;
  }
  // What a variable times, or over, a factor that was known before is linear in.
  Var scaled(Var var, Var factor) const {
    const Var source = source_[var];
    return level_[factor] < level_[source] ? source : kNoVar;
  }
  Var common(Var a, Var b) const {
    if (is_zero(a)) return source_[b];
    return is_zero(b) || source_[a] == source_[b] ? source_[a] : kNoVar;
  }

  // Finds the piece's equations. Whether it is worth a slope.
  bool complete(Piece& piece) const {
    absl::flat_hash_set<Var> seen = {piece.result};
    absl::flat_hash_set<Var> computed;  // factors, element by element
    std::vector<Var> pending = {piece.result};
    while (!pending.empty()) {
      const Var var = pending.back();
      pending.pop_back();
      const Equation& equation = *definition_[var];
      piece.equations.push_back(index_of(equation));
      if (piece.equations.size() > kMostEquations) return false;
      for (const Var operand : graph_.operands(equation)) {
        if (source_[operand] == piece.source) {
          if (operand == piece.source || !seen.insert(operand).second) continue;
          if (leaves_[operand]) return false;  // it has an array of its own
          pending.push_back(operand);
        } else if (definition_[operand] != nullptr && !is_uniform(operand)) {
          piece.known_after = std::max(piece.known_after, index_of(*definition_[operand]));
          if (definition_[operand]->primitive->elementwise) computed.insert(operand);
        }
      }
    }
    std::ranges::sort(piece.equations);
    const bool is_derivative = std::ranges::any_of(piece.equations, [&](uint32_t index) {
      return is_product_of_derivatives(*graph_.equations()[index].primitive);
    });
    return is_derivative && computed.size() >= kLeastFactors;
  }

  // One whose zeros win, which takes more than a single operation of arithmetic. What a function multiplies itself
  // keeps its order, and so its bits (docs/determinism.md).
  static bool is_product_of_derivatives(const Primitive& primitive) {
    return (primitive.linear == Linear::kInEach || primitive.linear == Linear::kInFirst) && !primitive.scalar;
  }

  const Graph& graph_;
  std::vector<const Equation*> definition_;  // by variable; null for inputs
  std::vector<int> level_;                   // by variable
  std::vector<Var> source_;                  // by variable: what it is linear in, itself if in nothing else
  std::vector<bool> leaves_;                 // by variable: somebody wants it whose source is another
};

// An input, or a constant that is made later.
Value made_anew(Builder& builder, const Graph& graph, Var var) {
  if (var < graph.num_inputs()) return {&builder, var};
  const absl::Span<const Equation> equations = graph.equations();
  const auto maker = std::ranges::lower_bound(equations, var, {}, &Equation::first_output);
  return builder.bind1(*maker->primitive, {}, graph.attrs_ptr(*maker));
}

// What a piece makes of a cotangent of 1. `values` are by variable, those of all factors that are computed among them.
Value slope_of(Builder& builder, const Graph& graph, const Piece& piece, const Values& values) {
  absl::flat_hash_map<Var, Value> made = {{piece.source, full(builder, graph.aval(piece.source), 1)}};
  for (const uint32_t index : piece.equations) {
    const Equation& equation = graph.equations()[index];
    const LocationScope scope(location_of(equation));
    Values operands;
    for (const Var operand : graph.operands(equation)) {
      const auto found = made.find(operand);
      const Value known = found == made.end() ? values[operand] : found->second;
      operands.push_back(known ? known : made_anew(builder, graph, operand));
    }
    made[equation.first_output] = builder.bind1(*equation.primitive, operands, graph.attrs_ptr(equation));
  }
  return made[piece.result];
}

}  // namespace

GraphPtr factor_slopes(const Graph& graph) {
  const std::vector<Piece> pieces = Pieces(graph).find();
  absl::flat_hash_map<uint32_t, std::vector<const Piece*>> known_after;
  absl::flat_hash_map<Var, const Piece*> by_result;
  for (const Piece& piece : pieces) {
    known_after[piece.known_after].push_back(&piece);
    by_result[piece.result] = &piece;
  }
  Values values(graph.num_vars());
  absl::flat_hash_map<const Piece*, Value> slopes;
  return rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        for (size_t i = 0; i < operands.size(); ++i) values[graph.operands(equation)[i]] = operands[i];
        Values results;
        if (const auto found = by_result.find(equation.first_output); found != by_result.end()) {
          results = {mul_no_nan(values[found->second->source], slopes[found->second])};
        } else {
          results = builder.bind(*equation.primitive, operands, map_graphs(attrs, factor_slopes));
        }
        std::ranges::copy(results, values.begin() + equation.first_output);
        const auto index = static_cast<uint32_t>(&equation - graph.equations().data());
        if (const auto found = known_after.find(index); found != known_after.end()) {
          for (const Piece* piece : found->second) slopes[piece] = slope_of(builder, graph, *piece, values);
        }
        return results;
      });
}

}  // namespace ct
