#include "transforms/higher_order/groups.h"

#include <algorithm>

#include "runtime/error.h"

namespace ct {

Groups::Groups(std::initializer_list<size_t> sizes) {
  size_t group = 0;
  for (size_t size : sizes) groups_.insert(groups_.end(), size, group++);
}

size_t Groups::count(size_t group) const {
  return static_cast<size_t>(std::count(groups_.begin(), groups_.end(), group));
}

size_t Groups::first(size_t group) const {
  return static_cast<size_t>(std::ranges::count_if(groups_, [&](size_t each) { return each < group; }));
}

Groups Groups::where(const Flags& flags) const {
  CT_CHECK(flags.size() == size());
  Groups result;
  result.groups_ = marked(groups_, flags);
  return result;
}

Groups Groups::then(const Groups& more) const {
  Groups result = *this;
  result.groups_.insert(result.groups_.end(), more.groups_.begin(), more.groups_.end());
  return result;
}

Flags Groups::among(size_t group) const {
  Flags result;
  for (size_t each : groups_) result.push_back(each == group);
  return result;
}

std::vector<size_t> Groups::order() const {
  std::vector<size_t> result = marked(range(0, size()), negated(among(kNone)));
  std::ranges::stable_sort(result, {}, [&](size_t i) { return groups_[i]; });
  return result;
}

Values Groups::sorted(absl::Span<const Value> values) const {
  CT_CHECK(values.size() == size());
  Values result;
  for (size_t i : order()) result.push_back(values[i]);
  return result;
}

Values Groups::restored(absl::Span<const Value> sorted) const {
  Values result(size());
  size_t next = 0;
  for (size_t i : order()) result[i] = sorted[next++];
  return result;
}

}  // namespace ct
