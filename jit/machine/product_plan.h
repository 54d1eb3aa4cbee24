// How a matrix product is computed on a processor: in register tiles, or as dot products, and in which pieces. With
// that the order of each element's sum is fixed, for all who write code from it (jit/llvm/gemm.h, jit/c/products.cc).
// Start at plan_product.
#pragma once

#include <cstdint>

#include "jit/machine/target_facts.h"

namespace ct::jit {

inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct ProductStrides {
  int64_t row, column;  // in elements
};

struct ProductShape {
  int64_t m, n, k;
  ProductStrides a, b, c;
  bool all_rows = true, all_columns = true, all_steps = true;  // else a program says how many of them count
  // Of complex numbers: n and k count parts, c's columns are parts. So are a's, unless `pairs`.
  bool complex = false, pairs = false;

  ProductShape flipped() const;  // c^T = b^T a^T
};

enum class ProductForm : uint8_t {
  kTiles,
  kDots,      // with a vector: n == 1
  kDotTiles,  // of rows and columns that are both contiguous along k
};

// How a product in tiles is cut up.
struct ProductTiling {
  unsigned lanes;   // elements of a vector
  int64_t vectors;  // across a tile
  int64_t rows;     // down a tile
  int64_t k_block;
  bool pack;
  bool copy_a;  // `a_rows` rows of a at a time
  int64_t a_rows;
  int64_t width() const { return static_cast<int64_t>(lanes) * vectors; }
};

// Dot products of `rows` rows of a with `columns` columns of b at a time.
struct DotTiling {
  int64_t rows, columns, k_block;
  double cycles;
};

struct ProductPlan {
  ProductForm form;
  bool flipped;  // it is that of the flipped product
};

// All for elements of `size` bytes. Of real numbers, none of whose sizes is 0.
ProductPlan plan_product(const TargetFacts& facts, const ProductShape& shape, int64_t size);
ProductTiling choose_tiling(const TargetFacts& facts, const ProductShape& shape, int64_t size);
DotTiling choose_dot_tiling(const TargetFacts& facts, const ProductShape& shape, int64_t size);
// Lanes of the vectors along k of a product with a vector.
unsigned lanes_of_dots(const TargetFacts& facts, const ProductShape& shape, int64_t size);

// Of complex numbers, whose strides count parts: the product of their parts that it is computed as.
struct ComplexPlan {
  bool flipped;
  ProductShape parts;  // of copies, where the parts of a's rows, or of c's, are not contiguous
};
ComplexPlan plan_complex_product(const ProductShape& shape);

int64_t panels_of(const ProductShape& shape, const ProductTiling& tiling);
// Whether a copy of a is by strips: the rows of a tile, column by column.
bool in_strips(const ProductShape& shape);

}  // namespace ct::jit
