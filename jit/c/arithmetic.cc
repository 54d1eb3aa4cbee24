// What one instruction is in C: an expression.
#include <bit>
#include <cmath>
#include <utility>

#include "jit/c/emission.h"
#include "jit/loop/visit.h"
#include "runtime/error.h"

namespace ct::jit::c {

using loop::Statement;
using loop::StatementKind;
using loop::Value;

namespace {

// C computes with narrower ones as int.
bool is_promoted(DType dtype) { return !is_float(dtype) && dtype_size(dtype) < 4; }

}  // namespace

Expression Emission::constant(DType dtype, uint64_t bits) {
  if (is_small_float(dtype)) return {concat(helpers.decode(dtype), "(", bits, "u)")};
  const bool is_double = dtype == DType::kFloat64;
  const bool is_nan = is_double
                          ? std::isnan(std::bit_cast<double>(bits))
                          : dtype == DType::kFloat32 && std::isnan(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  if (is_nan) return {is_double ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")"};
  std::string text = literal(dtype, bits);
  const Binding binding = text.front() == '-' ? kSum : kAtom;
  return {std::move(text), binding};
}

// With operands that are texts of atoms.
Expression Emission::combined(ScalarOp op, DType dtype, std::string a, std::string b) {
  if (op == ScalarOp::kAdd && is_float(dtype)) return {concat(a, " + ", b), kSum};
  if (op == ScalarOp::kMul && is_float(dtype)) return {concat(a, " * ", b), kProduct};
  const auto bitwise = [&](std::string_view sign) {
    const std::string text = concat(a, " ", sign, " ", b);
    return is_promoted(dtype) && !is_bool(dtype) ? Expression{concat("(", memory_type(dtype), ")(", text, ")"), kUnary}
                                                 : Expression{text, kBitwise};
  };
  switch (op) {
    case ScalarOp::kAnd:
      return bitwise("&");
    case ScalarOp::kOr:
      return bitwise("|");
    case ScalarOp::kXor:
      return bitwise("^");
    default:
      return {concat(helpers.scalar(op, dtype), "(", a, ", ", b, ")")};
  }
}

Expression Emission::scalar(const Statement& s) {
  const DType dtype = program.values[s.operands[0]].dtype;
  const auto call = [&](const std::string& name) {
    std::string text = concat(name, "(", value(s.operands[0]));
    if (s.operands[1] != loop::kNoValue) text += concat(", ", value(s.operands[1]));
    return Expression{text + ")"};
  };
  const auto binary = [&](std::string_view sign, Binding binding, Binding left, Binding right) {
    return Expression{concat(value(s.operands[0], left), " ", sign, " ", value(s.operands[1], right)), binding};
  };
  // Compilers take a `!` without parentheses beside another operator for a mistake.
  const auto operand = [&](int i) {
    const std::string text = value(s.operands[i], kUnary);
    return text.front() == '!' ? concat("(", text, ")") : text;
  };
  const auto atoms = [&](std::string_view sign, Binding binding) {
    return Expression{concat(operand(0), " ", sign, " ", operand(1)), binding};
  };
  if (is_comparison(s.op)) {
    constexpr std::string_view kSigns[] = {"==", "!=", "<", "<=", ">", ">="};
    return atoms(kSigns[static_cast<int>(s.op) - static_cast<int>(ScalarOp::kEq)],
                 s.op <= ScalarOp::kNe ? kEquality : kRelation);
  }
  // Where no number can leave its type, C's own operators do.
  const auto range_of = [&](Value v) { return program.values[v].range; };
  const bool fits = dtype == DType::kInt64 && range_of(s.result).known();
  if (is_float(dtype) || fits || (!is_promoted(dtype) && !is_signed_integer(dtype))) {
    if (s.op == ScalarOp::kAdd) return binary("+", kSum, kSum, kProduct);
    if (s.op == ScalarOp::kSub) return binary("-", kSum, kSum, kProduct);
    if (s.op == ScalarOp::kMul && is_float(dtype) && uses_[s.result].adds) {
      return {concat("CT_ROUNDED(", binary("*", kProduct, kProduct, kUnary).text, ")")};
    }
    if (s.op == ScalarOp::kMul) return binary("*", kProduct, kProduct, kUnary);
    if (s.op == ScalarOp::kDiv && is_float(dtype)) return binary("/", kProduct, kProduct, kUnary);
    if (s.op == ScalarOp::kNeg && (is_float(dtype) || fits)) return {concat("-", value(s.operands[0], kAtom)), kUnary};
  }
  if ((s.op == ScalarOp::kDiv || s.op == ScalarOp::kRem) && dtype == DType::kInt64 &&
      range_of(s.operands[0]).low >= 0 && range_of(s.operands[1]).low > 0) {
    return binary(s.op == ScalarOp::kDiv ? "/" : "%", kProduct, kProduct, kUnary);
  }
  switch (s.op) {
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kXor:
      return combined(s.op, dtype, operand(0), operand(1));
    case ScalarOp::kNot:
      if (is_bool(dtype)) return {concat("!", value(s.operands[0], kAtom)), kUnary};
      if (is_promoted(dtype)) return {concat("(", memory_type(dtype), ")~", value(s.operands[0], kAtom)), kUnary};
      return {concat("~", value(s.operands[0], kAtom)), kUnary};
    case ScalarOp::kSub:
    case ScalarOp::kNeg:
      // Of bools, as of any numbers of one bit.
      if (is_bool(dtype) && s.op == ScalarOp::kSub) return atoms("^", kBitwise);
      if (is_bool(dtype)) return {value(s.operands[0], kAtom)};
      return call(helpers.scalar(s.op, dtype));
    case ScalarOp::kAbs:
      if (!is_float(dtype) && !is_signed_integer(dtype)) return {value(s.operands[0], kAtom)};
      return call(helpers.scalar(s.op, dtype));
    default:
      return call(helpers.scalar(s.op, dtype));
  }
}

Expression Emission::converted(const Statement& s) {
  const DType from = program.values[s.operands[0]].dtype, to = s.dtype;
  const std::string operand = value(s.operands[0], kUnary);
  if (is_bool(to)) return {concat(operand, is_float(from) ? " != 0.0f" : " != 0"), kEquality};
  if (is_float(from) && is_float(to)) {
    if (is_small_float(to)) {
      return {concat(from == DType::kFloat64 ? helpers.convert(from, to) : helpers.round_to(to), "(",
                     value(s.operands[0]), ")")};
    }
    if (to == DType::kFloat32 && is_small_float(from)) return {value(s.operands[0], kAtom)};
    return {concat("(", register_type(to), ")", operand), kUnary};
  }
  if (is_small_float(to) || (is_float(from) && !is_float(to))) {
    return {concat(helpers.convert(from, to), "(", value(s.operands[0]), ")")};
  }
  return {concat("(", register_type(to), ")", operand), kUnary};
}

Expression Emission::instruction(const Statement& s) {
  Expression made;
  switch (s.kind) {
    case StatementKind::kConstant:
      return constant(s.dtype, s.bits);
    case StatementKind::kScalar:
      made = scalar(s);
      break;
    case StatementKind::kFma:
      made = {concat(helpers.fma(s.dtype), "(", value(s.operands[0]), ", ", value(s.operands[1]), ", ",
                     value(s.operands[2]), ")")};
      break;
    case StatementKind::kScale:
      made = {concat(helpers.scale(s.dtype), "(", value(s.operands[0]), ", ", value(s.operands[1]), ")")};
      break;
    case StatementKind::kMulHigh:
      made = {concat(helpers.mul_high(s.dtype), "(", value(s.operands[0]), ", ", value(s.operands[1]), ")")};
      break;
    case StatementKind::kSelect:
      made = {
          concat(value(s.operands[0], kEquality), " ? ", value(s.operands[1], kSum), " : ", value(s.operands[2], kSum)),
          kChoice};
      break;
    case StatementKind::kConvert:
      made = converted(s);
      break;
    case StatementKind::kBitcast:
      made = {concat(helpers.bitcast(program.values[s.operands[0]].dtype, s.dtype), "(", value(s.operands[0]), ")")};
      break;
    case StatementKind::kIndex:
      made = {index(s.index), kSum};
      break;
    case StatementKind::kLoad: {
      const std::string stored = element(s.buffer, s.index);
      if (is_bool(s.dtype)) return {concat(stored, " != 0"), kEquality, true};
      if (is_small_float(s.dtype)) return {concat(helpers.decode(s.dtype), "(", stored, ")"), kAtom, true};
      return {stored, kAtom, true};
    }
    default:
      CT_CHECK(false);
  }
  for (const Value operand : s.operands) {
    if (operand != loop::kNoValue) made.reads = made.reads || values_[operand].reads;
  }
  loop::visit_index(s.index, [&](Value operand) { made.reads = made.reads || values_[operand].reads; });
  return made;
}

}  // namespace ct::jit::c
