#include "jit/machine/short_rows.h"

#include <algorithm>
#include <numeric>

#include "jit/loop/visit.h"
#include "jit/machine/vectorize.h"

namespace ct::jit {

using loop::For;
using loop::Statement;
using loop::StatementKind;

namespace {

// Of one iteration. More code takes longer to compile than it saves, and more vectors than registers.
constexpr int64_t kMostVectors = 8, kMostStatementsOfRow = 64;
constexpr int64_t kEnoughVectors = 4;  // what counting iterations costs is little beside them

// Whether it is computed lane by lane, from elements at such places.
bool is_plain(const loop::Program& program, const Statement& s, const For& outer, const For& inner) {
  for (const loop::Value operand : s.operands) {
    if (operand == outer.variable || operand == inner.variable) return false;
  }
  if (s.kind == StatementKind::kStore) return place_in_rows(program, s, outer, inner) == PlaceInRows::kOfBoth;
  if (!loop::is_instruction(s) || s.kind == StatementKind::kIndex) return false;
  return s.kind != StatementKind::kLoad || place_in_rows(program, s, outer, inner) != PlaceInRows::kOther;
}

bool is_elementwise(const For& loop) {
  return loop.options.vectorize && loop.carries.empty() && loop.extent.is_constant() && loop.extent.constant() >= 2;
}

}  // namespace

PlaceInRows place_in_rows(const loop::Program& program, const Statement& access, const For& outer, const For& inner) {
  const loop::Buffer& buffer = program.buffers[access.buffer];
  if (is_complex(buffer.dtype) || buffer.dtype == DType::kKey) return PlaceInRows::kOther;
  bool known = true;
  loop::visit_index(access.index,
                    [&](loop::Value value) { known = known && (value <= outer.variable || value == inner.variable); });
  const int64_t by_row = access.index.coefficient_of(outer.variable);
  const int64_t along = access.index.coefficient_of(inner.variable);
  if (!known || along < 0 || along > 1) return PlaceInRows::kOther;
  if (by_row == 0) return along == 0 ? PlaceInRows::kSame : PlaceInRows::kOfRow;
  if (along == 0) return by_row == 1 ? PlaceInRows::kOfColumn : PlaceInRows::kOther;
  return by_row == inner.extent.constant() ? PlaceInRows::kOfBoth : PlaceInRows::kOther;
}

std::optional<ShortRows> choose_short_rows(const loop::Program& program, const TargetFacts& facts, const For& loop) {
  // There a vector is several registers, and one iteration would be of more than there are.
  if (facts.arch == TargetFacts::Arch::kArm || facts.arch == TargetFacts::Arch::kRiscv) return {};
  const auto& outside = program.blocks[loop.body].statements;
  if (facts.vector_bits == 0 || !is_elementwise(loop) || outside.empty() ||
      outside.back().kind != StatementKind::kFor) {
    return {};
  }
  const For& inner = program.fors[outside.back().detail];
  if (!is_elementwise(inner)) return {};
  int widest = 0;  // bytes, as it is computed with
  int64_t statements = 0;
  bool stores = false;
  for (const auto* block : {&outside, &program.blocks[inner.body].statements}) {
    for (const Statement& s : *block) {
      if (&s == &outside.back()) continue;
      const bool is_store = s.kind == StatementKind::kStore;
      // Whole iterations read before they write: a load behind a store might be of what that wrote.
      if (!is_plain(program, s, loop, inner) || (stores && !is_store)) return {};
      stores = is_store;
      if (s.kind != StatementKind::kConstant) ++statements;
      widest = std::max(widest, is_float(s.dtype) ? std::max(dtype_size(s.dtype), 4) : dtype_size(s.dtype));
    }
  }
  if (!stores) return {};
  const int64_t width = facts.vector_bits / 8 / widest, count = inner.extent.constant();
  if (width < 2) return {};
  const auto fits = [&](int64_t vectors, int64_t rows) {
    return vectors <= kMostVectors && vectors * statements <= kMostStatementsOfRow && rows <= loop.extent.constant();
  };
  int64_t rows = width / std::gcd(width, count);
  if (rows > kVectorMultiple || !fits(rows * count / width, rows)) {
    const int64_t vectors = (count + width - 1) / width;
    // One element is cheaper than a vector for it.
    if (count < width || count % width == 1 || !fits(vectors, 1)) return {};
    return ShortRows{&inner, static_cast<unsigned>(width), 1, vectors, count - width};
  }
  while (2 * rows * count / width <= kEnoughVectors && 2 * rows <= width && fits(2 * rows * count / width, 2 * rows)) {
    rows *= 2;
  }
  return ShortRows{&inner, static_cast<unsigned>(width), rows, rows * count / width, rows * count - width};
}

}  // namespace ct::jit
