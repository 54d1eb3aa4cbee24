#include "jit/loop/expand/fourier.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "jit/loop/expand/fourier_lines.h"
#include "runtime/error.h"

namespace ct::loop {

void FourierEmitter::columns(const FourierShape& shape, const FourierArray& from, const FourierArray& to) {
  const int64_t lanes = std::min(full_lanes(), shape.inner);
  const int64_t across = (shape.inner + lanes - 1) / lanes;
  const Scratch all = scratch(pieces_of(shape.outer * across).count, shape.length, lanes);
  over_groups(shape.outer * across, [&](const Index& group, const Index& piece) {
    const Index first = b_.divide(group, across) * (shape.length * shape.inner) +
                        at_most(b_.modulo(group, across) * lanes, shape.inner - lanes);
    passes(
        shape.length, piece_of(all, piece, shape.length),
        [&](const Index& point, const Index& lane) { return load(from, first + point * shape.inner + lane); },
        [&](const Index& point, const Index& lane, const Complex& value) {
          store(to, first + point * shape.inner + lane, value);
        });
  });
}

// x[j1 n2 + j2] becomes X[k1 + n1 k2], of each column.
void FourierEmitter::long_columns(const FourierShape& shape, int64_t n1, int64_t n2, const FourierArray& from,
                                  const FourierArray& to) {
  const int64_t lanes = std::min(full_lanes(), shape.inner), all = n1 * n2 * shape.inner;
  const int64_t across = (shape.inner + lanes - 1) / lanes;
  const int64_t pieces = pieces_of(shape.outer * n2 * across).count;
  const Roots all_roots = roots(n1 * n2);
  const Scratch first_scratch = scratch(pieces, n1, lanes);
  const Scratch second_scratch = scratch(pieces_of(shape.outer * n1 * across).count, n2, lanes);
  const BufferId of_groups = b_.temporary(real_, pieces * n1 * 2, 0);
  const FourierArray between{b_.temporary(complex_dtype(real_), shape.outer * all, 0), 0};
  // Where column `lane` of the group begins, in an array [outer][count][inner].
  const auto start_of = [&](const Index& group, int64_t count, Index* number) {
    const Index line = b_.divide(group, across);
    *number = b_.modulo(line, count);
    return b_.divide(line, count) * all + at_most(b_.modulo(group, across) * lanes, shape.inner - lanes);
  };
  over_groups(shape.outer * n2 * across, [&](const Index& group, const Index& piece) {
    Index j2;
    const Index start = start_of(group, n2, &j2), first = start + j2 * shape.inner, own_roots = piece * (2 * n1);
    store_roots(all_roots, n1, j2, of_groups, own_roots);
    passes(
        n1, piece_of(first_scratch, piece, n1),
        [&](const Index& point, const Index& lane) { return load(from, first + point * (n2 * shape.inner) + lane); },
        [&](const Index& point, const Index& lane, const Complex& value) {
          const Complex turn{real(b_.load(of_groups, own_roots + point)),
                             real(b_.load(of_groups, own_roots + n1 + point))};
          store_plain(between, first + point * (n2 * shape.inner) + lane, multiply(value, turn));
        });
  });
  over_groups(shape.outer * n1 * across, [&](const Index& group, const Index& piece) {
    Index k1;
    const Index start = start_of(group, n1, &k1);
    passes(
        n2, piece_of(second_scratch, piece, n2),
        [&](const Index& point, const Index& lane) {
          return turned(load(between, start + k1 * (n2 * shape.inner) + point * shape.inner + lane));
        },
        [&](const Index& point, const Index& lane, const Complex& value) {
          store(to, start + k1 * shape.inner + point * (n1 * shape.inner) + lane, value);
        });
  });
}

void FourierEmitter::rows(const FourierShape& shape, const FourierArray& from, const FourierArray& to) {
  const int64_t n = shape.length, lanes = std::min(full_lanes(), shape.outer);
  const int64_t groups = (shape.outer + lanes - 1) / lanes, pieces = pieces_of(groups).count;
  const Scratch before = scratch(pieces, n, lanes), after = scratch(pieces, n, lanes);
  over_groups(groups, [&](const Index& group, const Index& piece) {
    const Index first = at_most(group * lanes, shape.outer - lanes) * n;
    const Scratch in = piece_of(before, piece, n), out = piece_of(after, piece, n);
    transpose(Rows{from.buffer, (from.offset + first) * 2, 2 * n}, all_parts(in), lanes, 2 * n);
    passes(
        n, in, [&](const Index& point, const Index& lane) { return turned(load(in, point, lane)); },
        [&](const Index& point, const Index& lane, const Complex& value) {
          store(out, point, lane, turned(scaled(value)));
        });
    transpose(all_parts(out), Rows{to.buffer, (to.offset + first) * 2, 2 * n}, lanes, 2 * n);
  });
}

// ---- long rows ------------------------------------------------------------------------------------------------------

// x[j1 n2 + j2] becomes X[k1 + n1 k2]. Threads share the groups of one row after the other, or else the rows.
void FourierEmitter::matrix(const FourierShape& shape, int64_t n1, int64_t n2, const FourierArray& from,
                            const FourierArray& to) {
  const int64_t lanes = full_lanes();
  const int64_t across = (n2 + lanes - 1) / lanes, down = (n1 + lanes - 1) / lanes;
  const bool by_rows = shares_rows(shape.outer, shape.length);
  const auto pieces = [&](int64_t groups) { return pieces_of(by_rows ? shape.outer : groups).count; };
  const Roots all_roots = roots(n1 * n2);
  const Scratch of_lanes = lane_roots(all_roots, n1);
  const Scratch column_scratch = scratch(pieces(across), n1, lanes);
  const BufferId of_groups = b_.temporary(real_, pieces(across) * n1 * 2, 0);
  const Scratch all_between = scratch(by_rows ? pieces(across) * across : across, n1, lanes);
  const Scratch row_scratch = scratch(pieces(down), n2, lanes);

  over_rows(by_rows, shape.outer, [&](const Index& row, const Groups& groups, const Index& row_piece) {
    const Index origin = row * (n1 * n2);
    const Scratch between = piece_of(all_between, row_piece * across, n1);
    groups(across, [&](const Index& group, const Index& piece) {
      const Index first = at_most(group * lanes, n2 - lanes), own_roots = piece * (2 * n1);
      store_roots(all_roots, n1, first, of_groups, own_roots);
      passes(
          n1, piece_of(column_scratch, piece, n1),
          [&](const Index& point, const Index& lane) { return load(from, origin + point * n2 + first + lane); },
          [&](const Index& point, const Index& lane, const Complex& value) {
            const Complex turn = group_root(of_lanes, n1, of_groups, own_roots, point, lane);
            store(piece_of(between, group, n1), point, lane, multiply(value, turn));
          });
    });
    groups(down, [&](const Index& group, const Index& piece) {
      const Index first = at_most(group * lanes, n1 - lanes);
      const Scratch own = piece_of(row_scratch, piece, n2);
      loop(across, [&](const Index& block) {
        const Index start = at_most(block * lanes, n2 - lanes);
        turn_lanes(piece_of(between, block, n1), first, own, start);
      });
      passes(n2, own, nullptr, [&](const Index& point, const Index& lane, const Complex& value) {
        store(to, origin + first + lane + point * n1, value);
      });
    });
  });
}

// ---- which arrangement ----------------------------------------------------------------------------------------------

namespace {

// n = n1 n2, both products of small primes and at least as large as `least`, about equal; or nothing.
std::optional<std::pair<int64_t, int64_t>> split(int64_t n, int64_t least) {
  for (auto n1 = static_cast<int64_t>(std::sqrt(static_cast<double>(n))); n1 >= least; --n1) {
    if (n % n1 != 0) continue;
    const int64_t n2 = n / n1;
    if (n2 > kLongestColumn) return std::nullopt;
    if (n2 >= least && !radices_of(n1).empty() && !radices_of(n2).empty()) return std::pair(n1, n2);
  }
  return std::nullopt;
}

int64_t lanes_of(DType dtype) { return kProcessor.line / dtype_size(real_dtype(dtype)); }

enum class Arrangement { kNone, kColumns, kLongColumns, kRows, kMatrix };

// `lanes` that a group has, `least` rows and columns of a matrix, `bytes` of an element.
Arrangement arrangement_of(const FourierShape& shape, int64_t lanes, int64_t least, int64_t bytes) {
  if (shape.length > kLongestColumn * kLongestColumn) return Arrangement::kNone;
  if (shape.length > 1 && radices_of(shape.length).empty()) return Arrangement::kNone;
  if (shape.inner > 1) {
    if (shape.length <= kLongestColumn) return Arrangement::kColumns;
    return split(shape.length, 1) ? Arrangement::kLongColumns : Arrangement::kNone;
  }
  // Rows that begin at the same place of a page compete for the same few lines of the cache.
  const bool compete = shape.length * bytes % kProcessor.page == 0;
  const bool better = (shape.outer < lanes && shape.length >= kLeastMatrix) || compete;
  if ((better || shape.length > kLongestColumn) && split(shape.length, least)) return Arrangement::kMatrix;
  return shape.length <= kLongestColumn ? Arrangement::kRows : Arrangement::kNone;
}

Arrangement arrangement_of(const FourierShape& shape, DType dtype) {
  const int64_t lanes = lanes_of(dtype);
  return arrangement_of(shape, lanes, lanes, dtype_size(dtype));
}

Arrangement real_arrangement_of(int64_t outer, int64_t length, DType dtype) {
  const int64_t lanes = lanes_of(dtype);
  return arrangement_of({outer, length, 1}, lanes, 2 * lanes, dtype_size(real_dtype(dtype)));
}

}  // namespace

bool has_fourier(const FourierShape& shape, DType dtype) { return arrangement_of(shape, dtype) != Arrangement::kNone; }

void emit_fourier(Builder& builder, const FourierShape& shape, const FourierArray& from, const FourierArray& to,
                  const FourierOptions& options) {
  const DType dtype = builder.buffer_dtype(from.buffer);
  FourierEmitter emitter(builder, dtype, options);
  switch (arrangement_of(shape, dtype)) {
    case Arrangement::kNone:
      CT_CHECK(false);
    case Arrangement::kColumns:
      return emitter.columns(shape, from, to);
    case Arrangement::kLongColumns: {
      const auto [n1, n2] = *split(shape.length, 1);
      return emitter.long_columns(shape, n1, n2, from, to);
    }
    case Arrangement::kRows:
      return emitter.rows(shape, from, to);
    case Arrangement::kMatrix: {
      const auto [n1, n2] = *split(shape.length, lanes_of(dtype));
      return emitter.matrix(shape, n1, n2, from, to);
    }
  }
}

bool always_has_fourier(int64_t length) {
  if (length > kLongestColumn * kLongestColumn) return false;
  // A matrix of float32 must be the largest.
  const int64_t least = 2 * lanes_of(DType::kFloat32);
  return length == 1 || (length <= kLongestColumn ? !radices_of(length).empty() : split(length, least).has_value());
}

bool has_real_fourier(int64_t outer, int64_t length, DType dtype) {
  return real_arrangement_of(outer, length, dtype) != Arrangement::kNone;
}

void emit_real_fourier(Builder& builder, int64_t outer, int64_t length, const FourierArray& from,
                       const FourierArray& to, const FourierOptions& options) {
  const DType dtype = builder.buffer_dtype(from.buffer);
  FourierEmitter emitter(builder, dtype, options);
  if (real_arrangement_of(outer, length, dtype) == Arrangement::kRows) {
    return options.inverse ? emitter.rows_to_real(outer, length, from, to) : emitter.real_rows(outer, length, from, to);
  }
  const auto [n1, n2] = *split(length, 2 * lanes_of(dtype));
  return options.inverse ? emitter.matrix_to_real(outer, n1, n2, from, to)
                         : emitter.real_matrix(outer, n1, n2, from, to);
}

}  // namespace ct::loop
