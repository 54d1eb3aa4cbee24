// Which loops that are open end or begin at lengths, and what follows from that where they stand (jit/fuse/limits.h).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "jit/fuse/fuse.h"
#include "jit/fuse/lowering.h"

namespace ct::jit {

// On which side of a limit a nest is: its axes are those of the nest's shape.
struct Side {
  Limit limit;
  bool inside;
};
using Sides = std::vector<Side>;  // at most one an axis

class LoopLimits {
 public:
  LoopLimits(const Graph& graph, const ElementLimits& known) : graph_(graph), known_(known) {}

  const ElementLimits& known() const { return known_; }

  // The sides on which the nest is that is being emitted.
  void set_sides(Sides sides) { sides_ = std::move(sides); }
  const Sides& sides() const { return sides_; }
  const Side* side_of(int axis) const;

  // `index` counts runs of `inner` elements, along any axis.
  struct Open {
    Limit limit;
    loop::Index source_place, index;
    int64_t inner;
    bool inside;
  };
  void push(Open open) { open_.push_back(std::move(open)); }
  size_t depth() const { return open_.size(); }
  void leave(size_t depth) { open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(depth), open_.end()); }

  // Where the limit's length is among the elements of its source: `index` finds an axis that it depends on.
  loop::Index source_place(const Limit& limit, const std::function<loop::Index(int)>& index) const;
  // Whether the position of `var` is before the limit, which has its axes.
  std::optional<bool> is_inside(const Limit& limit, Var var, const Position& position) const;
  // What a bool is there, if the loops decide it.
  std::optional<bool> truth(Var var, const Position& position) const;

 private:
  const Graph& graph_;
  const ElementLimits& known_;
  Sides sides_;
  std::vector<Open> open_;
};

// The limits along the axes that a fold folds, behind which its operand changes nothing.
Limits folded_limits(const ElementLimits& limits, const Graph& graph, const Equation& fold);

// A nest in parts, each on one side of the limits that matter to it.
struct NestPart {
  Step step;
  Sides sides;
};
std::vector<NestPart> parts_of(const Frame& frame, const Step& step);

// Below this, a loop of known length is as good.
int64_t least_elements();

// CT_CHECK_LIMITS=1 in the environment: loops end at lengths however short they are, and memory holds NaN and -1 before
// it is written, so that tests see when something is read that should not be.
bool checks_limits();
void spoil_if_checked(loop::Builder& builder, loop::BufferId buffer, const loop::Index& offset, const Aval& aval);

}  // namespace ct::jit
