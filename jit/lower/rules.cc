// Element rules and loop rules as loop IR: run once, against `RuleBuilder`.
#include "jit/lower/rules.h"

#include "absl/algorithm/container.h"
#include "ir/loops.h"
#include "jit/lower/frame.h"
#include "runtime/error.h"

namespace ct::jit {
namespace {

// The LoopBuilder of the compiler. An element rule is handed the axes of the wanted position unresolved: reading an
// operand at the same axes passes groups on whole, and only arithmetic on one axis of a group takes it apart. A loop
// rule has no position but those that its loops make.
class RuleBuilder final : public LoopBuilder {
 public:
  RuleBuilder(Frame& frame, const Equation& equation, const Shape& shape, const Position& position)
      : frame_(frame),
        b_(frame.builder()),
        equation_(equation),
        operands_(frame.operands(equation)),
        shape_(shape),
        position_(position) {
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      indices_.push_back({axis, 0});
      axes_.push_back({static_cast<uint32_t>(axis)});
    }
  }

  absl::Span<const Index> axes() const { return axes_; }
  loop::Scalar value(Scalar x) {
    Number& number = numbers_[x.id];
    if (!number.emitted) {
      number.emitted = true;
      if (number.wanted) {
        const auto [var, at] = *number.wanted;
        const loop::Scalar element = frame_.element(var, at);
        return numbers_[x.id].scalar = element;
      }
      number.scalar = number.truth ? b_.constant(DType::kBool, *number.truth) : b_.to_scalar(*number.index, x.dtype);
    }
    return number.scalar;
  }

  Scalar read(int operand, absl::Span<const Index> position) override {
    const Position at = position_in(operand_aval(operand).shape(), position);
    if (const auto truth = frame_.limits().truth(operands_[operand], at)) return make_truth(*truth);
    // Of a select, one side may not be wanted.
    if (!is_loop_rule() && frame_.limits().depth() > 0) {
      numbers_.push_back({{}, false, {}, {}, std::pair(operands_[operand], at)});
      return {static_cast<uint32_t>(numbers_.size() - 1), operand_aval(operand).dtype()};
    }
    if (!is_loop_rule()) return make(frame_.element(operands_[operand], at));
    // What one read has computed is not kept for the next: there may be many.
    Frame::Scope scope(frame_);
    return make(frame_.element(operands_[operand], at));
  }
  Scalar read_guarded(int operand, absl::Span<const Index> position, Scalar inside, Scalar otherwise) override {
    if (const auto truth = numbers_[inside.id].truth) return *truth ? read(operand, position) : otherwise;
    const loop::Scalar condition = value(inside);
    const loop::Scalar fallback = value(otherwise);
    // Index arithmetic belongs in front of the branch: what it emits is remembered here.
    const Position at = position_in(operand_aval(operand).shape(), position);
    const loop::Scalars merged = b_.if_else(
        condition,
        [&] {
          Frame::Scope scope(frame_);
          return loop::Scalars{frame_.element(operands_[operand], at)};
        },
        [&] { return loop::Scalars{fallback}; });
    return make(merged[0]);
  }
  const Aval& operand_aval(int operand) const override { return frame_.aval(operands_[operand]); }

  Scalar constant(DType dtype, double value) override { return make(saturated(b_, dtype, value)); }
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
    const loop::Scalar first = value(x);
    return make(b_.apply(op, first, value(y)));
  }
  Scalar select(Scalar predicate, Scalar if_true, Scalar if_false) override {
    if (const auto truth = numbers_[predicate.id].truth) return *truth ? if_true : if_false;
    const loop::Scalar condition = value(predicate), first = value(if_true);
    return make(b_.select(condition, first, value(if_false)));
  }
  Scalar convert(Scalar x, DType dtype) override { return make(b_.convert(value(x), dtype)); }
  Scalar bitcast(Scalar x, DType dtype) override { return make(b_.bitcast(value(x), dtype)); }

  Index index_constant(int64_t value) override { return push(value); }
  Index index_add(Index x, Index y) override { return push(resolve(x) + resolve(y)); }
  Index index_scale(Index x, int64_t factor) override { return push(resolve(x) * factor); }
  Index index_div(Index x, int64_t divisor) override { return push(b_.divide(resolve(x), divisor)); }
  Index index_mod(Index x, int64_t divisor) override {
    const loop::Index index = resolve(x), remainder = b_.modulo(index, divisor);
    // Of spread arrays it says whether there is an element at all; elsewhere, where that is.
    const Arrangement arrangement = equation_.primitive->arrangement;
    const bool spreads = arrangement == Arrangement::kWindows || arrangement == Arrangement::kPad;
    if (spreads && !remainder.is_constant()) frame_.nest().request_phases(index, divisor);
    return push(remainder);
  }
  Index index_from(Scalar integer) override {
    const Number& number = numbers_[integer.id];
    return push(number.index ? *number.index : b_.to_index(value(integer)));
  }
  Scalar index_value(Index x, DType dtype) override {
    if (dtype == DType::kInt64) return make_index(dtype, resolve(x));
    return make(b_.to_scalar(resolve(x), dtype));
  }

