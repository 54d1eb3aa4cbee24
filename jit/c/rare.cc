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
      loop::visit_inputs(e.program, s, need);
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

Sides sides_of(const Emission& e, BlockId block, uint32_t begin, uint32_t end, const std::vector<Value>& results,
               bool asks) {
  Sides sides;
  sides.asks = asks;
  sides.needed.insert(results.begin(), results.end());
  add_needed(e, block, begin, end, sides);
  return sides;
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

Sides usual_sides(const Emission& e, BlockId block, uint32_t begin, uint32_t end, const std::vector<Value>& results) {
  return sides_of(e, block, begin, end, results, false);
}

Sides asking_sides(const Emission& e, BlockId block, uint32_t begin, uint32_t end, const std::vector<Value>& results) {
  return sides_of(e, block, begin, end, results, true);
}

void write_by_sides(Emission& e, const loop::For& loop, const std::function<void(bool, const Body&)>& iterate,
                    const Body& after) {
  const auto size = static_cast<uint32_t>(e.program.blocks[loop.body].statements.size());
  std::vector<Value> results;
  for (const loop::Carry& carry : loop.carries) results.push_back(carry.next);
  const std::string rare = e.fresh("rare");
  e.line("int32_t ", rare, " = 0;");
  Sides asking = asking_sides(e, loop.body, 0, size, {}), usual = usual_sides(e, loop.body, 0, size, results);
  e.sides = &asking;
  iterate(true, [&] {
    e.block(loop.body);
    e.line(rare, " = ", rare, " | ", join(std::exchange(asking.taken, {}), " | "), ";");
  });
  e.sides = &usual;
  e.open("if (", rare, " == 0)");
  iterate(true, [&] {
    e.block(loop.body);
    after();
  });
  e.sides = nullptr;
  --e.depth;
  e.open("} else");
  iterate(false, [&] {
    e.block(loop.body);
    after();
  });
  e.close();
}

bool asks_for_rare(const Emission& e, const loop::For& loop) {
  const auto size = static_cast<uint32_t>(e.program.blocks[loop.body].statements.size());
  const Sides sides = asking_sides(e, loop.body, 0, size, {});
  return sides.branches && sides.possible;
}

}  // namespace ct::jit::c
