// One graph while it is being lowered: the program's own, or a sub-graph of control flow inside of its parent's loops.
//
//   Place      where a stored variable's elements lie: row-major from `offset` on in a buffer
//   Position   where in a variable's shape an element is wanted. Adjacent axes that nothing tells apart are one group
//              with one index, so that element-wise nests are flat loops whatever the rank.
//   registers  variables with one element, computed by straight-line code
//
// `element` is the heart: the value of a variable at a position, loaded, remembered, or computed by running its element
// rule (lower/element.cc). A nest that turns out to tell apart axes of one group notes a *cut* there and is emitted
// anew. Likewise a nest whose body asks, for each element, on which side of some place of an axis it is (a padding, the
// pieces of a concatenation) is emitted once for each segment between such places. Read emit_nest in lower/nest.cc,
// then lower/element.cc; lower/dot.cc has products of matrices, lower/updates.cc running folds and scatters,
// lower/control.cc loops and branches.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/fuse/fuse.h"
#include "jit/lower/lower.h"

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

// Axes [first, last] of a shape, in row-major order as one index. Axes of size 1 may be in no group: their index is 0.
struct AxisGroup {
  int first;
  int last;
  loop::Index index;
};
using Position = absl::InlinedVector<AxisGroup, 4>;

// Pairs of adjacent axes that may not be in one group: bit i separates axis i from axis i + 1.
using Cuts = uint64_t;

// A long fold in pieces that are folded by themselves: `count` chunks of `size` iterations and a rest. How many follows
// from the sizes alone, so that the result is the same, to the bit, for any number of threads.
struct Chunks {
  int64_t count = 1;
  int64_t size = 0;
  int64_t rest = 0;
};
// Of a fold of so many iterations over `each` elements.
Chunks chunks_of(int64_t iterations, int64_t each);

// A place on an axis at which what the body of a nest does changes, and the part of an axis that a nest runs over.
struct Split {
  int axis;
  int64_t at;
};
struct Segment {
  int axis;
  int64_t begin, end;
};
using Segments = std::vector<Segment>;

inline bool is_half(DType dtype) { return is_float(dtype) && dtype_size(dtype) < 4; }  // summed in a wider type

class Frame {
 public:
  // `wanted`: where outputs should be written if they are stored; may be shorter than the outputs.
  Frame(loop::Builder& builder, const Graph& graph, std::vector<Source> inputs,
        std::vector<std::optional<Place>> wanted, const LoweringOptions& options);

  // Emits everything into the builder's current block. Outputs that were wanted somewhere are there afterwards; the
  // others are where the result says.
  std::vector<Source> run();

 private:
  friend class RuleBuilder;

  // ---- lower/lower.cc
  void assign_places();
  Place new_temporary(const Aval& aval);
  void ensure_place(Var var);
  void set_result(Var var, loop::Scalar value);  // of one element
  void emit_step(const Step& step);
  std::string group_name(const Step& step) const;
  void emit_straight(const Step& step);
  loop::Scalar identity(const Primitive& primitive, DType dtype);  // of a fold
  void store_at(Var var, const Position& position, loop::Scalar value);
  void finish_outputs(std::vector<Source>& results);
  void copy_to(const Source& source, const Aval& aval, const Place& to);

  // ---- lower/nest.cc
  class Nest;
  void emit_nest(const Step& step);
  void emit_cut_nest(const Step& step);
  std::optional<Segments> choose_segments(const Step& step) const;
  void find_segments(const Step& step, size_t nests, std::vector<Segments>& found);
  const Segment* segment_of(int axis) const;

  // ---- lower/element.cc
  loop::Scalar element(Var var, const Position& position);
  loop::Scalar compute(Var var, const Position& position);  // by its rule, whether it is stored or not
  loop::Scalar dot_element(const Equation& equation, const Position& position);
  loop::Index linear(const Position& position, const Shape& shape) const;
  Position flat_position(const Shape& shape, const loop::Index& index) const;
  loop::Index axis_index(const Position& position, const Shape& shape, int axis);
  Position operand_position(absl::Span<const loop::Index> indices, const Shape& shape) const;
  void request_cut(const loop::Index& index, int64_t stride);
  void request_split(const loop::Index& index, int64_t limit);
  void remember(Var var, const Position& position, loop::Scalar value);
  struct Scope {  // of remembered elements: one for each open block
    explicit Scope(Frame& frame) : frame(frame) { frame.memory_.emplace_back(); }
    ~Scope() { frame.memory_.pop_back(); }
    Frame& frame;
  };

  // ---- lower/dot.cc
  class Product;
  void emit_dot(const Equation& equation);

  // ---- lower/updates.cc
  void emit_cumulative(const Equation& equation);
  void emit_scatter(const Equation& equation);
  void emit_update(const Equation& equation);
  void write_copy(Var var, Var result);  // all of `var`'s elements into the place of `result`, of the same type
  // An operand of a product: where its elements lie.
  struct Operand {
    Place place;
    Shape strides;
  };
  Operand operand(Var var);
  // A loop for each axis of the shape that `include`s it, from the outermost; the body may use `indices` of all these.
  void over_axes(const Shape& shape, absl::Span<const int> axes, loop::LoopOptions options,
                 std::vector<loop::Index>& indices, const std::function<void()>& body);

  // ---- lower/control.cc
  void emit_control(const Equation& equation);
  void emit_scan(const Equation& equation);
  void emit_while(const Equation& equation);
  void emit_cond(const Equation& equation);
  void emit_host(const Equation& equation);
  bool emit_fourier(const Equation& equation);  // lower/fourier.cc: whether it could
  bool emit_kernel(const Equation& equation);   // lower/library_calls.cc: the same of all that libraries compute
  Source source(Var var) const;
  loop::Scalar scalar(Var var);  // of a variable of one element
  loop::Scalar value_of(const Source& source);
  Place stored_place(Var var);  // also for variables that are in a register
  // An array carried around a loop: `current` for the body to read, `next` for it to write, exchanged at its end.
  struct CarriedArray {
    Place current, next;
  };
  // How one carried variable is held: not at all (the body hands it on unchanged), in a register, or as an array.
  struct Carried {
    bool unchanged = false;
    bool in_register = false;
    std::optional<CarriedArray> array;
  };
  std::vector<Carried> begin_carries(const Graph& body, uint32_t first_input, absl::Span<const Var> operands,
                                     loop::Scalars& registers);
  std::vector<Source> carry_sources(const std::vector<Carried>& carried, absl::Span<const Var> operands,
                                    absl::Span<const loop::Scalar> arguments) const;
  std::vector<std::optional<Place>> carry_places(const std::vector<Carried>& carried) const;
  loop::Scalars end_body(const std::vector<Carried>& carried, const std::vector<Source>& outputs);
  void set_carries(const std::vector<Carried>& carried, absl::Span<const Var> operands, Var first_output,
                   absl::Span<const loop::Scalar> results);
  void set_source(Var var, const Source& source);

  struct NestLoop {
    loop::Value variable;
    int first, last;  // axes
  };

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
  const Shape* nest_shape_ = nullptr;
  std::vector<NestLoop> nest_loops_;
  Cuts requested_ = 0;
  std::vector<Split> splits_;  // that were requested
  Segments segments_;          // at most one an axis
};

}  // namespace ct::jit
