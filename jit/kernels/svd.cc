// Singular values: Householder's reflections from both sides make the matrix bidiagonal, rotations of QR steps with
// implicit shifts make that diagonal (Golub, Van Loan, "Matrix Computations", sections 5.4 and 8.6). What is factorised
// has at least as many rows as columns: of other matrices it is the adjoint. Vectors are rows of transposed U and V, so
// that reflections and rotations go along rows.
#include <algorithm>
#include <limits>

#include "jit/kernels/planes.h"

namespace ct::loop {
namespace {

constexpr int64_t kMostSteps = 60;  // for one singular value; two or three are usual

class SingularValuesEmitter : public PlanesEmitter {
 public:
  SingularValuesEmitter(Builder& builder, const MatrixShape& shape, bool full_matrices, const Elements& matrix,
                        const Elements& values, const std::optional<SingularVectors>& vectors)
      : PlanesEmitter(builder, ct::is_complex(builder.buffer_dtype(matrix.buffer))),
        count_(shape.count),
        tall_(shape.rows >= shape.columns),
        m_(std::max(shape.rows, shape.columns)),
        n_(std::min(shape.rows, shape.columns)),
        lefts_(full_matrices ? m_ : n_),
        matrix_(matrix),
        values_(values),
        vectors_(vectors) {}

  void run() {
    a_ = planes(m_ * n_);
    left_reflectors_ = planes(n_ * m_);
    right_reflectors_ = planes(n_ * n_);
    left_taus_ = planes(n_);
    right_taus_ = planes(n_);
    seen_ = planes(n_);
    if (vectors_) {
      u_ = planes(lefts_ * m_);
      v_ = planes(n_ * n_);
    }
    d_ = b_.temporary(kReal, n_ + 1, 0);
    e_ = b_.temporary(kReal, n_ + 1, 0);
    order_ = b_.temporary(kInt, n_ + 1, 0);
    b_.for_each(count_, {.whole = true}, [&](const Index& which) {
      // The upright matrix.
      const ScaledMatrix given = read_scaled(a_, m_, n_, [&](const Index& i, const Index& j) {
        const Number x = element(matrix_, which * (m_ * n_) + (tall_ ? i * n_ + j : j * m_ + i));
        return tall_ ? x : conj(x);
      });
      scale_ = given.scale;
      poison_ = given.poison;
      reduce_to_bidiagonal();
      if (vectors_) {
        form_product(u_, lefts_, m_, {left_reflectors_, left_taus_, n_, 0});
        form_product(v_, n_, n_, {right_reflectors_, right_taus_, n_ - 1, 1});
      }
      diagonalise();
      put_in_order(order_, n_, [&](const Index& i) { return -abs(get(d_, i)); });
      write_results(which);
    });
  }

 private:
  // d_ and, from place 1 on, e_: the diagonal and what is above it. A = Q B P^H with Q = H_0 H_1 ... of reflections
  // from the left and P of those from the right.
  void reduce_to_bidiagonal() {
    put(e_, 0, real(0));
    put(e_, n_, real(0));
    b_.for_each(n_, {}, [&](const Index& k) {
      const Index down = Index(m_) - k, along = Index(n_ - 1) - k, next = k + 1, left = k * m_ + k;
      b_.for_each(down, {}, [&](const Index& i) { put(left_reflectors_, left + i, get(a_, (k + i) * n_ + k)); });
      const auto [beta, tau] = make_reflector(left_reflectors_, left, down);
      put(d_, k, beta);
      put(left_taus_, k, tau);
      // A -= conj(tau) v (v^H A) in the columns that are left.
      b_.for_each(along, kAlong, [&](const Index& j) { put(seen_, j, {real(0), real(0)}); });
      b_.for_each(down, {}, [&](const Index& i) {
        const Number own = conj(get(left_reflectors_, left + i));
        b_.for_each(along, kAlong, [&](const Index& j) {
          put(seen_, j, plus(get(seen_, j), times(own, get(a_, (k + i) * n_ + next + j))));
        });
      });
      b_.for_each(down, {}, [&](const Index& i) {
        const Number own = times(conj(tau), get(left_reflectors_, left + i));
        b_.for_each(along, kAlong, [&](const Index& j) {
          const Index at = (k + i) * n_ + next + j;
          put(a_, at, minus(get(a_, at), times(own, get(seen_, j))));
        });
      });
      b_.if_else((number_of(along) > integer(0)).scalar(),
                 [&] {
                   reflect_from_the_right(k, along);
                   return Scalars{};
                 },
                 [] { return Scalars{}; });
    });
  }

