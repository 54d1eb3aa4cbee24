// Transforms of reals, two lines at a time: with a and b real and z = a + i b, the transforms of a and b are
// (Z[k] + conj Z[n - k]) / 2 and (Z[k] - conj Z[n - k]) / 2i. Both lines are parts of one row, or else a large row
// would leave its rounding errors, or its NaNs, in another: columns of the matrix that a long one is, or its even and
// its odd elements.
#include <algorithm>
#include <utility>
#include <vector>

#include "jit/loop/expand/fourier_lines.h"

namespace ct::loop {
namespace {

struct Pair {
  Complex a, b;
};

// Twice the transforms.
Pair taken_apart(const Complex& z, const Complex& mirrored) {
  return {{z.re + mirrored.re, z.im - mirrored.im}, {z.im + mirrored.im, mirrored.re - z.re}};
}

// Z[k] and Z[n - k].
std::pair<Complex, Complex> put_together(const Pair& pair) {
  const auto& [a, b] = pair;
  return {{a.re - b.im, a.im + b.re}, {a.re + b.im, b.re - a.im}};
}

}  // namespace

// For each k up to n / 2, of a transform in `z`.
void FourierEmitter::take_apart(
    const Scratch& z, int64_t length,
    const std::function<void(const Index&, const Index&, const Complex&, const Complex&)>& to) {
  const auto one = [&](const Index& k, const Index& mirrored) {
    b_.for_each(z.lanes, {.vectorize = true}, [&](const Index& lane) {
      const Pair pair = taken_apart(load(z, k, lane), load(z, mirrored, lane));
      to(k, lane, pair.a, pair.b);
    });
  };
  one(0, 0);
  if (length > 1) loop(length / 2, [&](const Index& k) { one(k + 1, length - 1 - k); });
}

// Z from the coefficients up to n / 2 of both transforms.
void FourierEmitter::put_together_lines(const Scratch& z, int64_t length,
                                        const std::function<Complex(const Index&, const Index&, int)>& from) {
  const auto alone = [&](const Index& k) {
    b_.for_each(z.lanes, {.vectorize = true},
                [&](const Index& lane) { store(z, k, lane, {from(k, lane, 0).re, from(k, lane, 1).re}); });
  };
  alone(0);
  if (length > 1 && length % 2 == 0) alone(length / 2);
  const int64_t pairs = (length - 1) / 2;
  if (pairs == 0) return;
  loop(pairs, [&](const Index& i) {
    b_.for_each(z.lanes, {.vectorize = true}, [&](const Index& lane) {
      const auto [low, high] = put_together({from(i + 1, lane, 0), from(i + 1, lane, 1)});
      store(z, i + 1, lane, low);
      store(z, length - 1 - i, lane, high);
    });
  });
}

// ---- many rows ------------------------------------------------------------------------------------------------------

// An even row's neighbours are parts of one complex number. With E and O the transforms of the even and the odd ones,
// X[k] = E[k] + w^k O[k] and X[n / 2 - k] = conj(E[k] - w^k O[k]): body(k, -i w^k) for all pairs of these.
void FourierEmitter::over_mirrored(int64_t length, int64_t lanes,
                                   const std::function<void(const Index&, const Index&, const Complex&)>& body) {
  const int64_t pairs = length / 4;
  if (pairs == 0) return;
  std::vector<double> numbers;
  for (int64_t k = 1; k <= pairs; ++k) {
    const Root root = root_of_unity(k, length);
    numbers.push_back(root.im);
    numbers.push_back(-root.re);
  }
  const BufferId table = constant_table(real_, numbers);
  loop(pairs, [&](const Index& i) {
    b_.for_each(lanes, {.vectorize = true}, [&](const Index& lane) {
      body(i + 1, lane, {real(b_.load(table, i * 2)), real(b_.load(table, i * 2 + 1))});
    });
  });
}

void FourierEmitter::real_rows(int64_t outer, int64_t length, const FourierArray& from, const FourierArray& to) {
  const int64_t lanes = std::min(full_lanes(), outer), half = length / 2 + 1;
  const bool even = length % 2 == 0;
  const int64_t points = even ? length / 2 : length, results = even ? half : length;
  const int64_t groups = (outer + lanes - 1) / lanes, pieces = pieces_of(groups).count;
  const Scratch before = scratch(pieces, points, lanes), after = scratch(pieces, results, lanes);
  over_groups(groups, [&](const Index& group, const Index& piece) {
    const Index first = at_most(group * lanes, outer - lanes);
    const Scratch in = piece_of(before, piece, points), out = piece_of(after, piece, results);
    transpose(Rows{from.buffer, from.offset + first * length, length}, even ? all_parts(in) : one_part(in, 0), lanes,
              length);
    const Load reals = [&](const Index& point, const Index& lane) {
      return Complex{real(b_.load(in.buffer, in.at(point, 0, lane))), real(b_.constant(real_, 0))};
    };
    passes(points, in, even ? Load() : reals, [&](const Index& point, const Index& lane, const Complex& value) {
      store(out, point, lane, even ? value : scaled(value));
    });
    if (even) {
      b_.for_each(lanes, {.vectorize = true}, [&](const Index& lane) {
        const Complex z = load(out, 0, lane);
        const Num zero = real(b_.constant(real_, 0));
        store(out, 0, lane, scaled({z.re + z.im, zero}));
        store(out, points, lane, scaled({z.re - z.im, zero}));
      });
      over_mirrored(length, lanes, [&](const Index& k, const Index& lane, const Complex& turn) {
        const Complex z = load(out, k, lane), mirrored = load(out, points - k, lane);
        const Complex sum{z.re + mirrored.re, z.im - mirrored.im};
        const Complex odd = multiply({z.re - mirrored.re, z.im + mirrored.im}, turn);
        const Complex low = scaled(sum + odd, 0.5), high = scaled(sum - odd, 0.5);
        store(out, k, lane, low);
        store(out, points - k, lane, {high.re, -high.im});
      });
    }
    transpose(all_parts(out), Rows{to.buffer, (to.offset + first * half) * 2, 2 * half}, lanes, 2 * half);
  });
}

void FourierEmitter::rows_to_real(int64_t outer, int64_t length, const FourierArray& from, const FourierArray& to) {
  const int64_t lanes = std::min(full_lanes(), outer), half = length / 2 + 1;
  const bool even = length % 2 == 0;
  const int64_t points = even ? length / 2 : length, given = even ? half : length;
  const int64_t groups = (outer + lanes - 1) / lanes, pieces = pieces_of(groups).count;
  const Scratch before = scratch(pieces, given, lanes), after = scratch(pieces, points, lanes);
  over_groups(groups, [&](const Index& group, const Index& piece) {
    const Index first = at_most(group * lanes, outer - lanes);
    const Scratch in = piece_of(before, piece, given), out = piece_of(after, piece, points);
    transpose(Rows{from.buffer, (from.offset + first * half) * 2, 2 * half}, all_parts(in), lanes, 2 * half);
    b_.for_each(lanes, {.vectorize = true}, [&](const Index& lane) {
      const Num first_re = load(in, 0, lane).re;
      if (even) {
        const Num last_re = load(in, points, lane).re;
        store(in, 0, lane, {first_re + last_re, first_re - last_re});
      } else {
        store(in, 0, lane, {first_re, real(b_.constant(real_, 0))});
      }
    });
    if (even) {
      over_mirrored(length, lanes, [&](const Index& k, const Index& lane, const Complex& turn) {
        const Complex x = load(in, k, lane), mirrored = load(in, points - k, lane);
        const Complex sum{x.re + mirrored.re, x.im - mirrored.im};
        const Complex odd = multiply({x.re - mirrored.re, x.im + mirrored.im}, {turn.re, -turn.im});
        const Complex high = sum - odd;
        store(in, k, lane, sum + odd);
        store(in, points - k, lane, {high.re, -high.im});
      });
    } else if (half > 1) {
      loop(half - 1, [&](const Index& i) {
        b_.for_each(lanes, {.vectorize = true}, [&](const Index& lane) {
          const Complex x = load(in, i + 1, lane);
          store(in, length - 1 - i, lane, {x.re, -x.im});
        });
      });
    }
    passes(
        points, in, [&](const Index& point, const Index& lane) { return turned(load(in, point, lane)); },
        [&](const Index& point, const Index& lane, const Complex& value) {
          const Complex result = turned(scaled(value));
          if (even) return store(out, point, lane, result);
          b_.store(out.buffer, out.at(point, 0, lane), result.re.scalar());
        });
    transpose(even ? all_parts(out) : one_part(out, 0), Rows{to.buffer, to.offset + first * length, length}, lanes,
              length);
  });
}

// ---- long rows ------------------------------------------------------------------------------------------------------

// x[j1 n2 + j2] becomes X[k1 + n1 k2]: the columns for k1 up to n1 / 2; of their rows those up to the middle are
// results, and the others conjugates of results from the middle downwards.
void FourierEmitter::real_matrix(int64_t outer, int64_t n1, int64_t n2, const FourierArray& from,
                                 const FourierArray& to) {
  const int64_t lanes = full_lanes(), kept = n1 / 2 + 1, n = n1 * n2;
  const int64_t across = (n2 + 2 * lanes - 1) / (2 * lanes), down = (kept + lanes - 1) / lanes;
  const Roots all_roots = roots(n);
  const Scratch of_lanes = lane_roots(all_roots, kept);
  const bool by_rows = shares_rows(outer, n);
  const auto pieces = [&](int64_t groups) { return pieces_of(by_rows ? outer : groups).count; };
  const int64_t across_pieces = pieces(across);
  const Scratch column_scratch = scratch(across_pieces, n1, lanes), column_results = scratch(across_pieces, n1, lanes);
  const BufferId of_groups = b_.temporary(real_, across_pieces * kept * 4, 0);
  const Scratch all_between = scratch((by_rows ? across_pieces : 1) * 2 * across, kept, lanes);
  const Scratch row_scratch = scratch(pieces(down), n2, lanes);

  over_rows(by_rows, outer, [&](const Index& row, const Groups& groups, const Index& row_piece) {
    const Index origin = from.offset + row * n, target = row * (n / 2 + 1);
    const Scratch between = piece_of(all_between, row_piece * (2 * across), kept);
    groups(across, [&](const Index& group, const Index& piece) {
      const Index first = at_most(group * (2 * lanes), n2 - 2 * lanes);
      const Index own_roots[] = {piece * (4 * kept), piece * (4 * kept) + 2 * kept};
      for (int line : {0, 1}) store_roots(all_roots, kept, first + line * lanes, of_groups, own_roots[line]);
      const Scratch results = piece_of(column_results, piece, n1);
      passes(
          n1, piece_of(column_scratch, piece, n1),
          [&](const Index& point, const Index& lane) {
            const Index at = origin + point * n2 + first + lane;
            return Complex{real(b_.load(from.buffer, at)), real(b_.load(from.buffer, at + lanes))};
          },
          [&](const Index& point, const Index& lane, const Complex& value) { store(results, point, lane, value); });
      take_apart(results, n1, [&](const Index& k, const Index& lane, const Complex& a, const Complex& b) {
        for (int line : {0, 1}) {
          const Complex turn = group_root(of_lanes, kept, of_groups, own_roots[line], k, lane);
          store(piece_of(between, group * 2 + line, kept), k, lane, multiply(scaled(line == 0 ? a : b, 0.5), turn));
        }
      });
    });
    groups(down, [&](const Index& group, const Index& piece) {
      const Index first = at_most(group * lanes, kept - lanes);
      const Scratch own = piece_of(row_scratch, piece, n2);
      loop(across, [&](const Index& block) {
        const Index start = at_most(block * (2 * lanes), n2 - 2 * lanes);
        for (int line : {0, 1}) {
          turn_lanes(piece_of(between, block * 2 + line, kept), first, own, start + line * lanes);
        }
      });
      passes(n2, own, nullptr, [&](const Index& point, const Index& lane, const Complex& value) {
        in_half(
            point, n2, [&] { store_plain(to, target + first + lane + point * n1, value); },
            [&] { store_plain(to, target + n - point * n1 - first - lane, {value.re, -value.im}); });
      });
    });
  });
}

// X[k1 + n1 k2] becomes x[j1 n2 + j2]: first along k2 for k1 up to n1 / 2, then columns, of which the others are
// conjugates.
void FourierEmitter::matrix_to_real(int64_t outer, int64_t n1, int64_t n2, const FourierArray& from,
                                    const FourierArray& to) {
  const int64_t lanes = full_lanes(), kept = n1 / 2 + 1, n = n1 * n2;
  const int64_t across = (n2 + 2 * lanes - 1) / (2 * lanes), down = (kept + lanes - 1) / lanes;
  const Roots all_roots = roots(n);
  const Scratch of_lanes = lane_roots(all_roots, n2);
  const bool by_rows = shares_rows(outer, n);
  const auto pieces = [&](int64_t groups) { return pieces_of(by_rows ? outer : groups).count; };
  const int64_t down_pieces = pieces(down), across_pieces = pieces(across);
  const Scratch row_scratch = scratch(down_pieces, n2, lanes);
  const BufferId of_groups = b_.temporary(real_, down_pieces * n2 * 2, 0);
  const Scratch all_between = scratch((by_rows ? down_pieces : 1) * down, n2, lanes);
  const Scratch column_scratch = scratch(across_pieces, n1, lanes);
  const Scratch lines[] = {scratch(across_pieces, kept, lanes), scratch(across_pieces, kept, lanes)};

  over_rows(by_rows, outer, [&](const Index& row, const Groups& groups, const Index& row_piece) {
    const Index origin = row * (n / 2 + 1), target = to.offset + row * n;
    const Scratch between = piece_of(all_between, row_piece * down, n2);
    groups(down, [&](const Index& group, const Index& piece) {
      const Index first = at_most(group * lanes, kept - lanes), own_roots = piece * (2 * n2);
      store_roots(all_roots, n2, first, of_groups, own_roots);
      passes(
          n2, piece_of(row_scratch, piece, n2),
          [&](const Index& point, const Index& lane) {
            return either_half(
                point, n2, [&] { return load(from, origin + first + lane + point * n1); },
                [&] {
                  // Exchanged already.
                  const Complex value = load(from, origin + n - point * n1 - first - lane);
                  return Complex{-value.re, value.im};
                });
          },
          [&](const Index& point, const Index& lane, const Complex& value) {
            const Complex turn = group_root(of_lanes, n2, of_groups, own_roots, point, lane);
            store(piece_of(between, group, n2), point, lane, multiply(value, turn));
          });
    });
    groups(across, [&](const Index& group, const Index& piece) {
      const Index first = at_most(group * (2 * lanes), n2 - 2 * lanes);
      const Scratch in = piece_of(column_scratch, piece, n1);
      const Scratch own[] = {piece_of(lines[0], piece, kept), piece_of(lines[1], piece, kept)};
      loop(down, [&](const Index& block) {
        const Index start = at_most(block * lanes, kept - lanes);
        for (int line : {0, 1}) turn_lanes(piece_of(between, block, n2), first + line * lanes, own[line], start);
      });
      put_together_lines(in, n1,
                         [&](const Index& k, const Index& lane, int line) { return turned(load(own[line], k, lane)); });
      passes(
          n1, in, [&](const Index& point, const Index& lane) { return turned(load(in, point, lane)); },
          [&](const Index& point, const Index& lane, const Complex& value) {
            const Complex result = turned(scaled(value));
            const Index at = target + point * n2 + first + lane;
            b_.store(to.buffer, at, result.re.scalar());
            b_.store(to.buffer, at + lanes, result.im.scalar());
          });
    });
  });
}

// ---- halves of a spectrum -------------------------------------------------------------------------------------------

// Which of the two applies to rows up to the middle, and to those from there on.
Complex FourierEmitter::either_half(const Index& point, int64_t n2, const std::function<Complex()>& low,
                                    const std::function<Complex()>& high) {
  const int64_t middle = (n2 + 1) / 2;
  const Range range = b_.range_of(point);
  if (range.high < middle) return low();
  if (range.low >= middle) return high();
  const auto values = [](const Complex& value) { return Scalars{value.re.scalar(), value.im.scalar()}; };
  const Scalar is_low = b_.apply(ScalarOp::kLt, b_.to_scalar(point), b_.constant(DType::kInt64, middle));
  const Scalars chosen = b_.if_else(is_low, [&] { return values(low()); }, [&] { return values(high()); });
  return {real(chosen[0]), real(chosen[1])};
}

void FourierEmitter::in_half(const Index& point, int64_t n2, const std::function<void()>& low,
                             const std::function<void()>& high) {
  const int64_t middle = (n2 + 1) / 2;
  const Range range = b_.range_of(point);
  if (range.high < middle) return low();
  if (range.low >= middle) return high();
  const auto nothing = [](const std::function<void()>& body) {
    body();
    return Scalars{};
  };
  const Scalar is_low = b_.apply(ScalarOp::kLt, b_.to_scalar(point), b_.constant(DType::kInt64, middle));
  b_.if_else(is_low, [&] { return nothing(low); }, [&] { return nothing(high); });
}

}  // namespace ct::loop
