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
#include <numeric>

#include "ir/combinators.h"
#include "ir/error.h"
#include "ir/ops.h"
#include "ir/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

constexpr const char* kKeys[] = {"matvec", "solve", "vecmat", "transpose_solve"};
enum Part : size_t { kMatvec, kSolve };

struct Layout {
  explicit Layout(const Attrs& attrs) : counts(attrs.ints("num_constants")) {
    num_constants = static_cast<size_t>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  }
  Ints counts;
  size_t num_constants;

  template <class T>
  absl::Span<const T> constants(Part part, absl::Span<const T> operands) const {
    size_t first = 0;
    for (size_t p = 0; p < part; ++p) first += static_cast<size_t>(counts[p]);
    return operands.subspan(first, static_cast<size_t>(counts[part]));
  }
};

void check_returns(const Graph& graph, absl::Span<const Aval> expected, bool more, std::string_view what) {
  const Avals found = graph.output_avals();
  bool fits = more ? found.size() >= expected.size() : found.size() == expected.size();
  for (size_t k = 0; fits && k < expected.size(); ++k) fits = same_type(found[k], expected[k]);
  if (fits) return;
  throw Error(ErrorKind::kType, concat(what, " must return values of the types of b"))
      .hint("the linear map takes and returns values of the same shapes and dtypes as b");
}

Avals linear_solve_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  const Layout layout(attrs);
  if ((layout.counts.size() != 2 && layout.counts.size() != 4) || layout.num_constants > operands.size()) {
    throw Error(ErrorKind::kType,
                concat("got ", operands.size(), " operands for constants [", join(layout.counts, ", "), "]"));
  }
  const absl::Span<const Aval> b = operands.subspan(layout.num_constants);
  for (size_t part = 0; part < layout.counts.size(); ++part) {
    const absl::Span<const Aval> constants = layout.constants(static_cast<Part>(part), operands);
    Avals inputs(constants.begin(), constants.end());
    inputs.insert(inputs.end(), b.begin(), b.end());
    const Graph& graph = *attrs.graph(kKeys[part]);
    check_graph_inputs(graph, inputs, kKeys[part]);
    check_returns(graph, b, part % 2 == 1, kKeys[part]);
  }
  Avals outputs = attrs.graph("solve")->output_avals();
  for (Aval& output : outputs) output = output.strong();
  return outputs;
}

JvpResult linear_solve_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                           const AttrsPtr& attrs) {
  const Layout layout(*attrs);
  const absl::Span<const Value> b = primals.subspan(layout.num_constants);
  JvpResult result{builder.bind(kLinearSolve, primals, attrs), {}};
  result.tangents.resize(result.outputs.size());

  const absl::Span<const Value> moving = layout.constants(kMatvec, tangents);
  Values right(tangents.begin() + static_cast<ptrdiff_t>(layout.num_constants), tangents.end());
  if (const Values directions = only_present(moving); !directions.empty()) {
    Flags in = present(moving);
    in.resize(in.size() + b.size(), false);
    const JvpGraph change = jvp_of(attrs->graph("matvec"), in);
    const absl::Span<const Value> constants = layout.constants(kMatvec, primals);
    Values inputs(constants.begin(), constants.end());
    append(inputs, absl::MakeConstSpan(result.outputs).subspan(0, b.size()));
    append(inputs, directions);
    const JvpResult changed = unpack_jvp(builder.inline_graph(*change.graph, inputs), change.nonzero_out);
    for (size_t k = 0; k < b.size(); ++k) {
      if (changed.tangents[k]) right[k] = add_tangents(right[k], neg(changed.tangents[k]));
    }
  }
  if (only_present(right).empty()) return result;
  Values operands(primals.begin(), primals.begin() + static_cast<ptrdiff_t>(layout.num_constants));
  for (size_t k = 0; k < b.size(); ++k) operands.push_back(instantiate(builder, right[k], b[k].aval()));
  const Values solved = builder.bind(kLinearSolve, operands, attrs);
  std::copy(solved.begin(), solved.begin() + static_cast<ptrdiff_t>(b.size()), result.tangents.begin());
  return result;
}

Values linear_solve_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
  const Layout layout(*attrs);
  for (size_t i = 0; i < layout.num_constants; ++i) CT_CHECK(input.operands[i]);
  if (layout.counts.size() == 2) {
    throw Error(ErrorKind::kNotDifferentiable, "reverse mode needs a way to solve the transposed equation")
        .op("custom_linear_solve")
        .hint("pass transpose_solve, or symmetric=True");
  }
  // The transposed problem: the roles of the first two sub-graphs and the last two change.
  const auto swapped = [&](const auto& items) {
    const auto half = static_cast<ptrdiff_t>(layout.counts[0] + layout.counts[1]);
    Values result(items.begin() + half, items.begin() + static_cast<ptrdiff_t>(layout.num_constants));
    result.insert(result.end(), items.begin(), items.begin() + half);
    return result;
  };
  const Ints& counts = layout.counts;
  AttrsPtr transposed = attrs->with("num_constants", Ints{counts[2], counts[3], counts[0], counts[1]});
  for (size_t part = 0; part < 4; ++part)
    transposed = transposed->with(kKeys[part], attrs->graph(kKeys[(part + 2) % 4]));
  Values operands = swapped(input.operands);
  const size_t num_b = input.operands.size() - layout.num_constants;
  for (size_t k = 0; k < num_b; ++k) {
    operands.push_back(instantiate(builder, input.cotangents[k], input.avals[layout.num_constants + k]));
  }
  const Values solved = builder.bind(kLinearSolve, operands, transposed);
  Values result(layout.num_constants);
  for (size_t k = 0; k < num_b; ++k) {
    result.push_back(input.linear(static_cast<int>(layout.num_constants + k)) ? solved[k] : Value());
  }
  return result;
}

std::vector<Batched> linear_solve_batch(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                                        const AttrsPtr& attrs) {
  const Layout layout(*attrs);
  AttrsPtr batched = attrs;
  for (size_t part = 0; part < layout.counts.size(); ++part) {
    const GraphPtr& graph = attrs->graph(kKeys[part]);
    std::vector<int> axes = axes_of(layout.constants(static_cast<Part>(part), operands));
    axes.resize(graph->num_inputs(), 0);
    const std::vector<int> out(graph->outputs().size(), 0);
    batched = batched->with(kKeys[part], batch_of(graph, axes, axis, out).graph);
  }
  Values values = values_of(operands);
  for (size_t i = layout.num_constants; i < values.size(); ++i) {
    values[i] = materialize_batch(builder, operands[i], 0, axis);
  }
  return batched_in_front(builder.bind(kLinearSolve, values, batched));
}

Values linear_solve_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  const Layout layout(*attrs);
  const absl::Span<const Value> constants = layout.constants(kSolve, operands);
  Values inputs(constants.begin(), constants.end());
  append(inputs, operands.subspan(layout.num_constants));
  return builder.inline_graph(*attrs->graph("solve"), inputs);
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
