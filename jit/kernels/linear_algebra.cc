// Blocked factorisations and solutions (Golub, Van Loan, "Matrix Computations", sections 3.2, 3.4, 4.2): a block of
// columns by itself, then products of tiles for the rest. Matrices are copied to an array that whole tiles cover, with
// the identity around the real part, so that every tile is alike and the code of one product serves all.
#include "jit/kernels/linear_algebra.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "jit/kernels/matrix_emitter.h"

namespace ct::loop {
namespace {

// ---- Cholesky -------------------------------------------------------------------------------------------------------

class CholeskyEmitter : public MatrixEmitter {
 public:
  using MatrixEmitter::MatrixEmitter;

  void run(const Elements& matrix, const Elements& factor) {
    const int64_t n = shape_.rows, tile = tile_of(n), all = whole_tiles(n), tiles = all / tile;
    all_ = all;
    tile_ = tile;
    a_ = array(all * all);
    block_ = array(tile * tile);
    inverses_ = array(tile);
    panel_ = array(all * tile);
    turned_ = array(tile * all);
    failed_ = b_.temporary(kInt, 1, 0);
    b_.for_each(shape_.count, {.whole = true}, [&](const Index& which) {
      const Index first = which * (n * n), m = real_size(which, n);
      embed(matrix, first, n, 1, m, m, a_, all, all);
      b_.store(failed_, 0, b_.constant(kInt, 0));
      b_.for_each(tiles, {}, [&](const Index& k) {
        const Index begin = k * tile, below = begin + tile, rest = all - below;
        factor_block(begin);
        b_.for_each(rest, {}, [&](const Index& i) { solve_row(below + i, begin); });
        b_.for_each(Index(tiles - 1) - k, {}, [&](const Index& i) {
          const Index row = below + i * tile;
          b_.for_each(i + 1, {}, [&](const Index& j) {
            const Index column = below + j * tile;
            b_.gemm(tile, tile, tile, {panel_, row * tile, tile, 1}, {turned_, column, all, 1},
                    {a_, row * all + column, all, 1}, true);
          });
        });
      });
      const Num bad = num(b_.load(failed_, 0)) != num(b_.constant(kInt, 0));
      const Num lost = select(bad, real(std::numeric_limits<double>::quiet_NaN()), real(0));
      b_.fill(factor.buffer, factor.offset + first, n * n, b_.constant(dtype_, 0.0));
      b_.for_each(m, {}, [&](const Index& i) {
        b_.for_each(i + 1, kAlong, [&](const Index& j) {
          put(factor.buffer, factor.offset + first + i * n + j, get(a_, i * all + j) + lost);
        });
      });
    });
  }

 private:
  // The block on the diagonal. block_[j, c]: its factor transposed, with zeros where c <= j.
  void factor_block(const Index& begin) {
    b_.for_each(tile_, {}, [&](const Index& j) {
      const Index diagonal = (begin + j) * (all_ + 1);
      const Num square = get(a_, diagonal);
      const Num fine = (square > real(0)) & (square < real(std::numeric_limits<double>::infinity()));
      const Num one = num(b_.constant(kInt, 1)), zero = num(b_.constant(kInt, 0));
      put(failed_, 0, num(b_.load(failed_, 0)) | select(fine, zero, one));
      const Num pivot = square.apply(ScalarOp::kSqrt), inverse = real(1) / pivot;
      put(a_, diagonal, pivot);
      put(inverses_, j, inverse);
      b_.for_each(tile_, {}, [&](const Index& c) {
        const Index at = (begin + c) * all_ + begin + j;
        const Num below = number_of(c) > number_of(j);
        const Num x = get(a_, at);
        const Num divided = x * inverse;
        put(a_, at, select(below, divided, x));
        put(block_, j * tile_ + c, select(below, divided, real(0)));
      });
      b_.for_each(Index(tile_ - 1) - j, {}, [&](const Index& i) {
        const Index row = j + 1 + i;
        const Num x = get(block_, j * tile_ + row);
        b_.for_each(tile_, kAlong, [&](const Index& c) {
          const Index at = (begin + row) * all_ + begin + c;
          put(a_, at, get(a_, at) - x * get(block_, j * tile_ + c));
        });
      });
    });
  }

