// Operands and results by the part that they play: a loop's constants, carries and sequences, a mask's lengths and
// arrays.
//
// A derived sub-graph has its inputs in the order in which a transform makes them: primals, then tangents; residuals,
// then what is unknown. Its primitive takes them group by group. So a rule says of each input which group it belongs
// to, in the order that there is; `sorted` leads to the primitive's order, `restored` leads back.
#pragma once

#include <initializer_list>
#include <vector>

#include "transforms/higher_order/subgraphs.h"

namespace ct {

class Groups {
 public:
  static constexpr size_t kNone = ~size_t{0};  // is left out when sorted

  // So many of group 0, then so many of group 1, and so on.
  Groups(std::initializer_list<size_t> sizes = {});

  size_t size() const { return groups_.size(); }
  size_t operator[](size_t i) const { return groups_[i]; }
  size_t count(size_t group) const;
  size_t first(size_t group) const;  // where the group begins, when sorted

  void add(size_t group) { groups_.push_back(group); }
  Groups where(const Flags& flags) const;  // of those that are marked
  Groups then(const Groups& more) const;   // of these, then of those
  Flags among(size_t group) const;         // which belong to it

  // Those of one group, of something given for each.
  template <class Items>
  auto of(size_t group, const Items& items) const {
    return marked(items, among(group));
  }
  // Those of one group, then those of another.
  template <class Items>
  auto of(size_t group, size_t other, const Items& items) const {
    auto result = of(group, items);
    for (auto&& item : of(other, items)) result.push_back(item);
    return result;
  }

  std::vector<size_t> order() const;  // positions, group by group
  Values sorted(absl::Span<const Value> values) const;
  Values restored(absl::Span<const Value> sorted) const;  // null where kNone

 private:
  std::vector<size_t> groups_;
};

}  // namespace ct
