// The transforms, graph to graph. Each is memoised nowhere here: the caller caches on (graph hash, options).
// Start with jvp.cc (forward derivative by the primitives' jvp rules), then linearize.cc (split the jvp into known and
// unknown equations), transpose.cc, grad.cc, vmap.cc. Masking is in ir/masking.h: capture needs it, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/primitive.h"

namespace ct {

// ---- jvp.cc -------------------------------------------------------------------------------------------------------
// The rules applied to one graph inside a builder; null tangents are zero. The workhorse of jvp and higher-order rules.
JvpResult jvp_inline(Builder& builder, const Graph& graph, absl::Span<const Value> primals,
                     absl::Span<const Value> tangents);
// Inputs: all primals, then tangents of the inputs where nonzero_in. Outputs: all primal outputs, then tangents of the
// outputs where the returned mask says so (or where `force_out`, with zeros filled in).
struct JvpGraph {
  GraphPtr graph;
  std::vector<bool> nonzero_out;
};
JvpGraph jvp(const Graph& graph, const std::vector<bool>& nonzero_in, const std::vector<bool>& force_out = {});

// ---- split.cc and linearize.cc ------------------------------------------------------------------------------------
// known: known inputs... -> known outputs..., residuals...; unknown: residuals..., unknown inputs... -> unknown
// outputs.... Known inputs are those that are not in `in_unknown`, in their order. `instantiate[i]` forces output i
// onto the unknown sheet. out_known[i] tells which sheet output i came out on. split.h has the same inside builders.
struct SplitGraph {
  GraphPtr known;
  GraphPtr unknown;
  std::vector<bool> out_known;
  uint32_t num_residuals = 0;
  // By residual: which input of `known` it is unchanged, or -1. Loops hand those on instead of stacking them.
  std::vector<int> residual_input;
};
SplitGraph split(const Graph& graph, const std::vector<bool>& in_unknown, const std::vector<bool>& instantiate = {});

// primal: inputs -> outputs..., residuals...; tangent: residuals..., tangents of the inputs in `wrt` -> tangents of ALL
// inexact outputs (zeros instantiated), linear in the tangents.
struct Linearized {
  GraphPtr primal;
  GraphPtr tangent;
  uint32_t num_residuals = 0;
};
Linearized linearize(const Graph& graph, const std::vector<bool>& wrt);

// ---- transpose.cc -------------------------------------------------------------------------------------------------
// `graph` must be linear in the inputs marked `linear`. Result: (inputs that are not linear..., cotangents of all
// outputs with inexact dtype...) -> cotangents of the linear inputs (zeros instantiated).
GraphPtr transpose_graph(const Graph& graph, const std::vector<bool>& linear);
// The same inside a builder: operands null where linear; returns null for zero cotangents.
Values backward_pass(Builder& builder, const Graph& graph, absl::Span<const Value> operands,
                     absl::Span<const Value> cotangents);

// ---- grad.cc ------------------------------------------------------------------------------------------------------
// inputs... -> outputs..., gradients of output 0 (a real floating scalar) with respect to the inputs in `wrt`.
GraphPtr value_and_grad(const Graph& graph, const std::vector<bool>& wrt);
// inputs..., cotangents of the inexact outputs... -> outputs..., cotangents of `wrt` inputs.
GraphPtr vjp(const Graph& graph, const std::vector<bool>& wrt);

// ---- vmap.cc ------------------------------------------------------------------------------------------------------
// One example's program to a batch's. in_axes[i] = -1: not batched. out_axes[i] = -1: the output must not be batched
// (an Error otherwise). Collectives over `axis_name` become operations on the batch.
GraphPtr vmap(const Graph& graph, const std::vector<int>& in_axes, int64_t size, const std::vector<int>& out_axes,
              std::string axis_name = {});
std::vector<Batched> batch_inline(Builder& builder, const Graph& graph, absl::Span<const Batched> inputs,
                                  const BatchAxis& axis);
// Whether the equation, or one in its sub-graphs, is a collective over the axis of that name: those have it in
// attribute "axis_name". A sub-graph that "binds" the name means another axis by it.
bool names_axis(const Attrs& attrs, std::string_view name);
// Moved to, or broadcast at, `axis`.
Value materialize_batch(Builder& builder, const Batched& x, int axis, int64_t size);

// How sums of products may be evaluated.
enum class Products : uint8_t {
  kGram,    // in any order: a squared norm as an inner product of Gram matrices
  kDirect,  // but what is squared is made first, and then squared
  kOff,     // in the order of the program
  kAlways,  // in any order, and never in that of the program where there is another: for tests
  kBlocks,  // the same of kDirect, one place of an index at a time where that is possible: for tests
};

// ---- passes, one file each; all keep the inputs, and go into sub-graphs -------------------------------------------
GraphPtr eliminate_dead_code(const Graph& graph);
// Of what branches return, where it is larger than its factors: made of these behind them.
GraphPtr products_after_branches(const Graph& graph);
// The derivative of an element-wise piece of a function, kept as one factor of what arrives later.
GraphPtr factor_slopes(const Graph& graph);
GraphPtr hoist_products(const Graph& graph);  // of a scan's steps: one before or after it for all of them
// Sums of products that grow and shrink again, in a cheaper order (contract/contract.cc).
GraphPtr contract(const Graph& graph, Products products);
// What is left when only the marked outputs are used: a graph that returns those. It still has all inputs; `inputs`
// says which of them it reads.
struct PrunedGraph {
  GraphPtr graph;
  std::vector<bool> inputs;
};
PrunedGraph prune(const Graph& graph, const std::vector<bool>& outputs);
// The same graph without the inputs that are not marked, which it must not read.
GraphPtr with_inputs(const GraphPtr& graph, const std::vector<bool>& keep);
GraphPtr eliminate_common_subexpressions(const Graph& graph);
// Algebra on single equations: x*1, broadcast of full, transpose of transpose. For programs that will not go into a
// mask region any more: sizes are what the shapes say.
GraphPtr simplify(const Graph& graph);
GraphPtr inline_calls(const Graph& graph);
// One form for folds written in several ways: inner products, folds of what was reshaped or concatenated.
GraphPtr canonical_folds(const Graph& graph);
// One form for arrays put together from pieces: sums of padded arrays, slices that are concatenated again.
GraphPtr canonical_pieces(const Graph& graph);
// Every primitive with an `expand` rule, until none is left; those that the host computes stay (structures::HostCall).
GraphPtr expand_regions(const Graph& graph);
// The same but for those that have a rule `terms`, which `contract` wants to see.
GraphPtr expand_all_but_terms(const Graph& graph);
// And now these, but for those that products are in that are larger than their factors.
GraphPtr expand_but_grown(const Graph& graph);
// Whether there are any.
bool any_with_terms(const Graph& graph);
// The same with host calls, but for those that `keep` says something about.
using KeepEquation = bool (*)(const Primitive& primitive, const Attrs& attrs, absl::Span<const Aval> operands);
GraphPtr expand_host_calls(const Graph& graph, KeepEquation keep);

}  // namespace ct
