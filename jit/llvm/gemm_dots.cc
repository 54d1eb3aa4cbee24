// Products whose vectors lie along k: with a vector, and of few rows and columns that are both contiguous along k.
#include <algorithm>

#include "jit/llvm/gemm.h"

namespace ct::jit {

// A multiply-add on numbers from memory, as multiply-adds in registers.
constexpr int64_t kDotCost = 10;

void GemmEmitter::multiply_dots(const Problem& p) {
  View x = p.b, a = p.a;
  if (x.row_stride != 1 && p.k > 1) {
    View copy{scratch(p.k), 1, 1, dtype_};
    convert_copy(x, copy, p.steps, number(1), false);
    x = copy;
  }
  if (a.column_stride != 1 && p.k > 1) {
    View copy{scratch(p.m * p.k), p.k, 1, dtype_};
    convert_copy(a, copy, p.rows, p.steps, false);
    a = copy;
  }
  const unsigned lanes = lanes_of_dots(facts_, shape_of(p), size_);
  llvm::Value* whole = b_.CreateAnd(p.steps, number(-static_cast<int64_t>(lanes)));
  llvm::Value* left = b_.CreateSub(p.steps, whole);
  const bool has_rest = !llvm::isa<llvm::ConstantInt>(p.steps) || p.k % lanes != 0;
  auto strip = [&](llvm::Value* row, int64_t rows) {
    View from = a;
    from.pointer = offset(a, row, number(0));
    auto step = [&](llvm::Value* k, LlvmValues sums, llvm::Value* active) {
      llvm::Value* of_x = load_vector(b_.CreateInBoundsGEP(real_, x.pointer, k), lanes, active);
      llvm::Value* at = b_.CreateInBoundsGEP(real_, from.pointer, k);
      for (int64_t r = 0; r < rows; ++r) {
        sums[r] = e_.math.fma(load_vector(offset(at, r * a.row_stride), lanes, active), of_x, sums[r]);
      }
      return sums;
    };
    LlvmValues sums(rows, llvm::Constant::getNullValue(vector_type(lanes)));
    sums = e_.code.run_loop(number(0), whole, lanes, sums,
                            [&](llvm::Value* k, const LlvmValues& carried) { return step(k, carried, nullptr); });
    if (has_rest && has_masks_) sums = step(whole, sums, first_lanes(lanes, left));
    for (llvm::Value*& sum : sums) sum = e_.math.combine_lanes(ScalarOp::kAdd, dtype_, sum);
    if (has_rest && !has_masks_) {
      sums = e_.code.run_loop(whole, p.steps, 1, sums, [&](llvm::Value* k, const LlvmValues& carried) {
        LlvmValues next = carried;
        llvm::Value* of_x = b_.CreateAlignedLoad(real_, b_.CreateInBoundsGEP(real_, x.pointer, k), align_);
        llvm::Value* at = b_.CreateInBoundsGEP(real_, from.pointer, k);
        for (int64_t r = 0; r < rows; ++r) {
          next[r] = e_.math.fma(b_.CreateAlignedLoad(real_, offset(at, r * a.row_stride), align_), of_x, next[r]);
        }
        return next;
      });
    }
    llvm::Value* to = offset(p.c, row, number(0));
    for (int64_t r = 0; r < rows; ++r) {
      llvm::Value* at = offset(to, r * p.c.row_stride);
      llvm::Value* sum = sums[r];
      if (p.accumulate) sum = b_.CreateFAdd(b_.CreateAlignedLoad(real_, at, align_), sum);
      b_.CreateAlignedStore(sum, at, align_);
    }
  };
  constexpr int64_t kRows = 8;
  int64_t full = p.m / kRows * kRows;
  share(least(up_to_multiples(p.rows, kRows), number(full / kRows)), full / kRows, kRows * p.k * kDotCost,
        [&](llvm::Value* begin, llvm::Value* end) {
          for_range(times(begin, kRows), times(end, kRows), kRows, [&](llvm::Value* row) { strip(row, kRows); });
        });
  if (full < p.m) strip(number(full), p.m - full);
}

void GemmEmitter::multiply_dot_tiles(const Problem& p) {
  const DotTiling t = choose_dot_tiling(facts_, shape_of(p), size_);
  const int64_t full_rows = p.m / t.rows * t.rows, full_columns = p.n / t.columns * t.columns;
  llvm::Value* columns_there = least(times(up_to_multiples(p.columns, t.columns), t.columns), number(full_columns));
  auto strip = [&](llvm::Value* row, int64_t rows, const View& a, const View& b, llvm::Value* k_count,
                   bool accumulate) {
    auto panel = [&](llvm::Value* column, int64_t columns) {
      poll(rows * columns * t.k_block);
      View tile_a = a, tile_b = b, tile_c = p.c;
      tile_a.pointer = offset(a, row, number(0));
      tile_b.pointer = offset(b, number(0), column);
      tile_c.pointer = offset(p.c, row, column);
      dot_tile(rows, columns, k_count, tile_a, tile_b, tile_c, accumulate);
    };
    for_range(columns_there, t.columns, [&](llvm::Value* column) { panel(column, t.columns); });
    if (full_columns < p.n) panel(number(full_columns), p.n - full_columns);
  };
  auto block = [&](llvm::Value* k_begin, llvm::Value* k_count, bool accumulate) {
    View a = p.a, b = p.b;
    a.pointer = offset(p.a, number(0), k_begin);
    b.pointer = offset(p.b, k_begin, number(0));
    share(least(up_to_multiples(p.rows, t.rows), number(full_rows / t.rows)), full_rows / t.rows,
          t.rows * p.n * t.k_block, [&](llvm::Value* begin, llvm::Value* end) {
            for_range(times(begin, t.rows), times(end, t.rows), t.rows,
                      [&](llvm::Value* row) { strip(row, t.rows, a, b, k_count, accumulate); });
          });
    if (full_rows < p.m) strip(number(full_rows), p.m - full_rows, a, b, k_count, accumulate);
  };
  if (t.k_block == p.k) return block(number(0), p.steps, p.accumulate);
  if (!p.accumulate) clear(p.c, p.m, p.n);
  llvm::Value* whole = times(b_.CreateUDiv(p.steps, number(t.k_block)), t.k_block);
  for_range(whole, t.k_block, [&](llvm::Value* k) { block(k, number(t.k_block), true); });
  if (!llvm::isa<llvm::ConstantInt>(p.steps) || p.k % t.k_block != 0) block(whole, b_.CreateSub(p.steps, whole), true);
}

void GemmEmitter::dot_tile(int64_t rows, int64_t columns, llvm::Value* k_count, const View& a, const View& b,
                           const View& c, bool accumulate) {
  const unsigned lanes = most_lanes();
  llvm::Value* whole = b_.CreateAnd(k_count, number(-static_cast<int64_t>(lanes)));
  llvm::Value* left = b_.CreateSub(k_count, whole);
  auto step = [&](llvm::Value* k, LlvmValues sums, llvm::Value* active) {
    llvm::Value* a_at = b_.CreateInBoundsGEP(real_, a.pointer, k);
    llvm::Value* b_at = b_.CreateInBoundsGEP(real_, b.pointer, k);
    LlvmValues of_b;
    for (int64_t j = 0; j < columns; ++j) of_b.push_back(load_vector(offset(b_at, j * b.column_stride), lanes, active));
    for (int64_t i = 0; i < rows; ++i) {
      llvm::Value* of_a = load_vector(offset(a_at, i * a.row_stride), lanes, active);
      for (int64_t j = 0; j < columns; ++j) {
        llvm::Value*& sum = sums[i * columns + j];
        sum = e_.math.fma(of_a, of_b[j], sum);
      }
    }
    return sums;
  };
  LlvmValues sums(rows * columns, llvm::Constant::getNullValue(vector_type(lanes)));
  sums = e_.code.run_loop(number(0), whole, lanes, sums,
                          [&](llvm::Value* k, const LlvmValues& carried) { return step(k, carried, nullptr); });
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(left);
  if (known == nullptr || !known->isZero()) sums = step(whole, sums, first_lanes(lanes, left));
  for (int64_t first = 0; first < rows * columns; first += lanes) {
    const int64_t count = std::min<int64_t>(lanes, rows * columns - first);
    llvm::Value* totals = sums_of_lanes(llvm::ArrayRef(sums).slice(first, count));
    for (int64_t i = first; i < first + count; ++i) {
      llvm::Value* to = offset(c.pointer, i / columns * c.row_stride + i % columns * c.column_stride);
      llvm::Value* sum = b_.CreateExtractElement(totals, static_cast<uint64_t>(i - first));
      if (accumulate) sum = b_.CreateFAdd(b_.CreateAlignedLoad(real_, to, align_), sum);
      b_.CreateAlignedStore(sum, to, align_);
    }
  }
}

// As a transpose goes, with an addition after each exchange: half of the vectors are left after each round.
llvm::Value* GemmEmitter::sums_of_lanes(llvm::ArrayRef<llvm::Value*> vectors) {
  LlvmValues left(vectors.begin(), vectors.end());
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(left[0]->getType())->getNumElements();
  for (unsigned distance = 1; distance < lanes; distance *= 2) {
    llvm::SmallVector<int, 16> first, second;
    for (unsigned i = 0; i < lanes; ++i) {
      const bool upper = (i & distance) != 0;
      first.push_back(static_cast<int>(upper ? lanes + i - distance : i));
      second.push_back(static_cast<int>(upper ? lanes + i : i + distance));
    }
    LlvmValues next;
    for (size_t i = 0; i < left.size(); i += 2) {
      llvm::Value *a = left[i], *b = left[i + 1 < left.size() ? i + 1 : i];
      next.push_back(b_.CreateFAdd(b_.CreateShuffleVector(a, b, first), b_.CreateShuffleVector(a, b, second)));
    }
    left = next;
  }
  return left[0];
}

}  // namespace ct::jit
