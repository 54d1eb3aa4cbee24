#include "ir/masking.h"

#include <algorithm>

#include "ir/absent_rules.h"
#include "ir/combinators.h"
#include "ir/lengths.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

// The equation as it is.
std::vector<Masked> plain(Builder& builder, const Primitive& primitive, absl::Span<const Masked> operands,
                          const AttrsPtr& attrs) {
  Values values;
  values.reserve(operands.size());
  for (const Masked& operand : operands) values.push_back(operand.value);
  std::vector<Masked> results;
  for (const Value& result : builder.bind(primitive, values, attrs)) results.push_back(exact(result));
  return results;
}

void check_results(absl::Span<const Masked> results, absl::Span<const Aval> expected) {
  CT_CHECK(results.size() == expected.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    const Masked& result = results[k];
    if (same_type(result.value.aval(), expected[k]) && static_cast<int>(result.lengths.size()) == expected[k].rank()) {
      continue;
    }
    throw Error(ErrorKind::kType,
                concat("the mask rule returned ", result.value.aval().to_string(), " with ", result.lengths.size(),
                       " lengths for an output of type ", expected[k].to_string()))
        .hint("a mask rule keeps the padded shapes and gives one length (or none) for each axis");
  }
}

std::vector<Masked> by_rule(Builder& builder, const Primitive& primitive, absl::Span<const Masked> operands,
                            const AttrsPtr& attrs) {
  if (primitive.mask) return primitive.mask(builder, operands, attrs);
  if (primitive.expand) return mask_expansion(builder, primitive, operands, attrs);
  const auto reason = primitive.absent.find("mask");
  throw Error(ErrorKind::kUnsupported, concat("this operation has no rule for ragged values",
                                              reason == primitive.absent.end() ? "" : ": " + reason->second))
      .hint("take the ragged value's .data and treat its padding by hand");
}

}  // namespace

std::vector<Masked> mask_equation(Builder& builder, const Primitive& primitive, absl::Span<const Masked> operands,
                                  const AttrsPtr& attrs, absl::Span<const Aval> expected) {
  const bool ragged =
      std::any_of(operands.begin(), operands.end(), [](const Masked& operand) { return operand.any_ragged(); });
  // Every primitive is itself on exact values, but for those that are about lengths.
  if (!ragged && !depends_on_lengths(primitive, *attrs)) return plain(builder, primitive, operands, attrs);
  const KeepLengths lengths;
  try {
    std::vector<Masked> results = by_rule(builder, primitive, operands, attrs);
    check_results(results, expected);
    return results;
  } catch (Error& error) {
    error.op(primitive.name).at(LocationScope::current());
    throw;
  }
}

std::vector<Masked> mask_inline(Builder& builder, const Graph& graph, absl::Span<const Masked> inputs) {
  CT_CHECK(inputs.size() == graph.num_inputs());
  // A length that is worked out in two places is one Value, which counts as equal.
  builder.share_equations();
  std::vector<Masked> values(graph.num_vars());
  std::copy(inputs.begin(), inputs.end(), values.begin());
  std::vector<Masked> operands;
  Avals expected;
  for (const Equation& equation : graph.equations()) {
    LocationScope scope(equation.location != kNoLocation ? equation.location : LocationScope::current());
    operands.clear();
    for (Var var : graph.operands(equation)) operands.push_back(values[var]);
    expected.clear();
    for (uint32_t k = 0; k < equation.output_count; ++k) expected.push_back(graph.aval(equation.first_output + k));
    std::vector<Masked> outputs =
        mask_equation(builder, *equation.primitive, operands, graph.attrs_ptr(equation), expected);
    std::move(outputs.begin(), outputs.end(), values.begin() + equation.first_output);
  }
  std::vector<Masked> outputs;
  for (Var var : graph.outputs()) outputs.push_back(values[var]);
  return outputs;
}

std::vector<Masked> mask_expansion(Builder& builder, const Primitive& primitive, absl::Span<const Masked> operands,
                                   const AttrsPtr& attrs) {
  Avals avals;
  for (const Masked& operand : operands) avals.push_back(operand.value.aval());
  return mask_inline(builder, *expansion(primitive, avals, attrs), operands);
}

}  // namespace ct
