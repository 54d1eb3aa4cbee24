// Nests: loops over the elements of a step, with the folds inside. See frame.h for what positions, cuts and segments
// are.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "jit/loop/passes/sums.h"
#include "jit/lower/frame.h"
#include "runtime/error.h"

namespace ct::jit {
namespace {

// A result of as many rows as there are threads to share them, and more, is folded row by row.
constexpr int64_t kManyRows = 16;
constexpr int64_t kLongRow = 64;

// The loops of a nest: maximal runs of axes that are longer than 1, alike in being reduced or not, and not cut.
std::vector<AxisGroup> group_axes(const Shape& shape, const Ints& reduced, Cuts cuts) {
  auto is_reduced = [&](int axis) { return absl::c_linear_search(reduced, axis); };
  std::vector<AxisGroup> groups;
  bool cut = false;
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
    cut = cut || (axis > 0 && (cuts >> (axis - 1) & 1) != 0);
    if (shape[axis] == 1) continue;
    if (!groups.empty() && !cut && is_reduced(groups.back().last) == is_reduced(axis)) {
      groups.back().last = axis;
    } else {
      groups.push_back({axis, axis, 0});
    }
    cut = false;
  }
  return groups;
}

int64_t extent(const AxisGroup& group, const Shape& shape) {
  return num_elements(absl::MakeConstSpan(shape).subspan(group.first, group.last - group.first + 1));
}

// Of the first fold of `groups`.
Chunks chunks_of(const std::vector<AxisGroup>& groups, const Shape& shape, const Ints& reduced) {
  int64_t rows = 1, all = 1;
  size_t first = groups.size();
  for (size_t i = 0; i < groups.size(); ++i) {
    const bool is_reduced = std::find(reduced.begin(), reduced.end(), groups[i].first) != reduced.end();
    if (is_reduced && first == groups.size()) first = i;
    if (first == groups.size()) rows *= extent(groups[i], shape);
    all *= extent(groups[i], shape);
  }
  if (all == 0 || first == groups.size() || rows >= kManyRows) return {};
  const int64_t size = extent(groups[first], shape);
  return ct::jit::chunks_of(size, all / size);
}

// Folds are computed in nests, beside what else runs over their operand.
class FoldLowering final : public Lowering {
 public:
  OperandReading reading(const Graph&, const Equation&, int) const override { return {}; }

  OperandLimits operand_limits(const ElementLimits& limits, const Graph& graph,
                               const Equation& equation) const override {
    if (!limits.is_wanted(equation.first_output)) return {std::nullopt};
    const Ints& axes = graph.attrs(equation).ints("axes");
    AxisMap kept;
    for (int axis = 0; axis < graph.aval(graph.operands(equation)[0]).rank(); ++axis) {
      if (!absl::c_linear_search(axes, axis)) kept.push_back({axis, 0});
    }
    Limits result = folded_limits(limits, graph, equation);
    for (const Limit& each : limits.wanted(equation.first_output)) {
      if (auto limit = mapped(each, kept)) result.push_back(*std::move(limit));
    }
    return {std::move(result)};
  }
};
const LoweringFor<structures::Fold, FoldLowering> kFoldLowering;

}  // namespace

Limits folded_limits(const ElementLimits& limits, const Graph& graph, const Equation& fold) {
  const Var operand = graph.operands(fold)[0];
  const Aval& aval = graph.aval(operand);
  const double identity = fold.primitive->structure_as<structures::Fold>()->identity(aval.dtype());
  const Ints& axes = graph.attrs(fold).ints("axes");
  Limits result;
  for (const Limit& limit : limits.folded(aval, operand, identity)) {
    if (absl::c_linear_search(axes, limit.axis)) result.push_back(limit);
  }
  return result;
}

// One attempt at a nest: kept loops run over the elements of the results, reduced loops fold. A fold over many elements
// into few is cut in chunks: a first nest folds each, a second one their results.
class Frame::Nest {
 public:
  Nest(Frame& frame, const Step& step, Cuts cuts, Axes unrolled)
      : frame_(frame),
        b_(frame.b_),
        step_(step),
        unrolled_(unrolled),
        groups_(group_axes(step.shape, step.reduced, cuts)),
        chunks_(frame.options_.machine.chunks ? chunks_of(groups_, step.shape, step.reduced) : Chunks{}),
        kept_size_(num_elements(kept_shape(step.shape, step.reduced))) {
    for (Var var : step.reductions) {
      const structures::Fold& fold = fold_of(var);
      const DType dtype = frame.aval(var).dtype();
      identities_.push_back({saturated(b_, dtype, fold.identity(dtype)), fold.combine});
    }
    frame.nest_.loops.clear();
    frame.limits().leave(0);
  }

