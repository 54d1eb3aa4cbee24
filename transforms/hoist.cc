// Products leave scans: of few rows in each step, they are one product of many rows before or after it, which reads a
// matrix of weights once and not in every step.
//
//   before: a product of the step's slices and of constants needs no step to have run
//     x_t -> dot_general(x_t, w)          ->   dot_general(x, w), whose slices the scan reads
//     so does a matrix that lies the wrong way round for its product: it is transposed once and not in every step
//   sums: the gradient of a recurrent network's weights, added to a matrix that is much larger than the factors
//     s = s + transpose(dot_general(p, q)) in each step, s used for nothing else
//                                         ->   stack p and q;  s = s0 + transpose(dot_general(P, Q)), contracting the
//                                              steps as well
//     s = s + reduce_sum(p), p stacked anyway  ->  s = s0 + reduce_sum(P) over the steps as well: gradients of biases
//   after: a product with a constant that is only a result of the step
//     y_t = dot_general(p, w)             ->   stack p;  y = dot_general(P, w)
//     so is what steps put together from products that are larger than their factors (arranged.h)
//
// Of a scan whose steps are pieces of what was divided to bound memory (ScanAttrs::pieces) only what is made of
// constants leaves: factors of all steps would be as large as what was divided.
//
// Start with hoist_products at the end: `Slices` is what goes before, `Hoister` the other two.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "ir/combinators.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "transforms/arranged.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

constexpr int64_t kLeastContracted = 8;       // shorter ones are hardly more than what they would store and load
constexpr int64_t kMostStacked = 64ll << 20;  // bytes of results of all steps, ...
constexpr int64_t kMostTimes = 4;             // ... or this many times what the scan has stacked anyway

// One scan: its equation's attributes and operands.
struct Loop {
  AttrsPtr attrs;
  Values operands;
};

int64_t contracted_size(const Graph& graph, const Equation& dot) {
  int64_t size = 1;
  for (int64_t axis : graph.attrs(dot).ints("lhs_contract")) {
    size *= graph.aval(graph.operands(dot)[0]).shape()[static_cast<size_t>(axis)];
  }
  return size;
}

constexpr int64_t kFewRows = 64;        // of a product: many are worth rearranging the matrix in each step
constexpr int64_t kLeastMatrix = 1024;  // elements: smaller ones are in the first cache anyway

// Whether a product reads the rows of its second operand, a matrix, as columns.
bool reads_columns(const Graph& graph, const Equation& dot) {
  const Attrs& attrs = graph.attrs(dot);
  const Aval& lhs = graph.aval(graph.operands(dot)[0]);
  const Aval& rhs = graph.aval(graph.operands(dot)[1]);
  return rhs.rank() == 2 && rhs.size() >= kLeastMatrix && attrs.ints("rhs_batch").empty() &&
         attrs.ints("rhs_contract") == Ints{1} && lhs.size() <= kFewRows * contracted_size(graph, dot);
}

// The body of a loop, with transposes of the constants that are not laid out as its products want them.
GraphPtr turn_constants(const Graph& body, size_t constants) {
  const auto wanted = [&](const Equation& equation) {
    return equation.primitive->is<structures::Product>() && body.operands(equation)[1] < constants &&
           reads_columns(body, equation);
  };
  const auto equations = body.equations();
  if (std::none_of(equations.begin(), equations.end(), wanted)) return nullptr;
  return rewrite(body,
                 [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands,
                     const AttrsPtr& attrs) -> Values {
                   if (!wanted(equation)) return builder.bind(*equation.primitive, operands, attrs);
                   return {builder.bind1(*equation.primitive, {operands[0], transpose(operands[1], Ints{1, 0})},
                                         attrs->with("rhs_contract", Ints{0}))};
                 });
}

