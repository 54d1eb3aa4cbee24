#include "jit/lower/lower.h"

#include <algorithm>

#include "ir/error.h"
#include "ir/float_types.h"
#include "ir/location.h"
#include "ir/text.h"
#include "jit/loop/passes/sums.h"
#include "jit/lower/frame.h"

namespace ct::jit {
namespace {

// A result of as many rows as there are threads to share them, and more, is folded row by row.
constexpr int64_t kManyRows = 16;
constexpr int64_t kLongRow = 64;

// The loops of a nest: maximal runs of axes that are longer than 1, alike in being reduced or not, and not cut.
std::vector<AxisGroup> group_axes(const Shape& shape, const Ints& reduced, Cuts cuts) {
  auto is_reduced = [&](int axis) { return std::find(reduced.begin(), reduced.end(), axis) != reduced.end(); };
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

}  // namespace

Chunks chunks_of(int64_t size, int64_t each) {
  constexpr int64_t kLeastFolded = 1 << 16, kMostChunks = 64, kLeastIterations = 32, kLeastElements = 4096,
                    kVectorMultiple = 64;
  if (size * each < kLeastFolded) return {};
  int64_t count = std::min(kMostChunks, size / std::max(kLeastIterations, kLeastElements / each));
  if (count < 2) return {};
  // Preferably nothing is left over, as that is code of its own; and chunks begin and end where vectors do.
  for (int64_t multiple : {kVectorMultiple, int64_t{1}}) {
    for (int64_t other = count; other > count / 2; --other) {
      if (size % other == 0 && size / other * each % multiple == 0) return {other, size / other, 0};
    }
  }
  return {count, size / count, size % count};
}

loop::Scalar Frame::identity(const Primitive& primitive, DType dtype) {
  const double value = primitive.identity(dtype);
  if (is_inexact(dtype)) return b_.constant(dtype, value);
  // Infinities become the highest and the lowest number.
  return dispatch_dtype(dtype, [&](auto tag) {
    const auto element = convert_element<typename decltype(tag)::type>(value);
    return b_.constant_from_bytes(dtype, &element);
  });
}

loop::Program lower(const Graph& graph, std::string_view name, const LoweringOptions& options) {
  loop::Builder builder{std::string(name)};
  std::vector<Source> inputs;
  for (const Aval& aval : graph.input_avals()) {
    inputs.push_back({Place{builder.input(aval.dtype(), aval.size()), 0}, std::nullopt});
  }
  std::vector<std::optional<Place>> outputs;
  for (const Aval& aval : graph.output_avals()) {
    outputs.push_back(Place{builder.output(aval.dtype(), aval.size()), 0});
  }
  Frame(builder, graph, std::move(inputs), std::move(outputs), options).run();
  return builder.finish();
}

Frame::Frame(loop::Builder& builder, const Graph& graph, std::vector<Source> inputs,
             std::vector<std::optional<Place>> wanted, const LoweringOptions& options)
    : b_(builder),
      graph_(graph),
      inputs_(std::move(inputs)),
      wanted_(std::move(wanted)),
      options_(options),
      fusion_(fuse(graph)),
      places_(graph.num_vars()),
      registers_(graph.num_vars()) {
  CT_CHECK(inputs_.size() == graph.num_inputs());
  wanted_.resize(graph.outputs().size());
}

std::vector<Source> Frame::run() {
  Scope scope(*this);
  assign_places();
  for (const Step& step : fusion_.steps) {
    if (!b_.at_top()) {
      emit_step(step);
      continue;
    }
    b_.begin_group();
    computed_.clear();
    emit_step(step);
    b_.name_group(group_name(step));
  }
  std::vector<Source> results;
  finish_outputs(results);
  return results;
}

// The primitives that the step computes, in order, what it stores, and a line of the user's.
std::string Frame::group_name(const Step& step) const {
  std::vector<uint32_t> equations = computed_;
  if (step.kind == StepKind::kNest) {
    for (Var var : step.reductions) equations.push_back(fusion_.definition[var]);
  } else {
    equations.push_back(step.equation);
  }
  std::sort(equations.begin(), equations.end());
  std::vector<std::string> names;
  std::string type;
  LocationId location = kNoLocation;
  for (uint32_t i : equations) {
    const Equation& equation = graph_.equations()[i];
    if (std::find(names.begin(), names.end(), equation.primitive->name) == names.end()) {
      names.push_back(equation.primitive->name);
    }
    if (equation.output_count != 0) type = graph_.aval(equation.first_output).to_string();
    if (equation.location != kNoLocation) location = equation.location;
  }
  return concat(join(names, " "), type.empty() ? "" : " -> ", type, location == kNoLocation ? "" : "  ",
                location_string(location));
}

void Frame::assign_places() {
  std::vector<bool> used(graph_.num_vars(), false);
  for (const Equation& equation : graph_.equations()) {
    for (Var var : graph_.operands(equation)) used[var] = true;
  }
  for (Var var = 0; var < graph_.num_inputs(); ++var) {
    places_[var] = inputs_[var].place;
    registers_[var] = inputs_[var].value;
    // Scalars are read once, not in every iteration.
    if (!registers_[var] && graph_.aval(var).size() == 1 && used[var] && !options_.kernels) {
      registers_[var] = b_.load(places_[var]->buffer, places_[var]->offset);
    }
  }
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const Var base = alias_base(graph_, fusion_.definition, graph_.outputs()[i]);
    if (wanted_[i] && fusion_.definition[base] != Fusion::kInput && !places_[base]) places_[base] = wanted_[i];
  }
}

Place Frame::new_temporary(const Aval& aval) { return {b_.temporary(aval.dtype(), aval.size(), 0), 0}; }

void Frame::ensure_place(Var var) {
  if (!places_[var]) places_[var] = new_temporary(graph_.aval(var));
}

void Frame::set_result(Var var, loop::Scalar value) {
  if (options_.kernels) {
    ensure_place(var);
  } else {
    registers_[var] = value;
  }
  if (places_[var]) b_.store(places_[var]->buffer, places_[var]->offset, value);
}

void Frame::finish_outputs(std::vector<Source>& results) {
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const Var var = graph_.outputs()[i];
    const Source from = source(var);
    if (!wanted_[i]) {
      results.push_back(from);
      continue;
    }
    copy_to(from, graph_.aval(var), *wanted_[i]);
    results.push_back({wanted_[i], from.value});
  }
}

