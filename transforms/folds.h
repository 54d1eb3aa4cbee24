// What the canonical forms of folds (folds.cc) and of products (products.cc) share: what is known of the graph that is
// rewritten, and the rewriting of one fold.
#pragma once

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/builder.h"
#include "ir/primitive.h"

namespace ct {

inline bool contains_axis(absl::Span<const int64_t> axes, int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// What is known of a graph and of the builder that it is rewritten in.
class FoldContext {
 public:
  FoldContext(const Graph& graph, Builder& builder);

  // That `value` is what the variable of the graph became.
  void note(Value value, Var var);

  Value operand(const Equation& equation, size_t i) { return {&builder_, builder_.operands(equation)[i]}; }

  // Whether nothing else uses `value` than the one equation that it was found as an operand of.
  bool is_used_once(Value value) const { return uses_of(value).equations <= 1; }
  bool is_only_sliced(Value value) const { return uses_of(value).equations == uses_of(value).slices; }

  // What the elements of `value` are computed from by element-wise equations, each leaf once; empty when these are
  // many. Those of `value` itself are looked through when `through_value` says so, the others where nothing else uses
  // them.
  Values leaves(Value value, bool through_value);
  // `value` computed from other leaves, found in `known`.
  Value rebuilt(Value value, absl::flat_hash_map<Var, Value>& known);

  Builder& builder() { return builder_; }

 private:
  struct Uses {
    int equations = 0;  // that use it, and results that it is
    int slices = 0;     // of these, how many are slices
  };
  Uses uses_of(Value value) const;

  Builder& builder_;
  std::vector<Uses> used_by_;            // by variable of the graph
  absl::flat_hash_map<Var, Uses> uses_;  // by variable of the builder, of those that the graph's became
};

struct Fold {
  const Primitive& primitive;
  const AttrsPtr& attrs;

  Value bind(Builder& builder, Value x, const Ints& axes) const {
    return builder.bind1(primitive, {x}, attrs->with("axes", axes));
  }
};

// `seen`: the shapes that the fold was brought to before.
Value canonical_fold(FoldContext& context, const Fold& fold, Value x, const Ints& axes,
                     const std::vector<Shape>& seen = {});

// ---- products.cc: each returns null where there is no other form ----------------------------------------------------
Value canonical_product(FoldContext& context, absl::Span<const Value> operands, const Attrs& attrs, const Aval& result);
// A small part, or a diagonal, of the product that `x` is. `size`: of the part.
Value slice_of_product(FoldContext& context, Value x, const Attrs& attrs, int64_t size);
// The sum over `axes` of a batch of products that `x` is: the product that sums over the batch itself.
Value sum_of_batch(FoldContext& context, Value x, const Ints& axes);
Value gather_of_product(FoldContext& context, Value x, Value indices, const Attrs& attrs, int64_t size);

}  // namespace ct
