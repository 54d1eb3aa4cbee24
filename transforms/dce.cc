// Dead code elimination: equations whose results nothing needs, here and in sub-graphs. One walk from the outputs back
// says what is needed; equations with sub-graphs say by their `prune` rule what is left of them when only some of their
// results are.
#include <algorithm>
#include <optional>

#include "ir/lengths.h"
#include "runtime/error.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

Pruned what_is_left(const Graph& graph, const Equation& equation, const std::vector<bool>& used) {
  const AttrsPtr& attrs = graph.attrs_ptr(equation);
  std::optional<KeepLengths> lengths;
  if (equation.primitive->region == Region::kRagged) lengths.emplace();
  if (equation.primitive->prune) return equation.primitive->prune(used, attrs);
  return {std::vector<bool>(equation.operand_count, true), std::vector<bool>(equation.output_count, true),
          map_graphs(attrs, eliminate_dead_code)};
}

}  // namespace

PrunedGraph prune(const Graph& graph, const std::vector<bool>& outputs) {
  CT_CHECK(outputs.size() == graph.outputs().size());
  std::vector<bool> needed(graph.num_vars(), false);
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k]) needed[graph.outputs()[k]] = true;
  }
  std::vector<Pruned> left(graph.equations().size());  // without attributes: nothing
  for (size_t i = left.size(); i-- > 0;) {
    const Equation& equation = graph.equations()[i];
    bool live = has_side_effects(*equation.primitive, graph.attrs(equation));
    std::vector<bool> used;
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      used.push_back(needed[equation.first_output + k]);
      live = live || used.back();
    }
    if (!live) continue;
    left[i] = what_is_left(graph, equation, used);
    const absl::Span<const Var> operands = graph.operands(equation);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (left[i].operands[k]) needed[operands[k]] = true;
    }
  }

  Builder builder;
  Values values = inputs_like(builder, graph);
  values.resize(graph.num_vars());
  Values operands;
  for (size_t i = 0; i < left.size(); ++i) {
    if (!left[i].attrs) continue;
    const Equation& equation = graph.equations()[i];
    LocationScope scope(location_of(equation));
    operands.clear();
    for (uint32_t k = 0; k < equation.operand_count; ++k) {
      if (left[i].operands[k]) operands.push_back(values[graph.operands(equation)[k]]);
    }
    const Values results = builder.bind(*equation.primitive, operands, left[i].attrs);
    size_t next = 0;
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      if (left[i].outputs[k]) values[equation.first_output + k] = results[next++];
    }
    CT_CHECK(next == results.size());
  }
  PrunedGraph result;
  result.inputs.assign(needed.begin(), needed.begin() + graph.num_inputs());
  Values chosen;
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k]) chosen.push_back(values[graph.outputs()[k]]);
  }
  result.graph = builder.finish(chosen);
  return result;
}

GraphPtr with_inputs(const GraphPtr& graph, const std::vector<bool>& keep) {
  CT_CHECK(keep.size() == graph->num_inputs());
  if (std::find(keep.begin(), keep.end(), false) == keep.end()) return graph;
  Builder builder;
  const Values inputs = inputs_like(builder, *graph);
  const Values outputs = builder.inline_graph(*graph, inputs);
  Values order;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (keep[i]) order.push_back(inputs[i]);
  }
  builder.arrange_inputs(order);
  return builder.finish(outputs);
}

GraphPtr eliminate_dead_code(const Graph& graph) {
  return prune(graph, std::vector<bool>(graph.outputs().size(), true)).graph;
}

}  // namespace ct
