// One element of a variable as loop IR: loads, remembered values, and element rules run against `RuleBuilder`.
#include <algorithm>

#include "ir/error.h"
#include "jit/lower/frame.h"

namespace ct::jit {

// The ElementBuilder of the compiler. The axes of the wanted position are handed to the rule unresolved: reading an
// operand at the same axes passes groups on whole, and only arithmetic on one axis of a group takes it apart.
class RuleBuilder final : public ElementBuilder {
 public:
  RuleBuilder(Frame& frame, const Equation& equation, const Shape& shape, const Position& position)
      : frame_(frame), b_(frame.b_), operands_(frame.graph_.operands(equation)), shape_(shape), position_(position) {
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      indices_.push_back({axis, 0});
      axes_.push_back({static_cast<uint32_t>(axis)});
    }
  }

  absl::Span<const Index> axes() const { return axes_; }
  loop::Scalar value(Scalar x) {
    Number& number = numbers_[x.id];
    if (!number.emitted) {
      number.scalar = number.truth ? b_.constant(DType::kBool, *number.truth) : b_.to_scalar(*number.index, x.dtype);
      number.emitted = true;
    }
    return number.scalar;
  }

  Scalar read(int operand, absl::Span<const Index> position) override {
    return make(frame_.element(operands_[operand], operand_position(operand, position)));
  }
  Scalar read_guarded(int operand, absl::Span<const Index> position, Scalar inside, Scalar otherwise) override {
    if (const auto truth = numbers_[inside.id].truth) return *truth ? read(operand, position) : otherwise;
    const loop::Scalar condition = value(inside);
    const loop::Scalar fallback = value(otherwise);
    // Index arithmetic belongs in front of the branch: what it emits is remembered here.
    const Position at = operand_position(operand, position);
    const loop::Scalars merged = b_.if_else(
        condition,
        [&] {
          Frame::Scope scope(frame_);
          return loop::Scalars{frame_.element(operands_[operand], at)};
        },
        [&] { return loop::Scalars{fallback}; });
    return make(merged[0]);
  }
  const Aval& operand_aval(int operand) const override { return frame_.graph_.aval(operands_[operand]); }

  Scalar constant(DType dtype, double value) override { return make(b_.constant(dtype, value)); }
  Scalar constant_integer(DType dtype, int64_t value) override {
    if (dtype == DType::kInt64) return make_index(dtype, value);
    if (is_bool(dtype)) return make_truth(value != 0);
    return make(b_.constant(dtype, value));
  }
  Scalar constant_complex(DType dtype, double real, double imag) override {
    return make(b_.constant_complex(dtype, real, imag));
  }
  Scalar unary(ScalarOp op, Scalar x) override { return make(b_.apply(op, value(x))); }
  Scalar binary(ScalarOp op, Scalar x, Scalar y) override {
    if (const auto truth = known(op, x, y)) return make_truth(*truth);
    if (op == ScalarOp::kAnd && is_bool(x.dtype)) {
      // One side is true, else `known` had settled it.
      if (numbers_[x.id].truth) return y;
      if (numbers_[y.id].truth) return x;
    }
    return make(b_.apply(op, value(x), value(y)));
  }
  Scalar select(Scalar predicate, Scalar if_true, Scalar if_false) override {
    if (const auto truth = numbers_[predicate.id].truth) return *truth ? if_true : if_false;
    return make(b_.select(value(predicate), value(if_true), value(if_false)));
  }
  Scalar convert(Scalar x, DType dtype) override { return make(b_.convert(value(x), dtype)); }
  Scalar bitcast(Scalar x, DType dtype) override { return make(b_.bitcast(value(x), dtype)); }

