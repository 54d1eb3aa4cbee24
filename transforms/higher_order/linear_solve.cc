// linear_solve: x with A x = b, for a linear map A that is given as a function and solved by a function of the
// program's own. Derivatives are those of the equation, not of the way it was solved: A dx = db - dA x, solved the same
// way; and a cotangent of b is the solution of the transposed equation.
//
// Operands: the constants of four sub-graphs, in this order, then b. Results: x, then what else `solve` returns.
//   matvec           constants, x -> A x
//   solve            constants, b -> x, more
//   vecmat           constants, y -> A^T y
//   transpose_solve  constants, c -> y with A^T y = c, more
// The last two are optional: attribute "num_constants" has two numbers or four.
#include <algorithm>
#include <numeric>

#include "ir/combinators.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/groups.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

constexpr const char* kKeys[] = {"matvec", "solve", "vecmat", "transpose_solve"};
constexpr size_t kMatvec = 0, kSolve = 1, kRight = 4;  // groups of operands: constants by sub-graph, then b

Groups groups_of(const Attrs& attrs, size_t num_operands) {
  Groups result;
  const Ints& counts = attrs.ints("num_constants");
  for (size_t part = 0; part < counts.size(); ++part) {
    for (int64_t i = 0; i < counts[part]; ++i) result.add(part);
  }
  while (result.size() < num_operands) result.add(kRight);
  return result;
}

void check_returns(const Graph& graph, absl::Span<const Aval> expected, bool more, std::string_view what) {
  const Avals found = graph.output_avals();
  bool fits = more ? found.size() >= expected.size() : found.size() == expected.size();
  for (size_t k = 0; fits && k < expected.size(); ++k) fits = same_type(found[k], expected[k]);
  if (fits) return;
  throw Error(ErrorKind::kType, concat(what, " must return values of the types of b"))
      .hint("the linear map takes and returns values of the same shapes and dtypes as b");
}

Avals linear_solve_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  const Ints& counts = attrs.ints("num_constants");
  const auto size = static_cast<int64_t>(operands.size());
  const bool few = std::ranges::all_of(counts, [&](int64_t count) { return count >= 0 && count <= size; });
  if ((counts.size() != 2 && counts.size() != 4) || !few ||
      std::accumulate(counts.begin(), counts.end(), int64_t{0}) > size) {
    throw Error(ErrorKind::kType, concat("got ", size, " operands for constants [", join(counts, ", "), "]"))
        .hint("num_constants counts the constants of each graph within, which come before b: [0, 0] for none");
  }
  const Groups groups = groups_of(attrs, operands.size());
  const Avals b = groups.of(kRight, operands);
  for (size_t part = 0; part < counts.size(); ++part) {
    const Graph& graph = *attrs.graph(kKeys[part]);
    check_graph_inputs(graph, groups.of(part, kRight, operands), kKeys[part]);
    check_returns(graph, b, part % 2 == 1, kKeys[part]);
  }
  Avals outputs = attrs.graph("solve")->output_avals();
  for (Aval& output : outputs) output = output.strong();
  return outputs;
}

JvpResult linear_solve_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                           const AttrsPtr& attrs) {
  const Groups groups = groups_of(*attrs, primals.size());
  const Values b = groups.of(kRight, primals);
  JvpResult result{builder.bind(kLinearSolve, primals, attrs), {}};
  result.tangents.resize(result.outputs.size());

  Values right = groups.of(kRight, tangents);
  if (const Values moving = groups.of(kMatvec, tangents); !only_present(moving).empty()) {
    const JvpGraph change = jvp_of(attrs->graph("matvec"), joined({present(moving), Flags(b.size(), false)}));
    Values inputs = groups.of(kMatvec, primals);
    append(inputs, absl::MakeConstSpan(result.outputs).first(b.size()));
    append(inputs, only_present(moving));
    const JvpResult changed = unpack_jvp(builder.inline_graph(*change.graph, inputs), change.nonzero_out);
    for (size_t k = 0; k < b.size(); ++k) {
      if (changed.tangents[k]) right[k] = add_tangents(right[k], neg(changed.tangents[k]));
    }
  }
  if (only_present(right).empty()) return result;
  Values operands(primals.begin(), primals.end() - static_cast<ptrdiff_t>(b.size()));
  for (size_t k = 0; k < b.size(); ++k) operands.push_back(instantiate(builder, right[k], b[k].aval()));
  const Values solved = builder.bind(kLinearSolve, operands, attrs);
  std::copy(solved.begin(), solved.begin() + static_cast<ptrdiff_t>(b.size()), result.tangents.begin());
  return result;
}

