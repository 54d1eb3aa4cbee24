#include "jit/c/rare.h"

#include <algorithm>

#include "jit/c/emission.h"
#include "jit/loop/visit.h"
#include "jit/machine/rare_branches.h"

namespace ct::jit::c {

using loop::BlockId;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

namespace {

// From the last statement to the first: what is needed of those before.
void add_needed(const Emission& e, BlockId block, uint32_t begin, uint32_t end, Sides& sides) {
  const auto is_needed = [&](Value value) { return sides.needed.contains(value); };
  const auto need = [&](Value value) { sides.needed.insert(value); };
  absl::flat_hash_set<loop::BufferId> loads;
  for (uint32_t i = end; i-- > begin;) {
    const Statement& s = e.program.blocks[block].statements[i];
    if (loop::is_instruction(s)) {
      if (!is_needed(s.result) || e.uses(s.result).count == 0) continue;
      if (s.kind == StatementKind::kLoad) loads.insert(s.buffer);
      c::visit_inputs(e.program, s, need);
      continue;
    }
    const BlockId rare = s.kind == StatementKind::kIf ? rare_side(e.program, e.program.ifs[s.detail]) : loop::kNoBlock;
    if (rare != loop::kNoBlock) {
      const loop::If& branch = e.program.ifs[s.detail];
      sides.branches = true;
      if (sides.asks) need(branch.condition);
      for (const loop::If::Merge& merge : branch.merges) {
        if (is_needed(merge.result)) need(rare == branch.then_block ? merge.else_value : merge.then_value);
      }
      const BlockId usual = rare == branch.then_block ? branch.else_block : branch.then_block;
      add_needed(e, usual, 0, static_cast<uint32_t>(e.program.blocks[usual].statements.size()), sides);
      continue;
    }
    if (sides.asks) {
      // It is not written when it is asked: nothing may come of it.
      loop::visit_results(e.program, s, [&](Value value) { sides.possible = sides.possible && !is_needed(value); });
      visit_written(e, s, [&](const Statement& inner) {
        loop::visit_buffers(e.program, inner, [&](loop::BufferId buffer, bool writes) {
          sides.possible = sides.possible && !(writes && loads.contains(buffer));
        });
      });
      continue;
    }
    visit_written(e, s, [&](const Statement& inner) { visit_uses(e, inner, need); });
  }
}

}  // namespace

BlockId rare_side(const loop::Program& program, const loop::If& branch) {
  const auto is_plain = [&](BlockId block) {
    return std::ranges::all_of(program.blocks[block].statements,
                               [](const Statement& s) { return loop::is_instruction(s); });
  };
  if (is_rare(program, branch.then_block) && is_plain(branch.else_block)) return branch.then_block;
  if (is_rare(program, branch.else_block) && is_plain(branch.then_block)) return branch.else_block;
  return loop::kNoBlock;
}

Sides usual_sides(const Emission& e, const Stretch& stretch) {
  Sides sides;
  sides.needed.insert(stretch.results.begin(), stretch.results.end());
  add_needed(e, stretch.block, stretch.begin, stretch.end, sides);
  return sides;
}

Sides asking_sides(const Emission& e, const Stretch& stretch) {
  Sides sides;
  sides.asks = true;
  add_needed(e, stretch.block, stretch.begin, stretch.end, sides);
  return sides;
}

Stretch stretch_of(const Emission& e, const loop::For& loop) {
  Stretch stretch{loop.body, 0, static_cast<uint32_t>(e.program.blocks[loop.body].statements.size()), {}};
  for (const loop::Carry& carry : loop.carries) stretch.results.push_back(carry.next);
  return stretch;
}

void write_by_sides(Emission& e, const Stretch& stretch, const std::function<void(bool, const Body&)>& iterate,
                    const std::function<void(bool)>& write) {
  const std::string rare = e.fresh("rare");
  e.line("int32_t ", rare, " = 0;");
  Sides asking = asking_sides(e, stretch);
  Sides usual = usual_sides(e, stretch);
  e.sides = &asking;
  iterate(true, [&] {
    write(true);
    e.line(rare, " = ", rare, " | ", join(std::exchange(asking.taken, {}), " | "), ";");
  });
  e.sides = &usual;
  e.open("if (", rare, " == 0)");
  iterate(true, [&] { write(false); });
  e.sides = nullptr;
  --e.depth;
  e.open("} else");
  iterate(false, [&] { write(false); });
  e.close();
}

bool asks_for_rare(const Emission& e, const Stretch& stretch) {
  const Sides sides = asking_sides(e, stretch);
  return sides.branches && sides.possible;
}

}  // namespace ct::jit::c
