// What factorisations by reflections and rotations share: numbers of float64, of which real and imaginary parts lie in
// arrays of their own. A matrix is scaled by a power of two to a largest element of about 1; what is below kNothing
// then is taken for 0, where squares would lose their digits.
#pragma once

#include <functional>

#include "jit/kernels/linear_algebra.h"
#include "jit/loop/num.h"
#include "runtime/dtype.h"

namespace ct::loop {

// Of real matrices only `re` exists.
struct Number {
  Num re, im;
};

class PlanesEmitter {
 public:
  PlanesEmitter(Builder& builder, bool is_complex) : b_(builder), is_complex_(is_complex) {}

 protected:
  static constexpr DType kReal = DType::kFloat64;
  static constexpr DType kInt = DType::kInt64;
  static constexpr double kNothing = 1e-280;  // of squares
  static constexpr double kPrecision = 2.220446049250313e-16;
  static constexpr LoopOptions kAlong{.vectorize = true};

  struct Planes {
    BufferId re, im;
  };
  Planes planes(int64_t elements);

  Num num(const Scalar& scalar) { return {b_, scalar}; }
  Num real(double x) { return num(b_.constant(kReal, x)); }
  Num integer(int64_t x) { return num(b_.constant(kInt, x)); }
  Num number_of(const Index& i) { return num(b_.to_scalar(i)); }
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
  Number scaled(const Number& x, const Num& factor) { return {x.re * factor, is_complex_ ? x.im * factor : Num()}; }

  // Elements of the program's arrays, of any floating dtype.
  Number element(const Elements& of, const Index& at);
  void write(const Elements& to, const Index& at, const Number& x);

  // Of terms for [0, extent).
  Number sum(const Index& extent, const std::function<Number(const Index&)>& term);
  // sqrt(f^2 + g^2) with all digits, however small both are.
  Num length_of(const Num& f, const Num& g);

  // For the largest of a matrix' elements: the power of two below it, and its inverse.
  struct PowerOfTwo {
    Num power, inverse;
  };
  PowerOfTwo power_below(const Num& largest);

  // What is largest, and what is added up, of all elements of a matrix: the latter is NaN where one is no finite
  // number, else 0.
  Scalars size_and_poison(const Number& x);

  // `to`, of rows x columns, becomes the matrix of these elements, divided by a power of two, `scale`. Where one is no
  // finite number `poison` is NaN, else 0, and the matrix is 0.
  struct ScaledMatrix {
    Num scale, poison;
  };
  ScaledMatrix read_scaled(const Planes& to, int64_t rows, int64_t columns,
                           const std::function<Number(const Index& i, const Index& j)>& element);

  // The vector x of `length` numbers, the first at `at`, becomes the v, with 1 at its head, of an H = I - tau v v^H
  // with H^H x = beta (1, 0, ...), as LAPACK chooses it.
  struct Reflector {
    Num beta;
    Number tau;
  };
  Reflector make_reflector(const Planes& vectors, const Index& at, const Index& length);
  // (I - tau v v^H) applied to the row `to` seen as a column: to -= tau (v^H to) v.
  void reflect(const Planes& to, const Index& at, const Planes& vectors, const Index& v, const Index& length,
               const Number& tau);
  // The transpose of what reflections 0, 1, ... make of the identity: `count` rows of `size` numbers. Reflection k
  // begins at place k + offset of row k, and leaves what is before.
  struct Reflections {
    Planes vectors, taus;
    int64_t count, offset;
  };
  void form_product(const Planes& to, int64_t count, int64_t size, const Reflections& reflections);
  // Rows `first` and `second` of n numbers: (c first + s second, c second - s first).
  void rotate(const Planes& rows, const Index& first, const Index& second, const Index& n, const Num& c, const Num& s);
  // The first places of `order`, an array of one more: positions of the m numbers in ascending order, by insertion.
  void put_in_order(BufferId order, const Index& m, const std::function<Num(const Index&)>& key);

  Builder& b_;
  const bool is_complex_;
};

}  // namespace ct::loop
