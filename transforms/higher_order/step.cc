#include "transforms/higher_order/step.h"

#include <algorithm>

#include "runtime/error.h"

namespace ct {
namespace {

Flags carries_marked(const Groups& to, const Groups& from, const Flags& marked) {
  CT_CHECK(marked.size() == from.size());
  const Flags carries = from.of(Step::kCarries, marked);
  Flags result(to.size(), false);
  std::copy(carries.begin(), carries.end(), result.begin() + static_cast<ptrdiff_t>(to.first(Step::kCarries)));
  return result;
}

Flags batched(const std::vector<int>& axes) {
  Flags result;
  for (int axis : axes) result.push_back(axis >= 0);
  return result;
}

}  // namespace

Step::Step(GraphPtr step, size_t constants, size_t carries)
    : graph(std::move(step)),
      inputs{constants, carries, graph->num_inputs() - constants - carries},
      outputs{0, carries, graph->outputs().size() - carries} {}

Flags Step::at_outputs(const Flags& marked_inputs) const { return carries_marked(outputs, inputs, marked_inputs); }
Flags Step::at_inputs(const Flags& marked_outputs) const { return carries_marked(inputs, outputs, marked_outputs); }

JvpGraph Step::jvp(Flags& moving) const {
  while (true) {
    JvpGraph result = jvp_of(graph, moving, at_outputs(moving));
    if (!unite(moving, at_inputs(result.nonzero_out))) return result;
  }
}

SplitGraph Step::split(Flags& unknown) const {
  while (true) {
    SplitGraph result = split_of_step(graph, unknown, at_outputs(unknown));
    if (!unite(unknown, at_inputs(negated(result.out_known)))) return result;
  }
}

void Step::spread_linear(Flags& linear) const {
  while (unite(linear, at_inputs(depends_on(*graph, linear)))) {
  }
}

BackwardGraph Step::backward(const Flags& linear, Flags& cotangents) const {
  while (true) {
    BackwardGraph result = backward_of(graph, linear, cotangents, at_inputs(cotangents));
    if (!unite(cotangents, at_outputs(result.nonzero))) return result;
  }
}

PrunedGraph Step::prune(Flags& used) const {
  while (true) {
    PrunedGraph result = pruned_of(graph, used);
    if (unite(used, at_outputs(result.inputs))) continue;
    unite(result.inputs, at_inputs(used));
    return result;
  }
}

BatchGraph Step::batch(std::vector<int>& axes, const BatchAxis& axis) const {
  while (true) {
    std::vector<int> out_axes;
    for (bool carry : at_outputs(batched(axes))) out_axes.push_back(carry ? 0 : kAnyAxis);
    BatchGraph result = batch_of(graph, axes, axis, out_axes);
    const Flags carries = at_inputs(batched(result.out_axes));
    bool changed = false;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!carries[i] || axes[i] >= 0) continue;
      axes[i] = 0;
      changed = true;
    }
    if (!changed) return result;
  }
}

}  // namespace ct
