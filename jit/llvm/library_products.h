// Which products of matrices a library of the device makes, where it has one: large ones, of floats, whose sizes are
// known and whose elements lie as libraries want them.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/loop/loop.h"

namespace ct::jit {

// Smaller ones are over before a library's kernel has begun to be faster than ours, and may share a kernel with others.
inline constexpr int64_t kLeastOfLibrary = int64_t{1} << 22;  // multiplications

// Element (r, c) of the i-th: buffer[offset + r * row_stride + c * column_stride + i * batch_stride].
struct LibraryMatrix {
  loop::BufferId buffer = 0;
  int64_t offset = 0;
  int64_t row_stride = 1, column_stride = 1, batch_stride = 0;
};

struct LibraryProduct {
  int64_t m, n, k, batch;
  LibraryMatrix a, b, c;
  bool accumulate;
};

// Of a product, or of independent loops around one: the inner ones are a batch of it if their steps through each array
// are one stride; for the items of others there are several. Empty where no library takes it.
std::vector<LibraryProduct> library_products(const loop::Program& program, const loop::Statement& statement);

}  // namespace ct::jit
