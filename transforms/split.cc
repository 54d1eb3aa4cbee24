#include "transforms/split.h"

#include <algorithm>

#include "runtime/error.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

bool is_free(const Builder& builder, const Equation& equation) {
  if (!equation.primitive->free_to_recompute) return false;
  const DType dtype = builder.aval(equation.first_output).dtype();
  return std::ranges::all_of(builder.operands(equation), [&](Var operand) {
    return dtype_size(builder.aval(operand).dtype()) <= dtype_size(dtype);
  });
}

}  // namespace

const Remake& remake_what_is_free() {
  static const Remake* const instance = new Remake{is_free, 8};
  return *instance;
}

Value SplitContext::residual(Value wanted) {
  CT_CHECK(wanted.builder == known_);
  if (carried_.size() < known_->num_vars()) carried_.resize(known_->num_vars());
  // Depth first through what is made again; a variable stays on the list until its operands are carried.
  std::vector<std::pair<Var, int>> pending{{wanted.var, 0}};
  while (!pending.empty()) {
    const auto [var, depth] = pending.back();
    if (carried_[var]) {
      pending.pop_back();
      continue;
    }
    const Equation* equation = known_->producer(var);
    if (equation == nullptr || depth >= remake_->longest_chain || !remake_->equation(*known_, *equation)) {
      carried_[var] = unknown_->input(known_->aval(var));
      residuals_.push_back({known_, var});
      residual_inputs_.push_back(carried_[var]);
      continue;
    }
    bool ready = true;
    const absl::Span<const Var> operands = known_->operands(*equation);
    for (size_t k = operands.size(); k-- > 0;) {
      if (carried_[operands[k]]) continue;
      pending.emplace_back(operands[k], depth + 1);
      ready = false;
    }
    if (!ready) continue;
    LocationScope scope(location_of(*equation));
    Values values;
    for (Var operand : operands) values.push_back(carried_[operand]);
    const Values made = unknown_->bind(*equation->primitive, values, known_->attrs_ptr(*equation));
    for (uint32_t k = 0; k < equation->output_count; ++k) {
      Value& carried = carried_[equation->first_output + k];
      if (!carried) carried = made[k];
    }
  }
  return carried_[wanted.var];
}

Values SplitContext::on_unknown(absl::Span<const SplitValue> values) {
  Values result;
  result.reserve(values.size());
  for (const SplitValue& value : values) result.push_back(on_unknown(value));
  return result;
}

std::vector<bool> unknown_mask(absl::Span<const SplitValue> operands) {
  std::vector<bool> mask;
  for (const SplitValue& operand : operands) mask.push_back(!operand.is_known());
  return mask;
}

std::vector<SplitValue> split_whole(SplitContext& context, const Primitive& primitive,
                                    absl::Span<const SplitValue> operands, const AttrsPtr& attrs) {
  bool known = true;
  for (const SplitValue& operand : operands) known &= operand.is_known();
  std::vector<SplitValue> result;
  if (known) {
    Values values;
    for (const SplitValue& operand : operands) values.push_back(operand.known);
    for (Value output : context.known().bind(primitive, values, attrs)) result.push_back(SplitValue::on_known(output));
  } else {
    const Values values = context.on_unknown(operands);
    for (Value output : context.unknown().bind(primitive, values, attrs)) {
      result.push_back(SplitValue::on_unknown(output));
    }
  }
  return result;
}

std::vector<SplitValue> split_inline(SplitContext& context, const Graph& graph, absl::Span<const SplitValue> inputs) {
  CT_CHECK(inputs.size() == graph.num_inputs());
  std::vector<SplitValue> values(graph.num_vars());
  std::copy(inputs.begin(), inputs.end(), values.begin());
  std::vector<SplitValue> operands;
  for (const Equation& equation : graph.equations()) {
    LocationScope scope(location_of(equation));
    const Primitive& primitive = *equation.primitive;
    const AttrsPtr& attrs = graph.attrs_ptr(equation);
    operands.clear();
    bool all_known = true;
    for (Var var : graph.operands(equation)) {
      operands.push_back(values[var]);
      all_known &= values[var].is_known();
    }
    const bool divides = primitive.split && !all_known;
    const std::vector<SplitValue> outputs =
        divides ? primitive.split(context, operands, attrs) : split_whole(context, primitive, operands, attrs);
    CT_CHECK(outputs.size() == equation.output_count);
    std::copy(outputs.begin(), outputs.end(), values.begin() + equation.first_output);
  }
  std::vector<SplitValue> outputs;
  for (Var var : graph.outputs()) outputs.push_back(values[var]);
  return outputs;
}

SplitGraph split(const Graph& graph, const std::vector<bool>& in_unknown, const std::vector<bool>& instantiate,
                 const Remake& remake) {
  CT_CHECK(in_unknown.size() == graph.num_inputs());
  CT_CHECK(instantiate.empty() || instantiate.size() == graph.outputs().size());
  Builder known;
  Builder unknown;
  SplitContext context(known, unknown, remake);
  std::vector<SplitValue> inputs;
  Values unknown_inputs;
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    std::string name = i < graph.input_names().size() ? graph.input_names()[i] : std::string();
    if (in_unknown[i]) {
      unknown_inputs.push_back(unknown.input(graph.aval(i), std::move(name)));
      inputs.push_back(SplitValue::on_unknown(unknown_inputs.back()));
    } else {
      inputs.push_back(SplitValue::on_known(known.input(graph.aval(i), std::move(name))));
    }
  }
  const uint32_t known_inputs = known.num_vars();

  SplitGraph result;
  Values known_outputs;
  Values unknown_outputs;
  const std::vector<SplitValue> outputs = split_inline(context, graph, inputs);
  for (size_t k = 0; k < outputs.size(); ++k) {
    const bool stays = outputs[k].is_known() && (instantiate.empty() || !instantiate[k]);
    result.out_known.push_back(stays);
    if (stays) {
      known_outputs.push_back(outputs[k].known);
    } else {
      unknown_outputs.push_back(context.on_unknown(outputs[k]));
    }
  }

  // Neither rules nor the equations' shape tell which residuals are needed in the end: what is left after dead code
  // elimination does, and loops of the known sheet then need not make the others.
  Values order(context.residual_inputs().begin(), context.residual_inputs().end());
  order.insert(order.end(), unknown_inputs.begin(), unknown_inputs.end());
  unknown.arrange_inputs(order);
  const PrunedGraph left = prune(*unknown.finish(unknown_outputs), std::vector<bool>(unknown_outputs.size(), true));
  std::vector<bool> kept(order.size(), true);
  for (size_t r = 0; r < context.residuals().size(); ++r) {
    kept[r] = left.inputs[r];
    if (!kept[r]) continue;
    const Value residual = context.residuals()[r];
    known_outputs.push_back(residual);
    result.residual_input.push_back(residual.var < known_inputs ? static_cast<int>(residual.var) : -1);
  }
  result.num_residuals = static_cast<uint32_t>(result.residual_input.size());
  result.unknown = with_inputs(left.graph, kept);
  result.known = eliminate_dead_code(*known.finish(known_outputs));
  return result;
}

SplitGraph split(const Graph& graph, const std::vector<bool>& in_unknown, const std::vector<bool>& instantiate) {
  return split(graph, in_unknown, instantiate, remake_what_is_free());
}

}  // namespace ct
