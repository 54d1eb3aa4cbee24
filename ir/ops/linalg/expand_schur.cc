// schur, eig and sylvester by QR steps: Householder's reflections make matrices Hessenberg, shifted QR steps make these
// triangular, with 2 x 2 blocks where real matrices have complex eigenvalues (Golub, Van Loan, "Matrix Computations",
// chapter 7). All matrices of a batch take their steps at once, each inside of its own active block; a step's
// reflections go over rows in common.
#include <limits>

#include "ir/ops/linalg/expand.h"
#include "ir/ops/linalg/expand_parts.h"
#include "ir/primitives.h"

namespace ct::linalg {
namespace {

bool is_wide(Value x) { return real_dtype(x.dtype()) == DType::kFloat64; }

Value scalar(Builder& builder, double value) { return full(builder, Aval(DType::kInt32, {}), value); }
Value any(Value condition) {
  Ints axes;
  for (int axis = 0; axis < condition.rank(); ++axis) axes.push_back(axis);
  const Value one = convert(condition, DType::kInt32);
  return axes.empty() ? one : reduce_max(one, axes);
}

// The element of each matrix (or vector) at positions of its own, int32 of the batch's shape.
Value element(Value vectors, Value at) { return gather(vectors, at, vectors.rank() - 1, vectors.rank() - 1); }
Value element(Value a, Value row, Value column) {
  const Value width = full_like(row, static_cast<double>(columns_of(a)));
  Shape flat = batch_shape(a.aval());
  flat.push_back(rows_of(a) * columns_of(a));
  return element(reshape(a, flat), add(mul(row, width), column));
}

// I - tau v v^H, Hermitian, which makes x a multiple of the first unit vector. tau is 0 where x is.
struct Reflection {
  Value v, tau;
};
// `first` is true at the place that is left over; x is 0 outside of what is reflected.
Reflection reflection_of(Value x, Value first) {
  const Ints last{x.rank() - 1};
  const Value largest = reduce_max(largest_part(x), last);
  const Value is_something = gt(largest, zeros_like(largest));
  const Value scale = select(is_something, largest, full_like(largest, 1));
  const Value scaled = div(x, to_dtype(spread(scale, x), x));
  const Value head = reduce_sum(zero_unless(first, scaled), last);
  const Value length = sqrt(reduce_sum(squared_size(scaled), last)), size = abs(head);
  const Value has_phase = gt(size, zeros_like(size));
  const Value one = full_like(head, 1);
  const Value phase = select(has_phase, div(head, to_dtype(select(has_phase, size, full_like(size, 1)), head)), one);
  const Value added = mul(phase, to_dtype(length, head));
  const Value v = select(first, add(scaled, spread(added, x)), scaled);
  // Of the v that is rounded, so that what is applied is as unitary as it can be.
  const Value squares = reduce_sum(squared_size(v), last);
  const Value tau =
      select(is_something, div(full_like(squares, 2), select(is_something, squares, full_like(squares, 1))),
             zeros_like(squares));
  return {v, tau};
}
Value reflected_rows(Value a, const Reflection& by) {
  const Value seen = reduce_sum(mul(as_columns(conjugated(by.v), a), a), {a.rank() - 2});
  return sub(a, outer(mul(to_dtype(spread(by.tau, by.v), by.v), by.v), seen, a));
}
Value reflected_columns(Value a, const Reflection& by) {
  const Value image = reduce_sum(mul(a, as_rows(by.v, a)), {a.rank() - 1});
  return sub(a, outer(image, mul(to_dtype(spread(by.tau, by.v), by.v), conjugated(by.v)), a));
}

// A = Z T Z^H, and for each matrix whether that was found. Z is null where nobody asks for it.
struct Form {
  Value t, z, found;
};

// What is reflected: H, and beside it Z^H if wanted, of which rows are reflected as those of H are.
Value beside_adjoint(Value h, Value adjoint_of_z) {
  return adjoint_of_z ? concatenate({h, adjoint_of_z}, h.rank() - 1) : h;
}
Value first_columns(Value a, int64_t count) { return slice_axis(a, a.rank() - 1, 0, count); }
Value last_columns(Value a, int64_t first) { return slice_axis(a, a.rank() - 1, first, columns_of(a)); }

// [H, Z^H] with H = Z^H A Z.
Value hessenberg(Builder& builder, Value a, bool vectors) {
  const Value start = beside_adjoint(a, vectors ? identity_like(a) : Value());
  const int64_t n = rows_of(a);
  if (n < 3) return start;
  const Values results = column_loop(
      builder, {}, {start}, n - 2, false, [n](Builder&, Value j, const Values&, const Values& carries) -> Step {
        const Value column = part(carries[0], j, 1);
        const Value row = positions(column, 1), at = equal_to(row, j);
        const Value below = full_like(row, 1), first = eq(row, add(at, below));
        const Reflection by = reflection_of(zero_unless(gt(row, at), column), first);
        const Value turned = reflected_rows(carries[0], by);
        const Value h = reflected_columns(first_columns(turned, n), by);
        return {{columns_of(turned) == n ? h : beside_adjoint(h, last_columns(turned, n))}, {}};
      });
  return results[0];
}

// Elements beside the diagonal: [..., n - 1], of row i + 1 and column i.
Value below_diagonal(Value a) {
  const int rank = a.rank();
  const int64_t n = rows_of(a);
  return diagonal(slice_axis(slice_axis(a, rank - 2, 1, n), rank - 1, 0, n - 1));
}
Value above_diagonal(Value a) { return below_diagonal(transposed(a)); }

// Rows (from_end 2) or columns `first`, ..., of all matrices, and back.
Value window(Value a, Value first, int64_t count, int from_end) {
  Values starts(static_cast<size_t>(a.rank()), scalar(*a.builder, 0));
  starts[starts.size() - static_cast<size_t>(from_end)] = first;
  Ints sizes(a.shape().begin(), a.shape().end());
  sizes[sizes.size() - static_cast<size_t>(from_end)] = count;
  return dynamic_slice(a, starts, sizes);
}
Value with_window(Value a, Value changed, Value first, int from_end) {
  Values starts(static_cast<size_t>(a.rank()), scalar(*a.builder, 0));
  starts[starts.size() - static_cast<size_t>(from_end)] = first;
  return dynamic_update_slice(a, changed, starts);
}

// Where each matrix is active: rows `first` to `last` of a block that has not fallen apart.
struct Block {
  Value first, last, active;
};
Block active_block(Value beside) {  // bool, [..., n - 1]
  const Value place = iota(*beside.builder, Aval(DType::kInt32, beside.shape()), beside.rank() - 1);
  const Value last = reduce_max(select(beside, place, full_like(place, -1)), {beside.rank() - 1});
  const Value gaps = bit_and(logical_not(beside), lt(place, spread(last, place)));
  const Value gap = reduce_max(select(gaps, place, full_like(place, -1)), {beside.rank() - 1});
  const Value one = full_like(last, 1);
  return {add(gap, one), max(add(last, one), one), ge(last, zeros_like(last))};
}

// The first column of what the shifts of a step make of the block, up to a factor: 2 numbers, or 3 of real matrices.
Value first_column(Value h, const Block& block, Value exceptional) {
  const Value one = full_like(block.first, 1);
  const Value lo = block.first, hi = block.last, before = max(sub(hi, one), zeros_like(hi));
  const Value x = element(h, hi, hi), y = element(h, before, before);
  const Value below = element(h, hi, before), above = element(h, before, hi);
  const Value top = element(h, lo, lo), under = element(h, add(lo, one), lo);
  const int axis = x.rank();
  const auto stacked = [&](std::initializer_list<Value> values) {
    Values wide;
    for (const Value& value : values) wide.push_back(expand_dims(value, axis));
    return concatenate(wide, axis);
  };
  if (is_complex(h.dtype())) {
    // The eigenvalue of the last 2 x 2 block that is nearer to its corner (Wilkinson).
    const Value half = scaled(sub(y, x), 0.5), product = mul(below, above);
    const Value size = max(add(abs(half), sqrt(abs(product))), full_like(abs(half), std::numeric_limits<float>::min()));
    const Value unit = to_dtype(size, half);
    const Value p = div(half, unit), q = div(div(product, unit), unit);
    Value root = sqrt(add(mul(p, p), q));
    const Value along = add(mul(real(p), real(root)), mul(imag(p), imag(root)));
    root = select(lt(along, zeros_like(along)), neg(root), root);
    const Value divisor = add(p, root);
    const Value is_zero = eq(abs(divisor), zeros_like(size));
    const Value step = mul(div(q, select(is_zero, full_like(divisor, 1), divisor)), unit);
    const Value usual = sub(x, select(is_zero, zeros_like(step), step));
    const Value shift = select(exceptional, add(x, to_dtype(scaled(abs(below), 0.75), x)), usual);
    return stacked({sub(top, shift), under});
  }
  // EISPACK's hqr.
  const Value size = abs(below);
  const Value lifted = add(x, scaled(size, 0.75));
  const Value corner = select(exceptional, lifted, x), other = select(exceptional, lifted, y);
  const Value product = select(exceptional, scaled(mul(size, size), -0.4375), mul(below, above));
  const Value next = min(add(lo, add(one, one)), full_like(lo, static_cast<double>(rows_of(h) - 1)));
  const Value r = sub(corner, top), s = sub(other, top);
  const Value is_zero = eq(under, zeros_like(under));
  const Value p =
      add(div(sub(mul(r, s), product), select(is_zero, full_like(under, 1), under)), element(h, lo, add(lo, one)));
  const Value q = sub(sub(sub(element(h, add(lo, one), add(lo, one)), top), r), s);
  return stacked({p, q, element(h, next, add(lo, one))});
}

// Columns `first`, ... reflected, as many as v is long, one at a time: elements that are stored by pairs or threes wait
// for each other where they are loaded again in other groups.
Value with_reflected_columns(Value a, const Reflection& by, Value first) {
  // Of vectors, the number `j` for each row of a matrix of one column.
  const auto factor = [&](Value vectors, int64_t j) {
    Shape shape = batch_shape(a.aval());
    shape.insert(shape.end(), {rows_of(a), 1});
    return spread(squeeze(slice_axis(vectors, vectors.rank() - 1, j, j + 1), vectors.rank() - 1),
                  zeros(*a.builder, Aval(a.dtype(), shape)));
  };
  const auto place = [&](int64_t j) { return add(first, scalar(*a.builder, static_cast<double>(j))); };
  const auto column = [&](Value of, int64_t j) { return window(of, place(j), 1, 1); };
  const int64_t width = by.v.shape().back();
  const Value back = mul(to_dtype(spread(by.tau, by.v), by.v), conjugated(by.v));
  Value image;
  for (int64_t j = 0; j < width; ++j) {
    const Value term = mul(column(a, j), factor(by.v, j));
    image = image ? add(image, term) : term;
  }
  for (int64_t j = 0; j < width; ++j) {
    a = with_window(a, sub(column(a, j), mul(image, factor(back, j))), place(j), 1);
  }
  return a;
}

// One QR step of every active block of [H, Z^H]: a reflection makes the bulge, others chase it down.
Value chased(Builder& builder, Value h, const Block& block, Value column, int64_t n) {
  const int64_t width = column.shape().back();
  const auto over_all = [&](Value x, bool largest) {
    Ints axes;
    for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
    if (axes.empty()) return x;
    return largest ? reduce_max(x, axes) : reduce_min(x, axes);
  };
  const Value far = full_like(block.first, static_cast<double>(n));
  const Value begin = over_all(select(block.active, block.first, far), false);
  const Value end = over_all(select(block.active, block.last, zeros_like(far)), true);
  const Values results = loop_while(
      builder, {block.first, block.last, convert(block.active, DType::kInt32), column}, {h, begin, end},
      [](Builder&, const Values& carries) { return lt(carries[1], carries[2]); },
      [&](Builder& inner, const Values& constants, const Values& carries) -> Values {
        const Value matrix = carries[0], k = carries[1];
        const Value zero = scalar(inner, 0), one = scalar(inner, 1);
        const Value rows = window(matrix, k, width, 2);
        const Value left_of = part(rows, max(sub(k, one), zero), 1);
        const Value at = equal_to(constants[0], k);
        const Value starts = eq(constants[0], at);
        const Value turns =
            bit_and(ne(constants[2], zeros_like(constants[2])), bit_and(le(constants[0], at), lt(at, constants[1])));
        const Value offset = positions(left_of, 1);
        const Value inside =
            bit_and(spread(turns, left_of), le(add(offset, equal_to(offset, k)), spread(constants[1], offset)));
        const Value x = zero_unless(inside, select(spread(starts, left_of), constants[3], left_of));
        const Reflection by = reflection_of(x, eq(offset, zeros_like(offset)));
        const Value turned = with_window(matrix, reflected_rows(rows, by), k, 2);
        const Value both = with_reflected_columns(turned, by, k);
        return {both, add(k, one), carries[2]};
      });
  return results[0];
}

// Rotations that make the 2 x 2 blocks of real matrices LAPACK's: triangular where eigenvalues are real, else with
// equal numbers on the diagonal. Blocks are disjoint, so that all are one orthogonal matrix.
Form with_standard_blocks(const Form& form) {
  const Value t = form.t;
  const int rank = t.rank();
  const int64_t n = rows_of(t);
  const Value all = diagonal(t);
  const Value a = slice_axis(all, rank - 2, 0, n - 1), d = slice_axis(all, rank - 2, 1, n);
  const Value b = above_diagonal(t), c = below_diagonal(t);
  const Value one = full_like(a, 1), zero = zeros_like(a);
  const Value is_block = ne(c, zero);
  // In units of the largest.
  const Value largest = max(max(abs(b), abs(c)), abs(sub(a, d)));
  const Value unit = select(gt(largest, zero), largest, one);
  const Value half = div(scaled(sub(a, d), 0.5), unit), up = div(b, unit), low = div(c, unit);
  const Value discriminant = add(mul(half, half), mul(up, low));
  const Value is_real = bit_and(is_block, ge(discriminant, zero));
  // Real: the eigenvector (half + sign root, low) of the eigenvalue that lies further from d.
  const Value root = sqrt(select(is_real, discriminant, zero));
  const Value along = select(lt(half, zero), sub(half, root), add(half, root));
  // Complex: the angle at which the diagonal is equal, tan(2 angle) = -(a - d) / (b + c).
  const Value sum = add(up, low), twice = add(half, half);
  const Value size = sqrt(add(mul(sum, sum), mul(twice, twice)));
  const Value is_equal = eq(size, zero);
  const Value safe = select(is_equal, one, size);
  const Value cosine2 = select(is_equal, one, div(abs(sum), safe));
  const Value sine2 = select(is_equal, zero, div(select(lt(sum, zero), neg(twice), twice), safe));
  const Value c_complex = sqrt(scaled(add(cosine2, one), 0.5));
  // (a, b; c, d) turned by (cos, -sin; sin, cos) on the right has (a - d) cos 2x + (b + c) sin 2x as its difference.
  const Value s_complex = neg(div(sine2, add(c_complex, c_complex)));
  const Value length = sqrt(add(mul(along, along), mul(low, low)));
  const Value divisor = select(is_real, length, one);
  const Value cosine = select(is_block, select(is_real, div(along, divisor), c_complex), one);
  const Value sine = select(is_block, select(is_real, div(low, divisor), s_complex), zero);
  // As matrices: cosine at both places of the block's diagonal, sine below it, -sine above.
  const auto at_end = [&](Value x, int64_t before, double value) {
    Ints low_pad(static_cast<size_t>(x.rank()), 0), high_pad = low_pad;
    low_pad.back() = before;
    high_pad.back() = 1 - before;
    return pad(x, full(*x.builder, Aval(x.dtype(), {}), value), low_pad, high_pad, Ints(low_pad.size(), 0));
  };
  const Value row = positions(t, 2), column = positions(t, 1), next = full_like(row, 1);
  const Value on_diagonal = mul(as_columns(at_end(cosine, 0, 1), t), as_columns(at_end(cosine, 1, 1), t));
  const Value under = as_rows(at_end(sine, 0, 0), t), over = neg(as_columns(at_end(sine, 0, 0), t));
  const Value is_under = eq(row, add(column, next)), is_over = eq(column, add(row, next));
  const Value turn = select(is_diagonal(t), on_diagonal, select(is_under, under, select(is_over, over, zeros_like(t))));
  Value standard = multiply(transposed(turn), multiply(t, turn));
  // What is exact but for rounding.
  const Value real_below = as_rows(at_end(convert(bit_or(is_real, logical_not(is_block)), t.dtype()), 0, 1), t);
  standard = select(bit_and(is_under, gt(real_below, zeros_like(t))), zeros_like(t),
                    select(gt(row, add(column, next)), zeros_like(t), standard));
  const Value found = diagonal(standard);
  const Value first = slice_axis(found, rank - 2, 0, n - 1), second = slice_axis(found, rank - 2, 1, n);
  const Value complex_block = bit_and(is_block, logical_not(is_real));
  const Value mean = scaled(add(first, second), 0.5);
  const auto mark = [&](int64_t before) {
    return gt(at_end(convert(complex_block, t.dtype()), before, 0), zeros_like(found));
  };
  const Value equal = select(mark(0), at_end(mean, 0, 0), select(mark(1), at_end(mean, 1, 0), found));
  standard = select(is_diagonal(t), as_columns(equal, t), standard);
  return {standard, form.z ? multiply(form.z, turn) : Value(), form.found};
}

// Of finite matrices whose largest elements are about 1.
Form schur_form(Builder& builder, Value a, bool vectors) {
  const int rank = a.rank();
  const int64_t n = rows_of(a);
  Shape batch = batch_shape(a.aval());
  if (n < 2) return {a, identity_like(a), full(builder, Aval(DType::kBool, batch), 1)};
  const bool is_real = !is_complex(a.dtype());
  const Value start = hessenberg(builder, a, vectors);
  // A reflection of three rows may reach one beyond the last.
  const int64_t more = is_real ? 1 : 0, width = n + more;
  const auto padded = [&](Value x, int64_t columns) {
    if (more == 0) return x;
    Ints low(static_cast<size_t>(rank), 0), high = low, inside = low;
    high.back() = columns;
    high[high.size() - 2] = more;
    return pad(x, zeros(builder, Aval(x.dtype(), {})), low, high, inside);
  };
  const Value whole =
      beside_adjoint(padded(first_columns(start, n), more), vectors ? padded(last_columns(start, n), 0) : Value());
  const double most = 30.0 * static_cast<double>(std::max<int64_t>(n, 10));
  const Value none = zeros(builder, Aval(DType::kInt32, batch));
  // The step's number, how many blocks are active, for each matrix where its block ended and for how many steps.
  const Value norm = sqrt(reduce_sum(squared_size(a), {rank - 2, rank - 1}));
  const Values results = loop_while(
      builder, {norm}, {whole, scalar(builder, 0), scalar(builder, 1), none, none},
      [&](Builder& inner, const Values& carries) {
        const Value zero = scalar(inner, 0);
        return bit_and(gt(carries[2], zero), lt(carries[1], scalar(inner, most)));
      },
      [&](Builder& inner, const Values& constants, const Values& carries) -> Values {
        Value h = carries[0];
        // What is next to nothing beside its neighbours on the diagonal is nothing.
        const Value square = first_columns(h, width), sizes = abs(diagonal(square));
        const Value pairs = add(slice_axis(sizes, rank - 2, 0, width - 1), slice_axis(sizes, rank - 2, 1, width));
        const Value beside = abs(below_diagonal(square));
        const Value tiny = spread(mul(constants[0], full_like(constants[0], precision_of(h))), pairs);
        const Value scale = mul(select(gt(pairs, tiny), pairs, tiny), full_like(pairs, precision_of(h)));
        const Value stays = gt(beside, scale);
        Ints low(static_cast<size_t>(rank - 1), 0), high = low;
        high.back() = 1;
        Ints rest = high;
        rest.back() = columns_of(h) - width + 1;
        const Value kept = pad(convert(stays, DType::kInt32), scalar(inner, 0), low, rest, Ints(low.size(), 0));
        const Value row = positions(h, 2), column = positions(h, 1), next = add(column, full_like(column, 1));
        const Value is_kept = bit_or(le(row, column), bit_and(eq(row, next), gt(as_rows(kept, h), zeros_like(row))));
        h = zero_unless(is_kept, h);
        // Real blocks of two rows stay: blocks that are active have two elements beside the diagonal in a row.
        Value unfinished = slice_axis(stays, rank - 2, 0, n - 1);
        Value last_of;
        if (is_real) {
          const Value previous =
              slice_axis(pad(convert(unfinished, DType::kInt32), scalar(inner, 0), high, low, Ints(low.size(), 0)),
                         rank - 2, 0, n - 1);
          last_of = bit_and(unfinished, gt(previous, zeros_like(previous)));
        } else {
          last_of = unfinished;
        }
        const Value place = iota(inner, Aval(DType::kInt32, unfinished.shape()), rank - 2);
        const Value last = reduce_max(select(last_of, place, full_like(place, -1)), {rank - 2});
        const Block block = active_block(bit_and(unfinished, le(place, spread(last, place))));
        const Block of{block.first, block.last, ge(last, zeros_like(last))};
        const Value same = eq(of.last, carries[3]);
        const Value one = full_like(carries[4], 1);
        const Value steps = select(same, add(carries[4], one), one);
        const Value ten = full_like(steps, 10);
        const Value exceptional = eq(rem(steps, ten), zeros_like(steps));
        const Value moved = chased(inner, h, of, first_column(h, of, exceptional), n);
        return {moved, add(carries[1], scalar(inner, 1)), any(of.active), of.last, steps};
      });
  const Value found_rows = slice_axis(results[0], rank - 2, 0, n), t = first_columns(found_rows, n);
  const Value z = vectors ? adjoint(last_columns(found_rows, width)) : Value();
  const Value beside = ne(abs(below_diagonal(t)), zeros_like(abs(below_diagonal(t))));
  if (!is_real) {
    const Value left = reduce_max(convert(beside, DType::kInt32), {rank - 2});
    return {upper_triangle(t), z, eq(left, zeros_like(left))};
  }
  Value found = full(builder, Aval(DType::kBool, batch), 1);
  if (n > 2) {
    const Value two = bit_and(slice_axis(beside, rank - 2, 0, n - 2), slice_axis(beside, rank - 2, 1, n - 1));
    const Value left = reduce_max(convert(two, DType::kInt32), {rank - 2});
    found = eq(left, zeros_like(left));
  }
  return with_standard_blocks({t, z, found});
}

// The complex form: 2 x 2 blocks of real ones become triangular. Their eigenvalues are conjugates to the last bit.
Form complex_form(Builder& builder, Value a, bool vectors) {
  Form form = schur_form(builder, a, vectors);
  if (is_complex(a.dtype())) return form;
  const int rank = a.rank();
  const int64_t n = rows_of(a);
  const DType dtype = complex_dtype(a.dtype());
  if (n < 2) return {convert(form.t, dtype), vectors ? convert(form.z, dtype) : Value(), form.found};
  const Value b = above_diagonal(form.t), c = below_diagonal(form.t), zero = zeros_like(b), one = full_like(b, 1);
  const Value is_block = ne(c, zero);
  // The eigenvector (b, i mu) of a + i mu, with mu = sqrt |b| sqrt |c|, is (sqrt |b|, i sign(b) sqrt |c|).
  const Value p = sqrt(abs(b)), q = sqrt(abs(c));
  const Value length = select(is_block, sqrt(add(abs(b), abs(c))), one);
  const Value cosine = select(is_block, div(p, length), one);
  const Value sine = zero_unless(is_block, div(select(lt(b, zero), neg(q), q), length));
  const Value mu = zero_unless(is_block, mul(p, q));
  const auto at = [&](Value x, int64_t before, double value) {
    Ints low(static_cast<size_t>(rank - 1), 0), high = low;
    low.back() = before;
    high.back() = 1 - before;
    return pad(x, full(builder, Aval(x.dtype(), {}), value), low, high, Ints(low.size(), 0));
  };
  // (cosine, i sine; i sine, cosine) is unitary.
  const Value t = form.t, row = positions(t, 2), column = positions(t, 1), next = full_like(row, 1);
  const Value re = zero_unless(is_diagonal(t), mul(as_columns(at(cosine, 0, 1), t), as_columns(at(cosine, 1, 1), t)));
  const Value im = select(eq(row, add(column, next)), as_rows(at(sine, 0, 0), t),
                          zero_unless(eq(column, add(row, next)), as_columns(at(sine, 0, 0), t)));
  const Value turn = make_complex(re, im);
  const Value turned = upper_triangle(multiply(adjoint(turn), multiply(convert(t, dtype), turn)), 1);
  const Value w = make_complex(diagonal(t), sub(at(mu, 0, 0), at(mu, 1, 0)));
  const Value whole = select(is_diagonal(t), as_columns(w, turned), turned);
  return {whole, vectors ? multiply(convert(form.z, dtype), turn) : Value(), form.found};
}

// Right eigenvectors of upper triangular matrices, as columns of unit upper triangular ones up to their lengths: by
// back substitution, in which columns that grow are divided by what they have grown to.
Value triangular_vectors(Builder& builder, Value t) {
  const int rank = t.rank();
  const int64_t n = rows_of(t);
  const Value w = diagonal(t);
  const Value size_of_w = largest_part(w);
  const double precision = precision_of(t);
  const double least = is_wide(t) ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const Value bounds = max(scaled(size_of_w, precision), full_like(size_of_w, least / precision));
  const Values results = column_loop(builder, {upper_triangle(t, 1), w, bounds}, {identity_like(t)}, n, true,
                                     [&](Builder&, Value i, const Values& constants, const Values& carries) -> Step {
                                       const Value x = carries[0];
                                       const Value row = part(constants[0], i, 2);
                                       const Value sum = reduce_sum(mul(as_columns(row, x), x), {rank - 2});
                                       const Value here = spread(part(constants[1], i, 1), constants[1]);
                                       const Value gap = sub(constants[1], here), bound = constants[2];
                                       const Value divisor = select(lt(abs(gap), bound), to_dtype(bound, gap), gap);
                                       const Value place = positions(gap, 1), at = equal_to(place, i);
                                       const Value found = zero_unless(gt(place, at), div(sum, divisor));
                                       const Value size = abs(found), one = full_like(size, 1);
                                       const Value factor = div(one, max(size, one));
                                       const Value kept = mul(x, as_rows(to_dtype(factor, x), x));
                                       const Value scaled_row = mul(found, to_dtype(factor, found));
                                       const Value is_row = bit_and(eq(positions(x, 2), equal_to(positions(x, 2), i)),
                                                                    gt(positions(x, 1), equal_to(positions(x, 1), i)));
                                       return {{select(is_row, as_rows(scaled_row, x), kept)}, {}};
                                     });
  return results[0];
}

// Of length 1, with a real largest component. Those of real matrices' real eigenvalues are real, and those of a pair
// conjugates.
Value normalized(Value v, Value w, bool of_real) {
  const int rank = v.rank();
  const auto along = [&](Value numbers) { return as_rows(numbers, v); };
  const Value size = reduce_max(largest_part(v), {rank - 2});
  const Value safe = select(gt(size, zeros_like(size)), size, full_like(size, 1));
  v = div(v, to_dtype(along(safe), v));
  const Value squares = squared_size(v);
  const Value length = sqrt(reduce_sum(squares, {rank - 2}));
  const Value divisor = select(gt(length, zeros_like(length)), length, full_like(length, 1));
  const Value is_largest = eq(squares, along(reduce_max(squares, {rank - 2})));
  const Value row = positions(v, 2);
  const Value best = reduce_min(select(is_largest, row, full_like(row, static_cast<double>(rows_of(v)))), {rank - 2});
  const Value at = eq(row, along(best));
  const Value pivot = reduce_sum(zero_unless(at, v), {rank - 2});
  const Value modulus = abs(pivot);
  const Value is_something = gt(modulus, zeros_like(modulus));
  const Value unit = select(is_something, modulus, full_like(modulus, 1));
  const Value phase = select(is_something, div(conj(pivot), to_dtype(unit, pivot)), full_like(pivot, 1));
  v = mul(v, along(div(phase, to_dtype(divisor, phase))));
  v = make_complex(real(v), select(at, zeros_like(real(v)), imag(v)));
  if (!of_real) return v;
  const Value side = imag(w), zero = zeros_like(side);
  const Value place = positions(side, 1), one = full_like(place, 1);
  const Value source = select(lt(side, zero), max(sub(place, one), zeros_like(place)), place);
  const Value drawn = gather(v, source, rank - 1, rank - 2);
  const Value sign =
      along(select(lt(side, zero), full_like(side, -1), select(gt(side, zero), full_like(side, 1), zero)));
  return make_complex(real(drawn), mul(imag(drawn), sign));
}

Value poison_unless(Value found, Value poison) {
  return select(found, poison, full_like(poison, std::numeric_limits<double>::quiet_NaN()));
}

Value leading(Value a, Value size) { return size ? zero_unless(is_inside(a, size, size), a) : a; }

}  // namespace

Values schur_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  const Value size = size_operand(operands, 1), a = leading(operands[0], size);
  const size_t count = attrs->flag("compute_vectors") ? 2 : 1;
  if (a.aval().size() == 0) return Values(count, a);
  const PowerScaled given = scaled_to_one(a);
  const Form form = schur_form(builder, given.a, count > 1);
  const Value poison = poison_unless(form.found, given.poison);
  const Value t = mul(form.t, to_dtype(spread(given.scale, form.t), form.t));
  Values results{leading(with_poison(t, poison), size)};
  if (count > 1) results.push_back(leading(with_poison(form.z, poison), size));
  return results;
}

