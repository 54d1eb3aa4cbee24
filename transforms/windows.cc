// The sum, over the places of a window, of a product that windows are taken of: the derivative of a convolution of one
// feature by its longer operand.
//
//   r[t] = sum over w of window_slice(q[o] * b[w])     ->     r[t] = sum over w of window_slice(q)[t, w] * b[w]
//
// The left side is computed element by element, the right side is a product, which reads its windows from q in memory.
// They are the same as long as every place of the window is inside of q; where one is outside, the left side adds 0 and
// the right side 0 * b[w], which is NaN for b[w] that are not finite. So the result falls into the elements whose
// window is inside, by a product, and those before and behind them, as they were. The slice that a convolution in mode
// "full" takes of its derivative is the former, and canonical_folds drops the others.
//
// Where q is shorter than b, as where a convolution has few results, the windows are those of b:
//
//   r[t] = sum over o of q[o] * window_slice(b)[t, o]
#include "transforms/windows.h"

#include <algorithm>
#include <optional>

#include "ir/ops.h"
#include "ir/primitives.h"
#include "transforms/common.h"

namespace ct {
namespace {

constexpr int64_t kLeastWindow = 8;  // shorter ones are cheap, and fuse with what made the factors
bool contains(const Ints& axes, int64_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

// Elements of the result along one spatial axis.
struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// An axis of an outer product: in which factors it is, and where.
struct Origin {
  int lhs = -1, rhs = -1;
};

class SumOfWindows {
 public:
  // Null unless `sum` of `x` is of the form above.
  static Value product(Builder& builder, Value x, const Ints& sum_axes) {
    SumOfWindows self(builder, sum_axes);
    return self.matches(x) ? self.along(0) : Value();
  }

 private:
  SumOfWindows(Builder& builder, const Ints& sum_axes) : builder_(builder), sum_axes_(sum_axes) {}

  // Outside of mask regions set_length does nothing.
  template <class Predicate>
  static std::optional<Equation> made_by_one_that(Predicate predicate, Value& value) {
    auto equation = made_by(value);
    while (equation && equation->primitive->length_role == LengthRole::kSet) {
      value = {value.builder, value.builder->operands(*equation)[0]};
      equation = made_by(value);
    }
    return equation && predicate(*equation->primitive) ? equation : std::nullopt;
  }

  bool matches(Value x) {
    const auto windows = made_by_one_that([](const Primitive& p) { return p.arrangement == Arrangement::kWindows; }, x);
    if (!windows) return false;
    windows_ = WindowAttrs::from(builder_.attrs(*windows));
    product_ = {&builder_, builder_.operands(*windows)[0]};
    const auto outer = made_by_one_that([](const Primitive& p) { return p.is<structures::Product>(); }, product_);
    if (!outer) return false;
    const auto dimensions = DotDimensions::from(builder_.attrs(*outer));
    if (!dimensions.lhs_contract.empty()) return false;
    factors_[0] = {&builder_, builder_.operands(*outer)[0]};
    factors_[1] = {&builder_, builder_.operands(*outer)[1]};
    find_origins(dimensions.lhs_batch, dimensions.rhs_batch);
    return are_windows_of_a_factor() && (find_inside_exchanged() || find_inside());
  }

  void find_origins(const Ints& lhs_batch, const Ints& rhs_batch) {
    for (size_t i = 0; i < lhs_batch.size(); ++i) {
      origins_.push_back({static_cast<int>(lhs_batch[i]), static_cast<int>(rhs_batch[i])});
    }
    for (int axis = 0; axis < factors_[0].rank(); ++axis) {
      if (!contains(lhs_batch, axis)) origins_.push_back({axis, -1});
    }
    for (int axis = 0; axis < factors_[1].rank(); ++axis) {
      if (!contains(rhs_batch, axis)) origins_.push_back({-1, axis});
    }
  }

  // Whether the windows slide over one factor, and the other has one element for each place of the window; and the sum
  // is over these, and over axes that both factors have.
  bool are_windows_of_a_factor() {
    const Ints &axes = windows_.axes, &window_axes = windows_.window_axes;
    if (axes.empty()) return false;
    from_lhs_ = origins_[axes[0]].lhs >= 0;
    int64_t window = 1;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Origin spatial = origins_[axes[i]], place = origins_[window_axes[i]];
      const bool lhs = spatial.rhs < 0 && place.lhs < 0, rhs = spatial.lhs < 0 && place.rhs < 0;
      if (from_lhs_ ? !lhs : !rhs) return false;
      if (windows_.dilation[i] != 1 || !contains(sum_axes_, window_axes[i])) return false;
      window *= product_.shape()[window_axes[i]];
    }
    for (const int64_t axis : sum_axes_) {
      const bool both = origins_[axis].lhs >= 0 && origins_[axis].rhs >= 0;
      if (!both && !contains(window_axes, axis)) return false;
    }
    return window >= kLeastWindow;
  }

  // Where the windows are inside; whether that is so for enough elements.
  bool find_inside() {
    const auto& [axes, window_axes, sizes, step, window_step, dilation, offset] = windows_;
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t places = product_.shape()[window_axes[i]], elements = sizes[i];
      const int64_t reach = (places - 1) * window_step[i];
      // 0 <= t * step + low and t * step + high < size
      const int64_t low = offset[i] + std::min<int64_t>(reach, 0), high = offset[i] + std::max<int64_t>(reach, 0);
      const int64_t room = product_.shape()[axes[i]] - 1 - high;
      const int64_t begin = low >= 0 ? 0 : (-low + step[i] - 1) / step[i];
      const int64_t end = room < 0 ? 0 : std::min(elements, room / step[i] + 1);
      if (places == 0 || 4 * (end - begin) < places) return false;
      inside_.push_back({begin, end});
      ranges_.push_back({0, elements});
    }
    return true;
  }

