// A Fourier transform as matrix products, for programs that have no library: Cooley and Tukey's splitting of a length
// into factors, and for a length with a large prime factor Bluestein's, which makes it a convolution of a length that
// is a power of two. Start at `fft_expand`, at the end.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/ops.h"
#include "ir/ops/fft.h"

namespace ct {
namespace {

// Below this length a transform is one matrix product.
constexpr int64_t kDirect = 16;
// The largest prime factor that is a matrix product.
constexpr int64_t kLargestPrime = 64;

// exp(sign * 2 pi i * turns / n) with the given complex dtype; `turns` are integers.
Value roots_of_unity(Value turns, int64_t n, int sign, DType dtype) {
  Builder& builder = *turns.builder;
  const Aval reals(DType::kFloat64, turns.shape());
  const Value angle =
      mul(convert(turns, DType::kFloat64), full(builder, reals, sign * 2 * std::numbers::pi / static_cast<double>(n)));
  const DType part = real_dtype(dtype);
  return make_complex(convert(cos(angle), part), convert(sin(angle), part));
}

// i * k mod n, for a matrix of these sizes.
Value exponents(Builder& builder, int64_t rows, int64_t columns, int64_t n) {
  const Aval indices(DType::kInt64, {rows, columns});
  const Value product = mul(iota(builder, indices, 0), iota(builder, indices, 1));
  return rem(product, full_integer(builder, indices, n));
}

// As the last axes of an array of this shape.
Value along_last(Value x, const Shape& shape) {
  Ints axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(shape.size()) - x.rank() + i);
  return broadcast(x, shape, axes);
}

Value swap_last_axes(Value x) {
  Ints order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(x, order);
}

// x times the matrix of a transform of length n, over its last axis.
Value times_matrix(Value x, int64_t n) {
  const Value matrix = roots_of_unity(exponents(*x.builder, n, n, n), n, -1, x.dtype());
  return dot_general(x, matrix, {{x.rank() - 1}, {0}, {}, {}});
}

int64_t factor_of(int64_t n) {
  for (int64_t factor : {8, 4}) {
    if (n % factor == 0) return factor;
  }
  for (int64_t factor = 2; factor * factor <= n; ++factor) {
    if (n % factor == 0) return factor;
  }
  return n;
}

Value transform(Value x);

Value inverse(Value x) {
  const auto n = static_cast<double>(x.shape().back());
  const Value result = conj(transform(conj(x)));
  return div(result, full_like(result, n));
}

// The transform is a convolution with exp(i pi k^2 / n), of values that are multiplied with its conjugate before and
// after.
Value by_convolution(Value x, int64_t n) {
  Builder& builder = *x.builder;
  int64_t length = 1;
  while (length < 2 * n - 1) length *= 2;
  const Aval indices(DType::kInt64, {length});
  const Value index = iota(builder, indices, 0);
  const Value distance = min(index, sub(full_integer(builder, indices, length), index));
  const Value turns = rem(mul(distance, distance), full_integer(builder, indices, 2 * n));
  const Value chirp = roots_of_unity(turns, 2 * n, 1, x.dtype());
  const Value kernel = select(lt(distance, full_integer(builder, indices, n)), chirp, zeros_like(chirp));
  const Value weights = along_last(conj(slice_axis(chirp, 0, 0, n)), x.shape());

  Ints none(static_cast<size_t>(x.rank()), 0), high = none;
  high.back() = length - n;
  const Value padded = pad(mul(x, weights), zeros(builder, Aval(x.dtype(), {})), none, high, none);
  const Value spectrum = transform(padded);
  const Value convolved = inverse(mul(spectrum, along_last(transform(kernel), spectrum.shape())));
  return mul(slice_axis(convolved, x.rank() - 1, 0, n), weights);
}

// Over the last axis.
Value transform(Value x) {
  const int64_t n = x.shape().back();
  if (n <= kDirect) return times_matrix(x, n);
  const int64_t p = factor_of(n), q = n / p;
  if (p > kLargestPrime) return by_convolution(x, n);
  if (q == 1) return times_matrix(x, n);
  // x[p t + s] = split[s, t]; the result at q k + j is the sum over s of w_p^(s k) w_n^(s j) inner[s, j].
  Shape split = x.shape();
  split.back() = q;
  split.push_back(p);
  const Value inner = transform(swap_last_axes(reshape(x, split)));
  const Value twiddles = roots_of_unity(exponents(*x.builder, p, q, n), n, -1, x.dtype());
  const Value turned = mul(inner, along_last(twiddles, inner.shape()));
  return reshape(swap_last_axes(times_matrix(swap_last_axes(turned), p)), x.shape());
}

Value over_axis(Value x, int axis, bool inverted) {
  const int last = x.rank() - 1;
  const Value moved = move_axis(x, axis, last);
  return move_axis(inverted ? inverse(moved) : transform(moved), last, axis);
}

// The coefficients above the middle are conjugates of those below.
Value whole_spectrum(Value half, int64_t n) {
  const int axis = half.rank() - 1;
  const int64_t kept = half.shape()[axis];
  if (kept == n) return half;
  const Value mirrored = conj(reverse(slice_axis(half, axis, 1, n - kept + 1), Ints{axis}));
  return concatenate({{half, mirrored}}, axis);
}

}  // namespace

Values fft_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  const std::string& kind = attrs->text("kind");
  const Ints& lengths = attrs->ints("lengths");
  Value x = operands[0];
  const int rank = x.rank(), first = rank - static_cast<int>(lengths.size());
  const bool inverted = kind == "ifft" || kind == "irfft";
  if (x.aval().size() == 0) {
    Shape shape = x.shape();
    if (kind == "rfft") shape.back() = lengths.back() / 2 + 1;
    if (kind == "irfft") shape.back() = lengths.back();
    const DType dtype = kind == "rfft" ? complex_dtype(x.dtype()) : kind == "irfft" ? real_dtype(x.dtype()) : x.dtype();
    return {zeros(builder, Aval(dtype, shape))};
  }
  if (kind == "rfft") {
    x = over_axis(make_complex(x, zeros_like(x)), rank - 1, false);
    x = slice_axis(x, rank - 1, 0, lengths.back() / 2 + 1);
  }
  for (int axis = first; axis < rank - 1; ++axis) {
    if (lengths[axis - first] != 0) x = over_axis(x, axis, inverted);
  }
  if (kind == "irfft") return {real(over_axis(whole_spectrum(x, lengths.back()), rank - 1, true))};
  return {kind == "rfft" || lengths.back() == 0 ? x : over_axis(x, rank - 1, inverted)};
}

}  // namespace ct
