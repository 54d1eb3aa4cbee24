// eigh by Jacobi's rotations: each makes one element beside the diagonal zero, and all of them in turn, some ten times
// over, leave nothing there but rounding (Golub, Van Loan, "Matrix Computations", section 8.5). They are computed as
// changes of what was there (Rutishauser, "The Jacobi method for real symmetric matrices", 1966): thousands of small
// turns then round no worse than LAPACK's few, in the matrix' own dtype.
#include "ir/ops/linalg/expand.h"
#include "ir/ops/linalg/expand_parts.h"
#include "ir/primitives.h"

namespace ct::linalg {
namespace {

// Rows and columns p and q.
struct Pair {
  Value p, q;
};

// [c, s phase; -s conj(phase), c] on the right of columns p and q; its adjoint on the left of rows. The less is beside
// the diagonal the nearer this is to the identity, so that vectors change as little as matrices do.
struct Turn {
  Value turns;  // false: the identity
  Value s, phase;
  Value less;   // 1 - c, with all of its digits
  Value shift;  // what element [p, p] gives to [q, q]
};

Turn turn_of(Value first, Value beside, Value second, Value in_order) {
  // Squares of what is nearly zero already would be zero: the phase has to be of length 1 all the same.
  const Value largest = largest_part(beside), one = full_like(largest, 1);
  const Value scale = select(gt(largest, zeros_like(largest)), largest, one);
  const Value scaled = div(beside, to_dtype(scale, beside));
  const Value modulus = is_complex(beside.dtype()) ? sqrt(squared_size(scaled)) : abs(scaled);
  const Value length = mul(largest, modulus);
  // Below this, all that turns is rounding: where eigenvalues are equal it would for ever.
  const Value bound = mul(full_like(length, 0.5 * precision_of(length)), min(abs(first), abs(second)));
  const Value turns = bit_and(broadcast_scalar(in_order, length.shape()), gt(length, bound));
  const Value safe = select(turns, length, one);
  // The difference of the largest numbers is none.
  const Value half = full_like(one, 0.5), slope = div(sub(mul(half, second), mul(half, first)), safe);
  const Value size_of = add(abs(slope), sqrt(add(mul(slope, slope), one)));
  const Value tangent = div(select(lt(slope, zeros_like(slope)), neg(one), one), size_of);
  const Value cosine = div(one, sqrt(add(mul(tangent, tangent), one)));
  const Value s = zero_unless(turns, mul(tangent, cosine));
  const Value less = div(mul(s, s), add(one, select(turns, cosine, one)));
  const Value phase = select(turns, div(scaled, to_dtype(select(turns, modulus, one), beside)), full_like(beside, 1));
  return {turns, to_dtype(s, beside), phase, to_dtype(less, beside), zero_unless(turns, mul(tangent, length))};
}

Value rotated(Value x, const Pair& pair, const Turn& turn, Value phase, int from_end) {
  const Value first = part(x, pair.p, from_end), second = part(x, pair.q, from_end), less = spread(turn.less, first);
  const Value of_second = mul(spread(mul(turn.s, phase), second), second);
  const Value of_first = mul(spread(mul(turn.s, conjugated(phase)), first), first);
  const Value new_first = sub(first, add(of_second, mul(less, first)));
  const Value new_second = add(second, sub(of_first, mul(less, second)));
  const auto whole = [&](Value y) { return from_end == 1 ? as_columns(y, x) : as_rows(y, x); };
  const Value at = positions(x, from_end), at_p = eq(at, equal_to(at, pair.p)), at_q = eq(at, equal_to(at, pair.q));
  // Where nothing turns p may be q: both then are what they were.
  return select(spread(turn.turns, x), select(at_p, whole(new_first), select(at_q, whole(new_second), x)), x);
}

// What the pair's four elements are, without the rounding of two rotations.
Value with_block(Value m, const Pair& pair, const Turn& turn, Value first, Value second) {
  const Value row = positions(m, 2), column = positions(m, 1), p = equal_to(row, pair.p), q = equal_to(row, pair.q);
  const auto is_either = [&](Value at) { return bit_or(eq(at, p), eq(at, q)); };
  const auto everywhere = [&](Value number) { return spread(to_dtype(number, m), m); };
  const Value on_diagonal = select(eq(row, p), everywhere(first), everywhere(second));
  const Value is_block = bit_and(bit_and(is_either(row), is_either(column)), spread(turn.turns, m));
  return select(is_block, zero_unless(eq(row, column), on_diagonal), m);
}

struct Sum {
  Value sum, rest;  // together exactly x + y (Knuth)
};
Sum exact_sum(Value x, Value y) {
  const Value sum = add(x, y), of_y = sub(sum, x);
  return {sum, add(sub(x, sub(sum, of_y)), sub(y, of_y))};
}

}  // namespace

Values eigh_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  const bool vectors = attrs->flag("compute_vectors");
  const Value size = size_operand(operands, 1);
  Value a = hermitian_of_triangle(operands[0], attrs->flag("lower"));
  if (size) a = zero_unless(is_inside(a, size, size), a);
  const int rank = a.rank();
  const int64_t n = rows_of(a);
  if (a.aval().size() == 0) {
    Values results{diagonal(real_part(a))};
    if (vectors) results.push_back(a);
    return results;
  }
  const Value poison = poison_of(a);
  const Values results =
      column_loop(builder, {}, {a, identity_like(a), zeros_like(diagonal(real_part(a)))}, kSweeps * n * n, false,
                  [&](Builder&, Value step, const Values&, const Values& carries) -> Step {
                    const Value width = full_like(step, static_cast<double>(n));
                    const Pair pair{rem(div(step, width), width), rem(step, width)};
                    const Value m = carries[0];
                    const Value column = part(m, pair.p, 1), other = part(m, pair.q, 1);
                    const Value first = real_part(part(column, pair.p, 1)), second = real_part(part(other, pair.q, 1));
                    const Turn turn = turn_of(first, part(other, pair.p, 1), second, lt(pair.p, pair.q));
                    const Value back = conjugated(turn.phase);
                    const Value both = rotated(rotated(m, pair, turn, back, 1), pair, turn, turn.phase, 2);
                    const Sum new_first = exact_sum(first, neg(turn.shift)), new_second = exact_sum(second, turn.shift);
                    const Value place = positions(carries[2], 1);
                    const auto at = [&](Value index, Value number) {
                      return zero_unless(eq(place, equal_to(place, index)), spread(number, place));
                    };
                    const Value rest = add(carries[2], add(at(pair.p, new_first.rest), at(pair.q, new_second.rest)));
                    return {{with_block(both, pair, turn, new_first.sum, new_second.sum),
                             rotated(carries[1], pair, turn, back, 1), rest},
                            {}};
                  });
  // Each element of the diagonal is a sum of some ten times n changes.
  const Value values = add(diagonal(real_part(results[0])), results[2]);
  const Value place = positions(values, 1);
  Values sorted{values, place};
  if (size) sorted.insert(sorted.begin(), ge(place, spread(size, place)));
  sorted = sort(sorted, rank - 2, size ? 2 : 1);
  Value w = sorted[sorted.size() - 2];
  w = with_poison(w, poison);
  if (size) w = zero_unless(lt(place, spread(size, place)), w);
  if (!vectors) return {w};
  const Value v = with_poison(gather(results[1], sorted.back(), rank - 1, rank - 2), poison);
  return {w, size ? zero_unless(is_inside(v, size, size), v) : v};
}

}  // namespace ct::linalg
