// What branches return that is larger than what it is made of is made behind them, of factors that they return instead:
// gradients of single examples of what an example chooses, which are products in the branch that it takes, and zeros in
// the others.
//
//   cond i [-> zeros, -> dot_general(p, q)]    ->    dot_general(cond i [-> zeros, zeros, -> p, q])
//
// Outer products always leave: they are arithmetic of elements, which is fused with what reads it. What adds up leaves
// where its readers make it small again (contract/contract.h then need not make it at all): a branch that is not taken
// would add up zeros. What all branches return as zeros is zeros.
//
// Start with `products_after_branches` at the end.
#include <algorithm>
#include <map>
#include <optional>

#include "ir/ops.h"
#include "transforms/common.h"
#include "transforms/contract/growth.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

using contraction::Growth;

// How often each variable is read.
std::vector<int> uses_in(const Graph& graph) {
  std::vector<int> uses(graph.num_vars(), 0);
  for (const Equation& equation : graph.equations()) {
    for (const Var var : graph.operands(equation)) ++uses[var];
  }
  for (const Var var : graph.outputs()) ++uses[var];
  return uses;
}

// What else is of what is returned: zeros make zeros of it, but for divisors, which are ones where there is nothing.
struct Leaf {
  Var var;
  bool divides;
  auto operator<=>(const Leaf&) const = default;
};

bool pads_with_zeros(const Growth& growth, const Graph& graph, const Equation& equation) {
  return equation.primitive->arrangement == Arrangement::kPad && growth.is_zero(graph.operands(equation)[1]);
}

// One branch: what leaves it.
class Branch {
 public:
  explicit Branch(const Graph& graph) : graph_(graph), growth_(graph), uses_(uses_in(graph)) {}

  const Graph& graph() const { return graph_; }
  Var output(size_t k) const { return graph_.outputs()[k]; }
  bool returns_zero(size_t k) const { return growth_.is_zero(output(k)); }
  const Equation* producer(Var var) const { return growth_.producer(var); }

  // Whether the output is made of something grown, which nothing else in the branch needs, by rules that make zeros of
  // zeros, and is larger than what it is made of.
  bool leaves(size_t k) const {
    if (!is_grown(output(k))) return false;
    int64_t bytes = 0;
    for (const Leaf& leaf : leaves_of(k)) bytes += graph_.aval(leaf.var).bytes();
    return bytes < graph_.aval(output(k)).bytes();
  }
  // In the order in which `made` asks for them.
  std::vector<Leaf> leaves_of(size_t k) const {
    std::vector<Leaf> found;
    find_leaves(output(k), false, found);
    return found;
  }
  // Whether an element is a sum of several products, or is looked for.
  bool adds_up(Var var) const {
    const Equation* equation = producer(var);
    if (!is_grown(var)) return false;
    if (growth_.of(*equation) > 0) {
      if (equation->primitive->is<structures::Scatter>()) return true;
      const auto operands = graph_.operands(*equation);
      return equation->primitive->is<structures::Product>() && contracts(*equation, graph_.aval(operands[0]).shape());
    }
    return std::ranges::any_of(graph_.operands(*equation), [&](Var operand) { return adds_up(operand); });
  }
  // Whether another branch makes its output by the same equations, of leaves of the same types.
  bool is_alike(size_t k, const Branch& other) const { return is_alike(output(k), false, other, other.output(k)); }
  // The output, of leaves in order.
  Value made(Builder& builder, size_t k, const Values& leaves) const {
    size_t next = 0;
    return made(builder, output(k), leaves, next);
  }

