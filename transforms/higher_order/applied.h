// The rules of primitives that run sub-graphs on their operands and return what these return: call, checkpoint,
// vmap_region; and cond, which runs one of several.
//
// Each rule derives the sub-graphs, gathers the operands of the derived equation and puts its results where they
// belong. All that differs from one primitive to the next is what the attributes of the derived equation say.
#pragma once

#include <string>
#include <vector>

#include "ir/combinators.h"
#include "ir/primitive.h"
#include "transforms/higher_order/subgraphs.h"
#include "transforms/split.h"

namespace ct {

// What a rule has made of an equation.
struct Derived {
  enum Kind : uint8_t { kTangents, kKnown, kUnknown, kBackward, kBatch, kPruned };
  static constexpr int kNew = -1;

  Kind kind;
  std::vector<GraphPtr> graphs;
  // By operand of the derived equation: the operand of the equation that it is, or is the tangent of; kNew for
  // cotangents and residuals that were computed.
  std::vector<int> origins;
};

class AppliedRules {
 public:
  // The attributes of the derived equation.
  using Derive = AttrsPtr (*)(const AttrsPtr& attrs, const Derived& derived);

  // `leading`: how many operands come before those that the graphs take. Graphs: attribute "graph", or those in
  // "branches"; what one of these needs (a tangent of an output, a batched output) all get.
  AppliedRules(std::string primitive, Derive derive, size_t leading = 0)
      : primitive_(std::move(primitive)), derive_(derive), leading_(leading) {}

  // Puts all of them into the record.
  void fill(Primitive& record) const;

  JvpResult jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                const AttrsPtr& attrs) const;
  // One equation on each sheet, with the graph split so.
  std::vector<SplitValue> split(SplitContext& context, absl::Span<const SplitValue> operands, const AttrsPtr& attrs,
                                const SplitGraph& sheets) const;
  Values transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) const;
  std::vector<Batched> batch(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                             const AttrsPtr& attrs) const;
  Pruned prune(const Flags& used, const AttrsPtr& attrs) const;

 private:
  Values bind(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs, const Derived& derived) const {
    return builder.bind(*primitive_, operands, derive_(attrs, derived));
  }

  PrimitiveRef primitive_;
  Derive derive_;
  size_t leading_;
};

}  // namespace ct
