// A step of a loop: constants, carries, slices of sequences -> carries, slices.
//
// A carry that takes part after one step (has a tangent, is unknown, is batched) takes part before the next. So each
// of these derives the step again until no other carry takes part; the marks that it is given say in the end which do.
#pragma once

#include <vector>

#include "transforms/higher_order/groups.h"

namespace ct {

struct Step {
  static constexpr size_t kConstants = 0, kCarries = 1, kSlices = 2;  // groups
  GraphPtr graph;
  Groups inputs, outputs;

  Step(GraphPtr step, size_t constants, size_t carries);

  // `moving`: the inputs with tangents.
  JvpGraph jvp(Flags& moving) const;
  // `unknown`: inputs.
  SplitGraph split(Flags& unknown) const;
  // Marks the carries that depend on what is linear.
  void spread_linear(Flags& linear) const;
  // `cotangents`: the outputs with cotangents.
  BackwardGraph backward(const Flags& linear, Flags& cotangents) const;
  // `used`: outputs.
  PrunedGraph prune(Flags& used) const;
  // `axes`: of the inputs. A batched carry has its batch dimension at axis 0.
  BatchGraph batch(std::vector<int>& axes, const BatchAxis& axis) const;

 private:
  // The marks of carries at the other end of a step, where nothing else is marked.
  Flags at_outputs(const Flags& marked_inputs) const;
  Flags at_inputs(const Flags& marked_outputs) const;
};

}  // namespace ct
