// QR by Householder's reflections, a block of columns at a time: the reflections of a block are one I - V T V^T, which
// is applied to the rest, and later to Q, by products of tiles (Golub, Van Loan, "Matrix Computations", section 5.2).
// Signs are LAPACK's.
#include <algorithm>

#include "jit/kernels/linear_algebra.h"
#include "jit/kernels/matrix_emitter.h"

namespace ct::loop {
namespace {

class QrEmitter : public MatrixEmitter {
 public:
  using MatrixEmitter::MatrixEmitter;

  void run(bool full, const Elements& matrix, const Elements& q, const Elements& r) {
    const int64_t m = shape_.rows, n = shape_.columns, kept = full ? m : std::min(m, n);
    steps_ = std::min(m, n);
    tile_ = tile_of(steps_);
    const auto whole = [&](int64_t size) { return (size + tile_ - 1) / tile_ * tile_; };
    rows_ = whole(m);
    panels_ = whole(steps_) / tile_;
    const int64_t columns = whole(n), q_columns = whole(kept);
    const BufferId a = array(rows_ * columns), result = array(rows_ * q_columns);
    v_ = array(panels_ * rows_ * tile_);
    t_ = array(panels_ * tile_ * tile_);
    seen_ = array(tile_);
    products_ = array(tile_ * tile_);
    panel_ = array(rows_ * tile_);
    taus_ = array(tile_);
    w_ = array(tile_ * std::max(columns, q_columns));
    y_ = array(tile_ * std::max(columns, q_columns));
    b_.for_each(shape_.count, {.whole = true}, [&](const Index& which) {
      embed(matrix, which * (m * n), n, 1, m, n, a, rows_, columns);
      b_.fill(v_, 0, panels_ * rows_ * tile_, b_.constant(dtype_, 0.0));
      b_.for_each(panels_, {}, [&](const Index& k) {
        const Index begin = k * tile_;
        factor_panel(a, columns, begin);
        combine(k);
        apply(k, a, columns, k + 1, true);
      });
      b_.fill(result, 0, rows_ * q_columns, b_.constant(dtype_, 0.0));
      b_.for_each(std::min(rows_, q_columns), {}, [&](const Index& i) { put(result, i * (q_columns + 1), real(1)); });
      b_.for_each(panels_, {}, [&](const Index& step) {
        const Index k = Index(panels_ - 1) - step;
        apply(k, result, q_columns, k, false);
      });
      b_.for_each(m, {}, [&](const Index& i) {
        b_.for_each(kept, kAlong, [&](const Index& j) {
          put(q.buffer, q.offset + which * (m * kept) + i * kept + j, get(result, i * q_columns + j));
        });
      });
      b_.for_each(kept, {}, [&](const Index& i) {
        b_.for_each(n, kAlong, [&](const Index& j) {
          const Num upper = number_of(i) <= number_of(j);
          put(r.buffer, r.offset + which * (kept * n) + i * n + j, select(upper, get(a, i * columns + j), real(0)));
        });
      });
    });
  }

 private:
  Index v_at(const Index& panel, const Index& row) { return (panel * rows_ + row) * tile_; }

  // The block's reflections: v_, with zeros above their heads, and taus_.
  void factor_panel(BufferId a, int64_t columns, const Index& begin) {
    const Index rest = Index(rows_) - begin, v = begin * rows_;  // v_at(begin / tile_, 0)
    b_.fill(taus_, 0, tile_, b_.constant(dtype_, 0.0));
    b_.for_each(rest, {}, [&](const Index& i) {
      b_.for_each(tile_, kAlong,
                  [&](const Index& c) { put(panel_, i * tile_ + c, get(a, (begin + i) * columns + begin + c)); });
    });
    b_.for_each(at_most(tile_, Index(steps_) - begin), {}, [&](const Index& j) {
      const Index below = rest - 1 - j;
      const auto x = [&](const Index& i) { return get(panel_, (j + i) * tile_ + j); };
      const Num largest = num(b_.reduce(below + 1, {}, ScalarOp::kMax, real(0).scalar(),
                                        [&](const Index& i) { return x(i).apply(ScalarOp::kAbs).scalar(); }));
      // Of squares that neither overflow nor vanish.
      const Num unit = select(largest == real(0), real(1), largest);
      const Num tail = num(b_.reduce(below, {}, ScalarOp::kAdd, real(0).scalar(), [&](const Index& i) {
        const Num part = x(i + 1) / unit;
        return (part * part).scalar();
      }));
      const Num alpha = x(0), head = alpha / unit;
      const Num length = unit * (tail + head * head).apply(ScalarOp::kSqrt);
      const Num reflects = tail != real(0);
      const Num beta = select(reflects, select(alpha < real(0), length, -length), alpha);
      const Num tau = select(reflects, (beta - alpha) / select(reflects, beta, real(1)), real(0));
      const Num divisor = select(reflects, alpha - beta, real(1));
      put(taus_, j, tau);
      b_.for_each(below, {}, [&](const Index& i) { put(v_, v + (begin + j + 1 + i) * tile_ + j, x(i + 1) / divisor); });
      put(v_, v + (begin + j) * tile_ + j, real(1));
      b_.fill(seen_, 0, tile_, b_.constant(dtype_, 0.0));
      b_.for_each(below + 1, {}, [&](const Index& i) {
        const Num own = get(v_, v + (begin + j + i) * tile_ + j);
        b_.for_each(tile_, kAlong,
                    [&](const Index& c) { put(seen_, c, get(seen_, c) + own * get(panel_, (j + i) * tile_ + c)); });
      });
      b_.for_each(tile_, {}, [&](const Index& c) {
        const Num right = number_of(c) > number_of(j);
        put(seen_, c, select(right, tau * get(seen_, c), real(0)));
      });
      b_.for_each(below + 1, {}, [&](const Index& i) {
        const Num own = get(v_, v + (begin + j + i) * tile_ + j);
        b_.for_each(tile_, kAlong, [&](const Index& c) {
          const Index at = (j + i) * tile_ + c;
          put(panel_, at, get(panel_, at) - own * get(seen_, c));
        });
      });
      put(panel_, j * tile_ + j, beta);
    });
    b_.for_each(rest, {}, [&](const Index& i) {
      b_.for_each(tile_, kAlong,
                  [&](const Index& c) { put(a, (begin + i) * columns + begin + c, get(panel_, i * tile_ + c)); });
    });
  }

