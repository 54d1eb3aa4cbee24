#include "runtime/sharing_trials.h"

#include <algorithm>
#include <cstddef>

namespace ct {
namespace {

constexpr double kMemory = 0.125;  // what the last time weighs in a ratio
constexpr double kOutlier = 4;     // times as long as usual: the system had the thread do something else

// Code begins at multiples of 16.
size_t slot(const void* key, size_t slots) {
  const uint64_t mixed = (reinterpret_cast<uintptr_t>(key) >> 4) * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(mixed >> 32) % slots;
}

SharingWay other(SharingWay way) { return way == SharingWay::kShared ? SharingWay::kAlone : SharingWay::kShared; }

template <typename Entry, size_t n>
Entry& entry_of(std::array<Entry, n>& table, const void* key) {
  Entry& entry = table[slot(key, n)];
  if (entry.key != key) {
    entry = {};
    entry.key = key;
  }
  return entry;
}

}  // namespace

SharingTrials::Program& SharingTrials::program_of(const void* key) { return entry_of(programs_, key); }
SharingTrials::Loop& SharingTrials::loop_of(const void* key) { return entry_of(loops_, key); }

SharingWay SharingTrials::way(const void* program) {
  const Program& p = program_of(program);
  return p.trying ? other(p.usual) : p.usual;
}

void SharingTrials::tell(const void* program, const void* loop, SharingWay way, int64_t estimate, int64_t begin,
                         int64_t end) {
  Program& p = program_of(program);
  // What runs on one thread between two loops finds its data where these left it.
  const int64_t since = begin - p.last_end < kLongestGap ? std::min(begin, p.last_end) : begin;
  p.last_end = end;
  const double expected = static_cast<double>(std::max<int64_t>(estimate, 1));
  auto ratio = static_cast<double>(end - since) / expected;

  Loop& l = loop_of(loop);
  float& known = l.ratio[static_cast<size_t>(way)];
  const double elsewhere = l.ratio[static_cast<size_t>(other(way))];
  if (known > 0) ratio = std::min(ratio, kOutlier * known);
  known = static_cast<float>(known > 0 ? known + kMemory * (ratio - known) : ratio);

  --p.left;
  if (!p.trying) {
    if (p.left > 0) return;
    p.trying = true;
    p.left = kTrial;
    p.compared = 0;
    p.tried = p.usually = 0;
    return;
  }
  if (elsewhere > 0 && p.left < kTrial - kSettling) {
    ++p.compared;
    p.tried += ratio * expected;
    p.usually += elsewhere * expected;
  }
  const bool obvious = p.tried > kObvious * p.usually || p.usually > kObvious * p.tried;
  if (p.left <= 0 || (p.compared >= kLeast && obvious)) end_trial(p);
}

void SharingTrials::end_trial(Program& program) {
  program.trying = false;
  if (program.tried < kLess * program.usually) {
    program.usual = other(program.usual);
    program.interval = kFirstInterval;
  } else {
    program.interval = std::min(2 * program.interval, kMostInterval);
  }
  program.left = program.interval;
}

}  // namespace ct
