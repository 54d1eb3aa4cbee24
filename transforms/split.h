// Splitting a program in two: what can be computed from known inputs alone, and the rest.
//
// Two builders ("sheets") grow side by side. An ordinary equation goes to the known sheet when all its operands are
// known, else to the unknown sheet; a known value that the unknown sheet needs becomes a *residual*: a result of the
// known sheet and an input of the unknown one. Primitives with sub-graphs say in their `split` slot how they divide
// themselves. linearize is jvp followed by this, with the tangents unknown.
//
// Start with SplitContext::residual, then `split_inline` and `split` in split.cc.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/primitive.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {

// One value of the program that is being split: on exactly one sheet.
struct SplitValue {
  Value known;    // a value of context.known(), or null
  Value unknown;  // a value of context.unknown(), or null

  bool is_known() const { return static_cast<bool>(known); }
  Aval aval() const { return known ? known.aval() : unknown.aval(); }

  static SplitValue on_known(Value value) { return {value, {}}; }
  static SplitValue on_unknown(Value value) { return {{}, value}; }
};

// Which values the unknown sheet makes again from others rather than have them carried over.
struct Remake {
  std::function<bool(const Builder& known, const Equation& equation)> equation;
  int longest_chain;  // more of them in a row are carried
};
// What reads at most as many bytes as the residual would take, and does no arithmetic: constants, iotas, broadcasts,
// reshapes, transposes, widening conversions.
const Remake& remake_what_is_free();

class SplitContext {
 public:
  SplitContext(Builder& known, Builder& unknown, const Remake& remake = remake_what_is_free())
      : known_(&known), unknown_(&unknown), remake_(&remake) {}
  SplitContext(const SplitContext&) = delete;
  SplitContext& operator=(const SplitContext&) = delete;

  Builder& known() { return *known_; }
  Builder& unknown() { return *unknown_; }

  // The value of the unknown sheet that carries `known`, the same one each time it is asked for: made again, or a new
  // input of the unknown builder.
  Value residual(Value known);
  // The value on the unknown sheet, wherever it is now.
  Value on_unknown(const SplitValue& value) { return value.is_known() ? residual(value.known) : value.unknown; }
  Values on_unknown(absl::Span<const SplitValue> values);

  // One entry for each input that residual() has added to the unknown builder, in that order: the value of the known
  // sheet, and the input that carries it.
  absl::Span<const Value> residuals() const { return residuals_; }
  absl::Span<const Value> residual_inputs() const { return residual_inputs_; }

 private:
  Builder* known_;
  Builder* unknown_;
  const Remake* remake_;
  Values carried_;  // by variable of the known builder: its value on the unknown sheet, or null
  Values residuals_;
  Values residual_inputs_;
};

// operands[i] is not known: the argument that `split` takes for a sub-graph.
std::vector<bool> unknown_mask(absl::Span<const SplitValue> operands);

// The equations of `graph` divided between the context's sheets, by `split` rules where there are any. Returns the
// outputs, each on its sheet.
std::vector<SplitValue> split_inline(SplitContext& context, const Graph& graph, absl::Span<const SplitValue> inputs);

// transforms.h's `split` with another choice of what is made again.
SplitGraph split(const Graph& graph, const std::vector<bool>& in_unknown, const std::vector<bool>& instantiate,
                 const Remake& remake);

// The same with fewer bytes of residuals: what the unknown sheet multiplies a value by, factor by factor, the known
// sheet has multiplied (joined_factors.cc). For derivatives, whose products may be rounded in another order.
SplitGraph with_joined_factors(const SplitGraph& split);

// The equation kept whole: on the known sheet when all operands are known, else on the unknown sheet with residuals for
// the known operands. What happens to primitives without a `split` rule; rules fall back on it.
std::vector<SplitValue> split_whole(SplitContext& context, const Primitive& primitive,
                                    absl::Span<const SplitValue> operands, const AttrsPtr& attrs);

}  // namespace ct
