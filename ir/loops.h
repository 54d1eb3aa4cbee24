// The interface in which a primitive says how ALL of its result is computed, where an element by itself (element.h)
// would not do: because what one element needs, another one has computed, say.
//
// A loop rule reads operands as element rules do, in loops that it opens itself, and writes every element of the
// results once. As with element rules there are two implementations: the reference evaluator runs the loops, the
// compiler runs the rule once and emits them. Operands are computed where they are read, with no memory in between,
// if each element is read once.
#pragma once

#include <functional>

#include "ir/element.h"

namespace ct {

// Loops begin at 0 and go to an end, an Index. Where programs mask, less than all of an array matters: a rule that asks
// how much serves them without knowing that there are lengths.
class LoopBuilder : public ElementBuilder {
 public:
  // In a position: along this axis it is not known yet.
  static constexpr Index kOpen{UINT32_MAX};

  // Where the elements of a result along an axis end that anybody reads, at a position along the others.
  virtual Index wanted_end(int output, int axis, absl::Span<const Index> position) = 0;
  // Where the elements of an operand along an axis end that are not all `value`. It need not be the nearest such place.
  virtual Index filled_end(int operand, int axis, double value, absl::Span<const Index> position) = 0;

  // `body` for each index below `end`. In any order, several at a time: what one writes, no other may read.
  virtual void for_each(Index end, const std::function<void(Index)>& body) = 0;
  // The same from `begin` on; nothing if that is behind `end`.
  virtual void for_each_from(Index begin, Index end, const std::function<void(Index)>& body) = 0;
  // `body(…, body(place 1, body(place 0, start)))`, one after the other: `run` places at a time, then, of those that
  // are left, each by itself.
  struct Along {
    Index end;
    bool reverse = false;  // from the last place to the first
    int64_t run = 1;
  };
  virtual Scalar fold(const Along& along, Scalar start,
                      const std::function<Scalar(absl::Span<const Index> places, Scalar before)>& body) = 0;
  virtual void write(int output, absl::Span<const Index> position, Scalar element) = 0;

  // A `for_each` along every axis of a result but one, which stays open.
  void for_each_line(int output, const Aval& aval, int axis, const std::function<void(const Indices&)>& body) {
    Indices position(static_cast<size_t>(aval.rank()), kOpen);
    const std::function<void(int)> nest = [&](int next) {
      if (next == aval.rank()) return body(position);
      if (next == axis) return nest(next + 1);
      for_each(wanted_end(output, next, position), [&](Index index) {
        position[static_cast<size_t>(next)] = index;
        nest(next + 1);
        position[static_cast<size_t>(next)] = kOpen;
      });
    };
    nest(0);
  }
};

}  // namespace ct
