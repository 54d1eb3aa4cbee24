#include "ir/terms.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ir/terms_parts.h"
#include "ir/terms_ranges.h"

namespace ct::terms {
namespace {

template <class T>
void add_bytes(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Tells leaves apart; not for people.
std::string key_of(const Leaf& leaf) {
  std::string text;
  add_bytes(text, leaf.kind);
  add_bytes(text, leaf.var);
  add_bytes(text, leaf.dtype);
  add_bytes(text, leaf.limit);
  for (const int64_t each : {leaf.range.first, leaf.range.step, leaf.range.count, leaf.range.of}) add_bytes(text, each);
  for (const Part& part : leaf.parts) {
    add_bytes(text, part.leaf);
    add_bytes(text, part.shape.size());
    for (const int64_t size : part.shape) add_bytes(text, size);
    add_bytes(text, part.axes.size());
    for (const int64_t axis : part.axes) add_bytes(text, axis);
    add_bytes(text, part.coefficient);
  }
  return text;
}

void substitute(Term& term, Index old, Index by) {
  for (Factor& factor : term.factors) std::replace(factor.indices.begin(), factor.indices.end(), old, by);
  for (Indices& axis : term.axes) std::replace(axis.begin(), axis.end(), old, by);
}

// The indices of the result, all of them in order.
Indices flat(const Term& term) {
  Indices result;
  for (const Indices& axis : term.axes) result.insert(result.end(), axis.begin(), axis.end());
  return result;
}

void replace_in(Indices& list, Index old, const Indices& by) {
  const auto at = std::find(list.begin(), list.end(), old);
  if (at == list.end()) return;
  list.insert(list.erase(at), by.begin(), by.end());
}

}  // namespace

LeafId Context::intern(Leaf leaf) {
  const auto [at, is_new] = known_.insert({key_of(leaf), static_cast<LeafId>(leaves_.size())});
  if (is_new) leaves_.push_back(std::move(leaf));
  return at->second;
}

Sum Context::of_leaf(LeafId leaf, absl::Span<const int64_t> shape) {
  Term term;
  Factor factor{.leaf = leaf, .shape = {}, .indices = {}};
  for (const int64_t size : shape) {
    term.axes.emplace_back();
    if (size == 1) continue;
    factor.shape.push_back(size);
    factor.indices.push_back(fresh(size));
    term.axes.back().push_back(factor.indices.back());
  }
  term.factors.push_back(std::move(factor));
  return {.terms = {std::move(term)}};
}

Sum Context::of_constant(double value, absl::Span<const int64_t> shape) {
  if (value == 0) return {};
  Term term{.coefficient = value};
  for (const int64_t size : shape) term.axes.push_back(size == 1 ? Indices{} : Indices{fresh(size)});
  return {.terms = {std::move(term)}};
}

Term Context::renamed(const Term& term) {
  std::map<Index, Index> names;
  const auto rename = [&](Indices& indices) {
    for (Index& index : indices) {
      const auto [at, is_new] = names.insert({index, 0});
      if (is_new) at->second = fresh(size(index));
      index = at->second;
    }
  };
  Term result = term;
  for (Factor& factor : result.factors) rename(factor.indices);
  for (Indices& axis : result.axes) rename(axis);
  return result;
}

std::optional<Indices> Context::split(Term& term, Index index, absl::Span<const int64_t> sizes) {
  for (const Factor& factor : term.factors) {
    const auto times = std::count(factor.indices.begin(), factor.indices.end(), index);
    if (times > 1 || (times == 1 && factor.one_hot && factor.indices.back() == index)) return std::nullopt;
  }
  Indices parts;
  for (const int64_t size : sizes) parts.push_back(fresh(size));
  for (Factor& factor : term.factors) {
    const auto at = std::find(factor.indices.begin(), factor.indices.end(), index) - factor.indices.begin();
    if (at == static_cast<std::ptrdiff_t>(factor.indices.size())) continue;
    factor.shape.insert(factor.shape.erase(factor.shape.begin() + at), sizes.begin(), sizes.end());
    replace_in(factor.indices, index, parts);
  }
  for (Indices& axis : term.axes) replace_in(axis, index, parts);
  return parts;
}

// Makes an axis of each the same list of indices, those of `a`.
bool Context::align(Term& a, size_t axis_of_a, Term& b, size_t axis_of_b) {
  for (size_t k = 0;; ++k) {
    const bool ends = k == a.axes[axis_of_a].size();
    if (ends != (k == b.axes[axis_of_b].size())) return false;
    if (ends) break;
    const Index i = a.axes[axis_of_a][k], j = b.axes[axis_of_b][k];
    if (size(i) == size(j)) continue;
    // The first of a list is the slowest: the longer one becomes two, of which the second is as long as what the other
    // list has left of it.
    Term& longer = size(i) > size(j) ? a : b;
    const Index whole = size(i) > size(j) ? i : j;
    const int64_t least = std::min(size(i), size(j));
    if (least == 0 || size(whole) % least != 0) return false;
    if (!split(longer, whole, {least, size(whole) / least})) return false;
  }
  for (size_t k = 0; k < a.axes[axis_of_a].size(); ++k) substitute(b, b.axes[axis_of_b][k], a.axes[axis_of_a][k]);
  return true;
}

void Context::sum_to(Term& term, std::vector<Indices> axes) const {
  const auto holds = [](const auto& lists, Index index) {
    return std::ranges::any_of(lists,
                               [&](const Indices& list) { return std::ranges::find(list, index) != list.end(); });
  };
  std::vector<Indices> of_factors;
  of_factors.reserve(term.factors.size());
  for (const Factor& factor : term.factors) of_factors.push_back(factor.indices);
  Indices gone = flat(term);
  std::sort(gone.begin(), gone.end());
  gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  for (const Index index : gone) {
    // What is the same along an index is added up so often.
    if (!holds(axes, index) && !holds(of_factors, index)) term.coefficient *= static_cast<long double>(size(index));
  }
  term.axes = std::move(axes);
}

std::optional<Sum> Context::product(const Sum& x, const Sum& y, absl::Span<const Pair> pairs,
                                    const std::function<std::vector<Indices>(const Term& x, const Term& y)>& axes) {
  if (x.terms.size() * y.terms.size() > kMostTerms) return std::nullopt;
  Sum result{.mixed = x.mixed || y.mixed};
  for (const Term& of_x : x.terms) {
    for (const Term& of_y : y.terms) {
      if (of_x.factors.size() + of_y.factors.size() > kMostFactors) return std::nullopt;
      Term a = renamed(of_x), b = renamed(of_y);
      for (const auto [first, second] : pairs) {
        if (!align(a, first, b, second)) return std::nullopt;
      }
      Term term{.coefficient = a.coefficient * b.coefficient, .factors = a.factors, .axes = a.axes};
      term.factors.insert(term.factors.end(), b.factors.begin(), b.factors.end());
      term.axes.insert(term.axes.end(), b.axes.begin(), b.axes.end());
      term.whole = a.whole;
      for (const uint32_t set : b.whole) term.whole.push_back(set << a.factors.size());
      term.zeros_win = a.zeros_win;
      for (const auto [zeros, over] : b.zeros_win) {
        term.zeros_win.push_back({zeros << a.factors.size(), over << a.factors.size()});
      }
      sum_to(term, axes(a, b));
      result.terms.push_back(std::move(term));
    }
  }
  return result;
}

// A conversion stays outside: what it converts is what sums are made in.
LeafId Context::finite(LeafId leaf, const Ints& shape) {
  Leaf outer = this->leaf(leaf);
  if (outer.kind == Leaf::Kind::kFinite) return leaf;
  if (outer.kind == Leaf::Kind::kConverted) {
    const Part& part = outer.parts[0];
    outer.parts[0].leaf = finite(part.leaf, part.shape);
    return intern(std::move(outer));
  }
  return intern({.kind = Leaf::Kind::kFinite, .parts = {{.leaf = leaf, .shape = shape}}});
}

std::optional<Sum> Context::product_no_nan(const Sum& x, const Sum& y, bool both) {
  std::vector<Pair> pairs;
  if (x.terms.empty() || y.terms.empty()) return Sum{};
  for (size_t axis = 0; axis < x.terms[0].axes.size(); ++axis) pairs.push_back({axis, axis});
  auto result = product(x, y, pairs, [](const Term& of_x, const Term&) { return of_x.axes; });
  if (!result) return std::nullopt;
  auto term = result->terms.begin();
  for (const Term& of_x : x.terms) {
    for (const Term& of_y : y.terms) {
      const uint32_t first = (uint32_t{1} << of_x.factors.size()) - 1;
      const uint32_t second = ((uint32_t{1} << of_y.factors.size()) - 1) << of_x.factors.size();
      term->zeros_win.push_back({.zeros = first, .over = second});
      if (both) term->zeros_win.push_back({.zeros = second, .over = first});
      for (size_t k = 0; k < term->factors.size(); ++k) {
        Factor& factor = term->factors[k];
        if (!factor.one_hot && (both || k >= of_x.factors.size())) factor.leaf = finite(factor.leaf, factor.shape);
      }
      ++term;
    }
  }
  return result;
}

std::optional<Sum> Context::reciprocal(const Sum& y) {
  if (y.terms.size() != 1 || y.terms[0].factors.size() != 1) return std::nullopt;
  Sum result = y;
  Term& term = result.terms[0];
  Factor& factor = term.factors[0];
  if (factor.one_hot || term.coefficient == 0) return std::nullopt;
  factor.leaf = intern({.kind = Leaf::Kind::kReciprocal, .parts = {{.leaf = factor.leaf, .shape = factor.shape}}});
  term.coefficient = 1 / term.coefficient;
  return result;
}

std::optional<std::vector<Term>> Context::each_with_leaf(
    const Sum& x, const Sum& y, const std::function<bool(Term& term, const Term& by)>& change) {
  if (y.terms.size() != 1 || y.terms[0].factors.size() != 1 || y.terms[0].factors[0].one_hot) return std::nullopt;
  std::vector<Term> result;
  for (const Term& of_x : x.terms) {
    Term term = renamed(of_x), by = renamed(y.terms[0]);
    for (size_t axis = 0; axis < term.axes.size(); ++axis) {
      if (!align(term, axis, by, axis)) return std::nullopt;
    }
    if (!change(term, by)) return std::nullopt;
    result.push_back(std::move(term));
  }
  return result;
}

std::optional<Sum> Context::quotient(const Sum& x, const Sum& y) {
  auto terms = each_with_leaf(x, y, [&](Term& term, const Term& by) {
    const Factor& divisor = by.factors[0];
    Factor* smallest = nullptr;
    for (Factor& factor : term.factors) {
      if (factor.one_hot || !places_of(factor, divisor.indices)) continue;
      if (smallest == nullptr || num_elements(factor.shape) < num_elements(smallest->shape)) smallest = &factor;
    }
    if (smallest == nullptr || by.coefficient == 0) return false;
    const Part data{.leaf = smallest->leaf, .shape = smallest->shape};
    const Part second{.leaf = divisor.leaf, .shape = divisor.shape, .axes = *places_of(*smallest, divisor.indices)};
    smallest->leaf = intern({.kind = Leaf::Kind::kQuotient, .parts = {data, second}});
    term.coefficient /= by.coefficient;
    return true;
  });
  if (!terms) return std::nullopt;
  return Sum{.terms = *std::move(terms), .mixed = x.mixed};
}

std::optional<Sum> Context::gated(const Sum& x, const Sum& y, bool passing) {
  auto terms = each_with_leaf(x, y, [&](Term& term, const Term& by) {
    const Factor& mask = by.factors[0];
    bool is_gated = false;
    for (Factor& factor : term.factors) {
      if (factor.one_hot) continue;
      Part gate{.leaf = mask.leaf, .shape = {}}, projected{.leaf = mask.leaf, .shape = mask.shape};
      for (size_t axis = 0; axis < mask.indices.size(); ++axis) {
        const auto at = std::ranges::find(factor.indices, mask.indices[axis]) - factor.indices.begin();
        if (at == static_cast<std::ptrdiff_t>(factor.indices.size())) {
          projected.axes.push_back(static_cast<int64_t>(axis));
          continue;
        }
        gate.shape.push_back(mask.shape[axis]);
        gate.axes.push_back(at);
      }
      if (projected.axes.empty()) {
        is_gated = true;
      } else {
        gate.leaf = intern({.kind = passing ? Leaf::Kind::kAny : Leaf::Kind::kAll, .parts = {std::move(projected)}});
      }
      const Part data{.leaf = factor.leaf, .shape = factor.shape};
      factor.leaf =
          intern({.kind = passing ? Leaf::Kind::kGate : Leaf::Kind::kInverseGate, .parts = {data, std::move(gate)}});
    }
    return is_gated && by.coefficient == 1;
  });
  if (!terms) return std::nullopt;
  return Sum{.terms = *std::move(terms), .mixed = x.mixed, .square = x.square};
}

namespace {

// A term of two factors that have all indices of the result between them, and one further index at most, in both: what
// such terms have in common, and where they differ.
constexpr int kMostExponent = 30;  // of a coefficient that becomes part of a leaf

struct Form {
  size_t order[2];             // the factors in the order of `positions`
  Ints positions[2];           // where each one's indices are among those of the result, in order
  std::optional<Index> bound;  // what is summed over
  std::vector<Ints> sizes;     // of the result's axes
  // Which places along the factors' axes are not zero: what is zero elsewhere is put together with its like.
  std::vector<std::optional<Range>> ranges;
};

std::optional<Form> form_of(Context& context, const Term& term) {
  if (term.factors.size() != 2 || term.factors[0].one_hot || term.factors[1].one_hot) return std::nullopt;
  if (!term.whole.empty() || !term.zeros_win.empty()) return std::nullopt;
  if (std::abs(exponent_of(term.coefficient)) > kMostExponent) return std::nullopt;
  const Indices outer = flat(term);
  Form form;
  Ints positions[2];
  for (int k : {0, 1}) {
    for (const Index index : term.factors[k].indices) {
      const auto at = std::find(outer.begin(), outer.end(), index) - outer.begin();
      if (at < static_cast<std::ptrdiff_t>(outer.size())) {
        positions[k].push_back(at);
      } else {
        if (form.bound && form.bound != index) return std::nullopt;
        form.bound = index;
      }
    }
    std::sort(positions[k].begin(), positions[k].end());
    if (std::adjacent_find(positions[k].begin(), positions[k].end()) != positions[k].end()) return std::nullopt;
  }
  if (form.bound) {
    for (const Factor& factor : term.factors) {
      if (std::count(factor.indices.begin(), factor.indices.end(), *form.bound) != 1) return std::nullopt;
    }
  }
  const bool exchanged = positions[1] < positions[0];
  for (size_t k : {0, 1}) {
    form.order[k] = exchanged ? 1 - k : k;
    form.positions[k] = positions[form.order[k]];
  }
  for (const size_t k : form.order) {
    const Factor& factor = term.factors[k];
    for (const int64_t position : form.positions[k == form.order[0] ? 0 : 1]) {
      const auto at = std::find(factor.indices.begin(), factor.indices.end(), outer[position]) - factor.indices.begin();
      const auto left = filled(context, factor.leaf, factor.shape, static_cast<size_t>(at));
      form.ranges.push_back(left ? std::optional(left->range) : std::nullopt);
    }
  }
  for (const Indices& axis : term.axes) {
    form.sizes.emplace_back();
    for (const Index index : axis) form.sizes.back().push_back(context.size(index));
  }
  return form;
}

}  // namespace

int exponent_of(long double coefficient) { return coefficient == 0 ? 0 : std::ilogb(coefficient); }

bool is_concatenated_further(const Part& part, const Leaf& leaf_of_part) {
  return leaf_of_part.kind == Leaf::Kind::kConcatenation &&
         part.axes.back() == static_cast<int64_t>(part.shape.size()) - 1 &&
         part.shape.size() == leaf_of_part.parts[0].axes.size();
}

Part part_of_part(const Part& part, const Part& inner) {
  Part result{.leaf = inner.leaf, .shape = inner.shape, .coefficient = inner.coefficient * part.coefficient};
  for (const int64_t axis : part.axes) result.axes.push_back(inner.axes[axis]);
  return result;
}

// A part of a concatenation, or the parts of the one that it is, if they are few: a sum of hundreds of terms is made by
// as many additions, each of which would have a list of all.
void Context::append(std::vector<Part>& parts, const Part& part) {
  constexpr size_t kFew = 8;
  const Leaf& inner = leaf(part.leaf);
  if (!is_concatenated_further(part, inner) || inner.parts.size() > kFew) {
    parts.push_back(part);
    return;
  }
  for (const Part& each : inner.parts) parts.push_back(part_of_part(part, each));
}

void Context::merge(Sum& sum) {
  if (sum.terms.size() < 2) return;
  struct Group {
    Form form;
    std::vector<std::pair<Term, Form>> members;
  };
  std::vector<Group> groups;
  std::vector<Term> others;
  for (Term& term : sum.terms) {
    const std::optional<Form> form = form_of(*this, term);
    if (!form) {
      others.push_back(std::move(term));
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& each) {
      return each.form.positions[0] == form->positions[0] && each.form.positions[1] == form->positions[1] &&
             each.form.sizes == form->sizes && each.form.ranges == form->ranges;
    });
    if (group == groups.end()) group = groups.insert(group, {*form, {}});
    group->members.emplace_back(std::move(term), *form);
  }
  for (Group& group : groups) {
    if (group.members.size() == 1) {
      others.push_back(std::move(group.members[0].first));
      continue;
    }
    Term merged{.axes = group.members[0].first.axes};
    const Indices outer = flat(merged);
    int64_t total = 0;
    for (const auto& [term, form] : group.members) total += form.bound ? size(*form.bound) : 1;
    const Index bound = fresh(total);
    for (int side : {0, 1}) {
      Leaf leaf{.kind = Leaf::Kind::kConcatenation};
      for (const auto& [term, form] : group.members) {
        const Factor& factor = term.factors[form.order[side]];
        const Indices own = flat(term);
        const auto axis_of = [&](Index index) {
          return std::find(factor.indices.begin(), factor.indices.end(), index) - factor.indices.begin();
        };
        Part part{.leaf = factor.leaf,
                  .shape = factor.shape,
                  .coefficient = side == 0 ? static_cast<double>(term.coefficient) : 1};
        for (const int64_t position : form.positions[side]) part.axes.push_back(axis_of(own[position]));
        part.axes.push_back(form.bound ? axis_of(*form.bound) : -1);
        append(leaf.parts, part);
      }
      Factor factor{.leaf = intern(std::move(leaf)), .shape = {}, .indices = {}};
      for (const int64_t position : group.form.positions[side]) factor.indices.push_back(outer[position]);
      factor.indices.push_back(bound);
      for (const Index index : factor.indices) factor.shape.push_back(size(index));
      merged.factors.push_back(std::move(factor));
    }
    others.push_back(std::move(merged));
  }
  sum.terms = std::move(others);
}

std::optional<Ints> places_of(const Factor& factor, const Indices& indices) {
  Ints places;
  const auto end = factor.indices.end() - (factor.one_hot ? 1 : 0);
  for (const Index index : indices) {
    if (std::count(factor.indices.begin(), end, index) != 1) return std::nullopt;
    places.push_back(std::find(factor.indices.begin(), end, index) - factor.indices.begin());
  }
  return places;
}

std::optional<double> Input::constant(size_t operand) const {
  double total = 0;
  for (const Term& term : operands[operand].terms) {
    if (!term.factors.empty()) return std::nullopt;
    total += static_cast<double>(term.coefficient);
  }
  return total;
}

Rule scaled_by(double coefficient) {
  return [coefficient](const Input& input) {
    Sum result = input.operands[0];
    for (Term& term : result.terms) term.coefficient *= coefficient;
    result.square = result.square && coefficient >= 0;
    return std::optional(std::move(result));
  };
}

Rule sum_of_operands(double second) {
  return [second](const Input& input) -> std::optional<Sum> {
    Sum result = input.operands[0];
    for (Term term : input.operands[1].terms) {
      term.coefficient *= second;
      result.terms.push_back(std::move(term));
    }
    if (result.terms.size() > Context::kMostTerms) return std::nullopt;
    result.mixed = std::ranges::any_of(result.terms, [](const Term& term) { return term.factors.size() < 2; });
    result.square = result.square && input.operands[1].square && second > 0;
    input.context.merge(result);
    return result;
  };
}

}  // namespace ct::terms
