#include "transforms/higher_order/custom_vmap.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "ir/combinators.h"
#include "runtime/error.h"
#include "runtime/process.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/rules.h"

namespace ct {

const BatchMaker& maker_of(const OpaquePtr& rule) {
  const auto* maker = dynamic_cast<const BatchMaker*>(rule.get());
  if (maker != nullptr) return *maker;
  throw Error(ErrorKind::kInternal, concat("the rule ", rule->to_string(), " does not make batched programs"));
}

namespace {

class DerivedRule final : public Opaque, public BatchMaker {
 public:
  // The same object for the same arguments, so that equal programs have equal attributes.
  static OpaquePtr of(const OpaquePtr& rule, const Flags& moving, const Flags& nonzero_out) {
    using Key = std::tuple<const Opaque*, Flags, Flags>;
    static auto* mutex = new ProcessMutex;
    static auto* known = new absl::flat_hash_map<Key, std::weak_ptr<const DerivedRule>>;
    std::shared_ptr<const DerivedRule> discarded;  // after the lock is given back: rules may be Python objects
    std::lock_guard lock(*mutex);
    std::weak_ptr<const DerivedRule>& slot = (*known)[Key(rule.get(), moving, nonzero_out)];
    std::shared_ptr<const DerivedRule> found = slot.lock();
    if (found == nullptr || found->rule_ != rule) {
      discarded = found;
      found.reset(new DerivedRule(rule, moving, nonzero_out));
      slot = found;
    }
    return found;
  }

  std::string to_string() const override { return concat("jvp of ", rule_->to_string()); }

  BatchGraph make(int64_t size, const Flags& batched, const Avals& operands) const override {
    // A primal and its tangent are batched together.
    const size_t n = moving_.size();
    Flags together = slice_of(batched, 0, n);
    for (size_t i = 0, next = n; i < n; ++i) {
      if (moving_[i]) together[i] = together[i] || batched[next++];
    }
    Builder builder;
    Values primals, tangents;
    Avals avals;
    const auto input = [&](size_t position, bool wanted) {
      const Value value = builder.input(operands[position]);
      return wanted && !batched[position] ? materialize_batch(builder, {value, -1}, 0, size) : value;
    };
    for (size_t i = 0; i < n; ++i) {
      primals.push_back(input(i, together[i]));
      avals.push_back(primals.back().aval());
    }
    for (size_t i = 0, next = n; i < n; ++i) {
      if (moving_[i]) tangents.push_back(input(next++, together[i]));
    }
    const BatchGraph function = maker_of(rule_).make(size, together, avals);
    const JvpGraph derivative = jvp_of(function.graph, moving_, nonzero_out_);
    append(primals, tangents);
    const JvpResult results = unpack_jvp(builder.inline_graph(*derivative.graph, primals), derivative.nonzero_out);
    BatchGraph made{nullptr, function.out_axes};
    Values outputs = results.outputs;
    for (size_t k = 0; k < nonzero_out_.size(); ++k) {
      if (!nonzero_out_[k]) continue;
      outputs.push_back(results.tangents[k]);
      made.out_axes.push_back(function.out_axes[k]);
    }
    made.graph = builder.finish(outputs);
    return made;
  }

 private:
  DerivedRule(OpaquePtr rule, Flags moving, Flags nonzero_out)
      : rule_(std::move(rule)), moving_(std::move(moving)), nonzero_out_(std::move(nonzero_out)) {}

  OpaquePtr rule_;
  Flags moving_, nonzero_out_;
};

}  // namespace

OpaquePtr derived_rule(const OpaquePtr& rule, const Flags& moving, const Flags& nonzero_out) {
  return DerivedRule::of(rule, moving, nonzero_out);
}

std::vector<Batched> batch_by_rule(Builder& builder, const OpaquePtr& rule, absl::Span<const Batched> operands,
                                   const BatchAxis& axis) {
  Values values;
  Flags batched;
  for (const Batched& operand : operands) {
    values.push_back(operand.batched() ? materialize_batch(builder, operand, 0, axis) : operand.value);
    batched.push_back(operand.batched());
  }
  const BatchGraph made = maker_of(rule).make(axis, batched, avals_of(values));
  const Values results = builder.inline_graph(*made.graph, values);
  std::vector<Batched> outputs;
  for (size_t k = 0; k < results.size(); ++k) outputs.push_back({results[k], made.out_axes[k]});
  return outputs;
}

}  // namespace ct