  // The results of the folds if they have one element each, else nothing: they are stored.
  loop::Scalars emit() {
    const std::vector<loop::BufferId> partial = fold_chunks();
    Scope scope(frame_);
    enter_kept();
    loop::Scalars results = partial.empty() ? fold(0, std::nullopt) : fold_partial(partial);
    write(results);
    if (kept_loops_ > 0) results.clear();
    leave_kept();
    return results;
  }

 private:
  static constexpr loop::LoopOptions kAlike{.vectorize = true, .parallel = true};
  static constexpr loop::LoopOptions kFolding{.vectorize = true, .parallel = false};

  bool is_reduced(const AxisGroup& group) const { return absl::c_linear_search(step_.reduced, group.first); }
  const structures::Fold& fold_of(Var var) const {
    return *frame_.equation_of(var).primitive->structure_as<structures::Fold>();
  }
  loop::Scalar combine(size_t reduction, loop::Scalar a, loop::Scalar b) {
    return b_.apply(*identities_[reduction].combine, a, b);
  }

  // The limit at which the loop over the group ends or begins, if the loops that are open say what its length is.
  struct Ending {
    Side side;
    loop::Index source_place;
    loop::Index length;  // in elements of the group
    int64_t inner;
  };
  std::optional<Ending> ending_of(const AxisGroup& group) {
    const Side* side = frame_.limits().side_of(group.first);
    if (side == nullptr) return std::nullopt;
    bool resolved = true;
    const auto index = [&](int axis) -> loop::Index {
      const auto is_open = [&](const AxisGroup& each) { return each.first <= axis && axis <= each.last; };
      resolved = resolved && absl::c_any_of(entered_, is_open);
      return resolved ? frame_.axis_index(entered_, step_.shape, axis) : loop::Index(0);
    };
    Ending result{*side, frame_.limits().source_place(side->limit, index), 0, 1};
    if (!resolved) return std::nullopt;
    const int64_t size = step_.shape[group.first];
    result.inner = extent(group, step_.shape) / size;
    result.length = frame_.length(side->limit, size, index) * result.inner;
    return result;
  }

  void enter_loop(AxisGroup& group, const loop::Index& variable, const loop::Index& index,
                  const std::optional<Ending>& ending = std::nullopt) {
    frame_.nest_.loops.push_back({*variable.as_value(), group.first, group.last, is_reduced(group)});
    group.index = index;
    entered_.push_back(group);
    if (!ending) return;
    const Limit& limit = ending->side.limit;
    frame_.limits().push({limit, ending->source_place, index, ending->inner, ending->side.inside});
  }
  void leave_loops(size_t entered, size_t limits) {
    entered_.resize(entered);
    frame_.limits().leave(limits);
  }

  void enter_kept() {
    before_kept_ = {entered_.size(), frame_.limits().depth()};
    for (AxisGroup& group : groups_) {
      if (is_reduced(group)) continue;
      const Segment* part = segment_of(frame_.segments_, group.first);
      const int64_t size = part != nullptr ? part->size() : extent(group, step_.shape);
      const std::optional<Ending> ending = ending_of(group);
      CT_CHECK(ending || frame_.limits().side_of(group.first) == nullptr ||
               frame_.limits().side_of(group.first)->inside);
      loop::Index begin = part != nullptr ? part->begin : 0, count = size;
      if (ending && ending->side.inside) count = ending->length;
      if (ending && !ending->side.inside) {
        begin = ending->length;
        count -= begin;
      }
      const loop::Index variable = b_.begin_for(count, kAlike).variable;
      enter_loop(group, variable, variable * (part != nullptr ? part->step : 1) + begin, ending);
      ++kept_loops_;
    }
  }

  void leave_kept() {
    for (; kept_loops_ > 0; --kept_loops_) b_.end_for();
    leave_loops(before_kept_.first, before_kept_.second);
  }

