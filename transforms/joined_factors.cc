// What a tangent is multiplied by in a step of a loop, as few factors as may be:
//
//   known:    … -> r1, r2                                    known:    …; p = r1 * r2 -> p
//   unknown:  u = t * r1;  v = u * r2            ->          unknown:  v = t * p
//
// Loops stack residuals of all steps, so one array of them is written and read in place of two: of a cell of an LSTM
// with sigmoids and hyperbolic tangents six in place of eleven. Derivatives are rounded in another order, as by slopes
// (slopes.cc), which are the same for what no loop divides.
//
// Start with `with_joined_factors` at the end.
#include <algorithm>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "transforms/common.h"
#include "transforms/split.h"

namespace ct {
namespace {

// Products with residuals, one of the other, where nothing else uses what is between.
struct Chain {
  Var source = kNoVar, result = kNoVar;
  std::vector<const Equation*> products = {};
  std::vector<Var> factors = {};  // a residual for each of the products
  size_t joined = 0;              // which product of factors
};

class JoinedFactors {
 public:
  explicit JoinedFactors(const SplitGraph& split)
      : split_(split), unknown_(*split.unknown), uses_(unknown_.num_vars(), 0) {
    for (const Equation& equation : unknown_.equations()) {
      for (const Var operand : unknown_.operands(equation)) ++uses_[operand];
    }
    for (const Var output : unknown_.outputs()) ++uses_[output];
    find_chains();
    leave_out_useless();
    std::map<MadeOf, size_t> known;
    for (Chain& chain : chains_) {
      for (const Equation* product : chain.products) between_.insert(product->first_output);
      between_.erase(chain.result);
      by_result_[chain.result] = &chain;
      const auto [found, is_new] = known.try_emplace(made_of(chain), distinct_.size());
      if (is_new) distinct_.push_back(&chain);
      chain.joined = found->second;
    }
  }

  bool save_memory() const {
    int64_t before = 0, after = 0;
    for (Var residual = 0; residual < split_.num_residuals; ++residual) {
      before += bytes(residual);
      if (is_kept(residual)) after += bytes(residual);
    }
    for (const Chain* chain : distinct_) after += unknown_.aval(chain->result).bytes();
    return after < before;
  }

  SplitGraph joined() const {
    SplitGraph result = split_;
    result.residual_input.clear();
    for (Var residual = 0; residual < split_.num_residuals; ++residual) {
      if (is_kept(residual)) result.residual_input.push_back(split_.residual_input[residual]);
    }
    result.residual_input.resize(result.residual_input.size() + distinct_.size(), -1);
    result.num_residuals = static_cast<uint32_t>(result.residual_input.size());
    result.known = joined_known();
    result.unknown = joined_unknown();
    return result;
  }

 private:
  using MadeOf = std::pair<std::vector<Var>, std::vector<const Primitive*>>;
  static MadeOf made_of(const Chain& chain) {
    MadeOf result{chain.factors, {}};
    for (const Equation* product : chain.products) result.second.push_back(product->primitive);
    return result;
  }

  // Inputs of the known sheet are there anyway.
  int64_t bytes(Var residual) const {
    return split_.residual_input[residual] < 0 ? unknown_.aval(residual).bytes() : 0;
  }
  bool is_kept(Var residual) const { return uses_[residual] > 0; }

  bool is_product(const Equation& equation) const {
    const Primitive& primitive = *equation.primitive;
    if (!primitive.elementwise || primitive.linear != Linear::kInEach) return false;
    // Products of slopes of float16 would overflow where cotangents are scaled so that they do not.
    const DType dtype = unknown_.aval(equation.first_output).dtype();
    return is_inexact(dtype) && dtype != DType::kFloat16;
  }

  void find_chains() {
    absl::flat_hash_map<Var, Chain> ending_at;
    for (const Equation& equation : unknown_.equations()) {
      if (!is_product(equation)) continue;
      const absl::Span<const Var> operands = unknown_.operands(equation);
      const size_t factor = operands[0] < split_.num_residuals ? 0 : 1;
      const Var residual = operands[factor], other = operands[1 - factor];
      if (residual >= split_.num_residuals || other < split_.num_residuals) continue;
      Chain chain{.source = other};
      if (const auto found = ending_at.find(other); found != ending_at.end() && uses_[other] == 1) {
        chain = std::move(found->second);
        ending_at.erase(found);
      }
      chain.result = equation.first_output;
      chain.products.push_back(&equation);
      chain.factors.push_back(residual);
      ending_at[chain.result] = std::move(chain);
    }
    for (auto& [var, chain] : ending_at) {
      if (chain.factors.size() > 1) chains_.push_back(std::move(chain));
    }
    std::ranges::sort(chains_, {}, &Chain::result);
    for (const Chain& chain : chains_) {
      for (const Var residual : chain.factors) --uses_[residual];
    }
  }

