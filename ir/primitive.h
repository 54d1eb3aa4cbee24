// A primitive is ONE record with all its rules side by side. Transforms, interpreter and compiler contain no list of
// ops: they look rules up here.
//
//   attributes  the static parameters: names and what they hold. Texts of programs and the typed functions of Python
//               (python_bindings/cotangent/_base/primitives.pyi) follow from them
//   type        shapes and dtypes of the outputs; throws a user Error for operands that do not fit
//   jvp         forward derivative; null tangents are symbolic zeros. Reverse mode is never written by hand:
//               linearize is jvp split into known and unknown equations, then `transpose`.
//   transpose   for primitives linear in some operands
//   batch       the vmap rule
//   mask        the ragged rule: which output axes are ragged, with selects only where elements mix along one
//   element     what one output element is (element.h): gives the reference evaluation AND the compiled loops
//   loops       the same for all of the output, where elements by themselves do not say it (loops.h)
//   structure   what the primitive does with whole arrays, for layers that treat such primitives alike (structure.h)
//   reference   plain evaluation, where it does not follow from `element`, `loops` or `expand`
//   expand      rewrites the equation into other primitives; then it needs none of these
//   split       for primitives with sub-graphs: the known/unknown partition that linearize needs
//   prune       for primitives with sub-graphs: what is left of the equation when only some results are used
//   simplify    what the equation can be replaced by, seen what made its operands (simplify.h)
//   terms       the result as a sum of products, from what the operands are as such (terms.h)
//
// A slot that stays empty must be declared in `absent` with the reason, the last three apart; a test prints the
// matrix and fails on holes. Passes name no primitive: they ask for `structure`, `arrangement`, `scalar_op`, `region`,
// `length_role` and `free_to_recompute`, which the record states where there is something to say
// (docs/design/027-slots.md).
//
// Read ops/erf.cc for a whole primitive in about twenty lines; combinators.h has the rule makers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "ir/builder.h"
#include "ir/element.h"
#include "ir/structure.h"
#include "ir/terms.h"
#include "runtime/tensor.h"

namespace ct {

class LoopBuilder;   // loops.h
class SplitContext;  // transforms/split.h
struct SplitValue;
struct SimplifyInput;  // simplify.h

using Avals = std::vector<Aval>;
using TypeRule = std::function<Avals(absl::Span<const Aval> operands, const Attrs& attrs)>;

struct JvpResult {
  Values outputs;
  Values tangents;  // null: zero
};
using JvpRule = std::function<JvpResult(Builder& builder, absl::Span<const Value> primals,
                                        absl::Span<const Value> tangents, const AttrsPtr& attrs)>;

// What a transpose rule is given. `operands[i]` is null where the equation is linear in operand i and the cotangent of
// operand i is wanted. Cotangents may be null (zero), but at least one is not. The result has one Value an operand:
// null for zero and for operands that are not linear.
struct TransposeInput {
  absl::Span<const Value> operands;
  absl::Span<const Aval> avals;  // of all operands
  absl::Span<const Value> cotangents;
  bool linear(int operand) const { return !operands[operand]; }
};
using TransposeRule = std::function<Values(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs)>;

// A value of a batched program: `axis` is where the batch dimension sits, -1 when the value is the same for every
// example.
struct Batched {
  Value value;
  int axis = -1;
  bool batched() const { return axis >= 0; }
};
// The axis that vmap adds: its size, and the name by which collectives inside know it (empty: none). Rules that do not
// pass it on to sub-graphs may take it as an int64_t.
struct BatchAxis {
  int64_t size = 0;
  std::string name{};
  operator int64_t() const { return size; }  // NOLINT: what most rules want to know
};
// The rule is asked when an operand is batched, and when the attributes say that it is about the axis by name.
using BatchRule = std::function<std::vector<Batched>(Builder& builder, absl::Span<const Batched> operands,
                                                     const BatchAxis& axis, const AttrsPtr& attrs)>;

// A value of a masked program: padded to the static bound; lengths[axis] is the real length as an int32 scalar, null
// where the axis is exact. Padding is garbage. Two axes have equal lengths when they hold the same Value.
struct Masked {
  Value value;
  Values lengths;  // one an axis
  bool ragged(int axis) const { return static_cast<bool>(lengths[axis]); }
  bool any_ragged() const {
    for (const Value& length : lengths) {
      if (length) return true;
    }
    return false;
  }
};
using MaskRule =
    std::function<std::vector<Masked>(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs)>;

using ElementRule = std::function<Scalar(ElementBuilder& element, const Attrs& attrs, const Aval& output_aval,
                                         int output, absl::Span<const Index> position)>;
using LoopRule = std::function<void(LoopBuilder& loops, const Attrs& attrs, absl::Span<const Aval> results)>;

using RunGraph = std::function<std::vector<Tensor>(const Graph& graph, absl::Span<const Tensor> inputs)>;
struct ReferenceInput {
  absl::Span<const Tensor> operands;
  const Attrs& attrs;
  absl::Span<const Aval> output_avals;
  const RunGraph& run_graph;  // evaluates a sub-graph
  // Memory that the caller wants the results in, by output: what a rule returns may be these tensors. Empty: none.
  absl::Span<const Tensor> places = {};
  // Those of results behind which nobody reads: nothing need be written there.
  absl::Span<const structures::HostCall::SizedAxis> unread = {};