  // t_ of a panel, upper triangular and negative: the product of its reflections is I + V t_ V^T.
  void combine(const Index& k) {
    const Index t = k * (tile_ * tile_);
    b_.fill(products_, 0, tile_ * tile_, b_.constant(dtype_, 0.0));
    b_.for_each(Index(rows_ / tile_) - k, {}, [&](const Index& i) {
      const Index at = v_at(k, (k + i) * tile_);
      b_.gemm(tile_, tile_, tile_, {v_, at, 1, tile_}, {v_, at, tile_, 1}, {products_, 0, tile_, 1}, true);
    });
    b_.fill(t_, t, tile_ * tile_, b_.constant(dtype_, 0.0));
    b_.for_each(tile_, {}, [&](const Index& j) {
      const Num tau = get(taus_, j);
      put(t_, t + j * (tile_ + 1), -tau);
      b_.for_each(j, {}, [&](const Index& i) {
        const Num sum = num(b_.reduce(j - i, {}, ScalarOp::kAdd, real(0).scalar(), [&](const Index& l) {
          return (get(t_, t + i * tile_ + i + l) * get(products_, (i + l) * tile_ + j)).scalar();
        }));
        put(t_, t + i * tile_ + j, -(tau * sum));
      });
    });
  }

  // to += V t (V^T to), or with the transpose of t, in the columns from `first`, a number of a tile, on.
  void apply(const Index& k, BufferId to, int64_t columns, const Index& first, bool transposes) {
    const Index t = k * (tile_ * tile_), tiles = Index(columns / tile_) - first, down = Index(rows_ / tile_) - k;
    b_.for_each(tiles, {}, [&](const Index& j) {
      const Index column = (first + j) * tile_;
      b_.for_each(tile_, {},
                  [&](const Index& i) { b_.fill(w_, i * columns + column, tile_, b_.constant(dtype_, 0.0)); });
      b_.for_each(down, {}, [&](const Index& i) {
        const Index row = (k + i) * tile_;
        b_.gemm(tile_, tile_, tile_, {v_, v_at(k, row), 1, tile_}, {to, row * columns + column, columns, 1},
                {w_, column, columns, 1}, true);
      });
      b_.gemm(tile_, tile_, tile_, {t_, t, transposes ? 1 : tile_, transposes ? tile_ : 1}, {w_, column, columns, 1},
              {y_, column, columns, 1}, false);
      b_.for_each(down, {}, [&](const Index& i) {
        const Index row = (k + i) * tile_;
        b_.gemm(tile_, tile_, tile_, {v_, v_at(k, row), tile_, 1}, {y_, column, columns, 1},
                {to, row * columns + column, columns, 1}, true);
      });
    });
  }

  int64_t steps_ = 0, tile_ = 0, rows_ = 0, panels_ = 0;
  BufferId v_ = 0, t_ = 0, seen_ = 0, products_ = 0, panel_ = 0, taus_ = 0, w_ = 0, y_ = 0;
};

}  // namespace

void emit_qr(Builder& builder, const MatrixShape& shape, bool full_matrices, const Elements& matrix, const Elements& q,
             const Elements& r) {
  QrEmitter(builder, shape, builder.buffer_dtype(matrix.buffer)).run(full_matrices, matrix, q, r);
}

}  // namespace ct::loop