 private:
  bool contracts(const Equation& product, const Shape& lhs) const {
    return std::ranges::any_of(graph_.attrs(product).ints("lhs_contract"), [&](int64_t axis) { return lhs[axis] > 1; });
  }
  bool is_grown(Var var) const {
    const Equation* equation = producer(var);
    if (equation == nullptr || equation->output_count != 1 || uses_[var] != 1) return false;
    const auto operands = graph_.operands(*equation);
    if (pads_with_zeros(growth_, graph_, *equation)) return is_grown(operands[0]);
    if (!equation->primitive->terms) return false;
    if (growth_.of(*equation) > 0) return true;
    const size_t first = equation->primitive->arrangement == Arrangement::kChoice ? 1 : 0;
    const size_t last = equation->primitive->computes(ScalarOp::kDiv) ? 1 : operands.size();
    return std::ranges::any_of(operands.subspan(first, last - first), [&](Var operand) { return is_grown(operand); });
  }
  // What is made anew behind the branches: what has grown, and what costs nothing.
  bool is_made_anew(Var var) const {
    const Equation* equation = producer(var);
    if (equation == nullptr) return false;
    const Arrangement arrangement = equation->primitive->arrangement;
    const auto operands = graph_.operands(*equation);
    return arrangement == Arrangement::kUniform || is_grown(var) ||
           (arrangement == Arrangement::kBroadcast && graph_.aval(operands[0]).size() < graph_.aval(var).size());
  }
  bool divides(const Equation& equation, size_t operand, bool divided) const {
    return divided || (equation.primitive->computes(ScalarOp::kDiv) && operand == 1);
  }
  void find_leaves(Var var, bool divided, std::vector<Leaf>& found) const {
    if (!is_made_anew(var)) {
      found.push_back({var, divided});
      return;
    }
    const Equation& equation = *producer(var);
    const auto operands = graph_.operands(equation);
    for (size_t i = 0; i < operands.size(); ++i) find_leaves(operands[i], divides(equation, i, divided), found);
  }
  bool is_alike(Var mine, bool divided, const Branch& other, Var others) const {
    if (!same_type(graph_.aval(mine), other.graph_.aval(others))) return false;
    if (is_made_anew(mine) != other.is_made_anew(others)) return false;
    if (!is_made_anew(mine)) return true;
    const Equation &x = *producer(mine), &y = *other.producer(others);
    if (x.primitive != y.primitive || graph_.attrs(x) != other.graph_.attrs(y)) return false;
    const auto xs = graph_.operands(x), ys = other.graph_.operands(y);
    for (size_t i = 0; i < xs.size(); ++i) {
      if (!is_alike(xs[i], divides(x, i, divided), other, ys[i])) return false;
    }
    return true;
  }
  Value made(Builder& builder, Var var, const Values& leaves, size_t& next) const {
    if (!is_made_anew(var)) return leaves[next++];
    const Equation& equation = *producer(var);
    Values operands;
    for (const Var operand : graph_.operands(equation)) operands.push_back(made(builder, operand, leaves, next));
    const LocationScope scope(location_of(equation));
    return builder.bind1(*equation.primitive, operands, graph_.attrs_ptr(equation));
  }

  const Graph& graph_;
  const Growth growth_;
  std::vector<int> uses_;
};

// Whether all that is made of a value becomes small again, by sums of products.
class Readers {
 public:
  explicit Readers(const Graph& graph) : graph_(graph), uses_(graph.num_vars()), is_output_(graph.num_vars(), false) {
    for (const Equation& equation : graph.equations()) {
      for (const Var var : graph.operands(equation)) uses_[var].push_back(&equation);
    }
    for (const Var var : graph.outputs()) is_output_[var] = true;
  }

  bool make_small(Var var) {
    const auto [known, is_new] = known_.insert({var, true});
    if (!is_new) return known->second;
    const bool found = !is_output_[var] && std::ranges::all_of(uses_[var], [&](const Equation* use) {
      const bool is_followed =
          use->output_count == 1 && (use->primitive->terms || use->primitive->arrangement == Arrangement::kConcatenate);
      if (!is_followed) return false;
      const Var result = use->first_output;
      return 2 * graph_.aval(result).size() <= graph_.aval(var).size() || make_small(result);
    });
    return known_[var] = found;
  }

 private:
  const Graph& graph_;
  std::vector<std::vector<const Equation*>> uses_;
  std::vector<bool> is_output_;
  std::map<Var, bool> known_;
};

