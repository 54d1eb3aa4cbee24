#include "ir/ops/linalg/expand.h"

#include <limits>

#include "ir/ops/linalg/expand_parts.h"
#include "ir/primitives.h"

namespace ct::linalg {
namespace {

// Where the columns come from when the longest from column j on is exchanged with that one, as LAPACK's geqp3 chooses
// it; lengths are of rows from j on, by the largest element so that no square overflows.
Value longest_first(Value r, Value j, Value columns) {
  const int rank = r.rank();
  const Value size = reduce_max(largest_part(r), {rank - 2, rank - 1});
  const Value scale = spread(select(gt(size, zeros_like(size)), size, full_like(size, 1)), real_part(r));
  const Value row = positions(r, 2);
  const Value scaled = zero_unless(ge(row, equal_to(row, j)), div(r, to_dtype(scale, r)));
  const Value lengths = reduce_sum(squared_size(scaled), {rank - 2});
  const Value place = positions(lengths, 1), at = equal_to(place, j);
  Value is_open = ge(place, at);
  if (columns) is_open = bit_and(is_open, lt(place, spread(columns, place)));
  const Value candidates = select(is_open, lengths, full_like(lengths, -1));
  const Value is_longest = bit_and(is_open, eq(candidates, spread(reduce_max(candidates, {rank - 2}), candidates)));
  const Value last = full_like(place, static_cast<double>(columns_of(r)));
  const Value found = reduce_min(select(is_longest, place, last), {rank - 2});
  // NaN are longer than nothing.
  const Value here = part(place, j, 1);
  const Value best =
      spread(select(lt(found, full_like(found, static_cast<double>(columns_of(r)))), found, here), place);
  return select(eq(place, at), best, select(eq(place, best), at, place));
}

}  // namespace

// ---- Rules --------------------------------------------------------------------------------------------------------

Values cholesky_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  if (attrs->has("upper") && attrs->flag("upper")) {
    Values turned(operands.begin(), operands.end());
    turned[0] = adjoint(turned[0]);
    return {adjoint(builder.bind1(kCholesky, turned))};
  }
  const Value size = size_operand(operands, 1);
  const Value a = embedded(operands[0], size);
  if (a.aval().size() == 0) return {a};
  const int last = a.rank() - 1;
  const Values results = column_loop(
      builder, {}, {a}, rows_of(a), false, [](Builder&, Value j, const Values&, const Values& carries) -> Step {
        const Value rest = carries[0];
        const Value column = part(rest, j, 1);
        const Value square = real_part(part(column, j, 1));
        const Value pivot = to_dtype(spread(sqrt(square), column), column);
        const Value row = positions(column, 1), at = equal_to(row, j);
        const Value factor = select(eq(row, at), pivot, zero_unless(gt(row, at), div(column, pivot)));
        return {{sub(rest, outer(factor, conjugated(factor), rest))}, {factor, square}};
      });
  Value factor = move_axis(results[1], 0, last);
  const Value squares = results[2];
  const Value fine = bit_and(gt(squares, zeros_like(squares)),
                             lt(squares, full_like(squares, std::numeric_limits<double>::infinity())));
  const Value one = full(builder, Aval(DType::kInt32, squares.shape()), 1);
  const Value is_positive = spread(reduce_min(zero_unless(fine, one), {0}), factor);
  const Value nothing = lower_triangle(full_like(factor, std::numeric_limits<double>::quiet_NaN()));
  factor = select(eq(is_positive, zeros_like(is_positive)), nothing, factor);
  return {size ? zero_unless(is_inside(factor, size, size), factor) : factor};
}

Values triangular_solve_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  const bool left = attrs->flag("left_side");
  const bool transposes = attrs->flag("transpose_a") == left;  // X op(A) = B is op(A)^T X^T = B^T
  const bool forward = attrs->flag("lower") != transposes, unit = attrs->flag("unit_diagonal");
  const Value size = size_operand(operands, 2);
  Value a = embedded(operands[0], size), b = left ? operands[1] : transposed(operands[1]);
  if (b.aval().size() == 0) return {operands[1]};
  if (transposes) a = transposed(a);
  if (attrs->flag("conjugate_a")) a = conjugated(a);
  if (size) b = zero_unless(lt(positions(b, 2), spread(size, b)), b);
  const Values results = column_loop(builder, {a}, {b}, rows_of(a), !forward,
                                     [&](Builder&, Value i, const Values& constants, const Values& carries) -> Step {
                                       const Value x = carries[0], column = part(constants[0], i, 1);
                                       Value solved = part(x, i, 2);
                                       if (!unit) solved = div(solved, spread(part(column, i, 1), solved));
                                       const Value row = positions(x, 2), at = equal_to(row, i);
                                       const Value left_over = sub(x, outer(column, solved, x));
                                       const Value kept = select(eq(row, at), as_rows(solved, x), x);
                                       return {{select(forward ? gt(row, at) : lt(row, at), left_over, kept)}, {}};
                                     });
  return {left ? results[0] : transposed(results[0])};
}

