#include "jit/loop/loop.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "jit/loop/clone.h"
#include "jit/loop/expand/math.h"
#include "jit/loop/ranges.h"
#include "runtime/error.h"

namespace ct::loop {

namespace {

int64_t floor_divide(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

uint64_t float_bits(DType dtype, double value) {
  if (dtype == DType::kFloat64) return std::bit_cast<uint64_t>(value);
  if (dtype == DType::kFloat32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (dtype == DType::kBFloat16) {
    if (std::isnan(value)) return 0x7fc0u | (bits >> 16 & 0x8000u);
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  }
  CT_CHECK(dtype == DType::kFloat16);
  uint64_t sign = std::signbit(value) ? 0x8000u : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00u;
  if (magnitude >= 65520.0) return sign | 0x7c00u;
  // The spacing of float16 at this magnitude; nearbyint rounds half to even in the default mode.
  int exponent = std::max(magnitude == 0 ? -14 : std::ilogb(magnitude), -14);
  auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return sign | (static_cast<uint64_t>(exponent + 14) * 1024 + units);
}

}  // namespace

// ----------------------------------------------------------------------------------------------------------------
// index

Index Index::of(Value value, int64_t coefficient) {
  Index index;
  index.add_term({value, coefficient});
  return index;
}

void Index::add_term(Term term) {
  auto at =
      std::lower_bound(terms_.begin(), terms_.end(), term.value, [](const Term& t, Value v) { return t.value < v; });
  if (at != terms_.end() && at->value == term.value) {
    at->coefficient += term.coefficient;
    if (at->coefficient == 0) terms_.erase(at);
  } else if (term.coefficient != 0) {
    terms_.insert(at, term);
  }
}

int64_t Index::coefficient_of(Value value) const {
  for (const Term& term : terms_) {
    if (term.value == value) return term.coefficient;
  }
  return 0;
}

std::optional<Value> Index::as_value() const {
  if (constant_ == 0 && terms_.size() == 1 && terms_[0].coefficient == 1) return terms_[0].value;
  return std::nullopt;
}

Index& Index::operator+=(const Index& other) {
  constant_ += other.constant_;
  if (&other == this) return *this *= 2;
  for (const Term& term : other.terms_) add_term(term);
  return *this;
}

Index& Index::operator-=(const Index& other) {
  Index negated = other;
  return *this += (negated *= -1);
}

Index& Index::operator*=(int64_t factor) {
  constant_ *= factor;
  if (factor == 0) terms_.clear();
  for (Term& term : terms_) term.coefficient *= factor;
  return *this;
}

// ------------------------------------------------------------------------------------------------ builder: buffers,
// values

Builder::Builder(std::string name) {
  program_.name = std::move(name);
  program_.blocks.emplace_back();
}

BufferId Builder::input(DType dtype, int64_t elements) {
  program_.buffers.push_back({BufferKind::kInput, dtype, elements, next_input_++, {}});
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

BufferId Builder::output(DType dtype, int64_t elements) {
  program_.buffers.push_back({BufferKind::kOutput, dtype, elements, next_output_++, {}});
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

BufferId Builder::temporary(DType dtype, int64_t elements, int64_t byte_offset) {
  program_.buffers.push_back({BufferKind::kTemporary, dtype, elements, byte_offset, {}});
  program_.arena_bytes = std::max(program_.arena_bytes, byte_offset + elements * dtype_size(dtype));
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

BufferId Builder::constant_buffer(DType dtype, int64_t elements, std::string bytes) {
  CT_CHECK(static_cast<int64_t>(bytes.size()) == elements * dtype_size(dtype));
  for (const BufferId id : constant_buffers_) {
    const Buffer& buffer = program_.buffers[id];
    if (buffer.dtype == dtype && buffer.bytes == bytes) return id;
  }
  program_.buffers.push_back({BufferKind::kConstant, dtype, elements, 0, std::move(bytes)});
  return constant_buffers_.emplace_back(static_cast<BufferId>(program_.buffers.size() - 1));
}

Value Builder::new_value(DType dtype, Range range) {
  if (range.low == INT64_MIN && range.high == INT64_MAX) range = dtype_range(dtype);
  program_.values.push_back({dtype, range});
  return static_cast<Value>(program_.values.size() - 1);
}

BlockId Builder::new_block() {
  program_.blocks.emplace_back();
  return static_cast<BlockId>(program_.blocks.size() - 1);
}

Range Builder::result_range(const Statement& s) const { return loop::result_range(program_, s); }

Value Builder::emit(Statement statement) {
  const Range range = result_range(statement);
  // An integer that can be one number only is that number: nothing has to compute it.
  if (statement.kind != StatementKind::kConstant && is_integer(statement.dtype) && range.known() &&
      range.low == range.high) {
    return constant(statement.dtype, range.low).re;
  }
  statement.result = new_value(statement.dtype, range);
  Value result = statement.result;
  this->statement(std::move(statement));
  return result;
}

Value Builder::emit_scalar(ScalarOp op, DType dtype, Value a, Value b) {
  // Whether a number is equal to itself, as tests of NaN ask of what has none.
  if (is_comparison(op) && a == b && !is_float(program_.values[a].dtype)) {
    return constant(DType::kBool, int64_t{op == ScalarOp::kEq || op == ScalarOp::kLe || op == ScalarOp::kGe}).re;
  }
  Statement s{.kind = StatementKind::kScalar, .op = op, .dtype = dtype};
  s.operands[0] = a;
  s.operands[1] = b;
  return emit(std::move(s));
}

// ------------------------------------------------------------------------------------------------------ builder:
// constants

Scalar Builder::constant(DType dtype, double value) {
  if (is_complex(dtype)) return constant_complex(dtype, value, 0);
  if (!is_float(dtype)) return constant(dtype, static_cast<int64_t>(value));
  if (is_float8(dtype)) return convert(constant(DType::kFloat32, value), dtype);
  return {dtype, emit({.kind = StatementKind::kConstant, .dtype = dtype, .bits = float_bits(dtype, value)})};
}

Scalar Builder::constant(DType dtype, int64_t value) {
  if (is_inexact(dtype)) return constant(dtype, static_cast<double>(value));
  if (is_bool(dtype)) value = value != 0;
  auto bits = static_cast<uint64_t>(value);
  if (int size = dtype_size(machine_dtype(dtype)); size < 8) bits &= (uint64_t{1} << (8 * size)) - 1;
  return {dtype, emit({.kind = StatementKind::kConstant, .dtype = machine_dtype(dtype), .bits = bits})};
}

Scalar Builder::constant_complex(DType dtype, double re, double im) {
  CT_CHECK(is_complex(dtype));
  return {dtype, constant(real_dtype(dtype), re).re, constant(real_dtype(dtype), im).re};
}

Scalar Builder::constant_from_bytes(DType dtype, const void* element) {
  DType machine = machine_dtype(dtype);
  auto part = [&](int i) {
    uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(element) + i * dtype_size(machine), dtype_size(machine));
    return emit({.kind = StatementKind::kConstant, .dtype = machine, .bits = bits});
  };
  Scalar result{dtype, part(0)};
  if (is_complex(dtype)) result.im = part(1);
  return result;
}

// --------------------------------------------------------------------------------------------------------- builder:
// memory

Scalar Builder::load(BufferId buffer, const Index& index) {
  DType dtype = buffer_dtype(buffer);
  Statement s{.kind = StatementKind::kLoad, .dtype = machine_dtype(dtype), .buffer = buffer, .index = index};
  if (!is_complex(dtype)) return {dtype, emit(s)};
  s.index *= 2;
  Value re = emit(s);
  s.index += 1;
  return {dtype, re, emit(s)};
}

void Builder::store(BufferId buffer, const Index& index, Scalar value) {
  DType dtype = buffer_dtype(buffer);
  CT_CHECK(value.dtype == dtype);
  Statement s{.kind = StatementKind::kStore, .dtype = machine_dtype(dtype), .buffer = buffer, .index = index};
  s.operands[0] = value.re;
  if (is_complex(dtype)) {
    s.index *= 2;
    statement(s);
    s.index += 1;
    s.operands[0] = value.im;
  }
  statement(std::move(s));
}

Scalar Builder::load_part(BufferId buffer, const Index& index) {
  const DType dtype = machine_dtype(buffer_dtype(buffer));
  return {dtype, emit({.kind = StatementKind::kLoad, .dtype = dtype, .buffer = buffer, .index = index})};
}

void Builder::store_part(BufferId buffer, const Index& index, Scalar value) {
  const DType dtype = machine_dtype(buffer_dtype(buffer));
  CT_CHECK(value.dtype == dtype);
  Statement s{.kind = StatementKind::kStore, .dtype = dtype, .buffer = buffer, .index = index};
  s.operands[0] = value.re;
  statement(std::move(s));
}

void Builder::fill(BufferId buffer, const Index& offset, const Index& count, Scalar value) {
  // memset when every byte is equal: look at the constants behind the value.
  auto constant_bits = [&](Value v) -> std::optional<uint64_t> {
    // Mostly the statement before. Values are numbered as they are made, and those of other blocks are not looked for.
    const std::vector<Statement>& statements = program_.blocks[block_].statements;
    for (auto s = statements.rbegin(); s != statements.rend(); ++s) {
      if (s->result == kNoValue || s->result > v) continue;
      return s->result == v && s->kind == StatementKind::kConstant ? std::optional(s->bits) : std::nullopt;
    }
    return std::nullopt;
  };
  auto re = constant_bits(value.re);
  auto im = value.im == kNoValue ? re : constant_bits(value.im);
  if (re == uint64_t{0} && im == uint64_t{0}) {
    program_.ranges.push_back({buffer, 0, offset, 0, count});
    statement({.kind = StatementKind::kFill, .detail = static_cast<uint32_t>(program_.ranges.size() - 1)});
    return;
  }
  for_each(count, {.vectorize = true, .parallel = true}, [&](Index i) { store(buffer, offset + i, value); });
}

void Builder::copy(BufferId destination, const Index& destination_offset, BufferId source, const Index& source_offset,
                   const Index& count) {
  CT_CHECK(buffer_dtype(destination) == buffer_dtype(source));
  program_.ranges.push_back({destination, source, destination_offset, source_offset, count});
  statement({.kind = StatementKind::kCopy, .detail = static_cast<uint32_t>(program_.ranges.size() - 1)});
}

void Builder::swap(BufferId a, BufferId b) {
  CT_CHECK(buffer_dtype(a) == buffer_dtype(b) && program_.buffers[a].elements == program_.buffers[b].elements);
  statement({.kind = StatementKind::kSwap, .buffer = a, .other = b});
}

void Builder::host_call(HostCall call) {
  program_.host_calls.push_back(std::move(call));
  statement({.kind = StatementKind::kHostCall, .detail = static_cast<uint32_t>(program_.host_calls.size() - 1)});
}

// ----------------------------------------------------------------------------------------------------- builder:
// arithmetic

Scalar Builder::apply(ScalarOp op, Scalar a, Scalar b) {
  Scalar operands[] = {a, b};
  return apply(op, operands);
}

Scalar Builder::apply(ScalarOp op, absl::Span<const Scalar> operands) {
  CT_CHECK(static_cast<int>(operands.size()) == scalar_op_info(op).arity);
  for (const Scalar& operand : operands) {
    if (operand.dtype != operands[0].dtype) {
      throw Error(ErrorKind::kInternal, "operands of one loop operation have different dtypes: " +
                                            std::string(dtype_name(operands[0].dtype)) + " and " +
                                            std::string(dtype_name(operand.dtype)))
          .op(scalar_op_info(op).name);
    }
  }
  if (op == ScalarOp::kComplex && is_half(operands[0].dtype)) {  // their complex numbers are complex64
    return apply(op, convert(operands[0], DType::kFloat32), convert(operands[1], DType::kFloat32));
  }
  if (is_complex(operands[0].dtype) || op == ScalarOp::kComplex) return expand_complex(*this, op, operands);
  return apply_real(op, operands);
}

Scalar Builder::apply_real(ScalarOp op, absl::Span<const Scalar> operands) {
  DType dtype = operands[0].dtype;
  Value a = operands[0].re;
  Value b = operands.size() > 1 ? operands[1].re : kNoValue;
  bool tests = is_comparison(op) || op == ScalarOp::kIsFinite;
  switch (op) {
    case ScalarOp::kReal:
    case ScalarOp::kConj:
      return operands[0];
    case ScalarOp::kImag:
      return constant(dtype, 0);
    case ScalarOp::kIsFinite:
      if (!is_float(dtype)) return constant(DType::kBool, 1);
      break;
    case ScalarOp::kPow:
      if (is_integer(dtype)) return {dtype, expand_integer_power(*this, a, b)};
      break;
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kRound:
      if (!is_float(dtype)) return operands[0];
      break;
    default:
      break;
  }
  if (is_bool(dtype)) {
    switch (op) {
      case ScalarOp::kAdd:
      case ScalarOp::kMax:
        op = ScalarOp::kOr;
        break;
      case ScalarOp::kMul:
      case ScalarOp::kMin:
        op = ScalarOp::kAnd;
        break;
      case ScalarOp::kAbs:
      case ScalarOp::kSign:
        return operands[0];
      default:
        break;
    }
  }
  if (is_half(dtype)) {
    // These give a value of the dtype when computed in float32, or a bool: no rounding is needed.
    bool exact = tests || op == ScalarOp::kNeg || op == ScalarOp::kAbs || op == ScalarOp::kSign ||
                 op == ScalarOp::kFloor || op == ScalarOp::kCeil || op == ScalarOp::kRound || op == ScalarOp::kMax ||
                 op == ScalarOp::kMin;
    if (!exact) {
      absl::InlinedVector<Scalar, 2> wide;
      for (const Scalar& operand : operands) wide.push_back(convert(operand, DType::kFloat32));
      return convert(apply_real(op, wide), dtype);
    }
  } else if (is_float(dtype) && is_math_function(op)) {
    program_.expansions.push_back(op);
    const uint32_t enclosing = std::exchange(expansion_, static_cast<uint32_t>(program_.expansions.size()));
    const Value result = expand_math(*this, op, a, b);
    expansion_ = enclosing;
    return {dtype, result};
  }
  DType machine = machine_dtype(dtype);
  if (tests) return {DType::kBool, emit_scalar(op, DType::kBool, a, b)};
  return {dtype, emit_scalar(op, machine, a, b)};
}

Scalar Builder::select(Scalar condition, Scalar if_true, Scalar if_false) {
  CT_CHECK(is_bool(condition.dtype) && if_true.dtype == if_false.dtype);
  auto part = [&](Value t, Value f) {
    if (t == f) return t;
    Statement s{.kind = StatementKind::kSelect, .dtype = dtype_of(t)};
    s.operands[0] = condition.re;
    s.operands[1] = t;
    s.operands[2] = f;
    return emit(std::move(s));
  };
  Scalar result{if_true.dtype, part(if_true.re, if_false.re)};
  if (is_complex(if_true.dtype)) result.im = part(if_true.im, if_false.im);
  return result;
}

Scalar Builder::convert(Scalar value, DType dtype) {
  if (value.dtype == dtype) return value;
  auto part = [&](Value v, DType to) {
    if (dtype_of(v) == to) return v;
    Statement s{.kind = StatementKind::kConvert, .dtype = to};
    s.operands[0] = v;
    return emit(std::move(s));
  };
  if (is_complex(dtype)) {
    DType real = real_dtype(dtype);
    Value im = is_complex(value.dtype) ? part(value.im, real) : constant(real, 0).re;
    return {dtype, part(value.re, real), im};
  }
  if (is_complex(value.dtype) && is_bool(dtype)) {
    return apply(ScalarOp::kOr, {DType::kBool, part(value.re, dtype)}, {DType::kBool, part(value.im, dtype)});
  }
  return {dtype, part(value.re, machine_dtype(dtype))};
}

Scalar Builder::bitcast(Scalar value, DType dtype) {
  if (value.dtype == dtype) return value;
  CT_CHECK(dtype_size(value.dtype) == dtype_size(dtype) && !is_complex(value.dtype) && !is_complex(dtype));
  if (machine_dtype(value.dtype) == machine_dtype(dtype)) return {dtype, value.re};
  Statement s{.kind = StatementKind::kBitcast, .dtype = machine_dtype(dtype)};
  s.operands[0] = value.re;
  return {dtype, emit(std::move(s))};
}

Scalar Builder::fma(Scalar a, Scalar b, Scalar c) {
  CT_CHECK(a.dtype == b.dtype && a.dtype == c.dtype && (a.dtype == DType::kFloat32 || a.dtype == DType::kFloat64));
  Statement s{.kind = StatementKind::kFma, .dtype = a.dtype};
  s.operands[0] = a.re;
  s.operands[1] = b.re;
  s.operands[2] = c.re;
  return {a.dtype, emit(std::move(s))};
}

Scalar Builder::scale(Scalar x, Scalar exponent, Scalar exponent_as_float) {
  CT_CHECK((x.dtype == DType::kFloat32 && exponent.dtype == DType::kInt32) ||
           (x.dtype == DType::kFloat64 && exponent.dtype == DType::kInt64));
  CT_CHECK(exponent_as_float.dtype == x.dtype);
  Statement s{.kind = StatementKind::kScale, .dtype = x.dtype};
  s.operands[0] = x.re;
  s.operands[1] = exponent.re;
  s.operands[2] = exponent_as_float.re;
  return {x.dtype, emit(std::move(s))};
}

Scalar Builder::mul_high(Scalar a, Scalar b) {
  CT_CHECK(a.dtype == b.dtype && (a.dtype == DType::kUInt32 || a.dtype == DType::kUInt64));
  Statement s{.kind = StatementKind::kMulHigh, .dtype = a.dtype};
  s.operands[0] = a.re;
  s.operands[1] = b.re;
  return {a.dtype, emit(std::move(s))};
}

// -------------------------------------------------------------------------------------------------------- builder:
// indices

Scalar Builder::to_scalar(const Index& index, DType dtype) {
  std::optional<Value> value = index.as_value();
  Scalar whole{DType::kInt64, value ? *value : kNoValue};
  if (!value) {
    whole = index.is_constant() ? constant(DType::kInt64, index.constant())
                                : Scalar{DType::kInt64, emit({.kind = StatementKind::kIndex, .index = index})};
  }
  return convert(whole, dtype);
}

Index Builder::to_index(Scalar integer) {
  CT_CHECK(is_integer(integer.dtype) || is_bool(integer.dtype));
  Value value = convert(integer, DType::kInt64).re;
  Range range = program_.values[value].range;
  return range.known() && range.low == range.high ? Index(range.low) : Index::of(value);
}

namespace {

// index = divisor * quotient + rest, taking into the quotient every term that divides evenly.
struct Division {
  Index quotient;
  Index rest;
};

Division divide_terms(const Index& index, int64_t divisor) {
  int64_t whole = floor_divide(index.constant(), divisor);
  Division division{whole, index.constant() - whole * divisor};
  for (const Index::Term& term : index.terms()) {
    if (term.coefficient % divisor == 0) {
      division.quotient += Index::of(term.value, term.coefficient / divisor);
    } else {
      division.rest += Index::of(term.value, term.coefficient);
    }
  }
  return division;
}

}  // namespace

// A loop from a length on ends where the axis does: n + i for i < 8 - n is at most 7.
Range Builder::range_of(const Index& index) const {
  Range range = program_.range_of(index);
  Index lowest = index, highest = index;
  for (const Index::Term& term : index.terms()) {
    const auto extent = computed_extents_.find(term.value);
    if (extent == computed_extents_.end()) continue;
    const Index variable = Index::of(term.value, term.coefficient);
    (term.coefficient > 0 ? highest : lowest) += (extent->second - Index(1)) * term.coefficient - variable;
    (term.coefficient > 0 ? lowest : highest) -= variable;
  }
  range.low = std::max(range.low, program_.range_of(lowest).low);
  range.high = std::min(range.high, program_.range_of(highest).high);
  return range;
}

Index Builder::divide(const Index& index, int64_t divisor) {
  CT_CHECK(divisor > 0);
  Division division = divide_terms(index, divisor);
  Range rest = range_of(division.rest);
  if (rest.low >= 0 && rest.high < divisor) return division.quotient;
  if (rest.low < 0) division = {0, index};
  Scalar quotient = apply(ScalarOp::kDiv, to_scalar(division.rest), constant(DType::kInt64, divisor));
  return division.quotient + to_index(quotient);
}

Index Builder::modulo(const Index& index, int64_t divisor) {
  CT_CHECK(divisor > 0);
  Division division = divide_terms(index, divisor);
  Range rest = range_of(division.rest);
  if (rest.low >= 0 && rest.high < divisor) return division.rest;
  if (rest.low < 0) division = {0, index};
  return to_index(apply(ScalarOp::kRem, to_scalar(division.rest), constant(DType::kInt64, divisor)));
}

}  // namespace ct::loop
