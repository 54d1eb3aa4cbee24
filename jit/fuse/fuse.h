// Decides which variables of a graph get memory, and which loop nests compute them.
//
// A variable is *stored*, or it is recomputed inside the loops of whoever reads it: chains of element rules disappear
// into the nests of their consumers. The walk goes backwards, from consumers to producers: an element-wise variable
// whose every use ends at one place of one nest costs nothing there, and one that would be computed more than once is
// stored unless it is cheap. Stored element-wise variables and reductions over one iteration space then share a nest
// where the order of execution allows it.
//
// Lowering (lower/lower.h) turns the steps into loop IR in order.
#pragma once

#include <vector>

#include "jit/fuse/graph_facts.h"

namespace ct::jit {

enum class StepKind : uint8_t {
  kEquation,  // one equation with loops of its own
  kNest,      // a loop nest over `shape`
};

struct Step {
  StepKind kind = StepKind::kEquation;
  uint32_t equation = 0;  // of kEquation

  // kNest: for each position of `shape`, the elements of `elements` are stored, and contributions made to
  // `reductions` (variables; all over the axes `reduced`). `epilogues` have the reductions' shape and are computed from
  // their results where those are still in registers.
  Shape shape;
  Ints reduced;
  std::vector<Var> elements;
  std::vector<Var> reductions;
  std::vector<Var> epilogues;
};

struct Fusion {
  static constexpr uint32_t kInput = GraphFacts::kInput;
  std::vector<uint32_t> definition;        // by variable: its equation, or kInput
  std::vector<bool> stored;                // by variable
  std::vector<const char*> reasons;        // by variable: why it is stored; null when it is not
  std::vector<std::optional<View>> views;  // by variable: where products and loops read it, when it is not stored
  // By variable, of products: the transposed result that is written instead, as the product itself is used for
  // nothing else; kNoVar otherwise.
  std::vector<Var> transposed;
  ElementLimits limits;
  // By variable: what it shows inside of the limits behind which it is filled, and shares its memory with, so that
  // nothing but the filling is left to write; kNoVar otherwise.
  std::vector<Var> filled;
  std::vector<Step> steps;
};

struct FusionOptions {
  bool share_nests = true;
  bool limits = true;              // whether loops may end at lengths
  bool bfloat16_products = false;  // Machine::bfloat16_products
};

Fusion fuse(const Graph& graph, const FusionOptions& options = {});

// Fusion::filled, once the others are known (filled.cc).
std::vector<Var> find_filled(const GraphFacts& facts, const Fusion& fusion);
// The limits behind which one of them is filled.
Limits filled_limits(const ElementLimits& limits, Var var);

// Of these, the steps (schedule.cc), once it is decided what is stored (storage.cc).
struct Storage;
std::vector<Step> schedule(const GraphFacts& facts, const Storage& storage, absl::Span<const Var> transposed,
                           const ElementLimits& limits, const FusionOptions& options);

// What `var` is a reshape of, through any number of them; `var` itself when it is none.
Var alias_base(const Graph& graph, absl::Span<const uint32_t> definition, Var var);

// "kept" axes of a nest's shape: those that are not reduced.
Shape kept_shape(absl::Span<const int64_t> shape, absl::Span<const int64_t> reduced);

}  // namespace ct::jit
