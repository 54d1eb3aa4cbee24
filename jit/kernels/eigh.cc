// Eigenvalues of Hermitian matrices: Householder's reflections make the matrix tridiagonal, rotations of QL steps with
// implicit shifts make that diagonal (Golub, Van Loan, "Matrix Computations", sections 8.3 and 8.4). The transposed
// vectors are what is kept, so that reflections and rotations go along rows.
//
// All of it in float64, with real and imaginary parts in arrays of their own. The matrix is scaled by a power of two to
// a largest element of about 1; what is below kNothing then is taken for 0, where squares would lose their digits.
#include <functional>

#include "jit/kernels/linear_algebra.h"
#include "jit/loop/num.h"
#include "runtime/dtype.h"

namespace ct::loop {
namespace {

constexpr DType kReal = DType::kFloat64;
constexpr DType kInt = DType::kInt64;
constexpr double kNothing = 1e-280;  // of squares
constexpr double kPrecision = 2.220446049250313e-16;
constexpr int64_t kMostSteps = 60;  // for one eigenvalue; two or three are usual
constexpr LoopOptions kAlong{.vectorize = true};

// Of real matrices only `re` exists.
struct Number {
  Num re, im;
};

class HermitianEmitter {
 public:
  HermitianEmitter(Builder& builder, const MatrixShape& shape, bool lower, const Elements& matrix,
                   const Elements& values, const std::optional<Elements>& vectors)
      : b_(builder),
        shape_(shape),
        n_(shape.rows),
        lower_(lower),
        is_complex_(ct::is_complex(builder.buffer_dtype(matrix.buffer))),
        matrix_(matrix),
        values_(values),
        vectors_(vectors) {}

  void run() {
    a_ = planes(n_ * n_);
    reflectors_ = planes(n_ * n_);
    taus_ = planes(n_);
    w_ = planes(n_);
    if (vectors_) z_ = planes(n_ * n_);
    d_ = b_.temporary(kReal, n_ + 1, 0);
    e_ = b_.temporary(kReal, n_ + 1, 0);
    order_ = b_.temporary(kInt, n_ + 1, 0);
    b_.for_each(shape_.count, {.whole = true}, [&](const Index& which) {
      const Index first = which * (n_ * n_);
      m_ = n_;
      if (shape_.size) {
        const Num given = num(b_.convert(b_.load(shape_.size->buffer, shape_.size->offset + which), kInt));
        m_ = b_.to_index(given.apply(ScalarOp::kMax, integer(0)).apply(ScalarOp::kMin, integer(n_)).scalar());
      }
      read(first);
      reduce_to_tridiagonal();
      if (vectors_) form_vectors();
      diagonalise();
      put_in_order();
      write(which * n_, first);
    });
  }

 private:
  struct Planes {
    BufferId re, im;
  };
  Planes planes(int64_t elements) {
    const BufferId re = b_.temporary(kReal, elements, 0);
    return {re, is_complex_ ? b_.temporary(kReal, elements, 0) : re};
  }

  Num num(const Scalar& scalar) { return {b_, scalar}; }
  Num real(double x) { return num(b_.constant(kReal, x)); }
  Num integer(int64_t x) { return num(b_.constant(kInt, x)); }
  Num sqrt(const Num& x) { return x.apply(ScalarOp::kSqrt); }
  Num abs(const Num& x) { return x.apply(ScalarOp::kAbs); }