  // Row k becomes (beta, 0, ...) from the column after k on.
  void reflect_from_the_right(const Index& k, const Index& along) {
    const Index next = k + 1, right = k * n_ + next;
    b_.for_each(along, kAlong,
                [&](const Index& j) { put(right_reflectors_, right + j, conj(get(a_, k * n_ + next + j))); });
    const auto [beta, tau] = make_reflector(right_reflectors_, right, along);
    put(e_, next, beta);
    put(right_taus_, k, tau);
    b_.for_each(Index(m_ - 1) - k, {}, [&](const Index& i) {
      const Index row = (next + i) * n_ + next;
      const Number seen = times(
          tau, sum(along, [&](const Index& j) { return times(get(a_, row + j), get(right_reflectors_, right + j)); }));
      b_.for_each(along, kAlong, [&](const Index& j) {
        put(a_, row + j, minus(get(a_, row + j), times(seen, conj(get(right_reflectors_, right + j)))));
      });
    });
  }

  void diagonalise() {
    const Num norm = num(b_.reduce(n_, {}, ScalarOp::kMax, real(0).scalar(),
                                   [&](const Index& i) { return (abs(get(d_, i)) + abs(get(e_, i))).scalar(); }));
    nothing_ = norm * real(kPrecision);
    const Builder::CarrySpec unfinished{real(0).scalar(), ScalarOp::kMax};
    const Index step = b_.begin_for(n_, {}, absl::MakeConstSpan(&unfinished, 1)).variable;
    const Index last = Index(n_ - 1) - step;
    const Scalars done = b_.while_loop(
        Scalars{integer(0).scalar(), integer(0).scalar()},  // steps, whether the value is found
        [&](absl::Span<const Scalar> carried) {
          return ((num(carried[0]) < integer(kMostSteps)) & (num(carried[1]) == integer(0))).scalar();
        },
        [&](absl::Span<const Scalar> carried) {
          const Index begin = begin_of_block(last);
          cancel_above(begin, last);
          const Scalars found =
              b_.if_else((number_of(begin) == number_of(last)).scalar(), [&] { return Scalars{integer(1).scalar()}; },
                         [&] {
                           qr_step(begin, last);
                           return Scalars{integer(0).scalar()};
                         });
          return Scalars{(num(carried[0]) + integer(1)).scalar(), found[0]};
        });
    const Num failed = select(num(done[1]) == integer(0), real(1), real(0));
    const Scalars any = b_.end_for(Scalars{failed.scalar()});
    poison_ = select(num(any[0]) > real(0), real(std::numeric_limits<double>::quiet_NaN()), poison_);
  }

  // The last place, up to `last`, above which there is nothing, or before which the diagonal is nothing.
  Index begin_of_block(const Index& last) {
    const Scalars begin = b_.while_loop(
        Scalars{b_.to_scalar(last)},
        [&](absl::Span<const Scalar> carried) {
          const Index i = b_.to_index(carried[0]);
          const Index before = b_.to_index(num(carried[0]).apply(ScalarOp::kMax, integer(1)).scalar()) - Index(1);
          const Num goes_on = (abs(get(e_, i)) > nothing_) & (abs(get(d_, before)) > nothing_);
          return ((num(carried[0]) > integer(0)) & goes_on).scalar();
        },
        [&](absl::Span<const Scalar> carried) { return Scalars{(num(carried[0]) - integer(1)).scalar()}; });
    return b_.to_index(begin[0]);
  }

  // Where the diagonal before the block is nothing, rotations of rows of B make what is above the block nothing.
  void cancel_above(const Index& begin, const Index& last) {
    const Index before = b_.to_index((number_of(begin).apply(ScalarOp::kMax, integer(1)) - integer(1)).scalar());
    b_.while_loop(
        Scalars{b_.to_scalar(begin), get(e_, begin).scalar()},  // the place, and what is to become nothing there
        [&](absl::Span<const Scalar> carried) {
          return ((num(carried[0]) <= number_of(last)) & (abs(num(carried[1])) > nothing_)).scalar();
        },
        [&](absl::Span<const Scalar> carried) {
          const Index i = b_.to_index(carried[0]);
          const Num f = num(carried[1]), g = get(d_, i), length = length_of(f, g);
          const Num c = g / length, s = -(f / length);
          put(d_, i, length);
          if (vectors_) rotate(u_, before * m_, i * m_, m_, c, s);
          const Num beside = get(e_, i + 1);
          put(e_, i + 1, c * beside);
          return Scalars{b_.to_scalar(i + 1), (s * beside).scalar()};
        });
    put(e_, begin, real(0));
  }