  Scalar in_range(Index x, int64_t low, int64_t high) override {
    const Scalar value_of_x = index_value(x, DType::kInt64);
    const Scalar least = constant_integer(DType::kInt64, low), end = constant_integer(DType::kInt64, high);
    const auto above = known(ScalarOp::kGe, value_of_x, least), below = known(ScalarOp::kLt, value_of_x, end);
    if (above || below || high < low) return ElementBuilder::in_range(x, low, high);
    // One comparison for both: what is below `low` is a large number without a sign.
    const loop::Scalar distance = b_.bitcast(b_.to_scalar(resolve(x) - low), DType::kUInt64);
    return make(b_.apply(ScalarOp::kLt, distance, b_.constant(DType::kUInt64, high - low)));
  }

  Index wanted_end(int output, int axis, absl::Span<const Index> position) override {
    const Var var = equation_.first_output + static_cast<Var>(output);
    const Aval& aval = frame_.aval(var);
    if (aval.size() < least_elements()) return index_constant(aval.shape()[axis]);
    return end_at(aval.shape(), frame_.limits().known().wanted(var), axis, position, true);
  }
  // What is not wanted of the operand (jit/fuse/rule_limits.cc) may hold anything: there is no other end than this.
  Index filled_end(int operand, int axis, double value, absl::Span<const Index> position) override {
    const Var var = operands_[operand];
    const ElementLimits& known = frame_.limits().known();
    if (!known.any()) return index_constant(frame_.aval(var).shape()[axis]);
    return end_at(frame_.aval(var).shape(), known.folded(frame_.aval(var), var, value), axis, position, false);
  }
  void for_each(Index end, const std::function<void(Index)>& body) override {
    const loop::Index count = resolve(end);
    if (count == loop::Index(1)) return body(index_constant(0));
    over(count, [&](const loop::Index& index) {
      const Inside inside(*this, end, {index});
      body(push(index));
    });
  }
  void for_each_from(Index begin, Index end, const std::function<void(Index)>& body) override {
    const loop::Index last = resolve(end);
    loop::Index first = resolve(begin);
    if (b_.range_of(last - first).low < 0) {
      first = b_.to_index(b_.apply(ScalarOp::kMin, b_.to_scalar(first), b_.to_scalar(last)));
    }
    const loop::Index count = last - first;
    if (count == loop::Index(0)) return;
    over(count, [&](const loop::Index& index) { body(push(first + index)); });
  }
  Scalar fold(const Along& along, Scalar start,
              const std::function<Scalar(absl::Span<const Index>, Scalar)>& body) override {
    const loop::Index end = resolve(along.end);
    const loop::Index runs = along.run == 1 ? end : b_.divide(end, along.run);
    const loop::Index whole = runs * along.run, rest = end - whole;
    // In the order of the fold: the first of them `first` places away from where it begins.
    const auto extend = [&](const loop::Index& begin, const loop::Index& first, int64_t count, Scalar before) {
      std::vector<loop::Index> at;
      for (int64_t k = 0; k < count; ++k) at.push_back(along.reverse ? begin - 1 - first - k : begin + first + k);
      const Inside inside(*this, along.end, at);
      Indices places;
      for (const loop::Index& each : at) places.push_back(push(each));
      return body(places, before);
    };
    const auto loop = [&](const loop::Index& count, const loop::Index& begin, int64_t run, Scalar before) {
      const loop::Builder::CarrySpec carry{value(before)};
      ++depth_;
      const auto [step, arguments] = b_.begin_for(count, {}, absl::MakeConstSpan(&carry, 1));
      const loop::Scalar next = value(extend(begin, step * run, run, make(arguments[0])));
      --depth_;
      return make(b_.end_for(absl::MakeConstSpan(&next, 1))[0]);
    };
    const auto in_runs = [&](Scalar before) {
      return runs == loop::Index(0) ? before : loop(runs, along.reverse ? whole : 0, along.run, before);
    };
    const auto one_by_one = [&](Scalar before) {
      const loop::Index begin = along.reverse ? end : whole;
      if (!rest.is_constant()) return loop(rest, begin, 1, before);
      for (int64_t k = 0; k < rest.constant(); ++k) before = extend(begin, k, 1, before);
      return before;
    };
    return along.reverse ? in_runs(one_by_one(start)) : one_by_one(in_runs(start));
  }
  void write(int output, absl::Span<const Index> position, Scalar element) override {
    const Var var = equation_.first_output + static_cast<Var>(output);
    if (frame_.aval(var).size() == 1 && depth_ == 0) return frame_.set_result(var, value(element));
    frame_.place(var);
    frame_.store_at(var, position_in(frame_.aval(var).shape(), position), value(element));
  }