  Num get(BufferId buffer, const Index& at) { return num(b_.load(buffer, at)); }
  void put(BufferId buffer, const Index& at, const Num& x) { b_.store(buffer, at, x.scalar()); }
  Number get(const Planes& from, const Index& at) {
    Number x{get(from.re, at), {}};
    if (is_complex_) x.im = get(from.im, at);
    return x;
  }
  void put(const Planes& to, const Index& at, const Number& x) {
    put(to.re, at, x.re);
    if (is_complex_) put(to.im, at, x.im);
  }
  Number conj(Number x) {
    if (is_complex_) x.im = -x.im;
    return x;
  }
  Number times(const Number& x, const Number& y) {
    if (!is_complex_) return {x.re * y.re, {}};
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  }
  Number plus(const Number& x, const Number& y) {
    return is_complex_ ? Number{x.re + y.re, x.im + y.im} : Number{x.re + y.re, {}};
  }
  Number minus(const Number& x, const Number& y) {
    return is_complex_ ? Number{x.re - y.re, x.im - y.im} : Number{x.re - y.re, {}};
  }
  // Of terms for [0, extent).
  Number sum(const Index& extent, const std::function<Number(const Index&)>& term) {
    const Builder::CarrySpec carry{b_.constant(kReal, 0.0), ScalarOp::kAdd};
    const Builder::CarrySpec both[] = {carry, carry};
    const size_t parts = is_complex_ ? 2 : 1;
    const Index i = b_.begin_for(extent, kAlong, absl::MakeConstSpan(both, parts)).variable;
    const Number x = term(i);
    Scalars yields{x.re.scalar()};
    if (is_complex_) yields.push_back(x.im.scalar());
    const Scalars sums = b_.end_for(yields);
    return {num(sums[0]), is_complex_ ? num(sums[1]) : Num()};
  }

  // a_: the whole matrix, scaled; poison_: 0, or NaN where an element is no finite number.
  void read(const Index& first) {
    const auto element = [&](const Index& at) {
      const Index where = matrix_.offset + first + at;
      if (!is_complex_) return Number{num(b_.load(matrix_.buffer, where)).convert(kReal), {}};
      return Number{num(b_.load_part(matrix_.buffer, where * 2)).convert(kReal),
                    num(b_.load_part(matrix_.buffer, where * 2 + 1)).convert(kReal)};
    };
    const Builder::CarrySpec specs[] = {{b_.constant(kReal, 0.0), ScalarOp::kMax},
                                        {b_.constant(kReal, 0.0), ScalarOp::kAdd}};
    const Index i = b_.begin_for(m_, {}, specs).variable;
    const Index begin = lower_ ? Index(0) : i, length = lower_ ? i + 1 : m_ - i;
    const Index j = b_.begin_for(length, kAlong, specs).variable;
    Number x = element(i * n_ + begin + j);
    if (is_complex_) {
      const Num on_diagonal = num(b_.to_scalar(begin + j)) == num(b_.to_scalar(i));
      x.im = select(on_diagonal, real(0), x.im);
    }
    put(a_, i * n_ + begin + j, x);
    Num size = abs(x.re), poison = x.re - x.re;
    if (is_complex_) {
      size = size.apply(ScalarOp::kMax, abs(x.im));
      poison = poison + (x.im - x.im);
    }
    const Scalars inner = b_.end_for(Scalars{size.scalar(), poison.scalar()});
    const Scalars found = b_.end_for(inner);
    poison_ = num(found[1]);

    // The power of two below the largest element, and its inverse.
    const Num exponent = num(found[0]).bitcast(DType::kUInt64) & num(b_.constant(DType::kUInt64, int64_t{0x7ff} << 52));
    const Num least = num(b_.constant(DType::kUInt64, int64_t{1} << 52));
    const Num most = num(b_.constant(DType::kUInt64, int64_t{0x7fd} << 52));
    const Num power = exponent.apply(ScalarOp::kMax, least).apply(ScalarOp::kMin, most);
    scale_ = power.bitcast(kReal);
    const Num inverse = (num(b_.constant(DType::kUInt64, int64_t{0x7fe} << 52)) - power).bitcast(kReal);

    // The other triangle.
    b_.for_each(m_, {}, [&](const Index& i) {
      const Index begin = lower_ ? Index(0) : i, length = lower_ ? i + 1 : m_ - i;
      b_.for_each(length, {}, [&](const Index& k) {
        const Index j = begin + k;
        Number x = get(a_, i * n_ + j);
        x.re = x.re * inverse;
        if (is_complex_) x.im = x.im * inverse;
        put(a_, i * n_ + j, x);
        put(a_, j * n_ + i, conj(x));
      });
    });
  }

