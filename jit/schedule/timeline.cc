#include "jit/schedule/timeline.h"

#include <algorithm>
#include <numeric>

#include "jit/loop/visit.h"
#include "runtime/error.h"

namespace ct::jit {

using loop::BlockId;
using loop::BufferId;
using loop::Program;
using loop::Statement;
using loop::StatementKind;

Timeline::Timeline(const Program& program)
    : program_(program),
      blocks_(program.blocks.size()),
      lifetimes_(program.buffers.size()),
      group_(program.buffers.size()) {
  std::iota(group_.begin(), group_.end(), 0u);
  number(0, 0);
  now_ = 0;
  collect(0, {});
  for (BufferId id = 0; id < program.buffers.size(); ++id) {
    const BufferId root = find(id);
    if (root != id && lifetimes_[id].used()) merge(lifetimes_[root], lifetimes_[id]);
  }
}

Timeline::Moment Timeline::statement_at(BlockId block, int time) const {
  const std::vector<int>& starts = blocks_[block].starts;
  const auto after = std::upper_bound(starts.begin(), starts.end(), time);
  CT_CHECK(after != starts.begin());
  return {&program_.blocks[block].statements[static_cast<size_t>(after - starts.begin()) - 1],
          after == starts.end() ? blocks_[block].end : *after - 1};
}

Interval Timeline::outer_lifetime(BufferId id) {
  Interval interval = lifetime(id);
  while (interval.used() && interval.block != 0) climb(interval);
  return interval;
}

void Timeline::join(BufferId from, BufferId to) {
  const BufferId root = find(to), other = find(from);
  if (root == other) return;
  merge(lifetimes_[root], lifetimes_[other]);
  group_[other] = root;
}

BufferId Timeline::find(BufferId id) {
  while (group_[id] != id) id = group_[id] = group_[group_[id]];
  return id;
}

// A statement's time is taken on entry, and once more after the blocks inside it.
void Timeline::number(BlockId block, int depth) {
  blocks_[block].depth = depth;
  for (const Statement& s : program_.blocks[block].statements) {
    const int first = ++now_;
    blocks_[block].starts.push_back(first);
    bool is_leaf = true;
    loop::visit_blocks_of(program_, s, [&](BlockId id) {
      is_leaf = false;
      number(id, depth + 1);
    });
    const int last = is_leaf ? first : ++now_;
    blocks_[block].end = last;
    loop::visit_blocks_of(program_, s, [&](BlockId id) {
      blocks_[id].parent = block;
      blocks_[id].first = first;
      blocks_[id].last = last;
    });
  }
}

// `parallel` is the outermost parallel loop around the block.
void Timeline::collect(BlockId block, const Interval& parallel) {
  for (const Statement& s : program_.blocks[block].statements) {
    const int now = ++now_;
    const Interval here = parallel.used() ? parallel : Interval{block, now, now};
    loop::visit_buffers(program_, s, [&](BufferId id, bool) { merge(lifetimes_[id], here); });
    if (s.kind == StatementKind::kSwap) group_[find(s.other)] = find(s.buffer);
    bool is_leaf = true;
    loop::visit_blocks_of(program_, s, [&](BlockId id) {
      is_leaf = false;
      const bool is_parallel = s.kind == StatementKind::kFor && program_.fors[s.detail].options.parallel;
      collect(id, is_parallel && !parallel.used() ? Interval{block, blocks_[id].first, blocks_[id].last} : parallel);
    });
    if (!is_leaf) ++now_;
  }
}

void Timeline::climb(Interval& interval) const {
  const Block& block = blocks_[interval.block];
  interval = {block.parent, block.first, block.last};
}

void Timeline::merge(Interval& into, Interval other) const {
  if (!into.used()) {
    into = other;
    return;
  }
  while (into.block != other.block) {
    climb(blocks_[into.block].depth >= blocks_[other.block].depth ? into : other);
  }
  into.first = std::min(into.first, other.first);
  into.last = std::max(into.last, other.last);
}

}  // namespace ct::jit
