#include "jit/loop/ranges.h"

#include <algorithm>

namespace ct::loop {

namespace {

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t result;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  return b < 0 ? INT64_MIN : INT64_MAX;
}

int64_t saturating_multiply(int64_t a, int64_t b) {
  int64_t result;
  if (!__builtin_mul_overflow(a, b, &result)) return result;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

Range add(Range a, Range b) {
  // An unknown end stays unknown: adding a constant to it must not make it look finite.
  return {a.low == INT64_MIN || b.low == INT64_MIN ? INT64_MIN : saturating_add(a.low, b.low),
          a.high == INT64_MAX || b.high == INT64_MAX ? INT64_MAX : saturating_add(a.high, b.high)};
}

Range multiply(Range a, int64_t factor) {
  auto end = [&](int64_t x) {
    if (factor == 0) return int64_t{0};
    if (x == INT64_MIN || x == INT64_MAX) return (x > 0) == (factor > 0) ? INT64_MAX : INT64_MIN;
    return saturating_multiply(x, factor);
  };
  return factor >= 0 ? Range{end(a.low), end(a.high)} : Range{end(a.high), end(a.low)};
}

bool contains(Range outer, Range inner) { return outer.low <= inner.low && inner.high <= outer.high; }

bool is_integral(DType dtype) { return is_integer(dtype) || is_bool(dtype); }

}  // namespace

Range dtype_range(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kInt8:
      return {INT8_MIN, INT8_MAX};
    case DType::kInt16:
      return {INT16_MIN, INT16_MAX};
    case DType::kInt32:
      return {INT32_MIN, INT32_MAX};
    case DType::kUInt8:
      return {0, UINT8_MAX};
    case DType::kUInt16:
      return {0, UINT16_MAX};
    case DType::kUInt32:
      return {0, UINT32_MAX};
    case DType::kUInt64:
      return {0, INT64_MAX};  // whose end is not known, as always
    default:
      return {};
  }
}

Range Program::range_of(const Index& index) const {
  Range range{index.constant(), index.constant()};
  for (const Index::Term& term : index.terms())
    range = add(range, multiply(values[term.value].range, term.coefficient));
  return range;
}

Range result_range(const Program& program, const Statement& s) {
  auto operand = [&](int i) { return program.values[s.operands[i]].range; };
  Range whole = dtype_range(s.dtype);
  if (!is_integral(s.dtype)) return {};
  Range range = whole;
  switch (s.kind) {
    case StatementKind::kConstant:
      range = {static_cast<int64_t>(s.bits), static_cast<int64_t>(s.bits)};
      if (s.dtype == DType::kInt32) range.low = range.high = static_cast<int32_t>(s.bits);
      if (s.dtype == DType::kInt16) range.low = range.high = static_cast<int16_t>(s.bits);
      if (s.dtype == DType::kInt8) range.low = range.high = static_cast<int8_t>(s.bits);
      break;
    case StatementKind::kIndex:
      return program.range_of(s.index);
    case StatementKind::kSelect:
      range = {std::min(operand(1).low, operand(2).low), std::max(operand(1).high, operand(2).high)};
      break;
    case StatementKind::kConvert:
      if (is_integral(program.values[s.operands[0]].dtype)) range = operand(0);
      // What no int64 holds is negative in one.
      if (program.values[s.operands[0]].dtype == DType::kUInt64 && range.high == INT64_MAX) range = whole;
      break;
    case StatementKind::kScalar:
      if (is_comparison(s.op) || !is_integer(s.dtype)) return whole;
      switch (s.op) {
        case ScalarOp::kAdd:
          range = add(operand(0), operand(1));
          break;
        case ScalarOp::kSub:
          range = add(operand(0), multiply(operand(1), -1));
          break;
        case ScalarOp::kMul:
          if (operand(1).low == operand(1).high) range = multiply(operand(0), operand(1).low);
          if (operand(0).low == operand(0).high) range = multiply(operand(1), operand(0).low);
          break;
        case ScalarOp::kDiv:
          if (operand(1).low > 0 && operand(0).low >= 0 && operand(1).known()) {
            range = {operand(0).low / operand(1).high,
                     operand(0).high == INT64_MAX ? INT64_MAX : operand(0).high / operand(1).low};
          }
          break;
        case ScalarOp::kRem:
          if (operand(1).low > 0 && operand(0).low >= 0) {
            const bool is_known = s.dtype != DType::kUInt64 || operand(1).high != INT64_MAX;
            range = {0, std::min(operand(0).high, is_known ? operand(1).high - 1 : INT64_MAX)};
          }
          break;
        case ScalarOp::kMax:
          range = {std::max(operand(0).low, operand(1).low), std::max(operand(0).high, operand(1).high)};
          break;
        case ScalarOp::kMin:
          range = {std::min(operand(0).low, operand(1).low), std::min(operand(0).high, operand(1).high)};
          break;
        case ScalarOp::kAnd:
          if (operand(0).low >= 0 && operand(1).low >= 0) range = {0, std::min(operand(0).high, operand(1).high)};
          break;
        default:
          break;
      }
      break;
    default:
      break;
  }
  // A result that may have wrapped around could be anything. For 64 bits, unknown ends already say so.
  if (s.dtype == DType::kInt64 || s.dtype == DType::kUInt64) {
    bool wraps =
        (s.kind == StatementKind::kScalar && !range.known() && s.op != ScalarOp::kMax && s.op != ScalarOp::kMin &&
         s.op != ScalarOp::kDiv && s.op != ScalarOp::kRem && s.op != ScalarOp::kAnd) ||
        (s.dtype == DType::kUInt64 && range.low < 0);
    return wraps ? whole : range;
  }
  return contains(whole, range) ? range : whole;
}

Range variable_range(const Program& program, const Index& extent) {
  const int64_t most = program.range_of(extent).high;
  return {0, most == INT64_MAX ? INT64_MAX : std::max<int64_t>(most - 1, 0)};
}

}  // namespace ct::loop
