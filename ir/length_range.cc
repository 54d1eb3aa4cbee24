#include "ir/length_range.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "ir/primitive.h"

namespace ct {
namespace {

using MaybeRange = std::optional<Range>;

// Programs that compute sizes are short; what is behind so many equations counts as unknown.
constexpr int kDeepest = 100;

Range hull(const Range& x, const Range& y) { return {std::min(x.least, y.least), std::max(x.most, y.most)}; }

MaybeRange joined(const MaybeRange& x, const MaybeRange& y) {
  if (!x || !y) return std::nullopt;
  return hull(*x, *y);
}

// Of numbers below 2**31 in magnitude, so that nothing here overflows.
bool is_moderate(const Range& range) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return range.least >= -kMost && range.most <= kMost;
}

MaybeRange product(const Range& x, const Range& y) {
  const auto [least, most] =
      std::minmax({x.least * y.least, x.least * y.most, x.most * y.least, x.most * y.most});
  return Range{least, most};
}

class Ranges {
 public:
  Ranges(const Builder& builder, const RangeOf& of_input) : builder_(builder), of_input_(of_input) {}

  MaybeRange of(Var var, int depth = 0) {
    if (const auto found = known_.find(var); found != known_.end()) return found->second;
    const MaybeRange range = depth > kDeepest ? std::nullopt : found_for(var, depth);
    const MaybeRange kept = range && is_moderate(*range) ? range : std::nullopt;
    known_.emplace(var, kept);
    return kept;
  }

 private:
  MaybeRange found_for(Var var, int depth) {
    const Aval aval = builder_.aval(var);
    if (aval.dtype() == DType::kBool) return Range{0, 1};
    const DTypeKind kind = dtype_info(aval.dtype()).kind;
    if (kind != DTypeKind::kSigned && kind != DTypeKind::kUnsigned) return std::nullopt;
    const Equation* equation = builder_.producer(var);
    if (equation == nullptr) return of_input_(var);
    const Primitive& primitive = *equation->primitive;
    const absl::Span<const Var> operands = builder_.operands(*equation);
    const auto operand = [&](size_t index) { return of(operands[index], depth + 1); };
    switch (primitive.length_role) {
      case LengthRole::kNone:
        break;
      case LengthRole::kSize:
        return Range{0, builder_.aval(operands[0]).dim(static_cast<int>(builder_.attrs(*equation).integer("axis")))};
      case LengthRole::kClamp: {
        const MaybeRange size = operand(1);
        return size ? MaybeRange(Range{0, std::max<int64_t>(size->most, 0)}) : std::nullopt;
      }
      default:
        return operand(0);
    }
    if (primitive.scalar) return computed(primitive.scalar_op, operands, depth);
    if (const auto* fold = primitive.structure_as<structures::Fold>()) {
      return folded(fold->combine, builder_.aval(operands[0]), aval, operand(0));
    }
    return arranged(*equation, operands, depth);
  }

  MaybeRange computed(ScalarOp op, absl::Span<const Var> operands, int depth) {
    const MaybeRange x = of(operands[0], depth + 1);
    if (!x) return std::nullopt;
    if (op == ScalarOp::kNeg) return Range{-x->most, -x->least};
    if (op == ScalarOp::kSign) return Range{-1, 1};
    if (operands.size() != 2) return std::nullopt;
    const MaybeRange y = of(operands[1], depth + 1);
    // One of the two is enough for a bound on one side; without the other side there is no range.
    if (!y) return std::nullopt;
    switch (op) {
      case ScalarOp::kAdd:
        return Range{x->least + y->least, x->most + y->most};
      case ScalarOp::kSub:
        return Range{x->least - y->most, x->most - y->least};
      case ScalarOp::kMul:
        return product(*x, *y);
      case ScalarOp::kMax:
        return Range{std::max(x->least, y->least), std::max(x->most, y->most)};
      case ScalarOp::kMin:
        return Range{std::min(x->least, y->least), std::min(x->most, y->most)};
      case ScalarOp::kDiv:
        if (y->least < 1) return std::nullopt;
        return hull({x->least / y->least, x->most / y->least}, {x->least / y->most, x->most / y->most});
      case ScalarOp::kRem:
        if (y->least < 1) return std::nullopt;
        return Range{std::max(std::min<int64_t>(x->least, 0), 1 - y->most),
                     std::min(std::max<int64_t>(x->most, 0), y->most - 1)};
      default:
        return std::nullopt;
    }
  }

  static MaybeRange folded(ScalarOp combine, const Aval& operand, const Aval& result, const MaybeRange& range) {
    if (!range) return std::nullopt;
    if (combine == ScalarOp::kMax || combine == ScalarOp::kMin) {
      return operand.size() == 0 ? std::nullopt : range;
    }
    if (combine != ScalarOp::kAdd) return std::nullopt;
    const int64_t count = result.size() == 0 ? 0 : operand.size() / result.size();
    if (count > std::numeric_limits<int32_t>::max()) return std::nullopt;
    // Of a ragged axis fewer are summed up.
    return hull(Range{0, 0}, Range{count * range->least, count * range->most});
  }

  MaybeRange arranged(const Equation& equation, absl::Span<const Var> operands, int depth) {
    const auto operand = [&](size_t index) { return of(operands[index], depth + 1); };
    switch (equation.primitive->arrangement) {
      case Arrangement::kUniform: {
        const int64_t value = builder_.attrs(equation).integer("value");
        return Range{value, value};
      }
      case Arrangement::kCounting: {
        const Aval aval = builder_.aval(equation.first_output);
        const int64_t size = aval.dim(static_cast<int>(builder_.attrs(equation).integer("axis")));
        return Range{0, std::max<int64_t>(size - 1, 0)};
      }
      case Arrangement::kReshape:
      case Arrangement::kBroadcast:
      case Arrangement::kTranspose:
      case Arrangement::kSlice:
        return operand(0);
      case Arrangement::kGather:
        return joined(operand(0), Range{0, 0});  // a position that is nowhere
      case Arrangement::kPad:
        return joined(operand(0), operand(1));
      case Arrangement::kChoice:
        return joined(operand(1), operand(2));
      case Arrangement::kConcatenate: {
        MaybeRange all = operand(0);
        for (size_t i = 1; i < operands.size(); ++i) all = joined(all, operand(i));
        return all;
      }
      default:
        return std::nullopt;
    }
  }

  const Builder& builder_;
  const RangeOf& of_input_;
  absl::flat_hash_map<Var, MaybeRange> known_;
};

}  // namespace

// As a value, and as an expression, which knows that n - max(n - 3, 0) is at most 3.
std::optional<Range> range_of(Value x, const RangeOf& of_input) {
  Ranges ranges(*x.builder, of_input);
  const MaybeRange range = ranges.of(x.var);
  const bool is_length = x.rank() == 0 && x.dtype() == DType::kInt32;
  if (!range || !is_length || range->least == range->most) return range;
  const Range length = range_of_length(x, [&](Var var) { return ranges.of(var); });
  if (length.least > range->most || length.most < range->least) return range;
  return Range{std::max(range->least, length.least), std::min(range->most, length.most)};
}

}  // namespace ct
