// Parts of an axis that a nest runs over one after the other, as what its body does differs between them: on both sides
// of a place, where a padding or a piece of a concatenation ends; or by the phase of the index, where one of several
// elements in turn is something else, as between the elements of a spread array.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "jit/loop/loop.h"
#include "runtime/aval.h"

namespace ct::jit {

// A place on an axis at which what the body of a nest does changes.
struct Split {
  int axis;
  int64_t at;
};
// What the body does depends on the remainder of the index by `count`.
struct Phases {
  int axis;
  int64_t count;
};
// The part of an axis that a nest runs over: begin, begin + step, ... below end.
struct Segment {
  int axis;
  int64_t begin, end;
  int64_t step = 1;
  int64_t size() const { return (end - begin + step - 1) / step; }
};
using Segments = std::vector<Segment>;  // at most one an axis, or all along one

const Segment* segment_of(const Segments& segments, int axis);

// The parts of an axis of a nest of the shape, where it runs over `others` along other axes already; nothing unless
// they are few and most of the elements lie in long runs.
std::optional<Segments> parts_between(const std::vector<Split>& splits, const Shape& shape, int axis,
                                      const Segments& others);
std::optional<Segments> parts_by_phase(const std::vector<Phases>& phases, const Shape& shape, int axis);

// Pairs of adjacent axes that may not be in one group: bit i separates axis i from axis i + 1.
using Cuts = uint64_t;
using Axes = uint64_t;  // a set of them: bit i is axis i

// The loops of the nest that is being emitted, and what its body asked for while it was: other loops, next time.
struct OpenNest {
  struct Loop {
    loop::Value variable;
    int first, last;  // axes
    bool reduced;
  };
  const Shape* shape = nullptr;  // null: there is none
  std::vector<Loop> loops;
  Cuts cuts = 0;
  std::vector<Split> splits;
  std::vector<Phases> phases;
  Axes decided_by_folds = 0;  // that are folded, and by whose numbers something is decided

  void request_cut(const loop::Index& index, int64_t stride);
  void request_split(const loop::Builder& builder, const loop::Index& index, int64_t limit);
  void request_phases(const loop::Index& index, int64_t divisor);
  void forget_requests() { *this = OpenNest{shape, std::move(loops), 0, {}, {}, 0}; }
};

}  // namespace ct::jit
