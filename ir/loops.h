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

class LoopBuilder : public ElementBuilder {
 public:
  // `body` for each index below `count`. In any order, several at a time: what one writes, no other may read.
  virtual void for_each(int64_t count, const std::function<void(Index)>& body) = 0;
  // `body(count - 1, … body(1, body(0, start)))`, one after the other.
  virtual Scalar fold(int64_t count, Scalar start, const std::function<Scalar(Index step, Scalar before)>& body) = 0;
  virtual void write(int output, absl::Span<const Index> position, Scalar element) = 0;

  // A `for_each` along every axis of `shape`.
  void for_each_position(absl::Span<const int64_t> shape, const std::function<void(const Indices&)>& body) {
    Indices position;
    const std::function<void()> nest = [&] {
      if (position.size() == shape.size()) return body(position);
      for_each(shape[position.size()], [&](Index index) {
        position.push_back(index);
        nest();
        position.pop_back();
      });
    };
    nest();
  }
};

}  // namespace ct
