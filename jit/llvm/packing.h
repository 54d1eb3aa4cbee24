// How ready-made products (ready_products.h) pack their matrices. gemm.cc writes the same loops for others.
#pragma once

#include <cstdint>

namespace ct::jit {

// Panels of b, `width` elements across and `k_block` rows down, one after the other; what is beyond b's last column is
// zeros. Strides are in elements, of `size` bytes.
struct PanelPacking {
  int64_t size;
  int64_t width, k_block;
  int64_t full_columns, columns;  // those of whole panels, and all
  int64_t row, column;
  int64_t level, transpose, lanes;  // of a b whose columns are contiguous: a ready-made function (tiles.h)
};
// Panels [begin, end), where the first of them is at `packed`.
void pack_panels(const PanelPacking* packing, const char* b, char* packed, int64_t k_count, int64_t begin, int64_t end);

// Strips of an a whose columns are contiguous: `rows` elements of each column, one after the other.
struct StripPacking {
  int64_t size;
  int64_t rows, k_block;
  int64_t full_rows;  // those of whole strips
  int64_t column;     // elements from a column of a to the next
};
// Rows [first, last), where first is that of a strip; the strip of row 0 would be at `strips`.
void pack_strips(const StripPacking* packing, const char* a, char* strips, int64_t k_count, int64_t first,
                 int64_t last);

}  // namespace ct::jit