  Tensor result(size_t i) const { return places.empty() ? Tensor(output_avals[i]) : places[i]; }
};
using ReferenceRule = std::function<std::vector<Tensor>(const ReferenceInput& input)>;
using ExpandRule = std::function<Values(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs)>;
using SplitRule = std::function<std::vector<SplitValue>(SplitContext& context, absl::Span<const SplitValue> operands,
                                                        const AttrsPtr& attrs)>;
// Dead code elimination of an equation with sub-graphs, some of whose results nothing uses: the equation that takes its
// place has the operands and results that are marked, in their order. At least those in `used` are; without a rule all
// are.
struct Pruned {
  std::vector<bool> operands, outputs;
  AttrsPtr attrs;
};
using PruneRule = std::function<Pruned(const std::vector<bool>& used, const AttrsPtr& attrs)>;
// A value for each result; none: the equation stays.
using SimplifyRule = std::function<Values(const SimplifyInput& input)>;

// What an attribute holds: an alternative of AttrValue, or a number of the result's dtype (an integer, a real, or the
// two parts of a complex number).
enum class AttributeKind : uint8_t {
  kFlag,
  kInteger,
  kReal,
  kText,
  kDType,
  kIntegers,
  kReals,
  kGraph,
  kGraphs,
  kOpaque,
  kNumber,
};
inline constexpr bool kOptional = true;
struct AttributeRecord {
  std::string name;
  AttributeKind kind;
  bool optional = false;
};

// Where the elements of the result come from, when nothing is computed: for passes that follow them.
enum class Arrangement : uint8_t {
  kNone,         // they are computed, or chosen in another way
  kUniform,      // attribute `value`, everywhere
  kCounting,     // positions along attribute `axis`
  kReshape,      // operand 0's in row-major order under another shape
  kBroadcast,    // operand 0's axis i is axis `axes`[i]
  kTranspose,    // axis i is operand 0's axis `permutation`[i]
  kSlice,        // operand 0's from `start` to `limit` in steps of `stride`
  kPad,          // operand 0's after `low`, with `interior` between them and `high` behind; elsewhere operand 1
  kConcatenate,  // one operand after the other along `axis`
  kGather,       // operand 0's at the indices in operand 1 along `axis`
  kWindows,      // of the windows that slide over operand 0: ops/window_slice.cc
  kChoice,       // operand 1's where operand 0 is true, else operand 2's
};

// Of what an element-wise primitive is a linear function, and nothing else of its kind is: of kChoice (Arrangement),
// what is chosen from.
enum class Linear : uint8_t {
  kInNone,
  kInAll,    // operands together: a sum
  kInEach,   // of two, one at a time: their product
  kInFirst,  // operand alone: a quotient
};

// What the primitive says about the lengths of ragged axes. Arithmetic of lengths follows from `scalar_op`.
enum class LengthRole : uint8_t {
  kNone,
  kSame,   // of a length: that length
  kClamp,  // operand 0 held to 0 … operand 1
  kSize,   // the length of attribute `axis`
  kSet,    // operand 0, whose attribute `axis` is as long as operand 1 says
  kFill,   // operand 0, whose padding along attribute `axes` is filled
};

// What attribute `graph` is to the operands, when the equation does nothing but run it.
enum class Region : uint8_t {
  kNone,
  kCall,      // run on them, and may be inlined at any time
  kApplied,   // run on them, under rules that inlining would lose: attribute `rule` makes a derivative on demand
  kExamples,  // run for each of `size` examples that lie along `in_axes`
  kRagged,    // run on ragged arrays: `num_lengths`, `in_ragged`, `out_ragged`. Sizes inside are not what shapes say
};

struct Primitive {
  std::string name;
  std::vector<AttributeRecord> attributes{};
  TypeRule type{};
  JvpRule jvp{};
  TransposeRule transpose{};
  BatchRule batch{};
  MaskRule mask{};
  ElementRule element{};
  LoopRule loops{};
  ReferenceRule reference{};
  ExpandRule expand{};
  SplitRule split{};
  PruneRule prune{};
  SimplifyRule simplify{};
  terms::Rule terms{};

