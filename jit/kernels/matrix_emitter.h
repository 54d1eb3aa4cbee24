// What the blocked factorisations share: matrices that whole tiles cover.
#pragma once

#include <algorithm>

#include "jit/kernels/linear_algebra.h"
#include "jit/loop/num.h"

namespace ct::loop {

inline constexpr int64_t kTile = 32;
inline constexpr DType kInt = DType::kInt64;
inline constexpr LoopOptions kAlong{.vectorize = true};

inline int64_t tile_of(int64_t n) { return std::min(n, kTile); }
inline int64_t whole_tiles(int64_t n) { return (n + tile_of(n) - 1) / tile_of(n) * tile_of(n); }

class MatrixEmitter {
 public:
  MatrixEmitter(Builder& builder, const MatrixShape& shape, DType dtype) : b_(builder), shape_(shape), dtype_(dtype) {}

 protected:
  Num num(const Scalar& scalar) { return {b_, scalar}; }
  Num real(double x) { return num(b_.constant(dtype_, x)); }
  Num number_of(const Index& i) { return num(b_.to_scalar(i)); }
  Index index_of(const Num& x) { return b_.to_index(x.scalar()); }
  Num get(BufferId buffer, const Index& at) { return num(b_.load(buffer, at)); }
  void put(BufferId buffer, const Index& at, const Num& x) { b_.store(buffer, at, x.scalar()); }
  BufferId array(int64_t elements) { return b_.temporary(dtype_, elements, 0); }
  Index at_most(const Index& i, const Index& most) {
    return index_of(number_of(i).apply(ScalarOp::kMin, number_of(most)));
  }

  // How many of `all` rows are real in one of the matrices.
  Index real_size(const Index& which, int64_t all) {
    if (!shape_.size) return all;
    const Num given = num(b_.convert(b_.load(shape_.size->buffer, shape_.size->offset + which), kInt));
    return index_of(given.apply(ScalarOp::kMax, number_of(0)).apply(ScalarOp::kMin, number_of(all)));
  }

  // to[rows, columns] = from's first m rows and n columns, and the identity; `from` has row_stride and column_stride.
  void embed(const Elements& from, const Index& first, int64_t row_stride, int64_t column_stride, const Index& m,
             const Index& n, BufferId to, int64_t rows, int64_t columns) {
    if (!(m == Index(rows) && n == Index(columns))) {
      b_.fill(to, 0, rows * columns, b_.constant(dtype_, 0.0));
      b_.for_each(std::min(rows, columns), {}, [&](const Index& i) { put(to, i * (columns + 1), real(1)); });
    }
    b_.for_each(m, {}, [&](const Index& i) {
      b_.for_each(n, kAlong, [&](const Index& j) {
        put(to, i * columns + j, get(from.buffer, from.offset + first + i * row_stride + j * column_stride));
      });
    });
  }

  void fill_unless_whole(const Elements& to, const Index& first, int64_t count) {
    if (shape_.size) b_.fill(to.buffer, to.offset + first, count, b_.constant(b_.buffer_dtype(to.buffer), 0));
  }

  Builder& b_;
  const MatrixShape shape_;
  const DType dtype_;
};

}  // namespace ct::loop