  // The same of the windows of the factor that has one element for each place.
  bool find_inside_exchanged() {
    if (windows_.axes.size() != 1 || windows_.step[0] != 1) return false;
    const int64_t window_step = windows_.window_step[0], offset = windows_.offset[0];
    const int64_t size = product_.shape()[windows_.axes[0]];
    const int64_t places = product_.shape()[windows_.window_axes[0]], elements = windows_.sizes[0];
    if (std::abs(window_step) != 1 || size >= places || size == 0) return false;
    // w = window_step * (o - t - offset) lies in [0, places) for all o in [0, size).
    const int64_t first = window_step < 0 ? size - 1 - offset : size - offset - places;
    const int64_t last = window_step < 0 ? places - 1 - offset : -offset;
    const Range inside{std::max<int64_t>(first, 0), std::min(last + 1, elements)};
    if (4 * inside.size() < size) return false;
    inside_ = {inside};
    ranges_ = {{0, elements}};
    exchanged_ = true;
    return true;
  }

  // The sum for the ranges, those of the first `done` spatial axes being inside.
  Value along(size_t done) {
    if (done == inside_.size()) return exchanged_ ? product_exchanged() : product_inside();
    const Range whole = ranges_[done], inside = inside_[done];
    Values pieces;
    for (const Range part : {Range{whole.begin, inside.begin}, inside, Range{inside.end, whole.end}}) {
      if (part.size() <= 0) continue;
      ranges_[done] = part;
      pieces.push_back(part.begin == inside.begin ? along(done + 1) : sum());
    }
    ranges_[done] = whole;
    if (pieces.size() == 1) return pieces[0];
    return concatenate(pieces, axis_of_sum(windows_.axes[done]));
  }

  // Where an axis of the product is in the sum.
  int axis_of_sum(int64_t axis) const {
    const auto before = [&](int64_t summed) { return summed < axis; };
    return static_cast<int>(axis - std::count_if(sum_axes_.begin(), sum_axes_.end(), before));
  }

  // The windows of the ranges; `axes` and `window_axes` are those of `x`.
  Value windows(Value x, const Ints& axes, const Ints& window_axes) {
    Ints sizes, offsets;
    for (size_t i = 0; i < ranges_.size(); ++i) {
      sizes.push_back(ranges_[i].size());
      offsets.push_back(windows_.offset[i] + ranges_[i].begin * windows_.step[i]);
    }
    WindowAttrs part = windows_;
    part.axes = axes;
    part.window_axes = window_axes;
    part.sizes = std::move(sizes);
    part.offset = std::move(offsets);
    return window_slice(x, part);
  }