// Products of slices of sequences and of constants.
class Slices {
 public:
  explicit Slices(const Loop& loop)
      : loop_(loop),
        scan_(ScanAttrs::from(*loop.attrs)),
        body_(*scan_.graph),
        constants_(static_cast<size_t>(scan_.num_constants)),
        carries_(static_cast<size_t>(scan_.num_carries)),
        length_(scan_.length),
        level_(body_.num_vars(), Level::kCarried) {
    if (length_ < 2) return;
    for (Var var = 0; var < body_.num_inputs(); ++var) {
      if (var < constants_) level_[var] = Level::kConstant;
      if (var >= constants_ + carries_ && !scan_.pieces) level_[var] = Level::kSlice;
    }
    int64_t stacked = 0;
    for (Var var = static_cast<Var>(constants_ + carries_); var < body_.num_inputs(); ++var) {
      stacked = std::max(stacked, body_.aval(var).bytes());
    }
    for (const Equation& equation : body_.equations()) {
      const Primitive& primitive = *equation.primitive;
      const bool is_product = primitive.is<structures::Product>();
      const bool plain = is_product || primitive.computes_elements() || primitive.is<structures::SameBytes>();
      if (!plain || !primitive.batch || has_side_effects(primitive, body_.attrs(equation))) continue;
      Level level = Level::kConstant;
      bool weighted = false;
      for (Var var : body_.operands(equation)) {
        level = std::max(level, level_[var]);
        weighted = weighted || level_[var] == Level::kConstant;
      }
      // What is larger than both of its factors, gradients of a step's examples say, may never have to exist as a
      // whole.
      if (is_product && !weighted && is_larger_than_factors(equation)) level = Level::kCarried;
      for (uint32_t k = 0; k < equation.output_count; ++k) level_[equation.first_output + k] = level;
      const Var var = equation.first_output;
      if (level == Level::kConstant && primitive.arrangement == Arrangement::kTranspose &&
          body_.aval(var).size() >= kLeastMatrix) {
        found_.push_back(var);
        continue;
      }
      if (!is_product || level == Level::kCarried || !weighted || contracted_size(body_, equation) < kLeastContracted) {
        continue;
      }
      const int64_t bytes = level == Level::kSlice ? body_.aval(var).bytes() : 0;
      if (bytes <= kMostTimes * stacked || bytes * length_ <= kMostStacked) found_.push_back(var);
    }
  }

  bool found() const { return !found_.empty(); }

  // The scan that is given these products.
  Loop hoist(Builder& builder) const {
    std::vector<Batched> outer;
    for (Var var = 0; var < body_.num_inputs(); ++var) {
      outer.push_back({loop_.operands[var], level_[var] == Level::kSlice ? 0 : -1});
    }
    const GraphPtr products = graph_of(found_);
    std::vector<Batched> made = batch_inline(builder, *products, outer, {length_});

    Builder inner;
    Values values = inputs_like(inner, body_);
    const Values inputs = values;
    values.resize(body_.num_vars());
    Loop result{loop_.attrs, {}};
    Values constants(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(constants_));
    Values others(inputs.begin() + static_cast<std::ptrdiff_t>(constants_), inputs.end());
    const auto first = loop_.operands.begin();
    result.operands.assign(first, first + static_cast<std::ptrdiff_t>(constants_));
    Values other_operands(first + static_cast<std::ptrdiff_t>(constants_),
                          first + static_cast<std::ptrdiff_t>(body_.num_inputs()));
    for (size_t i = 0; i < found_.size(); ++i) {
      values[found_[i]] = inner.input(body_.aval(found_[i]));
      const bool constant = level_[found_[i]] == Level::kConstant;
      (constant ? constants : others).push_back(values[found_[i]]);
      (constant ? result.operands : other_operands)
          .push_back(constant ? made[i].value : materialize_batch(builder, made[i], 0, length_));
    }
    result.operands.insert(result.operands.end(), other_operands.begin(), other_operands.end());
    result.operands.insert(result.operands.end(), first + static_cast<std::ptrdiff_t>(body_.num_inputs()),
                           loop_.operands.end());  // the number of steps
    const auto num_constants = static_cast<int64_t>(constants.size());
    constants.insert(constants.end(), others.begin(), others.end());
    copy_equations(inner, body_, values);
    Values outputs;
    for (Var var : body_.outputs()) outputs.push_back(values[var]);
    inner.arrange_inputs(constants);
    result.attrs = result.attrs->with("graph", inner.finish(outputs))->with("num_constants", num_constants);
    return result;
  }

