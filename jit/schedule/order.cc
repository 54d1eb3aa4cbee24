#include "jit/schedule/order.h"

#include <algorithm>
#include <utility>

#include "jit/loop/visit.h"
#include "jit/schedule/nests.h"

namespace ct::jit {

using loop::BlockId;
using loop::For;
using loop::Program;
using loop::Statement;
using loop::StatementKind;

int64_t constant_extent(const For& loop) { return loop.extent.is_constant() ? loop.extent.constant() : 0; }

int only_loop(const Program& program, BlockId block) {
  int found = -1;
  const auto& statements = program.blocks[block].statements;
  for (size_t i = 0; i < statements.size(); ++i) {
    if (statements[i].kind == StatementKind::kFor) {
      if (found >= 0) return -1;
      found = static_cast<int>(i);
    } else if (found < 0 && !loop::is_instruction(statements[i])) {
      return -1;
    }
  }
  return found;
}

int64_t largest_divisor(int64_t number, int64_t most) {
  for (int64_t each = std::min(number, most); each > 1; --each) {
    if (number % each == 0) return each;
  }
  return 1;
}

void append_gemm(Program& program, BlockId block, loop::Gemm gemm) {
  program.gemms.push_back(std::move(gemm));
  Statement s{.kind = StatementKind::kGemm};
  s.detail = static_cast<uint32_t>(program.gemms.size() - 1);
  program.blocks[block].statements.push_back(std::move(s));
}

void replace_statement(Program& program, BlockId block, size_t position, BlockId made) {
  std::vector<Statement> replacement = std::move(program.blocks[made].statements);
  program.blocks[made].statements.clear();
  auto& statements = program.blocks[block].statements;
  for (Statement& s : replacement) s.group = statements[position].group;
  const auto at = statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(position));
  statements.insert(at, replacement.begin(), replacement.end());
}

namespace {

void order(Program& program, BlockId block, std::vector<ParallelLoop>& around) {
  for (size_t i = 0; i < program.blocks[block].statements.size(); ++i) {
    const Statement s = program.blocks[block].statements[i];
    if (s.kind == StatementKind::kFor) {
      if (fold_by_rows(program, block, i, around) || tile_transpose(program, block, i, around)) continue;
      const For& loop = program.fors[s.detail];
      if (loop.options.parallel) {
        if (!loop.extent.is_constant()) continue;
        around.push_back({loop.variable, loop.extent.constant()});
        order(program, loop.body, around);
        around.pop_back();
        continue;
      }
    }
    std::vector<BlockId> inside;
    loop::visit_blocks_of(program, s, [&](BlockId id) { inside.push_back(id); });
    for (BlockId id : inside) order(program, id, around);
  }
}

}  // namespace

void order_loops(loop::Program& program) {
  std::vector<ParallelLoop> around;
  order(program, 0, around);
}

}  // namespace ct::jit
