// One form for arrays that are put together from pieces, however that was written:
//
//   a sum of arrays that are zero but for regions that do not meet   what lies in the regions, concatenated
//   adjacent slices of one array, concatenated in their order        one slice of it, or the array
//   slices of one size, reshaped and then concatenated               a reshape of it, or a transpose
//   one number in all pieces                                         one broadcast, or one constant
//
// Loops over the rows of an array that Python unrolls give such programs, with as many equations as there are rows: a
// stack of rows, and the derivative of anything that reads them. Sums are taken in another order, and x + 0 keeps a -0;
// everything else keeps its bits.
#include <algorithm>
#include <map>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {
// What an array is, outside of which it is zero: `value`, whose first element is at `low`.
struct Region {
  Value value;
  Ints low;

  int64_t end(int axis) const { return low[axis] + value.shape()[axis]; }
};

// Regions along an axis that do not meet, with what is between them.
struct Layer {
  Values pieces;
  Ints low;  // of the first
};

// Pieces that follow each other and are one thing.
struct Run {
  Value first;         // as it was
  int64_t count = 1;   // of pieces
  int64_t extent = 0;  // along the axis of the concatenation
  // Slices along one axis of `base`, from `start` on.
  Value base{};
  int cut = 0;
  int64_t start = 0, size = 0;
  int64_t each = 0;      // size of a slice
  bool direct = false;   // none is reshaped, and they are cut where they are put together
  bool regular = false;  // all are alike in shape
  // Or: one number, which is a constant or a variable.
  AttrsPtr constant{};
  Value number{};
};

class Pieces {
 public:
  Pieces(const Graph& graph, Builder& builder) : builder_(builder) {
    std::vector<int> uses(graph.num_vars(), 0);
    std::vector<const Equation*> user(graph.num_vars(), nullptr);
    for (const Equation& equation : graph.equations()) {
      for (Var var : graph.operands(equation)) {
        ++uses[var];
        user[var] = &equation;
      }
    }
    for (Var var : graph.outputs()) ++uses[var];
    is_term_.assign(graph.num_vars(), false);
    for (Var var = 0; var < graph.num_vars(); ++var) {
      is_term_[var] = uses[var] == 1 && user[var] != nullptr && user[var]->primitive->computes(ScalarOp::kAdd);
    }
  }

  // Null where the equation stays as it is.
  Value replaced(const Equation& equation, absl::Span<const Value> operands, const Attrs& attrs) {
    const Primitive& primitive = *equation.primitive;
    if (primitive.arrangement == Arrangement::kConcatenate) {
      return joined(operands, static_cast<int>(attrs.integer("axis")));
    }
    if (primitive.computes(ScalarOp::kAdd) && !is_term_[equation.first_output]) return sum(operands);
    return {};
  }
  // That `value` is what the equation became.
  void note(const Equation& equation, Value value) {
    if (equation.primitive->computes(ScalarOp::kAdd) && is_term_[equation.first_output]) sums_.insert(value.var);
  }

 private:
  Value operand(const Equation& equation, size_t i) { return {&builder_, builder_.operands(equation)[i]}; }

  // ---- sums of regions ----------------------------------------------------------------------------------------------

  static bool is_zero(DType dtype, const Attrs& attrs) {
    if (is_complex(dtype)) return attrs.reals("value") == std::vector<double>{0, 0};
    return is_float(dtype) ? attrs.real("value") == 0 : is_integer(dtype) && attrs.integer("value") == 0;
  }

  std::optional<Region> region(Value term) {
    const auto padded = made_by(term, Arrangement::kPad);
    if (!padded || term.aval().size() == 0) return std::nullopt;
    const auto around = made_by(operand(*padded, 1), Arrangement::kUniform);
    if (!around) return std::nullopt;
    if (!is_zero(term.dtype(), builder_.attrs(*around))) return std::nullopt;
    const Attrs& attrs = builder_.attrs(*padded);
    const auto none_below = [&](std::string_view key) {
      const Ints& amounts = attrs.ints(key);
      return std::all_of(amounts.begin(), amounts.end(), [](int64_t amount) { return amount >= 0; });
    };
    const Ints& interior = attrs.ints("interior");
    const bool dense = std::all_of(interior.begin(), interior.end(), [](int64_t amount) { return amount == 0; });
    const Value inside = operand(*padded, 0);
    if (!dense || !none_below("low") || !none_below("high") || inside.aval().size() == 0) {
      return std::nullopt;
    }
    return Region{inside, attrs.ints("low")};
  }

