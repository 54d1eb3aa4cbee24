#include "transforms/contract/concatenations.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "ir/ops.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct::contraction {
namespace {

// Where a value is cut: into pieces of these sizes along an axis.
struct Cut {
  int axis;
  Ints sizes;
  bool operator==(const Cut&) const = default;
};

constexpr int kWhole = -1;

// How an equation is done with pieces.
struct Done {
  std::vector<int> axes;  // by operand: the one that is cut, or kWhole
  int axis;               // of the result; kWhole where the results for the pieces are added up
  Ints sizes;
  int64_t times = 1;  // as long are those of the result
};

// The axis of `to` that axis `axis` of `from` is, or is the outermost part of, if they are one array in row-major
// order.
int outermost_of(const Shape& from, const Shape& to, int axis) {
  const auto from_here = [](const Shape& shape, int at) {
    return num_elements(absl::MakeConstSpan(shape).subspan(static_cast<size_t>(at)));
  };
  for (int at = 0; at < static_cast<int>(to.size()); ++at) {
    if (from_here(to, at) == from_here(from, axis) && to[at] != 1 && to[at] % from[axis] == 0) return at;
  }
  return kWhole;
}

int place(const Ints& axes, int64_t axis) {
  const auto at = std::ranges::find(axes, axis);
  return at == axes.end() ? kWhole : static_cast<int>(at - axes.begin());
}

class Pieces {
 public:
  Pieces(const Graph& graph, const Growth& growth);
  bool any() const { return !cuts_.empty(); }
  GraphPtr rewritten();

 private:
  int64_t size(Var var) const { return graph_.aval(var).size(); }
  const Cut* cut(Var var) const;
  bool concatenates_grown(const Equation& equation) const;
  void follow();
  bool keep_what_is_needed();
  std::optional<Done> done(const Equation& equation) const;
  std::optional<Done> product(const Equation& equation) const;
  int axis_of_result(const Equation& equation, int axis) const;
  Value part(Var var, int axis, int64_t start, int64_t limit);
  Value on_piece(Builder& builder, const Equation& equation, const Done& how, size_t piece, int64_t start);
  void emit(Builder& builder, uint32_t number);

