// What element rules say about limits, found by running them on forms instead of numbers.
#include <algorithm>
#include <bit>

#include "ir/loops.h"
#include "ir/ops.h"
#include "ir/primitive.h"
#include "jit/fuse/limits.h"
#include "runtime/float_types.h"

namespace ct::jit {
namespace {

bool fits(DType dtype, int64_t number) {
  const int bits = 8 * dtype_size(dtype) - 1;
  return is_integer(dtype) && (bits >= 63 || std::abs(number) < (int64_t{1} << bits));
}

constexpr int64_t kExactInteger = int64_t{1} << 53;  // as double

bool same_number(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

std::optional<bool> holds(ScalarOp op, double x, double y) {
  switch (op) {
    case ScalarOp::kEq:
      return x == y;
    case ScalarOp::kNe:
      return x != y;
    case ScalarOp::kLt:
      return x < y;
    case ScalarOp::kLe:
      return x <= y;
    case ScalarOp::kGt:
      return x > y;
    case ScalarOp::kGe:
      return x >= y;
    default:
      return std::nullopt;
  }
}

void add(Limits& limits, const Limits& more) {
  for (const Limit& each : more) {
    if (!contains(limits, each)) limits.push_back(each);
  }
}

void add_fillings(ElementForm& form, const Limits& behind, const ElementForm& shown, double value) {
  const auto add_one = [&](const Limit& limit) {
    for (const Filling& each : form.fillings) {
      if (each.limit == limit) return;
    }
    form.fillings.push_back({limit, value});
  };
  for (const Limit& limit : behind) add_one(limit);
  for (const Filling& each : shown.fillings) {
    if (same_number(each.value, value)) add_one(each.limit);
  }
}

// Where both are zero, so are their sum, difference and product: behind the looser of two limits of one length.
void add_common_zeros(ElementForm& form, const ElementForm& a, const ElementForm& b) {
  const auto zeros = [](const ElementForm& of) {
    Limits limits;
    for (const Filling& each : of.fillings) {
      if (each.value == 0) limits.push_back(each.limit);
    }
    return limits;
  };
  Limits common = zeros(a);
  keep_common(common, zeros(b));
  for (Limit& limit : common) form.fillings.push_back({std::move(limit), 0});
}

// What is known behind a limit, compared with a constant.
void compare_fillings(ScalarOp op, const ElementForm& a, const ElementForm& b, ElementForm& result) {
  const auto compare = [&](const Filling& filling, double x, double y) {
    const std::optional<bool> truth = holds(op, x, y);
    if (truth) (*truth ? result.when_false : result.when_true).push_back(filling.limit);
  };
  if (b.constant) {
    for (const Filling& each : a.fillings) compare(each, each.value, *b.constant);
  } else if (a.constant) {
    for (const Filling& each : b.fillings) compare(each, *a.constant, each.value);
  }
}

// An index plus or minus a constant, along axes of these sizes.
ElementForm moved(ScalarOp op, DType dtype, const Shape& shape, const ElementForm& a, const ElementForm& b) {
  ElementForm result;
  if (a.index_axis < 0 && op == ScalarOp::kAdd && b.index_axis >= 0) return moved(op, dtype, shape, b, a);
  if (a.index_axis < 0 || !b.constant || !is_signed_integer(dtype)) return result;
  const int64_t offset = a.index_offset + static_cast<int64_t>(op == ScalarOp::kAdd ? *b.constant : -*b.constant);
  if (!fits(dtype, shape[a.index_axis] + std::abs(offset))) return result;
  result.index_axis = a.index_axis;
  result.index_offset = offset;
  return result;
}

// The rules on this and on the compiler's builder (lower/rules.cc) must agree: see there.
bool is_open_along(const Limit& limit, absl::Span<const Index> position) {
  return std::all_of(limit.axes.begin(), limit.axes.end(), [&](int axis) {
    return axis < 0 || position[static_cast<size_t>(axis)].id != LoopBuilder::kOpen.id;
  });
}

int64_t floor_div(int64_t x, int64_t divisor) { return x >= 0 ? x / divisor : -((-x - 1) / divisor + 1); }

// The first elements of an axis are few if they are not more than these, or one in so many of all.
constexpr int64_t kFew = 4;

// Beyond this, nothing is known: keeps calculations far from overflow.
constexpr int64_t kLargestFactor = int64_t{1} << 20;

// Where an index points: `over` times the index is something from `least` to `most` and, unless `axis` is -1, `times`
// the index along an axis of the result, or of a loop.
struct IndexPlace {
  bool known = false;
  int axis = -1;
  int64_t least = 0, most = 0;
  int64_t times = 1, over = 1;
  std::optional<Limit> end = {};  // of a loop; its axis will be the loop's
  std::optional<Bound> bound = {};
};

// Without its axis: all places along it.
IndexPlace anywhere_along(const IndexPlace& place, const Shape& shape) {
  const int64_t last = place.axis < 0 ? 0 : place.times * std::max<int64_t>(shape[place.axis] - 1, 0);
  return {true, -1, floor_div(place.least, place.over), floor_div(place.most + last, place.over)};
}

// How many, if no place is behind the first few elements of an axis of this size; else 0.
int64_t first_elements(const IndexPlace& place, const Shape& shape, int64_t size) {
  if (!place.known || place.end) return 0;
  const int64_t end = anywhere_along(place, shape).most + 1;
  return end > 0 && end < size && (end <= kFew || end * kFew <= size) ? end : 0;
}

// Of an element rule the axes are those of the result; of a loop rule, those of its loops.
class FormBuilder final : public LoopBuilder {
 public:
  FormBuilder(const ElementLimits& limits, const Graph& graph, const Equation& equation)
      : limits_(limits), graph_(graph), operands_(graph.operands(equation)), first_output_(equation.first_output) {}
  FormBuilder(const ElementLimits& limits, const Graph& graph, const Equation& equation, const Aval& result)
      : FormBuilder(limits, graph, equation) {
    shape_ = result.shape();
    for (int axis = 0; axis < result.rank(); ++axis) position_.push_back(push({true, axis, 0}));
  }
  int rank() const { return static_cast<int>(shape_.size()); }
  const Limits& loop_ends() const { return loop_ends_; }

  absl::Span<const Index> position() const { return position_; }
  const ElementForm& form(Scalar x) const { return numbers_[x.id].form; }

  // What is true of every position from here on.
  void assume(const Limits& limits) { assumed_ = limits; }

  // An operand as it is wanted: where, and behind which limits of the result it is not.
  struct Read {
    int operand;
    AxisMap axes;  // of the operand, in the result
    std::optional<Limits> used = {};
    bool anywhere = false;
    Limits own = {};    // of the operand: at indices that are known to be below these
    Limits first = {};  // the same whatever is wanted: below these numbers
  };
  absl::Span<const Read> reads() const { return reads_; }
  void use(Scalar x) { use_within(x, {}); }
  // The read that the scalar is, if it is nothing but one.
  const Read* read_behind(Scalar x) const {
    const int read = numbers_[x.id].read;
    return read < 0 ? nullptr : &reads_[static_cast<size_t>(read)];
  }

  Scalar read(int operand, absl::Span<const Index> position) override {
    Read read{operand, {}};
    for (const Index index : position) {
      const IndexPlace& place = places_[index.id];
      read.axes.push_back(place.known ? AxisOf{place.axis, place.least, place.most, place.times, place.over}
                                      : AxisOf{});
    }
    add_own_limits(position, read);
    for (size_t i = 0; i < position.size(); ++i) {
      const int64_t count = first_elements(places_[position[i].id], shape_, operand_aval(operand).shape()[i]);
      if (count > 0) read.first.push_back({static_cast<int>(i), kNoVar, count});
    }
    Number number{mapped(limits_.form(graph_, operands_[operand]), read.axes), static_cast<int>(reads_.size())};
    reads_.push_back(std::move(read));
    return make(std::move(number), operand_aval(operand).dtype());
  }
  Scalar read_guarded(int operand, absl::Span<const Index> position, Scalar inside, Scalar otherwise) override {
    const Scalar element = read(operand, position);
    use_within(element, form(inside).when_true);
    use(inside);
    use(otherwise);
    ElementForm result;
    if (const ElementForm& outside = form(otherwise); outside.constant) {
      add_fillings(result, form(inside).when_true, form(element), *outside.constant);
    }
    return make({std::move(result)}, element.dtype);
  }
  const Aval& operand_aval(int operand) const override { return graph_.aval(operands_[operand]); }

  Scalar constant(DType dtype, double value) override {
    ElementForm form;
    form.constant = value;
    form.never_negative = value >= 0;
    if (is_float(dtype)) form.constant = rounded(dtype, value);
    return make({std::move(form)}, dtype);
  }
  Scalar constant_integer(DType dtype, int64_t value) override {
    if (std::abs(value) > kExactInteger) return make({}, dtype);
    return constant(dtype, static_cast<double>(value));
  }
  Scalar constant_complex(DType dtype, double real, double imag) override {
    if (imag != 0) return make({}, dtype);
    return constant(dtype, real);
  }
  Scalar unary(ScalarOp op, Scalar x) override {
    use(x);
    ElementForm result;
    if (op == ScalarOp::kNot && is_bool(x.dtype)) {
      result.when_true = form(x).when_false;
      result.when_false = form(x).when_true;
    }
    const bool parts = op == ScalarOp::kReal || op == ScalarOp::kImag || op == ScalarOp::kAbs;
    if (op == ScalarOp::kIsFinite) return make({}, DType::kBool);
    return make({std::move(result)}, parts ? real_dtype(x.dtype) : x.dtype);
  }
  Scalar binary(ScalarOp op, Scalar x, Scalar y) override {
    use(x);
    use(y);
    const ElementForm &a = form(x), &b = form(y);
    if (is_comparison(op)) {
      ElementForm result = compared(op, a, b);
      if (!result.exact && result.when_false.empty()) compare_fillings(op, a, b, result);
      return make({std::move(result)}, DType::kBool);
    }
    ElementForm result;
    if (is_bool(x.dtype) && (op == ScalarOp::kAnd || op == ScalarOp::kMul)) {
      result.when_true = a.when_true;
      add(result.when_true, b.when_true);
      result.exact = a.exact && b.exact;
    } else if (is_bool(x.dtype) && (op == ScalarOp::kOr || op == ScalarOp::kAdd)) {
      result.when_false = a.when_false;
      add(result.when_false, b.when_false);
    } else if (op == ScalarOp::kAdd || op == ScalarOp::kSub) {
      result = moved(op, x.dtype, shape_, a, b);
    }
    // Sums may wrap around.
    if (op == ScalarOp::kMin) result.never_negative = a.never_negative && b.never_negative;
    if (op == ScalarOp::kDiv) result.never_negative = a.never_negative && b.constant && *b.constant > 0;
    if (op == ScalarOp::kMax) result.never_negative = a.never_negative || b.never_negative;
    if (!is_bool(x.dtype) && (op == ScalarOp::kAdd || op == ScalarOp::kSub || op == ScalarOp::kMul)) {
      add_common_zeros(result, a, b);
    }
    return make({std::move(result)}, op == ScalarOp::kComplex ? complex_dtype(x.dtype) : x.dtype);
  }
  Scalar select(Scalar predicate, Scalar if_true, Scalar if_false) override {
    const ElementForm condition = form(predicate);
    const auto assumed = [&](const Limit& limit) { return contains(assumed_, limit); };
    if (condition.exact && std::all_of(condition.when_true.begin(), condition.when_true.end(), assumed)) return if_true;
    use(predicate);
    use_within(if_true, condition.when_true);
    use_within(if_false, condition.when_false);
    const ElementForm &a = form(if_true), &b = form(if_false);
    ElementForm result;
    if (b.constant) add_fillings(result, condition.when_true, a, *b.constant);
    if (a.constant) add_fillings(result, condition.when_false, b, *a.constant);
    result.never_negative = a.never_negative && b.never_negative;
    const bool is_compared = condition.compared != kNoVar && condition.compared == a.source;
    if (is_compared && condition.compared_axes == a.source_axes && b.constant && *b.constant < 0) {
      result.bound = condition.compared_bound;
    }
    return make({std::move(result)}, if_true.dtype);
  }
  // Zero is zero in every dtype; integers that widen stay what they are.
  Scalar convert(Scalar x, DType dtype) override {
    use(x);
    const ElementForm& from = form(x);
    ElementForm result;
    if (from.constant && *from.constant == 0) result.constant = 0;
    const bool widens =
        is_integer(x.dtype) && is_integer(dtype) && dtype_size(dtype) >= dtype_size(x.dtype) &&
        (is_signed_integer(dtype) || !is_signed_integer(x.dtype)) &&
        (is_signed_integer(x.dtype) == is_signed_integer(dtype) || dtype_size(dtype) > dtype_size(x.dtype));
    if (widens) {
      result.index_axis = from.index_axis;
      result.index_offset = from.index_offset;
      result.source = from.source;
      result.source_axes = from.source_axes;
      result.bound = from.bound;
      result.never_negative = from.never_negative;
    }
    for (const Filling& each : from.fillings) {
      if (each.value == 0) result.fillings.push_back({each.limit, 0});
    }
    return make({std::move(result)}, dtype);
  }
  Scalar bitcast(Scalar x, DType dtype) override {
    use(x);
    return make({}, dtype);
  }

  Index index_constant(int64_t value) override { return push({true, -1, value, value}); }
  // Of two axes, the longer one tells where it is, and the other one how far from there.
  Index index_add(Index x, Index y) override {
    IndexPlace a = places_[x.id], b = places_[y.id];
    if (!a.known || !b.known) return push({});
    if (a.axis >= 0 && b.axis >= 0) {
      IndexPlace& shorter = shape_[a.axis] < shape_[b.axis] ? a : b;
      shorter = anywhere_along(shorter, shape_);
    }
    const IndexPlace &along = a.axis >= 0 ? a : b, &constant = a.axis >= 0 ? b : a;
    IndexPlace sum = along;
    sum.end = {};
    sum.bound = {};
    sum.least += along.over * constant.least;
    sum.most += along.over * constant.most;
    return push(sum);
  }
  Index index_scale(Index x, int64_t factor) override {
    if (factor == 1 || !places_[x.id].known) return x;
    IndexPlace place = places_[x.id];
    if (factor > 0 && factor <= kLargestFactor && place.times * factor <= kLargestFactor) {
      return push({true, place.axis, place.least * factor, place.most * factor, place.times * factor, place.over});
    }
    place = anywhere_along(place, shape_);
    const int64_t first = place.least * factor, last = place.most * factor;
    return push({true, -1, std::min(first, last), std::max(first, last)});
  }
  Index index_div(Index x, int64_t divisor) override {
    const IndexPlace& place = places_[x.id];
    if (divisor == 1) return x;
    if (!place.known || divisor > kLargestFactor || place.over * divisor > kLargestFactor) return push({});
    const int64_t rest = place.over * (divisor - 1);
    return push({true, place.axis, place.least - rest, place.most, place.times, place.over * divisor});
  }
  Index index_mod(Index, int64_t divisor) override { return divisor == 1 ? index_constant(0) : push({}); }
  // Where an element is read from must be a place that there is, whoever reads it: an index is wanted for all elements.
  Index index_from(Scalar integer) override {
    if (const int read = numbers_[integer.id].read; read >= 0) {
      use(integer);
      reads_[read].anywhere = true;
    }
    return push({.bound = form(integer).bound});
  }
  Scalar index_value(Index x, DType dtype) override {
    const IndexPlace& place = places_[x.id];
    ElementForm result;
    const bool is_index = place.known && place.axis >= 0 && place.least == place.most && place.times * place.over == 1;
    if (is_index && fits(dtype, shape_[place.axis] + std::abs(place.least))) {
      result.index_axis = place.axis;
      result.index_offset = place.least;
    }
    return make({std::move(result)}, dtype);
  }

  Index wanted_end(int output, int axis, absl::Span<const Index> position) override {
    const Var var = first_output_ + static_cast<Var>(output);
    return end_at(graph_.aval(var).shape()[axis], limits_.wanted(var), axis, position);
  }
  Index filled_end(int operand, int axis, double value, absl::Span<const Index> position) override {
    const Var var = operands_[operand];
    const Aval& aval = graph_.aval(var);
    return end_at(aval.shape()[axis], limits_.folded(aval, var, value), axis, position);
  }
  void for_each(Index end, const std::function<void(Index)>& body) override { body(loop_to(end)); }
  void for_each_from(Index, Index, const std::function<void(Index)>& body) override { body(push({})); }
  // Once with a run of places, once with one: they are all of the same loop.
  Scalar fold(const Along& along, Scalar start,
              const std::function<Scalar(absl::Span<const Index>, Scalar)>& body) override {
    const Index place = loop_to(along.end);
    use(start);
    for (const int64_t count : {along.run, int64_t{1}}) {
      use(body(Indices(static_cast<size_t>(count), place), make({}, start.dtype)));
    }
    return make({}, start.dtype);
  }
  void write(int, absl::Span<const Index>, Scalar element) override { use(element); }

 private:
  struct Number {
    ElementForm form = {};
    int read = -1;  // that it is, if it is nothing but one
  };

  Index push(IndexPlace place) {
    places_.push_back(place);
    return {static_cast<uint32_t>(places_.size() - 1)};
  }
  Scalar make(Number number, DType dtype) {
    numbers_.push_back(std::move(number));
    return {static_cast<uint32_t>(numbers_.size() - 1), dtype};
  }

  // Negative indices are not read at: nobody may, without a guard.
  void add_own_limits(absl::Span<const Index> position, Read& read) const {
    const AxisMap back = inverse(read.axes, rank());
    for (size_t i = 0; i < position.size(); ++i) {
      const std::optional<Bound>& bound = places_[position[i].id].bound;
      if (!bound) continue;
      Limit limit{static_cast<int>(i), bound->source, bound->offset, bound->axes};
      bool whole = true;
      for (int& axis : limit.axes) {
        if (axis < 0) continue;
        const AxisOf& along = back[static_cast<size_t>(axis)];
        whole = whole && along.is_same();
        axis = along.axis;
      }
      if (whole) read.own.push_back(std::move(limit));
    }
  }

  Index end_at(int64_t size, const Limits& limits, int axis, absl::Span<const Index> position) {
    for (const Limit& limit : limits) {
      if (limit.axis != axis || !is_open_along(limit, position)) continue;
      Limit end = limit;
      for (int& other : end.axes) {
        if (other >= 0) other = places_[position[static_cast<size_t>(other)].id].axis;
      }
      return push({.known = true, .least = size, .most = size, .end = std::move(end)});
    }
    return index_constant(size);
  }
  Index loop_to(Index end) {
    const IndexPlace to = places_[end.id];
    const int axis = rank();
    shape_.push_back(to.known ? to.most : 0);
    if (to.end) {
      loop_ends_.push_back(*to.end);
      loop_ends_.back().axis = axis;
    }
    return push({to.known, axis});
  }

  void use_within(Scalar x, const Limits& limits) {
    const int number = numbers_[x.id].read;
    if (number < 0) return;
    std::optional<Limits>& used = reads_[number].used;
    if (!used) {
      used = limits;
      return;
    }
    keep_common(*used, limits);
  }

  // An index compared with a length, on either side.
  ElementForm compared(ScalarOp op, const ElementForm& a, const ElementForm& b) const {
    if (a.index_axis < 0 && b.index_axis >= 0) {
      const ScalarOp turned = op == ScalarOp::kLt   ? ScalarOp::kGt
                              : op == ScalarOp::kLe ? ScalarOp::kGe
                              : op == ScalarOp::kGt ? ScalarOp::kLt
                              : op == ScalarOp::kGe ? ScalarOp::kLe
                                                    : op;
      return compared(turned, b, a);
    }
    ElementForm result;
    if (b.source == kNoVar || graph_.aval(b.source).dtype() == DType::kUInt64) return result;
    if (a.index_axis < 0) {
      if (a.source == kNoVar || (op != ScalarOp::kLt && op != ScalarOp::kLe)) return result;
      result.compared = a.source;
      result.compared_axes = a.source_axes;
      result.compared_bound = Bound{b.source, op == ScalarOp::kLe ? 1 : 0, b.source_axes};
      return result;
    }
    if (std::find(b.source_axes.begin(), b.source_axes.end(), a.index_axis) != b.source_axes.end()) return result;
    const bool or_equal = op == ScalarOp::kLe || op == ScalarOp::kGt;
    const Limit limit{a.index_axis, b.source, (or_equal ? 1 : 0) - a.index_offset, b.source_axes};
    if (op == ScalarOp::kLt || op == ScalarOp::kLe) {
      result.when_true = {limit};
      result.exact = true;
    } else if (op == ScalarOp::kGe || op == ScalarOp::kGt) {
      result.when_false = {limit};
    }
    return result;
  }

  const ElementLimits& limits_;
  const Graph& graph_;
  absl::Span<const Var> operands_;
  const Var first_output_;
  Shape shape_;
  Limits assumed_;
  Limits loop_ends_;
  Indices position_;
  std::vector<IndexPlace> places_;
  std::vector<Number> numbers_;
  std::vector<Read> reads_;
};

// Of a primitive that is one scalar operation at each element.
Scalar run(FormBuilder& forms, const Graph& graph, const Equation& equation, int output) {
  const Primitive& primitive = *equation.primitive;
  if (!primitive.scalar) {
    const Aval& aval = graph.aval(equation.first_output + static_cast<Var>(output));
    return primitive.element(forms, graph.attrs(equation), aval, output, forms.position());
  }
  const Scalar x = forms.read(0, forms.position());
  if (equation.operand_count == 1) return forms.unary(primitive.scalar_op, x);
  return forms.binary(primitive.scalar_op, x, forms.read(1, forms.position()));
}

}  // namespace

ElementForm rule_form(const ElementLimits& limits, const Graph& graph, const Equation& equation, int output) {
  FormBuilder forms(limits, graph, equation, graph.aval(equation.first_output + static_cast<Var>(output)));
  return forms.form(run(forms, graph, equation, output));
}

Var rule_shown(const ElementLimits& limits, const Graph& graph, const Equation& equation, int output,
               const Limits& within) {
  const Var var = equation.first_output + static_cast<Var>(output);
  FormBuilder forms(limits, graph, equation, graph.aval(var));
  forms.assume(within);
  const FormBuilder::Read* read = forms.read_behind(run(forms, graph, equation, output));
  if (read == nullptr) return kNoVar;
  const Var operand = graph.operands(equation)[static_cast<size_t>(read->operand)];
  if (!same_type(graph.aval(operand), graph.aval(var))) return kNoVar;
  for (int axis = 0; axis < graph.aval(var).rank(); ++axis) {
    const AxisOf& at = read->axes[static_cast<size_t>(axis)];
    if (graph.aval(var).shape()[axis] > 1 && (at.axis != axis || !at.is_same())) return kNoVar;
  }
  return operand;
}

namespace {

// Adds what was read, by positions behind which no axis goes.
void add_reads(const ElementLimits& limits, const FormBuilder& forms, const Limits& axes, OperandLimits& result) {
  for (const FormBuilder::Read& read : forms.reads()) {
    if (!read.used) continue;
    Limits here;
    if (!read.anywhere) {
      const AxisMap back = inverse(read.axes, forms.rank());
      Limits of_result = *read.used;
      add(of_result, axes);
      for (const Limit& each : of_result) {
        if (auto limit = mapped(each, back)) here.push_back(*std::move(limit));
      }
      add(here, read.own);
    }
    if (!read.anywhere) {
      for (const Limit& each : read.first) {
        if (std::ranges::none_of(here, [&](const Limit& limit) { return limit.axis == each.axis; })) {
          here.push_back(each);
        }
      }
    }
    std::optional<Limits>& all = result[read.operand];
    if (all) {
      limits.join(*all, here);
    } else {
      all = std::move(here);
    }
  }
}

}  // namespace

OperandLimits rule_operand_limits(const ElementLimits& limits, const Graph& graph, const Equation& equation) {
  OperandLimits result(equation.operand_count);
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    const Var var = equation.first_output + k;
    if (!limits.is_wanted(var)) continue;
    FormBuilder forms(limits, graph, equation, graph.aval(var));
    forms.use(run(forms, graph, equation, static_cast<int>(k)));
    add_reads(limits, forms, limits.wanted(var), result);
  }
  return result;
}

OperandLimits loop_operand_limits(const ElementLimits& limits, const Graph& graph, const Equation& equation) {
  OperandLimits result(equation.operand_count);
  Avals results;
  bool empty = true;
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    results.push_back(graph.aval(equation.first_output + k));
    empty = empty && results[k].size() == 0;
  }
  if (empty) return result;
  FormBuilder forms(limits, graph, equation);
  equation.primitive->loops(forms, graph.attrs(equation), results);
  add_reads(limits, forms, forms.loop_ends(), result);
  return result;
}

}  // namespace ct::jit
