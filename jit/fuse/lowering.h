// How the compiler computes primitives of one kind: what fusion asks about their equations, and the loops they become.
//
// A lowering is one class in one file of jit/lower, which registers it for a type of structure (ir/structure.h), or for
// one of the two rules that say how to compute in terms of elements (ElementRule, LoopRule). Nothing else in the
// compiler tells kinds of primitives apart.
#pragma once

#include <memory>
#include <optional>
#include <typeindex>

#include "absl/container/inlined_vector.h"
#include "jit/fuse/element_facts.h"
#include "jit/fuse/limits.h"
#include "jit/loop/loop.h"

namespace ct::jit {

class Frame;  // lower/frame.h

// Axes [first, last] of a shape, in row-major order as one index. Axes of size 1 may be in no group: their index is 0.
struct AxisGroup {
  int first;
  int last;
  loop::Index index;
};
using Position = absl::InlinedVector<AxisGroup, 4>;

// How an equation with loops of its own gets at an operand.
struct OperandReading {
  enum class Form : uint8_t {
    kComputed,  // element by element: it need not be in memory
    kArray,     // from memory
    kFlat,      // from memory, under any shape: what it is a reshape of will do
    kDense,     // from memory, in order: what it is a reshape of, or of a stretch of, will do
    kView,      // from memory, in any order that strides describe
  };
  Form form = Form::kComputed;
  const char* reason = nullptr;  // of the others: why it is in memory
  // Of kComputed: how often each element is wanted, whether at the position where the loops stand, and whether only as
  // a scalar, which cannot be computed as part of a vector.
  double evaluations = 1;
  bool same = true;
  bool one_by_one = false;
};

class Lowering {
 public:
  Lowering() = default;
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;
  virtual ~Lowering() = default;

  // ---- equations whose elements can be computed where they are used

  virtual bool has_elements(const Graph& graph, const Equation& equation) const;
  virtual ElementFacts element_facts(const Graph& graph, const Equation& equation, int output) const;
  // The (only) result in terms of one operand's view, when that is all the equation does.
  virtual std::optional<View> view(const Graph& graph, const Equation& equation, const ViewOf& view_of) const;
  virtual loop::Scalar element(Frame& frame, const Equation& equation, Var var, const Position& position) const;

  // ---- what is known of lengths (limits.h)

  virtual ElementForm form(const ElementLimits& limits, const Graph& graph, const Equation& equation, int output) const;
  // What all elements inside of these limits are elements of, at the same position; kNoVar: no such variable is known.
  virtual Var shown(const ElementLimits& limits, const Graph& graph, const Equation& equation, int output,
                    const Limits& within) const;
  // Whether it reads operands up to a length though nothing else in the program may be about one.
  virtual bool has_length(const Graph& graph, const Equation& equation) const;
  // All elements are read, if nothing else is said.
  virtual OperandLimits operand_limits(const ElementLimits& limits, const Graph& graph, const Equation& equation) const;

  // ---- equations with loops of their own

  virtual OperandReading reading(const Graph& graph, const Equation& equation, int operand) const;
  // The operand that is written into part of operand 0, whose memory the result may take over; -1: there is none. An
  // equation that has elements too is computed in this way where its result is stored.
  virtual int written_operand() const { return -1; }
  virtual void emit(Frame& frame, const Equation& equation) const;
};

// Of one that is registered for nothing: it has no elements, and to emit it is an Error(kUnsupported).
const Lowering& lowering_of(const Primitive& primitive);

void register_lowering(std::type_index kind, std::unique_ptr<const Lowering> lowering);

// `const LoweringFor<structures::Scan, ScanLowering> kScanLowering;` at namespace scope.
template <class Kind, class L>
struct LoweringFor {
  LoweringFor() { register_lowering(typeid(Kind), std::make_unique<L>()); }
};

}  // namespace ct::jit
