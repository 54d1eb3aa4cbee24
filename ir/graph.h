// The program representation: a frozen arena of equations over u32 variables, held as shared_ptr<const Graph>.
//
//   Graph      avals of all variables; inputs are variables [0, num_inputs); equations in execution order;
//              outputs may name any variable, more than once.
//   Equation   plain old data: a primitive, a range of operands, a range of fresh output variables, attributes.
//
// A graph holds no arrays: scalars are `full` equations and arrays that a user function closes over are extra
// inputs (closure conversion at capture), so a graph's structural hash never depends on data. Graphs are made by
// Builder (builder.h) and never changed. Read this file, then builder.h, then primitive.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ir/attrs.h"
#include "runtime/aval.h"
#include "runtime/location.h"

namespace ct {

struct Primitive;
using Var = uint32_t;
inline constexpr Var kNoVar = ~Var{0};

struct Equation {
  const Primitive* primitive;
  uint32_t operands_begin;
  uint32_t operand_count;
  Var first_output;
  uint32_t output_count;
  uint32_t attrs;  // index into Graph::attributes
  LocationId location;
};

class Graph {
 public:
  uint32_t num_inputs() const { return num_inputs_; }
  uint32_t num_vars() const { return static_cast<uint32_t>(avals_.size()); }
  absl::Span<const Equation> equations() const { return equations_; }
  absl::Span<const Var> outputs() const { return outputs_; }

  const Aval& aval(Var var) const { return avals_[var]; }
  absl::Span<const Aval> input_avals() const { return absl::MakeConstSpan(avals_).subspan(0, num_inputs_); }
  std::vector<Aval> output_avals() const;
  absl::Span<const Var> operands(const Equation& equation) const {
    return absl::MakeConstSpan(operands_).subspan(equation.operands_begin, equation.operand_count);
  }
  const Attrs& attrs(const Equation& equation) const { return *attributes_[equation.attrs]; }
  const AttrsPtr& attrs_ptr(const Equation& equation) const { return attributes_[equation.attrs]; }
  // Names of inputs as the user wrote them, for printing and errors; may be shorter than the inputs.
  const std::vector<std::string>& input_names() const { return input_names_; }

  // Structure only: primitives, attributes, wiring and types. Locations and names do not take part.
  uint64_t hash() const { return hash_; }
  // An equation acts on the world, here or in a sub-graph.
  bool has_side_effects() const { return has_side_effects_; }
  std::string to_string() const;  // print.h's text form

 private:
  friend class Builder;

  uint32_t num_inputs_ = 0;
  std::vector<Aval> avals_;
  std::vector<Equation> equations_;
  std::vector<Var> operands_;
  std::vector<Var> outputs_;
  std::vector<AttrsPtr> attributes_;
  std::vector<std::string> input_names_;
  uint64_t hash_ = 0;
  bool has_side_effects_ = false;
};

// Of graphs in graphs, as what is read from files or text must not have more of them than a stack has room for.
inline constexpr int kDeepestNesting = 64;

// Structural equality: the same hash, and the same structure underneath.
bool same_graph(const Graph& a, const Graph& b);

}  // namespace ct
