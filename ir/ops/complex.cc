// Between complex numbers and their parts. All are linear over the reals. The pairing of a cotangent c with a tangent
// t is Re(c * t), without conjugation, as in JAX: hence the signs of the imaginary parts below.
#include "ir/combinators.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"

namespace ct {
namespace {

// `operand`: which one of `complex` it is.
Primitive part(std::string name, ScalarOp op, int operand, LinearTranspose transpose) {
  Primitive result = linear_unary(std::move(name), op, kComplexes, std::move(transpose));
  result.type = [operand_rule = result.type](absl::Span<const Aval> operands, const Attrs& attrs) {
    const Aval operand = operand_rule(operands, attrs)[0];
    return Avals{Aval(real_dtype(operand.dtype()), operand.shape(), operand.weak())};
  };
  result.simplify = simplify_by([operand](const SimplifyInput& m) {
    const Equation* parts = m.made_by(m.operands[0], kComplex);
    return parts == nullptr ? Value{} : m.operand(*parts, operand);
  });
  return result;
}

}  // namespace

const Primitive& kReal = define(part("real", ScalarOp::kReal, 0, [](Value cotangent, const Aval&, const AttrsPtr&) {
  return make_complex(cotangent, zeros_like(cotangent));
}));

namespace {

const Primitive& kImag = define(part("imag", ScalarOp::kImag, 1, [](Value cotangent, const Aval&, const AttrsPtr&) {
  return make_complex(zeros_like(cotangent), -cotangent);
}));

const Primitive& kConj =
    define(with_simplify(linear_unary("conj", ScalarOp::kConj, kComplexes,
                                      [](Value cotangent, const Aval&, const AttrsPtr&) { return conj(cotangent); }),
                         simplify_involution()));

Primitive from_parts() {
  Primitive result = flat_binary("complex", ScalarOp::kComplex, kFloats, "");
  result.differentiable = true;
  result.absent.clear();
  result.type = [operand_rule = result.type](absl::Span<const Aval> operands, const Attrs& attrs) {
    const Aval operand = operand_rule(operands, attrs)[0];
    if (operand.dtype() != DType::kFloat32 && operand.dtype() != DType::kFloat64) {
      throw Error(ErrorKind::kDType, "takes float32 or float64 parts, got " + operand.to_string())
          .hint("there is no complex dtype of that width: convert the parts to float32 first");
    }
    return Avals{Aval(complex_dtype(operand.dtype()), operand.shape(), operand.weak())};
  };
  result.jvp = linear_jvp(PrimitiveRef("complex"));
  result.transpose = [](Builder&, const TransposeInput& input, const AttrsPtr&) {
    const Value cotangent = input.cotangents[0];
    Values results(2);
    if (input.linear(0)) results[0] = real(cotangent);
    if (input.linear(1)) results[1] = -imag(cotangent);
    return results;
  };
  return result;
}
}  // namespace

const Primitive& kComplex = define(from_parts());

Value real(Value x) { return x.builder->bind1(kReal, {x}); }
Value imag(Value x) { return x.builder->bind1(kImag, {x}); }
Value conj(Value x) { return x.builder->bind1(kConj, {x}); }
Value make_complex(Value real, Value imag) { return real.builder->bind1(kComplex, {real, imag}); }

}  // namespace ct
