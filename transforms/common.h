// What every transform needs when it walks a graph's equations: the location to re-emit under, fresh inputs, checks of
// what the caller asked for, the walk that all passes are.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/absent_rules.h"
#include "ir/builder.h"
#include "ir/primitive.h"
#include "runtime/error.h"

namespace ct {

// Equations made by rules without a line of their own take the line of the equation being rewritten.
inline LocationId location_of(const Equation& equation) {
  return equation.location != kNoLocation ? equation.location : LocationScope::current();
}

// Inputs of the types and names of the graph's.
Values inputs_like(Builder& builder, const Graph& graph);
// Binds the equations of a graph whose results have no value yet, up to that of `last`. `values` are by variable, those
// of the inputs among them.
void copy_equations(Builder& builder, const Graph& graph, Values& values, Var last = kNoVar);
std::string input_name(const Graph& graph, uint32_t input);  // as the user wrote it, or "input 2"

Avals avals_of(absl::Span<const Value> values);

// Throws for inputs marked in `wrt` whose dtype carries no derivatives.
void check_differentiable_inputs(const Graph& graph, const std::vector<bool>& wrt, std::string_view transform);

// The attributes with every sub-graph replaced by pass(sub-graph); the same pointer when there is none.
AttrsPtr map_graphs(const AttrsPtr& attrs, const std::function<GraphPtr(const Graph&)>& pass);

// Whether the predicate holds for some sub-graph among the attributes.
bool any_sub_graph(const Attrs& attrs, const std::function<bool(const Graph&)>& predicate);
// Whether it holds for some equation, in sub-graphs too.
bool any_equation(const Graph& graph, const std::function<bool(const Equation&)>& predicate);

// The equation that made a value, if there is one, and if it arranges elements so: a copy, because equations move when
// others are added.
std::optional<Equation> made_by(Value value);
std::optional<Equation> made_by(Value value, Arrangement arrangement);

// Where these integers are indices of an axis of that size.
Value is_inside(Value indices, int64_t size);

// The axis of `to` that is axis `axis` of `from`, if they are one array in row-major order; -1 where there is none.
int same_axis(const Shape& from, const Shape& to, int axis);

// A new graph with the same inputs and outputs: `visit` emits, or replaces, one equation after the other. Equations
// that are not needed any more are dropped.
using Visit = std::function<Values(Builder& builder, const Equation& equation, absl::Span<const Value> operands,
                                   const AttrsPtr& attrs)>;
GraphPtr rewrite(const Graph& graph, const Visit& visit);

}  // namespace ct
