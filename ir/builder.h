// Makes graphs. `Value` is a variable of a Builder; `bind` appends one equation after its primitive's type rule has
// checked operands; `finish` freezes the result. Free functions for every primitive, in ops.h, are the vocabulary
// that rules and passes are written in: `mul(x, exp(y))`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/graph.h"

namespace ct {

class Builder;

// A variable in a builder. A null Value stands for an absent one: a symbolic zero tangent or cotangent.
struct Value {
  Builder* builder = nullptr;
  Var var = kNoVar;

  explicit operator bool() const { return builder != nullptr; }
  bool operator==(const Value& other) const = default;
  Aval aval() const;  // by value: a reference would dangle when the builder grows
  DType dtype() const { return aval().dtype(); }
  const Shape& shape() const { return aval().shape(); }
  int rank() const { return aval().rank(); }
};
using Values = std::vector<Value>;

class Builder {
 public:
  Builder();
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Inputs may be added at any time before finish(); they are renumbered to come first.
  Value input(Aval aval, std::string name = "");
  // Puts the inputs in this order. Inputs that are left out disappear; no live equation may use them.
  void arrange_inputs(absl::Span<const Value> order);

  // Appends an equation at the current LocationScope. Throws the type rule's Error with op and location filled in.
  Values bind(const Primitive& primitive, absl::Span<const Value> operands, AttrsPtr attrs = Attrs::empty());
  Value bind1(const Primitive& primitive, absl::Span<const Value> operands, AttrsPtr attrs = Attrs::empty());

  // From here on `bind` is `bind_shared`: equal values are one, so that what is made of them is, too.
  void share_equations() { shares_ = true; }

  // The results of an equal equation that is there already, else `bind`. Those that act on the world are never shared.
  Values bind_shared(const Primitive& primitive, absl::Span<const Value> operands,
                     const AttrsPtr& attrs = Attrs::empty());

  // Copies `graph`'s equations here with its inputs replaced; returns its outputs.
  Values inline_graph(const Graph& graph, absl::Span<const Value> inputs);

  Aval aval(Var var) const { return graph_.avals_[var]; }
  uint32_t num_vars() const { return static_cast<uint32_t>(graph_.avals_.size()); }
  // What has been recorded so far; variables are numbered in order of creation (inputs not yet first).
  absl::Span<const Equation> equations() const { return graph_.equations_; }
  absl::Span<const Var> operands(const Equation& equation) const { return graph_.operands(equation); }
  const Attrs& attrs(const Equation& equation) const { return graph_.attrs(equation); }
  const AttrsPtr& attrs_ptr(const Equation& equation) const { return graph_.attrs_ptr(equation); }
  absl::Span<const Var> inputs() const { return inputs_; }
  // The most that a length is, which is an input. It is never negative.
  void bound_length(Value length, int64_t most);
  std::optional<int64_t> bound_of_length(Var input) const;
  // Which equation made a variable; null for inputs. Valid until the builder grows.
  const Equation* producer(Var var) const;

  // Which equations a finished graph has.
  enum class Keep : uint8_t {
    kNeeded,   // what outputs and side effects need
    kOutputs,  // what outputs need: for a second copy of a program whose effects happen in the first
    kAll,
  };
  // Freezes and returns the graph; the builder must not be used afterwards. Null outputs are not allowed: materialise
  // zeros first.
  GraphPtr finish(absl::Span<const Value> outputs, Keep keep = Keep::kNeeded);

 private:
  class Shared;

  Values append(const Primitive& primitive, absl::Span<const Value> operands, AttrsPtr attrs);

  Graph graph_;
  std::vector<Var> inputs_;
  mutable std::vector<uint32_t> producers_;  // by variable, as far as somebody asked: the index of the equation
  mutable size_t equations_seen_ = 0;        // of these
  std::unique_ptr<Shared> shared_;           // null before the first bind_shared
  bool shares_ = false;
  absl::flat_hash_map<Var, int64_t> length_bounds_;
};

inline Aval Value::aval() const { return builder->aval(var); }

// Runs `body` on fresh inputs of the given avals and freezes the result.
GraphPtr build_graph(absl::Span<const Aval> inputs, const std::function<Values(Builder&, const Values&)>& body);

}  // namespace ct
