// Nests that end or begin at lengths: which they are, and what is known inside of them (jit/fuse/limits.h).
//
// Behind a limit a variable of a nest is not wanted, or a constant, or like all others. Where it is not wanted, and a
// fold has nothing to add, by anything in the nest, loops end there. Where something is a constant, the nest is emitted
// twice, once for each side.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "absl/algorithm/container.h"
#include "jit/lower/frame.h"

namespace ct::jit {
namespace {

// From the axes of what is kept to those of the nest.
AxisMap kept_axes(const Step& step) {
  AxisMap map;
  for (int axis = 0; axis < static_cast<int>(step.shape.size()); ++axis) {
    if (!absl::c_linear_search(step.reduced, axis)) map.push_back({axis, 0});
  }
  return map;
}

Limits mapped_all(const Limits& limits, const AxisMap& map) {
  Limits result;
  for (const Limit& each : limits) {
    if (auto limit = mapped(each, map)) result.push_back(*std::move(limit));
  }
  return result;
}

}  // namespace

bool checks_limits() {
  static const bool wanted = std::getenv("CT_CHECK_LIMITS") != nullptr;
  return wanted;
}

int64_t least_elements() { return checks_limits() ? 1 : 64; }

void spoil_if_checked(loop::Builder& builder, loop::BufferId buffer, const loop::Index& offset, const Aval& aval) {
  if (!checks_limits() || aval.size() <= 1) return;
  const std::array<char, 16> ones = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  builder.fill(buffer, offset, aval.size(), builder.constant_from_bytes(aval.dtype(), ones.data()));
}

bool Frame::is_ready(Var var) const {
  if (ready_[var]) return true;
  if (fusion_.stored[var] || fusion_.definition[var] == Fusion::kInput) return false;
  return absl::c_all_of(operands(equation_of(var)), [&](Var operand) { return is_ready(operand); });
}

loop::Index LoopLimits::source_place(const Limit& limit, const std::function<loop::Index(int)>& index) const {
  const Shape strides = dense_strides(graph_.aval(limit.source).shape());
  loop::Index place = 0;
  for (size_t i = 0; i < limit.axes.size(); ++i) {
    if (limit.axes[i] >= 0) place += index(limit.axes[i]) * strides[i];
  }
  return place;
}

loop::Index Frame::length(const Limit& limit, int64_t size, const std::function<loop::Index(int)>& index) {
  Position position;
  for (int i = 0; i < static_cast<int>(limit.axes.size()); ++i) {
    if (limit.axes[i] >= 0) position.push_back({i, i, index(limit.axes[i])});
  }
  const auto number = [&](int64_t value) { return b_.constant(DType::kInt64, value); };
  loop::Scalar length = b_.convert(element(limit.source, position), DType::kInt64);
  const int64_t offset = limit.offset + limit.step - 1;
  if (limit.factor != 1 || offset != 0) {
    // Nothing is as long as this, and arithmetic does not overflow.
    constexpr int64_t kLongest = int64_t{1} << 42;
    length = b_.apply(ScalarOp::kMin, b_.apply(ScalarOp::kMax, length, number(-kLongest)), number(kLongest));
  }
  if (limit.factor != 1) length = b_.apply(ScalarOp::kMul, length, number(limit.factor));
  if (offset != 0) length = b_.apply(ScalarOp::kAdd, length, number(offset));
  if (limit.step != 1) {
    length = b_.apply(ScalarOp::kDiv, b_.apply(ScalarOp::kMax, length, number(0)), number(limit.step));
  }
  return b_.to_index(b_.apply(ScalarOp::kMin, b_.apply(ScalarOp::kMax, length, number(0)), number(size)));
}

namespace {

// The limits, by axes of the nest, behind which a variable of it makes no work.
Limits limits_behind(const Frame& frame, const Step& step, Var var) {
  const ElementLimits& known = frame.limits().known();
  if (absl::c_linear_search(step.elements, var)) return known.wanted(var);
  Limits result = mapped_all(known.wanted(var), kept_axes(step));
  if (!absl::c_linear_search(step.reductions, var)) return result;
  for (Limit& limit : folded_limits(known, frame.graph(), frame.equation_of(var))) result.push_back(std::move(limit));
  return result;
}

}  // namespace

std::vector<NestPart> parts_of(const Frame& frame, const Step& step) {
  std::vector<NestPart> parts = {{step, {}}};
  const ElementLimits& known = frame.limits().known();
  if (!known.any() || num_elements(step.shape) < least_elements()) return parts;
  std::vector<Limits> nothing, constant;  // by variable of the nest: behind these it makes no work, or is a constant
  std::vector<Var> all;
  const size_t in_folds = step.elements.size() + step.reductions.size();  // of them
  for (const std::vector<Var>* vars : {&step.elements, &step.reductions, &step.epilogues}) {
    for (Var var : *vars) {
      all.push_back(var);
      nothing.push_back(limits_behind(frame, step, var));
      constant.emplace_back();
      if (vars != &step.elements) continue;
      for (const Filling& filling : known.known(var).fillings) constant.back().push_back(filling.limit);
    }
  }
  for (int axis = 0; axis < static_cast<int>(step.shape.size()); ++axis) {
    if (step.shape[axis] == 1) continue;
    // What is computed of folds is where those have ended.
    const bool is_folded = absl::c_linear_search(step.reduced, axis);
    const auto working = absl::MakeConstSpan(nothing).first(is_folded ? in_folds : nothing.size());
    const Limit* best = nullptr;
    bool best_ends = false;
    for (const std::vector<Limits>* from : {&nothing, &constant}) {
      for (const Limits& limits_of_one : *from) {
        for (const Limit& limit : limits_of_one) {
          if (limit.axis != axis || !frame.is_ready(limit.source)) continue;
          bool ends = true;
          for (const Limits& other : working) ends = ends && contains(other, limit);
          if (best != nullptr && (best_ends || !ends)) continue;
          // What begins at a length must know it: the loops that it depends on are outside.
          const auto is_outside = [&](int other) { return other < axis; };
          if (!ends && !(step.reductions.empty() && absl::c_all_of(limit.axes, is_outside))) continue;
          best = &limit;
          best_ends = ends;
        }
      }
    }
    if (best == nullptr) continue;
    std::vector<NestPart> next;
    for (NestPart& part : parts) {
      NestPart outside = part;
      part.sides.push_back({*best, true});
      next.push_back(std::move(part));
      if (best_ends) continue;
      outside.sides.push_back({*best, false});
      std::erase_if(outside.step.elements, [&](Var var) {
        return contains(nothing[static_cast<size_t>(absl::c_find(all, var) - all.begin())], *best);
      });
      if (!outside.step.elements.empty()) next.push_back(std::move(outside));
    }
    parts = std::move(next);
  }
  // What is filled in the memory of what it shows is there already.
  for (NestPart& part : parts) {
    std::erase_if(part.step.elements, [&](Var var) {
      return frame.filled(var) != kNoVar && absl::c_all_of(filled_limits(known, var), [&](const Limit& limit) {
               return absl::c_any_of(part.sides, [&](const Side& side) { return side.inside && side.limit == limit; });
             });
    });
  }
  std::erase_if(parts, [](const NestPart& part) { return part.step.elements.empty() && part.step.reductions.empty(); });
  return parts;
}

const Side* LoopLimits::side_of(int axis) const {
  const auto at = absl::c_find_if(sides_, [&](const Side& side) { return side.limit.axis == axis; });
  return at == sides_.end() ? nullptr : &*at;
}

std::optional<bool> LoopLimits::is_inside(const Limit& limit, Var var, const Position& position) const {
  const Shape& shape = graph_.aval(var).shape();
  const auto group_of = [&](int axis) {
    return absl::c_find_if(position, [&](const AxisGroup& group) { return group.first <= axis && axis <= group.last; });
  };
  const auto size_between = [&](int first, int last) {
    return num_elements(absl::MakeConstSpan(shape).subspan(first, last - first));
  };
  const auto along = group_of(limit.axis);
  if (along == position.end() || size_between(along->first, limit.axis) != 1) return std::nullopt;
  bool resolved = true;
  const loop::Index place = source_place(limit, [&](int axis) -> loop::Index {
    const auto group = group_of(axis);
    if (group != position.end() && size_between(group->first, group->last + 1) == shape[axis]) return group->index;
    resolved = false;
    return 0;
  });
  if (!resolved) return std::nullopt;
  const int64_t inner = size_between(limit.axis + 1, along->last + 1);
  for (const Open& open : open_) {
    const bool same = open.limit.source == limit.source && open.limit.factor == limit.factor &&
                      open.limit.step == limit.step && open.inner == inner && open.index == along->index;
    if (!same || !(open.source_place == place)) continue;
    if (open.inside ? open.limit.offset <= limit.offset : open.limit.offset >= limit.offset) return open.inside;
  }
  return std::nullopt;
}

std::optional<bool> LoopLimits::truth(Var var, const Position& position) const {
  if (open_.empty()) return std::nullopt;
  const ElementForm& form = known_.known(var);
  bool all = form.exact;
  for (const Limit& limit : form.when_true) {
    const std::optional<bool> inside = is_inside(limit, var, position);
    if (inside == false) return false;
    all = all && inside == true;
  }
  if (all) return true;
  for (const Limit& limit : form.when_false) {
    if (is_inside(limit, var, position) == false) return true;
  }
  return std::nullopt;
}

}  // namespace ct::jit