  // Of `count` iterations from `start` on, those before the end.
  loop::Index before_end(const std::optional<Ending>& ending, const loop::Index& start, int64_t count) {
    if (!ending) return count;
    if (start == loop::Index(0) && count >= step_.shape[ending->side.limit.axis] * ending->inner) return ending->length;
    const auto number = [&](int64_t value) { return b_.constant(DType::kInt64, value); };
    const loop::Scalar left = b_.to_scalar(ending->length - start);
    return b_.to_index(b_.apply(ScalarOp::kMin, b_.apply(ScalarOp::kMax, left, number(0)), number(count)));
  }

  Position kept_position() const {
    Position kept;
    for (const AxisGroup& group : groups_) {
      if (is_reduced(group)) continue;
      const auto before = [&](int axis) {
        return static_cast<int>(
            std::count_if(step_.reduced.begin(), step_.reduced.end(), [&](int64_t r) { return r < axis; }));
      };
      kept.push_back({group.first - before(group.first), group.last - before(group.last), group.index});
    }
    return kept;
  }

  // Computes and stores the elements where the loops stand: what goes into each fold.
  loop::Scalars contributions() {
    Scope scope(frame_);
    const Position position(groups_.begin(), groups_.end());
    for (Var var : step_.elements) {
      const loop::Scalar value = frame_.compute(var, position);
      frame_.remember(var, position, value);
      frame_.store_at(var, position, value);
    }
    loop::Scalars results;
    for (size_t i = 0; i < step_.reductions.size(); ++i) {
      const Equation& equation = frame_.equation_of(step_.reductions[i]);
      const Var operand = frame_.operands(equation)[0];
      results.push_back(frame_.element(operand, position));
      // Its memory may hold anything where loops were to end.
      for (const Limit& limit : folded_limits(frame_.limits().known(), frame_.graph_, equation)) {
        if (frame_.limits().is_inside(limit, operand, position) == true) continue;
        const Shape& shape = step_.shape;
        const auto index = [&](int axis) { return frame_.axis_index(position, shape, axis); };
        const loop::Scalar end = b_.to_scalar(frame_.length(limit, shape[limit.axis], index));
        const loop::Scalar counts = b_.apply(ScalarOp::kLt, b_.to_scalar(index(limit.axis)), end);
        results.back() = b_.select(counts, results.back(), identities_[i].init);
      }
    }
    return results;
  }

  // The loops inside, of which the first takes `count` of its iterations from `start` on. Each level contributes its
  // fold to the one around it.
  loop::Scalars fold(const loop::Index& start, std::optional<int64_t> count) {
    Scope scope(frame_);  // lengths are found inside of the loops
    return fold_from(0, start, count, true);
  }

  loop::Scalars fold_from(size_t number, const loop::Index& start, std::optional<int64_t> count, bool first) {
    while (number < groups_.size() && !is_reduced(groups_[number])) ++number;
    if (number == groups_.size()) return contributions();
    AxisGroup& group = groups_[number];
    if ((unrolled_ >> group.first & 1) != 0 && !(first && count)) return unrolled(number, group, start);
    const size_t entered = entered_.size(), limits = frame_.limits().depth();
    const int64_t size = first && count ? *count : extent(group, step_.shape);
    const std::optional<Ending> ending = ending_of(group);
    const loop::Index here = before_end(ending, first ? start : loop::Index(0), size);
    const loop::Index variable = b_.begin_for(here, kFolding, identities_).variable;
    enter_loop(group, variable, first ? start + variable : variable, ending);
    const loop::Scalars results = b_.end_for(fold_from(number + 1, start, count, false));
    leave_loops(entered, limits);
    return results;
  }

  // The few iterations one after the other, so that what each decides by its number is decided here.
  loop::Scalars unrolled(size_t number, AxisGroup& group, const loop::Index& start) {
    loop::Scalars results;
    for (const loop::Builder::CarrySpec& each : identities_) results.push_back(each.init);
    for (int64_t i = 0; i < extent(group, step_.shape); ++i) {
      Scope scope(frame_);
      group.index = i;
      entered_.push_back(group);
      const loop::Scalars terms = fold_from(number + 1, start, std::nullopt, false);
      entered_.pop_back();
      for (size_t k = 0; k < results.size(); ++k) results[k] = combine(k, results[k], terms[k]);
    }
    return results;
  }