  const Graph& graph_;
  const Growth& growth_;
  std::vector<bool> grown_;  // by variable
  std::vector<bool> is_output_;
  std::vector<std::vector<uint32_t>> uses_;
  std::set<Var> kept_;
  absl::flat_hash_map<Var, Cut> cuts_;
  absl::flat_hash_map<uint32_t, Done> done_;  // by equation
  Values values_;
  absl::flat_hash_map<Var, Values> pieces_;
};

Pieces::Pieces(const Graph& graph, const Growth& growth)
    : graph_(graph),
      growth_(growth),
      grown_(growth.grown()),
      is_output_(graph.num_vars(), false),
      uses_(graph.num_vars()) {
  bool any = false;
  for (uint32_t i = 0; i < graph.equations().size(); ++i) {
    const Equation& equation = graph.equations()[i];
    for (const Var var : graph.operands(equation)) uses_[var].push_back(i);
    any |= concatenates_grown(equation);
  }
  if (!any) return;
  for (const Var var : graph.outputs()) is_output_[var] = true;
  do follow();
  while (keep_what_is_needed());
}

const Cut* Pieces::cut(Var var) const {
  const auto found = cuts_.find(var);
  return found == cuts_.end() ? nullptr : &found->second;
}

bool Pieces::concatenates_grown(const Equation& equation) const {
  return equation.primitive->arrangement == Arrangement::kConcatenate &&
         std::ranges::any_of(graph_.operands(equation), [&](Var var) { return grown_[var]; });
}

// What is in pieces, as far as nothing is known to be needed whole.
void Pieces::follow() {
  cuts_.clear();
  done_.clear();
  for (uint32_t i = 0; i < graph_.equations().size(); ++i) {
    const Equation& equation = graph_.equations()[i];
    const Var result = equation.first_output;
    if (equation.output_count != 1 || kept_.contains(result)) continue;
    int64_t largest = 0;
    for (const Var var : graph_.operands(equation)) {
      if (cut(var) != nullptr) largest = std::max(largest, size(var));
    }
    if (largest == 0) {
      if (!concatenates_grown(equation)) continue;
      Cut found{static_cast<int>(graph_.attrs(equation).integer("axis")), {}};
      for (const Var var : graph_.operands(equation)) {
        const int64_t along = graph_.aval(var).dim(found.axis);
        if (along != 0) found.sizes.push_back(along);
      }
      if (found.sizes.size() > 1) cuts_.insert({result, std::move(found)});
      continue;
    }
    auto how = done(equation);
    if (!how) continue;
    // What is small again is put together.
    if (how->axis != kWhole && 2 * size(result) > largest) {
      Cut made{how->axis, how->sizes};
      for (int64_t& along : made.sizes) along *= how->times;
      cuts_.insert({result, std::move(made)});
    }
    done_.insert({i, *std::move(how)});
  }
}

// Whether something was in pieces that has to be whole. Then nothing that is made of it is.
bool Pieces::keep_what_is_needed() {
  const size_t before = kept_.size();
  for (uint32_t i = graph_.equations().size(); i-- > 0;) {
    const Var result = graph_.equations()[i].first_output;
    if (cut(result) == nullptr) continue;
    const bool all_done = std::ranges::all_of(uses_[result], [&](uint32_t use) { return done_.contains(use); });
    if (!is_output_[result] && all_done) continue;
    kept_.insert(result);
    done_.erase(i);
  }
  return kept_.size() != before;
}

std::optional<Done> Pieces::done(const Equation& equation) const {
  const Primitive& primitive = *equation.primitive;
  if (!primitive.terms) return std::nullopt;
  if (primitive.is<structures::Product>()) return product(equation);
  const auto operands = graph_.operands(equation);
  if (!primitive.elementwise) {
    if (operands.size() != 1) return std::nullopt;
    const Cut& only = *cut(operands[0]);
    if (primitive.folds(ScalarOp::kAdd) && place(graph_.attrs(equation).ints("axes"), only.axis) != kWhole) {
      return Done{{only.axis}, kWhole, only.sizes};
    }
    const int axis = axis_of_result(equation, only.axis);
    if (axis == kWhole) return std::nullopt;
    const int64_t from = graph_.aval(operands[0]).dim(only.axis), to = graph_.aval(equation.first_output).dim(axis);
    return Done{{only.axis}, axis, only.sizes, to / from};
  }
  const Cut* common = nullptr;
  for (const Var var : operands) {
    const Cut* each = cut(var);
    if (each == nullptr) continue;
    if (common != nullptr && *common != *each) return std::nullopt;
    common = each;
  }
  return Done{std::vector<int>(operands.size(), common->axis), common->axis, common->sizes};
}

// Where the axis goes that is cut; kWhole where that is not clear.
int Pieces::axis_of_result(const Equation& equation, int axis) const {
  const Attrs& attrs = graph_.attrs(equation);
  const Shape& from = graph_.aval(graph_.operands(equation)[0]).shape();
  const Shape& to = graph_.aval(equation.first_output).shape();
  switch (equation.primitive->arrangement) {
    case Arrangement::kTranspose:
      return place(attrs.ints("permutation"), axis);
    case Arrangement::kBroadcast:
      return static_cast<int>(attrs.ints("axes")[axis]);
    case Arrangement::kReshape:
      return outermost_of(from, to, axis);
    default:
      break;
  }
  if (!equation.primitive->folds(ScalarOp::kAdd)) return kWhole;
  return axis - static_cast<int>(std::ranges::count_if(attrs.ints("axes"), [&](int64_t each) { return each < axis; }));
}

std::optional<Done> Pieces::product(const Equation& equation) const {
  const auto operands = graph_.operands(equation);
  const auto dimensions = DotDimensions::from(graph_.attrs(equation));
  const Ints* contract[] = {&dimensions.lhs_contract, &dimensions.rhs_contract};
  const Ints* batch[] = {&dimensions.lhs_batch, &dimensions.rhs_batch};
  std::optional<Done> found;
  for (const int side : {0, 1}) {
    const Cut* mine = cut(operands[side]);
    if (mine == nullptr) continue;
    Done how{{kWhole, kWhole}, kWhole, mine->sizes};
    how.axes[side] = mine->axis;
    const auto free = [&](int of) { return free_axes(graph_.aval(operands[of]).rank(), *contract[of], *batch[of]); };
    if (const int at = place(*contract[side], mine->axis); at != kWhole) {
      how.axes[1 - side] = static_cast<int>((*contract[1 - side])[at]);
    } else if (const int of_batch = place(*batch[side], mine->axis); of_batch != kWhole) {
      how.axes[1 - side] = static_cast<int>((*batch[1 - side])[of_batch]);
      how.axis = of_batch;
    } else {
      how.axis = static_cast<int>(batch[0]->size() + (side == 0 ? 0 : free(0).size())) + place(free(side), mine->axis);
    }
    if (found && (found->axes != how.axes || found->axis != how.axis || found->sizes != how.sizes)) return std::nullopt;
    found = std::move(how);
  }
  return found;
}

// Some places of a value along an axis. What is a broadcast, or one number, stays one.
Value Pieces::part(Var var, int axis, int64_t start, int64_t limit) {
  const Value value = values_[var];
  Shape shape = graph_.aval(var).shape();
  if (start == 0 && limit == shape[axis]) return value;
  shape[axis] = limit - start;
  const Equation* equation = growth_.producer(var);
  const Arrangement arrangement = equation == nullptr ? Arrangement::kNone : equation->primitive->arrangement;
  if (arrangement == Arrangement::kUniform) {
    return value.builder->bind1(*equation->primitive, {},
                                graph_.attrs_ptr(*equation)->with("shape", Ints(shape.begin(), shape.end())));
  }
  if (arrangement != Arrangement::kBroadcast) return slice_axis(value, axis, start, limit);
  const Var source = graph_.operands(*equation)[0];
  const Ints& axes = graph_.attrs(*equation).ints("axes");
  const int at = place(axes, axis);
  const bool is_part = at != kWhole && graph_.aval(source).dim(at) == graph_.aval(var).dim(axis);
  return broadcast(is_part ? part(source, at, start, limit) : values_[source], shape, axes);
}

Value Pieces::on_piece(Builder& builder, const Equation& equation, const Done& how, size_t piece, int64_t start) {
  const auto operands = graph_.operands(equation);
  Values parts;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (cut(operands[k]) != nullptr) {
      parts.push_back(pieces_.at(operands[k])[piece]);
    } else if (how.axes[k] == kWhole) {
      parts.push_back(values_[operands[k]]);
    } else {
      parts.push_back(part(operands[k], how.axes[k], start, start + how.sizes[piece]));
    }
  }
  AttrsPtr attrs = graph_.attrs_ptr(equation);
  const Arrangement arrangement = equation.primitive->arrangement;
  if (arrangement == Arrangement::kBroadcast || arrangement == Arrangement::kReshape) {
    Ints shape = attrs->ints("shape");
    shape[how.axis] = how.sizes[piece] * how.times;
    attrs = attrs->with("shape", shape);
  }
  return builder.bind(*equation.primitive, parts, attrs)[0];
}

