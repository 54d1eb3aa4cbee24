// What a statement needs and changes, with the blocks inside it: which statements may change places.
#pragma once

#include <algorithm>
#include <cstddef>

#include "absl/container/flat_hash_set.h"
#include "jit/loop/loop.h"
#include "jit/loop/visit.h"

namespace ct::jit {

struct Uses {
  size_t number = 0;  // of the statement, before anything moves
  absl::flat_hash_set<loop::BufferId> reads, writes;
  absl::flat_hash_set<loop::Value> values;
  bool fixed = false;  // what it does is seen from outside, or it says which memory buffers are
};

inline void add_uses(const loop::Program& program, const loop::Statement& s, Uses& uses) {
  loop::visit_inputs(program, s, [&](loop::Value value) { uses.values.insert(value); });
  loop::visit_yields(program, s, [&](loop::Value value) { uses.values.insert(value); });
  loop::visit_buffers(program, s,
                      [&](loop::BufferId id, bool is_write) { (is_write ? uses.writes : uses.reads).insert(id); });
  if (s.kind == loop::StatementKind::kHostCall || s.kind == loop::StatementKind::kSwap) uses.fixed = true;
  loop::visit_blocks_of(program, s, [&](loop::BlockId block) {
    for (const loop::Statement& inner : program.blocks[block].statements) add_uses(program, inner, uses);
  });
}

// Whether a statement has to stay behind the other one, which stands in front of it: by what they touch, and by the
// values that the other one defines.
inline bool has_to_follow(const loop::Program& program, const Uses& uses, const loop::Statement& other,
                          const Uses& its) {
  if (its.fixed) return true;
  const auto written = [&](loop::BufferId id) { return uses.writes.contains(id); };
  if (std::ranges::any_of(its.writes, [&](loop::BufferId id) { return uses.reads.contains(id) || written(id); }) ||
      std::ranges::any_of(its.reads, written)) {
    return true;
  }
  bool defines = false;
  loop::visit_results(program, other, [&](loop::Value value) { defines = defines || uses.values.contains(value); });
  return defines;
}

}  // namespace ct::jit
