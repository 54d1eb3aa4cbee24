// What the arrangements of loop/expand/fourier.h are made of: groups of lanes in scratch arrays, passes over them, ways
// in and out.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "jit/loop/expand/butterfly.h"
#include "jit/loop/expand/fourier.h"
#include "runtime/processor.h"

namespace ct::loop {

// The most points of a group: with its scratch array the second cache is full.
constexpr int64_t kLongestColumn = 4096;
// Groups are dealt out to threads in so many pieces, each with a scratch array.
constexpr int64_t kPieces = 16;
// So many rows, up to this length, are dealt out to threads whole: what is between their two steps is small.
constexpr int64_t kManyRows = 4, kLongestOwnRow = 1 << 16;
// A single row is a matrix from here on.
constexpr int64_t kLeastMatrix = 256;

// Loops over groups and rows, dealt out to threads in pieces.
class FourierLoops {
 protected:
  explicit FourierLoops(Builder& builder) : b_(builder) {}

  Index at_most(const Index& index, int64_t most) {
    if (b_.range_of(index).high <= most) return index;
    return b_.to_index(b_.apply(ScalarOp::kMin, b_.to_scalar(index), b_.constant(DType::kInt64, most)));
  }
  void loop(int64_t extent, const std::function<void(const Index&)>& body) {
    if (extent == 1) return body(0);
    b_.for_each(extent, {}, body);
  }
  // Groups, dealt out in pieces: body(group, piece). The last groups may be done twice.
  struct Pieces {
    int64_t count, each;
  };
  static Pieces pieces_of(int64_t groups) {
    const int64_t each = (groups + kPieces - 1) / kPieces;
    return {(groups + each - 1) / each, each};
  }
  void over_groups(int64_t groups, const std::function<void(const Index&, const Index&)>& body) {
    const Pieces pieces = pieces_of(groups);
    b_.for_each(pieces.count, {.vectorize = false, .parallel = true, .whole = true}, [&](const Index& piece) {
      loop(pieces.each, [&](const Index& i) { body(at_most(piece * pieces.each + i, groups - 1), piece); });
    });
  }
  // Of many short rows each is a thread's alone.
  static bool shares_rows(int64_t outer, int64_t length) { return outer >= kManyRows && length <= kLongestOwnRow; }
  using Groups = std::function<void(int64_t groups, const std::function<void(const Index&, const Index&)>& body)>;
  // body(row, groups, piece), where groups(count, step) is a step for each group of the row, by one thread or by all.
  void over_rows(bool by_rows, int64_t outer,
                 const std::function<void(const Index&, const Groups&, const Index&)>& body) {
    if (!by_rows) {
      return loop(outer, [&](const Index& row) {
        body(row, [&](int64_t groups, const auto& step) { over_groups(groups, step); }, 0);
      });
    }
    over_groups(outer, [&](const Index& row, const Index& piece) {
      const auto one_after_another = [&](int64_t groups, const auto& step) {
        loop(groups, [&](const Index& group) { step(group, piece); });
      };
      body(row, one_after_another, piece);
    });
  }

  Builder& b_;
};

class FourierEmitter : FourierLoops {
 public:
  FourierEmitter(Builder& builder, DType dtype, const FourierOptions& options)
      : FourierLoops(builder), real_(real_dtype(dtype)), options_(options) {}

  // loop/expand/fourier.cc
  void columns(const FourierShape& shape, const FourierArray& from, const FourierArray& to);
  void long_columns(const FourierShape& shape, int64_t n1, int64_t n2, const FourierArray& from,
                    const FourierArray& to);
  void rows(const FourierShape& shape, const FourierArray& from, const FourierArray& to);
  void matrix(const FourierShape& shape, int64_t n1, int64_t n2, const FourierArray& from, const FourierArray& to);
  // loop/expand/fourier_real.cc
  void real_rows(int64_t outer, int64_t length, const FourierArray& from, const FourierArray& to);
  void real_matrix(int64_t outer, int64_t n1, int64_t n2, const FourierArray& from, const FourierArray& to);
  void rows_to_real(int64_t outer, int64_t length, const FourierArray& from, const FourierArray& to);
  void matrix_to_real(int64_t outer, int64_t n1, int64_t n2, const FourierArray& from, const FourierArray& to);

 private:
  using Load = std::function<Complex(const Index& point, const Index& lane)>;
  using Store = std::function<void(const Index& point, const Index& lane, const Complex& value)>;
  struct Scratch {
    BufferId buffer;
    Index offset;
    int64_t lanes;
    Index at(const Index& point, int part, const Index& lane) const {
      return offset + point * (2 * lanes) + part * lanes + lane;
    }
  };