  // d_ and e_: the diagonal and what is beside it. A = Q T Q^H with Q = H_0 H_1 ..., H_k = I - tau v v^H.
  void reduce_to_tridiagonal() {
    b_.for_each(m_ - 1, {}, [&](const Index& k) {
      const Index head = k + 1, rest = m_ - head, row = k * n_;
      b_.for_each(rest, kAlong,
                  [&](const Index& i) { put(reflectors_, row + head + i, conj(get(a_, row + head + i))); });
      const Number alpha = get(reflectors_, row + head);
      const Num tail = sum(rest - 1, [&](const Index& i) {
                         const Number x = get(reflectors_, row + head + 1 + i);
                         return Number{is_complex_ ? x.re * x.re + x.im * x.im : x.re * x.re, real(0)};
                       }).re;
      const Num off = is_complex_ ? tail + alpha.im * alpha.im : tail;
      const Num reflects = off > real(kNothing);
      const Num length = sqrt(off + alpha.re * alpha.re);
      const Num beta = select(reflects, select(alpha.re < real(0), length, -length), alpha.re);
      const Num divisor = select(reflects, beta, real(1));
      Number tau{select(reflects, (beta - alpha.re) / divisor, real(0)), {}};
      // What the rest is multiplied with: 1 / (alpha - beta).
      const Num difference = alpha.re - beta;
      Number factor;
      if (is_complex_) {
        tau.im = select(reflects, -alpha.im / divisor, real(0));
        const Num size = select(reflects, difference * difference + alpha.im * alpha.im, real(1));
        factor = {difference / size, -alpha.im / size};
      } else {
        factor.re = real(1) / select(reflects, difference, real(1));
      }
      put(e_, k, beta);
      put(taus_, k, tau);
      b_.for_each(rest, kAlong, [&](const Index& i) {
        put(reflectors_, row + head + i, times(get(reflectors_, row + head + i), factor));
      });
      put(reflectors_, row + head, {real(1), real(0)});
      const auto v = [&](const Index& i) { return get(reflectors_, row + head + i); };

      b_.for_each(rest, {}, [&](const Index& i) {
        const Number seen = sum(rest, [&](const Index& j) { return times(get(a_, (head + i) * n_ + head + j), v(j)); });
        put(w_, i, times(tau, seen));
      });
      const Number along = sum(rest, [&](const Index& i) { return times(conj(get(w_, i)), v(i)); });
      Number correction = times(tau, along);
      correction.re = correction.re * real(-0.5);
      if (is_complex_) correction.im = correction.im * real(-0.5);
      b_.for_each(rest, kAlong, [&](const Index& i) { put(w_, i, plus(get(w_, i), times(correction, v(i)))); });
      b_.for_each(rest, {}, [&](const Index& i) {
        const Number own_v = v(i), own_w = get(w_, i);
        b_.for_each(rest, kAlong, [&](const Index& j) {
          const Index at = (head + i) * n_ + head + j;
          const Number change = plus(times(own_v, conj(get(w_, j))), times(own_w, conj(v(j))));
          put(a_, at, minus(get(a_, at), change));
        });
      });
    });
    b_.for_each(m_, {}, [&](const Index& i) { put(d_, i, get(a_.re, i * (n_ + 1))); });
    b_.for_each(m_, {}, [&](const Index& i) {
      const Num last = num(b_.to_scalar(i + 1)) == num(b_.to_scalar(m_));
      put(e_, i, select(last, real(0), get(e_, i)));
    });
  }

  // z_: the transpose of Q.
  void form_vectors() {
    b_.for_each(m_, {}, [&](const Index& i) {
      b_.for_each(m_, kAlong, [&](const Index& j) {
        const Num same = num(b_.to_scalar(i)) == num(b_.to_scalar(j));
        put(z_, i * n_ + j, {select(same, real(1), real(0)), real(0)});
      });
    });
    b_.for_each(m_ - 1, {}, [&](const Index& step) {
      const Index k = m_ - 2 - step, head = k + 1, rest = m_ - head;
      const Number tau = get(taus_, k);
      const auto v = [&](const Index& i) { return get(reflectors_, k * n_ + head + i); };
      b_.for_each(rest, {}, [&](const Index& i) {
        const Index row = (head + i) * n_ + head;
        const Number seen = times(tau, sum(rest, [&](const Index& j) { return times(conj(v(j)), get(z_, row + j)); }));
        b_.for_each(rest, kAlong,
                    [&](const Index& j) { put(z_, row + j, minus(get(z_, row + j), times(seen, v(j)))); });
      });
    });
  }

