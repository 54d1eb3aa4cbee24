// Where a program makes something larger than what it is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "ir/primitive.h"

namespace ct::contraction {

// Half precision may; what is made anew is made in at least float32.
inline bool may_grow(DType dtype) { return is_float(dtype) && dtype_size(dtype) >= 2; }

class Growth {
 public:
  explicit Growth(const Graph& graph);

  // The equation that makes a variable; null for inputs.
  const Equation* producer(Var var) const;
  // How many elements an equation's factors have, when its result is larger than they are; else 0.
  int64_t of(const Equation& equation) const;
  // By variable: whether it is the result of one, or what `terms` rules make of it and is not smaller.
  std::vector<bool> grown() const;
  bool is_zero(Var var) const;  // everywhere
  // Whether there is any such equation.
  bool any() const;

 private:
  int64_t size(Var var) const { return graph_.aval(var).size(); }
  int64_t source_size(Var var) const;

  const Graph& graph_;
  std::vector<uint32_t> definition_;  // by variable: its equation; ~0 for inputs
};

}  // namespace ct::contraction
