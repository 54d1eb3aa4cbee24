#include "jit/schedule/arena.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "runtime/size.h"

namespace ct::jit {
namespace {

constexpr std::string_view kAllResults = "the memory for intermediate results";

// How many neighbours in time are looked at, on average, before the second layout is given up: thousands of places that
// are all wanted at once would take longer to lay out than to compile.
constexpr size_t kMostNeighbours = 128;

// ---- in the order of time -------------------------------------------------------------------------------------------

// Which bytes are taken at a moment. Pieces go to the lowest gap that is large enough.
class Arena {
 public:
  int64_t take(int64_t bytes) {
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
      const auto [offset, size] = *gap;
      if (size < bytes && offset + size != end_) continue;
      gaps_.erase(gap);
      if (size > bytes) gaps_.emplace(offset + bytes, size - bytes);
      end_ = std::max(end_, checked_add(offset, bytes, kAllResults));
      return offset;
    }
    const int64_t offset = end_;
    end_ = checked_add(end_, bytes, kAllResults);
    return offset;
  }

  void give_back(int64_t offset, int64_t bytes) {
    if (bytes == 0) return;
    const auto next = gaps_.lower_bound(offset);
    if (next != gaps_.end() && next->first == offset + bytes) {
      bytes += next->second;
      gaps_.erase(next);
    }
    if (const auto after = gaps_.lower_bound(offset); after != gaps_.begin()) {
      if (const auto before = std::prev(after); before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    gaps_.emplace(offset, bytes);
  }

  int64_t bytes() const { return end_; }

 private:
  std::map<int64_t, int64_t> gaps_;  // offset, size; none touch
  int64_t end_ = 0;
};

struct Layout {
  std::vector<int64_t> offsets;  // as the places are
  int64_t bytes = 0;
  int64_t most_wanted = 0;  // at one moment: no layout is smaller
};

Layout by_time(const std::vector<ArenaPlace>& places) {
  std::vector<size_t> order(places.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return places[a].first < places[b].first; });
  Layout layout{std::vector<int64_t>(places.size())};
  Arena arena;
  int64_t wanted = 0;
  std::multimap<int, size_t> alive;  // by the end of their time
  for (const size_t p : order) {
    for (; !alive.empty() && alive.begin()->first < places[p].first; alive.erase(alive.begin())) {
      const size_t dead = alive.begin()->second;
      arena.give_back(layout.offsets[dead], places[dead].bytes);
      wanted -= places[dead].bytes;
    }
    layout.offsets[p] = arena.take(places[p].bytes);
    layout.most_wanted = std::max(layout.most_wanted, wanted += places[p].bytes);
    alive.emplace(places[p].last, p);
  }
  layout.bytes = arena.bytes();
  return layout;
}

// ---- in the order of what they take ---------------------------------------------------------------------------------

// Places by the time at which they are wanted: a tree over moments, where each place is at the few nodes that together
// are its time, and a list by when they begin.
class Neighbours {
 public:
  explicit Neighbours(const std::vector<ArenaPlace>& places) : places_(places) {
    for (const ArenaPlace& place : places) starts_.push_back(place.first);
    std::sort(starts_.begin(), starts_.end());
    starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
    nodes_.resize(2 * starts_.size());
    beginning_.resize(starts_.size());
  }

  // Only moments at which something begins count: two that have none of these in common are not wanted at once.
  void insert(size_t place) {
    size_t low = moment(places_[place].first) + starts_.size(), high = after(places_[place].last) + starts_.size();
    beginning_[low - starts_.size()].push_back(place);
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) nodes_[low++].push_back(place);
      if (high % 2 == 1) nodes_[--high].push_back(place);
    }
  }

  // visit(place) for each that is wanted at some time of `place`, once.
  template <class Visit>
  void visit(size_t place, Visit&& visit) const {
    const size_t first = moment(places_[place].first), end = after(places_[place].last);
    for (size_t node = first + starts_.size(); node > 0; node /= 2) {
      for (const size_t other : nodes_[node]) visit(other);
    }
    for (size_t at = first + 1; at < end; ++at) {
      for (const size_t other : beginning_[at]) visit(other);
    }
  }

 private:
  size_t moment(int time) const {
    return static_cast<size_t>(std::lower_bound(starts_.begin(), starts_.end(), time) - starts_.begin());
  }
  size_t after(int time) const {
    return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), time) - starts_.begin());
  }

  const std::vector<ArenaPlace>& places_;
  std::vector<int> starts_;
  std::vector<std::vector<size_t>> nodes_, beginning_;
};

double area(const ArenaPlace& place) {
  return static_cast<double>(place.bytes) * (static_cast<double>(place.last) - place.first + 1);
}

using Before = bool (*)(const ArenaPlace&, const ArenaPlace&);

bool is_larger(const ArenaPlace& x, const ArenaPlace& y) {
  return x.bytes != y.bytes ? x.bytes > y.bytes : x.last - x.first > y.last - y.first;
}

bool takes_more(const ArenaPlace& x, const ArenaPlace& y) { return area(x) > area(y); }

// Each goes to the lowest offset that none before it has at its time. Its bytes are INT64_MAX if that takes too long.
Layout in_order(const std::vector<ArenaPlace>& places, Before before) {
  std::vector<size_t> order(places.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return before(places[a], places[b]); });
  Layout layout{std::vector<int64_t>(places.size())};
  Neighbours placed(places);
  size_t left = kMostNeighbours * places.size();
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const size_t p : order) {
    taken.clear();
    placed.visit(p, [&](size_t q) { taken.emplace_back(layout.offsets[q], layout.offsets[q] + places[q].bytes); });
    if (taken.size() > left) return {{}, INT64_MAX};
    left -= taken.size();
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [start, end] : taken) {
      if (start - offset >= places[p].bytes) break;
      offset = std::max(offset, end);
    }
    layout.offsets[p] = offset;
    layout.bytes = std::max(layout.bytes, checked_add(offset, places[p].bytes, kAllResults));
    placed.insert(p);
  }
  return layout;
}

}  // namespace

int64_t lay_out(std::vector<ArenaPlace>& places) {
  Layout best = by_time(places);
  for (const Before before : {is_larger, takes_more}) {
    if (best.bytes == best.most_wanted) break;
    Layout other = in_order(places, before);
    other.most_wanted = best.most_wanted;
    if (other.bytes < best.bytes) best = std::move(other);
  }
  for (size_t p = 0; p < places.size(); ++p) places[p].offset = best.offsets[p];
  return best.bytes;
}

}  // namespace ct::jit