  // Chains all of whose factors others need.
  void leave_out_useless() {
    const auto is_useless = [&](const Chain& chain) {
      return std::ranges::all_of(chain.factors, [&](Var residual) { return uses_[residual] > 0; });
    };
    for (auto found = chains_.end(); (found = std::ranges::find_if(chains_, is_useless)) != chains_.end();) {
      for (const Var residual : found->factors) ++uses_[residual];
      chains_.erase(found);
    }
  }

  GraphPtr joined_known() const {
    const Graph& known = *split_.known;
    Builder builder;
    Values values = inputs_like(builder, known);
    values.resize(known.num_vars());
    copy_equations(builder, known, values);
    const size_t first = known.outputs().size() - split_.num_residuals;
    const auto residual_value = [&](Var residual) { return values[known.outputs()[first + residual]]; };
    Values outputs;
    for (size_t k = 0; k < known.outputs().size(); ++k) {
      if (k < first || is_kept(static_cast<Var>(k - first))) outputs.push_back(values[known.outputs()[k]]);
    }
    for (const Chain* chain : distinct_) {
      Value product = residual_value(chain->factors[0]);
      for (size_t i = 1; i < chain->factors.size(); ++i) {
        const Equation& equation = *chain->products[i];
        const LocationScope scope(location_of(equation));
        product = builder.bind1(*equation.primitive, {product, residual_value(chain->factors[i])},
                                unknown_.attrs_ptr(equation));
      }
      outputs.push_back(product);
    }
    return builder.finish(outputs);
  }

  GraphPtr joined_unknown() const {
    Builder builder;
    Values values(unknown_.num_vars()), products;
    const auto add_input = [&](Var var) {
      const auto& names = unknown_.input_names();
      values[var] = builder.input(unknown_.aval(var), var < names.size() ? names[var] : std::string());
    };
    for (Var residual = 0; residual < split_.num_residuals; ++residual) {
      if (is_kept(residual)) add_input(residual);
    }
    for (const Chain* chain : distinct_) products.push_back(builder.input(unknown_.aval(chain->result)));
    for (Var var = split_.num_residuals; var < unknown_.num_inputs(); ++var) add_input(var);
    for (const Equation& equation : unknown_.equations()) {
      const LocationScope scope(location_of(equation));
      if (const auto found = by_result_.find(equation.first_output); found != by_result_.end()) {
        const Chain& chain = *found->second;
        // Zeros win in all of it where they won in a part.
        const auto wins = std::ranges::find_if(chain.products, [](const Equation* p) { return !p->primitive->scalar; });
        const Equation& by = wins == chain.products.end() ? equation : **wins;
        values[equation.first_output] =
            builder.bind1(*by.primitive, {values[chain.source], products[chain.joined]}, unknown_.attrs_ptr(by));
        continue;
      }
      if (between_.contains(equation.first_output)) continue;
      Values operands;
      for (const Var var : unknown_.operands(equation)) operands.push_back(values[var]);
      std::ranges::copy(builder.bind(*equation.primitive, operands, unknown_.attrs_ptr(equation)),
                        values.begin() + equation.first_output);
    }
    Values outputs;
    for (const Var var : unknown_.outputs()) outputs.push_back(values[var]);
    return builder.finish(outputs);
  }

  const SplitGraph& split_;
  const Graph& unknown_;
  std::vector<int> uses_;  // by variable of the unknown sheet, other than in chains
  std::vector<Chain> chains_;
  std::vector<const Chain*> distinct_;  // one of those that multiply by the same
  absl::flat_hash_map<Var, const Chain*> by_result_;
  absl::flat_hash_set<Var> between_;  // results of all other products in them
};

}  // namespace

SplitGraph with_joined_factors(const SplitGraph& split) {
  const JoinedFactors factors(split);
  return factors.save_memory() ? factors.joined() : split;
}

}  // namespace ct
