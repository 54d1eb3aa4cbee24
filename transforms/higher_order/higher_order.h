// Builder functions of the primitives with sub-graphs: calls, control flow, custom derivative rules, and the two
// regions that keep a transform for later. docs/design/001-primitives-and-attributes.md lists operands and results.
//
// Each primitive is one file here, named after it, with all its rules; scan.cc is the one to read. All of them are
// written with the derived sub-graphs of subgraphs.h.
#pragma once

#include <string>
#include <vector>

#include "ir/primitive.h"

namespace ct {

struct ScanAttrs {
  GraphPtr graph;  // constants, carries, slices -> carries, slices
  int64_t num_constants = 0;
  int64_t num_carries = 0;
  int64_t length = 0;
  bool reverse = false;
  bool counted = false;  // the number of steps is an operand
  bool pieces = false;   // of a computation that was divided to bound memory: nothing of all steps is stored for speed

  static ScanAttrs from(const Attrs& attrs);
};
// Operands: constants, first carries, sequences (stacked at axis 0). Results: last carries, stacked slices.
// `counted`: the last operand, an int32 scalar, says how many steps are taken (at most `length`): the first ones of the
// sequences, in reverse from there on down. Slices that no step makes are 0. Masks make such loops, when all
// derivatives are taken; so their cost is that of the real length.
Values scan(Builder& builder, const ScanAttrs& attrs, absl::Span<const Value> operands);

struct WhileAttrs {
  GraphPtr condition;  // its constants, carries -> bool scalar
  GraphPtr body;       // its constants, carries -> carries
  int64_t num_condition_constants = 0;
  int64_t num_body_constants = 0;
};
// Operands: the condition's constants, the body's, first carries. Results: last carries.
Values while_loop(Builder& builder, const WhileAttrs& attrs, absl::Span<const Value> operands);

// Operands: an int32 scalar (clamped to the branches there are), then those of every branch.
Values cond(Builder& builder, std::vector<GraphPtr> branches, absl::Span<const Value> operands);

struct CustomJvpAttrs {
  GraphPtr graph;
  GraphPtr jvp;  // primals, tangents of inexact primals -> outputs, tangents of inexact outputs
  int64_t closed =
      0;  // the last operands, if the rule has no derivative for them: what a custom_vjp function closes over
};
Values custom_jvp_call(Builder& builder, const CustomJvpAttrs& attrs, absl::Span<const Value> operands);

struct CustomVjpAttrs {
  GraphPtr graph;
  GraphPtr forward;    // -> outputs, residuals
  GraphPtr backward;   // residuals, cotangents of inexact outputs -> cotangents of inexact operands
  int64_t closed = 0;  // as of custom_jvp
};
// The rule of the custom_jvp that a custom_vjp function is.
GraphPtr custom_vjp_rule(const GraphPtr& graph, const GraphPtr& forward, const GraphPtr& backward);
Values custom_vjp_call(Builder& builder, const CustomVjpAttrs& attrs, absl::Span<const Value> operands);

struct MaskAttrs {
  GraphPtr graph;           // lengths, operands -> outputs
  int64_t num_lengths = 0;  // the first inputs of the graph: int32 scalars
  Ints in_ragged;           // triples (operand, axis, length); operands counted without the lengths
  Ints bounds = {};         // the most that each length is, where more is known than axes say
};
// The triples (output, axis, position among the length results) that the mask rules find. `axis` counts the output's
// own axes.
Ints ragged_outputs(const MaskAttrs& attrs);
// Operands: lengths, then the padded arrays. Results: outputs, then their lengths.
Values mask_region(Builder& builder, const MaskAttrs& attrs, absl::Span<const Value> operands);

struct VmapAttrs {
  GraphPtr graph;            // one example's program
  std::vector<int> in_axes;  // -1: the same for every example
  BatchAxis axis;
};
// Every result has its batch dimension at axis 0.
Values vmap_region(Builder& builder, const VmapAttrs& attrs, absl::Span<const Value> operands);

}  // namespace ct