  bool several_results = false;  // a list of results, however many there are
  std::shared_ptr<const Structure> structure{};
  bool scalar = false;  // the element rule is just `scalar_op`: the interpreter has a kernel for it
  ScalarOp scalar_op = ScalarOp::kAdd;
  bool elementwise = false;  // an element of the result needs the elements at its position only
  Linear linear = Linear::kInNone;
  Arrangement arrangement = Arrangement::kNone;
  LengthRole length_role = LengthRole::kNone;
  Region region = Region::kNone;
  // Moves elements, and does no arithmetic but widening: made again rather than kept, if no smaller than the operand.
  bool free_to_recompute = false;
  bool differentiable = true;  // false: tangents of outputs are always zero
  // Acts on the world: every equation is kept, once, where it stands. Where attributes decide it, `effects` does.
  bool has_side_effects = false;
  std::function<bool(const Attrs&)> effects{};
  std::map<std::string, std::string> absent{};  // slot -> reason
  bool user_defined = false;                    // by a program that uses the library

  bool computes(ScalarOp op) const { return scalar && scalar_op == op; }
  template <class T>
  const T* structure_as() const {
    return dynamic_cast<const T*>(structure.get());
  }
  template <class T>
  bool is() const {
    return structure_as<T>() != nullptr;
  }
  bool folds(ScalarOp op) const {
    const auto* fold = structure_as<structures::Fold>();
    return fold != nullptr && fold->combine == op;
  }
  // Whether its element rule is all there is to say about how it is computed.
  bool computes_elements() const { return element && structure == nullptr; }
  // Whether it stands for other equations, which take its place before anything is computed.
  bool stands_for_others() const { return expand && !is<structures::HostCall>(); }
};

// Whether an equation acts on the world, itself or in a sub-graph. Effects happen in program order.
bool has_side_effects(const Primitive& primitive, const Attrs& attrs);

// The first attribute that does not fit the record: its name, and what is wrong with it. Primitives of programs take
// whatever attributes there are.
struct AttributeProblem {
  std::string name;
  std::string problem;
};
std::optional<AttributeProblem> check_attributes(const Primitive& primitive, const Attrs& attrs);

// Adds the record to the registry; meant for `const Primitive& kErf = define({...});` at namespace scope.
const Primitive& define(Primitive primitive);
// The same for primitives of programs: the name may be taken by an earlier one of this kind, which stays valid in the
// graphs that hold it. May be called at any time, from any thread.
const Primitive& define_by_user(Primitive primitive);
const Primitive* find_primitive(std::string_view name);
const Primitive& get_primitive(std::string_view name);  // throws Error(kValue) with a suggestion
std::vector<const Primitive*> all_primitives();         // sorted by name

}  // namespace ct
