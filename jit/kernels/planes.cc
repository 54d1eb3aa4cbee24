#include "jit/kernels/planes.h"

namespace ct::loop {

PlanesEmitter::Planes PlanesEmitter::planes(int64_t elements) {
  const BufferId re = b_.temporary(kReal, elements, 0);
  return {re, is_complex_ ? b_.temporary(kReal, elements, 0) : re};
}

Number PlanesEmitter::element(const Elements& of, const Index& at) {
  const Index where = of.offset + at;
  if (!is_complex_) return Number{num(b_.load(of.buffer, where)).convert(kReal), {}};
  return Number{num(b_.load_part(of.buffer, where * 2)).convert(kReal),
                num(b_.load_part(of.buffer, where * 2 + 1)).convert(kReal)};
}

void PlanesEmitter::write(const Elements& to, const Index& at, const Number& x) {
  const DType dtype = real_dtype(b_.buffer_dtype(to.buffer));
  const Index where = to.offset + at;
  if (!is_complex_) return put(to.buffer, where, x.re.convert(dtype));
  b_.store_part(to.buffer, where * 2, x.re.convert(dtype).scalar());
  b_.store_part(to.buffer, where * 2 + 1, x.im.convert(dtype).scalar());
}

Number PlanesEmitter::sum(const Index& extent, const std::function<Number(const Index&)>& term) {
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

Num PlanesEmitter::length_of(const Num& f, const Num& g) {
  const Num largest = abs(f).apply(ScalarOp::kMax, abs(g));
  const Num is_zero = largest == real(0), divisor = select(is_zero, real(1), largest);
  const Num x = f / divisor, y = g / divisor;
  return largest * sqrt(x * x + y * y);
}

PlanesEmitter::PowerOfTwo PlanesEmitter::power_below(const Num& largest) {
  const auto exponent_bits = [&](int64_t exponent) { return num(b_.constant(DType::kUInt64, exponent << 52)); };
  const Num exponent = largest.bitcast(DType::kUInt64) & exponent_bits(0x7ff);
  const Num power = exponent.apply(ScalarOp::kMax, exponent_bits(1)).apply(ScalarOp::kMin, exponent_bits(0x7fd));
  return {power.bitcast(kReal), (exponent_bits(0x7fe) - power).bitcast(kReal)};
}

Scalars PlanesEmitter::size_and_poison(const Number& x) {
  Num size = abs(x.re), poison = x.re - x.re;
  if (is_complex_) {
    size = size.apply(ScalarOp::kMax, abs(x.im));
    poison = poison + (x.im - x.im);
  }
  return {size.scalar(), poison.scalar()};
}

PlanesEmitter::ScaledMatrix PlanesEmitter::read_scaled(
    const Planes& to, int64_t rows, int64_t columns,
    const std::function<Number(const Index& i, const Index& j)>& element) {
  const Builder::CarrySpec specs[] = {{b_.constant(kReal, 0.0), ScalarOp::kMax},
                                      {b_.constant(kReal, 0.0), ScalarOp::kAdd}};
  const Index i = b_.begin_for(rows, {}, specs).variable;
  const Index j = b_.begin_for(columns, kAlong, specs).variable;
  const Number x = element(i, j);
  put(to, i * columns + j, x);
  const Scalars inner = b_.end_for(size_and_poison(x));
  const Scalars found = b_.end_for(inner);
  const Num poison = num(found[1]);
  const PowerOfTwo power = power_below(num(found[0]));
  const Num is_finite = poison == poison;
  b_.for_each(rows * columns, kAlong, [&](const Index& at) {
    Number x = scaled(get(to, at), power.inverse);
    x.re = select(is_finite, x.re, real(0));
    if (is_complex_) x.im = select(is_finite, x.im, real(0));
    put(to, at, x);
  });
  return {power.power, poison};
}

void PlanesEmitter::form_product(const Planes& to, int64_t count, int64_t size, const Reflections& reflections) {
  b_.for_each(count, {}, [&](const Index& i) {
    b_.for_each(size, kAlong, [&](const Index& j) {
      put(to, i * size + j, {select(number_of(i) == number_of(j), real(1), real(0)), real(0)});
    });
  });
  b_.for_each(reflections.count, {}, [&](const Index& step) {
    const Index k = Index(reflections.count - 1) - step, head = k + reflections.offset;
    const Number tau = get(reflections.taus, k);
    b_.for_each(Index(count) - head, {}, [&](const Index& i) {
      reflect(to, (head + i) * size + head, reflections.vectors, k * size + head, Index(size) - head, tau);
    });
  });
}

PlanesEmitter::Reflector PlanesEmitter::make_reflector(const Planes& vectors, const Index& at, const Index& length) {
  const Number alpha = get(vectors, at);
  const Num tail = sum(length - 1, [&](const Index& i) {
                     const Number x = get(vectors, at + 1 + i);
                     return Number{is_complex_ ? x.re * x.re + x.im * x.im : x.re * x.re, real(0)};
                   }).re;
  const Num off = is_complex_ ? tail + alpha.im * alpha.im : tail;
  const Num reflects = off > real(kNothing);
  const Num whole = sqrt(off + alpha.re * alpha.re);
  const Num beta = select(reflects, select(alpha.re < real(0), whole, -whole), alpha.re);
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
  b_.for_each(length, kAlong, [&](const Index& i) { put(vectors, at + i, times(get(vectors, at + i), factor)); });
  put(vectors, at, {real(1), real(0)});
  return {beta, tau};
}

void PlanesEmitter::reflect(const Planes& to, const Index& at, const Planes& vectors, const Index& v,
                            const Index& length, const Number& tau) {
  const Number along = sum(length, [&](const Index& i) { return times(conj(get(vectors, v + i)), get(to, at + i)); });
  const Number seen = times(tau, along);
  b_.for_each(length, kAlong,
              [&](const Index& i) { put(to, at + i, minus(get(to, at + i), times(seen, get(vectors, v + i)))); });
}

void PlanesEmitter::rotate(const Planes& rows, const Index& first, const Index& second, const Index& n, const Num& c,
                           const Num& s) {
  for (int part = 0; part < (is_complex_ ? 2 : 1); ++part) {
    const BufferId plane = part == 0 ? rows.re : rows.im;
    b_.for_each(n, kAlong, [&](const Index& i) {
      const Num x = get(plane, first + i), y = get(plane, second + i);
      put(plane, first + i, c * x + s * y);
      put(plane, second + i, c * y - s * x);
    });
  }
}

void PlanesEmitter::put_in_order(BufferId order, const Index& m, const std::function<Num(const Index&)>& key) {
  b_.for_each(m, {}, [&](const Index& i) {
    const Num own = key(i);
    const Scalars place = b_.while_loop(
        Scalars{b_.to_scalar(i)},
        [&](absl::Span<const Scalar> carried) {
          const Num j = num(carried[0]);
          const Index before = b_.to_index(j.apply(ScalarOp::kMax, integer(1)).scalar()) - Index(1);
          const Index other = b_.to_index(b_.load(order, before));
          const Num inside = j > integer(0);
          // Below the first place there is nothing to load.
          const Index safe = b_.to_index(select(inside, number_of(other), integer(0)).scalar());
          return (inside & (key(safe) > own)).scalar();
        },
        [&](absl::Span<const Scalar> carried) {
          const Index j = b_.to_index(carried[0]);
          b_.store(order, j, b_.load(order, j - Index(1)));
          return Scalars{b_.to_scalar(j - Index(1))};
        });
    b_.store(order, b_.to_index(place[0]), b_.to_scalar(i));
  });
}

}  // namespace ct::loop
