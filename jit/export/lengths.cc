#include "jit/export/lengths.h"

#include <algorithm>
#include <map>

#include "ir/primitive.h"

namespace ct::jit {
namespace {

constexpr int64_t kNotInput = -1;

// `origins`: by input of `graph`, the input of the whole program that it is.
void search(const Graph& graph, const std::vector<int64_t>& origins, std::map<uint32_t, int64_t>& bounds) {
  std::vector<int64_t> origin(graph.num_vars(), kNotInput);
  std::ranges::copy(origins, origin.begin());
  for (const Equation& equation : graph.equations()) {
    const Primitive& primitive = *equation.primitive;
    const absl::Span<const Var> operands = graph.operands(equation);
    if (primitive.length_role == LengthRole::kClamp) {
      origin[equation.first_output] = origin[operands[0]];
      continue;
    }
    if (primitive.length_role == LengthRole::kSame) {
      const bool is_integer =
          !is_float(graph.aval(operands[0]).dtype()) && !is_complex(graph.aval(operands[0]).dtype());
      if (is_integer) origin[equation.first_output] = origin[operands[0]];
      continue;
    }
    if (primitive.region == Region::kNone) continue;
    if (primitive.region == Region::kRagged) {
      // Triples: which operand after the lengths, which of its axes, which length.
      const Ints& ragged = graph.attrs(equation).ints("in_ragged");
      const auto lengths = static_cast<size_t>(graph.attrs(equation).integer("num_lengths"));
      for (size_t i = 0; i + 2 < ragged.size(); i += 3) {
        const int64_t input = origin[operands[static_cast<size_t>(ragged[i + 2])]];
        if (input == kNotInput) continue;
        const Aval& data = graph.aval(operands[lengths + static_cast<size_t>(ragged[i])]);
        const int64_t size = data.shape()[static_cast<size_t>(ragged[i + 1])];
        const auto [at, is_new] = bounds.emplace(static_cast<uint32_t>(input), size);
        if (!is_new) at->second = std::min(at->second, size);
      }
    }
    const Graph& inner = *graph.attrs(equation).graph("graph");
    if (inner.num_inputs() != operands.size()) continue;
    std::vector<int64_t> inner_origins;
    for (Var var : operands) inner_origins.push_back(origin[var]);
    search(inner, inner_origins, bounds);
  }
}

}  // namespace

std::vector<LengthInput> find_length_inputs(const Graph& graph) {
  std::vector<int64_t> origins;
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) origins.push_back(i);
  std::map<uint32_t, int64_t> bounds;
  search(graph, origins, bounds);
  std::vector<LengthInput> inputs;
  for (const auto& [input, bound] : bounds) inputs.push_back({input, bound});
  return inputs;
}

std::vector<BoundedInput> bounded_inputs(const Graph& graph, size_t count) {
  std::vector<BoundedInput> inputs;
  for (const LengthInput& length : find_length_inputs(graph)) {
    if (length.input >= count) continue;
    const Aval& aval = graph.aval(length.input);
    inputs.push_back({length.input, aval.dtype(), aval.size(), length.bound});
  }
  return inputs;
}

}  // namespace ct::jit
