#include "jit/llvm/periods.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"

namespace ct::jit {

namespace {

constexpr size_t kMostPeriods = 16;
// Items in a row that vote as one: in programs of few kinds of statements each of these comes again within a step, but
// not so many of them in the same order.
constexpr uint32_t kLongToken = 12;

// The distances at which the heaviest items come again. An item that occurs twice in a period votes for other
// distances, too, but those that occur once all vote for the same.
void add_likely_periods(absl::Span<const uint64_t> tokens, absl::Span<const int64_t> weights,
                        std::vector<uint32_t>& periods) {
  absl::flat_hash_map<uint64_t, uint32_t> last;
  absl::flat_hash_map<uint32_t, int64_t> votes;
  for (uint32_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == 0) continue;
    const auto [at, is_new] = last.emplace(tokens[i], i);
    if (!is_new) votes[i - std::exchange(at->second, i)] += weights[i];
  }
  std::vector<std::pair<int64_t, uint32_t>> ordered;  // most votes first, then the shortest
  for (const auto& [period, weight] : votes) ordered.emplace_back(-weight, period);
  const size_t most = std::min(ordered.size(), kMostPeriods);
  std::partial_sort(ordered.begin(), ordered.begin() + static_cast<std::ptrdiff_t>(most), ordered.end());
  for (size_t i = 0; i < most; ++i) {
    const uint32_t period = ordered[i].second;
    if (std::ranges::find(periods, period) == periods.end()) periods.push_back(period);
  }
}

// What begins at each item, as one token; 0 where it holds an item that is like no other.
std::vector<uint64_t> long_tokens(absl::Span<const uint64_t> tokens) {
  std::vector<uint64_t> found(tokens.size(), 0);
  uint32_t known = 0;  // items from here on that are like others
  for (size_t i = tokens.size(); i-- > 0;) {
    known = tokens[i] == 0 ? 0 : known + 1;
    if (known >= kLongToken) found[i] = std::max<uint64_t>(absl::HashOf(tokens.subspan(i, kLongToken)), 1);
  }
  return found;
}

class PeriodicRuns {
 public:
  PeriodicRuns(absl::Span<const uint64_t> tokens, absl::Span<const int64_t> weights)
      : tokens_(tokens), before_(tokens.size() + 1, 0), taken_(tokens.size(), false) {
    for (size_t i = 0; i < tokens.size(); ++i) before_[i + 1] = before_[i] + weights[i];
    add_likely_periods(tokens, weights, periods_);
    if (tokens.size() >= 2 * kLongToken) add_likely_periods(long_tokens(tokens), weights, periods_);
  }

  // The one whose copies weigh most is chosen, again and again; what it has in common with others, these lose.
  std::vector<PeriodicRun> find() {
    const auto size = static_cast<uint32_t>(tokens_.size());
    for (uint32_t order = 0; order < periods_.size(); ++order) {
      if (periods_[order] < size) add(order, 0, size - periods_[order]);
    }
    std::vector<PeriodicRun> runs;
    while (!candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      const uint32_t period = periods_[best.order];
      const auto from = taken_.begin() + best.begin;
      if (std::find(from, taken_.begin() + best.end + period, true) != taken_.begin() + best.end + period) {
        add(best.order, best.begin, best.end);
        continue;
      }
      const uint32_t count = (best.end - best.begin) / period + 1;
      std::fill_n(from, count * period, true);
      runs.push_back({best.begin, period, count});
    }
    std::ranges::sort(runs, {}, &PeriodicRun::begin);
    return runs;
  }

 private:
  // Items [begin, end) are each like the one a period later.
  struct Candidate {
    int64_t saved;  // what all copies but one weigh
    uint32_t order, begin, end;
    bool operator<(const Candidate& other) const {
      return std::tuple(saved, other.order, other.begin) < std::tuple(other.saved, order, begin);
    }
  };

  // Those that begin in [begin, end).
  void add(uint32_t order, uint32_t begin, uint32_t end) {
    const uint32_t period = periods_[order];
    const auto comes_again = [&](uint32_t i) {
      return tokens_[i] != 0 && tokens_[i] == tokens_[i + period] && !taken_[i] && !taken_[i + period];
    };
    for (uint32_t i = begin; i < end; ++i) {
      const uint32_t first = i;
      while (i < end && comes_again(i)) ++i;
      const uint32_t copies = (i - first) / period + 1;
      const int64_t saved = before_[first + copies * period] - before_[first + period];
      if (copies > 1 && saved > 0) candidates_.push({saved, order, first, i});
    }
  }

  absl::Span<const uint64_t> tokens_;
  std::vector<int64_t> before_;  // sums of weights
  std::vector<bool> taken_;
  std::vector<uint32_t> periods_;  // the likeliest first
  std::priority_queue<Candidate> candidates_;
};

}  // namespace

std::vector<PeriodicRun> find_periodic_runs(absl::Span<const uint64_t> tokens, absl::Span<const int64_t> weights) {
  return PeriodicRuns(tokens, weights).find();
}

}  // namespace ct::jit
