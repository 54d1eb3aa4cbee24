#include "jit/cost/cost.h"

#include <algorithm>

#include "runtime/processor.h"

namespace ct::jit {

using loop::For;
using loop::Statement;
using loop::StatementKind;

namespace {

constexpr double kGuessedIterations = 100;

double lanes(DType dtype) { return 32.0 / std::max(dtype_size(dtype), 4); }

}  // namespace

double CostModel::iterations(const For& loop) const {
  const int64_t most = program_.range_of(loop.extent).high;
  return most == INT64_MAX ? kGuessedIterations : static_cast<double>(std::max<int64_t>(most, 0));
}

double CostModel::access(const Statement& s, bool vectorized) const {
  const loop::Buffer& buffer = program_.buffers[s.buffer];
  const int bytes = dtype_size(s.dtype);
  const bool in_cache = buffer.elements * dtype_size(buffer.dtype) <= kProcessor.second_cache;
  return bytes * (in_cache ? kProcessor.byte_in_cache : kProcessor.byte_in_memory) +
         (vectorized ? kProcessor.instruction / lanes(s.dtype) : kProcessor.instruction);
}

double CostModel::gemm(const loop::Gemm& gemm) const {
  const DType dtype = program_.buffers[gemm.c.buffer].dtype;
  return static_cast<double>(gemm.m) * static_cast<double>(gemm.n) * static_cast<double>(gemm.k) *
         (is_complex(dtype) ? 4 : 1) * kProcessor.multiply_add(real_dtype(dtype));
}

double CostModel::iteration(const For& loop, bool vectorized) {
  return block(loop.body, vectorized || loop.options.vectorize);
}

double CostModel::block(loop::BlockId id, bool vectorized) {
  double& known = blocks_[2 * id + (vectorized ? 1 : 0)];
  if (known >= 0) return known;
  double sum = 0;
  for (const Statement& s : program_.blocks[id].statements) sum += statement(s, vectorized);
  return known = sum;
}

double CostModel::statement(const Statement& s, bool vectorized) {
  const double width = vectorized ? lanes(s.dtype) : 1;
  switch (s.kind) {
    case StatementKind::kConstant:
    case StatementKind::kIndex:
    case StatementKind::kSwap:
      return 0;
    case StatementKind::kScalar:
      return (s.op == ScalarOp::kDiv || s.op == ScalarOp::kRem || s.op == ScalarOp::kSqrt ? kProcessor.slow_instruction
                                                                                          : kProcessor.instruction) /
             width;
    case StatementKind::kLoad:
    case StatementKind::kStore:
      return access(s, vectorized);
    case StatementKind::kFor: {
      const For& loop = program_.fors[s.detail];
      return iterations(loop) * iteration(loop, vectorized);
    }
    case StatementKind::kWhile: {
      const loop::While& loop = program_.whiles[s.detail];
      return kGuessedIterations * (block(loop.condition_block, vectorized) + block(loop.body, vectorized));
    }
    case StatementKind::kIf: {
      const loop::If& branch = program_.ifs[s.detail];
      return std::max(block(branch.then_block, vectorized), block(branch.else_block, vectorized));
    }
    case StatementKind::kGemm:
      return gemm(program_.gemms[s.detail]);
    case StatementKind::kFill:
    case StatementKind::kCopy: {
      const loop::MemoryRange& range = program_.ranges[s.detail];
      const int64_t most = program_.range_of(range.count).high;
      const double count = most == INT64_MAX ? kGuessedIterations : static_cast<double>(most);
      return count * dtype_size(program_.buffers[range.destination].dtype) * kProcessor.byte_in_memory;
    }
    case StatementKind::kHostCall:
      return kProcessor.host_call;
    default:
      return kProcessor.instruction / width;
  }
}

}  // namespace ct::jit
