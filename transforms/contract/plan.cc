#include "transforms/contract/plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "runtime/text.h"
#include "transforms/contract/cost.h"

namespace ct::contraction {
namespace {

using terms::Factor;
using terms::Index;
using terms::Indices;
using terms::Term;

constexpr double kOperation = 2000;  // to start one
// Equal factors may change places: in how many ways is tried, to find the same product in two plans.
constexpr int64_t kMostOrders = 120;

// Calls `visit` for each order of the factors that leaves kinds of factors where they are.
template <class Visit>
void for_orders(const std::vector<const Factor*>& factors, const Visit& visit) {
  const auto kind = [](const Factor* f) { return std::tie(f->leaf, f->one_hot, f->shape); };
  std::vector<const Factor*> order = factors;
  std::ranges::stable_sort(order, [&](const Factor* a, const Factor* b) { return kind(a) < kind(b); });
  std::vector<std::pair<size_t, size_t>> groups;
  int64_t orders = 1;
  for (size_t first = 0; first < order.size();) {
    size_t last = first + 1;
    for (; last < order.size() && kind(order[last]) == kind(order[first]); ++last) {
      orders *= static_cast<int64_t>(last - first) + 1;
    }
    groups.emplace_back(first, last);
    first = last;
  }
  if (orders > kMostOrders) return visit(order);
  for (const auto& [first, last] : groups) std::sort(order.begin() + first, order.begin() + last);
  const auto over = [&](const auto& self, size_t group) -> void {
    if (group == groups.size()) return visit(order);
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(groups[group].first);
    const auto last = order.begin() + static_cast<std::ptrdiff_t>(groups[group].second);
    do self(self, group + 1);
    while (std::next_permutation(first, last));
  };
  over(over, 0);
}

// The factors with indices by number, in order of appearance; `names` may hold some already.
std::string text_of(const std::vector<const Factor*>& factors, std::map<Index, size_t>& names) {
  std::string text;
  for (const Factor* factor : factors) {
    text += concat(factor->one_hot ? "h" : "v", factor->leaf, "[", join(factor->shape, ","), "](");
    for (const Index index : factor->indices) text += concat(names.insert({index, names.size()}).first->second, ",");
    text += ")";
  }
  return text;
}

// Which of these factors are to be made whole together, by their places: those sets that hold some of them and not all,
// as what is inside of such a set is the same array with and without it.
std::string text_of_sets(const Term& term, const std::vector<const Factor*>& factors) {
  std::vector<std::string> sets;
  for (const Subset set : term.whole) {
    std::vector<size_t> places;
    for (size_t at = 0; at < factors.size(); ++at) {
      if ((set >> (factors[at] - term.factors.data()) & 1) != 0) places.push_back(at);
    }
    if (!places.empty() && places.size() < factors.size()) sets.push_back(concat("{", join(places, ","), "}"));
  }
  std::ranges::sort(sets);
  return join(sets, "");
}

Key key_of(const Term& term, const std::vector<const Factor*>& factors, const Indices& result) {
  Key best;
  for_orders(factors, [&](const std::vector<const Factor*>& order) {
    std::map<Index, size_t> names;
    std::string text = text_of(order, names);
    std::vector<std::pair<size_t, Index>> outer;
    for (const Index index : result) outer.emplace_back(names.at(index), index);
    std::sort(outer.begin(), outer.end());
    text += "->";
    for (const auto& [name, _] : outer) text += concat(name, ",");
    text += text_of_sets(term, order);
    if (!best.text.empty() && best.text <= text) return;
    best.text = std::move(text);
    best.order.clear();
    for (const auto& [_, index] : outer) best.order.push_back(index);
  });
  return best;
}

}  // namespace

std::string text_of(const terms::Term& term) {
  std::map<Index, size_t> names;
  std::string axes;
  for (const Indices& axis : term.axes) {
    for (const Index index : axis) axes += concat(names.insert({index, names.size()}).first->second, ",");
    axes += ";";
  }
  std::vector<const Factor*> factors;
  factors.reserve(term.factors.size());
  for (const Factor& factor : term.factors) factors.push_back(&factor);
  std::string best;
  for_orders(factors, [&](const std::vector<const Factor*>& order) {
    auto known = names;
    std::string text = text_of(order, known) + text_of_sets(term, order);
    if (best.empty() || text < best) best = std::move(text);
  });
  return axes + best;
}

Plan::Plan(const terms::Context& context, terms::Term term, DType dtype)
    : term_(std::move(term)),
      dtype_(dtype),
      element_bytes_(dtype_size(dtype)),
      multiply_add_(kProcessor.multiply_add(dtype)) {
  const auto add = [&](const Indices& indices) {
    for (const Index index : indices) {
      if (std::ranges::find(indices_, index) != indices_.end()) continue;
      indices_.push_back(index);
      sizes_.push_back(static_cast<double>(context.size(index)));
    }
  };
  for (const Factor& factor : term_.factors) add(factor.indices);
  for (const Indices& axis : term_.axes) add(axis);
}

std::optional<Plan> Plan::of(const terms::Context& context, const terms::Term& term, DType dtype,
                             const std::set<std::string>& made) {
  Plan plan(context, term, dtype);
  if (plan.indices_.size() > 64 || term.factors.empty()) return std::nullopt;
  if (term.factors.size() == 1 && term.factors[0].one_hot) return std::nullopt;
  for (const Factor& factor : plan.term_.factors) plan.sets_.push_back(plan.set_of(factor.indices));
  for (const Indices& axis : plan.term_.axes) plan.result_ |= plan.set_of(axis);
  if (!plan.fill(made)) return std::nullopt;
  return plan;
}

IndexSet Plan::set_of(const Indices& indices) const {
  IndexSet set = 0;
  for (const Index index : indices) set |= IndexSet{1} << (std::ranges::find(indices_, index) - indices_.begin());
  return set;
}

// The indices that the product of these factors has for others.
IndexSet Plan::outer(Subset subset) const {
  IndexSet inside = 0, outside = result_;
  for (size_t k = 0; k < sets_.size(); ++k) ((subset >> k & 1) != 0 ? inside : outside) |= sets_[k];
  return inside & outside;
}

Indices Plan::result(Subset subset) const {
  Indices result;
  const IndexSet set = outer(subset);
  for (size_t i = 0; i < indices_.size(); ++i) {
    if ((set >> i & 1) != 0) result.push_back(indices_[i]);
  }
  return result;
}

bool Plan::has(Index index, Subset subset) const { return (outer(subset) & set_of({index})) != 0; }

const Factor* Plan::one_hot(Subset subset) const {
  if (!std::has_single_bit(subset)) return nullptr;
  const Factor& factor = term_.factors[std::countr_zero(subset)];
  return factor.one_hot ? &factor : nullptr;
}

double Plan::elements_of(IndexSet set) const {
  double result = 1;
  for (; set != 0; set &= set - 1) result *= sizes_[std::countr_zero(set)];
  return result;
}

int64_t Plan::elements(Subset subset) const { return static_cast<int64_t>(elements_of(outer(subset))); }

std::vector<Subset> Plan::products() const {
  std::vector<Subset> found, open = {all()};
  while (!open.empty()) {
    const Subset subset = open.back();
    open.pop_back();
    if (step(subset).first == 0) continue;
    found.push_back(subset);
    open.push_back(step(subset).first);
    if (!step(subset).is_twice) open.push_back(step(subset).second);
  }
  return found;
}

// Two one-hot arrays of the same values: where their integers are equal.
std::optional<Plan::Cost> Plan::two_comparisons_cost(Subset first, Subset second, IndexSet wanted) const {
  const IndexSet value = set_of({one_hot(first)->indices.back()});
  const IndexSet both = (sets_[std::countr_zero(first)] | sets_[std::countr_zero(second)]) & ~value;
  if (value != set_of({one_hot(second)->indices.back()}) || (value & wanted) != 0 || (both & ~wanted) != 0) {
    return std::nullopt;
  }
  const double elements = elements_of(both);
  return Cost{elements * (4 * multiply_add_ + static_cast<double>(element_bytes_) * kByte) + kOperation, 0};
}

// A one-hot array and another one: a gather, when the values go, a sum of what is scattered, when they stay.
std::optional<Plan::Cost> Plan::comparison_cost(IndexSet indices, IndexSet value, IndexSet other,
                                                IndexSet wanted) const {
  const auto bytes = static_cast<double>(element_bytes_);
  const bool other_has = (value & other) != 0, stays = (value & wanted) != 0;
  if (other_has && !stays) {
    return Cost{2 * bytes * elements_of((other & ~value) | indices) * kByte + kOperation, 0};
  }
  if (other_has || !stays) return std::nullopt;
  if ((other & ~wanted & ~indices) != 0) return std::nullopt;
  const double updates = elements_of(other | indices);
  return Cost{bytes * (elements_of(wanted) + 3 * updates) * kByte + kOperation, updates};
}

// Whether something is scattered before all that is to be multiplied with it along the same indices: zeros that nothing
// was scattered to would be multiplied, too, with what may not be a number.
bool Plan::comes_too_early(Subset hot, Subset other, IndexSet value, IndexSet wanted) const {
  if ((value & wanted) == 0) return false;
  const IndexSet places = sets_[std::countr_zero(hot)] & ~value;
  for (size_t k = 0; k < sets_.size(); ++k) {
    const Subset factor = Subset{1} << k;
    if ((factor & (hot | other)) != 0 || term_.factors[k].one_hot || (sets_[k] & places) == 0) continue;
    const bool is_apart =
        std::ranges::any_of(term_.whole, [&](Subset set) { return (set & hot) != 0 && (set & factor) == 0; });
    if (!is_apart) return true;
  }
  return false;
}

std::optional<Plan::Cost> Plan::pair_cost(Subset first, Subset second, IndexSet wanted, bool is_twice) const {
  if (one_hot(first) != nullptr && one_hot(second) != nullptr) return two_comparisons_cost(first, second, wanted);
  if (one_hot(second) != nullptr) std::swap(first, second);
  if (const Factor* hot = one_hot(first)) {
    const IndexSet value = set_of({hot->indices.back()});
    if (comes_too_early(first, second, value, wanted)) return std::nullopt;
    return comparison_cost(sets_[std::countr_zero(first)] & ~value, value, outer(second), wanted);
  }
  const auto bytes = static_cast<double>(element_bytes_);
  IndexSet a = outer(first), b = outer(second);
  double before = 0;
  // What only one of them has, and nobody wants, is summed over first.
  for (auto [mine, other] : {std::pair{&a, b}, std::pair{&b, a}}) {
    const IndexSet alone = *mine & ~other & ~wanted;
    if (alone == 0) continue;
    before += bytes * elements_of(*mine) * kByte;
    *mine &= ~alone;
  }
  const double k = elements_of(a & b & ~wanted), batch = elements_of(a & b & wanted);
  const double m = elements_of(a & ~b), n = elements_of(b & ~a);
  const double products = batch * m * n * k;
  const double moved = bytes * (elements_of(wanted) + elements_of(a) + (is_twice && a == b ? 0 : elements_of(b)));
  if ((a & b & ~wanted) == 0) {
    return Cost{before + std::max(products * 4 * multiply_add_, moved * kByte) + kOperation, products};
  }
  if (m == 1 || n == 1) return Cost{before + vector_product_time(products, moved, dtype_) + kOperation, products};
  const double time = matrix_product_time(products, std::min({m, n, k}), bytes * elements_of(wanted), dtype_);
  return Cost{before + time + kOperation, products, true};
}

// Whether no set of factors that are to be made whole has some of them in here, beside others, and some elsewhere.
bool Plan::keeps_whole(Subset subset) const {
  return std::ranges::all_of(
      term_.whole, [&](Subset set) { return (subset & set) == 0 || (subset & ~set) == 0 || (set & ~subset) == 0; });
}

bool Plan::fill(const std::set<std::string>& made) {
  const size_t count = size_t{1} << term_.factors.size();
  steps_.resize(count);
  keys_.resize(count);
  possible_.assign(count, false);
  for (Subset subset = 1; subset < count; ++subset) {
    std::vector<const Factor*> factors;
    for (size_t k = 0; k < term_.factors.size(); ++k) {
      if ((subset >> k & 1) != 0) factors.push_back(&term_.factors[k]);
    }
    if (!keeps_whole(subset)) continue;
    keys_[subset] = key_of(term_, factors, result(subset));
    if (std::has_single_bit(subset)) {
      possible_[subset] = true;
      continue;
    }
    const IndexSet wanted = outer(subset);
    Step& best = steps_[subset];
    for (Subset first = (subset - 1) & subset; first != 0; first = (first - 1) & subset) {
      const Subset second = subset ^ first;
      if (first < second || !possible_[first] || !possible_[second]) continue;
      // Equal halves are made once.
      const bool is_twice = keys_[first].text == keys_[second].text;
      const auto cost = pair_cost(first, second, wanted, is_twice);
      if (!cost) continue;
      const double time = cost->nanoseconds + steps_[first].nanoseconds + (is_twice ? 0 : steps_[second].nanoseconds);
      if (possible_[subset] && time >= best.nanoseconds) continue;
      possible_[subset] = true;
      best = {.nanoseconds = time,
              .multiply_adds =
                  cost->multiply_adds + steps_[first].multiply_adds + (is_twice ? 0 : steps_[second].multiply_adds),
              .first = first,
              .second = second,
              .is_twice = is_twice,
              .is_matrix_product = cost->is_matrix_product};
    }
    if (possible_[subset] && made.contains(keys_[subset].text)) best.nanoseconds = best.multiply_adds = 0;
  }
  return possible_[count - 1];
}

}  // namespace ct::contraction
