// What the rules of several higher-order primitives share: taking the results of derived sub-graphs apart, type checks
// of signatures, and carrying ragged lengths into and out of sub-graphs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/primitive.h"
#include "transforms/higher_order/subgraphs.h"
#include "transforms/split.h"

namespace ct {

// ---- types ---------------------------------------------------------------------------------------------------------
void check_graph_inputs(const Graph& graph, absl::Span<const Aval> operands, std::string_view whose);
// `what` 3 of a loop has type A on entry but the body returns B.
void check_carry(size_t index, const Aval& entry, const Aval& result);
void check_same_outputs(const Avals& expected, const Avals& found, std::string_view whose);
Flags inexact_flags(absl::Span<const Aval> avals);

// ---- jvp, split, transpose, batch ----------------------------------------------------------------------------------
// Outputs, then tangents of those marked.
JvpResult unpack_jvp(absl::Span<const Value> results, const Flags& nonzero_out);
// The primals, then the tangents of those that are marked, zeros for null.
Values primals_and_tangents(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                            const Flags& moving);
// Outputs in their order, taken from the front of `known` or of `unknown`.
std::vector<SplitValue> merge_sheets(const Flags& out_known, absl::Span<const Value> known,
                                     absl::Span<const Value> unknown);
Values known_values(absl::Span<const SplitValue> values);
Flags linear_operands(const TransposeInput& input);
// The values in the marked places, null elsewhere.
Values spread(absl::Span<const Value> values, const Flags& places);
Flags spread(const Flags& marks, const Flags& places);  // not marked elsewhere
std::vector<int> axes_of(absl::Span<const Batched> operands);
Values values_of(absl::Span<const Batched> operands);

// ---- mask ----------------------------------------------------------------------------------------------------------
// The lengths of ragged axes are values of one builder; a sub-graph has its own. Inside, a length is an input (a "base"
// length) or was worked out from base lengths; the same computation is repeated on the other side, so that axes that
// are equally long have the same Value on either side.
//
// Rebuilds `length` in `to`. `base` maps variables of length's builder to values of `to`. Null when it depends on
// anything else.
Value rebuild_length(Value length, Builder& to, absl::flat_hash_map<Var, Value>& base);

// What stands for a count elsewhere, as at most what it is counted among, which is not seen there any more.
Value held_to_counted(Value count, Value elsewhere, absl::flat_hash_map<Var, Value>& base);

// The masked sub-graph of control flow. Built in two steps: choose base lengths outside, mask inside.
class MaskedSubGraph {
 public:
  // Base lengths: inputs of the outer builder that the lengths of `operands` are made of.
  MaskedSubGraph(Builder& outer, absl::Span<const Masked> operands);

  Builder& inner() { return inner_; }
  // Values of the outer builder for the inputs that the constructor has made in the inner one: they come first.
  const Values& base_lengths() const { return outer_base_; }
  // A new inner input for an operand that stays the same throughout. An int32 scalar that is made of base lengths is
  // those inside, too: programs say set_length(x, dimension_size(y)). Any other may be a length of what the sub-graph
  // makes, so it is one of the values that lengths_outside knows.
  Masked constant(const Masked& operand);
  // A value of the outer builder as one of the inner.
  Value length_inside(Value length) { return length ? rebuild_length(length, inner_, inward_) : Value(); }
  Values lengths_inside(absl::Span<const Value> lengths);
  // The reverse; an Error when the length is made of what only exists inside.
  Values lengths_outside(absl::Span<const Value> lengths, std::string_view whose);

 private:
  Builder* outer_;
  Builder inner_;
  Values outer_base_;
  absl::flat_hash_map<Var, Value> inward_, outward_;
};

// Carries keep their lengths from step to step; an exact one takes the ragged length that a step gives it. Returns
// whether anything was added; throws when lengths differ.
bool unite_lengths(Values& carried, absl::Span<const Value> found, std::string_view what, size_t index);

// Results whose batch dimension is at axis 0.
std::vector<Batched> batched_in_front(absl::Span<const Value> results);

// The equation as a vmap_region: batched once it has been expanded.
std::vector<Batched> batch_later(Builder& builder, const Primitive& primitive, absl::Span<const Batched> operands,
                                 const BatchAxis& axis, const AttrsPtr& attrs);

// ---- whole records -------------------------------------------------------------------------------------------------
// A record with the slots that follow from `expand`: masks are expanded when all derivatives are taken, so the program
// that the equation stands for is masked, compiled and evaluated in its place.
Primitive expanding(std::string name, ExpandRule expand);
// That of a primitive that stands for its attribute "graph".
Primitive applied(std::string name);

}  // namespace ct