  // A row below the block. panel_[row, c] is its part of the factor, turned_[c, row] that of the transpose, negative.
  void solve_row(const Index& row, const Index& begin) {
    const Index here = row * all_ + begin, there = row * tile_;
    b_.for_each(tile_, kAlong, [&](const Index& c) { put(panel_, there + c, get(a_, here + c)); });
    b_.for_each(tile_, {}, [&](const Index& j) {
      const Num x = get(panel_, there + j) * get(inverses_, j);
      put(a_, here + j, x);
      put(turned_, j * all_ + row, -x);
      b_.for_each(tile_, kAlong, [&](const Index& c) {
        put(panel_, there + c, get(panel_, there + c) - x * get(block_, j * tile_ + c));
      });
    });
    b_.for_each(tile_, kAlong, [&](const Index& c) { put(panel_, there + c, get(a_, here + c)); });
  }

  int64_t all_ = 0, tile_ = 0;
  BufferId a_ = 0, block_ = 0, inverses_ = 0, panel_ = 0, turned_ = 0, failed_ = 0;
};

// ---- LU -------------------------------------------------------------------------------------------------------------

class LuEmitter : public MatrixEmitter {
 public:
  using MatrixEmitter::MatrixEmitter;

  void run(const Elements& matrix, const Elements& factors, const Elements& pivots, const Elements& order) {
    const int64_t m = shape_.rows, n = shape_.columns, steps = std::min(m, n), tile = tile_of(steps);
    const int64_t rows = (m + tile - 1) / tile * tile, columns = (n + tile - 1) / tile * tile;
    columns_ = columns;
    tile_ = tile;
    m_ = m;
    a_ = array(rows * columns);
    row_ = array(tile);
    panel_ = array(rows * tile);
    above_ = array(tile * columns);
    order_ = b_.temporary(DType::kInt32, rows, 0);
    const BufferId exchanged = b_.temporary(DType::kInt32, rows, 0);
    b_.for_each(shape_.count, {.whole = true}, [&](const Index& which) {
      const Index first = which * (m * n), real_m = real_size(which, m), real_n = real_size(which, n);
      embed(matrix, first, n, 1, real_m, real_n, a_, rows, columns);
      b_.for_each(rows, {}, [&](const Index& i) { b_.store(order_, i, b_.to_scalar(i, DType::kInt32)); });
      b_.for_each((steps + tile - 1) / tile, {}, [&](const Index& k) {
        const Index begin = k * tile, end = begin + tile;
        b_.for_each(at_most(tile, Index(steps) - begin), {}, [&](const Index& j) {
          b_.store(exchanged, begin + j, b_.to_scalar(eliminate(begin, j), DType::kInt32));
        });
        const Index right = Index(columns) - end;
        b_.for_each(tile, {}, [&](const Index& j) {
          b_.for_each(Index(tile - 1) - j, {}, [&](const Index& i) {
            const Index row = begin + j + 1 + i;
            const Num x = get(a_, row * columns + begin + j);
            b_.for_each(right, kAlong, [&](const Index& c) {
              const Index at = row * columns + end + c;
              put(a_, at, get(a_, at) - x * get(a_, (begin + j) * columns + end + c));
            });
          });
        });
        b_.for_each(tile, {}, [&](const Index& j) {
          b_.for_each(right, kAlong, [&](const Index& c) {
            put(above_, j * columns + end + c, get(a_, (begin + j) * columns + end + c));
          });
        });
        b_.for_each(Index(rows) - end, {}, [&](const Index& i) {
          b_.for_each(tile, kAlong, [&](const Index& c) {
            put(panel_, (end + i) * tile + c, -get(a_, (end + i) * columns + begin + c));
          });
        });
        b_.for_each(Index(rows / tile - 1) - k, {}, [&](const Index& i) {
          b_.for_each(Index(columns / tile - 1) - k, {}, [&](const Index& j) {
            const Index row = end + i * tile, column = end + j * tile;
            b_.gemm(tile, tile, tile, {panel_, row * tile, tile, 1}, {above_, column, columns, 1},
                    {a_, row * columns + column, columns, 1}, true);
          });
        });
      });
      fill_unless_whole(factors, first, m * n);
      b_.for_each(real_m, {}, [&](const Index& i) {
        b_.for_each(real_n, kAlong, [&](const Index& j) {
          put(factors.buffer, factors.offset + first + i * n + j, get(a_, i * columns + j));
        });
      });
      const auto hand_out = [&](BufferId from, const Elements& to, const Index& begin, int64_t count) {
        fill_unless_whole(to, begin, count);
        b_.for_each(shape_.size ? real_m : Index(count), {},
                    [&](const Index& i) { b_.store(to.buffer, to.offset + begin + i, b_.load(from, i)); });
      };
      hand_out(order_, order, which * m, m);
      hand_out(exchanged, pivots, which * steps, steps);
    });
  }