  Index index_constant(int64_t value) override { return push(value); }
  Index index_add(Index x, Index y) override { return push(resolve(x) + resolve(y)); }
  Index index_scale(Index x, int64_t factor) override { return push(resolve(x) * factor); }
  Index index_div(Index x, int64_t divisor) override { return push(b_.divide(resolve(x), divisor)); }
  Index index_mod(Index x, int64_t divisor) override { return push(b_.modulo(resolve(x), divisor)); }
  Index index_from(Scalar integer) override {
    const Number& number = numbers_[integer.id];
    return push(number.index ? *number.index : b_.to_index(value(integer)));
  }
  Scalar index_value(Index x, DType dtype) override {
    if (dtype == DType::kInt64) return make_index(dtype, resolve(x));
    return make(b_.to_scalar(resolve(x), dtype));
  }

 private:
  struct Number {
    loop::Scalar scalar;
    bool emitted = true;
    std::optional<loop::Index> index = {};  // of int64 scalars that are indices
    std::optional<bool> truth = {};         // of bools that are known
  };
  struct Entry {
    int axis;  // of the wanted position, unresolved; or -1
    loop::Index index;
  };

  Scalar make(loop::Scalar scalar) {
    numbers_.push_back({scalar});
    return {static_cast<uint32_t>(numbers_.size() - 1), scalar.dtype};
  }
  Scalar make_index(DType dtype, loop::Index index) {
    numbers_.push_back({{}, false, std::move(index)});
    return {static_cast<uint32_t>(numbers_.size() - 1), dtype};
  }
  Scalar make_truth(bool truth) {
    numbers_.push_back({{}, false, {}, truth});
    return {static_cast<uint32_t>(numbers_.size() - 1), DType::kBool};
  }
  Index push(loop::Index index) {
    indices_.push_back({-1, std::move(index)});
    return {static_cast<uint32_t>(indices_.size() - 1)};
  }
  loop::Index resolve(Index x) {
    const Entry& entry = indices_[x.id];
    return entry.axis < 0 ? entry.index : frame_.axis_index(position_, shape_, entry.axis);
  }

  // Comparisons of indices that their ranges decide, and what follows from them.
  std::optional<bool> known(ScalarOp op, Scalar x, Scalar y) const {
    const Number& a = numbers_[x.id];
    const Number& b = numbers_[y.id];
    if (op == ScalarOp::kAnd && is_bool(x.dtype)) {
      if ((a.truth && !*a.truth) || (b.truth && !*b.truth)) return false;
      if (a.truth && b.truth) return true;
    }
    if (!a.index || !b.index) return std::nullopt;
    const loop::Index index = *a.index - *b.index;
    const loop::Range difference = b_.range_of(index);
    const auto is_below = [&](int64_t limit) -> std::optional<bool> {
      if (difference.high < limit) return true;
      if (difference.low >= limit) return false;
      frame_.request_split(index, limit);
      return std::nullopt;
    };
    const auto is_not = [](std::optional<bool> truth) { return truth ? std::optional<bool>(!*truth) : truth; };
    switch (op) {
      case ScalarOp::kGe:
        return is_not(is_below(0));
      case ScalarOp::kGt:
        return is_not(is_below(1));
      case ScalarOp::kLt:
        return is_below(0);
      case ScalarOp::kLe:
        return is_below(1);
      default:
        return std::nullopt;
    }
  }