Values lu_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr&) {
  const Value size = size_operand(operands, 1);
  const Value a = embedded(operands[0], size);
  const int rank = a.rank();
  const int64_t m = rows_of(a), steps = std::min(m, columns_of(a));
  Shape orders = batch_shape(a.aval());
  orders.push_back(m);
  const Value first_order = iota(builder, Aval(DType::kInt32, orders), rank - 2);
  if (a.aval().size() == 0) {
    Shape pivots = batch_shape(a.aval());
    pivots.push_back(steps);
    return {a, zeros(builder, Aval(DType::kInt32, pivots)), first_order};
  }
  const Values results = column_loop(
      builder, {}, {a, first_order}, steps, false,
      [&](Builder&, Value j, const Values&, const Values& carries) -> Step {
        Value rest = carries[0];
        const Value sizes = pivot_size(part(rest, j, 1));
        const Value row = positions(sizes, 1), at = equal_to(row, j);
        const Value candidates = select(ge(row, at), sizes, full_like(sizes, -1));
        const Value is_largest = eq(candidates, spread(reduce_max(candidates, {rank - 2}), sizes));
        const Value best = reduce_min(select(is_largest, row, full_like(row, static_cast<double>(m))), {rank - 2});
        const Value other = spread(best, row);
        const Value exchange = select(eq(row, at), other, select(eq(row, other), at, row));
        rest = gather(rest, exchange, rank - 2, rank - 2);
        const Value order = gather(carries[1], exchange, rank - 2, rank - 2);

        const Value column = part(rest, j, 1);
        const Value pivot = spread(part(column, j, 1), column);
        const Value factor = select(eq(pivot, zeros_like(pivot)), column, div(column, pivot));
        const Value row_of = positions(rest, 2), column_of = positions(rest, 1), here = equal_to(row_of, j);
        const Value left_over = sub(rest, outer(factor, part(rest, j, 2), rest));
        const Value below =
            select(gt(column_of, here), left_over, select(eq(column_of, here), as_columns(factor, rest), rest));
        return {{select(gt(row_of, here), below, rest), order}, {best}};
      });
  Value factors = results[0], order = results[1], pivots = move_axis(results[2], 0, rank - 2);
  if (size) {
    factors = zero_unless(is_inside(factors, size, size), factors);
    order = zero_unless(lt(positions(order, 1), spread(size, order)), order);
    pivots = zero_unless(lt(positions(pivots, 1), spread(size, pivots)), pivots);
  }
  return {factors, pivots, order};
}

Values lu_solve_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  const bool transposes = attrs->flag("transpose_a"), conjugates = attrs->flag("conjugate_a");
  const Value factors = operands[1], order = operands[2], size = size_operand(operands, 4);
  const int axis = factors.rank() - 2;
  const Triangular lower{true, true, transposes, conjugates, true}, upper{true, false, transposes, conjugates, false};
  const auto solve = [&](Value b, const Triangular& system) {
    Values values{factors, b};
    if (size) values.push_back(size);
    return bind_triangular(values, system);
  };
  if (!transposes) return {solve(solve(gather(operands[3], order, axis, axis), lower), upper)};
  const Value solution = solve(solve(operands[3], upper), lower);
  // The rows that a mask leaves out are 0 and have no place in the order.
  Value places = order;
  if (size) {
    const Value beyond = ge(positions(order, 1), spread(size, order));
    places = select(beyond, full_like(order, static_cast<double>(rows_of(factors))), order);
  }
  return {scatter(zeros(builder, solution.aval()), places, solution, axis, axis)};
}

