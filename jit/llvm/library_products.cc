#include "jit/llvm/library_products.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

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
// For loops that are no batch; more would make long plans.
constexpr int64_t kMostCalls = 256;

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

// Whether a loop steps over all of the ones inside of it in each array; then these are one batch.
bool join_batch(LibraryProduct& product, const Gemm& gemm, const For& loop) {
  const int64_t count = loop.extent.constant();
  const std::array<std::pair<LibraryMatrix*, const Matrix*>, 3> matrices = {
      {{&product.a, &gemm.a}, {&product.b, &gemm.b}, {&product.c, &gemm.c}}};
  for (const auto& [matrix, from] : matrices) {
    const int64_t stride = from->offset.coefficient_of(loop.variable);
    int64_t over_all = stride;
    if (product.batch != 1 && __builtin_mul_overflow(matrix->batch_stride, product.batch, &over_all)) return false;
    if (stride < 0 || over_all != stride) return false;
  }
  for (const auto& [matrix, from] : matrices) {
    if (product.batch == 1) matrix->batch_stride = from->offset.coefficient_of(loop.variable);
  }
  product.batch *= count;
  return true;
}

// One for each item of the loop.
std::vector<LibraryProduct> repeat(const std::vector<LibraryProduct>& products, const Gemm& gemm, const For& loop) {
  std::vector<LibraryProduct> all;
  for (int64_t item = 0; item < loop.extent.constant(); ++item) {
    for (LibraryProduct product : products) {
      product.a.offset += item * gemm.a.offset.coefficient_of(loop.variable);
      product.b.offset += item * gemm.b.offset.coefficient_of(loop.variable);
      product.c.offset += item * gemm.c.offset.coefficient_of(loop.variable);
      all.push_back(product);
    }
  }
  return all;
}

}  // namespace

std::vector<LibraryProduct> library_products(const loop::Program& program, const loop::Statement& statement) {
  const std::optional<ProductNest> nest = product_nest(program, statement);
  if (!nest) return {};
  const Gemm& gemm = *nest->product;
  if (gemm.rows != Index(gemm.m) || gemm.columns != Index(gemm.n) || gemm.steps != Index(gemm.k)) return {};
  const DType type = program.buffers[gemm.a.buffer].dtype;
  if (type != program.buffers[gemm.b.buffer].dtype || !is_product_type(type, program.buffers[gemm.c.buffer].dtype)) {
    return {};
  }
  const auto a = begin(program, gemm.a, *nest), b = begin(program, gemm.b, *nest), c = begin(program, gemm.c, *nest);
  if (!a || !b || !c) return {};
  LibraryProduct product{gemm.m, gemm.n, gemm.k, 1, *a, *b, *c, gemm.accumulate};
  if (!arrange(product.a, gemm.m, gemm.k) || !arrange(product.b, gemm.k, gemm.n) ||
      !arrange(product.c, gemm.m, gemm.n)) {
    return {};
  }
  // From the innermost loop outwards.
  std::vector<const For*> repeated;
  for (auto loop = nest->loops.rbegin(); loop != nest->loops.rend(); ++loop) {
    if ((*loop)->extent.constant() == 1) continue;
    if (!repeated.empty() || !join_batch(product, gemm, **loop)) repeated.push_back(*loop);
  }
  if (!is_large(gemm, product.batch) || nest->items / product.batch > kMostCalls) return {};
  if (product.batch > 1 && product.c.batch_stride == 0) return {};
  std::vector<LibraryProduct> products = {product};
  for (const For* loop : repeated) products = repeat(products, gemm, *loop);
  return products;
}

}  // namespace ct::jit