Values linear_solve_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
  const Groups groups = groups_of(*attrs, input.operands.size());
  const size_t num_constants = groups.first(kRight);
  for (size_t i = 0; i < num_constants; ++i) CT_CHECK(input.operands[i]);
  const Ints& counts = attrs->ints("num_constants");
  if (counts.size() == 2) {
    throw Error(ErrorKind::kNotDifferentiable, "reverse mode needs a way to solve the transposed equation")
        .op("custom_linear_solve")
        .hint("pass transpose_solve, or symmetric=True");
  }
  // The transposed problem: the roles of the first two sub-graphs and the last two change.
  AttrsPtr transposed = attrs->with("num_constants", Ints{counts[2], counts[3], counts[0], counts[1]});
  for (size_t part = 0; part < 4; ++part)
    transposed = transposed->with(kKeys[part], attrs->graph(kKeys[(part + 2) % 4]));
  Groups roles;
  Values given(input.operands.begin(), input.operands.end());
  for (size_t i = 0; i < given.size(); ++i) {
    roles.add(i < num_constants ? (groups[i] + 2) % 4 : kRight);
    if (i >= num_constants) given[i] = instantiate(builder, input.cotangents[i - num_constants], input.avals[i]);
  }
  const Values solved = builder.bind(kLinearSolve, roles.sorted(given), transposed);
  Values result(given.size());
  for (size_t i = num_constants; i < result.size(); ++i) {
    if (input.linear(static_cast<int>(i))) result[i] = solved[i - num_constants];
  }
  return result;
}

std::vector<Batched> linear_solve_batch(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                                        const AttrsPtr& attrs) {
  const Groups groups = groups_of(*attrs, operands.size());
  AttrsPtr batched = attrs;
  for (size_t part = 0; part < attrs->ints("num_constants").size(); ++part) {
    const GraphPtr& graph = attrs->graph(kKeys[part]);
    std::vector<int> axes = axes_of(groups.of(part, operands));
    axes.resize(graph->num_inputs(), 0);
    const std::vector<int> out(graph->outputs().size(), 0);
    batched = batched->with(kKeys[part], batch_of(graph, axes, axis, out).graph);
  }
  Values values = values_of(operands);
  for (size_t i = groups.first(kRight); i < values.size(); ++i) {
    values[i] = materialize_batch(builder, operands[i], 0, axis);
  }
  return batched_in_front(builder.bind(kLinearSolve, values, batched));
}

Values linear_solve_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  const Groups groups = groups_of(*attrs, operands.size());
  return builder.inline_graph(*attrs->graph("solve"), groups.of(kSolve, kRight, operands));
}

Primitive linear_solve_primitive() {
  Primitive result = expanding("linear_solve", linear_solve_expand);
  result.attributes = {{"matvec", AttributeKind::kGraph},
                       {"num_constants", AttributeKind::kIntegers},
                       {"solve", AttributeKind::kGraph},
                       {"transpose_solve", AttributeKind::kGraph, kOptional},
                       {"vecmat", AttributeKind::kGraph, kOptional}};
  result.several_results = true;
  result.type = linear_solve_type;
  result.jvp = linear_solve_jvp;
  result.transpose = linear_solve_transpose;
  result.batch = linear_solve_batch;
  result.absent["split"] = "known or unknown as a whole";
  return result;
}
}  // namespace

const Primitive& kLinearSolve = define(linear_solve_primitive());

}  // namespace ct
