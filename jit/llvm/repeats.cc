// Loops that store each element several times in a row, as a repeat along the last axis does:
//
//   for i { x = ...; for j < few: store to[few * i + j] = x }
//
// A vector of elements becomes `few` vectors to store, each a shuffle of it. Loops over j would be shorter than a
// vector, and what each iteration of them costs is mostly the loop.
#include <algorithm>
#include <optional>

#include "jit/llvm/loops.h"
#include "jit/llvm/streams.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::For;
using loop::Statement;
using loop::StatementKind;

namespace {

// Whether it is computed lane by lane from neighbouring elements, where `variable` is the loop's and `repeat` that of
// the one inside.
bool is_plain(const loop::Program& program, const Statement& s, loop::Value variable, loop::Value repeat) {
  if (!loop::is_instruction(s) || s.kind == StatementKind::kIndex) return false;
  for (const loop::Value operand : s.operands) {
    if (operand == variable || operand == repeat) return false;
  }
  if (s.kind != StatementKind::kLoad) return true;
  if (is_complex(program.buffers[s.buffer].dtype)) return false;
  const int64_t stride = s.index.coefficient_of(variable);
  bool known = stride == 0 || stride == 1;
  loop::visit_index(s.index, [&](loop::Value value) { known = known && value <= variable; });
  return known;
}

}  // namespace

std::optional<Repeats> find_repeats(Emission& e, const For& loop) {
  if (e.lanes.width != 0 || e.code.facts.vector_bits == 0 || !loop.options.vectorize || !loop.carries.empty())
    return {};
  const auto& outside = e.program.blocks[loop.body].statements;
  if (outside.empty() || outside.back().kind != StatementKind::kFor) return {};
  const For& inner = e.program.fors[outside.back().detail];
  const auto& inside = e.program.blocks[inner.body].statements;
  if (!inner.options.vectorize || !inner.carries.empty() || !inner.extent.is_constant() || inside.empty() ||
      inside.back().kind != StatementKind::kStore) {
    return {};
  }
  int widest = 0;  // bytes, as it is computed with
  const auto are_plain = [&](const std::vector<Statement>& statements) {
    return std::all_of(statements.begin(), statements.end() - 1, [&](const Statement& s) {
      const int size = dtype_size(s.dtype);
      widest = std::max(widest, is_float(s.dtype) ? std::max(size, 4) : size);
      return is_plain(e.program, s, loop.variable, inner.variable);
    });
  };
  if (!are_plain(outside) || !are_plain(inside) || widest == 0) return {};
  const Statement& store = inside.back();
  const DType dtype = e.program.buffers[store.buffer].dtype;
  const int64_t count = inner.extent.constant();
  bool known = !is_complex(dtype) && dtype != DType::kKey && store.operands[0] != loop.variable &&
               store.operands[0] != inner.variable && store.index.coefficient_of(loop.variable) == count &&
               store.index.coefficient_of(inner.variable) == 1;
  loop::visit_index(store.index,
                    [&](loop::Value value) { known = known && (value <= loop.variable || value == inner.variable); });
  const unsigned width = static_cast<unsigned>(e.code.facts.vector_bits) / 8 / static_cast<unsigned>(widest);
  const bool enough = !loop.extent.is_constant() || loop.extent.constant() >= width;
  if (!known || count < 2 || count >= width || !enough) return {};
  if (!e.outline.calls_in(loop.body).empty() || !e.outline.calls_in(inner.body).empty() || uses_held(e, loop))
    return {};
  return Repeats{&inner, width};
}

llvm::Value* emit_repeats(CpuEmission& e, const For& loop, const Repeats& repeats, llvm::Value* begin,
                          llvm::Value* end) {
  const unsigned width = repeats.width;
  const For& inner = *repeats.inner;
  const auto& outside = e.program.blocks[loop.body].statements;
  const auto& inside = e.program.blocks[inner.body].statements;
  const Statement& last = inside.back();
  const int64_t count = inner.extent.constant();
  const auto size = static_cast<int64_t>(dtype_size(last.dtype));
  const double time = width * time_if_long(e, loop);
  llvm::Value* whole = end;
  // Pieces of the loop begin and end at multiples of any width, but for its own end.
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(end)) {
    whole = e.b.getInt64(known->getSExtValue() / width * width);
  } else if (!loop.extent.is_constant() || loop.extent.constant() % width != 0) {
    llvm::Value* all = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, end, e.b.getInt64(0));
    whole = e.b.CreateAnd(all, e.b.getInt64(-static_cast<int64_t>(width)));
  }
  const auto emit_but_last = [&](const std::vector<Statement>& statements) {
    for (size_t i = 0; i + 1 < statements.size(); ++i)
      e.values.define(statements[i].result, emit_instruction(e, statements[i]));
  };
  const auto one_vector = [&](llvm::Value* i, const LlvmValues&) {
    e.values.define(loop.variable, i);
    emit_but_last(outside);
    e.values.define(inner.variable, e.b.getInt64(0));
    emit_but_last(inside);
    llvm::Value* stored = e.math.encode(widen(e, value_of(e, last.operands[0])), last.dtype);
    llvm::Value* first = e.addresses.element_pointer(last.buffer, address_of(e, last.index).uniform);
    llvm::SmallVector<int, 64> lanes(width);
    for (int64_t part = 0; part < count; ++part) {
      for (unsigned lane = 0; lane < width; ++lane) lanes[lane] = static_cast<int>((part * width + lane) / count);
      llvm::Value* vector = e.b.CreateShuffleVector(stored, lanes);
      llvm::Value* to = e.b.CreateConstInBoundsGEP1_64(stored->getType()->getScalarType(), first, part * width);
      if (e.streams.active) {
        store_past_caches(e, vector, to);
      } else {
        e.b.CreateAlignedStore(vector, to, llvm::Align(static_cast<uint64_t>(size)));
      }
    }
    return LlvmValues{};
  };
  begin_lanes(e, loop.variable, width);
  const auto all_vectors = [&](const LlvmValues&) {
    return run_long_loop(e, begin, whole, width, {}, time, one_vector);
  };
  const bool fills_vectors = width * size * 8 == e.code.facts.vector_bits;
  if (fills_vectors && streams(e, last.buffer) && fills_lines(loop, last)) {
    e.values.define(loop.variable, begin);
    in_both_ways(e, inner, e.b.getInt64(0), {}, all_vectors);
  } else {
    all_vectors({});
  }
  e.lanes = {};
  return whole;
}

}  // namespace ct::jit