  std::vector<loop::BufferId> new_partial() {
    std::vector<loop::BufferId> result;
    for (Var var : step_.reductions) {
      result.push_back(b_.temporary(frame_.graph_.aval(var).dtype(), chunks_.count * kept_size_, 0));
    }
    return result;
  }

  // The fold of each chunk, but for what is left over; nothing when there is one chunk only.
  std::vector<loop::BufferId> fold_chunks() {
    if (chunks_.count <= 1) return {};
    // A fold of long rows takes them one after the other, with the sums so far in the cache: memory is read in order.
    const bool by_rows = groups_.size() == 2 && is_reduced(groups_[0]) && kept_size_ >= kLongRow;
    const bool sums_floats = std::any_of(step_.reductions.begin(), step_.reductions.end(), [&](Var var) {
      return is_inexact(frame_.graph_.aval(var).dtype()) && fold_of(var).combine == ScalarOp::kAdd;
    });
    const int64_t block = by_rows && sums_floats ? block_of(chunks_.size, kRowsOfBlock, 1) : chunks_.size;
    const std::vector<loop::BufferId> partial = new_partial();
    const std::vector<loop::BufferId> of_block = block < chunks_.size ? new_partial() : partial;
    b_.for_each(chunks_.count, {.vectorize = false, .parallel = true}, [&](const loop::Index& chunk) {
      Scope scope(frame_);
      if (by_rows) {
        fold_rows(chunk, block, partial, of_block);
        return;
      }
      enter_kept();
      const loop::Scalars results = fold(chunk * chunks_.size, chunks_.size);
      for (size_t i = 0; i < partial.size(); ++i) b_.store(partial[i], place_in_partial(chunk, i), results[i]);
      leave_kept();
    });
    return partial;
  }

  // Sums of many rows are made in blocks (loop/passes/sums.h).
  void fold_rows(const loop::Index& chunk, int64_t block, const std::vector<loop::BufferId>& partial,
                 const std::vector<loop::BufferId>& of_block) {
    start_rows(chunk, partial);
    if (block == chunks_.size) return add_rows(chunk, partial, chunk * chunks_.size, block);
    const auto add_block = [&](const loop::Index& first, int64_t count) {
      Scope scope(frame_);
      start_rows(chunk, of_block);
      add_rows(chunk, of_block, first, count);
      b_.for_each(kept_size_, kAlike, [&](const loop::Index& column) {
        const loop::Index at = chunk * kept_size_ + column;
        for (size_t i = 0; i < partial.size(); ++i) {
          b_.store(partial[i], at, combine(i, b_.load(partial[i], at), b_.load(of_block[i], at)));
        }
      });
    };
    b_.for_each(chunks_.size / block, {},
                [&](const loop::Index& number) { add_block(chunk * chunks_.size + number * block, block); });
    const int64_t rest = chunks_.size % block;
    if (rest > 0) add_block(chunk * chunks_.size + (chunks_.size - rest), rest);
  }

  void start_rows(const loop::Index& chunk, const std::vector<loop::BufferId>& sums) {
    b_.for_each(kept_size_, kAlike, [&](const loop::Index& column) {
      for (size_t i = 0; i < sums.size(); ++i) b_.store(sums[i], chunk * kept_size_ + column, identities_[i].init);
    });
  }

  void add_rows(const loop::Index& chunk, const std::vector<loop::BufferId>& sums, const loop::Index& first,
                int64_t count) {
    Scope scope(frame_);
    const size_t entered = entered_.size(), limits = frame_.limits().depth();
    const std::optional<Ending> ending = ending_of(groups_[0]);
    const loop::Index row = b_.begin_for(before_end(ending, first, count)).variable;
    enter_loop(groups_[0], row, first + row, ending);
    enter_kept();
    const loop::Scalars terms = contributions();
    for (size_t i = 0; i < sums.size(); ++i) {
      const loop::Index at = chunk * kept_size_ + groups_[1].index;
      b_.store(sums[i], at, combine(i, b_.load(sums[i], at), terms[i]));
    }
    leave_kept();
    b_.end_for();
    leave_loops(entered, limits);
  }