 private:
  bool is_larger_than_factors(const Equation& equation) const {
    int64_t factors = 0;
    for (const Var var : body_.operands(equation)) factors += body_.aval(var).size();
    return body_.aval(equation.first_output).size() > factors;
  }

  enum class Level : uint8_t { kConstant, kSlice, kCarried };  // the most that a variable is computed from

  GraphPtr graph_of(const std::vector<Var>& outputs) const {
    Builder inner;
    Values values = inputs_like(inner, body_);
    values.resize(body_.num_vars());
    copy_equations(inner, body_, values, outputs.back());
    Values results;
    for (Var var : outputs) results.push_back(values[var]);
    return eliminate_dead_code(*inner.finish(results));
  }

  const Loop& loop_;
  const ScanAttrs scan_;
  const Graph& body_;
  size_t constants_, carries_;
  int64_t length_;
  std::vector<Level> level_;
  std::vector<Var> found_;
};

// A variable of the body as seen through transposes, outermost last.
struct Seen {
  Var var;
  std::vector<Ints> permutations;
};

// The steps that a masked loop takes: those where a predicate holds, or does not, for what lies along these axes.
struct Gate {
  Var predicate;
  bool inverse;
  Ints lhs_axes, rhs_axes;  // of the factors, by axis of the predicate
};

struct Accumulation {
  size_t carry;
  DotDimensions dimensions;
  Seen lhs, rhs;
  std::vector<Ints> permutations;  // of the product
  std::optional<Gate> gate;
};

// A carry to which what is stacked anyway is added up, along these axes.
struct Sum {
  size_t carry;
  Seen term;
  Ints axes;
  std::vector<Ints> permutations;  // of the sum
};

// A stacked result that is a product: of something stacked and a constant, or of two things of the step that are
// smaller than it, as the gradient of a layer's weights is in a scan over layers.
struct Product {
  size_t output;
  const Equation* dot;
  bool stacked[2];  // which of the product's operands; the others are constants
  Seen factors[2];
  std::vector<Ints> permutations;  // of the product
};

class Hoister {
 public:
  explicit Hoister(const Loop& loop)
      : scan_(ScanAttrs::from(*loop.attrs)),
        operands_(loop.operands),
        body_(*scan_.graph),
        constants_(static_cast<size_t>(scan_.num_constants)),
        carries_(static_cast<size_t>(scan_.num_carries)),
        definition_(body_.num_vars(), nullptr),
        uses_(body_.num_vars(), 0) {
    for (const Equation& inner : body_.equations()) {
      for (uint32_t k = 0; k < inner.output_count; ++k) definition_[inner.first_output + k] = &inner;
      for (Var var : body_.operands(inner)) ++uses_[var];
    }
    for (Var var : body_.outputs()) ++uses_[var];
    if (scan_.length < 2 || scan_.pieces) return;
    for (size_t c = 0; c < carries_; ++c) {
      if (auto found = accumulation(c)) found_.push_back(std::move(*found));
    }
    for (size_t c = 0; c < carries_; ++c) {
      if (auto found = sum(c)) sums_.push_back(std::move(*found));
    }
    for (size_t k = carries_; k < body_.outputs().size(); ++k) {
      if (auto found = product(k)) products_.push_back(std::move(*found));
    }
  }

  bool found() const { return !found_.empty() || !sums_.empty() || !products_.empty(); }

