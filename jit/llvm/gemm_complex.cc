// Products of complex matrices, as real ones of twice the columns and steps.
#include <algorithm>

#include "jit/llvm/gemm.h"

namespace ct::jit {

void GemmEmitter::multiply_complex(Problem p) {
  const ComplexPlan plan = plan_complex_product(shape_of(p));
  if (plan.flipped) p = flipped(p);
  const View target = p.c;
  const int64_t columns = p.n, steps = p.k;
  p.complex = true;
  p.pairs = plan.parts.pairs;
  p.n = plan.parts.n;
  p.k = plan.parts.k;
  p.rows = number(p.m);
  p.columns = number(p.n);
  p.steps = number(p.k);
  if (p.a.column_stride == 2) {
    p.a.column_stride = 1;
  } else if (!p.pairs) {
    const View copy{scratch(p.m * p.k), p.k, 2, dtype_};
    copy_pairs(p.a, copy, p.m, steps, false);
    p.a = {copy.pointer, p.k, 1, dtype_};
  }
  if (target.column_stride == 2) {
    p.c.column_stride = 1;
    return multiply_tiled(p);
  }
  const bool accumulate = p.accumulate;
  p.c = {scratch(p.m * p.n), p.n, 1, dtype_};
  p.accumulate = false;
  multiply_tiled(p);
  copy_pairs({p.c.pointer, p.n, 2, dtype_}, target, p.m, columns, accumulate);
}

// A column of real parts, a column of imaginary parts.
llvm::Value* GemmEmitter::pack_complex_strips(const Problem& p, const Tiling& t, const Block& block, llvm::Value* first,
                                              llvm::Value* last, llvm::Value* to) {
  llvm::Value* strips = b_.CreateGEP(real_, to, b_.CreateNeg(times(first, t.k_block)));
  const int64_t full_rows = p.m / t.rows * t.rows, rest = p.m - full_rows;
  for_range(half(block.k_count), 1, [&](llvm::Value* k) {
    llvm::Value* column = b_.CreateGEP(real_, strips, times(k, 2 * t.rows));
    auto copy = [&](llvm::Value* row, int64_t rows) {
      llvm::Value* target = b_.CreateGEP(real_, column, times(row, t.k_block));
      llvm::Value* from = offset(block.a, row, k);
      const int64_t step = block.a.row_stride == 2 ? most_lanes() : 1;
      for (int64_t r = 0; r < rows; r += step) {
        const auto count = static_cast<unsigned>(std::min(step, rows - r));
        llvm::Value* pairs = load_vector(offset(from, r * block.a.row_stride), 2 * count, 2 * count);
        for (unsigned part : {0U, 1U}) {
          llvm::SmallVector<int, 16> lanes;
          for (unsigned i = 0; i < count; ++i) lanes.push_back(static_cast<int>(2 * i + part));
          store_vector(b_.CreateShuffleVector(pairs, lanes), offset(target, part * t.rows + r), count);
        }
      }
    };
    for_range(first, least(last, number(full_rows)), t.rows, [&](llvm::Value* row) { copy(row, t.rows); });
    if (rest > 0) for_range(number(full_rows), last, t.rows, [&](llvm::Value* row) { copy(row, rest); });
  });
  return strips;
}

// Each row of b, and below it i times the row.
void GemmEmitter::pack_complex_panels(const Problem& p, const Tiling& t, const Block& block, llvm::Value* begin,
                                      llvm::Value* end, llvm::Value* packed) {
  const int64_t width = t.width();
  llvm::Value *steps = half(block.k_count), *first = times(begin, width);
  // From elements of b to rows of a panel.
  auto copy = [&](llvm::Value* from, llvm::Value* to, unsigned lanes) {
    llvm::Value* row = load_vector(from, lanes, lanes);
    llvm::SmallVector<int, 16> turned;
    for (unsigned i = 0; i < lanes; i += 2) {
      turned.push_back(static_cast<int>(lanes + i + 1));
      turned.push_back(static_cast<int>(i));
    }
    store_vector(row, to, lanes);
    store_vector(b_.CreateShuffleVector(row, b_.CreateFNeg(row), turned), offset(to, width), lanes);
  };
  auto panel = [&](llvm::Value* column, int64_t columns) {
    llvm::Value* to = b_.CreateInBoundsGEP(real_, packed, times(b_.CreateSub(column, first), t.k_block));
    View from = block.b;
    from.pointer = offset(block.b, number(0), half(column));
    if (columns < width) b_.CreateMemSet(to, b_.getInt8(0), times(block.k_count, width * size_), align_);
    auto target = [&](llvm::Value* k, llvm::Value* j) {
      return b_.CreateInBoundsGEP(real_, to, b_.CreateAdd(times(k, 2 * width), j));
    };
    const int64_t whole = from.column_stride == 2 ? columns / t.lanes * t.lanes : 0;
    if (whole > 0) {
      for_range(steps, 1, [&](llvm::Value* k) {
        for (int64_t j = 0; j < whole; j += t.lanes)
          copy(offset(offset(from, k, number(0)), j), target(k, number(j)), t.lanes);
      });
    }
    // Down the columns, along which b is contiguous if it is not along its rows.
    for_range(number(whole), number(columns), 2, [&](llvm::Value* j) {
      for_range(steps, 1, [&](llvm::Value* k) { copy(offset(from, k, half(j)), target(k, j), 2); });
    });
  };
  const int64_t full = p.n / width * width;
  for_range(first, least(times(end, width), number(full)), width, [&](llvm::Value* column) { panel(column, width); });
  if (full < p.n) {
    for_range(number(full), times(end, width), width, [&](llvm::Value* column) { panel(column, p.n - full); });
  }
}

}  // namespace ct::jit
