// svd by Jacobi's rotations on one side: pairs of columns are turned until all are orthogonal; then their lengths are
// the singular values, and the turns are vectors (Golub, Van Loan, "Matrix Computations", section 8.6.3; Demmel,
// Veselic, "Jacobi's method is more accurate than QR", 1992). Disjoint pairs turn at once: those of a tournament in
// which each column meets each other once in a sweep (Brent, Luk, 1985).
#include <algorithm>

#include "ir/ops/linalg/expand.h"
#include "ir/ops/linalg/expand_parts.h"
#include "ir/primitives.h"

namespace ct::linalg {
namespace {

// Both players of each pair of the next round: the first one stays in its place, the others move around it.
struct Pairs {
  Value first, second;
};
Pairs next_round(const Pairs& pairs) {
  const int axis = pairs.first.rank() - 2;
  const int64_t count = pairs.first.shape()[axis];
  if (count == 1) return pairs;
  const auto some = [&](Value x, int64_t start, int64_t limit) { return slice_axis(x, axis, start, limit); };
  const Value first = pairs.first, second = pairs.second;
  return {concatenate({some(first, 0, 1), some(second, 0, 1), some(first, 1, count - 1)}, axis),
          concatenate({some(second, 1, count), some(first, count - 1, count)}, axis)};
}

// Turns each pair of rows so that their first `length` elements are orthogonal.
Pairs turned(const Pairs& pairs, int64_t length) {
  const int axis = pairs.first.rank() - 1;
  const Value x = slice_axis(pairs.first, axis, 0, length), y = slice_axis(pairs.second, axis, 0, length);
  const auto sum = [&](Value terms) { return reduce_sum(terms, {axis}); };
  const Value xx = sum(squared_size(x)), yy = sum(squared_size(y)), xy = sum(mul(conjugated(x), y));
  const Value largest = largest_part(xy);
  const Value one = full_like(xx, 1);
  const double precision = precision_of(xx);
  // The largest element of the matrix is about 1: below this, all that turns is rounding.
  const Value bound = max(mul(full_like(xx, precision), mul(sqrt(xx), sqrt(yy))), full_like(xx, precision * precision));
  const Value turns = gt(largest, bound);
  const Value scale = select(turns, largest, one);
  const Value scaled = div(xy, to_dtype(scale, xy));
  const Value modulus = select(turns, sqrt(squared_size(scaled)), one);
  const Value phase = select(turns, div(scaled, to_dtype(modulus, xy)), full_like(xy, 1));
  const Value size = mul(scale, modulus);
  const Value slope = div(sub(yy, xx), add(size, size));
  // For slopes whose squares would overflow.
  const Value away = max(abs(slope), one), near = div(slope, away), unit = div(one, away);
  const Value root = mul(away, sqrt(add(mul(near, near), mul(unit, unit))));
  const Value tangent = div(select(lt(slope, zeros_like(slope)), neg(one), one), add(abs(slope), root));
  const Value cosine = div(one, sqrt(add(mul(tangent, tangent), one)));
  // 1 - cosine has all of its digits: rotations by little change lengths by next to nothing (Rutishauser).
  const Value s = zero_unless(turns, mul(tangent, cosine)), c = select(turns, cosine, one);
  const Value less = div(mul(s, s), add(one, c));
  const auto wide = [&](Value factor) {
    return as_columns(is_complex(factor.dtype()) ? factor : to_dtype(factor, x), pairs.first);
  };
  const Value turn = mul(to_dtype(s, xy), phase);
  return {sub(pairs.first, add(mul(wide(conjugated(turn)), pairs.second), mul(wide(less), pairs.first))),
          add(pairs.second, sub(mul(wide(turn), pairs.first), mul(wide(less), pairs.second)))};
}

// Of matrices with at least as many rows as columns, in which what lies outside of the real sizes is 0: the values, and
// if wanted U and V.
struct Factors {
  Value s, u, v;
};

// Columns of length 1 or, where those have none, 0: reflections that leave the others as they are fill these in.
Value completed(Builder& builder, Value units, Value size) {
  Values operands{units};
  if (size) operands.insert(operands.end(), {size, size});
  const Values qr = qr_expand(builder, operands, Attrs::make({{"full_matrices", false}, {"pivoting", false}}));
  const Value diagonal_of_r = diagonal(real_part(qr[1]));
  const Value minus = lt(diagonal_of_r, zeros_like(diagonal_of_r));
  return select(as_rows(minus, qr[0]), neg(qr[0]), qr[0]);
}

// With A P = Q R, what is turned is the columns of R^H: they are nearly orthogonal already, so that few sweeps are
// enough however unequal the rows or columns of A are (Drmac, Veselic, "New fast and accurate Jacobi SVD algorithm",
// 2008). R^H = W S Z^H; U is Q Z, and V is P W.
Factors factorised(Builder& builder, Value a, Value rows, Value columns, bool vectors, bool full_matrices) {
  const int rank = a.rank();
  const int64_t n = columns_of(a), even = n + n % 2;
  Values operands{a};
  if (columns) operands.insert(operands.end(), {rows, columns});
  const Values qr = qr_expand(builder, operands, Attrs::make({{"full_matrices", full_matrices}, {"pivoting", true}}));
  const Value q = qr[0], order_of_columns = qr[2];
  // A column in each line, and behind it one of Z.
  Value lines = conjugated(slice_axis(qr[1], rank - 2, 0, n));
  if (vectors) lines = concatenate({lines, identity_like(lines)}, rank - 1);
  if (even > n) {
    Ints low(static_cast<size_t>(rank), 0), high = low;
    high[static_cast<size_t>(rank) - 2] = 1;
    lines = pad(lines, zeros(builder, Aval(a.dtype(), {})), low, high, low);
  }
  const Pairs pairs{slice_axis(lines, rank - 2, 0, even / 2), slice_axis(lines, rank - 2, even / 2, even)};
  // As many rounds as bring everything back to where it was.
  const Values results = column_loop(builder, {}, {pairs.first, pairs.second}, kSweeps * std::max<int64_t>(even - 1, 1),
                                     false, [&](Builder&, Value, const Values&, const Values& carries) -> Step {
                                       const Pairs next = next_round(turned({carries[0], carries[1]}, n));
                                       return {{next.first, next.second}, {}};
                                     });
  lines = slice_axis(concatenate({results[0], results[1]}, rank - 2), rank - 2, 0, n);
  const Value turned_columns = slice_axis(lines, rank - 1, 0, n);
  Value s = sqrt(reduce_sum(squared_size(turned_columns), {rank - 1}));
  const Value place = positions(s, 1);
  const Value count = columns ? min(rows, columns) : Value();
  Values sorted{neg(s), place};
  if (count) sorted.insert(sorted.begin(), ge(place, spread(count, place)));
  sorted = sort(sorted, rank - 2, count ? 2 : 1);
  s = neg(sorted[sorted.size() - 2]);
  if (count) s = zero_unless(lt(place, spread(count, place)), s);
  if (!vectors) return {s, {}, {}};

  const Value in_order = transposed(gather(lines, sorted.back(), rank - 2, rank - 2));
  const Value image = slice_axis(in_order, rank - 2, 0, n), z = slice_axis(in_order, rank - 2, n, 2 * n);
  Value u = multiply(slice_axis(q, rank - 1, 0, n), z);
  const int64_t kept = columns_of(q);
  if (kept > n) u = concatenate({u, slice_axis(q, rank - 1, n, kept)}, rank - 1);

  const Value is_something = gt(s, zeros_like(s));
  const Value length = as_rows(to_dtype(select(is_something, s, full_like(s, 1)), image), image);
  const Value w = completed(builder, zero_unless(as_rows(is_something, image), div(image, length)), columns);
  // What a mask leaves out has no place.
  Value places = order_of_columns;
  if (columns) {
    const Value beyond = ge(positions(places, 1), spread(columns, places));
    places = select(beyond, full_like(places, static_cast<double>(n)), places);
  }
  return {s, u, scatter(zeros(builder, w.aval()), places, w, rank - 2, rank - 2)};
}

}  // namespace

Values svd_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  const bool vectors = attrs->flag("compute_uv"), full_matrices = attrs->flag("full_matrices");
  const Value rows = size_operand(operands, 1), columns = size_operand(operands, 2);
  const Value a = rows ? zero_unless(is_inside(operands[0], rows, columns), operands[0]) : operands[0];
  const int64_t m = rows_of(a), n = columns_of(a), k = std::min(m, n);
  if (a.aval().size() == 0) {
    Shape shape = batch_shape(a.aval());
    const auto of = [&](DType dtype, std::initializer_list<int64_t> last) {
      Shape whole = shape;
      whole.insert(whole.end(), last);
      return zeros(builder, Aval(dtype, whole));
    };
    Values results{of(real_dtype(a.dtype()), {k})};
    if (vectors) {
      results.push_back(identity_like(of(a.dtype(), {m, full_matrices ? m : k})));
      results.push_back(identity_like(of(a.dtype(), {full_matrices ? n : k, n})));
    }
    return results;
  }
  const PowerScaled given = scaled_to_one(a);
  const bool tall = m >= n;
  const Value upright = tall ? given.a : adjoint(given.a);
  Factors found = factorised(builder, upright, tall ? rows : columns, tall ? columns : rows, vectors, full_matrices);
  Value s = mul(found.s, spread(given.scale, found.s));
  s = with_poison(s, given.poison);
  const Value count = rows ? min(rows, columns) : Value();
  if (rows) s = zero_unless(lt(positions(s, 1), spread(count, s)), s);
  if (!vectors) return {s};
  Value u = tall ? found.u : found.v, vh = adjoint(tall ? found.v : found.u);
  u = with_poison(u, given.poison);
  vh = with_poison(vh, given.poison);
  if (rows) {
    u = zero_unless(is_inside(u, rows, full_matrices ? rows : count), u);
    vh = zero_unless(is_inside(vh, full_matrices ? columns : count, columns), vh);
  }
  return {s, u, vh};
}

}  // namespace ct::linalg