  // Those that lie behind each other along an axis, as one; zeros where there is something between them.
  std::vector<Region> merged(const std::vector<Region>& regions, int axis) {
    std::map<std::pair<Ints, Ints>, std::vector<Region>> groups;  // by what they are along the other axes
    for (const Region& each : regions) {
      const Shape of_value = each.value.shape();
      Ints low = each.low, shape(of_value.begin(), of_value.end());
      low[axis] = shape[axis] = 0;
      groups[{low, shape}].push_back(each);
    }
    std::vector<Region> result;
    for (auto& [_, group] : groups) {
      std::stable_sort(group.begin(), group.end(),
                       [&](const Region& a, const Region& b) { return a.low[axis] < b.low[axis]; });
      // Those that meet are of different layers: each goes on with the layer that ends nearest before it.
      std::vector<Layer> layers;
      std::multimap<int64_t, size_t> ends;
      for (const Region& each : group) {
        const int64_t start = each.low[axis];
        const auto after = ends.upper_bound(start);
        size_t at = layers.size();
        if (after == ends.begin()) {
          layers.push_back({{}, each.low});
        } else {
          const auto nearest = std::prev(after);
          at = nearest->second;
          if (const int64_t gap = start - nearest->first; gap > 0) {
            Shape shape = each.value.shape();
            shape[axis] = gap;
            layers[at].pieces.push_back(zeros(builder_, Aval(each.value.dtype(), shape)));
          }
          ends.erase(nearest);
        }
        layers[at].pieces.push_back(each.value);
        ends.emplace(each.end(axis), at);
      }
      for (const Layer& layer : layers) result.push_back({concatenated(layer.pieces, axis), layer.low});
    }
    return result;
  }