  int64_t full_lanes() const { return kProcessor.line / dtype_size(real_); }
  Num real(Scalar scalar) { return {b_, scalar}; }
  Complex load(const Scratch& scratch, const Index& point, const Index& lane) {
    return {real(b_.load(scratch.buffer, scratch.at(point, 0, lane))),
            real(b_.load(scratch.buffer, scratch.at(point, 1, lane)))};
  }
  void store(const Scratch& scratch, const Index& point, const Index& lane, const Complex& value) {
    b_.store(scratch.buffer, scratch.at(point, 0, lane), value.re.scalar());
    b_.store(scratch.buffer, scratch.at(point, 1, lane), value.im.scalar());
  }
  // Elements of the arrays at both ends. The inverse is the transform with real and imaginary parts exchanged.
  Complex load(const FourierArray& array, const Index& at) {
    const Scalar value = b_.load(array.buffer, array.offset + at);
    return turned({real({real_, value.re}), real({real_, value.im})});
  }
  void store(const FourierArray& array, const Index& at, const Complex& value) {
    store_plain(array, at, turned(scaled(value)));
  }
  void store_plain(const FourierArray& array, const Index& at, const Complex& value) {
    b_.store(array.buffer, array.offset + at, {complex_dtype(real_), value.re.scalar().re, value.im.scalar().re});
  }
  Complex turned(const Complex& value) const { return options_.inverse ? Complex{value.im, value.re} : value; }
  Complex scaled(const Complex& value, double by = 1) {
    if (options_.scale * by == 1) return value;
    const Num scale = real(b_.constant(real_, options_.scale * by));
    return {value.re * scale, value.im * scale};
  }

  Scratch scratch(int64_t pieces, int64_t points, int64_t lanes) {
    return {b_.temporary(real_, pieces * points * 2 * lanes, 0), 0, lanes};
  }
  Scratch piece_of(Scratch scratch, const Index& piece, int64_t points) {
    scratch.offset += piece * (points * 2 * scratch.lanes);
    return scratch;
  }

  BufferId constant_table(DType dtype, const std::vector<double>& numbers);

  // All passes over a group. `from` is null where the points are in the scratch array already.
  void passes(int64_t length, const Scratch& scratch, const Load& from, const Store& to);
  void pass(const std::vector<int64_t>& radices, size_t number, const Scratch& scratch, const Load& from,
            const Store& to);
  // A last pass whose radix is a large prime. load(j, lane) and to(k, lane, value) are of its points, which begin at
  // `first` and lie side by side.
  void prime_transforms(int64_t radix, const Scratch& scratch, const Index& first, const Load& load, const Store& to);

  // Lines of real numbers, of which each lies along memory, and which lie side by side: element i of line r is at
  // offset + r * stride + i of the one, at offset + i * stride + r of the other.
  struct Rows {
    BufferId buffer;
    Index offset;
    int64_t stride;
  };
  struct Columns {
    BufferId buffer;
    Index offset;
    int64_t stride;
  };
  void transpose(const Rows& from, const Columns& to, int64_t lines, int64_t count);
  void transpose(const Columns& from, const Rows& to, int64_t lines, int64_t count);
  void in_blocks(int64_t count, const std::function<void(const Index& first, int64_t count)>& body);
  static Columns all_parts(const Scratch& scratch) { return {scratch.buffer, scratch.offset, scratch.lanes}; }
  static Columns one_part(const Scratch& scratch, int part) {
    return {scratch.buffer, scratch.offset + part * scratch.lanes, 2 * scratch.lanes};
  }
  // Points `first` and those that follow, a lane each, become lanes of points `start` and those that follow.
  void turn_lanes(const Scratch& from, const Index& first, const Scratch& to, const Index& start);

  // exp(-2 pi i exponent / n) of exponents below n, in double precision.
  struct Roots {
    int64_t n, low;
    BufferId fine, coarse;
  };
  Roots roots(int64_t n);
  Complex root(const Roots& roots, const Index& a, const Index& b);  // of the product
  // The roots of point * (first + lane) are products of those of point * lane, common to all groups, and of
  // point * first: the latter as an array of real and one of imaginary parts.
  Scratch lane_roots(const Roots& roots, int64_t points);
  void store_roots(const Roots& roots, int64_t points, const Index& first, BufferId buffer, const Index& offset);
  Complex group_root(const Scratch& lane_roots, int64_t points, BufferId buffer, const Index& offset,
                     const Index& point, const Index& lane);

  // Of reals.
  void over_mirrored(int64_t length, int64_t lanes,
                     const std::function<void(const Index& k, const Index& lane, const Complex& turn)>& body);
  void take_apart(const Scratch& z, int64_t length,
                  const std::function<void(const Index& k, const Index& lane, const Complex& a, const Complex& b)>& to);
  void put_together_lines(const Scratch& z, int64_t length,
                          const std::function<Complex(const Index& k, const Index& lane, int line)>& from);
  Complex either_half(const Index& point, int64_t n2, const std::function<Complex()>& low,
                      const std::function<Complex()>& high);
  void in_half(const Index& point, int64_t n2, const std::function<void()>& low, const std::function<void()>& high);

  DType real_;
  FourierOptions options_;
};

}  // namespace ct::loop