  // One QR step of the block, in which nothing but the last of the diagonal may be nothing.
  void qr_step(const Index& begin, const Index& last) {
    const Index before = last - Index(1);
    const Num x = get(d_, begin), y = get(d_, before), z = get(d_, last);
    const Num above = get(e_, before), beside = get(e_, last);
    const Num gap = ((y - z) * (y + z) + (above - beside) * (above + beside)) / (real(2) * beside * y);
    const Num root = length_of(gap, real(1));
    const Num shift = beside * (y / (gap + select(gap < real(0), -root, root)) - beside);
    const Num first = ((x - z) * (x + z) + shift) / x;
    const Num one = real(1);
    // A rotation, with (1, 0) for the length 0.
    const auto turned = [&](const Num& f, const Num& length) {
      const Num is_zero = length == real(0);
      return select(is_zero, one, f) / select(is_zero, one, length);
    };
    const auto sine_of = [&](const Num& h, const Num& length) { return h / select(length == real(0), one, length); };
    const Scalars end = b_.while_loop(
        // Place; cosine, sine; what the rotation takes the bulge from; the diagonal.
        Scalars{b_.to_scalar(begin), one.scalar(), one.scalar(), first.scalar(), x.scalar()},
        [&](absl::Span<const Scalar> carried) { return (num(carried[0]) < number_of(last)).scalar(); },
        [&](absl::Span<const Scalar> carried) {
          const Index j = b_.to_index(carried[0]), i = j + 1;
          const Num beside_j = num(carried[1]) * get(e_, i), bulge = num(carried[2]) * get(e_, i);
          const Num f = num(carried[3]), at_j = num(carried[4]), at_i = get(d_, i);
          const Num length = length_of(f, bulge);
          put(e_, j, length);
          const Num c = turned(f, length), s = sine_of(bulge, length);
          if (vectors_) rotate(v_, j * n_, i * n_, n_, c, s);
          const Num head = at_j * c + beside_j * s, rest = beside_j * c - at_j * s;
          const Num under = at_i * s, corner = at_i * c;
          const Num size = length_of(head, under);
          put(d_, j, size);
          const Num c2 = turned(head, size), s2 = sine_of(under, size);
          if (vectors_) rotate(u_, j * m_, i * m_, m_, c2, s2);
          return Scalars{b_.to_scalar(i), c2.scalar(), s2.scalar(), (c2 * rest + s2 * corner).scalar(),
                         (c2 * corner - s2 * rest).scalar()};
        });
    put(e_, begin, real(0));
    put(e_, last, num(end[3]));
    put(d_, last, num(end[4]));
  }

  void write_results(const Index& which) {
    const DType dtype = b_.buffer_dtype(values_.buffer);
    b_.for_each(n_, {}, [&](const Index& i) {
      const Num value = abs(get(d_, b_.to_index(b_.load(order_, i)))) * scale_ + poison_;
      put(values_.buffer, values_.offset + which * n_ + i, value.convert(dtype));
    });
    if (!vectors_) return;
    const int64_t u_columns = tall_ ? lefts_ : n_, v_columns = tall_ ? n_ : lefts_;
    const int64_t rows = tall_ ? m_ : n_, columns = tall_ ? n_ : m_;
    const auto damaged = [&](const Number& x) { return Number{x.re + poison_, is_complex_ ? x.im + poison_ : Num()}; };
    const auto write_column = [&](const Index& place, const Number& x, const Index& column) {
      write(vectors_->u, which * (rows * u_columns) + place * u_columns + column, damaged(x));
    };
    const auto write_row = [&](const Index& place, const Number& x, const Index& row) {
      write(vectors_->vh, which * (v_columns * columns) + row * columns + place, damaged(conj(x)));
    };
    b_.for_each(n_, {}, [&](const Index& k) {
      const Index from = b_.to_index(b_.load(order_, k));
      // Rotations leave signs, which the right vector takes.
      const Num sign = select(get(d_, from) < real(0), real(-1), real(1));
      b_.for_each(n_, {}, [&](const Index& i) {
        const Number x = scaled(get(v_, from * n_ + i), sign);
        tall_ ? write_row(i, x, k) : write_column(i, x, k);
      });
      b_.for_each(m_, {}, [&](const Index& i) {
        const Number x = get(u_, from * m_ + i);
        tall_ ? write_column(i, x, k) : write_row(i, x, k);
      });
    });
    b_.for_each(lefts_ - n_, {}, [&](const Index& k) {
      b_.for_each(m_, {}, [&](const Index& i) {
        const Number x = get(u_, (k + n_) * m_ + i);
        tall_ ? write_column(i, x, k + n_) : write_row(i, x, k + n_);
      });
    });
  }

  const int64_t count_;
  const bool tall_;
  const int64_t m_, n_, lefts_;  // of what is factorised, and how many left vectors
  const Elements matrix_, values_;
  const std::optional<SingularVectors> vectors_;
  Planes a_, left_reflectors_, right_reflectors_, left_taus_, right_taus_, seen_, u_, v_;
  BufferId d_ = 0, e_ = 0, order_ = 0;
  Num scale_, poison_, nothing_;
};

}  // namespace

void emit_svd(Builder& builder, const MatrixShape& shape, bool full_matrices, const Elements& matrix,
              const Elements& values, const std::optional<SingularVectors>& vectors) {
  SingularValuesEmitter(builder, shape, full_matrices, matrix, values, vectors).run();
}

}  // namespace ct::loop
