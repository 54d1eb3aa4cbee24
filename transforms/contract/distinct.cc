#include "transforms/contract/distinct.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "ir/terms_parts.h"
#include "transforms/common.h"

namespace ct::contraction {
namespace {

using terms::contains;
using terms::Factor;
using terms::Index;
using terms::Indices;
using terms::Leaf;
using terms::Term;

// One-hot factors of one array of integers over one index of values.
struct Group {
  std::vector<size_t> factors;
  Index value = 0;
  Ints batch;            // axes where all of them have the same index
  Indices of_batch;      // these
  Ints own;              // the others
  int64_t places = 1;    // of these axes together
  bool escapes = false;  // whether anything else has the values
};

std::vector<Group> groups_of(const Term& term) {
  std::map<Index, Group> by_value;
  for (size_t k = 0; k < term.factors.size(); ++k) {
    if (!term.factors[k].one_hot) continue;
    Group& group = by_value[term.factors[k].indices.back()];
    group.value = term.factors[k].indices.back();
    group.factors.push_back(k);
  }
  std::vector<Group> result;
  for (auto& [value, group] : by_value) {
    const Factor& first = term.factors[group.factors[0]];
    const auto is_alike = [&](size_t k) {
      const Factor& other = term.factors[k];
      const auto end = other.indices.end() - 1;
      return other.leaf == first.leaf && other.shape == first.shape &&
             std::find(other.indices.begin(), end, value) == end;
    };
    if (!std::ranges::all_of(group.factors, is_alike)) continue;
    for (size_t axis = 0; axis < first.shape.size(); ++axis) {
      const Index index = first.indices[axis];
      const bool is_common =
          std::ranges::all_of(group.factors, [&](size_t k) { return term.factors[k].indices[axis] == index; });
      (is_common ? group.batch : group.own).push_back(static_cast<int64_t>(axis));
      if (is_common) group.of_batch.push_back(index);
    }
    result.push_back(std::move(group));
  }
  return result;
}

// Whether the result, or another factor than this one, has the index.
bool has(const Term& term, Index index, size_t but) {
  for (const Indices& axis : term.axes) {
    if (contains(axis, index)) return true;
  }
  for (size_t k = 0; k < term.factors.size(); ++k) {
    if (k != but && contains(term.factors[k].indices, index)) return true;
  }
  return false;
}

// Whether the result, or another one-hot factor, has the index.
bool is_shared(const Term& term, Index index, size_t hot) {
  for (size_t k = 0; k < term.factors.size(); ++k) {
    if (k != hot && term.factors[k].one_hot && contains(term.factors[k].indices, index)) return true;
  }
  return std::ranges::any_of(term.axes, [&](const Indices& axis) { return contains(axis, index); });
}

// What sums nothing up needs not be made whole.
void drop_sets_without_sums(Term& term) {
  std::erase_if(term.whole, [&](uint32_t set) {
    for (size_t k = 0; k < term.factors.size(); ++k) {
      if ((set >> k & 1) == 0) continue;
      for (const Index index : term.factors[k].indices) {
        bool is_outer = std::ranges::any_of(term.axes, [&](const Indices& axis) { return contains(axis, index); });
        for (size_t other = 0; other < term.factors.size(); ++other) {
          is_outer = is_outer || ((set >> other & 1) == 0 && contains(term.factors[other].indices, index));
        }
        if (!is_outer) return false;
      }
    }
    return true;
  });
}

// Sums of equal integers are made before anything else is multiplied with them: there are zeros in them where nothing
// was added, which are multiplied with each other then, and with nothing that may be no number.
void add_sets(Term& term) {
  std::vector<uint32_t> sets;
  uint32_t all = 0;
  for (size_t hot = 0; hot < term.factors.size(); ++hot) {
    if (!term.factors[hot].one_hot) continue;
    uint32_t set = uint32_t{1} << hot;
    for (const Index index : term.factors[hot].indices) {
      if (index == term.factors[hot].indices.back() || is_shared(term, index, hot)) continue;
      for (size_t k = 0; k < term.factors.size(); ++k) {
        if (contains(term.factors[k].indices, index)) set |= uint32_t{1} << k;
      }
    }
    if (std::has_single_bit(set)) continue;
    if ((all & set) != 0) return;
    all |= set;
    sets.push_back(set);
  }
  term.whole = std::move(sets);
}

void remove_factors(Term& term, const std::vector<bool>& gone) {
  std::vector<uint32_t> bits(term.factors.size(), 0);
  std::vector<Factor> left;
  for (size_t k = 0; k < term.factors.size(); ++k) {
    if (gone[k]) continue;
    bits[k] = uint32_t{1} << left.size();
    left.push_back(std::move(term.factors[k]));
  }
  for (uint32_t& set : term.whole) {
    uint32_t moved = 0;
    for (size_t k = 0; k < bits.size(); ++k) {
      if ((set >> k & 1) != 0) moved |= bits[k];
    }
    set = moved;
  }
  term.factors = std::move(left);
}

class Rewriting {
 public:
  Rewriting(terms::Context& context, const Term& term) : context_(context), result_{.term = term} {}

