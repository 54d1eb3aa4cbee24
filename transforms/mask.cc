// A program on exact-size arrays made one on padded arrays: every equation with a ragged operand is replaced by its
// primitive's mask rule, which says which axes of the results are ragged and fills padding only where elements mix.
#include <algorithm>

#include "ir/combinators.h"
#include "ir/error.h"
#include "ir/lengths.h"
#include "ir/text.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

// Plain equations; those that make int32 scalars are shared, so that a length that the program computes in the way in
// which a mask rule does is the same Value, and counts as equal.
class PlainEquations {
 public:
  explicit PlainEquations(Builder& builder) : builder_(&builder) {}

  Values bind(const Primitive& primitive, absl::Span<const Value> operands, const AttrsPtr& attrs) {
    for (const Value& operand : operands) {
      if (!is_length(operand)) return builder_->bind(primitive, operands, attrs);
    }
    if (has_side_effects(primitive, *attrs)) return builder_->bind(primitive, operands, attrs);
    for (const Equation& equation : builder_->equations()) {
      if (equation.primitive != &primitive || equation.output_count != 1) continue;
      const absl::Span<const Var> vars = builder_->operands(equation);
      if (std::equal(vars.begin(), vars.end(), operands.begin(), operands.end(),
                     [](Var var, const Value& value) { return var == value.var; }) &&
          builder_->attrs(equation) == *attrs) {
        return {{builder_, equation.first_output}};
      }
    }
    return builder_->bind(primitive, operands, attrs);
  }

 private:
  static bool is_length(const Value& value) { return value.dtype() == DType::kInt32 && value.rank() == 0; }

  Builder* builder_;
};

std::vector<Masked> apply_rule(Builder& builder, const Primitive& primitive, absl::Span<const Masked> operands,
                               const AttrsPtr& attrs) {
  if (primitive.mask) return primitive.mask(builder, operands, attrs);
  if (primitive.expand) {
    Avals avals;
    for (const Masked& operand : operands) avals.push_back(operand.value.aval());
    return mask_inline(builder, *expansion(primitive, avals, attrs), operands);
  }
  throw missing_rule(primitive, "mask", ErrorKind::kUnsupported)
      .hint("it cannot work on ragged arrays: use other operations, or pad by hand and leave the mask");
}

void check_result(const Primitive& primitive, const Masked& result, const Aval& expected) {
  if (same_type(result.value.aval(), expected) && static_cast<int>(result.lengths.size()) == expected.rank()) return;
  throw Error(ErrorKind::kType, concat("the mask rule returned ", result.value.aval().to_string(), " with ",
                                       result.lengths.size(), " lengths for an output of type ", expected.to_string()))
      .op(primitive.name)
      .hint("a mask rule keeps the padded shapes and gives one length (or none) for each axis");
}

}  // namespace

std::vector<Masked> mask_inline(Builder& builder, const Graph& graph, absl::Span<const Masked> inputs) {
  CT_CHECK(inputs.size() == graph.num_inputs());
  std::vector<Masked> values(graph.num_vars());
  std::copy(inputs.begin(), inputs.end(), values.begin());
  PlainEquations plain(builder);
  std::vector<Masked> operands;
  Values exact_operands;
  for (const Equation& equation : graph.equations()) {
    LocationScope scope(location_of(equation));
    operands.clear();
    bool ragged = false;
    for (Var var : graph.operands(equation)) {
      operands.push_back(values[var]);
      ragged = ragged || values[var].any_ragged();
    }
    const AttrsPtr& attrs = graph.attrs_ptr(equation);
    if (!ragged && !means_lengths(*equation.primitive, *attrs)) {
      exact_operands.clear();
      for (const Masked& operand : operands) exact_operands.push_back(operand.value);
      const Values outputs = plain.bind(*equation.primitive, exact_operands, attrs);
      for (uint32_t k = 0; k < outputs.size(); ++k) values[equation.first_output + k] = exact(outputs[k]);
      continue;
    }
    try {
      std::vector<Masked> outputs = apply_rule(builder, *equation.primitive, operands, attrs);
      CT_CHECK(outputs.size() == equation.output_count);
      for (uint32_t k = 0; k < outputs.size(); ++k) {
        check_result(*equation.primitive, outputs[k], graph.aval(equation.first_output + k));
        values[equation.first_output + k] = std::move(outputs[k]);
      }
    } catch (Error& error) {
      error.op(equation.primitive->name).at(location_of(equation));
      throw;
    }
  }
  std::vector<Masked> outputs;
  for (Var var : graph.outputs()) outputs.push_back(values[var]);
  return outputs;
}

}  // namespace ct