 private:
  // Column begin + j: the largest element at or below the diagonal comes to it, what is below is eliminated in the
  // block's columns. Where it was is returned.
  Index eliminate(const Index& begin, const Index& j) {
    const Index here = begin + j, column = here;
    const auto size_of = [&](const Index& row) {
      const Num x = get(a_, row * columns_ + column);
      return select(x == x, x.apply(ScalarOp::kAbs), real(0));
    };
    const Builder::CarrySpec specs[] = {{real(-1).scalar()}, {b_.to_scalar(here)}};
    const auto [i, found] = b_.begin_for(Index(m_) - here, {}, specs);
    const Num size = size_of(here + i), larger = size > num(found[0]);
    const Scalars best = b_.end_for(Scalars{select(larger, size, num(found[0])).scalar(),
                                            select(larger, number_of(here + i), num(found[1])).scalar()});
    const Index other = b_.to_index(best[1]);
    b_.for_each(columns_, kAlong, [&](const Index& c) {
      const Num x = get(a_, here * columns_ + c), y = get(a_, other * columns_ + c);
      put(a_, other * columns_ + c, x);
      put(a_, here * columns_ + c, y);
    });
    const Scalar one = b_.load(order_, here), two = b_.load(order_, other);
    b_.store(order_, other, one);
    b_.store(order_, here, two);

    b_.for_each(tile_, {}, [&](const Index& c) {
      const Num right = number_of(c) > number_of(j);
      put(row_, c, select(right, get(a_, here * columns_ + begin + c), real(0)));
    });
    const Num pivot = get(a_, here * columns_ + column);
    const Num divisor = select(pivot == real(0), real(1), pivot);
    b_.for_each(Index(m_ - 1) - here, {}, [&](const Index& i) {
      const Index row = (here + 1 + i) * columns_;
      const Num x = get(a_, row + column) / divisor;
      b_.for_each(tile_, kAlong,
                  [&](const Index& c) { put(a_, row + begin + c, get(a_, row + begin + c) - x * get(row_, c)); });
      put(a_, row + column, x);
    });
    return other;
  }

  int64_t columns_ = 0, tile_ = 0, m_ = 0;
  BufferId a_ = 0, row_ = 0, panel_ = 0, above_ = 0, order_ = 0;
};

// ---- Triangular systems ---------------------------------------------------------------------------------------------

class TriangularEmitter : public MatrixEmitter {
 public:
  using MatrixEmitter::MatrixEmitter;

