#include "ir/length_range.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "ir/primitive.h"

namespace ct {
namespace {

// Programs that compute sizes are short; what is behind so many equations counts as unknown.
constexpr int kDeepest = 100;

// On this side nothing is known.
constexpr int64_t kAnything = std::numeric_limits<int64_t>::max();
constexpr Range kUnknown{-kAnything, kAnything};
// Sizes are far below; a sum or product beyond may have wrapped around, and counts as unknown.
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

bool is_moderate(const Range& range) { return range.least >= -kMost && range.most <= kMost; }

Range moderate(const Range& range) { return is_moderate(range) ? range : kUnknown; }

Range hull(const Range& x, const Range& y) { return {std::min(x.least, y.least), std::max(x.most, y.most)}; }

Range product(const Range& x, const Range& y) {
  const auto [least, most] = std::minmax({x.least * y.least, x.least * y.most, x.most * y.least, x.most * y.most});
  return {least, most};
}

// Unsigned numbers of 32 bits and more, and signed ones of 64, reach beyond what is computed with here.
Range of_dtype(const DTypeInfo& dtype) {
  const bool is_signed = dtype.kind == DTypeKind::kSigned;
  if (dtype.size >= 4) return is_signed ? kUnknown : Range{0, kAnything};
  const int64_t count = int64_t{1} << (8 * dtype.size);
  return is_signed ? Range{-count / 2, count / 2 - 1} : Range{0, count - 1};
}

class Ranges {
 public:
  explicit Ranges(const Builder& builder) : builder_(builder) {}

  Range of(Var var, int depth = 0) {
    if (const auto found = known_.find(var); found != known_.end()) return found->second;
    const DTypeInfo& dtype = dtype_info(builder_.aval(var).dtype());
    Range range = kUnknown;
    if (dtype.kind == DTypeKind::kBool) range = {0, 1};
    if (dtype.kind == DTypeKind::kSigned || dtype.kind == DTypeKind::kUnsigned) {
      const Range whole = of_dtype(dtype);
      range = depth > kDeepest ? whole : found_for(var, depth);
      // What does not fit wraps around.
      if (range.least < whole.least || range.most > whole.most) range = whole;
    }
    known_.emplace(var, range);
    return range;
  }

 private:
  Range found_for(Var var, int depth) {
    const Aval aval = builder_.aval(var);
    const Equation* equation = builder_.producer(var);
    if (equation == nullptr) {
      const std::optional<int64_t> most = builder_.bound_of_length(var);
      return most ? Range{0, *most} : kUnknown;
    }
    const Primitive& primitive = *equation->primitive;
    const absl::Span<const Var> operands = builder_.operands(*equation);
    const auto operand = [&](size_t index) { return of(operands[index], depth + 1); };
    switch (primitive.length_role) {
      case LengthRole::kNone:
        break;
      case LengthRole::kSize:
        return {0, builder_.aval(operands[0]).dim(static_cast<int>(builder_.attrs(*equation).integer("axis")))};
      case LengthRole::kClamp:
        return {0, std::max<int64_t>(operand(1).most, 0)};
      default:
        return operand(0);
    }
    if (primitive.scalar) return computed(primitive.scalar_op, operands, depth);
    if (const auto* fold = primitive.structure_as<structures::Fold>()) {
      return folded(fold->combine, builder_.aval(operands[0]), aval, operand(0));
    }
    return arranged(*equation, operands, depth);
  }

