// Algebra on single equations, for programs that will not go into a mask region any more: each is replaced by what its
// primitive's `simplify` rule makes of it (ir/simplify.h). Besides, constants are folded here, and what is known of
// arrays without elements.
#include "ir/simplify.h"

#include "interpreter/evaluate.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

// A constant with the value of an evaluated scalar.
Value constant_of(Builder& builder, const Aval& aval, const Tensor& scalar) {
  if (is_complex(aval.dtype())) {
    const std::complex<double> value = load_complex(scalar, 0);
    return full_complex(builder, aval, value.real(), value.imag());
  }
  if (is_float(aval.dtype())) return full(builder, aval, load_real(scalar, 0));
  return full_integer(builder, aval, load_integer(scalar, 0));
}

// Scalar functions of constants, computed now.
Value fold(const SimplifyInput& m) {
  const bool computed = m.primitive.elementwise && m.primitive.element;
  if (!computed || m.operands.empty() || m.output.dtype() == DType::kKey) return {};
  for (const Value& operand : m.operands) {
    if (!m.is_full(operand)) return {};
  }
  std::vector<Tensor> scalars;
  for (const Value& operand : m.operands) {
    const Equation* constant = m.made_by(operand, Arrangement::kUniform);
    const AttrsPtr attrs = m.builder.attrs(*constant).with("shape", Ints{});
    scalars.push_back(evaluate_primitive(*constant->primitive, {}, attrs)[0]);
  }
  return constant_of(m.builder, m.output, evaluate_primitive(m.primitive, scalars, m.attrs)[0]);
}

// What is known of arrays without elements: those themselves, and what folds of them give. Loops over them would divide
// by sizes that are 0.
Value without_elements(const SimplifyInput& m) {
  if (m.output.dtype() == DType::kKey) return {};
  if (m.output.size() == 0) return m.operands.empty() ? Value{} : zeros(m.builder, m.output);
  if (!m.primitive.is<structures::Fold>() || m.operands[0].aval().size() > 0) return {};
  const Tensor result = evaluate_primitive(m.primitive, {Tensor(m.operands[0].aval())}, m.attrs)[0];
  return constant_of(m.builder, m.output, result);
}

}  // namespace

GraphPtr simplify(const Graph& graph) {
  return rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        const Primitive& primitive = *equation.primitive;
        // Sizes inside of a region of ragged arrays are not what the shapes say; it is simplified once it is expanded.
        const AttrsPtr simpler = primitive.region == Region::kRagged ? attrs : map_graphs(attrs, simplify);
        const Aval output = equation.output_count > 0 ? graph.aval(equation.first_output) : Aval();
        const SimplifyInput input{builder, primitive, operands, simpler, output};
        if (equation.output_count == 1) {
          if (const Value folded = fold(input)) return Values{folded};
          if (!has_side_effects(primitive, *attrs)) {
            if (const Value known = without_elements(input)) return Values{known};
          }
        }
        if (primitive.simplify) {
          if (Values simplified = primitive.simplify(input); !simplified.empty()) return simplified;
        }
        return builder.bind(primitive, operands, simpler);
      });
}

}  // namespace ct