  Values hoist(Builder& builder) {
    // The body without these carries, and with what it multiplied as further results.
    Builder inner;
    Values values = inputs_like(inner, body_);
    const Values inputs = values;
    values.resize(body_.num_vars());
    copy_equations(inner, body_, values);
    Values order, outputs, outer;
    std::map<Var, size_t> position;  // among the results
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i >= constants_ && i < constants_ + carries_ && is_hoisted(i - constants_)) continue;
      order.push_back(inputs[i]);
      outer.push_back(operands_[i]);
    }
    if (scan_.counted) outer.push_back(operands_.back());
    for (size_t k = 0; k < body_.outputs().size(); ++k) {
      if (is_hoisted(k)) continue;
      if (k >= carries_) position.insert({body_.outputs()[k], outputs.size()});
      outputs.push_back(values[body_.outputs()[k]]);
    }
    auto stack = [&](Var var) {
      if (is_sequence(var) || !position.insert({var, outputs.size()}).second) return;
      outputs.push_back(values[var]);
    };
    for (const Accumulation& one : found_) {
      stack(one.lhs.var);
      stack(one.rhs.var);
      if (one.gate && one.gate->predicate >= constants_) stack(one.gate->predicate);
    }
    for (const Sum& one : sums_) stack(one.term.var);
    for (const Product& one : products_) {
      for (size_t k : {0, 1}) {
        if (one.stacked[k]) stack(one.factors[k].var);
      }
    }
    inner.arrange_inputs(order);
    ScanAttrs changed = scan_;
    changed.graph = inner.finish(outputs);
    changed.num_carries -= static_cast<int64_t>(found_.size() + sums_.size());
    const Values results = scan(builder, changed, outer);

    auto stacked = [&](const Seen& seen) {
      const Value value = is_sequence(seen.var) ? operands_[seen.var] : results[position.at(seen.var)];
      return transpose_steps(value, seen.permutations);
    };
    // Both factors are cleared where a step is not taken: zero times what is not a number is none.
    auto gated = [&](const Seen& seen, const std::optional<Gate>& gate, const Ints& axes_of_factor) {
      const Value factor = gate && clears_what_is_not_taken(*gate) ? stacked(seen) : up_to_count(stacked(seen));
      if (!gate) return factor;
      const bool varies = gate->predicate >= constants_;
      Ints axes;
      if (varies) axes.push_back(0);
      for (const int64_t axis : axes_of_factor) axes.push_back(axis + 1);
      const Value predicate =
          broadcast(varies ? stacked({gate->predicate, {}}) : operands_[gate->predicate], factor.shape(), axes);
      const Value nothing = zeros_like(factor);
      return gate->inverse ? select(predicate, nothing, factor) : select(predicate, factor, nothing);
    };
    Values all(body_.outputs().size());
    // Axes of what is stacked, of which the steps are the first.
    const auto later = [](Ints axes) {
      for (int64_t& axis : axes) ++axis;
      return axes;
    };
    for (const Accumulation& one : found_) {
      DotDimensions dimensions{later(one.dimensions.lhs_contract), later(one.dimensions.rhs_contract),
                               later(one.dimensions.lhs_batch), later(one.dimensions.rhs_batch)};
      dimensions.lhs_contract.insert(dimensions.lhs_contract.begin(), 0);
      dimensions.rhs_contract.insert(dimensions.rhs_contract.begin(), 0);
      const Value rhs = gated(one.rhs, one.gate, one.gate ? one.gate->rhs_axes : Ints{});
      const Value lhs = gated(one.lhs, one.gate, one.gate ? one.gate->lhs_axes : Ints{});
      Value sum = dot_general(lhs, rhs, dimensions);
      for (const Ints& permutation : one.permutations) sum = transpose(sum, permutation);
      all[one.carry] = sum_from(operands_[constants_ + one.carry], sum);
    }
    for (const Sum& one : sums_) {
      Ints axes = later(one.axes);
      axes.insert(axes.begin(), 0);
      Value sum = reduce_sum(up_to_count(stacked(one.term)), axes);
      for (const Ints& permutation : one.permutations) sum = transpose(sum, permutation);
      all[one.carry] = sum_from(operands_[constants_ + one.carry], sum);
    }
    const int64_t length = scan_.length;
    for (const Product& one : products_) {
      Batched factors[2];
      for (size_t k : {0, 1}) {
        const Seen& factor = one.factors[k];
        if (one.stacked[k]) {
          factors[k] = {stacked(factor), 0};
          continue;
        }
        Value constant = operands_[factor.var];
        for (const Ints& permutation : factor.permutations) constant = transpose(constant, permutation);
        factors[k] = {constant, -1};
      }
      const std::vector<Batched> made =
          one.dot->primitive->batch(builder, factors, {length}, body_.attrs_ptr(*one.dot));
      all[one.output] = up_to_count(transpose_steps(materialize_batch(builder, made[0], 0, length), one.permutations));
    }
    size_t next = 0;
    for (size_t k = 0; k < all.size(); ++k) {
      if (!all[k]) all[k] = results[next++];
    }
    return all;
  }

 private:
  // Of steps that are not taken the stacked predicate is false.
  bool clears_what_is_not_taken(const Gate& gate) const {
    return !gate.inverse && gate.predicate >= constants_ && !is_sequence(gate.predicate) && !gate.lhs_axes.empty();
  }
  // Zeros for steps that a counted loop does not take: products of a sequence end there (jit/fuse/limits.h).
  Value up_to_count(Value steps) const {
    if (!scan_.counted) return steps;
    Masked masked = exact(steps);
    masked.lengths[0] = operands_.back();
    return fill_padded(masked, 0, 0);
  }
  bool is_sequence(Var var) const { return var >= constants_ + carries_ && var < body_.num_inputs(); }
  bool is_hoisted(size_t output) const {
    const auto carries = [&](const auto& one) { return one.carry == output; };
    return std::ranges::any_of(found_, carries) || std::ranges::any_of(sums_, carries) ||
           std::any_of(products_.begin(), products_.end(), [&](const Product& one) { return one.output == output; });
  }
  static Value transpose_steps(Value value, const std::vector<Ints>& permutations) {
    for (const Ints& permutation : permutations) {
      Ints whole = {0};
      for (int64_t axis : permutation) whole.push_back(axis + 1);
      value = transpose(value, whole);
    }
    return value;
  }
  const Equation* transpose_of(Var var) const {
    const Equation* equation = definition_[var];
    const bool is = equation != nullptr && equation->primitive->arrangement == Arrangement::kTranspose;
    return is ? equation : nullptr;
  }
  const Equation* product_of(Var var) const {
    const Equation* equation = definition_[var];
    return equation != nullptr && equation->primitive->is<structures::Product>() ? equation : nullptr;
  }

  // Through transposes, to what they transpose; the permutations in the order in which they are applied.
  Seen see_through(Var var) const {
    Seen seen{var, {}};
    while (const Equation* equation = transpose_of(seen.var)) {
      seen.permutations.insert(seen.permutations.begin(), body_.attrs(*equation).ints("permutation"));
      seen.var = body_.operands(*equation)[0];
    }
    return seen;
  }

  // A carry that stays what it is in the steps that are not taken.
  struct Choice {
    Var predicate, changed;
    bool inverse;
  };
  std::optional<Choice> choice_of(Var output, Var input) const {
    const Equation* equation = definition_[output];
    if (equation == nullptr || equation->primitive->arrangement != Arrangement::kChoice) return std::nullopt;
    const absl::Span<const Var> operands = body_.operands(*equation);
    if ((operands[1] == input) == (operands[2] == input)) return std::nullopt;
    const bool inverse = operands[1] == input;
    return Choice{operands[0], operands[inverse ? 2 : 1], inverse};
  }

  // None where the predicate differs along an axis that only one of the factors has.
  std::optional<Gate> gate_of(const Choice& choice, const Accumulation& sum) const {
    Var predicate = choice.predicate;
    Ints axes(body_.aval(predicate).rank());
    std::iota(axes.begin(), axes.end(), 0);
    const Equation* spread = definition_[predicate];
    if (spread != nullptr && spread->primitive->arrangement == Arrangement::kBroadcast) {
      predicate = body_.operands(*spread)[0];
      axes = body_.attrs(*spread).ints("axes");
      if (body_.aval(predicate).shape() != sizes_of(body_.aval(choice.predicate), axes)) return std::nullopt;
    }
    Gate gate{predicate, choice.inverse, {}, {}};
    for (int64_t axis : axes) {
      for (size_t i = sum.permutations.size(); i-- > 0;) axis = sum.permutations[i][axis];
      if (axis >= static_cast<int64_t>(sum.dimensions.lhs_batch.size())) return std::nullopt;
      gate.lhs_axes.push_back(sum.dimensions.lhs_batch[axis]);
      gate.rhs_axes.push_back(sum.dimensions.rhs_batch[axis]);
    }
    // What is broadcast has its axes in order.
    if (!std::is_sorted(gate.lhs_axes.begin(), gate.lhs_axes.end())) return std::nullopt;
    if (!std::is_sorted(gate.rhs_axes.begin(), gate.rhs_axes.end())) return std::nullopt;
    return gate;
  }
  static Shape sizes_of(const Aval& aval, const Ints& axes) {
    Shape shape;
    for (const int64_t axis : axes) shape.push_back(aval.shape()[axis]);
    return shape;
  }

  std::optional<Accumulation> accumulation(size_t carry) const {
    const Var input = static_cast<Var>(constants_ + carry), output = body_.outputs()[carry];
    const auto choice = choice_of(output, input);
    const Var changed = choice ? choice->changed : output;
    if (uses_[input] != (choice ? 2 : 1) || uses_[output] != 1 || uses_[changed] != 1) return std::nullopt;
    const auto added = added_to(body_, input, definition_[changed]);
    if (!added) return std::nullopt;
    const Seen product = see_through(*added);
    const Equation* dot = product_of(product.var);
    if (dot == nullptr) return std::nullopt;
    const absl::Span<const Var> factors = body_.operands(*dot);
    Accumulation found{carry,
                       DotDimensions::from(body_.attrs(*dot)),
                       see_through(factors[0]),
                       see_through(factors[1]),
                       product.permutations,
                       std::nullopt};
    if (choice && !(found.gate = gate_of(*choice, found))) return std::nullopt;
    int64_t stacked = 0, bytes = 0;
    for (Var var : {found.lhs.var, found.rhs.var}) {
      if (var < constants_ || var == input) return std::nullopt;  // the same in each step: nothing to stack
      stacked += body_.aval(var).size();
      bytes += is_sequence(var) ? 0 : scan_.length * body_.aval(var).bytes();
    }
    if (bytes > std::max(kMostStacked, kMostTimes * body_.aval(input).bytes())) return std::nullopt;
    const Aval& type = body_.aval(product.var);
    if (!is_inexact(type.dtype()) || dtype_size(type.dtype()) < 4 || type.size() < stacked ||
        body_.aval(input).dtype() != type.dtype()) {
      return std::nullopt;
    }
    return found;
  }

  // Whether all steps' values are there after the scan, whatever else is found.
  bool is_stacked(Var var) const {
    const auto results = body_.outputs().subspan(carries_);
    return is_sequence(var) || std::ranges::find(results, var) != results.end() ||
           std::ranges::any_of(found_,
                               [&](const Accumulation& one) { return one.lhs.var == var || one.rhs.var == var; });
  }

  std::optional<Sum> sum(size_t carry) const {
    const Var input = static_cast<Var>(constants_ + carry), output = body_.outputs()[carry];
    if (uses_[input] != 1 || uses_[output] != 1) return std::nullopt;
    const auto added = added_to(body_, input, definition_[output]);
    if (!added) return std::nullopt;
    const Seen seen = see_through(*added);
    const Equation* reduced = definition_[seen.var];
    const auto* fold = reduced == nullptr ? nullptr : reduced->primitive->structure_as<structures::Fold>();
    if (fold == nullptr || fold->combine != ScalarOp::kAdd || reduced->operand_count != 1) return std::nullopt;
    const Seen term = see_through(body_.operands(*reduced)[0]);
    const Aval& type = body_.aval(term.var);
    if (!is_stacked(term.var) || !is_inexact(type.dtype()) || dtype_size(type.dtype()) < 4) return std::nullopt;
    return Sum{carry, term, body_.attrs(*reduced).ints("axes"), seen.permutations};
  }

  std::optional<Product> product(size_t output) const {
    const Var var = body_.outputs()[output];
    const Seen seen = see_through(var);
    const Equation* dot = product_of(seen.var);
    // What else reads the product, or a transpose of it, needs it in its step.
    if (dot == nullptr) return std::nullopt;
    for (Var at = var;; at = body_.operands(*definition_[at])[0]) {
      if (uses_[at] != 1) return std::nullopt;
      if (at == seen.var) break;
    }
    const absl::Span<const Var> operands = body_.operands(*dot);
    Product found{output, dot, {}, {see_through(operands[0]), see_through(operands[1])}, seen.permutations};
    int64_t factors = 0;
    for (size_t k : {0, 1}) {
      found.stacked[k] = found.factors[k].var >= constants_;
      factors += body_.aval(operands[k]).size();
    }
    if (found.stacked[0] && found.stacked[1] && body_.aval(seen.var).size() > factors) return found;
    if (found.stacked[0] == found.stacked[1] || contracted_size(body_, *dot) < kLeastContracted) return std::nullopt;
    const Var stacked = found.factors[found.stacked[0] ? 0 : 1].var;
    const absl::Span<const Var> outputs = body_.outputs();
    const bool is_there = is_sequence(stacked) || std::find(outputs.begin() + static_cast<std::ptrdiff_t>(carries_),
                                                            outputs.end(), stacked) != outputs.end();
    if (!is_there && body_.aval(stacked).bytes() > kMostTimes * body_.aval(var).bytes()) return std::nullopt;
    return found;
  }

  const ScanAttrs scan_;
  const Values& operands_;
  const Graph& body_;
  size_t constants_, carries_;
  std::vector<const Equation*> definition_;
  std::vector<int> uses_;
  std::vector<Accumulation> found_;
  std::vector<Sum> sums_;
  std::vector<Product> products_;
};

}  // namespace

