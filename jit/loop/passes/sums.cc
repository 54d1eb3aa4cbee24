#include "jit/loop/passes/sums.h"

#include <algorithm>
#include <cstdlib>

#include "jit/loop/clone.h"
#include "jit/loop/visit.h"

namespace ct::jit {
namespace {

using loop::BlockId;
using loop::Carry;
using loop::Cloner;
using loop::For;
using loop::Index;
using loop::NewLoop;
using loop::Program;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

// Sums of neighbouring elements are made in the lanes of several vectors at once, each a sixty-fourth of a block.
constexpr int64_t kContiguous = 8192, kStrided = 512, kLanes = 64;

bool is_long_sum(const Program& program, const For& loop) {
  if (!loop.extent.is_constant() || loop.extent.constant() <= 2 * kStrided || loop.carries.empty()) return false;
  bool adds = false;
  for (const Carry& carry : loop.carries) {
    const DType dtype = program.values[carry.init].dtype;
    if (!carry.combine || (is_float(dtype) && dtype_size(dtype) < 4)) return false;
    adds = adds || (*carry.combine == ScalarOp::kAdd && is_float(dtype));
  }
  return adds;
}

bool is_contiguous(const Program& program, const For& loop) {
  bool result = true;
  loop::visit_statements(program, loop.body, [&](const Statement& s) {
    if (s.kind == StatementKind::kFor || s.kind == StatementKind::kWhile) result = false;
    if (s.kind == StatementKind::kLoad && std::abs(s.index.coefficient_of(loop.variable)) > 1) result = false;
  });
  return result;
}

uint64_t bits_of_one(DType dtype) {
  if (dtype == DType::kFloat32) return 0x3F800000;
  if (dtype == DType::kFloat64) return 0x3FF0000000000000;
  return 1;
}

// What a block's own fold starts from. Of largest and smallest, and of bits, where they come from will do.
Value start(Program& program, const Carry& carry, BlockId block) {
  const bool adds = *carry.combine == ScalarOp::kAdd || *carry.combine == ScalarOp::kXor;
  if (!adds && *carry.combine != ScalarOp::kMul) return carry.init;
  const DType dtype = program.values[carry.init].dtype;
  Statement s{.kind = StatementKind::kConstant, .dtype = dtype};
  s.bits = adds ? 0 : bits_of_one(dtype);
  return loop::append(program, block, std::move(s));
}

// The fold of `count` iterations from `first` on, at the end of `block`; results in the order of the carries.
std::vector<Value> fold(Program& program, const For& loop, const Index& first, int64_t count, BlockId block) {
  std::vector<Carry> carries = loop.carries;
  for (Carry& carry : carries) carry.init = start(program, carry, block);
  const NewLoop made = loop::append_for(program, block, count, loop.options);
  const size_t position = program.blocks[block].statements.back().detail;
  Cloner cloner(program);
  cloner.replace(loop.variable, first + Index::of(made.variable));
  cloner.clone(program.blocks[loop.body].statements, made.body);
  std::vector<Value> results;
  for (Carry& carry : carries) {
    carry.next = cloner.value(carry.next, made.body);
    carry.argument = loop::kNoValue;
    carry.result = loop::new_value(program, program.values[carry.init].dtype);
    results.push_back(carry.result);
  }
  program.fors[position].carries = std::move(carries);
  return results;
}

// The statements that replace the loop.
std::vector<Statement> in_blocks(Program& program, uint32_t detail) {
  const For loop = program.fors[detail];
  const int64_t length = loop.extent.constant();
  const bool contiguous = is_contiguous(program, loop);
  const int64_t size = block_of(length, contiguous ? kContiguous : kStrided, contiguous ? kLanes : 1);
  if (size == length) return {};
  const BlockId made = loop::new_block(program);
  const int64_t rest = length % size;
  // What is left over comes first, so that the loop over blocks has the results.
  std::vector<Carry> carries = loop.carries;
  if (rest > 0) {
    const std::vector<Value> last = fold(program, loop, length - rest, rest, made);
    for (size_t i = 0; i < carries.size(); ++i) {
      carries[i].init = loop::append_scalar(program, made, *carries[i].combine, carries[i].init, last[i]);
    }
  }
  const NewLoop blocks = loop::append_for(program, made, length / size, {});
  const size_t position = program.blocks[made].statements.back().detail;
  const std::vector<Value> sums = fold(program, loop, Index::of(blocks.variable, size), size, blocks.body);
  for (size_t i = 0; i < carries.size(); ++i) carries[i].next = sums[i];
  program.fors[position].carries = std::move(carries);
  return std::move(program.blocks[made].statements);
}

void split_in(Program& program, BlockId block) {
  for (size_t i = 0; i < program.blocks[block].statements.size(); ++i) {
    const Statement s = program.blocks[block].statements[i];
    if (s.kind == StatementKind::kWhile) {
      const loop::While loop = program.whiles[s.detail];
      split_in(program, loop.condition_block);
      split_in(program, loop.body);
    } else if (s.kind == StatementKind::kIf) {
      const loop::If branch = program.ifs[s.detail];
      split_in(program, branch.then_block);
      split_in(program, branch.else_block);
    } else if (s.kind == StatementKind::kFor) {
      split_in(program, program.fors[s.detail].body);
      if (!is_long_sum(program, program.fors[s.detail])) continue;
      std::vector<Statement> replacement = in_blocks(program, s.detail);
      if (replacement.empty()) continue;
      for (Statement& made : replacement) made.group = s.group;
      auto& statements = program.blocks[block].statements;
      const auto at = statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(i));
      i += replacement.size() - 1;
      statements.insert(at, replacement.begin(), replacement.end());
    }
  }
}

}  // namespace

int64_t block_of(int64_t length, int64_t most, int64_t multiple) {
  if (length <= 2 * most) return length;
  for (const int64_t step : {multiple, int64_t{1}}) {
    for (int64_t size = most; size > most / 2; size -= step) {
      if (length % size == 0) return size;
    }
  }
  return most;
}

void split_long_sums(Program& program) { split_in(program, 0); }

}  // namespace ct::jit
