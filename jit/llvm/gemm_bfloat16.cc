// Products of bfloat16 by functions that are there already (runtime/bfloat16_products.h).
#include "jit/llvm/gemm.h"
#include "runtime/bfloat16_products.h"
#include "runtime/pool.h"
#include "runtime/processor.h"

namespace ct::jit {

namespace {

// With fewer strips of rows than this, threads share the columns.
constexpr int64_t kFewStrips = 4;
// A multiply-add of float32 takes as long as so many of these.
constexpr int64_t kBfloat16Speed = 8;
// Moving an element, as such multiply-adds.
constexpr int64_t kMoveCost = 16;

}  // namespace

bool GemmEmitter::takes_bfloat16(const Problem& p) const {
  return facts_.bfloat16_tiles && e_.sharing.in_process() && p.a.dtype == DType::kBFloat16 &&
         p.b.dtype == DType::kBFloat16 && dtype_ == DType::kFloat32 && takes_bfloat16_tiles(p.m, p.n, p.k);
}

void GemmEmitter::multiply_bfloat16(Problem p) {
  // Rows of the result are written as vectors.
  if (p.c.column_stride != 1 && p.c.row_stride == 1) p = flipped(p);
  if (p.k > kMostBfloat16Steps) {
    const View target = p.c;
    const bool narrow = target.dtype != dtype_, accumulate = p.accumulate;
    if (narrow) p.c = {scratch(p.m * p.n), p.n, 1, dtype_};
    if (narrow || !accumulate) clear(p.c, p.m, p.n);
    p.accumulate = true;
    for_range(p.steps, kMostBfloat16Steps, [&](llvm::Value* first) {
      Problem part = p;
      part.k = kMostBfloat16Steps;
      part.steps = least(number(kMostBfloat16Steps), b_.CreateSub(p.steps, first));
      part.a.pointer = offset(p.a, number(0), first);
      part.b.pointer = offset(p.b, first, number(0));
      multiply_bfloat16(part);
    });
    if (narrow) convert_copy(p.c, target, p.rows, p.columns, accumulate);
    return;
  }
  const Bfloat16Product product{.a_row = p.a.row_stride,
                                .a_column = p.a.column_stride,
                                .b_row = p.b.row_stride,
                                .b_column = p.b.column_stride,
                                .c_row = p.c.row_stride,
                                .c_column = p.c.column_stride,
                                .accumulate = p.accumulate ? 1 : 0,
                                .narrow = p.c.dtype == dtype_ ? 0 : 1};
  llvm::Constant* constant = record(product, "product");
  llvm::Type *pointer = b_.getPtrTy(), *i64 = b_.getInt64Ty();
  const auto pack = function_of_library(kPackBfloat16Symbol, {pointer, pointer, pointer, i64, i64, i64, i64});
  const auto multiply = function_of_library(
      kMultiplyBfloat16Symbol, {pointer, pointer, pointer, pointer, pointer, i64, i64, i64, i64, i64, i64, i64});
  const int64_t panels = divide_up(p.n, kBfloat16Columns), strips = divide_up(p.m, kBfloat16Rows);
  llvm::Value *panels_there = up_to_multiples(p.columns, kBfloat16Columns),
              *strips_there = up_to_multiples(p.rows, kBfloat16Rows);
  const auto bytes = [&](int64_t count) { return scratch(divide_up(count, size_)); };
  const auto packed_panels = [&](llvm::Value* to, llvm::Value* begin, llvm::Value* end) {
    b_.CreateCall(pack, {constant, p.b.pointer, to, p.steps, p.columns, begin, end});
  };
  // By strips that stay in the cache.
  const auto multiplied = [&](llvm::Value* packed, llvm::Value* first, llvm::Value* last, llvm::Value* begin,
                              llvm::Value* end) {
    llvm::Value* own = bytes(bfloat16_scratch_bytes(p.k));
    const int64_t together = bfloat16_strips(p.k);
    for_range(first, last, together, [&](llvm::Value* strip) {
      poll(together * kBfloat16Rows * p.n * p.k / kBfloat16Speed);
      b_.CreateCall(multiply, {constant, p.a.pointer, packed, p.c.pointer, own, p.rows, p.columns, p.steps, strip,
                               least(b_.CreateAdd(strip, number(together)), last), begin, end});
    });
  };
  if (strips >= std::min(kFewStrips, panels)) {
    llvm::Value* packed = bytes(panels * bfloat16_panel_bytes(p.k));
    share(panels_there, panels, p.k * kBfloat16Columns * kMoveCost / kBfloat16Speed,
          [&](llvm::Value* begin, llvm::Value* end) { packed_panels(packed, begin, end); });
    share(strips_there, strips, kBfloat16Rows * p.n * p.k / kBfloat16Speed,
          [&](llvm::Value* begin, llvm::Value* end) { multiplied(packed, begin, end, number(0), panels_there); });
    return;
  }
  const int64_t panel_step_bytes = bfloat16_panel_bytes(kBfloat16Steps);
  share(panels_there, panels, p.m * p.k * kBfloat16Columns / kBfloat16Speed, [&](llvm::Value* begin, llvm::Value* end) {
    llvm::Value* packed = bytes(bfloat16_panel_bytes(p.k));
    for_range(begin, end, 1, [&](llvm::Value* panel) {
      llvm::Value* next = b_.CreateAdd(panel, number(1));
      // Both count from the first panel of all.
      llvm::Value* before = b_.CreateMul(panel, times(up_to_multiples(p.steps, kBfloat16Steps), panel_step_bytes));
      llvm::Value* origin = b_.CreateGEP(b_.getInt8Ty(), packed, b_.CreateNeg(before));
      packed_panels(origin, panel, next);
      multiplied(origin, number(0), strips_there, panel, next);
    });
  });
}

}  // namespace ct::jit
