// Loops that store each element several times in a row, as a repeat along the last axis does:
//
//   for i { x = ...; for j < few: store to[few * i + j] = x }
//
// A vector of elements becomes `few` vectors to store, each a shuffle of it. Loops over j would be shorter than a
// vector, and what each iteration of them costs is mostly the loop.
#include <algorithm>
#include <optional>

#include "jit/llvm/emit.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::For;
using loop::Index;
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

std::optional<Emitter::Repeats> Emitter::find_repeats(const For& loop) const {
  if (lanes_.width != 0 || facts_.vector_bits == 0 || !loop.options.vectorize || !loop.carries.empty()) return {};
  const auto& outside = program_.blocks[loop.body].statements;
  if (outside.empty() || outside.back().kind != StatementKind::kFor) return {};
  const For& inner = program_.fors[outside.back().detail];
  const auto& inside = program_.blocks[inner.body].statements;
  if (!inner.options.vectorize || !inner.carries.empty() || !inner.extent.is_constant() || inside.empty() ||
      inside.back().kind != StatementKind::kStore) {
    return {};
  }
  int widest = 0;  // bytes, as it is computed with
  const auto are_plain = [&](const std::vector<Statement>& statements) {
    return std::all_of(statements.begin(), statements.end() - 1, [&](const Statement& s) {
      const int size = dtype_size(s.dtype);
      widest = std::max(widest, is_float(s.dtype) ? std::max(size, 4) : size);
      return is_plain(program_, s, loop.variable, inner.variable);
    });
  };
  if (!are_plain(outside) || !are_plain(inside) || widest == 0) return {};
  const Statement& store = inside.back();
  const DType dtype = program_.buffers[store.buffer].dtype;
  const int64_t count = inner.extent.constant();
  bool known = !is_complex(dtype) && dtype != DType::kKey && store.operands[0] != loop.variable &&
               store.operands[0] != inner.variable && store.index.coefficient_of(loop.variable) == count &&
               store.index.coefficient_of(inner.variable) == 1;
  loop::visit_index(store.index,
                    [&](loop::Value value) { known = known && (value <= loop.variable || value == inner.variable); });
  const unsigned width = static_cast<unsigned>(facts_.vector_bits) / 8 / static_cast<unsigned>(widest);
  const bool enough = !loop.extent.is_constant() || loop.extent.constant() >= width;
  if (!known || count < 2 || count >= width || !enough) return {};
  if (!outline_.calls_in(loop.body).empty() || !outline_.calls_in(inner.body).empty() || uses_held(loop)) return {};
  return Repeats{&inner, width};
}

llvm::Value* Emitter::emit_repeats(const For& loop, const Repeats& repeats, llvm::Value* begin, llvm::Value* end) {
  const unsigned width = repeats.width;
  const For& inner = *repeats.inner;
  const auto& outside = program_.blocks[loop.body].statements;
  const auto& inside = program_.blocks[inner.body].statements;
  const Statement& last = inside.back();
  const int64_t count = inner.extent.constant();
  const auto size = static_cast<int64_t>(dtype_size(last.dtype));
  const double time = width * time_if_long(loop);
  llvm::Value* whole = end;
  // Pieces of the loop begin and end at multiples of any width, but for its own end.
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(end)) {
    whole = b_.getInt64(known->getSExtValue() / width * width);
  } else if (!loop.extent.is_constant() || loop.extent.constant() % width != 0) {
    llvm::Value* all = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, end, b_.getInt64(0));
    whole = b_.CreateAnd(all, b_.getInt64(-static_cast<int64_t>(width)));
  }
  const auto emit_but_last = [&](const std::vector<Statement>& statements) {
    for (size_t i = 0; i + 1 < statements.size(); ++i) define(statements[i].result, emit_instruction(statements[i]));
  };
  const auto one_vector = [&](llvm::Value* i, const Values&) {
    define(loop.variable, i);
    emit_but_last(outside);
    define(inner.variable, b_.getInt64(0));
    emit_but_last(inside);
    llvm::Value* stored = scalar_.encode(widen(value(last.operands[0])), last.dtype);
    llvm::Value* first = element_pointer(last.buffer, address(last.index).uniform);
    llvm::SmallVector<int, 64> lanes(width);
    for (int64_t part = 0; part < count; ++part) {
      for (unsigned lane = 0; lane < width; ++lane) lanes[lane] = static_cast<int>((part * width + lane) / count);
      llvm::Value* vector = b_.CreateShuffleVector(stored, lanes);
      llvm::Value* to = b_.CreateConstInBoundsGEP1_64(stored->getType()->getScalarType(), first, part * width);
      if (streaming_) {
        store_past_caches(vector, to);
      } else {
        b_.CreateAlignedStore(vector, to, llvm::Align(static_cast<uint64_t>(size)));
      }
    }
    return Values{};
  };
  lanes_ = {loop.variable, width, nullptr};
  constants_block_ = b_.GetInsertBlock();
  constants_.clear();
  const auto all_vectors = [&](const Values&) { return run_long_loop(begin, whole, width, {}, time, one_vector); };
  const bool fills_vectors = width * size * 8 == facts_.vector_bits;
  if (fills_vectors && streams(last.buffer) && fills_lines(loop, last)) {
    define(loop.variable, begin);
    in_both_ways(inner, b_.getInt64(0), {}, all_vectors);
  } else {
    all_vectors({});
  }
  lanes_ = {loop::kNoValue, 0, nullptr};
  return whole;
}

}  // namespace ct::jit