// One choice of branches.
class Choice {
 public:
  Choice(const Graph& graph, const Equation& equation, const std::vector<GraphPtr>& branches, Readers& readers) {
    for (const GraphPtr& branch : branches) branches_.emplace_back(*branch);
    for (size_t k = 0; k < equation.output_count; ++k) {
      results_.push_back(result(k, graph.aval(equation.first_output + static_cast<Var>(k)),
                                [&] { return readers.make_small(equation.first_output + static_cast<Var>(k)); }));
    }
  }

  bool changes() const {
    return std::ranges::any_of(results_, [](const Result& result) { return result.leaves; });
  }

  Values made(Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
    for (size_t k = 0; k < results_.size(); ++k) {
      if (!results_[k].leaves) results_[k].place = add(returned(k));
    }
    for (size_t k = 0; k < results_.size(); ++k) {
      for (Product& product : results_[k].products) add_factors(product, k);
    }
    std::vector<GraphPtr> changed;
    for (size_t b = 0; b < branches_.size(); ++b) changed.push_back(with_returned(b));
    const Values found = builder.bind(*equation.primitive, operands, attrs->with("branches", std::move(changed)));
    Values all;
    for (size_t k = 0; k < results_.size(); ++k) all.push_back(made(builder, k, found));
    return all;
  }

 private:
  // By branch: what it returns in one place.
  using Returned = std::vector<std::optional<Leaf>>;  // none: zeros, or ones of what divides
  struct Product {
    std::vector<size_t> branches;  // that make it alike
    std::vector<size_t> places{};  // of its factors, among what is returned
  };
  struct Result {
    Aval aval;
    bool leaves = false;
    std::vector<Product> products{};  // their sum
    size_t place = 0;                 // among what is returned, where it does not leave
  };
  struct Place {
    Returned returned;
    Aval aval;
    bool divides;
  };

  template <class MakeSmall>
  Result result(size_t k, const Aval& aval, const MakeSmall& make_small) const {
    Result found{.aval = aval};
    bool adds_up = false;
    for (size_t b = 0; b < branches_.size(); ++b) {
      if (branches_[b].returns_zero(k)) continue;
      if (!branches_[b].leaves(k)) return found;
      adds_up = adds_up || branches_[b].adds_up(branches_[b].output(k));
      const auto alike = std::ranges::find_if(found.products, [&](const Product& product) {
        return branches_[product.branches[0]].is_alike(k, branches_[b]);
      });
      if (alike == found.products.end()) {
        found.products.push_back({{b}});
      } else {
        alike->branches.push_back(b);
      }
    }
    found.leaves = !adds_up || make_small();
    return found;
  }

  Place returned(size_t k) const {
    Place place{.returned = {}, .aval = results_[k].aval, .divides = false};
    for (const Branch& branch : branches_) {
      const bool is_zero = branch.returns_zero(k);
      place.returned.push_back(is_zero ? std::nullopt : std::optional(Leaf{branch.output(k), false}));
    }
    return place;
  }

  size_t add(Place place) {
    const auto same = std::ranges::find_if(places_, [&](const Place& other) {
      return other.returned == place.returned && other.divides == place.divides;
    });
    if (same != places_.end()) return static_cast<size_t>(same - places_.begin());
    places_.push_back(std::move(place));
    return places_.size() - 1;
  }

  void add_factors(Product& product, size_t k) {
    std::vector<std::vector<Leaf>> leaves;
    for (const size_t b : product.branches) leaves.push_back(branches_[b].leaves_of(k));
    for (size_t i = 0; i < leaves[0].size(); ++i) {
      const Graph& first = branches_[product.branches[0]].graph();
      Place place{Returned(branches_.size()), first.aval(leaves[0][i].var), leaves[0][i].divides};
      for (size_t b = 0; b < leaves.size(); ++b) place.returned[product.branches[b]] = leaves[b][i];
      product.places.push_back(add(std::move(place)));
    }
  }

  GraphPtr with_returned(size_t b) const {
    const Graph& graph = branches_[b].graph();
    Builder builder;
    Values values = inputs_like(builder, graph);
    values.resize(graph.num_vars());
    copy_equations(builder, graph, values);
    Values outputs;
    for (const Place& place : places_) {
      const auto& leaf = place.returned[b];
      outputs.push_back(leaf ? values[leaf->var] : nothing(builder, place));
    }
    return builder.finish(outputs);
  }
  static Value nothing(Builder& builder, const Place& place) {
    return place.divides ? full(builder, place.aval, 1) : zeros(builder, place.aval);
  }