  loop::Index place_in_partial(const loop::Index& chunk, size_t reduction) {
    const Shape& kept = frame_.graph_.aval(step_.reductions[reduction]).shape();
    return chunk * kept_size_ + linear(kept_position(), kept);
  }

  loop::Scalars fold_partial(const std::vector<loop::BufferId>& partial) {
    const loop::Index chunk = b_.begin_for(chunks_.count, kFolding, identities_).variable;
    loop::Scalars results;
    for (size_t i = 0; i < partial.size(); ++i) results.push_back(b_.load(partial[i], place_in_partial(chunk, i)));
    results = b_.end_for(results);
    if (chunks_.rest == 0) return results;
    // By themselves: one after the other they might not count beside what there is.
    const loop::Scalars rest = fold(chunks_.count * chunks_.size, chunks_.rest);
    for (size_t i = 0; i < results.size(); ++i) results[i] = combine(i, results[i], rest[i]);
    return results;
  }

  // Results of folds and what is computed of them, where the kept loops stand.
  void write(const loop::Scalars& results) {
    if (step_.reductions.empty()) return;
    const Position kept = kept_position();
    for (size_t i = 0; i < step_.reductions.size(); ++i) {
      const Var var = step_.reductions[i];
      frame_.remember(var, kept, results[i]);
      if (frame_.places_[var] && kept_loops_ > 0) frame_.store_at(var, kept, results[i]);
    }
    for (Var var : step_.epilogues) {
      const loop::Scalar value = frame_.compute(var, kept);
      frame_.remember(var, kept, value);
      frame_.store_at(var, kept, value);
    }
  }

  Frame& frame_;
  loop::Builder& b_;
  const Step& step_;
  const Axes unrolled_;
  std::vector<AxisGroup> groups_;
  const Chunks chunks_;
  const int64_t kept_size_;
  std::vector<loop::Builder::CarrySpec> identities_;
  int kept_loops_ = 0;
  Position entered_;  // the groups over which loops are open
  std::pair<size_t, size_t> before_kept_;
};

// A nest on one side of all limits, in segments between the places that are constants.
class Frame::SegmentedNest {
 public:
  SegmentedNest(Frame& frame, const Step& step) : frame_(frame), b_(frame.b_), step_(step) {}

  void emit() {
    frame_.nest_.shape = &step_.shape;
    const loop::Builder::Mark mark = b_.mark();
    std::vector<Segments> found;
    find_segments(1, found);
    if (std::any_of(found.begin(), found.end(), [](const Segments& each) { return each.size() > 1; })) {
      b_.rollback(mark);
      // In the order of the elements, so that loops over the segments of rows can be one loop.
      const auto begins = [](const Segments& segments) {
        Ints result;
        for (const Segment& each : segments) result.push_back(each.begin);
        return result;
      };
      std::stable_sort(found.begin(), found.end(),
                       [&](const Segments& a, const Segments& b) { return begins(a) < begins(b); });
      for (const Segments& each : found) {
        frame_.segments_ = each;
        emit_cut_nest();
      }
      frame_.segments_.clear();
    }
    frame_.nest_.shape = nullptr;
    frame_.nest_.loops.clear();
    frame_.limits().leave(0);
  }

 private:
  // Emits one nest, or one for each of the parts of it that are found, innermost axes first.
  void find_segments(size_t nests, std::vector<Segments>& found) {
    constexpr size_t kMostNests = 4;  // unless they are along one axis
    const loop::Builder::Mark mark = b_.mark();
    emit_cut_nest();
    const std::optional<Segments> segments = choose_segments();
    if (!segments || (!frame_.segments_.empty() && nests * segments->size() > kMostNests))
      return found.push_back(frame_.segments_);
    b_.rollback(mark);
    for (const Segment& each : *segments) {
      frame_.segments_.insert(frame_.segments_.begin(), each);
      find_segments(nests * segments->size(), found);
      frame_.segments_.erase(frame_.segments_.begin());
    }
  }

