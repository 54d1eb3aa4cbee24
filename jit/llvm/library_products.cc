#include "jit/llvm/library_products.h"

#include <algorithm>

#include "device/plan.h"
#include "jit/loop/barriers.h"

namespace ct::jit {

using loop::BufferKind;
using loop::For;
using loop::Gemm;
using loop::Index;
using loop::Matrix;

namespace {

// Libraries take larger numbers, and have few kernels for these.
constexpr int64_t kMostSize = INT32_MAX;

bool is_large(const Gemm& gemm, int64_t batch) {
  int64_t count = batch;
  for (const int64_t size : {gemm.m, gemm.n, gemm.k}) {
    if (size <= 0 || size > kMostSize) return false;
    if (__builtin_mul_overflow(count, size, &count)) count = INT64_MAX;
  }
  return batch <= kMostSize && count >= kLeastOfLibrary;
}

// Rows or columns without gaps, which do not overlap. A stride that nothing is reached by is whatever is wanted.
bool arrange(LibraryMatrix& matrix, int64_t rows, int64_t columns) {
  const auto try_as = [&](int64_t& stride, int64_t count, int64_t& inner, int64_t inner_count) {
    if (inner != 1 && inner_count != 1) return false;
    const int64_t wanted = count == 1 ? std::max(stride, inner_count) : stride;
    if (wanted < inner_count || wanted > kMostSize) return false;
    stride = wanted;
    inner = 1;
    return true;
  };
  return try_as(matrix.row_stride, rows, matrix.column_stride, columns) ||
         try_as(matrix.column_stride, columns, matrix.row_stride, rows);
}

// In memory that has a place in a plan.
std::optional<LibraryMatrix> begin(const loop::Program& program, const Matrix& matrix, const ProductNest& nest) {
  if (program.buffers[matrix.buffer].kind == BufferKind::kConstant) return {};
  for (const Index::Term& term : matrix.offset.terms()) {
    if (std::ranges::none_of(nest.loops, [&](const For* loop) { return loop->variable == term.value; })) return {};
  }
  return LibraryMatrix{matrix.buffer, matrix.offset.constant(), matrix.row_stride, matrix.column_stride, 0};
}

// From the innermost loop: each steps over all of the ones inside it.
bool add_batch(LibraryProduct& product, const ProductNest& nest) {
  const Gemm& gemm = *nest.product;
  const std::pair<LibraryMatrix*, const Matrix*> matrices[] = {
      {&product.a, &gemm.a}, {&product.b, &gemm.b}, {&product.c, &gemm.c}};
  for (auto loop = nest.loops.rbegin(); loop != nest.loops.rend(); ++loop) {
    const int64_t count = (*loop)->extent.constant();
    if (count == 1) continue;
    for (const auto& [matrix, from] : matrices) {
      const int64_t stride = from->offset.coefficient_of((*loop)->variable);
      if (stride < 0) return false;
      if (product.batch == 1) matrix->batch_stride = stride;
      int64_t over_all = 0;
      if (product.batch != 1 &&
          (__builtin_mul_overflow(matrix->batch_stride, product.batch, &over_all) || over_all != stride)) {
        return false;
      }
    }
    product.batch *= count;
  }
  return true;
}

}  // namespace

std::optional<LibraryProduct> library_product(const loop::Program& program, const loop::Statement& statement) {
  const std::optional<ProductNest> nest = product_nest(program, statement);
  if (!nest) return {};
  const Gemm& gemm = *nest->product;
  if (gemm.rows != Index(gemm.m) || gemm.columns != Index(gemm.n) || gemm.steps != Index(gemm.k)) return {};
  if (!is_large(gemm, nest->items)) return {};
  const DType type = program.buffers[gemm.a.buffer].dtype;
  if (type != program.buffers[gemm.b.buffer].dtype || !is_product_type(type, program.buffers[gemm.c.buffer].dtype)) {
    return {};
  }
  const auto a = begin(program, gemm.a, *nest), b = begin(program, gemm.b, *nest), c = begin(program, gemm.c, *nest);
  if (!a || !b || !c) return {};
  LibraryProduct product{gemm.m, gemm.n, gemm.k, 1, *a, *b, *c, gemm.accumulate};
  if (!arrange(product.a, gemm.m, gemm.k) || !arrange(product.b, gemm.k, gemm.n) ||
      !arrange(product.c, gemm.m, gemm.n) || !add_batch(product, *nest)) {
    return {};
  }
  if (product.batch > 1 && product.c.batch_stride == 0) return {};
  return product;
}

}  // namespace ct::jit
