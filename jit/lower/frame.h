// One graph while it is being lowered: the program's own, or a sub-graph of control flow inside of its parent's loops.
//
//   Place      where a stored variable's elements lie: row-major from `offset` on in a buffer
//   Position   where in a variable's shape an element is wanted. Adjacent axes that nothing tells apart are one group
//              with one index, so that element-wise nests are flat loops whatever the rank.
//   registers  variables with one element, computed by straight-line code
//
// `element` is the heart: the value of a variable at a position, loaded, remembered, or computed by running its element
// rule (lower/rules.cc). A nest that turns out to tell apart axes of one group notes a *cut* there and is emitted
// anew. Likewise a nest whose body asks, for each element, on which side of some place of an axis it is (a padding, the
// pieces of a concatenation) is emitted once for each segment between such places. Where that place is a length that is
// known when the program runs, loops end at it (lower/limits.cc, jit/fuse/limits.h). Read emit_nest in lower/nest.cc,
// then lower/element.cc and lower/rules.cc. Every other file is a lowering (jit/fuse/lowering.h) or a few: lower/dot.cc
// of products, lower/updates.cc of scatters and updates, lower/control.cc of loops and branches.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/fuse/fuse.h"
#include "jit/fuse/lowering.h"
#include "jit/lower/limits.h"
#include "jit/lower/lower.h"
#include "jit/lower/segments.h"

namespace ct::jit {

struct Place {
  loop::BufferId buffer;
  loop::Index offset;
};

// What a frame is given for an input, and gives back for an output.
struct Source {
  std::optional<Place> place;
  std::optional<loop::Scalar> value;
};

// A long fold in pieces that are folded by themselves: `count` chunks of `size` iterations and a rest. How many follows
// from the sizes alone, so that the result is the same, to the bit, for any number of threads.
struct Chunks {
  int64_t count = 1;
  int64_t size = 0;
  int64_t rest = 0;
};
// Of a fold of so many iterations over `each` elements.
Chunks chunks_of(int64_t iterations, int64_t each);

inline bool is_half(DType dtype) { return is_float(dtype) && dtype_size(dtype) < 4; }  // summed in a wider type

// The index in row-major order of an element of an array of the shape.
loop::Index linear(const Position& position, const Shape& shape);

// A number of the dtype; infinities are the highest and the lowest integer.
loop::Scalar saturated(loop::Builder& builder, DType dtype, double value);

class Frame {
 public:
  // `wanted`: where outputs should be written if they are stored; may be shorter than the outputs.
  Frame(loop::Builder& builder, const Graph& graph, std::vector<Source> inputs,
        std::vector<std::optional<Place>> wanted, const LoweringOptions& options);

  // Emits everything into the builder's current block. Outputs that were wanted somewhere are there afterwards; the
  // others are where the result says.
  std::vector<Source> run();

  // ---- what lowerings emit with

  loop::Builder& builder() { return b_; }
  const Graph& graph() const { return graph_; }
  const LoweringOptions& options() const { return options_; }
  const Aval& aval(Var var) const { return graph_.aval(var); }
  absl::Span<const Var> operands(const Equation& equation) const { return graph_.operands(equation); }
  const Attrs& attrs(const Equation& equation) const { return graph_.attrs(equation); }

  // The element of a variable: loaded, remembered or computed.
  loop::Scalar element(Var var, const Position& position);
  loop::Index axis_index(const Position& position, const Shape& shape, int axis);
  OpenNest& nest() { return nest_; }
  struct Scope {  // of remembered elements: one for each open block
    explicit Scope(Frame& frame) : frame(frame) { frame.memory_.emplace_back(); }
    ~Scope() { frame.memory_.pop_back(); }
    Frame& frame;
  };

  // Where an operand is, which may be in a register only.
  bool is_at_hand(Var var) const;  // what is not is computed where it is used
  Source source(Var var) const;
  loop::Scalar scalar(Var var);  // of a variable of one element
  loop::Scalar value_of(const Source& source);
  Place stored_place(Var var);  // also for variables that are in a register
  struct Strided {
    Place place;
    Shape strides;
  };
  Strided strided(Var var);  // an operand that is read as a view
  Source in_order(Var var);  // an operand that is read in order (OperandReading::Form::kDense)

  // Where a result goes.
  Place place(Var var);
  Place new_temporary(const Aval& aval);
  void set_result(Var var, loop::Scalar value);  // of one element
  void set_source(Var var, const Source& source);
  void store_at(Var var, const Position& position, loop::Scalar value);

  // Lengths.
  LoopLimits& limits() { return limits_; }
  const LoopLimits& limits() const { return limits_; }
  bool is_ready(Var var) const;  // whether its elements can be loaded or computed here
  // The limit's length, as a number of elements of an axis of `size`: `index` finds an axis that it depends on.
  loop::Index length(const Limit& limit, int64_t size, const std::function<loop::Index(int)>& index);
  void reload(const Equation& equation);  // results of one element, once they are in memory
  void copy_to(const Source& source, const Aval& aval, const Place& to);
  // What is written instead of a product: its transposition; the product itself when it is none.
  Var transposed(Var product) const;
  Var filled(Var var) const { return fusion_.filled[var]; }  // Fusion::filled
  const Equation& equation_of(Var var) const { return graph_.equations()[fusion_.definition[var]]; }

 private:
  // ---- lower/lower.cc
  void assign_places();
  void emit_step(const Step& step);
  std::string group_name(const Step& step) const;
  void emit_straight(const Step& step);
  void finish_outputs(std::vector<Source>& results);

  // ---- lower/nest.cc
  class Nest;
  class SegmentedNest;
  void emit_nest(const Step& step);

  // ---- lower/element.cc
  loop::Scalar compute(Var var, const Position& position);  // whether it is stored or not
  void remember(Var var, const Position& position, loop::Scalar value);

  loop::Builder& b_;
  const Graph& graph_;
  std::vector<Source> inputs_;
  std::vector<std::optional<Place>> wanted_;
  LoweringOptions options_;
  Fusion fusion_;
  std::vector<std::optional<Place>> places_;
  std::vector<std::optional<loop::Scalar>> registers_;
  using Key = absl::InlinedVector<int64_t, 16>;
  std::vector<absl::flat_hash_map<Key, loop::Scalar>> memory_;

  std::vector<uint32_t> computed_;  // equations of the step being emitted

  // Of the nest being emitted.
  OpenNest nest_;
  Segments segments_;
  LoopLimits limits_;
  std::vector<bool> ready_;  // by variable: it is in memory or a register
};

}  // namespace ct::jit