  // sqrt(f^2 + g^2) with all digits, however small both are.
  Num length_of(const Num& f, const Num& g) {
    const Num largest = abs(f).apply(ScalarOp::kMax, abs(g));
    const Num is_zero = largest == real(0), divisor = select(is_zero, real(1), largest);
    const Num x = f / divisor, y = g / divisor;
    return largest * sqrt(x * x + y * y);
  }

  void diagonalise() {
    b_.for_each(m_, {}, [&](const Index& l) {
      const Scalar zero = b_.constant(kInt, 0);
      b_.while_loop(
          Scalars{zero, zero},  // steps, whether e[l] is nothing
          [&](absl::Span<const Scalar> carried) {
            return ((num(carried[0]) < integer(kMostSteps)) & (num(carried[1]) == integer(0))).scalar();
          },
          [&](absl::Span<const Scalar> carried) {
            const Index end = end_of_block(l);
            const Scalar steps = (num(carried[0]) + integer(1)).scalar();
            const Num done = num(b_.to_scalar(end)) == num(b_.to_scalar(l));
            const Scalars now = b_.if_else(
                done.scalar(), [&] { return Scalars{b_.constant(kInt, 1)}; },
                [&] {
                  step(l, end);
                  return Scalars{b_.constant(kInt, 0)};
                });
            return Scalars{steps, now[0]};
          });
    });
  }

  // The first from l on with nothing beside it.
  Index end_of_block(const Index& l) {
    const Scalars end = b_.while_loop(
        Scalars{b_.to_scalar(l)},
        [&](absl::Span<const Scalar> carried) {
          const Index i = b_.to_index(carried[0]);
          const Num size = real(kPrecision) * (abs(get(d_, i)) + abs(get(d_, i + 1))) + real(kNothing);
          const Num inside = num(carried[0]) < num(b_.to_scalar(m_ - 1));
          return (inside & (abs(get(e_, i)) > size)).scalar();
        },
        [&](absl::Span<const Scalar> carried) { return Scalars{(num(carried[0]) + integer(1)).scalar()}; });
    return b_.to_index(end[0]);
  }

  // One QL step of the block [l, end].
  void step(const Index& l, const Index& end) {
    const Num at_l = get(d_, l), beside = get(e_, l);
    const Num slope = (get(d_, l + 1) - at_l) / (real(2) * beside);
    const Num length = length_of(slope, real(1));
    const Num shift = get(d_, end) - at_l + beside / (slope + select(slope < real(0), -length, length));
    const Num first = num(b_.to_scalar(l));
    const Scalars last = b_.while_loop(
        // Row; sine, cosine; what is taken off the diagonal; the shifted diagonal; whether to go on.
        Scalars{b_.to_scalar(end - Index(1)), real(1).scalar(), real(1).scalar(), real(0).scalar(), shift.scalar(),
                integer(1).scalar()},
        [&](absl::Span<const Scalar> carried) {
          return ((num(carried[0]) >= first) & (num(carried[5]) == integer(1))).scalar();
        },
        [&](absl::Span<const Scalar> carried) {
          const Index i = b_.to_index(carried[0]);
          const Num s = num(carried[1]), c = num(carried[2]), p = num(carried[3]), g = num(carried[4]);
          const Num f = s * get(e_, i), along = c * get(e_, i);
          const Num r = length_of(f, g);
          put(e_, i + 1, r);
          const Scalars results = b_.if_else(
              (r == real(0)).scalar(),
              [&] {
                put(d_, i + 1, get(d_, i + 1) - p);
                put(e_, end, real(0));
                return Scalars{carried[0], s.scalar(), c.scalar(), p.scalar(), g.scalar(), integer(0).scalar()};
              },
              [&] {
                const Num sine = f / r, cosine = g / r;
                const Num rest = get(d_, i + 1) - p;
                const Num turned = (get(d_, i) - rest) * sine + real(2) * cosine * along;
                const Num taken = sine * turned;
                put(d_, i + 1, rest + taken);
                if (vectors_) rotate(i, cosine, sine);
                return Scalars{
                    (num(carried[0]) - integer(1)).scalar(), sine.scalar(),      cosine.scalar(), taken.scalar(),
                    (cosine * turned - along).scalar(),      integer(1).scalar()};
              });
          return results;
        });
    b_.if_else((num(last[5]) == integer(1)).scalar(),
               [&] {
                 put(d_, l, get(d_, l) - num(last[3]));
                 put(e_, l, num(last[4]));
                 put(e_, end, real(0));
                 return Scalars{};
               },
               [] { return Scalars{}; });
  }

