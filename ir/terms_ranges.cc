#include "ir/terms_ranges.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "ir/terms_parts.h"

namespace ct::terms {
namespace {

constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

size_t place_in(const Factor& factor, Index index) {
  const auto end = factor.indices.end() - (factor.one_hot ? 1 : 0);
  const auto at = std::find(factor.indices.begin(), end, index);
  return at == end ? kNowhere : static_cast<size_t>(at - factor.indices.begin());
}

// Whether each factor has the index once at most, none compares integers with it or is found by it, and the result has
// it in one axis.
bool is_plain(const Term& term, Index index) {
  for (const Factor& factor : term.factors) {
    const auto times = std::ranges::count(factor.indices, index);
    if (times > 1 || (times == 1 && factor.one_hot)) return false;
  }
  int64_t axes = 0;
  for (const Indices& axis : term.axes) axes += std::ranges::count(axis, index);
  return axes <= 1;
}

// The factor has another leaf, whose axis `at`, that of the index, has `size` places.
void replace_axis(Factor& factor, size_t at, LeafId leaf, int64_t size, Index index) {
  const auto offset = static_cast<std::ptrdiff_t>(at);
  factor.leaf = leaf;
  if (size == 1) {
    factor.shape.erase(factor.shape.begin() + offset);
    factor.indices.erase(factor.indices.begin() + offset);
    return;
  }
  factor.shape[at] = size;
  factor.indices[at] = index;
}

LeafId with_range(Context& context, Leaf::Kind kind, LeafId leaf, const Ints& shape, size_t axis, const Range& range) {
  const Part part{.leaf = leaf, .shape = shape, .axes = {static_cast<int64_t>(axis)}};
  return context.intern({.kind = kind, .range = range, .parts = {part}});
}

// The index of an axis becomes one of `size` places, its factors what `leaf` makes of them.
template <class MakeLeaf>
bool change_axis(Context& context, Term& term, size_t axis, int64_t size, const MakeLeaf& leaf) {
  if (term.axes[axis].size() != 1) return false;
  const Index index = term.axes[axis][0];
  if (!is_plain(term, index)) return false;
  const Index made = context.fresh(size);
  for (Factor& factor : term.factors) {
    const size_t at = place_in(factor, index);
    if (at != kNowhere) replace_axis(factor, at, leaf(factor, at), size, made);
  }
  term.axes[axis] = size == 1 ? Indices{} : Indices{made};
  return true;
}

bool take(Context& context, Term& term, size_t axis, const Range& range) {
  return change_axis(context, term, axis, range.count, [&](const Factor& factor, size_t at) {
    return with_range(context, Leaf::Kind::kTaken, factor.leaf, factor.shape, at, range);
  });
}

bool spread(Context& context, Term& term, size_t axis, const Range& range) {
  if (!term.axes[axis].empty()) {
    const Index index = term.axes[axis][0];
    const bool any =
        std::ranges::any_of(term.factors, [&](const Factor& factor) { return place_in(factor, index) != kNowhere; });
    return any && change_axis(context, term, axis, range.of, [&](const Factor& factor, size_t at) {
             return with_range(context, Leaf::Kind::kSpread, factor.leaf, factor.shape, at, range);
           });
  }
  // One place, of which no factor has an index: the smallest of them gets one.
  Factor* smallest = nullptr;
  for (Factor& factor : term.factors) {
    if (factor.one_hot) continue;
    if (smallest == nullptr || num_elements(factor.shape) < num_elements(smallest->shape)) smallest = &factor;
  }
  if (smallest == nullptr) return false;
  Ints shape = smallest->shape;
  shape.push_back(1);
  const Index made = context.fresh(range.of);
  smallest->leaf = with_range(context, Leaf::Kind::kSpread, smallest->leaf, shape, shape.size() - 1, range);
  smallest->shape.push_back(range.of);
  smallest->indices.push_back(made);
  term.axes[axis] = {made};
  return true;
}

template <class Change>
std::optional<Sum> with_axes_changed(const Input& input, absl::Span<const Range> ranges, const Change& change) {
  Sum result{.mixed = input.operands[0].mixed, .square = input.operands[0].square};
  for (const int64_t size : input.result.shape()) {
    if (size == 0) return std::nullopt;
  }
  for (const Term& operand : input.operands[0].terms) {
    Term term = input.context.renamed(operand);
    for (size_t axis = 0; axis < ranges.size(); ++axis) {
      const Range& range = ranges[axis];
      if (range.is_whole()) continue;
      if (!change(input.context, term, axis, range)) return std::nullopt;
    }
    result.terms.push_back(std::move(term));
  }
  return result;
}

}  // namespace

std::optional<Sum> taken(const Input& input, absl::Span<const Range> ranges) {
  return with_axes_changed(input, ranges, take);
}

std::optional<Sum> spread_out(const Input& input, absl::Span<const Range> ranges) {
  return with_axes_changed(input, ranges, spread);
}

std::optional<Sum> concatenated(const Input& input, size_t axis) {
  if (input.result.size() == 0) return std::nullopt;
  Sum result{.square = true};
  int64_t first = 0;
  for (size_t k = 0; k < input.operands.size(); ++k) {
    const int64_t size = input.avals[k].dim(static_cast<int>(axis));
    const Range range{.first = first, .count = size, .of = input.result.dim(static_cast<int>(axis))};
    first += size;
    if (size == 0) continue;
    for (const Term& operand : input.operands[k].terms) {
      Term term = input.context.renamed(operand);
      if (!range.is_whole() && !spread(input.context, term, axis, range)) return std::nullopt;
      result.terms.push_back(std::move(term));
    }
    result.square = result.square && input.operands[k].square;
  }
  if (result.terms.size() > Context::kMostTerms) return std::nullopt;
  result.mixed = std::ranges::any_of(result.terms, [](const Term& term) { return term.factors.size() < 2; });
  input.context.merge(result);
  return result;
}

std::optional<Filled> filled(Context& context, LeafId id, const Ints& shape, size_t axis) {
  const Leaf leaf = context.leaf(id);  // a copy: more leaves are made
  const auto inner = [&](const Part& part, size_t at) { return filled(context, part.leaf, part.shape, at); };
  switch (leaf.kind) {
    case Leaf::Kind::kSpread: {
      const Part& part = leaf.parts[0];
      const auto own = static_cast<size_t>(part.axes[0]);
      Ints whole = part.shape;
      whole[own] = leaf.range.of;
      if (whole != shape) return std::nullopt;
      if (own == axis) return Filled{part.leaf, part.shape, leaf.range};
      auto found = inner(part, axis);
      if (!found) return std::nullopt;
      found->leaf = with_range(context, leaf.kind, found->leaf, found->shape, own, leaf.range);
      found->shape[own] = leaf.range.of;
      return found;
    }
    case Leaf::Kind::kConverted:
    case Leaf::Kind::kFinite: {
      if (leaf.parts[0].shape != shape) return std::nullopt;
      auto found = inner(leaf.parts[0], axis);
      if (!found) return std::nullopt;
      const Part part{.leaf = found->leaf, .shape = found->shape};
      found->leaf = context.intern({.kind = leaf.kind, .dtype = leaf.dtype, .parts = {part}});
      return found;
    }
    case Leaf::Kind::kConcatenation: {
      // Parts that are alike, put together along another axis, the last one.
      if (axis + 1 >= shape.size()) return std::nullopt;
      Leaf made{.kind = leaf.kind};
      std::optional<Filled> common;
      int64_t along = 0;
      for (const Part& part : leaf.parts) {
        const auto found = inner(part, static_cast<size_t>(part.axes[axis]));
        if (!found || (common && found->range != common->range)) return std::nullopt;
        along += part.axes.back() < 0 ? 1 : part.shape[static_cast<size_t>(part.axes.back())];
        made.parts.push_back(
            {.leaf = found->leaf, .shape = found->shape, .axes = part.axes, .coefficient = part.coefficient});
        common = found;
      }
      if (!common || along != shape.back()) return std::nullopt;
      const int64_t left = common->shape[static_cast<size_t>(leaf.parts.back().axes[axis])];
      common->leaf = context.intern(std::move(made));
      common->shape = shape;
      common->shape[axis] = left;
      return common;
    }
    default:
      return std::nullopt;
  }
}

namespace {

// What all factors that have an index are without their zeros; none where one has none, or they are spread unlike.
std::optional<std::vector<std::optional<Filled>>> all_filled(Context& context, const Term& term, Index index) {
  std::vector<std::optional<Filled>> found(term.factors.size());
  bool any = false;
  for (size_t k = 0; k < term.factors.size(); ++k) {
    const Factor& factor = term.factors[k];
    const size_t at = place_in(factor, index);
    if (at == kNowhere) continue;
    found[k] = filled(context, factor.leaf, factor.shape, at);
    if (!found[k]) return std::nullopt;
    any = true;
  }
  if (!any || !is_plain(term, index)) return std::nullopt;
  return found;
}

// The places that two ranges have in common; none where that is no range.
std::optional<Range> common(const Range& a, const Range& b) {
  if (a == b) return a;
  if (a.step != 1 || b.step != 1) return std::nullopt;
  const int64_t first = std::max(a.first, b.first), end = std::min(a.first + a.count, b.first + b.count);
  return Range{.first = first, .count = std::max<int64_t>(end - first, 0), .of = a.of};
}

}  // namespace

std::optional<Narrowed> narrowed(Context& context, const Term& term) {
  Narrowed result{.term = term};
  std::map<Index, std::pair<Index, Range>> changed;
  Indices indices;
  for (const Factor& factor : term.factors) {
    for (const Index index : factor.indices) {
      if (!contains(indices, index)) indices.push_back(index);
    }
  }
  for (const Index index : indices) {
    const auto found = all_filled(context, result.term, index);
    if (!found) continue;
    std::optional<Range> range;
    bool alike = true;
    for (const auto& each : *found) {
      if (!each) continue;
      range = range ? common(*range, each->range) : each->range;
      alike = alike && range.has_value();
      if (!alike) break;
    }
    if (!alike || !range) continue;
    if (range->count == 0) return std::nullopt;
    const Index made = context.fresh(range->count);
    for (size_t k = 0; k < found->size(); ++k) {
      if (!(*found)[k]) continue;
      Factor& factor = result.term.factors[k];
      const Filled& left = *(*found)[k];
      const size_t at = place_in(factor, index);
      LeafId leaf = left.leaf;
      if (range->count != left.range.count) {
        const Range part{.first = range->first - left.range.first, .count = range->count, .of = left.range.count};
        leaf = with_range(context, Leaf::Kind::kTaken, leaf, left.shape, at, part);
      }
      replace_axis(factor, at, leaf, range->count, made);
    }
    changed.insert({index, {made, *range}});
  }
  for (Indices& axis : result.term.axes) {
    Indices left;
    for (const Index index : axis) {
      const auto at = changed.find(index);
      if (at == changed.end()) {
        result.ranges.push_back({.count = context.size(index), .of = context.size(index)});
        left.push_back(index);
        continue;
      }
      const auto& [made, range] = at->second;
      result.ranges.push_back(range);
      if (range.count != 1) left.push_back(made);
    }
    axis = std::move(left);
  }
  if (changed.empty()) result.ranges.clear();
  return result;
}

}  // namespace ct::terms
