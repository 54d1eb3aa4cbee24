#include "jit/llvm/periods.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace ct::jit {

namespace {

constexpr size_t kMostPeriods = 16;
constexpr int kMostRuns = 64;

// The distances at which the heaviest items come again. An item that occurs twice in a period votes for other
// distances, too, but those that occur once all vote for the same.
std::vector<uint32_t> likely_periods(absl::Span<const uint64_t> tokens, absl::Span<const int64_t> weights) {
  absl::flat_hash_map<uint64_t, uint32_t> last;
  absl::flat_hash_map<uint32_t, int64_t> votes;
  for (uint32_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == 0) continue;
    const auto [at, is_new] = last.emplace(tokens[i], i);
    if (!is_new) votes[i - std::exchange(at->second, i)] += weights[i];
  }
  std::vector<std::pair<int64_t, uint32_t>> ordered;  // most votes first, then the shortest
  for (const auto& [period, weight] : votes) ordered.emplace_back(-weight, period);
  std::ranges::sort(ordered);
  std::vector<uint32_t> periods;
  for (const auto& [weight, period] : ordered) {
    if (periods.size() < kMostPeriods) periods.push_back(period);
  }
  return periods;
}

}  // namespace

std::vector<PeriodicRun> find_periodic_runs(absl::Span<const uint64_t> tokens, absl::Span<const int64_t> weights) {
  const std::vector<uint32_t> periods = likely_periods(tokens, weights);
  const auto size = static_cast<uint32_t>(tokens.size());
  std::vector<int64_t> before(size + 1, 0);  // sums of weights
  for (uint32_t i = 0; i < size; ++i) before[i + 1] = before[i] + weights[i];
  std::vector<bool> taken(size, false);
  std::vector<PeriodicRun> runs;
  for (int found = 0; found < kMostRuns; ++found) {
    PeriodicRun best{0, 0, 0};
    int64_t most = 0;
    for (uint32_t period : periods) {
      for (uint32_t i = 0; i + period < size;) {
        uint32_t end = i;
        while (end + period < size && tokens[end] != 0 && tokens[end] == tokens[end + period] && !taken[end] &&
               !taken[end + period]) {
          ++end;
        }
        const uint32_t copies = (end - i) / period + 1;
        // What all copies but one weigh.
        const int64_t saved = before[i + copies * period] - before[i + period];
        if (copies > 1 && saved > most) {
          most = saved;
          best = {i, period, copies};
        }
        i = end + 1;
      }
    }
    if (most == 0) break;
    std::fill_n(taken.begin() + best.begin, best.period * best.count, true);
    runs.push_back(best);
  }
  std::ranges::sort(runs, {}, &PeriodicRun::begin);
  return runs;
}

}  // namespace ct::jit
