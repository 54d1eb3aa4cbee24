// QR with pivoting by Householder's reflections: before each, the longest of the columns that are left comes to the
// front (Golub, Van Loan, "Matrix Computations", section 5.4), of equally long ones the first, as LAPACK chooses.
// Columns are kept as rows. Lengths are sums anew at each step: what is left of those of the step before may be
// rounding.
#include <algorithm>

#include "jit/kernels/planes.h"

namespace ct::loop {
namespace {

class PivotedQrEmitter : public PlanesEmitter {
 public:
  PivotedQrEmitter(Builder& builder, const MatrixShape& shape, bool full_matrices, const Elements& matrix,
                   const PivotedFactors& factors)
      : PlanesEmitter(builder, ct::is_complex(builder.buffer_dtype(matrix.buffer))),
        count_(shape.count),
        m_(shape.rows),
        n_(shape.columns),
        steps_(std::min(shape.rows, shape.columns)),
        kept_(full_matrices ? m_ : steps_),
        matrix_(matrix),
        factors_(factors) {}

  void run() {
    columns_ = planes(n_ * m_);
    reflectors_ = planes(steps_ * m_);
    taus_ = planes(steps_);
    q_ = planes(kept_ * m_);
    order_ = b_.temporary(kInt, n_, 0);
    b_.for_each(count_, {.whole = true}, [&](const Index& which) {
      const ScaledMatrix given = read_scaled(columns_, n_, m_, [&](const Index& j, const Index& i) {
        return element(matrix_, which * (m_ * n_) + i * n_ + j);
      });
      b_.for_each(n_, {}, [&](const Index& j) { b_.store(order_, j, b_.to_scalar(j)); });
      b_.for_each(steps_, {}, [&](const Index& k) {
        exchange(k, longest(k));
        reflect_column(k);
      });
      form_product(q_, kept_, m_, {reflectors_, taus_, steps_, 0});
      write_results(which, given);
    });
  }

 private:
  // Of the columns from k on, by the elements from k on.
  Index longest(const Index& k) {
    const Builder::CarrySpec specs[] = {{b_.to_scalar(k)}, {real(-1).scalar()}};
    const Builder::ForScope scope = b_.begin_for(Index(n_) - k, {}, specs);
    const Index j = k + scope.variable;
    const Num length = sum(Index(m_) - k, [&](const Index& i) {
                         const Number x = get(columns_, j * m_ + k + i);
                         return Number{is_complex_ ? x.re * x.re + x.im * x.im : x.re * x.re, real(0)};
                       }).re;
    const Num is_longer = length > num(scope.arguments[1]);
    const Scalars found = b_.end_for(Scalars{select(is_longer, number_of(j), num(scope.arguments[0])).scalar(),
                                             select(is_longer, length, num(scope.arguments[1])).scalar()});
    return b_.to_index(found[0]);
  }

  void exchange(const Index& k, const Index& other) {
    const Scalar here = b_.load(order_, k), there = b_.load(order_, other);
    b_.store(order_, k, there);
    b_.store(order_, other, here);
    b_.for_each(m_, {}, [&](const Index& i) {
      const Number x = get(columns_, k * m_ + i), y = get(columns_, other * m_ + i);
      put(columns_, k * m_ + i, y);
      put(columns_, other * m_ + i, x);
    });
  }

  void reflect_column(const Index& k) {
    const Index at = k * m_ + k, down = Index(m_) - k;
    b_.for_each(down, {}, [&](const Index& i) { put(reflectors_, at + i, get(columns_, at + i)); });
    const auto [beta, tau] = make_reflector(reflectors_, at, down);
    put(columns_, at, {beta, real(0)});
    put(taus_, k, tau);
    b_.for_each(Index(n_ - 1) - k, {},
                [&](const Index& j) { reflect(columns_, (k + 1 + j) * m_ + k, reflectors_, at, down, conj(tau)); });
  }

  void write_results(const Index& which, const ScaledMatrix& given) {
    const auto damaged = [&](const Number& x) {
      return Number{x.re + given.poison, is_complex_ ? x.im + given.poison : Num()};
    };
    b_.for_each(m_, {}, [&](const Index& i) {
      b_.for_each(kept_, {}, [&](const Index& j) {
        write(factors_.q, which * (m_ * kept_) + i * kept_ + j, damaged(get(q_, j * m_ + i)));
      });
    });
    b_.for_each(kept_, {}, [&](const Index& i) {
      b_.for_each(n_, {}, [&](const Index& j) {
        const Num is_upper = number_of(i) <= number_of(j);
        Number x = damaged(scaled(get(columns_, j * m_ + i), given.scale));
        x.re = select(is_upper, x.re, real(0));
        if (is_complex_) x.im = select(is_upper, x.im, real(0));
        write(factors_.r, which * (kept_ * n_) + i * n_ + j, x);
      });
    });
    b_.for_each(n_, {}, [&](const Index& j) {
      const Scalar place = b_.convert(b_.load(order_, j), b_.buffer_dtype(factors_.order.buffer));
      b_.store(factors_.order.buffer, factors_.order.offset + which * n_ + j, place);
    });
  }

  const int64_t count_, m_, n_, steps_, kept_;
  const Elements matrix_;
  const PivotedFactors factors_;
  Planes columns_, reflectors_, taus_, q_;
  BufferId order_ = 0;
};

}  // namespace

void emit_pivoted_qr(Builder& builder, const MatrixShape& shape, bool full_matrices, const Elements& matrix,
                     const PivotedFactors& factors) {
  PivotedQrEmitter(builder, shape, full_matrices, matrix, factors).run();
}

}  // namespace ct::loop