  std::optional<OverDistinct> run() {
    bool changes = false;
    for (Group group : groups_of(result_.term)) {
      const Factor& first = result_.term.factors[group.factors[0]];
      for (const int64_t axis : group.own) group.places *= first.shape[axis];
      group.escapes =
          std::ranges::any_of(result_.term.axes, [&](const Indices& axis) { return contains(axis, group.value); });
      for (size_t k = 0; k < result_.term.factors.size(); ++k) {
        const bool is_other = std::ranges::find(group.factors, k) == group.factors.end();
        group.escapes = group.escapes || (is_other && contains(result_.term.factors[k].indices, group.value));
      }
      if (group.escapes && group.factors.size() == 1) continue;
      if (group.places >= context_.size(group.value)) continue;
      const bool is_longer = group.escapes && !group.own.empty();
      if (is_longer && result_.term.factors.size() == terms::Context::kMostFactors) continue;
      changes = rewrite(group) || changes;
    }
    if (!changes) return std::nullopt;
    if (result_.term.whole.empty()) add_sets(result_.term);
    drop_sets_without_sums(result_.term);
    return std::move(result_);
  }

 private:
  Leaf leaf_of(Leaf::Kind kind, const Factor& hot, const Group& group) const {
    return {.kind = kind,
            .limit = context_.size(group.value),
            .parts = {{.leaf = hot.leaf, .shape = hot.shape, .axes = group.batch}}};
  }

  // Clears what an example holds for integers none of which is a value.
  bool gate(const Factor& hot, const Group& group) {
    terms::LeafId mask = context_.intern(leaf_of(Leaf::Kind::kInside, hot, group));
    if (!group.own.empty()) {
      mask =
          context_.intern({.kind = Leaf::Kind::kAny, .parts = {{.leaf = mask, .shape = hot.shape, .axes = group.own}}});
    }
    Ints shape;
    for (const int64_t axis : group.batch) shape.push_back(hot.shape[axis]);
    bool is_gated = false;
    for (Factor& factor : result_.term.factors) {
      if (factor.one_hot) continue;
      const auto places = terms::places_of(factor, group.of_batch);
      if (!places) continue;
      const terms::Part where{.leaf = mask, .shape = shape, .axes = *places};
      const auto cleared = [&](terms::LeafId leaf) {
        return context_.intern({.kind = Leaf::Kind::kGate, .parts = {{.leaf = leaf, .shape = factor.shape}, where}});
      };
      // A conversion stays outside: what it converts is what sums are made in.
      Leaf outer = context_.leaf(factor.leaf);
      if (outer.kind == Leaf::Kind::kConverted) {
        outer.parts = {{.leaf = cleared(outer.parts[0].leaf), .shape = factor.shape}};
        factor.leaf = context_.intern(std::move(outer));
      } else {
        factor.leaf = cleared(factor.leaf);
      }
      is_gated = true;
    }
    return is_gated;
  }

  bool rewrite(const Group& group) {
    Term& term = result_.term;
    const Factor hot = term.factors[group.factors[0]];
    std::vector<bool> gone(term.factors.size(), false);
    if (group.own.empty()) {
      // The same integers: one of them is enough, and none where nothing has the values.
      if (!group.escapes && !gate(hot, group)) return false;
      for (size_t i = group.escapes ? 1 : 0; i < group.factors.size(); ++i) gone[group.factors[i]] = true;
      if (group.escapes) {
        // It stands outside of what is made whole, which is smaller without it.
        for (uint32_t& set : term.whole) set &= ~(uint32_t{1} << group.factors[0]);
      }
      remove_factors(term, gone);
      std::erase(term.whole, 0u);
      return true;
    }
    const Index places = context_.fresh(group.places);
    const terms::LeafId first = context_.intern(leaf_of(Leaf::Kind::kFirst, hot, group));
    bool counts = false;
    for (const size_t k : group.factors) {
      const bool is_alone =
          std::ranges::none_of(group.own, [&](int64_t axis) { return has(term, term.factors[k].indices[axis], k); });
      Factor& factor = term.factors[k];
      if (is_alone) {
        counts = true;
        factor = {.leaf = context_.intern(leaf_of(Leaf::Kind::kCounts, hot, group)), .shape = {}, .indices = {}};
        for (const int64_t axis : group.batch) factor.shape.push_back(hot.shape[axis]);
        factor.shape.push_back(group.places);
        factor.indices = group.of_batch;
        factor.indices.push_back(places);
      } else {
        factor.leaf = first;
        factor.indices.back() = places;
      }
    }
    if (counts) gate(hot, group);
    if (group.escapes) {
      Factor values{.leaf = context_.intern(leaf_of(Leaf::Kind::kDistinct, hot, group)),
                    .one_hot = true,
                    .shape = {},
                    .indices = group.of_batch};
      for (const int64_t axis : group.batch) values.shape.push_back(hot.shape[axis]);
      values.shape.push_back(group.places);
      values.indices.push_back(places);
      values.indices.push_back(group.value);
      term.factors.push_back(std::move(values));
    }
    result_.comparisons += static_cast<double>(num_elements(hot.shape)) * static_cast<double>(group.places);
    return true;
  }

