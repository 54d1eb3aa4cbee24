#include "interpreter/dependence.h"

#include <algorithm>
#include <exception>

#include "runtime/interrupt.h"

namespace ct {
namespace {

std::vector<bool> by_jvp_rule(const Primitive& primitive, absl::Span<const Aval> operands,
                              const std::vector<bool>& moving, const AttrsPtr& attrs) {
  Builder scratch;
  Values primals;
  Values tangents(operands.size());
  for (const Aval& aval : operands) primals.push_back(scratch.input(aval));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (moving[i]) tangents[i] = scratch.input(operands[i]);
  }
  std::vector<bool> moved;
  for (const Value& tangent : primitive.jvp(scratch, primals, tangents, attrs).tangents) {
    moved.push_back(static_cast<bool>(tangent) && is_inexact(tangent.dtype()));
  }
  return moved;
}

std::vector<bool> by_expansion(const Primitive& primitive, absl::Span<const Aval> operands,
                               const std::vector<bool>& moving, const AttrsPtr& attrs) {
  const GraphPtr graph = build_graph(
      operands, [&](Builder& builder, const Values& inputs) { return primitive.expand(builder, inputs, attrs); });
  std::vector<bool> moves(graph->num_vars(), false);
  std::copy(moving.begin(), moving.end(), moves.begin());
  for (const Equation& equation : graph->equations()) {
    std::vector<Aval> in, out;
    std::vector<bool> flags;
    for (Var var : graph->operands(equation)) {
      in.push_back(graph->aval(var));
      flags.push_back(moves[var]);
    }
    for (uint32_t k = 0; k < equation.output_count; ++k) out.push_back(graph->aval(equation.first_output + k));
    const std::vector<bool> moved = moved_results(*equation.primitive, in, out, flags, graph->attrs_ptr(equation));
    std::copy(moved.begin(), moved.end(), moves.begin() + equation.first_output);
  }
  std::vector<bool> results;
  for (Var var : graph->outputs()) results.push_back(moves[var]);
  return results;
}

}  // namespace

std::vector<bool> moved_results(const Primitive& primitive, absl::Span<const Aval> operands,
                                absl::Span<const Aval> results, const std::vector<bool>& moving,
                                const AttrsPtr& attrs) {
  std::vector<bool> inexact;
  for (const Aval& aval : results) inexact.push_back(is_inexact(aval.dtype()));
  const auto set = [](const std::vector<bool>& flags) {
    return std::find(flags.begin(), flags.end(), true) != flags.end();
  };
  if (!set(moving) || !set(inexact)) return std::vector<bool>(results.size(), false);
  // A rule that is captured on demand is not asked in advance.
  if (primitive.region == Region::kApplied && attrs->has("rule")) return inexact;
  try {
    if (primitive.jvp) {
      std::vector<bool> moved = by_jvp_rule(primitive, operands, moving, attrs);
      if (moved.size() == results.size()) return moved;
    } else if (!primitive.differentiable) {
      return std::vector<bool>(results.size(), false);
    } else if (primitive.expand) {
      return by_expansion(primitive, operands, moving, attrs);
    }
  } catch (const std::exception& error) {
    rethrow_stop(error);
    // A primitive without the derivative, or a rule of the user's that fails: differentiating says so in its time.
  }
  return inexact;
}

}  // namespace ct
