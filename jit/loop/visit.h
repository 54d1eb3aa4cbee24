// Walking a Program: every statement of a block and of the blocks inside it, the values that a statement uses and
// defines, and the buffers that it touches.
#pragma once

#include "jit/loop/loop.h"

namespace ct::loop {

// Calls visit(block) for the blocks directly inside a statement, in the order in which they run.
template <typename Visit>
void visit_blocks_of(const Program& program, const Statement& s, Visit&& visit) {
  if (s.kind == StatementKind::kFor) visit(program.fors[s.detail].body);
  if (s.kind == StatementKind::kWhile) {
    visit(program.whiles[s.detail].condition_block);
    visit(program.whiles[s.detail].body);
  }
  if (s.kind == StatementKind::kIf) {
    visit(program.ifs[s.detail].then_block);
    visit(program.ifs[s.detail].else_block);
  }
}

// Calls visit(statement) for all statements in the block, outer ones before those inside them.
template <typename Visit>
void visit_statements(const Program& program, BlockId block, Visit&& visit) {
  for (const Statement& s : program.blocks[block].statements) {
    visit(s);
    visit_blocks_of(program, s, [&](BlockId inner) { visit_statements(program, inner, visit); });
  }
}

template <typename Visit>
void visit_index(const Index& index, Visit&& visit) {
  for (const Index::Term& term : index.terms()) visit(term.value);
}

// Calls visit(value) for what the statement reads on entry: operands, indices, extents, initial values, conditions of
// an If.
template <typename Visit>
void visit_inputs(const Program& program, const Statement& s, Visit&& visit) {
  for (Value operand : s.operands) {
    if (operand != kNoValue) visit(operand);
  }
  visit_index(s.index, visit);
  switch (s.kind) {
    case StatementKind::kFor:
      visit_index(program.fors[s.detail].extent, visit);
      for (const Carry& carry : program.fors[s.detail].carries) visit(carry.init);
      break;
    case StatementKind::kWhile:
      for (const Carry& carry : program.whiles[s.detail].carries) visit(carry.init);
      break;
    case StatementKind::kIf:
      visit(program.ifs[s.detail].condition);
      break;
    case StatementKind::kGemm:
      for (const Matrix* matrix :
           {&program.gemms[s.detail].a, &program.gemms[s.detail].b, &program.gemms[s.detail].c}) {
        visit_index(matrix->offset, visit);
      }
      for (const Index* count :
           {&program.gemms[s.detail].rows, &program.gemms[s.detail].columns, &program.gemms[s.detail].steps}) {
        visit_index(*count, visit);
      }
      break;
    case StatementKind::kFill:
    case StatementKind::kCopy:
      visit_index(program.ranges[s.detail].destination_offset, visit);
      visit_index(program.ranges[s.detail].source_offset, visit);
      visit_index(program.ranges[s.detail].count, visit);
      break;
    case StatementKind::kHostCall:
      for (const HostCall::Array& array : program.host_calls[s.detail].inputs) visit_index(array.offset, visit);
      for (const HostCall::Array& array : program.host_calls[s.detail].outputs) visit_index(array.offset, visit);
      break;
    default:
      break;
  }
}

// Calls visit(value) for what the statement's blocks hand back to it: next values, conditions of a While, values of the
// merges.
template <typename Visit>
void visit_yields(const Program& program, const Statement& s, Visit&& visit) {
  if (s.kind == StatementKind::kFor) {
    for (const Carry& carry : program.fors[s.detail].carries) visit(carry.next);
  }
  if (s.kind == StatementKind::kWhile) {
    visit(program.whiles[s.detail].condition);
    for (const Carry& carry : program.whiles[s.detail].carries) visit(carry.next);
  }
  if (s.kind == StatementKind::kIf) {
    for (const If::Merge& merge : program.ifs[s.detail].merges) {
      visit(merge.then_value);
      visit(merge.else_value);
    }
  }
}

// Calls visit(value) for what the statement defines for those after it.
template <typename Visit>
void visit_results(const Program& program, const Statement& s, Visit&& visit) {
  if (s.result != kNoValue) visit(s.result);
  if (s.kind == StatementKind::kFor) {
    for (const Carry& carry : program.fors[s.detail].carries) visit(carry.result);
  }
  if (s.kind == StatementKind::kWhile) {
    for (const Carry& carry : program.whiles[s.detail].carries) visit(carry.result);
  }
  if (s.kind == StatementKind::kIf) {
    for (const If::Merge& merge : program.ifs[s.detail].merges) visit(merge.result);
  }
}

// Calls visit(value) for what the statement defines for the blocks inside it.
template <typename Visit>
void visit_arguments(const Program& program, const Statement& s, Visit&& visit) {
  const std::vector<Carry>* carries = nullptr;
  if (s.kind == StatementKind::kFor) {
    visit(program.fors[s.detail].variable);
    carries = &program.fors[s.detail].carries;
  }
  if (s.kind == StatementKind::kWhile) carries = &program.whiles[s.detail].carries;
  if (carries == nullptr) return;
  for (const Carry& carry : *carries) {
    if (carry.argument != kNoValue) visit(carry.argument);
  }
}

// Calls visit(buffer, is_write) for the buffers that a statement itself touches.
template <typename Visit>
void visit_buffers(const Program& program, const Statement& s, Visit&& visit) {
  switch (s.kind) {
    case StatementKind::kLoad:
      visit(s.buffer, false);
      break;
    case StatementKind::kStore:
      visit(s.buffer, true);
      break;
    case StatementKind::kGemm: {
      const Gemm& gemm = program.gemms[s.detail];
      visit(gemm.a.buffer, false);
      visit(gemm.b.buffer, false);
      visit(gemm.c.buffer, true);
      break;
    }
    case StatementKind::kFill:
      visit(program.ranges[s.detail].destination, true);
      break;
    case StatementKind::kCopy:
      visit(program.ranges[s.detail].source, false);
      visit(program.ranges[s.detail].destination, true);
      break;
    case StatementKind::kSwap:
      visit(s.buffer, true);
      visit(s.other, true);
      break;
    case StatementKind::kHostCall:
      for (const HostCall::Array& array : program.host_calls[s.detail].inputs) visit(array.buffer, false);
      for (const HostCall::Array& array : program.host_calls[s.detail].outputs) visit(array.buffer, true);
      break;
    default:
      break;
  }
}

// Whether the statement only computes a value, from values and memory.
inline bool is_instruction(const Statement& s) { return s.kind < StatementKind::kStore; }

}  // namespace ct::loop
