#include "ir/masking.h"

#include <algorithm>
#include <limits>

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

// The inputs that each value is made of.
std::vector<std::vector<Var>> sources_of(const Builder& builder) {
  std::vector<std::vector<Var>> sources(builder.num_vars());
  Var first = builder.num_vars();
  for (const Equation& equation : builder.equations()) first = std::min(first, equation.first_output);
  for (Var input = 0; input < first; ++input) sources[input] = {input};
  for (const Equation& equation : builder.equations()) {
    std::vector<Var> made_of;
    for (const Var operand : builder.operands(equation)) {
      for (const Var input : sources[operand]) {
        if (std::find(made_of.begin(), made_of.end(), input) == made_of.end()) made_of.push_back(input);
      }
    }
    for (uint32_t k = 0; k < equation.output_count; ++k) sources[equation.first_output + k] = made_of;
  }
  return sources;
}

thread_local std::vector<std::pair<Value, Value>>* meetings = nullptr;

class NoteMeetings {
 public:
  explicit NoteMeetings(std::vector<std::pair<Value, Value>>& found) : before_(std::exchange(meetings, &found)) {}
  ~NoteMeetings() { meetings = before_; }
  NoteMeetings(const NoteMeetings&) = delete;
  NoteMeetings& operator=(const NoteMeetings&) = delete;

 private:
  std::vector<std::pair<Value, Value>>* before_;
};

}  // namespace

bool note_meeting(Value a, Value b) {
  if (meetings == nullptr) return false;
  meetings->emplace_back(a, b);
  return true;
}

Meetings meetings_of(const Primitive& primitive, absl::Span<const Aval> operands,
                     absl::Span<const std::vector<int>> sizes, const AttrsPtr& attrs) {
  Builder scratch;
  std::vector<Value> lengths(1);  // by number
  std::vector<Masked> masked;
  for (size_t i = 0; i < operands.size(); ++i) {
    masked.push_back(exact(scratch.input(operands[i])));
    for (size_t axis = 0; axis < sizes[i].size(); ++axis) {
      const auto number = static_cast<size_t>(sizes[i][axis]);
      while (lengths.size() <= number) {
        lengths.push_back(scratch.input(Aval(DType::kInt32, {})));
        scratch.bound_length(lengths.back(), std::numeric_limits<int64_t>::max());
      }
      masked.back().lengths[axis] = lengths[number];
    }
  }
  const auto number_of = [&](Value length) {
    const auto at = std::find(lengths.begin() + 1, lengths.end(), length);
    return at == lengths.end() ? 0 : static_cast<int>(at - lengths.begin());
  };
  Meetings result;
  std::vector<std::pair<Value, Value>> found;
  const NoteMeetings noted(found);
  try {
    const std::vector<Masked> outputs =
        mask_equation(scratch, primitive, masked, attrs, primitive.type(operands, *attrs));
    const std::vector<std::vector<Var>> sources = sources_of(scratch);
    for (const Masked& output : outputs) {
      std::vector<std::vector<int>>& axes = result.results.emplace_back();
      for (const Value& length : output.lengths) {
        std::vector<int>& numbers = axes.emplace_back();
        if (!length) continue;
        for (const Var input : sources[length.var]) numbers.push_back(number_of({&scratch, input}));
      }
    }
  } catch (const Error&) {
    result.results.clear();
  }
  for (const auto& [a, b] : found) {
    if (number_of(a) != 0 && number_of(b) != 0) result.met.emplace_back(number_of(a), number_of(b));
  }
  return result;
}

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