  Value made(Builder& builder, size_t k, const Values& found) const {
    const Result& result = results_[k];
    if (!result.leaves) return found[result.place];
    Value sum;
    for (const Product& product : result.products) {
      Values factors;
      for (const size_t place : product.places) factors.push_back(found[place]);
      const Value each = branches_[product.branches[0]].made(builder, k, factors);
      sum = sum ? sum + each : each;
    }
    return sum ? sum : zeros(builder, result.aval);
  }

  std::vector<Branch> branches_;
  std::vector<Result> results_;
  std::vector<Place> places_;
};

// A product that is chosen against zeros, by predicates along its batch: chosen factors are multiplied instead. Loops
// see products then (hoist.cc).
class Gated {
 public:
  Gated(const Graph& graph, const Growth& growth, const std::vector<int>& uses, const Equation& choice)
      : graph_(graph), growth_(growth), uses_(uses) {
    if (choice.primitive->arrangement == Arrangement::kChoice) see_through(choice.first_output);
  }

  bool found() const { return product_ != nullptr && !gates_.empty(); }

  Value made(Builder& builder, const Values& values) const {
    const auto dimensions = DotDimensions::from(graph_.attrs(*product_));
    Value factors[2];
    for (const size_t k : {0, 1}) {
      const Ints& batch = k == 0 ? dimensions.lhs_batch : dimensions.rhs_batch;
      factors[k] = values[graph_.operands(*product_)[k]];
      for (const Gate& gate : gates_) {
        Ints axes;
        for (const int64_t axis : gate.axes) axes.push_back(batch[axis]);
        const Value where = broadcast(values[gate.predicate], factors[k].shape(), axes);
        const Value nothing = zeros_like(factors[k]);
        factors[k] = gate.inverse ? select(where, nothing, factors[k]) : select(where, factors[k], nothing);
      }
    }
    Value result = builder.bind1(*product_->primitive, factors, graph_.attrs_ptr(*product_));
    for (const Equation* move : moves_) {
      Values operands{result};
      for (const Var var : graph_.operands(*move).subspan(1)) operands.push_back(values[var]);
      result = builder.bind1(*move->primitive, operands, graph_.attrs_ptr(*move));
    }
    return result;
  }

 private:
  struct Gate {
    Var predicate;
    bool inverse;
    Ints axes;  // of the product that its axes are
  };

  // From what is chosen last to the product; each is used by the next one only.
  void see_through(Var var) {
    const Equation* equation = growth_.producer(var);
    while (equation != nullptr && (uses_[var] == 1 || gates_.empty())) {
      const auto operands = graph_.operands(*equation);
      if (equation->primitive->is<structures::Product>()) {
        if (growth_.of(*equation) > 0 && are_along_batch(*equation)) product_ = equation;
        return;
      }
      if (const auto from = axes_of_operand(*equation)) {
        for (Gate& gate : gates_) {
          for (int64_t& axis : gate.axes) {
            if ((axis = (*from)[axis]) < 0) return;
          }
        }
        moves_.insert(moves_.begin(), equation);
        var = operands[0];
      } else if (equation->primitive->arrangement == Arrangement::kChoice) {
        const bool inverse = growth_.is_zero(operands[1]);
        const Equation* spread = growth_.producer(operands[0]);
        if (inverse == growth_.is_zero(operands[2])) return;
        if (spread == nullptr || spread->primitive->arrangement != Arrangement::kBroadcast) return;
        gates_.push_back({graph_.operands(*spread)[0], inverse, graph_.attrs(*spread).ints("axes")});
        var = operands[inverse ? 2 : 1];
      } else {
        return;
      }
      equation = growth_.producer(var);
    }
  }

