// Sums of products that a scan only adds to leave the scan: the gradient of a recurrent network's weights is a product
// of few rows in each step, added to a matrix that is much larger than they are. Stacked over the steps the same rows
// make one product, which reads and writes that matrix once.
//
//   s = s + transpose(dot_general(p, q))   in each step, s used for nothing else
//     ->   stack p and q;  s = s0 + transpose(dot_general(P, Q))   contracting the steps as well, after the scan
#include <algorithm>
#include <map>
#include <optional>

#include "ir/error.h"
#include "ir/ops.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

// A variable of the body as seen through transposes, outermost last.
struct Seen {
  Var var;
  std::vector<Ints> permutations;
};

struct Accumulation {
  size_t carry;
  DotDimensions dimensions;
  Seen lhs, rhs;
  std::vector<Ints> permutations;  // of the product
};

class Hoister {
 public:
  Hoister(const Equation& equation, const AttrsPtr& attrs)
      : equation_(equation),
        attrs_(attrs),
        body_(*attrs->graph("graph")),
        constants_(static_cast<size_t>(attrs->integer("num_constants"))),
        carries_(static_cast<size_t>(attrs->integer("num_carries"))),
        definition_(body_.num_vars(), nullptr),
        uses_(body_.num_vars(), 0) {
    for (const Equation& inner : body_.equations()) {
      for (uint32_t k = 0; k < inner.output_count; ++k) definition_[inner.first_output + k] = &inner;
      for (Var var : body_.operands(inner)) ++uses_[var];
    }
    for (Var var : body_.outputs()) ++uses_[var];
    if (attrs->has("counted") || attrs->integer("length") < 2) return;
    for (size_t c = 0; c < carries_; ++c) {
      if (auto found = accumulation(c)) found_.push_back(std::move(*found));
    }
  }

  bool found() const { return !found_.empty(); }