Source Frame::source(Var var) const {
  const Var base = alias_base(graph_, fusion_.definition, var);
  if (places_[var] || registers_[var]) return {places_[var], registers_[var]};
  CT_CHECK(places_[base] || registers_[base]);
  return {places_[base], registers_[base]};
}

void Frame::copy_to(const Source& source, const Aval& aval, const Place& to) {
  if (source.place) {
    if (source.place->buffer == to.buffer && source.place->offset == to.offset) return;
    b_.copy(to.buffer, to.offset, source.place->buffer, source.place->offset, aval.size());
  } else {
    b_.store(to.buffer, to.offset, *source.value);
  }
}

void Frame::emit_step(const Step& step) {
  if (step.kind == StepKind::kNest) return emit_nest(step);
  const Equation& equation = graph_.equations()[step.equation];
  switch (step.kind) {
    case StepKind::kDot:
      return emit_dot(equation);
    case StepKind::kCumulative:
      return emit_cumulative(equation);
    case StepKind::kScatter:
      return emit_scatter(equation);
    case StepKind::kUpdate:
      return emit_update(equation);
    case StepKind::kHost:
      return emit_host(equation);
    default:
      return emit_control(equation);
  }
}

void Frame::store_at(Var var, const Position& position, loop::Scalar value) {
  const Place& place = *places_[var];
  b_.store(place.buffer, place.offset + linear(position, graph_.aval(var).shape()), value);
}