Values eig_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  const Value size = size_operand(operands, 1), a = leading(operands[0], size);
  const bool left = attrs->flag("left"), right = attrs->flag("right"), of_real = !is_complex(a.dtype());
  const DType dtype = of_real ? complex_dtype(a.dtype()) : a.dtype();
  if (a.aval().size() == 0) {
    Shape shape = batch_shape(a.aval());
    shape.push_back(rows_of(a));
    Values results{zeros(builder, Aval(dtype, shape))};
    for (const bool wanted : {left, right}) {
      if (wanted) results.push_back(convert(a, dtype));
    }
    return results;
  }
  const PowerScaled given = scaled_to_one(a);
  const Form form = complex_form(builder, given.a, left || right);
  const Value poison = poison_unless(form.found, given.poison);
  const Value w = diagonal(form.t);
  Value scaled_w = with_poison(mul(w, to_dtype(spread(given.scale, w), w)), poison);
  if (size) scaled_w = zero_unless(lt(positions(scaled_w, 1), spread(size, scaled_w)), scaled_w);
  Values results{scaled_w};
  const auto finished = [&](Value vectors) {
    return leading(with_poison(normalized(multiply(form.z, vectors), w, of_real), poison), size);
  };
  if (left) {
    // Those of the adjoint, which is lower triangular: seen from its other end it is upper triangular.
    const Ints last{a.rank() - 2, a.rank() - 1};
    results.push_back(finished(reverse(triangular_vectors(builder, reverse(adjoint(form.t), last)), last)));
  }
  if (right) results.push_back(finished(triangular_vectors(builder, form.t)));
  return results;
}