  Position operand_position(int operand, absl::Span<const Index> indices) {
    const Shape& shape = operand_aval(operand).shape();
    CT_CHECK(indices.size() == shape.size());
    Position result;
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      if (shape[axis] == 1) continue;  // its index is 0
      if (const int last = match_group(shape, indices, axis); last >= 0) {
        result.push_back({axis, last, group_of(indices_[indices[axis].id].axis)->index});
        axis = last;
      } else {
        result.push_back({axis, axis, resolve(indices[axis])});
      }
    }
    return result;
  }
  const AxisGroup* group_of(int axis) const {
    for (const AxisGroup& group : position_) {
      if (group.first <= axis && axis <= group.last) return &group;
    }
    return nullptr;
  }
  // The last of the operand's axes from `axis` on that are, one by one, the axes of a group; -1 if they are not.
  int match_group(const Shape& shape, absl::Span<const Index> indices, int axis) const {
    const int start = indices_[indices[axis].id].axis;
    const AxisGroup* group = start < 0 ? nullptr : group_of(start);
    if (group == nullptr) return -1;
    int at = axis;
    int last = -1;
    for (int wanted = group->first; wanted <= group->last; ++wanted) {
      if (shape_[wanted] == 1) continue;
      while (at < static_cast<int>(shape.size()) && shape[at] == 1) ++at;
      if (at == static_cast<int>(shape.size()) || indices_[indices[at].id].axis != wanted ||
          shape[at] != shape_[wanted]) {
        return -1;
      }
      last = at++;
    }
    return last;
  }

  Frame& frame_;
  loop::Builder& b_;
  absl::Span<const Var> operands_;
  const Shape& shape_;
  const Position& position_;
  Indices axes_;
  std::vector<Entry> indices_;
  std::vector<Number> numbers_;
};

loop::Index Frame::linear(const Position& position, const Shape& shape) const {
  const Shape strides = dense_strides(shape);
  loop::Index result = 0;
  for (const AxisGroup& group : position) result += group.index * strides[group.last];
  return result;
}

Position Frame::flat_position(const Shape& shape, const loop::Index& index) const {
  Position result;
  if (num_elements(shape) != 1) result.push_back({0, static_cast<int>(shape.size()) - 1, index});
  return result;
}

// One axis' index, taking its group apart if need be.
loop::Index Frame::axis_index(const Position& position, const Shape& shape, int axis) {
  if (shape[axis] == 1) return 0;
  for (const AxisGroup& group : position) {
    if (axis < group.first || axis > group.last) continue;
    const int64_t inner = num_elements(absl::MakeConstSpan(shape).subspan(axis + 1, group.last - axis));
    const int64_t outer = num_elements(absl::MakeConstSpan(shape).subspan(group.first, axis - group.first));
    loop::Index index = group.index;
    if (inner != 1) {
      request_cut(group.index, inner);
      index = b_.divide(index, inner);
    }
    if (outer != 1) {
      request_cut(group.index, inner * shape[axis]);
      index = b_.modulo(index, shape[axis]);
    }
    return index;
  }
  CT_CHECK(false);
}

// `index` is going to be divided by `stride`. If that would fall between two axes of a loop over several, they had
// better be two loops.
void Frame::request_cut(const loop::Index& index, int64_t stride) {
  if (nest_shape_ == nullptr) return;
  for (const loop::Index::Term& term : index.terms()) {
    for (const NestLoop& loop : nest_loops_) {
      if (loop.variable != term.value) continue;
      int64_t inner = term.coefficient;
      for (int axis = loop.last; axis > loop.first; --axis) {
        inner *= (*nest_shape_)[axis];
        if (inner == stride) {
          requested_ |= Cuts{1} << (axis - 1);
          break;
        }
      }
    }
  }
}

// It is asked whether `index` is below `limit`, which depends on the iteration. Where that is one loop's variable and a
// constant, the loop could be two.
void Frame::request_split(const loop::Index& index, int64_t limit) {
  if (nest_shape_ == nullptr || index.terms().size() != 1 || index.terms()[0].coefficient != 1) return;
  for (const NestLoop& loop : nest_loops_) {
    if (loop.variable == index.terms()[0].value && loop.first == loop.last) {
      splits_.push_back({loop.first, limit - index.constant()});
    }
  }
}

namespace {

void append(absl::InlinedVector<int64_t, 16>& key, const loop::Index& index) {
  key.push_back(index.constant());
  for (const loop::Index::Term& term : index.terms()) {
    key.push_back(static_cast<int64_t>(term.value));
    key.push_back(term.coefficient);
  }
}

}  // namespace