void Frame::emit_nest(const Step& step) {
  if (step.reductions.empty() && num_elements(step.shape) == 1) return emit_straight(step);
  if (num_elements(kept_shape(step.shape, step.reduced)) == 0) {
    for (Var var : step.elements) ensure_place(var);
    for (Var var : step.reductions) ensure_place(var);
    for (Var var : step.epilogues) ensure_place(var);
    return;
  }
  const bool to_registers = !options_.kernels && num_elements(kept_shape(step.shape, step.reduced)) == 1;
  for (Var var : step.elements) ensure_place(var);
  for (Var var : step.epilogues) ensure_place(var);
  if (!to_registers) {
    for (Var var : step.reductions) ensure_place(var);
  }
  CT_CHECK(step.shape.size() < 64);
  nest_shape_ = &step.shape;
  const loop::Builder::Mark mark = b_.mark();
  std::vector<Segments> found;
  find_segments(step, 1, found);
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
      segments_ = each;
      emit_cut_nest(step);
    }
    segments_.clear();
  }
  nest_shape_ = nullptr;
  nest_loops_.clear();
}

// Emits one nest, or one for each of the parts of it that are found, innermost axes first.
void Frame::find_segments(const Step& step, size_t nests, std::vector<Segments>& found) {
  constexpr size_t kMostNests = 4;  // unless they are along one axis
  const loop::Builder::Mark mark = b_.mark();
  emit_cut_nest(step);
  const std::optional<Segments> segments = choose_segments(step);
  if (!segments || (!segments_.empty() && nests * segments->size() > kMostNests)) return found.push_back(segments_);
  b_.rollback(mark);
  for (const Segment& each : *segments) {
    segments_.insert(segments_.begin(), each);
    find_segments(step, nests * segments->size(), found);
    segments_.erase(segments_.begin());
  }
}

const Segment* Frame::segment_of(int axis) const {
  const auto at =
      std::find_if(segments_.begin(), segments_.end(), [&](const Segment& each) { return each.axis == axis; });
  return at == segments_.end() ? nullptr : &*at;
}

// Starts with as few loops as there can be. Each cut that the body asks for makes one more.
void Frame::emit_cut_nest(const Step& step) {
  Cuts cuts = 0;
  for (const Segment& segment : segments_) {
    if (segment.axis > 0) cuts |= Cuts{1} << (segment.axis - 1);
    cuts |= Cuts{1} << segment.axis;
  }
  for (;;) {
    const loop::Builder::Mark mark = b_.mark();
    requested_ = 0;
    splits_.clear();
    if (try_nest(step, cuts)) break;
    b_.rollback(mark);
    cuts |= requested_;
  }
}

// Loops of their own for what lies between the places where the body changes, along one axis: the innermost of those
// outside of the axes that are in segments already, where these are few and most of the elements lie in long runs.
std::optional<Segments> Frame::choose_segments(const Step& step) const {
  constexpr int64_t kLeastElements = 4096, kLongRun = 128;
  constexpr size_t kMostSegments = 5;
  if (options_.kernels || !step.reductions.empty() || num_elements(step.shape) < kLeastElements) return {};
  int axis = -1;
  for (const Split& split : splits_) {
    if (segments_.empty() || split.axis < segments_.front().axis) axis = std::max(axis, split.axis);
  }
  if (axis < 0) return {};
  const int64_t size = step.shape[axis];
  std::vector<int64_t> limits = {0, size};
  for (const Split& split : splits_) {
    if (split.axis == axis && split.at > 0 && split.at < size) limits.push_back(split.at);
  }
  std::sort(limits.begin(), limits.end());
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  if (limits.size() < 3 || limits.size() > kMostSegments + 1) return {};
  int64_t inner = num_elements(absl::MakeConstSpan(step.shape).subspan(axis + 1));
  for (const Segment& each : segments_) inner = inner / step.shape[each.axis] * (each.end - each.begin);
  int64_t in_long_runs = 0;
  Segments segments;
  for (size_t i = 0; i + 1 < limits.size(); ++i) {
    segments.push_back({axis, limits[i], limits[i + 1]});
    const int64_t length = limits[i + 1] - limits[i];
    if (length * inner >= kLongRun) in_long_runs += length;
  }
  if (in_long_runs * 4 < size * 3) return {};
  return segments;
}

void Frame::emit_straight(const Step& step) {
  for (Var var : step.elements) set_result(var, compute(var, {}));
}