// Householder's reflections I - tau v v^H as LAPACK chooses them: R's diagonal is real, of the sign that avoids
// cancellation.
Values qr_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  const bool full_matrices = attrs->flag("full_matrices"), pivoting = attrs->flag("pivoting");
  const Value rows = size_operand(operands, 1), columns = size_operand(operands, 2);
  const Value a = rows ? zero_unless(is_inside(operands[0], rows, columns), operands[0]) : operands[0];
  const int rank = a.rank();
  const int64_t m = rows_of(a), n = columns_of(a), steps = std::min(m, n), kept = full_matrices ? m : steps;
  Shape square = batch_shape(a.aval());
  square.insert(square.end(), {m, m});
  const Value identity = identity_like(zeros(builder, Aval(a.dtype(), square)));
  Shape orders = batch_shape(a.aval());
  orders.push_back(n);
  Values start{a, identity};
  if (pivoting) start.push_back(iota(builder, Aval(DType::kInt32, orders), rank - 2));
  Values sizes;
  if (pivoting && columns) sizes.push_back(columns);
  const auto order_of = [&](Value order) {
    return columns ? zero_unless(lt(positions(order, 1), spread(columns, order)), order) : order;
  };
  if (a.aval().size() == 0) {
    Values results{slice_axis(identity, rank - 1, 0, kept), slice_axis(a, rank - 2, 0, kept)};
    if (pivoting) results.push_back(order_of(start[2]));
    return results;
  }
  // No square overflows.
  const PowerScaled given = scaled_to_one(a);
  start[0] = given.a;
  const Values results =
      column_loop(builder, sizes, start, steps, false,
                  [&](Builder&, Value j, const Values& constants, const Values& carries) -> Step {
                    Value r = carries[0];
                    const Value q = carries[1];
                    Values reordered;
                    if (pivoting) {
                      const Value exchange = longest_first(r, j, constants.empty() ? Value() : constants[0]);
                      r = gather(r, exchange, rank - 1, rank - 2);
                      reordered.push_back(gather(carries[2], exchange, rank - 2, rank - 2));
                    }
                    const Value column = part(r, j, 1);
                    const Value row = positions(column, 1), at = equal_to(row, j);
                    const Value below = zero_unless(gt(row, at), column);
                    const Value alpha = part(column, j, 1);
                    const Value tail = reduce_sum(real_part(mul(below, conjugated(below))), {rank - 2});
                    Value off = tail;
                    const Value norm = add(tail, real_part(mul(alpha, conjugated(alpha))));
                    if (is_complex(a.dtype())) off = add(off, mul(imag(alpha), imag(alpha)));
                    const Value length = sqrt(norm), head = real_part(alpha);
                    const Value beta = select(lt(head, zeros_like(head)), length, neg(length));
                    // A column that is 0 below its real diagonal is not reflected: tau is 0.
                    const Value reflects = ne(off, zeros_like(off));
                    const Value divisor = select(reflects, beta, full_like(beta, 1));
                    const Value difference = sub(alpha, to_dtype(beta, alpha));
                    const Value tau = zero_unless(reflects, neg(div(difference, to_dtype(divisor, alpha))));
                    const Value scale = spread(select(reflects, difference, full_like(alpha, 1)), column);
                    const Value v = select(eq(row, at), full_like(column, 1), div(below, scale));
                    // R - conj(tau) v (v^H R), and Q - tau (Q v) v^H.
                    const Value seen = reduce_sum(mul(as_columns(conjugated(v), r), r), {rank - 2});
                    const Value image = reduce_sum(mul(q, as_rows(v, q)), {rank - 1});
                    const Value left_over = sub(r, outer(mul(spread(conjugated(tau), v), v), seen, r));
                    Values made{left_over, sub(q, outer(mul(spread(tau, image), image), conjugated(v), q))};
                    made.insert(made.end(), reordered.begin(), reordered.end());
                    return {made, {}};
                  });
  Value q = with_poison(slice_axis(results[1], rank - 1, 0, kept), given.poison);
  Value r = slice_axis(results[0], rank - 2, 0, kept);
  r = upper_triangle(with_poison(mul(r, to_dtype(spread(given.scale, r), r)), given.poison));
  if (rows) {
    const Value rank_of = full_matrices ? rows : min(rows, columns);
    q = zero_unless(is_inside(q, rows, rank_of), q);
    r = zero_unless(is_inside(r, rank_of, columns), r);
  }
  if (pivoting) return {q, r, order_of(results[2])};
  return {q, r};
}

}  // namespace ct::linalg