  Range computed(ScalarOp op, absl::Span<const Var> operands, int depth) {
    const Range x = of(operands[0], depth + 1);
    if (op == ScalarOp::kSign) return {-1, 1};
    if (op == ScalarOp::kPopulationCount || op == ScalarOp::kLeadingZeros) return {0, 64};
    if (op == ScalarOp::kNeg) return {-x.most, -x.least};
    if (operands.size() != 2) return kUnknown;
    const Range y = of(operands[1], depth + 1);
    if (op == ScalarOp::kMax) return {std::max(x.least, y.least), std::max(x.most, y.most)};
    if (op == ScalarOp::kMin) return {std::min(x.least, y.least), std::min(x.most, y.most)};
    if (op == ScalarOp::kRem && y.least >= 1) {
      return {std::max(std::min<int64_t>(x.least, 0), 1 - y.most), std::min(std::max<int64_t>(x.most, 0), y.most - 1)};
    }
    if (!is_moderate(x) || !is_moderate(y)) return kUnknown;
    switch (op) {
      case ScalarOp::kAdd:
        return moderate({x.least + y.least, x.most + y.most});
      case ScalarOp::kSub:
        return moderate({x.least - y.most, x.most - y.least});
      case ScalarOp::kMul:
        return moderate(product(x, y));
      case ScalarOp::kDiv:
        if (y.least < 1) return kUnknown;
        return hull({x.least / y.least, x.most / y.least}, {x.least / y.most, x.most / y.most});
      default:
        return kUnknown;
    }
  }

  static Range folded(ScalarOp combine, const Aval& operand, const Aval& result, const Range& range) {
    if (combine == ScalarOp::kMax || combine == ScalarOp::kMin) return operand.size() == 0 ? kUnknown : range;
    if (combine != ScalarOp::kAdd || !is_moderate(range)) return kUnknown;
    const int64_t count = result.size() == 0 ? 0 : operand.size() / result.size();
    if (count > kMost) return kUnknown;
    // Of a ragged axis fewer are summed up.
    return moderate(hull({0, 0}, {count * range.least, count * range.most}));
  }

  Range arranged(const Equation& equation, absl::Span<const Var> operands, int depth) {
    const auto operand = [&](size_t index) { return of(operands[index], depth + 1); };
    switch (equation.primitive->arrangement) {
      case Arrangement::kUniform: {
        const int64_t value = builder_.attrs(equation).integer("value");
        return {value, value};
      }
      case Arrangement::kCounting: {
        const Aval aval = builder_.aval(equation.first_output);
        const int64_t size = aval.dim(static_cast<int>(builder_.attrs(equation).integer("axis")));
        return {0, std::max<int64_t>(size - 1, 0)};
      }
      case Arrangement::kReshape:
      case Arrangement::kBroadcast:
      case Arrangement::kTranspose:
      case Arrangement::kSlice:
        return operand(0);
      case Arrangement::kGather:
        return hull(operand(0), {0, 0});  // a position that is nowhere
      case Arrangement::kPad:
        return hull(operand(0), operand(1));
      case Arrangement::kChoice:
        return hull(operand(1), operand(2));
      case Arrangement::kConcatenate: {
        Range all = operand(0);
        for (size_t i = 1; i < operands.size(); ++i) all = hull(all, operand(i));
        return all;
      }
      default:
        return kUnknown;
    }
  }

  const Builder& builder_;
  absl::flat_hash_map<Var, Range> known_;
};

bool is_known(const Range& range) { return range.most <= kMost; }

std::optional<Range> as_known(const Range& range) {
  if (!is_known(range)) return std::nullopt;
  return Range{std::max(range.least, kLeastKnown), range.most};
}

}  // namespace

// As a value, and as an expression, which knows that n - max(n - 3, 0) is at most 3.
std::optional<Range> range_of(Value x) {
  Ranges ranges(*x.builder);
  Range range = ranges.of(x.var);
  if (x.rank() == 0 && x.dtype() == DType::kInt32 && range.least < range.most) {
    bool known = true;
    const Range length = range_of_length(x, [&](Var var) -> std::optional<Range> {
      const Range atom = ranges.of(var);
      known &= is_moderate(atom);
      return is_known(atom) ? std::optional<Range>(atom) : std::nullopt;
    });
    if (known && length.least <= range.most && length.most >= range.least) {
      range = {std::max(range.least, length.least), std::min(range.most, length.most)};
    }
  }
  return as_known(range);
}

bool never_negative(Value x) { return Ranges(*x.builder).of(x.var).least >= 0; }

std::optional<Range> range_of_integer(Value x) { return as_known(Ranges(*x.builder).of(x.var)); }

}  // namespace ct