void Frame::remember(Var var, const Position& position, loop::Scalar value) {
  Key key{static_cast<int64_t>(var)};
  append(key, linear(position, graph_.aval(var).shape()));
  memory_.back().insert_or_assign(std::move(key), value);
}

loop::Scalar Frame::element(Var var, const Position& position) {
  if (registers_[var]) return *registers_[var];
  // Elements are the same where their row-major positions are.
  const loop::Index at = linear(position, graph_.aval(var).shape());
  Key key{static_cast<int64_t>(var)};
  append(key, at);
  for (size_t i = memory_.size(); i-- > 0;) {
    if (auto found = memory_[i].find(key); found != memory_[i].end()) return found->second;
  }
  loop::Scalar value;
  if (fusion_.stored[var]) {
    CT_CHECK(places_[var].has_value());
    value = b_.load(places_[var]->buffer, places_[var]->offset + at);
  } else {
    value = compute(var, position);
  }
  memory_.back().insert_or_assign(std::move(key), value);
  return value;
}

loop::Scalar Frame::compute(Var var, const Position& position) {
  const Equation& equation = graph_.equations()[fusion_.definition[var]];
  const Primitive& primitive = *equation.primitive;
  absl::Span<const Var> operands = graph_.operands(equation);
  const Aval& aval = graph_.aval(var);
  if (std::find(computed_.begin(), computed_.end(), fusion_.definition[var]) == computed_.end()) {
    computed_.push_back(fusion_.definition[var]);
  }
  if (primitive.lowering == Lowering::kAlias) {
    const Shape& shape = graph_.aval(operands[0]).shape();
    return element(operands[0], flat_position(shape, linear(position, aval.shape())));
  }
  if (primitive.lowering == Lowering::kDot) return dot_element(equation, position);
  if (primitive.scalar) {
    absl::InlinedVector<loop::Scalar, 2> values;
    for (Var operand : operands) values.push_back(element(operand, position));
    return b_.apply(primitive.scalar_op, values);
  }
  RuleBuilder rule(*this, equation, aval.shape(), position);
  const Scalar result =
      primitive.element(rule, graph_.attrs(equation), aval, static_cast<int>(var - equation.first_output), rule.axes());
  return rule.value(result);
}

// Of a product that contracts nothing: one element of each operand.
loop::Scalar Frame::dot_element(const Equation& equation, const Position& position) {
  const DotAxes axes = dot_axes(graph_, equation);
  absl::Span<const Var> operands = graph_.operands(equation);
  const Shape& shape = graph_.aval(equation.first_output).shape();
  const auto batches = static_cast<int>(axes.lhs_batch.size());
  auto read = [&](Var operand, const Ints& batch, const Ints& free, int first_free) {
    const Shape& operand_shape = graph_.aval(operand).shape();
    Position at;
    for (size_t i = 0; i < batch.size(); ++i) {
      if (operand_shape[batch[i]] == 1) continue;
      at.push_back(
          {static_cast<int>(batch[i]), static_cast<int>(batch[i]), axis_index(position, shape, static_cast<int>(i))});
    }
    for (size_t i = 0; i < free.size(); ++i) {
      if (operand_shape[free[i]] == 1) continue;
      at.push_back({static_cast<int>(free[i]), static_cast<int>(free[i]),
                    axis_index(position, shape, first_free + static_cast<int>(i))});
    }
    std::sort(at.begin(), at.end(), [](const AxisGroup& a, const AxisGroup& b) { return a.first < b.first; });
    return element(operand, at);
  };
  const loop::Scalar lhs = read(operands[0], axes.lhs_batch, axes.lhs_free, batches);
  const loop::Scalar rhs =
      read(operands[1], axes.rhs_batch, axes.rhs_free, batches + static_cast<int>(axes.lhs_free.size()));
  return b_.apply(ScalarOp::kMul, lhs, rhs);
}

}  // namespace ct::jit