  // Starts with as few loops as there can be. Each cut that the body asks for makes one more.
  void emit_cut_nest() {
    Cuts cuts = 0;
    for (const Segment& segment : frame_.segments_) {
      if (segment.axis > 0) cuts |= Cuts{1} << (segment.axis - 1);
      cuts |= Cuts{1} << segment.axis;
    }
    for (const Side& side : frame_.limits().sides()) {
      if (side.limit.axis > 0) cuts |= Cuts{1} << (side.limit.axis - 1);
    }
    Axes unrolled = 0;
    for (;;) {
      const loop::Builder::Mark mark = b_.mark();
      frame_.nest_.forget_requests();
      const loop::Scalars results = Nest(frame_, step_, cuts, unrolled).emit();
      const Axes more = (frame_.nest_.cuts & ~cuts) == 0 ? worth_unrolling(unrolled) : 0;
      if ((frame_.nest_.cuts & ~cuts) == 0 && more == 0) {
        for (size_t i = 0; i < results.size(); ++i) frame_.set_result(step_.reductions[i], results[i]);
        break;
      }
      b_.rollback(mark);
      cuts |= frame_.nest_.cuts;
      unrolled |= more;
    }
  }

  // The axes of few elements that are folded, and by whose numbers the body decides something: those of windows, which
  // see what is outside of an array. Innermost first, besides those that are unrolled already.
  Axes worth_unrolling(Axes unrolled) const {
    constexpr int64_t kLeastElements = 1 << 15;  // with fewer compiling would take longer than running saves
    constexpr int64_t kMostCopies = 9;
    const bool plain = absl::c_none_of(step_.reductions, [&](Var var) { return is_half(frame_.aval(var).dtype()); });
    if (!frame_.options_.machine.chunks || !plain || num_elements(step_.shape) < kLeastElements) return 0;
    Axes result = 0;
    int64_t copies = 1;
    for (int axis = 0; axis < static_cast<int>(step_.shape.size()); ++axis) {
      if ((unrolled >> axis & 1) != 0) copies *= step_.shape[axis];
    }
    const Axes asked = frame_.nest_.decided_by_folds & ~unrolled;
    for (int axis = static_cast<int>(step_.shape.size()) - 1; axis >= 0; --axis) {
      if ((asked >> axis & 1) == 0 || copies * step_.shape[axis] > kMostCopies) continue;
      copies *= step_.shape[axis];
      result |= Axes{1} << axis;
    }
    return result;
  }

  // Loops of their own for parts of an axis between which the body differs: the innermost of those outside of the axes
  // that are in segments already for which that pays.
  std::optional<Segments> choose_segments() const {
    constexpr int64_t kLeastElements = 4096;
    if (!frame_.options_.machine.chunks || num_elements(step_.shape) < kLeastElements) return {};
    // Folds of few rows are cut in chunks, which other loops are around.
    if (!step_.reductions.empty() && num_elements(kept_shape(step_.shape, step_.reduced)) < kManyRows) return {};
    const int outside = frame_.segments_.empty() ? static_cast<int>(step_.shape.size()) : frame_.segments_.front().axis;
    for (int axis = outside - 1; axis >= 0; --axis) {
      if (frame_.limits().side_of(axis) != nullptr) continue;
      if (auto segments = parts_by_phase(frame_.nest_.phases, step_.shape, axis)) return segments;
      if (auto segments = parts_between(frame_.nest_.splits, step_.shape, axis, frame_.segments_)) return segments;
    }
    return {};
  }

  Frame& frame_;
  loop::Builder& b_;
  const Step& step_;
};

void Frame::emit_nest(const Step& step) {
  if (step.reductions.empty() && num_elements(step.shape) == 1) return emit_straight(step);
  if (num_elements(kept_shape(step.shape, step.reduced)) == 0) {
    for (Var var : step.elements) place(var);
    for (Var var : step.reductions) place(var);
    for (Var var : step.epilogues) place(var);
    return;
  }
  const bool to_registers = num_elements(kept_shape(step.shape, step.reduced)) == 1;
  for (Var var : step.elements) place(var);
  for (Var var : step.epilogues) place(var);
  if (!to_registers) {
    for (Var var : step.reductions) place(var);
  }
  CT_CHECK(step.shape.size() < 64);
  for (const NestPart& part : parts_of(*this, step)) {
    limits_.set_sides(part.sides);
    SegmentedNest(*this, part.step).emit();
  }
  limits_.set_sides({});
}

}  // namespace ct::jit