// A fold over many elements into few is cut in chunks: a first nest folds each, a second one their results.
bool Frame::try_nest(const Step& step, Cuts cuts) {
  const Shape& shape = step.shape;
  auto is_reduced = [&](int axis) {
    return std::find(step.reduced.begin(), step.reduced.end(), axis) != step.reduced.end();
  };
  std::vector<AxisGroup> groups = group_axes(shape, step.reduced, cuts);
  nest_loops_.clear();
  const loop::LoopOptions alike{.vectorize = true, .parallel = true}, folding{.vectorize = true, .parallel = false};
  int kept_loops = 0;
  auto enter_kept = [&] {
    for (AxisGroup& group : groups) {
      if (is_reduced(group.first)) continue;
      const Segment* part = segment_of(group.first);
      group.index = b_.begin_for(part != nullptr ? part->end - part->begin : extent(group, shape), alike).variable;
      nest_loops_.push_back({*group.index.as_value(), group.first, group.last});
      if (part != nullptr) group.index += part->begin;
      ++kept_loops;
    }
  };
  auto leave_kept = [&] {
    for (; kept_loops > 0; --kept_loops) b_.end_for();
  };
  auto kept_position = [&] {
    Position kept;
    for (const AxisGroup& group : groups) {
      if (is_reduced(group.first)) continue;
      const auto before = [&](int axis) {
        return static_cast<int>(
            std::count_if(step.reduced.begin(), step.reduced.end(), [&](int64_t r) { return r < axis; }));
      };
      kept.push_back({group.first - before(group.first), group.last - before(group.last), group.index});
    }
    return kept;
  };
  std::vector<loop::Builder::CarrySpec> identities;
  for (Var var : step.reductions) {
    const Primitive& primitive = *graph_.equations()[fusion_.definition[var]].primitive;
    identities.push_back({identity(primitive, graph_.aval(var).dtype()), primitive.combine});
  }
  auto contributions = [&] {
    Scope scope(*this);
    loop::Scalars results;
    const Position position(groups.begin(), groups.end());
    for (Var var : step.elements) {
      const loop::Scalar value = compute(var, position);
      remember(var, position, value);
      store_at(var, position, value);
    }
    for (Var var : step.reductions) {
      const Equation& equation = graph_.equations()[fusion_.definition[var]];
      results.push_back(element(graph_.operands(equation)[0], position));
    }
    return results;
  };
  // The loops inside, of which the first takes `count` of its iterations from `start` on. Each level contributes its
  // fold to the one around it.
  auto fold = [&](std::vector<loop::Builder::CarrySpec> carries, const loop::Index& start,
                  std::optional<int64_t> count) {
    int reduced_loops = 0;
    for (AxisGroup& group : groups) {
      if (!is_reduced(group.first)) continue;
      const loop::Index index =
          b_.begin_for(reduced_loops == 0 && count ? *count : extent(group, shape), folding, carries).variable;
      nest_loops_.push_back({*index.as_value(), group.first, group.last});
      group.index = reduced_loops == 0 ? start + index : index;
      carries = identities;
      ++reduced_loops;
    }
    loop::Scalars results = contributions();
    for (int i = 0; i < reduced_loops; ++i) results = b_.end_for(results);
    return results;
  };

  const Chunks chunks = options_.kernels ? Chunks{} : chunks_of(groups, shape, step.reduced);
  const int64_t kept_size = num_elements(kept_shape(shape, step.reduced));
  std::vector<loop::BufferId> partial;
  // A fold of long rows takes them one after the other, with the sums so far in the cache: memory is read in order.
  const bool sums_floats = std::any_of(step.reductions.begin(), step.reductions.end(), [&](Var var) {
    return is_inexact(graph_.aval(var).dtype()) &&
           graph_.equations()[fusion_.definition[var]].primitive->combine == ScalarOp::kAdd;
  });
  const bool by_rows = groups.size() == 2 && is_reduced(groups[0].first) && kept_size >= kLongRow;
  std::vector<loop::BufferId> of_blocks;
  const int64_t block = by_rows && sums_floats ? block_of(chunks.size, kRowsOfBlock, 1) : chunks.size;
  if (chunks.count > 1) {
    for (Var var : step.reductions) {
      partial.push_back(b_.temporary(graph_.aval(var).dtype(), chunks.count * kept_size, 0));
      if (block < chunks.size) of_blocks.push_back(b_.temporary(graph_.aval(var).dtype(), chunks.count * kept_size, 0));
    }
    b_.for_each(chunks.count, {.vectorize = false, .parallel = true}, [&](const loop::Index& chunk) {
      Scope scope(*this);
      if (by_rows) {
        const auto start = [&](const std::vector<loop::BufferId>& sums) {
          b_.for_each(kept_size, alike, [&](const loop::Index& column) {
            for (size_t i = 0; i < sums.size(); ++i) b_.store(sums[i], chunk * kept_size + column, identities[i].init);
          });
        };
        const auto add_rows = [&](const std::vector<loop::BufferId>& sums, const loop::Index& first, int64_t count) {
          const loop::Index row = b_.begin_for(count).variable;
          nest_loops_.push_back({*row.as_value(), groups[0].first, groups[0].last});
          groups[0].index = first + row;
          enter_kept();
          const loop::Scalars terms = contributions();
          for (size_t i = 0; i < sums.size(); ++i) {
            const loop::Index at = chunk * kept_size + groups[1].index;
            b_.store(sums[i], at, b_.apply(*identities[i].combine, b_.load(sums[i], at), terms[i]));
          }
          leave_kept();
          b_.end_for();
        };
        start(partial);
        if (block == chunks.size) return add_rows(partial, chunk * chunks.size, chunks.size);
        // Sums of many rows in blocks (loop/passes/sums.h).
        const auto add_block = [&](const loop::Index& first, int64_t count) {
          Scope block_scope(*this);
          start(of_blocks);
          add_rows(of_blocks, first, count);
          b_.for_each(kept_size, alike, [&](const loop::Index& column) {
            for (size_t i = 0; i < partial.size(); ++i) {
              const loop::Index at = chunk * kept_size + column;
              b_.store(partial[i], at,
                       b_.apply(*identities[i].combine, b_.load(partial[i], at), b_.load(of_blocks[i], at)));
            }
          });
        };
        b_.for_each(chunks.size / block, {},
                    [&](const loop::Index& number) { add_block(chunk * chunks.size + number * block, block); });
        const int64_t rest = chunks.size % block;
        if (rest > 0) add_block(chunk * chunks.size + (chunks.size - rest), rest);
        return;
      }
      enter_kept();
      const loop::Scalars results = fold(identities, chunk * chunks.size, chunks.size);
      for (size_t i = 0; i < partial.size(); ++i) {
        const Shape& kept = graph_.aval(step.reductions[i]).shape();
        b_.store(partial[i], chunk * kept_size + linear(kept_position(), kept), results[i]);
      }
      leave_kept();
    });
  }
  Scope kept_scope(*this);
  enter_kept();
  loop::Scalars results;
  if (chunks.count > 1) {
    const loop::Index chunk = b_.begin_for(chunks.count, folding, identities).variable;
    for (size_t i = 0; i < partial.size(); ++i) {
      const Shape& kept = graph_.aval(step.reductions[i]).shape();
      results.push_back(b_.load(partial[i], chunk * kept_size + linear(kept_position(), kept)));
    }
    results = b_.end_for(results);
    if (chunks.rest > 0) {
      // By themselves: one after the other they might not count beside what there is.
      const loop::Scalars rest = fold(identities, chunks.count * chunks.size, chunks.rest);
      for (size_t i = 0; i < results.size(); ++i) {
        results[i] = b_.apply(*identities[i].combine, results[i], rest[i]);
      }
    }
  } else {
    results = fold(identities, 0, std::nullopt);
  }

  if (!step.reductions.empty()) {
    const Position kept = kept_position();
    for (size_t i = 0; i < step.reductions.size(); ++i) {
      const Var var = step.reductions[i];
      remember(var, kept, results[i]);
      if (places_[var] && kept_loops > 0) store_at(var, kept, results[i]);
    }
    for (Var var : step.epilogues) {
      const loop::Scalar value = compute(var, kept);
      remember(var, kept, value);
      store_at(var, kept, value);
    }
  }
  const bool is_scalar = kept_loops == 0;
  leave_kept();
  if ((requested_ & ~cuts) != 0) return false;
  if (is_scalar) {
    for (size_t i = 0; i < step.reductions.size(); ++i) set_result(step.reductions[i], results[i]);
  }
  return true;
}

}  // namespace ct::jit
