// Eigenvalues of Hermitian matrices: Householder's reflections make the matrix tridiagonal, rotations of QL steps with
// implicit shifts make that diagonal (Golub, Van Loan, "Matrix Computations", sections 8.3 and 8.4). The transposed
// vectors are what is kept, so that reflections and rotations go along rows.
#include "jit/kernels/planes.h"

namespace ct::loop {
namespace {

constexpr int64_t kMostSteps = 60;  // for one eigenvalue; two or three are usual

class HermitianEmitter : public PlanesEmitter {
 public:
  HermitianEmitter(Builder& builder, const MatrixShape& shape, bool lower, const Elements& matrix,
                   const Elements& values, const std::optional<Elements>& vectors)
      : PlanesEmitter(builder, ct::is_complex(builder.buffer_dtype(matrix.buffer))),
        shape_(shape),
        n_(shape.rows),
        lower_(lower),
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
      put_in_order(order_, m_, [&](const Index& i) { return get(d_, i); });
      write_results(which * n_, first);
    });
  }

 private:
  // a_: the whole matrix, scaled; poison_: 0, or NaN where an element is no finite number.
  void read(const Index& first) {
    const Builder::CarrySpec specs[] = {{b_.constant(kReal, 0.0), ScalarOp::kMax},
                                        {b_.constant(kReal, 0.0), ScalarOp::kAdd}};
    const Index i = b_.begin_for(m_, {}, specs).variable;
    const Index begin = lower_ ? Index(0) : i, length = lower_ ? i + 1 : m_ - i;
    const Index j = b_.begin_for(length, kAlong, specs).variable;
    Number x = element(matrix_, first + i * n_ + begin + j);
    if (is_complex_) {
      const Num on_diagonal = num(b_.to_scalar(begin + j)) == num(b_.to_scalar(i));
      x.im = select(on_diagonal, real(0), x.im);
    }
    put(a_, i * n_ + begin + j, x);
    const Scalars inner = b_.end_for(size_and_poison(x));
    const Scalars found = b_.end_for(inner);
    poison_ = num(found[1]);

    const PowerOfTwo power = power_below(num(found[0]));
    scale_ = power.power;

    // The other triangle.
    b_.for_each(m_, {}, [&](const Index& i) {
      const Index begin = lower_ ? Index(0) : i, length = lower_ ? i + 1 : m_ - i;
      b_.for_each(length, {}, [&](const Index& k) {
        const Index j = begin + k;
        Number x = get(a_, i * n_ + j);
        x = scaled(x, power.inverse);
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
      const auto [beta, tau] = make_reflector(reflectors_, row + head, rest);
      put(e_, k, beta);
      put(taus_, k, tau);
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
      b_.for_each(rest, {},
                  [&](const Index& i) { reflect(z_, (head + i) * n_ + head, reflectors_, k * n_ + head, rest, tau); });
    });
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
                if (vectors_) rotate(z_, (i + 1) * n_, i * n_, m_, cosine, sine);
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

  void write_results(const Index& first_value, const Index& first) {
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
        const Number damaged{x.re + poison_, is_complex_ ? x.im + poison_ : Num()};
        write(*vectors_, first + r * n_ + c, damaged);
      });
    });
  }

  const MatrixShape shape_;
  const int64_t n_;
  const bool lower_;
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
