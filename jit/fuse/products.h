// Products of matrices read their operands, and write their results, at any strides: which views of other arrays that
// makes of them, so that these are not copied.
#pragma once

#include "ir/ops.h"
#include "jit/fuse/graph_facts.h"
#include "jit/fuse/limits.h"
#include "jit/fuse/storage.h"

namespace ct::jit {

// How the dimensions of a dot_general fall into groups, as positions in the operands' and the result's shapes.
struct DotAxes : DotDimensions {
  Ints lhs_free{}, rhs_free{};
  int64_t batch = 1, m = 1, n = 1, k = 1;  // sizes of the groups
};
DotAxes dot_axes(const Graph& graph, const Equation& equation);

// By axis of a product (those of its result, and then those that it contracts): behind which length it is not wanted,
// or both operands are zero. The axes of these limits are counted in the same way.
std::vector<std::optional<Limit>> product_limits(const ElementLimits& limits, const Graph& graph,
                                                 const Equation& equation);
OperandLimits product_operand_limits(const ElementLimits& limits, const Graph& graph, const Equation& equation);

// Strides of `base`'s axes in what `transposition` makes of it, an array of the same elements in another order. Axes of
// size 1 have none that matters.
Shape transposed_strides(const Graph& graph, Var base, const Equation& transposition);

class ProductViews {
 public:
  // `bfloat16`: whether products of numbers that were bfloat16 read them as they were (Machine::bfloat16_products).
  ProductViews(const GraphFacts& facts, const ElementLimits& limits, Storage& storage, bool bfloat16)
      : views(facts.graph.num_vars()),
        transposed(facts.graph.num_vars(), kNoVar),
        facts_(facts),
        graph_(facts.graph),
        limits_(limits),
        storage_(storage),
        bfloat16_(bfloat16) {}

  const ElementLimits& limits() const { return limits_; }

  // Chooses where the product reads the operand.
  void require_view(const Equation& product, int operand, const char* reason);
  // Chooses where what reads the variable's elements in order finds them.
  void require_dense(Var var, const char* reason);
  // Products that are only transposed are written that way round at once.
  void transpose_results();

  std::vector<std::optional<View>> views;  // by variable: where products and loops read it, when it is not stored
  // By variable, of products: the transposed result that is written instead, as the product itself is used for
  // nothing else; kNoVar otherwise.
  std::vector<Var> transposed;

 private:
  View view_of(Var var) const;
  Var read_by(const Equation& product, int operand) const;
  bool is_cut_up(const Equation& product, int operand, Var var, const View& view) const;
  bool is_cut_up_by_transposing(const Equation& product, const Equation& transposition) const;
  bool is_only_for(Var var, Var base) const;
  bool is_permutation(const View& view, Var var) const;

  const GraphFacts& facts_;
  const Graph& graph_;
  const ElementLimits& limits_;
  Storage& storage_;
  bool bfloat16_;
};

}  // namespace ct::jit
