// Nests that end or begin at lengths: which they are, and what is known inside of them (jit/fuse/limits.h).
//
// Behind a limit a variable of a nest is not wanted, or a constant, or like all others. Where it is not wanted, and a
// fold has nothing to add, by anything in the nest, loops end there. Where something is a constant, the nest is emitted
// twice, once for each side.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "jit/lower/frame.h"
#include "runtime/error.h"

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
  std::array<unsigned char, 16> ones;
  ones.fill(0xff);
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

// By variable of a nest: behind which limits, by axes of the nest, it makes no work, or is a constant.
struct BehindLimits {
  std::vector<Var> all;
  std::vector<Limits> nothing, constant;
  size_t in_folds;  // of them: elements and reductions

  BehindLimits(const Frame& frame, const Step& step) : in_folds(step.elements.size() + step.reductions.size()) {
    for (const std::vector<Var>* vars : {&step.elements, &step.reductions, &step.epilogues}) {
      for (Var var : *vars) {
        all.push_back(var);
        nothing.push_back(limits_behind(frame, step, var));
        Limits filled = vars == &step.reductions ? Limits() : filled_limits(frame.limits().known(), var);
        constant.push_back(vars == &step.epilogues ? mapped_all(filled, kept_axes(step)) : std::move(filled));
      }
    }
  }
  bool makes_nothing(Var var, const Limit& limit) const {
    return contains(nothing[static_cast<size_t>(absl::c_find(all, var) - all.begin())], limit);
  }
  // Whether nothing is folded behind the limit, and what is computed of folds is wanted there for being a constant
  // only.
  bool ends_folds(const Limit& limit) const {
    for (size_t i = 0; i < all.size(); ++i) {
      if (!contains(nothing[i], limit) && (i < in_folds || !contains(constant[i], limit))) return false;
    }
    return true;
  }
};

// Of a nest that folds, behind a limit before which its folds end: what is computed of them, as elements.
std::optional<NestPart> constants_behind(const NestPart& part, const Limit& limit, const BehindLimits& behind) {
  const AxisMap kept = inverse(kept_axes(part.step), static_cast<int>(part.step.shape.size()));
  NestPart result;
  result.step.kind = part.step.kind;
  result.step.shape = kept_shape(part.step.shape, part.step.reduced);
  absl::c_copy_if(part.step.epilogues, std::back_inserter(result.step.elements),
                  [&](Var var) { return !behind.makes_nothing(var, limit); });
  for (const Side& side : part.sides) {
    if (auto along = mapped(side.limit, kept)) result.sides.push_back({*std::move(along), side.inside});
  }
  auto along = mapped(limit, kept);
  if (!along) return std::nullopt;
  result.sides.push_back({*std::move(along), false});
  return result;
}

}  // namespace

std::vector<NestPart> parts_of(const Frame& frame, const Step& step) {
  std::vector<NestPart> parts = {{step, {}}};
  const ElementLimits& known = frame.limits().known();
  if (!known.any() || num_elements(step.shape) < least_elements()) return parts;
  const BehindLimits behind(frame, step);
  const bool folds = !step.reductions.empty();
  for (int axis = 0; axis < static_cast<int>(step.shape.size()); ++axis) {
    if (step.shape[axis] == 1) continue;
    // What is computed of folds is where those have ended.
    const bool is_folded = absl::c_linear_search(step.reduced, axis);
    const auto working = absl::MakeConstSpan(behind.nothing).first(is_folded ? behind.in_folds : behind.nothing.size());
    const Limit* best = nullptr;
    bool best_ends = false;
    for (const std::vector<Limits>* from : {&behind.nothing, &behind.constant}) {
      for (const Limits& limits_of_one : *from) {
        for (const Limit& limit : limits_of_one) {
          if (limit.axis != axis || !frame.is_ready(limit.source)) continue;
          const bool ends = absl::c_all_of(working, [&](const Limits& other) { return contains(other, limit); });
          if (best != nullptr && (best_ends || !ends)) continue;
          // What begins at a length must know it: the loops that it depends on are outside.
          const auto is_outside = [&](int other) {
            return other < axis && (other < 0 || !absl::c_linear_search(step.reduced, other));
          };
          const bool splits = !folds || (!is_folded && behind.ends_folds(limit));
          if (!ends && !(splits && absl::c_all_of(limit.axes, is_outside))) continue;
          best = &limit;
          best_ends = ends;
        }
      }
    }
    if (best == nullptr) continue;
    std::vector<NestPart> next;
    for (NestPart& part : parts) {
      if (folds && part.step.reductions.empty()) {
        next.push_back(std::move(part));  // constants along all of this axis
        continue;
      }
      NestPart outside = part;
      if (folds && !best_ends) {
        std::optional<NestPart> constants = constants_behind(part, *best, behind);
        CT_CHECK(constants.has_value());
        outside = *std::move(constants);
      }
      part.sides.push_back({*best, true});
      next.push_back(std::move(part));
      if (best_ends) continue;
      if (!folds) {
        outside.sides.push_back({*best, false});
        std::erase_if(outside.step.elements, [&](Var var) { return behind.makes_nothing(var, *best); });
      }
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