// Bartels, Stewart, "Solution of the matrix equation AX + XB = C", 1972: with the forms of A and B, the columns of X
// are solutions of triangular systems, the one after the other.
Values sylvester_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr&) {
  const Value rows = size_operand(operands, 3), columns = size_operand(operands, 4);
  const Value c = rows ? zero_unless(is_inside(operands[2], rows, columns), operands[2]) : operands[2];
  if (c.aval().size() == 0) return {c};
  const PowerScaled left = scaled_to_one(leading(operands[0], rows)),
                    right = scaled_to_one(leading(operands[1], columns));
  const Form a = complex_form(builder, left.a, true), b = complex_form(builder, right.a, true);
  const DType dtype = a.t.dtype();
  const int rank = c.rank();
  const auto unscaled = [&](Value t, Value scale) { return mul(t, to_dtype(spread(scale, t), t)); };
  const Value upper = unscaled(a.t, left.scale), other = unscaled(b.t, right.scale);
  const Value right_side = multiply(adjoint(a.z), multiply(convert(c, dtype), b.z));
  const Value size = max(left.scale, right.scale);
  const Value least = max(mul(size, full_like(size, precision_of(c))),
                          full_like(size, static_cast<double>(std::numeric_limits<float>::min())));
  const Values results = column_loop(builder, {upper, other, least}, {right_side}, columns_of(c), false,
                                     [&](Builder&, Value k, const Values& constants, const Values& carries) -> Step {
                                       const Value f = carries[0];
                                       const Value row = part(constants[1], k, 2);
                                       const Value corner = spread(part(row, k, 1), constants[0]);
                                       const Value sum = add(constants[0], corner);
                                       const Value bound = spread(constants[2], abs(sum));
                                       const Value safe = select(lt(abs(sum), bound), to_dtype(bound, sum), sum);
                                       const Value shifted = select(is_diagonal(constants[0]), safe, constants[0]);
                                       const Value solved = bind_triangular(
                                           {shifted, expand_dims(part(f, k, 1), rank - 1)}, {true, false});
                                       const Value y = squeeze(solved, rank - 1);
                                       const Value at = equal_to(positions(f, 1), k);
                                       const Value rest = sub(f, outer(y, row, f));
                                       const Value kept = select(eq(positions(f, 1), at), as_columns(y, f), f);
                                       return {{select(gt(positions(f, 1), at), rest, kept)}, {}};
                                     });
  const Value found = multiply(a.z, multiply(results[0], adjoint(b.z)));
  Value x = is_complex(c.dtype()) ? found : real(found);
  const Value poison = add(poison_unless(a.found, left.poison), poison_unless(b.found, right.poison));
  x = with_poison(x, poison);
  return {rows ? zero_unless(is_inside(x, rows, columns), x) : x};
}

}  // namespace ct::linalg