  Value sum(absl::Span<const Value> operands) {
    std::vector<Region> regions;
    Values terms, waiting(operands.rbegin(), operands.rend());
    while (!waiting.empty()) {
      const Value term = waiting.back();
      waiting.pop_back();
      if (sums_.contains(term.var)) {
        const Equation equation = *made_by(term);
        waiting.push_back(operand(equation, 1));
        waiting.push_back(operand(equation, 0));
      } else if (auto found = region(term)) {
        regions.push_back(std::move(*found));
      } else {
        terms.push_back(term);
      }
    }
    const size_t before = regions.size();
    const Aval aval = operands[0].aval();
    for (int axis = aval.rank(); axis-- > 0 && regions.size() > 1;) regions = merged(regions, axis);
    if (regions.size() == before) return {};
    for (const Region& each : regions) {
      Ints high;
      for (int axis = 0; axis < aval.rank(); ++axis) high.push_back(aval.shape()[axis] - each.end(axis));
      const bool is_all = each.value.shape() == aval.shape();
      const Value zero = zeros(builder_, Aval(aval.dtype(), {}));
      terms.push_back(is_all ? each.value : pad(each.value, zero, each.low, high, Ints(aval.rank(), 0)));
    }
    Value result = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) result = result + terms[i];
    return result;
  }

  // ---- pieces that are one thing ------------------------------------------------------------------------------------

  Value concatenated(absl::Span<const Value> pieces, int axis) {
    if (pieces.size() == 1) return pieces[0];
    if (const Value result = joined(pieces, axis)) return result;
    return concatenate(pieces, axis);
  }

  // Null unless there are pieces among them that are one.
  Value joined(absl::Span<const Value> pieces, int axis) {
    std::vector<Run> runs;
    for (const Value& piece : pieces) {
      if (piece.shape()[axis] == 0) continue;
      const Run next = run_of(piece, axis);
      if (runs.empty() || !joins(runs.back(), next)) runs.push_back(next);
    }
    if (runs.empty() || runs.size() == pieces.size()) return {};
    Values parts;
    for (const Run& run : runs) parts.push_back(value_of(run, axis));
    return parts.size() == 1 ? parts[0] : concatenate(parts, axis);
  }

  // The equation that made it of the same elements in the same order: a reshape, also one that is written as a
  // broadcast to, or a sum over, axes of size 1.
  std::optional<Equation> reshaped(Value value) {
    const auto equation = made_by(value);
    if (!equation || equation->primitive->arrangement == Arrangement::kReshape) return equation;
    const bool broadcast = equation->primitive->arrangement == Arrangement::kBroadcast;
    if (!broadcast && !equation->primitive->folds(ScalarOp::kAdd)) return std::nullopt;
    if (operand(*equation, 0).aval().size() != value.aval().size()) return std::nullopt;
    const Ints& axes = builder_.attrs(*equation).ints("axes");
    return std::is_sorted(axes.begin(), axes.end()) ? equation : std::nullopt;
  }

  Run run_of(Value piece, int axis) {
    Run run{.first = piece, .extent = piece.shape()[axis]};
    Value source = piece;
    while (const auto equation = reshaped(source)) source = operand(*equation, 0);
    if (const auto equation = made_by(source, Arrangement::kSlice)) {
      const Value base = operand(*equation, 0);
      const Attrs& attrs = builder_.attrs(*equation);
      int cut = -1, cuts = 0;
      for (int i = 0; i < base.rank(); ++i) {
        if (attrs.ints("stride")[i] != 1) return run;
        if (source.shape()[i] == base.shape()[i]) continue;
        cut = i;
        ++cuts;
      }
      if (cuts != 1) return run;
      run.base = base;
      run.cut = cut;
      run.start = attrs.ints("start")[cut];
      run.size = run.each = source.shape()[cut];
      run.direct = cut == axis && source.shape() == piece.shape();
      run.regular = true;
      return run;
    }
    while (source.aval().size() > 0) {
      if (const auto equation = made_by(source, Arrangement::kUniform)) {
        run.constant = builder_.attrs(*equation).with("shape", Ints{});
        run.number = {};
        return run;
      }
      if (source.aval().size() == 1) run.number = source;
      auto equation = made_by(source, Arrangement::kReshape);
      if (!equation) equation = made_by(source, Arrangement::kBroadcast);
      if (!equation) return run;
      source = operand(*equation, 0);
    }
    return run;
  }

  // Whether `next` is a part of what comes before it; then it is made that.
  static bool joins(Run& run, const Run& next) {
    if (run.base) {
      if (next.base != run.base || next.cut != run.cut || next.start != run.start + run.size) return false;
      const bool direct = run.direct && next.direct;
      const bool regular = run.regular && next.each == run.each && next.first.shape() == run.first.shape();
      if (!direct && !regular) return false;
      run.direct = direct;
      run.regular = regular;
      run.size += next.size;
    } else if (run.constant) {
      if (!next.constant || !(*next.constant == *run.constant)) return false;
    } else if (!run.number || next.number != run.number) {
      return false;
    }
    run.extent += next.extent;
    ++run.count;
    return true;
  }

  Value value_of(const Run& run, int axis) {
    if (run.count == 1) return run.first;
    const Shape piece = run.first.shape();
    Shape shape = piece;
    shape[axis] = run.extent;
    if (run.constant) {
      return builder_.bind1(kFull, {}, run.constant->with("shape", Ints(shape.begin(), shape.end())));
    }
    if (run.number) return broadcast_scalar(reshape(run.number, {}), shape);
    const int64_t limit = run.start + run.size;
    const bool whole = run.start == 0 && limit == run.base.shape()[run.cut];
    const Value base = whole ? run.base : slice_axis(run.base, run.cut, run.start, limit);
    if (run.direct) return base;
    return reshape(in_order(base, run, piece, axis), shape);
  }

  // The pieces' elements: those before `axis`, then one piece after the other, then the others. Axes of size 1 are left
  // out, so that pieces that a reshape only turned are moved by one transpose.
  Value in_order(Value base, const Run& run, const Shape& piece, int axis) {
    const auto add_axes = [](Shape& to, absl::Span<const int64_t> sizes) {
      for (const int64_t size : sizes) {
        if (size != 1) to.push_back(size);
      }
      return static_cast<int>(to.size());
    };
    const Shape from = base.shape();
    const auto sizes = absl::MakeConstSpan(from);
    Shape of_slice, of_piece;
    const int at = add_axes(of_slice, sizes.first(static_cast<size_t>(run.cut)));
    if (run.each != 1) of_slice.push_back(run.each);
    add_axes(of_slice, sizes.subspan(static_cast<size_t>(run.cut) + 1));
    const int to = add_axes(of_piece, absl::MakeConstSpan(piece).first(static_cast<size_t>(axis)));
    add_axes(of_piece, absl::MakeConstSpan(piece).subspan(static_cast<size_t>(axis)));
    const auto with_pieces = [&](Shape shape, int where) {
      shape.insert(shape.begin() + where, run.count);
      return shape;
    };
    const Value split = reshape(base, with_pieces(of_slice, at));
    if (of_slice == of_piece) return move_axis(split, at, to);
    return move_axis(reshape(move_axis(split, at, 0), with_pieces(of_piece, 0)), 0, to);
  }

  Builder& builder_;
  std::vector<bool> is_term_;      // by variable of the graph: a sum uses it, and nothing else
  absl::flat_hash_set<Var> sums_;  // by variable of the builder: sums that are terms
};

}  // namespace

GraphPtr canonical_pieces(const Graph& graph) {
  std::optional<Pieces> pieces;
  return rewrite(graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands,
                            const AttrsPtr& attrs) {
    if (!pieces) pieces.emplace(graph, builder);
    if (const Value result = pieces->replaced(equation, operands, *attrs)) return Values{result};
    // In a region that is yet to be expanded sizes are not what the shapes say.
    const bool region = equation.primitive->stands_for_others();
    Values results = builder.bind(*equation.primitive, operands, region ? attrs : map_graphs(attrs, canonical_pieces));
    if (results.size() == 1) pieces->note(equation, results[0]);
    return results;
  });
}

}  // namespace ct