  Value sum() { return reduce_sum(windows(product_, windows_.axes, windows_.window_axes), sum_axes_); }

  Value product_inside() {
    Value source = factors_[from_lhs_ ? 0 : 1];
    Ints axes, places, contract, weights_contract;
    for (const int64_t axis : windows_.axes) axes.push_back(in_factor(axis, from_lhs_));
    for (const int64_t axis : windows_.window_axes) {
      places.push_back(source.rank());
      contract.push_back(source.rank());
      weights_contract.push_back(in_factor(axis, !from_lhs_));
      source = broadcast_axis(source, source.rank(), product_.shape()[axis]);
    }
    return product_of(windows(source, axes, places), contract, weights_contract, from_lhs_);
  }

  Value product_exchanged() {
    const int64_t axis = windows_.axes[0], place = windows_.window_axes[0];
    Value source = factors_[from_lhs_ ? 1 : 0];
    const int64_t window_axis = source.rank();
    source = broadcast_axis(source, source.rank(), product_.shape()[axis]);
    const int64_t offset = windows_.offset[0];
    const bool backwards = windows_.window_step[0] > 0;
    WindowAttrs exchanged = windows_;
    exchanged.axes = {in_factor(place, !from_lhs_)};
    exchanged.window_axes = {window_axis};
    exchanged.sizes = {ranges_[0].size()};
    exchanged.offset = {backwards ? 1 - ranges_[0].end - offset : ranges_[0].begin + offset};
    const Value seen = window_slice(source, exchanged);
    Value result = product_of(seen, {window_axis}, {in_factor(axis, from_lhs_)}, !from_lhs_);
    // The elements lie where the places were.
    const int from = axis_of_sum(place) - (axis < place ? 1 : 0), to = axis_of_sum(axis);
    result = move_axis(result, from, to);
    return backwards ? reverse(result, Ints{to}) : result;
  }

  int64_t in_factor(int64_t axis, bool lhs) const { return lhs ? origins_[axis].lhs : origins_[axis].rhs; }

  // What a factor's windows are by the other factor, over `contract` of them, and over what both factors have.
  Value product_of(Value seen, Ints contract, Ints other_contract, bool seen_is_lhs) {
    const Value other = factors_[seen_is_lhs ? 1 : 0];
    Ints batch, other_batch;
    for (size_t k = 0; k < origins_.size(); ++k) {
      if (origins_[k].lhs < 0 || origins_[k].rhs < 0) continue;
      const auto axis = static_cast<int64_t>(k);
      const bool summed = contains(sum_axes_, axis);
      (summed ? contract : batch).push_back(in_factor(axis, seen_is_lhs));
      (summed ? other_contract : other_batch).push_back(in_factor(axis, !seen_is_lhs));
    }
    if (seen_is_lhs) return dot_general(seen, other, {contract, other_contract, batch, other_batch});
    return dot_general(other, seen, {other_contract, contract, other_batch, batch});
  }

  Builder& builder_;
  const Ints& sum_axes_;
  WindowAttrs windows_;
  Value product_, factors_[2];   // that they are taken of
  std::vector<Origin> origins_;  // by axis of the product
  bool exchanged_ = false;       // whether they are taken of the other factor instead
  bool from_lhs_ = false;        // which factor the windows slide over
  std::vector<Range> inside_;    // by spatial axis
  std::vector<Range> ranges_;    // of what is being computed
};

}  // namespace

GraphPtr canonical_windows(const Graph& graph) {
  return rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        const Primitive& primitive = *equation.primitive;
        if (primitive.folds(ScalarOp::kAdd)) {
          const Value sum = SumOfWindows::product(builder, operands[0], attrs->ints("axes"));
          if (sum) return Values{sum};
        }
        // In a region that is yet to be expanded sizes are not what the shapes say.
        const bool region = primitive.stands_for_others();
        return builder.bind(primitive, operands, region ? attrs : map_graphs(attrs, canonical_windows));
      });
}

}  // namespace ct