  // Of what moves elements, and adds zeros at most: by axis of the result that of the operand, or -1.
  std::optional<Ints> axes_of_operand(const Equation& equation) const {
    const Attrs& attrs = graph_.attrs(equation);
    const Shape& result = graph_.aval(equation.first_output).shape();
    Ints axes;
    switch (equation.primitive->arrangement) {
      case Arrangement::kTranspose:
        return attrs.ints("permutation");
      case Arrangement::kReshape: {
        const Shape& operand = graph_.aval(graph_.operands(equation)[0]).shape();
        for (int axis = 0; axis < static_cast<int>(result.size()); ++axis) {
          axes.push_back(same_axis(result, operand, axis));
        }
        return axes;
      }
      case Arrangement::kPad: {
        if (!pads_with_zeros(growth_, graph_, equation)) return std::nullopt;
        for (size_t axis = 0; axis < result.size(); ++axis) {
          const bool is_whole =
              attrs.ints("low")[axis] == 0 && attrs.ints("high")[axis] == 0 && attrs.ints("interior")[axis] == 0;
          axes.push_back(is_whole ? static_cast<int64_t>(axis) : -1);
        }
        return axes;
      }
      default:
        return std::nullopt;
    }
  }

  // Of both factors, in order.
  bool are_along_batch(const Equation& product) const {
    const auto dimensions = DotDimensions::from(graph_.attrs(product));
    const Shape& shape = graph_.aval(product.first_output).shape();
    return std::ranges::all_of(gates_, [&](const Gate& gate) {
      Ints of_lhs, of_rhs, sizes;
      for (const int64_t axis : gate.axes) {
        if (axis >= static_cast<int64_t>(dimensions.lhs_batch.size())) return false;
        of_lhs.push_back(dimensions.lhs_batch[axis]);
        of_rhs.push_back(dimensions.rhs_batch[axis]);
        sizes.push_back(shape[axis]);
      }
      const Shape& own = graph_.aval(gate.predicate).shape();
      return Ints(own.begin(), own.end()) == sizes && std::ranges::is_sorted(of_lhs) && std::ranges::is_sorted(of_rhs);
    });
  }

  const Graph& graph_;
  const Growth& growth_;
  const std::vector<int>& uses_;
  std::vector<Gate> gates_;
  std::vector<const Equation*> moves_;  // from the product to what is chosen
  const Equation* product_ = nullptr;
};

GraphPtr factors_gated(const Graph& graph) {
  const Growth growth(graph);
  const std::vector<int> uses = uses_in(graph);
  Builder builder;
  Values values = inputs_like(builder, graph);
  values.resize(graph.num_vars());
  for (const Equation& equation : graph.equations()) {
    const LocationScope scope(location_of(equation));
    if (const Gated gated(graph, growth, uses, equation); gated.found()) {
      values[equation.first_output] = gated.made(builder, values);
      continue;
    }
    Values operands;
    for (const Var var : graph.operands(equation)) operands.push_back(values[var]);
    const Values results =
        builder.bind(*equation.primitive, operands, map_graphs(graph.attrs_ptr(equation), factors_gated));
    std::copy(results.begin(), results.end(), values.begin() + equation.first_output);
  }
  Values outputs;
  for (const Var var : graph.outputs()) outputs.push_back(values[var]);
  return builder.finish(outputs);
}

GraphPtr products_left(const Graph& graph, bool& any) {
  Readers readers(graph);
  return rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        const AttrsPtr inside = map_graphs(attrs, [&](const Graph& inner) { return products_left(inner, any); });
        if (equation.primitive->is<structures::Branches>()) {
          Choice choice(graph, equation, inside->graphs("branches"), readers);
          if (choice.changes()) {
            any = true;
            return choice.made(builder, equation, operands, inside);
          }
        }
        return builder.bind(*equation.primitive, operands, inside);
      });
}

}  // namespace

GraphPtr products_after_branches(const Graph& graph) {
  bool any = false;
  const GraphPtr result = products_left(graph, any);
  if (!any) return result;
  // Where all branches return zeros, nothing is to be chosen any more.
  const GraphPtr simpler = simplify(*eliminate_common_subexpressions(*result));
  // Sums of gradients of parts of one parameter are put together from these.
  return eliminate_dead_code(*eliminate_common_subexpressions(*canonical_pieces(*factors_gated(*simpler))));
}

}  // namespace ct