void Pieces::emit(Builder& builder, uint32_t number) {
  const Equation& equation = graph_.equations()[number];
  const Var result = equation.first_output;
  if (const auto how = done_.find(number); how != done_.end()) {
    Values made;
    int64_t start = 0;
    for (size_t piece = 0; piece < how->second.sizes.size(); ++piece) {
      made.push_back(on_piece(builder, equation, how->second, piece, start));
      start += how->second.sizes[piece];
    }
    if (cut(result) != nullptr) {
      pieces_[result] = std::move(made);
    } else if (how->second.axis != kWhole) {
      values_[result] = concatenate(made, how->second.axis);
    } else {
      values_[result] = made[0];
      for (size_t piece = 1; piece < made.size(); ++piece) values_[result] = values_[result] + made[piece];
    }
    return;
  }
  if (const Cut* root = cut(result)) {
    for (const Var var : graph_.operands(equation)) {
      if (graph_.aval(var).dim(root->axis) != 0) pieces_[result].push_back(values_[var]);
    }
    return;
  }
  Values operands;
  for (const Var var : graph_.operands(equation)) operands.push_back(values_[var]);
  const Values results = builder.bind(*equation.primitive, operands, graph_.attrs_ptr(equation));
  std::copy(results.begin(), results.end(), values_.begin() + result);
}

GraphPtr Pieces::rewritten() {
  Builder builder;
  values_ = inputs_like(builder, graph_);
  values_.resize(graph_.num_vars());
  for (uint32_t i = 0; i < graph_.equations().size(); ++i) {
    const LocationScope scope(location_of(graph_.equations()[i]));
    emit(builder, i);
  }
  Values outputs;
  for (const Var var : graph_.outputs()) outputs.push_back(values_[var]);
  return builder.finish(outputs);
}

}  // namespace

GraphPtr in_pieces(const Graph& graph, const Growth& growth) {
  Pieces pieces(graph, growth);
  return pieces.any() ? eliminate_dead_code(*pieces.rewritten()) : nullptr;
}

}  // namespace ct::contraction