  Values hoist(Builder& builder, absl::Span<const Value> operands) {
    // The body without these carries, and with what it multiplied as further results.
    Builder inner;
    Values values = inputs_like(inner, body_);
    const Values inputs = values;
    values.resize(body_.num_vars());
    for (const Equation& equation : body_.equations()) {
      const LocationScope scope(location_of(equation));
      Values arguments;
      for (Var var : body_.operands(equation)) arguments.push_back(values[var]);
      const Values results = inner.bind(*equation.primitive, arguments, body_.attrs_ptr(equation));
      std::copy(results.begin(), results.end(), values.begin() + equation.first_output);
    }
    Values order, outputs, outer;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i >= constants_ && i < constants_ + carries_ && is_hoisted(i - constants_)) continue;
      order.push_back(inputs[i]);
      outer.push_back(operands[i]);
    }
    for (size_t k = 0; k < body_.outputs().size(); ++k) {
      if (k < carries_ && is_hoisted(k)) continue;
      outputs.push_back(values[body_.outputs()[k]]);
    }
    std::map<Var, size_t> position;  // among the results
    for (const Accumulation& one : found_) {
      for (Var var : {one.lhs.var, one.rhs.var}) {
        if (is_sequence(var) || !position.insert({var, outputs.size()}).second) continue;
        outputs.push_back(values[var]);
      }
    }
    inner.arrange_inputs(order);
    const ScanAttrs changed{
        inner.finish(outputs),     attrs_->integer("num_constants"), static_cast<int64_t>(carries_ - found_.size()),
        attrs_->integer("length"), attrs_->flag("reverse"),          false};
    const Values results = scan(builder, changed, outer);

    auto stacked = [&](const Seen& seen) {
      Value value = is_sequence(seen.var) ? operands[seen.var] : results[position.at(seen.var)];
      for (const Ints& permutation : seen.permutations) {
        Ints whole = {0};
        for (int64_t axis : permutation) whole.push_back(axis + 1);
        value = transpose(value, whole);
      }
      return value;
    };
    Values all(equation_.output_count);
    for (const Accumulation& one : found_) {
      auto later = [](Ints axes) {
        for (int64_t& axis : axes) ++axis;
        return axes;
      };
      DotDimensions dimensions{later(one.dimensions.lhs_contract), later(one.dimensions.rhs_contract),
                               later(one.dimensions.lhs_batch), later(one.dimensions.rhs_batch)};
      dimensions.lhs_contract.insert(dimensions.lhs_contract.begin(), 0);
      dimensions.rhs_contract.insert(dimensions.rhs_contract.begin(), 0);
      Value sum = dot_general(stacked(one.lhs), stacked(one.rhs), dimensions);
      for (const Ints& permutation : one.permutations) sum = transpose(sum, permutation);
      all[one.carry] = add(operands[constants_ + one.carry], sum);
    }
    size_t next = 0;
    for (size_t k = 0; k < all.size(); ++k) {
      if (!all[k]) all[k] = results[next++];
    }
    return all;
  }

 private:
  bool is_sequence(Var var) const { return var >= constants_ + carries_ && var < body_.num_inputs(); }
  bool is_hoisted(size_t carry) const {
    return std::any_of(found_.begin(), found_.end(), [&](const Accumulation& one) { return one.carry == carry; });
  }
  const Equation* made_by(Var var, const char* primitive) const {
    const Equation* equation = definition_[var];
    return equation != nullptr && equation->primitive->name == primitive ? equation : nullptr;
  }

  // Through transposes, to what they transpose; the permutations in the order in which they are applied.
  Seen see_through(Var var) const {
    Seen seen{var, {}};
    while (const Equation* equation = made_by(seen.var, "transpose")) {
      seen.permutations.insert(seen.permutations.begin(), body_.attrs(*equation).ints("permutation"));
      seen.var = body_.operands(*equation)[0];
    }
    return seen;
  }

  std::optional<Accumulation> accumulation(size_t carry) const {
    const Var input = static_cast<Var>(constants_ + carry), output = body_.outputs()[carry];
    const Equation* sum = made_by(output, "add");
    if (sum == nullptr || uses_[input] != 1 || uses_[output] != 1) return std::nullopt;
    const absl::Span<const Var> terms = body_.operands(*sum);
    if ((terms[0] == input) == (terms[1] == input)) return std::nullopt;
    const Seen product = see_through(terms[0] == input ? terms[1] : terms[0]);
    const Equation* dot = made_by(product.var, "dot_general");
    if (dot == nullptr) return std::nullopt;
    const Attrs& attrs = body_.attrs(*dot);
    const absl::Span<const Var> factors = body_.operands(*dot);
    Accumulation found{
        carry,
        {attrs.ints("lhs_contract"), attrs.ints("rhs_contract"), attrs.ints("lhs_batch"), attrs.ints("rhs_batch")},
        see_through(factors[0]),
        see_through(factors[1]),
        product.permutations};
    int64_t stacked = 0;
    for (Var var : {found.lhs.var, found.rhs.var}) {
      if (var < constants_ || var == input) return std::nullopt;  // the same in each step: nothing to stack
      stacked += body_.aval(var).size();
    }
    const Aval& type = body_.aval(product.var);
    if (!is_inexact(type.dtype()) || dtype_size(type.dtype()) < 4 || type.size() < stacked ||
        body_.aval(input).dtype() != type.dtype()) {
      return std::nullopt;
    }
    return found;
  }

  const Equation& equation_;
  const AttrsPtr& attrs_;
  const Graph& body_;
  size_t constants_, carries_;
  std::vector<const Equation*> definition_;
  std::vector<int> uses_;
  std::vector<Accumulation> found_;
};

}  // namespace

GraphPtr hoist_products(const Graph& graph) {
  const Primitive* const loop = find_primitive("scan");
  return rewrite(graph, [loop](Builder& builder, const Equation& equation, absl::Span<const Value> operands,
                               const AttrsPtr& attrs) {
    const AttrsPtr changed = map_graphs(attrs, hoist_products);
    if (equation.primitive == loop) {
      Hoister hoister(equation, changed);
      if (hoister.found()) return hoister.hoist(builder, operands);
    }
    return builder.bind(*equation.primitive, operands, changed);
  });
}

}  // namespace ct