  terms::Context& context_;
  OverDistinct result_;
};

// Integers with the axes of the batch in front, and all others as one.
struct Arranged {
  Value integers;
  Ints order;   // of the axes
  Shape shape;  // in that order
};
Arranged arranged(const Leaf& leaf, Value integers) {
  Arranged result{.integers = integers, .order = leaf.parts[0].axes, .shape = {}};
  const size_t batch = result.order.size();
  for (int axis = 0; axis < integers.rank(); ++axis) {
    if (std::ranges::find(leaf.parts[0].axes, axis) == leaf.parts[0].axes.end()) result.order.push_back(axis);
  }
  for (const int64_t axis : result.order) result.shape.push_back(integers.shape()[axis]);
  Shape flat(result.shape.begin(), result.shape.begin() + static_cast<std::ptrdiff_t>(batch));
  flat.push_back(num_elements(absl::MakeConstSpan(result.shape).subspan(batch)));
  result.integers = reshape(transpose(integers, result.order), flat);
  return result;
}

// Of arranged integers: the place of the first one that is equal, and -1 of what is no value.
Value first_places(const Leaf& leaf, Value integers) {
  const int last = integers.rank() - 1;
  const int64_t count = integers.shape()[last];
  Shape shape(integers.shape());
  shape.push_back(count);
  Ints of_rows(shape.size() - 1), of_columns;
  std::iota(of_rows.begin(), of_rows.end(), 0);
  of_columns = of_rows;
  of_columns.back() = last + 1;
  const Value in_columns = broadcast(integers, shape, of_columns), in_rows = broadcast(integers, shape, of_rows);
  const Value equal = eq(in_rows, in_columns);
  const Value at = iota(*integers.builder, Aval(DType::kInt32, shape), last + 1);
  const Value first = reduce_min(select(equal, at, full_like(at, static_cast<double>(count))), {last + 1});
  const Value none = full_like(first, -1);
  return select(is_inside(integers, leaf.limit), first, none);
}

// Along a new last axis: whether the place is this one.
Value is_at(Value places) {
  Shape shape(places.shape());
  shape.push_back(places.shape().back());
  Ints axes(shape.size() - 1);
  std::iota(axes.begin(), axes.end(), 0);
  return eq(broadcast(places, shape, axes),
            iota(*places.builder, Aval(DType::kInt32, shape), static_cast<int>(shape.size()) - 1));
}

}  // namespace

std::optional<OverDistinct> over_distinct(terms::Context& context, const terms::Term& term) {
  return Rewriting(context, term).run();
}

Value places_of_first(const Leaf& leaf, Value integers) {
  const Arranged from = arranged(leaf, integers);
  const Value places = reshape(first_places(leaf, from.integers), from.shape);
  Ints back(from.order.size());
  for (size_t axis = 0; axis < back.size(); ++axis) back[from.order[axis]] = static_cast<int64_t>(axis);
  return transpose(places, back);
}

Value distinct_integers(const Leaf& leaf, Value integers) {
  const Value from = arranged(leaf, integers).integers;
  const Value places = first_places(leaf, from);
  const Value is_first = eq(places, iota(*places.builder, places.aval(), places.rank() - 1));
  const Value values = convert(from, DType::kInt64);
  return select(is_first, values, full_like(values, -1));
}

Value counts_of_equal(const Leaf& leaf, Value integers, DType dtype) {
  const Value places = first_places(leaf, arranged(leaf, integers).integers);
  return reduce_sum(convert(is_at(places), dtype), {places.rank() - 1});
}

}  // namespace ct::contraction
