// How long the equations of a region take as the program has them, by the figures that plans are compared with.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ir/graph.h"

namespace ct::contraction {

// Outer products that only folds read, through arithmetic of elements, are made in the loops of these and never stored.
// Anything else that is grown is stored once.
class AsWritten {
 public:
  // `equations`: in program order. What was converted to a wider dtype before it was squared is stored as it was
  // before: in at most `most` bytes an element.
  AsWritten(const Graph& graph, const std::vector<uint32_t>& equations, int64_t most);

  double nanoseconds() const { return nanoseconds_; }
  bool is_stored(Var var) const { return !streamed_.contains(var); }

 private:
  void find_streamed(const std::vector<uint32_t>& equations);
  double time_of(const Equation& equation) const;
  double bytes_of(Var var) const;

  const Graph& graph_;
  const int64_t most_;
  std::set<Var> streamed_;
  double nanoseconds_ = 0;
};

}  // namespace ct::contraction
