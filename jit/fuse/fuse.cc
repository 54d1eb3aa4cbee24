#include "jit/fuse/fuse.h"

#include <algorithm>

#include "jit/fuse/products.h"
#include "jit/fuse/storage.h"

namespace ct::jit {

Shape kept_shape(absl::Span<const int64_t> shape, absl::Span<const int64_t> reduced) {
  Shape kept;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(axis)) == reduced.end()) {
      kept.push_back(shape[axis]);
    }
  }
  return kept;
}

Var alias_base(const Graph& graph, absl::Span<const uint32_t> definition, Var var) {
  while (definition[var] != Fusion::kInput) {
    const Equation& equation = graph.equations()[definition[var]];
    if (!equation.primitive->is<structures::SameBytes>()) break;
    var = graph.operands(equation)[0];
  }
  return var;
}

Fusion fuse(const Graph& graph, const FusionOptions& options) {
  const GraphFacts facts(graph);
  Fusion fusion;
  if (options.limits) fusion.limits = ElementLimits(facts);
  Storage storage(graph.num_vars());
  ProductViews products(facts, fusion.limits, storage, options.bfloat16_products);
  decide_storage(facts, storage, products);
  fusion.steps = schedule(facts, storage, products.transposed, fusion.limits, options);
  fusion.definition = facts.definition;
  fusion.stored = std::move(storage.stored);
  fusion.reasons = std::move(storage.reasons);
  fusion.views = std::move(products.views);
  fusion.transposed = std::move(products.transposed);
  fusion.filled = find_filled(facts, fusion);
  return fusion;
}

}  // namespace ct::jit
