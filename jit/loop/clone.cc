#include "jit/loop/clone.h"

#include <algorithm>

#include "jit/loop/ranges.h"
#include "jit/loop/visit.h"

namespace ct::loop {

DType machine_dtype(DType dtype) { return dtype == DType::kKey ? DType::kUInt64 : real_dtype(dtype); }

Value new_value(Program& program, DType dtype, Range range) {
  program.values.push_back({dtype, range});
  return static_cast<Value>(program.values.size() - 1);
}

BlockId new_block(Program& program) {
  program.blocks.emplace_back();
  return static_cast<BlockId>(program.blocks.size() - 1);
}

NewLoop append_for(Program& program, BlockId block, const Index& extent, LoopOptions options) {
  const NewLoop made{new_value(program, DType::kInt64, variable_range(program, extent)), new_block(program)};
  program.fors.push_back({made.variable, extent, made.body, options, {}});
  Statement s{.kind = StatementKind::kFor};
  s.detail = static_cast<uint32_t>(program.fors.size() - 1);
  program.blocks[block].statements.push_back(std::move(s));
  return made;
}

BufferId new_temporary(Program& program, DType dtype, int64_t elements) {
  program.buffers.push_back({BufferKind::kTemporary, dtype, elements, 0, {}});
  program.arena_bytes = std::max(program.arena_bytes, elements * dtype_size(dtype));
  return static_cast<BufferId>(program.buffers.size() - 1);
}

Value append(Program& program, BlockId block, Statement instruction) {
  const Range range = result_range(program, instruction);
  const Value result = instruction.result = new_value(program, instruction.dtype, range);
  program.blocks[block].statements.push_back(std::move(instruction));
  return result;
}

Value append_scalar(Program& program, BlockId block, ScalarOp op, Value a, Value b) {
  Statement s{.kind = StatementKind::kScalar, .op = op, .dtype = program.values[a].dtype};
  s.operands[0] = a;
  s.operands[1] = b;
  return append(program, block, std::move(s));
}

Value append_load(Program& program, BlockId block, BufferId buffer, Index index) {
  const DType dtype = machine_dtype(program.buffers[buffer].dtype);
  Statement s{.kind = StatementKind::kLoad, .dtype = dtype, .buffer = buffer, .bits = 1, .index = std::move(index)};
  return append(program, block, std::move(s));
}

void append_store(Program& program, BlockId block, BufferId buffer, Index index, Value value) {
  const DType dtype = program.values[value].dtype;
  Statement s{.kind = StatementKind::kStore, .dtype = dtype, .buffer = buffer, .index = std::move(index)};
  s.operands[0] = value;
  program.blocks[block].statements.push_back(std::move(s));
}

bool only_elements(const Program& program, BlockId block) {
  bool simple = true;
  visit_statements(program, block, [&](const Statement& s) {
    simple = simple && (is_instruction(s) || s.kind == StatementKind::kStore || s.kind == StatementKind::kFor ||
                        s.kind == StatementKind::kIf);
  });
  return simple;
}

Index Cloner::index(const Index& from) const {
  Index result = from.constant();
  for (const Index::Term& term : from.terms()) {
    const auto found = map_.find(term.value);
    result += found == map_.end() ? Index::of(term.value, term.coefficient) : found->second * term.coefficient;
  }
  return result;
}

Value Cloner::value(Value from, BlockId block) {
  if (from == kNoValue) return from;
  const auto found = map_.find(from);
  if (found == map_.end()) return from;
  if (const auto whole = found->second.as_value()) return *whole;
  Statement s{.kind = StatementKind::kIndex};
  s.index = found->second;
  s.result = new_value(program_, DType::kInt64, program_.range_of(s.index));
  const Value result = s.result;
  program_.blocks[block].statements.push_back(std::move(s));
  return result;
}

Value Cloner::fresh(Value from) {
  if (from == kNoValue) return from;
  const ValueInfo info = program_.values[from];
  const Value made = new_value(program_, info.dtype, info.range);
  replace_value(from, made);
  return made;
}

void Cloner::clone(const std::vector<Statement>& statements, BlockId block) {
  for (const Statement& s : std::vector<Statement>(statements)) clone(s, block);
}

void Cloner::clone(BlockId from, BlockId block) {
  const size_t count = program_.blocks[from].statements.size();
  for (size_t i = 0; i < count; ++i) clone(Statement(program_.blocks[from].statements[i]), block);
}

BlockId Cloner::clone_block(BlockId from) {
  const BlockId made = new_block(program_);
  ++depth_;
  clone(from, made);
  --depth_;
  return made;
}

void Cloner::begin_carries(std::vector<Carry>& carries, BlockId block) {
  for (Carry& carry : carries) {
    carry.init = value(carry.init, block);
    carry.argument = fresh(carry.argument);
  }
}

void Cloner::end_carries(std::vector<Carry>& carries, BlockId body) {
  for (Carry& carry : carries) {
    carry.next = value(carry.next, body);
    carry.result = fresh(carry.result);
  }
}

void Cloner::clone(Statement s, BlockId block) {
  for (Value& operand : s.operands) operand = value(operand, block);
  s.index = index(s.index);
  switch (s.kind) {
    case StatementKind::kFor: {
      For loop = program_.fors[s.detail];
      loop.extent = index(loop.extent);
      loop.variable = fresh(loop.variable);
      begin_carries(loop.carries, block);
      loop.body = clone_block(loop.body);
      end_carries(loop.carries, loop.body);
      program_.fors.push_back(std::move(loop));
      s.detail = static_cast<uint32_t>(program_.fors.size() - 1);
      break;
    }
    case StatementKind::kWhile: {
      While loop = program_.whiles[s.detail];
      begin_carries(loop.carries, block);
      loop.condition_block = clone_block(loop.condition_block);
      loop.condition = value(loop.condition, loop.condition_block);
      loop.body = clone_block(loop.body);
      end_carries(loop.carries, loop.body);
      program_.whiles.push_back(std::move(loop));
      s.detail = static_cast<uint32_t>(program_.whiles.size() - 1);
      break;
    }
    case StatementKind::kIf: {
      If branch = program_.ifs[s.detail];
      branch.condition = value(branch.condition, block);
      branch.then_block = clone_block(branch.then_block);
      branch.else_block = clone_block(branch.else_block);
      for (If::Merge& merge : branch.merges) {
        merge.then_value = value(merge.then_value, branch.then_block);
        merge.else_value = value(merge.else_value, branch.else_block);
        merge.result = fresh(merge.result);
      }
      program_.ifs.push_back(std::move(branch));
      s.detail = static_cast<uint32_t>(program_.ifs.size() - 1);
      break;
    }
    case StatementKind::kGemm: {
      Gemm gemm = program_.gemms[s.detail];
      for (Matrix* matrix : {&gemm.a, &gemm.b, &gemm.c}) matrix->offset = index(matrix->offset);
      for (Index* count : {&gemm.rows, &gemm.columns, &gemm.steps}) *count = index(*count);
      program_.gemms.push_back(std::move(gemm));
      s.detail = static_cast<uint32_t>(program_.gemms.size() - 1);
      break;
    }
    case StatementKind::kFill:
    case StatementKind::kCopy: {
      MemoryRange range = program_.ranges[s.detail];
      for (Index* part : {&range.destination_offset, &range.source_offset, &range.count}) *part = index(*part);
      program_.ranges.push_back(std::move(range));
      s.detail = static_cast<uint32_t>(program_.ranges.size() - 1);
      break;
    }
    case StatementKind::kHostCall: {
      HostCall call = program_.host_calls[s.detail];
      for (HostCall::Array& array : call.inputs) array.offset = index(array.offset);
      for (HostCall::Array& array : call.outputs) array.offset = index(array.offset);
      program_.host_calls.push_back(std::move(call));
      s.detail = static_cast<uint32_t>(program_.host_calls.size() - 1);
      break;
    }
    case StatementKind::kLoad:
      if (const auto found = stored_.find(s.buffer); found != stored_.end() && found->second.index == s.index) {
        replace_value(s.result, found->second.value);
        return;
      }
      s.result = fresh(s.result);
      break;
    case StatementKind::kStore:
      if (forwarded_.contains(s.buffer)) {
        stored_.erase(s.buffer);
        if (depth_ == 0) stored_.insert({s.buffer, {s.index, s.operands[0]}});
      }
      break;
    default:
      s.result = fresh(s.result);
  }
  program_.blocks[block].statements.push_back(std::move(s));
}

}  // namespace ct::loop