  void rotate(const Index& i, const Num& c, const Num& s) {
    for (int part = 0; part < (is_complex_ ? 2 : 1); ++part) {
      const BufferId z = part == 0 ? z_.re : z_.im;
      b_.for_each(m_, kAlong, [&](const Index& j) {
        const Num x = get(z, i * n_ + j), y = get(z, (i + 1) * n_ + j);
        put(z, (i + 1) * n_ + j, s * x + c * y);
        put(z, i * n_ + j, c * x - s * y);
      });
    }
  }

  // order_: positions in d_, by insertion.
  void put_in_order() {
    b_.for_each(m_, {}, [&](const Index& i) {
      const Num own = get(d_, i);
      const Scalars place = b_.while_loop(
          Scalars{b_.to_scalar(i)},
          [&](absl::Span<const Scalar> carried) {
            const Num j = num(carried[0]);
            const Index before = b_.to_index(j.apply(ScalarOp::kMax, integer(1)).scalar()) - Index(1);
            const Index other = b_.to_index(b_.load(order_, before));
            const Num inside = j > integer(0);
            // Below the first place there is nothing to load.
            const Index safe = b_.to_index(select(inside, num(b_.to_scalar(other)), integer(0)).scalar());
            return (inside & (get(d_, safe) > own)).scalar();
          },
          [&](absl::Span<const Scalar> carried) {
            const Index j = b_.to_index(carried[0]);
            b_.store(order_, j, b_.load(order_, j - Index(1)));
            return Scalars{b_.to_scalar(j - Index(1))};
          });
      b_.store(order_, b_.to_index(place[0]), b_.to_scalar(i));
    });
  }

  void write(const Index& first_value, const Index& first) {
    const DType dtype = b_.buffer_dtype(values_.buffer);
    const auto nothing_in = [&](const Elements& to, const Index& begin, int64_t count) {
      if (shape_.size) b_.fill(to.buffer, to.offset + begin, count, b_.constant(b_.buffer_dtype(to.buffer), 0));
    };
    nothing_in(values_, first_value, n_);
    b_.for_each(m_, {}, [&](const Index& i) {
      const Num value = get(d_, b_.to_index(b_.load(order_, i))) * scale_ + poison_;
      put(values_.buffer, values_.offset + first_value + i, value.convert(dtype));
    });
    if (!vectors_) return;
    nothing_in(*vectors_, first, n_ * n_);
    b_.for_each(m_, {}, [&](const Index& c) {
      const Index row = b_.to_index(b_.load(order_, c)) * n_;
      b_.for_each(m_, {}, [&](const Index& r) {
        const Number x = get(z_, row + r);
        const Index at = vectors_->offset + first + r * n_ + c;
        if (!is_complex_) return put(vectors_->buffer, at, (x.re + poison_).convert(dtype));
        b_.store_part(vectors_->buffer, at * 2, (x.re + poison_).convert(dtype).scalar());
        b_.store_part(vectors_->buffer, at * 2 + 1, (x.im + poison_).convert(dtype).scalar());
      });
    });
  }

  Builder& b_;
  const MatrixShape shape_;
  const int64_t n_;
  const bool lower_, is_complex_;
  const Elements matrix_, values_;
  const std::optional<Elements> vectors_;
  Planes a_, z_, reflectors_, taus_, w_;
  BufferId d_ = 0, e_ = 0, order_ = 0;
  Index m_;  // the real size
  Num scale_, poison_;
};

}  // namespace

void emit_eigh(Builder& builder, const MatrixShape& shape, bool lower, const Elements& matrix, const Elements& values,
               const std::optional<Elements>& vectors) {
  HermitianEmitter(builder, shape, lower, matrix, values, vectors).run();
}

}  // namespace ct::loop
