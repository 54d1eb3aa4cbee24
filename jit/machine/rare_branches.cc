#include "jit/machine/rare_branches.h"

#include "jit/loop/visit.h"

namespace ct::jit {

namespace {

constexpr int kLongBranch = 40;  // instructions

}  // namespace

bool is_rare(const loop::Program& program, loop::BlockId block) {
  int instructions = 0;
  for (const loop::Statement& s : program.blocks[block].statements) {
    if (!loop::is_instruction(s)) return false;
    if (s.kind == loop::StatementKind::kLoad && program.buffers[s.buffer].kind != loop::BufferKind::kConstant) {
      return false;
    }
    instructions += s.kind != loop::StatementKind::kConstant;
  }
  return instructions >= kLongBranch;
}

}  // namespace ct::jit