  // X op(A) = B is op(A)^T X^T = B^T. a_ is the matrix so that it stands left of the unknowns, with negative elements
  // beside the diagonal.
  void run(const TriangularSystem& system, const Elements& matrix, const Elements& right_side,
           const Elements& solution) {
    const int64_t n = shape_.rows, columns = shape_.columns, tile = tile_of(n), all = whole_tiles(n),
                  tiles = all / tile;
    const bool turned = system.transposed == system.left;
    const bool forward = system.lower != turned;
    const int64_t row_stride = system.left ? columns : 1, column_stride = system.left ? 1 : n;
    const BufferId a = array(all * all), x = array(all * columns), solved = array(tile * columns);
    b_.for_each(shape_.count, {.whole = true}, [&](const Index& which) {
      const Index first = which * (n * n), first_of_right = which * (n * columns), m = real_size(which, n);
      embed(matrix, first, turned ? 1 : n, turned ? n : 1, m, m, a, all, all);
      b_.for_each(all, {}, [&](const Index& i) {
        b_.for_each(all, kAlong, [&](const Index& j) {
          const Num element = get(a, i * all + j);
          put(a, i * all + j, select(number_of(i) == number_of(j), element, -element));
        });
      });
      b_.fill(x, 0, all * columns, b_.constant(dtype_, 0.0));
      b_.for_each(m, {}, [&](const Index& i) {
        b_.for_each(columns, kAlong, [&](const Index& c) {
          put(x, i * columns + c,
              get(right_side.buffer, right_side.offset + first_of_right + i * row_stride + c * column_stride));
        });
      });
      b_.for_each(tiles, {}, [&](const Index& step) {
        const Index begin = (forward ? step : Index(tiles - 1) - step) * tile;
        b_.for_each(tile, {}, [&](const Index& k) {
          const Index i = forward ? k : Index(tile - 1) - k, row = begin + i;
          const Num pivot = system.unit_diagonal ? real(1) : get(a, row * (all + 1));
          b_.for_each(columns, kAlong, [&](const Index& c) {
            const Num value = get(x, row * columns + c);
            const Num divided = system.unit_diagonal ? value : value / pivot;
            put(x, row * columns + c, divided);
            put(solved, i * columns + c, divided);
          });
          b_.for_each(Index(tile - 1) - k, {}, [&](const Index& later) {
            const Index other = forward ? row + 1 + later : begin + later;
            const Num factor = get(a, other * all + row);
            b_.for_each(columns, kAlong, [&](const Index& c) {
              put(x, other * columns + c, get(x, other * columns + c) + factor * get(solved, i * columns + c));
            });
          });
        });
        b_.for_each(Index(tiles - 1) - step, {}, [&](const Index& later) {
          const Index other = forward ? begin + (later + 1) * tile : later * tile;
          b_.gemm(tile, columns, tile, {a, other * all + begin, all, 1}, {solved, 0, columns, 1},
                  {x, other * columns, columns, 1}, true);
        });
      });
      b_.for_each(n, {}, [&](const Index& i) {
        b_.for_each(columns, kAlong, [&](const Index& c) {
          put(solution.buffer, solution.offset + first_of_right + i * row_stride + c * column_stride,
              get(x, i * columns + c));
        });
      });
    });
  }
};

}  // namespace

void emit_cholesky(Builder& builder, const MatrixShape& shape, const Elements& matrix, const Elements& factor) {
  CholeskyEmitter(builder, shape, builder.buffer_dtype(matrix.buffer)).run(matrix, factor);
}

void emit_lu(Builder& builder, const MatrixShape& shape, const Elements& matrix, const Elements& factors,
             const Elements& pivots, const Elements& order) {
  LuEmitter(builder, shape, builder.buffer_dtype(matrix.buffer)).run(matrix, factors, pivots, order);
}

void emit_triangular_solve(Builder& builder, const MatrixShape& shape, const TriangularSystem& system,
                           const Elements& matrix, const Elements& right_side, const Elements& solution) {
  TriangularEmitter(builder, shape, builder.buffer_dtype(matrix.buffer)).run(system, matrix, right_side, solution);
}

}  // namespace ct::loop