 private:
  struct Number {
    loop::Scalar scalar;
    bool emitted = true;
    std::optional<loop::Index> index = {};                // of int64 scalars that are indices
    std::optional<bool> truth = {};                       // of bools that are known
    std::optional<std::pair<Var, Position>> wanted = {};  // an element that is read when it is asked for
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
      frame_.nest().request_split(b_, index, limit);
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
      case ScalarOp::kEq:
        return difference.low == difference.high ? std::optional<bool>(difference.low == 0) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  // Limits at which loops of the rule end.
  struct End {
    Index end;
    Limit limit;
    loop::Index source_place;
    int64_t size;  // of the axis
  };
  // While it lives, what is read at one of the places is inside of the limit at which their loop ends.
  class Inside {
   public:
    Inside(RuleBuilder& rule, Index end, const std::vector<loop::Index>& places)
        : rule_(rule), depth_(rule.frame_.limits().depth()), ends_(rule.ends_.size()) {
      for (const End& each : rule.ends_) {
        if (each.end.id != end.id) continue;
        for (const loop::Index& place : places) {
          rule.frame_.limits().push({each.limit, each.source_place, place, 1, true});
        }
      }
    }
    ~Inside() {
      rule_.frame_.limits().leave(depth_);
      rule_.ends_.resize(ends_);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    RuleBuilder& rule_;
    size_t depth_, ends_;
  };

  Index end_at(const Shape& shape, const Limits& limits, int axis, absl::Span<const Index> position, bool if_ready) {
    const auto is_open = [&](int other) { return other < 0 || position[static_cast<size_t>(other)].id != kOpen.id; };
    const auto index = [&](int other) { return resolve(position[static_cast<size_t>(other)]); };
    for (const Limit& limit : limits) {
      if (limit.axis != axis || !absl::c_all_of(limit.axes, is_open)) continue;
      if (if_ready && !frame_.is_ready(limit.source)) continue;
      const loop::Index place = frame_.limits().source_place(limit, index);
      for (const End& each : ends_) {
        const bool same = each.limit.source == limit.source && each.limit.offset == limit.offset &&
                          each.limit.factor == limit.factor && each.limit.step == limit.step;
        if (same && each.source_place == place && each.size == shape[axis]) return each.end;
      }
      ends_.push_back({push(frame_.length(limit, shape[axis], index)), limit, place, shape[axis]});
      return ends_.back().end;
    }
    return index_constant(shape[axis]);
  }

  void over(const loop::Index& count, const std::function<void(const loop::Index&)>& body) {
    ++depth_;
    b_.for_each(count, {.vectorize = true, .parallel = true}, body);
    --depth_;
  }
  bool is_loop_rule() const { return static_cast<bool>(equation_.primitive->loops); }

  Position position_in(const Shape& shape, absl::Span<const Index> indices) {
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
  const Equation& equation_;
  absl::Span<const Var> operands_;
  const Shape& shape_;
  const Position& position_;
  Indices axes_;
  std::vector<Entry> indices_;
  std::vector<Number> numbers_;
  std::vector<End> ends_;
  int depth_ = 0;  // of loops that are open
};

const LoweringFor<ElementRule, ElementRuleLowering> kElementRuleLowering;

// Each element of an operand is read once, where the loops stand.
class LoopRuleLowering final : public Lowering {
 public:
  OperandReading reading(const Graph&, const Equation&, int) const override { return {}; }
  OperandLimits operand_limits(const ElementLimits& limits, const Graph& graph,
                               const Equation& equation) const override {
    return loop_operand_limits(limits, graph, equation);
  }

  void emit(Frame& frame, const Equation& equation) const override {
    Avals results;
    bool empty = true;
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      results.push_back(frame.aval(equation.first_output + k));
      if (results[k].size() != 1) frame.place(equation.first_output + k);
      empty = empty && results[k].size() == 0;
    }
    if (empty) return;
    RuleBuilder rule(frame, equation, {}, {});
    equation.primitive->loops(rule, frame.attrs(equation), results);
  }
};
const LoweringFor<LoopRule, LoopRuleLowering> kLoopRuleLowering;

}  // namespace

bool ElementRuleLowering::has_elements(const Graph&, const Equation& equation) const {
  return static_cast<bool>(equation.primitive->element);
}

ElementFacts ElementRuleLowering::element_facts(const Graph& graph, const Equation& equation, int output) const {
  return rule_facts(graph, equation, output);
}

std::optional<View> ElementRuleLowering::view(const Graph& graph, const Equation& equation,
                                              const ViewOf& view_of) const {
  return rule_view(graph, equation, view_of);
}

loop::Scalar ElementRuleLowering::element(Frame& frame, const Equation& equation, Var var,
                                          const Position& position) const {
  const Primitive& primitive = *equation.primitive;
  if (primitive.scalar) {
    absl::InlinedVector<loop::Scalar, 2> values;
    for (Var operand : frame.operands(equation)) values.push_back(frame.element(operand, position));
    return frame.builder().apply(primitive.scalar_op, values);
  }
  const Aval& aval = frame.aval(var);
  RuleBuilder rule(frame, equation, aval.shape(), position);
  const auto output = static_cast<int>(var - equation.first_output);
  return rule.value(primitive.element(rule, frame.attrs(equation), aval, output, rule.axes()));
}

}  // namespace ct::jit
