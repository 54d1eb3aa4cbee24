// What every transform needs when it walks a graph's equations: the location to re-emit under, fresh inputs, checks of
// what the caller asked for, the walk that all passes are, and the two things to do about a primitive that lacks a
// rule: go through its expansion, or say so.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/error.h"
#include "ir/primitive.h"

namespace ct {

// Equations made by rules without a line of their own take the line of the equation being rewritten.
inline LocationId location_of(const Equation& equation) {
  return equation.location != kNoLocation ? equation.location : LocationScope::current();
}

// Inputs of the types and names of the graph's.
Values inputs_like(Builder& builder, const Graph& graph);
std::string input_name(const Graph& graph, uint32_t input);  // as the user wrote it, or "input 2"

Avals avals_of(absl::Span<const Value> values);

// The primitive's `expand` rule as a graph. Rules that are missing follow from it.
GraphPtr expansion(const Primitive& primitive, const Avals& operands, const AttrsPtr& attrs);

// Throws for inputs marked in `wrt` whose dtype carries no derivatives.
void check_differentiable_inputs(const Graph& graph, const std::vector<bool>& wrt, std::string_view transform);

// Which equation of a growing builder made a variable.
class Producers {
 public:
  explicit Producers(const Builder& builder) : builder_(&builder) {}
  // Null for inputs. Valid until the builder grows.
  const Equation* find(Var var);

 private:
  const Builder* builder_;
  std::vector<uint32_t> by_var_;  // index of the equation
  size_t equations_seen_ = 0;
};

// The attributes with every sub-graph replaced by pass(sub-graph); the same pointer when there is none.
AttrsPtr map_graphs(const AttrsPtr& attrs, const std::function<GraphPtr(const Graph&)>& pass);

// Whether the predicate holds for some sub-graph among the attributes.
bool any_sub_graph(const Attrs& attrs, const std::function<bool(const Graph&)>& predicate);
// Whether it holds for some equation, in sub-graphs too.
bool any_equation(const Graph& graph, const std::function<bool(const Equation&)>& predicate);

// A new graph with the same inputs and outputs: `visit` emits, or replaces, one equation after the other. Equations
// that are not needed any more are dropped.
using Visit = std::function<Values(Builder& builder, const Equation& equation, absl::Span<const Value> operands,
                                   const AttrsPtr& attrs)>;
GraphPtr rewrite(const Graph& graph, const Visit& visit);

Error missing_rule(const Primitive& primitive, std::string_view slot, ErrorKind kind);

}  // namespace ct