GraphPtr hoist_products(const Graph& graph) {
  bool hoisted = false;
  const GraphPtr result = rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        Loop loop{map_graphs(attrs, hoist_products), Values(operands.begin(), operands.end())};
        if (equation.primitive->is<structures::Scan>()) {
          const auto constants = static_cast<size_t>(attrs->integer("num_constants"));
          if (GraphPtr turned = turn_constants(*loop.attrs->graph("graph"), constants)) {
            loop.attrs = loop.attrs->with("graph", std::move(turned));
          }
          if (const Slices slices(loop); slices.found()) {
            hoisted = true;
            loop = slices.hoist(builder);
          }
          const ArrangedResults results(ScanAttrs::from(*loop.attrs));
          const Values given = loop.operands;
          if (results.found()) {
            const ScanAttrs changed = results.scan();
            loop = {loop.attrs->with("graph", changed.graph)->with("num_carries", changed.num_carries),
                    results.operands(builder, given)};
          }
          Hoister hoister(loop);
          hoisted = hoisted || hoister.found();
          const Values found =
              hoister.found() ? hoister.hoist(builder) : builder.bind(*equation.primitive, loop.operands, loop.attrs);
          return results.found() ? results.arranged(builder, given, found) : found;
        }
        return builder.bind(*equation.primitive, loop.operands, loop.attrs);
      });
  // What was only there for products that have left.
  return hoisted ? eliminate_dead_code(*result) : result;
}

}  // namespace ct
