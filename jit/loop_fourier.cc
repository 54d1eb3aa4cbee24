#include "jit/loop_fourier.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>

#include "ir/error.h"
#include "jit/loop_num.h"

namespace ct::loop {
namespace {

struct Complex {
  Num re, im;
};
using Points = std::vector<Complex>;

Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }

Complex multiply(const Complex& a, const Complex& b) {
  return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}

// exp(-2 pi i turns / n).
struct Root {
  double re, im;
};
Root root_of_unity(int64_t turns, int64_t n) {
  turns %= n;
  // The same numbers in all octants.
  const int64_t eighths = 8 * turns / n;
  const auto angle = [&](int64_t numerator) {
    return 2 * std::numbers::pi * static_cast<double>(numerator) / static_cast<double>(8 * n);
  };
  const int64_t quarters = (eighths + 1) / 2;  // the nearest axis
  const double a = angle(8 * turns - 2 * quarters * n);
  const double c = std::cos(a), s = std::sin(a);
  switch (quarters % 4) {
    case 0:
      return {c, -s};
    case 1:
      return {-s, -c};
    case 2:
      return {-c, s};
    default:
      return {s, c};
  }
}

// ---- transforms in registers ----------------------------------------------------------------------------------------

Complex times_root(const Complex& x, int64_t turns, int64_t n) {
  turns %= n;
  if (turns == 0) return x;
  if (4 * turns == n) return {x.im, -x.re};
  if (2 * turns == n) return {-x.re, -x.im};
  if (4 * turns == 3 * n) return {-x.im, x.re};
  Builder& b = x.re.builder();
  const auto constant = [&](double value) { return Num(b, b.constant(x.re.dtype(), value)); };
  const Root root = root_of_unity(turns, n);
  if (8 * turns % n == 0) {
    const Num half = constant(std::numbers::sqrt2 / 2);
    const Num sum = (x.re + x.im) * half, difference = (x.re - x.im) * half;
    if (root.im < 0) return root.re > 0 ? Complex{sum, -difference} : Complex{-difference, -sum};
    return root.re > 0 ? Complex{difference, sum} : Complex{-sum, difference};
  }
  const Num re = constant(root.re), im = constant(root.im);
  return {fma(x.re, re, -(x.im * im)), fma(x.re, im, x.im * re)};
}

Points transform(const Points& x);

// Pairs x[j] +- x[n - j] meet cosines and sines.
Points transform_prime(const Points& x) {
  const auto n = static_cast<int64_t>(x.size());
  const int64_t half = n / 2;
  Builder& b = x[0].re.builder();
  const auto constant = [&](double value) { return Num(b, b.constant(x[0].re.dtype(), value)); };
  Points sums, differences;
  for (int64_t j = 1; j <= half; ++j) {
    sums.push_back(x[static_cast<size_t>(j)] + x[static_cast<size_t>(n - j)]);
    differences.push_back(x[static_cast<size_t>(j)] - x[static_cast<size_t>(n - j)]);
  }
  Points result(x.size());
  result[0] = x[0];
  for (const Complex& sum : sums) result[0] = result[0] + sum;
  for (int64_t k = 1; k <= half; ++k) {
    Complex even = x[0];
    std::optional<Complex> odd;
    for (int64_t j = 1; j <= half; ++j) {
      const Root root = root_of_unity(j * k, n);
      const Complex &sum = sums[static_cast<size_t>(j - 1)], &difference = differences[static_cast<size_t>(j - 1)];
      const Num cosine = constant(root.re), sine = constant(-root.im);
      even = {fma(sum.re, cosine, even.re), fma(sum.im, cosine, even.im)};
      if (odd) {
        odd = {fma(difference.re, sine, odd->re), fma(difference.im, sine, odd->im)};
      } else {
        odd = {difference.re * sine, difference.im * sine};
      }
    }
    result[static_cast<size_t>(k)] = {even.re + odd->im, even.im - odd->re};
    result[static_cast<size_t>(n - k)] = {even.re - odd->im, even.im + odd->re};
  }
  return result;
}

// The first of the two factors that `transform` splits into; n itself if it does not.
int64_t first_factor(int64_t n) {
  if (n == 8) return 2;
  if (n == 16) return 4;
  for (int64_t factor = 2; factor * factor <= n; ++factor) {
    if (n % factor != 0) continue;
    int64_t power = factor;
    while (n / power % factor == 0) power *= factor;
    return power == n ? factor : power;
  }
  return n;
}

Points transform(const Points& x) {
  const auto n = static_cast<int64_t>(x.size());
  if (n == 1) return x;
  if (n == 2) return {x[0] + x[1], x[0] - x[1]};
  const int64_t p = first_factor(n), q = n / p;
  if (q == 1) return transform_prime(x);
  const bool coprime = std::gcd(p, q) == 1;  // then no roots are needed in between
  std::vector<Points> rows;                  // [k of p][i of q]
  rows.assign(static_cast<size_t>(p), Points(static_cast<size_t>(q)));
  for (int64_t i = 0; i < q; ++i) {
    Points column;
    for (int64_t j = 0; j < p; ++j) {
      column.push_back(x[static_cast<size_t>(coprime ? (q * j + p * i) % n : q * j + i)]);
    }
    column = transform(column);
    for (int64_t k = 0; k < p; ++k) {
      const Complex& value = column[static_cast<size_t>(k)];
      rows[static_cast<size_t>(k)][static_cast<size_t>(i)] = coprime ? value : times_root(value, i * k, n);
    }
  }
  Points result(x.size());
  for (int64_t k = 0; k < p; ++k) {
    const Points row = transform(rows[static_cast<size_t>(k)]);
    for (int64_t m = 0; m < q; ++m) {
      int64_t place = k + p * m;
      if (coprime) {
        for (place = k; place % q != m; place += p) {
        }
      }
      result[static_cast<size_t>(place)] = row[static_cast<size_t>(m)];
    }
  }
  return result;
}

// Arithmetic instructions of `transform`, about.
double work_of(int64_t n) {
  if (n == 1) return 0;
  if (n == 2) return 4;
  const int64_t p = first_factor(n), q = n / p;
  if (q == 1) return static_cast<double>(4 * (n / 2) * (n / 2) + 5 * (n - 1));
  const double roots = std::gcd(p, q) == 1 ? 0 : n == 4 ? 0 : 3.0 * static_cast<double>((p - 1) * (q - 1));
  return static_cast<double>(q) * work_of(p) + static_cast<double>(p) * work_of(q) + roots;
}

// ---- passes ---------------------------------------------------------------------------------------------------------

constexpr int64_t kRadices[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16};
constexpr double kPass = 12;  // of one point: to load, to store, to turn

// The factors of a length, one for each pass, so that passes are few and cheap; empty if there are none.
std::vector<int64_t> radices_of(int64_t length) {
  struct Best {
    double cost = std::numeric_limits<double>::infinity();
    int64_t radix = 0;
  };
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= length; ++d) {
    if (length % d != 0) continue;
    divisors.push_back(d);
    if (d * d != length) divisors.push_back(length / d);
  }
  std::sort(divisors.begin(), divisors.end());
  std::vector<Best> best(divisors.size());
  const auto at = [&](int64_t d) {
    return static_cast<size_t>(std::lower_bound(divisors.begin(), divisors.end(), d) - divisors.begin());
  };
  best[0] = {0, 1};
  for (int64_t divisor : divisors) {
    for (int64_t radix : kRadices) {
      if (divisor % radix != 0) continue;
      const double cost = best[at(divisor / radix)].cost + kPass + work_of(radix) / static_cast<double>(radix);
      if (cost < best[at(divisor)].cost) best[at(divisor)] = {cost, radix};
    }
  }
  if (best.back().radix == 0) return {};
  std::vector<int64_t> radices;
  for (int64_t left = length; left > 1; left /= radices.back()) radices.push_back(best[at(left)].radix);
  return radices;
}

std::string table_bytes(DType dtype, const std::vector<double>& numbers) {
  std::string bytes(numbers.size() * static_cast<size_t>(dtype_size(dtype)), '\0');
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (dtype == DType::kFloat64) {
      std::memcpy(bytes.data() + 8 * i, &numbers[i], 8);
    } else {
      const auto rounded = static_cast<float>(numbers[i]);
      std::memcpy(bytes.data() + 4 * i, &rounded, 4);
    }
  }
  return bytes;
}

// The most points of a group: with its scratch array the second cache is full.
constexpr int64_t kLongestColumn = 4096;
constexpr int64_t kLineBytes = 64;
// Groups are dealt out to threads in so many pieces, each with a scratch array.
constexpr int64_t kPieces = 16;
// A single row is a matrix from here on.
constexpr int64_t kLeastMatrix = 256;

class Transformer {
 public:
  Transformer(Builder& builder, DType dtype, const FourierOptions& options)
      : b_(builder), real_(real_dtype(dtype)), options_(options) {}

  void columns(const FourierShape& shape, const FourierArray& from, const FourierArray& to);
  void rows(const FourierShape& shape, const FourierArray& from, const FourierArray& to);
  void matrix(const FourierShape& shape, int64_t n1, int64_t n2, const FourierArray& from, const FourierArray& to);

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

  int64_t full_lanes() const { return kLineBytes / dtype_size(real_); }
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
    const Complex result = turned(scaled(value));
    b_.store(array.buffer, array.offset + at, {complex_dtype(real_), result.re.scalar().re, result.im.scalar().re});
  }
  Complex turned(const Complex& value) const { return options_.inverse ? Complex{value.im, value.re} : value; }
  Complex scaled(const Complex& value) {
    if (options_.scale == 1) return value;
    const Num scale = real(b_.constant(real_, options_.scale));
    return {value.re * scale, value.im * scale};
  }

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
  Scratch scratch(int64_t pieces, int64_t points, int64_t lanes) {
    return {b_.temporary(real_, pieces * points * 2 * lanes, 0), 0, lanes};
  }
  Scratch piece_of(Scratch scratch, const Index& piece, int64_t points) {
    scratch.offset = piece * (points * 2 * scratch.lanes);
    return scratch;
  }

  // All passes over a group. `from` is null where the points are in the scratch array already.
  void passes(int64_t length, const Scratch& scratch, const Load& from, const Store& to);
  void pass(const std::vector<int64_t>& radices, size_t number, const Scratch& scratch, const Load& from,
            const Store& to);

  // Rows of `count` real numbers and columns in scratch arrays: between array[row * stride + i] and
  // scratch[i * lanes + row].
  void transpose_in(const FourierArray& array, int64_t stride, int64_t count, const Scratch& scratch);
  void transpose_out(const Scratch& scratch, const FourierArray& array, int64_t stride, int64_t count);
  void in_blocks(int64_t count, const std::function<void(const Index& first, int64_t count)>& body);

  // exp(-2 pi i exponent / n) of exponents below n, in double precision.
  struct Roots {
    int64_t n, low;
    BufferId fine, coarse;
  };
  Roots roots(int64_t n);
  Complex root(const Roots& roots, const Index& a, const Index& b);  // of the product

  Builder& b_;
  DType real_;
  FourierOptions options_;
};

void Transformer::passes(int64_t length, const Scratch& scratch, const Load& from, const Store& to) {
  std::vector<int64_t> radices = radices_of(length);
  if (radices.empty()) radices = {1};
  for (size_t number = 0; number < radices.size(); ++number) pass(radices, number, scratch, from, to);
}

void Transformer::pass(const std::vector<int64_t>& radices, size_t number, const Scratch& scratch, const Load& from,
                       const Store& to) {
  int64_t before = 1, after = 1;
  for (size_t i = 0; i < number; ++i) before *= radices[i];
  for (size_t i = number + 1; i < radices.size(); ++i) after *= radices[i];
  const int64_t radix = radices[number];
  const bool last = number + 1 == radices.size();

  // The points before this pass's digit, as far as they are transformed, turn by the root of their number.
  std::optional<BufferId> turns;
  if (before > 1) {
    std::vector<double> numbers;
    for (int64_t place = 0; place < before; ++place) {
      int64_t k = 0;
      for (int64_t i = static_cast<int64_t>(number) - 1, left = place, weight = before; i >= 0; --i) {
        const int64_t r = radices[static_cast<size_t>(i)];
        weight /= r;
        k += left % r * weight;
        left /= r;
      }
      for (int64_t j = 1; j < radix; ++j) {
        const Root root = root_of_unity(j * k, before * radix);
        numbers.push_back(root.re);
        numbers.push_back(root.im);
      }
    }
    const auto count = static_cast<int64_t>(numbers.size());
    turns = b_.constant_buffer(real_, count, table_bytes(real_, numbers));
  }

  const auto butterflies = [&](const Index& leading, const Index& result, const Index& trailing) {
    const Index first = leading * (radix * after) + trailing;
    b_.for_each(scratch.lanes, {.vectorize = true}, [&](const Index& lane) {
      Points x;
      for (int64_t j = 0; j < radix; ++j) {
        const Index point = first + j * after;
        Complex value = number == 0 && from ? from(point, lane) : load(scratch, point, lane);
        if (turns && j > 0) {
          const Index at = leading * (2 * (radix - 1)) + 2 * (j - 1);
          value = multiply(value, {real(b_.load(*turns, at)), real(b_.load(*turns, at + 1))});
        }
        x.push_back(value);
      }
      x = transform(x);
      for (int64_t k = 0; k < radix; ++k) {
        const Complex& value = x[static_cast<size_t>(k)];
        if (last) {
          to(result + k * before, lane, value);
        } else {
          store(scratch, first + k * after, lane, value);
        }
      }
    });
  };
  if (!last) {
    return loop(before, [&](const Index& leading) {
      loop(after, [&](const Index& trailing) { butterflies(leading, 0, trailing); });
    });
  }
  const std::function<void(size_t, int64_t, const Index&, const Index&)> digits =
      [&](size_t i, int64_t weight, const Index& leading, const Index& result) {
        if (i == number) return butterflies(leading, result, 0);
        loop(radices[i], [&](const Index& digit) {
          digits(i + 1, weight * radices[i], leading * radices[i] + digit, result + digit * weight);
        });
      };
  digits(0, 1, 0, 0);
}

// ---- rows and columns -----------------------------------------------------------------------------------------------

// The emitter transposes squares of vectors in registers; what remains goes element by element.
void Transformer::in_blocks(int64_t count, const std::function<void(const Index&, int64_t)>& body) {
  const int64_t rest = count % full_lanes();
  if (count > rest) body(0, count - rest);
  if (rest > 0) body(count - rest, rest);
}

void Transformer::transpose_in(const FourierArray& array, int64_t stride, int64_t count, const Scratch& scratch) {
  in_blocks(count, [&](const Index& first, int64_t size) {
    loop(scratch.lanes, [&](const Index& lane) {
      b_.for_each(size, {.vectorize = true}, [&](const Index& i) {
        const Scalar value = b_.load_part(array.buffer, array.offset * 2 + lane * stride + first + i);
        b_.store(scratch.buffer, scratch.offset + (first + i) * scratch.lanes + lane, value);
      });
    });
  });
}

void Transformer::transpose_out(const Scratch& scratch, const FourierArray& array, int64_t stride, int64_t count) {
  in_blocks(count, [&](const Index& first, int64_t size) {
    b_.for_each(size, {}, [&](const Index& i) {
      b_.for_each(scratch.lanes, {.vectorize = true}, [&](const Index& lane) {
        const Scalar value = b_.load(scratch.buffer, scratch.offset + (first + i) * scratch.lanes + lane);
        b_.store_part(array.buffer, array.offset * 2 + lane * stride + first + i, value);
      });
    });
  });
}

void Transformer::columns(const FourierShape& shape, const FourierArray& from, const FourierArray& to) {
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

void Transformer::rows(const FourierShape& shape, const FourierArray& from, const FourierArray& to) {
  const int64_t n = shape.length, lanes = std::min(full_lanes(), shape.outer);
  const int64_t groups = (shape.outer + lanes - 1) / lanes, pieces = pieces_of(groups).count;
  const Scratch before = scratch(pieces, n, lanes), after = scratch(pieces, n, lanes);
  over_groups(groups, [&](const Index& group, const Index& piece) {
    const Index first = at_most(group * lanes, shape.outer - lanes) * n;
    const Scratch in = piece_of(before, piece, n), out = piece_of(after, piece, n);
    transpose_in({from.buffer, from.offset + first}, 2 * n, 2 * n, in);
    passes(
        n, in, [&](const Index& point, const Index& lane) { return turned(load(in, point, lane)); },
        [&](const Index& point, const Index& lane, const Complex& value) {
          store(out, point, lane, turned(scaled(value)));
        });
    transpose_out(out, {to.buffer, to.offset + first}, 2 * n, 2 * n);
  });
}

// ---- long rows ------------------------------------------------------------------------------------------------------

Transformer::Roots Transformer::roots(int64_t n) {
  int64_t low = 1;
  while (low * low < n) low *= 2;
  const auto table = [&](int64_t count, int64_t step) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < count; ++i) {
      const Root root = root_of_unity(i * step, n);
      numbers.push_back(root.re);
      numbers.push_back(root.im);
    }
    return b_.constant_buffer(DType::kFloat64, 2 * count, table_bytes(DType::kFloat64, numbers));
  };
  return {n, low, table(low, 1), table((n + low - 1) / low, low)};
}

Complex Transformer::root(const Roots& roots, const Index& a, const Index& b) {
  const auto integer = [&](int64_t value) { return Num(b_, b_.constant(DType::kInt64, value)); };
  // Below n, which the bounds of a product do not tell.
  Num exponent = Num(b_, b_.to_scalar(a)) * Num(b_, b_.to_scalar(b));
  exponent = exponent.apply(ScalarOp::kMax, integer(0)).apply(ScalarOp::kMin, integer(roots.n - 1));
  const auto entry = [&](BufferId table, const Num& number) {
    const Index at = b_.to_index(number.scalar()) * 2;
    return Complex{real(b_.load(table, at)), real(b_.load(table, at + 1))};
  };
  const Complex root = multiply(entry(roots.coarse, exponent.apply(ScalarOp::kDiv, integer(roots.low))),
                                entry(roots.fine, exponent.apply(ScalarOp::kRem, integer(roots.low))));
  return {root.re.convert(real_), root.im.convert(real_)};
}

// x[j1 n2 + j2] becomes X[k1 + n1 k2].
void Transformer::matrix(const FourierShape& shape, int64_t n1, int64_t n2, const FourierArray& from,
                         const FourierArray& to) {
  const int64_t lanes = full_lanes();
  const int64_t across = (n2 + lanes - 1) / lanes, down = (n1 + lanes - 1) / lanes;
  const Roots all_roots = roots(n1 * n2);
  // The roots k1 (first + lane) are products of those of k1 lane, common to all groups, and of k1 first.
  const Scratch lane_roots = scratch(1, n1, lanes);
  b_.for_each(n1, {.vectorize = false, .parallel = true}, [&](const Index& point) {
    b_.for_each(lanes, {.vectorize = true},
                [&](const Index& lane) { store(lane_roots, point, lane, root(all_roots, point, lane)); });
  });
  const int64_t across_pieces = pieces_of(across).count;
  const Scratch column_scratch = scratch(across_pieces, n1, lanes);
  const BufferId first_roots = b_.temporary(real_, across_pieces * n1 * 2, 0);
  const Scratch between = scratch(across, n1, lanes);
  const Scratch row_scratch = scratch(pieces_of(down).count, n2, lanes);

  loop(shape.outer, [&](const Index& row) {
    const Index origin = row * (n1 * n2);
    over_groups(across, [&](const Index& group, const Index& piece) {
      const Index first = at_most(group * lanes, n2 - lanes), own_roots = piece * (2 * n1);
      b_.for_each(n1, {.vectorize = true}, [&](const Index& point) {
        const Complex value = root(all_roots, point, first);
        b_.store(first_roots, own_roots + point, value.re.scalar());
        b_.store(first_roots, own_roots + n1 + point, value.im.scalar());
      });
      passes(
          n1, piece_of(column_scratch, piece, n1),
          [&](const Index& point, const Index& lane) { return load(from, origin + point * n2 + first + lane); },
          [&](const Index& point, const Index& lane, const Complex& value) {
            const Complex of_first{real(b_.load(first_roots, own_roots + point)),
                                   real(b_.load(first_roots, own_roots + n1 + point))};
            const Complex turn = multiply(load(lane_roots, point, lane), of_first);
            store(piece_of(between, group, n1), point, lane, multiply(value, turn));
          });
    });
    over_groups(down, [&](const Index& group, const Index& piece) {
      const Index first = at_most(group * lanes, n1 - lanes);
      const Scratch own = piece_of(row_scratch, piece, n2);
      loop(across, [&](const Index& block) {
        const Index start = at_most(block * lanes, n2 - lanes);
        const Scratch source = piece_of(between, block, n1);
        for (int part : {0, 1}) {
          b_.for_each(lanes, {}, [&](const Index& column) {
            b_.for_each(lanes, {.vectorize = true}, [&](const Index& line) {
              b_.store(own.buffer, own.at(start + line, part, column),
                       b_.load(source.buffer, source.at(first + column, part, line)));
            });
          });
        }
      });
      passes(n2, own, nullptr, [&](const Index& point, const Index& lane, const Complex& value) {
        store(to, origin + first + lane + point * n1, value);
      });
    });
  });
}

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

enum class Arrangement { kNone, kColumns, kRows, kMatrix };

Arrangement arrangement_of(const FourierShape& shape, DType dtype) {
  if (shape.length > kLongestColumn * kLongestColumn) return Arrangement::kNone;
  const bool factors = shape.length == 1 || !radices_of(shape.length).empty();
  if (!factors) return Arrangement::kNone;
  const int64_t lanes = kLineBytes / dtype_size(real_dtype(dtype));
  if (shape.inner > 1) return shape.length <= kLongestColumn ? Arrangement::kColumns : Arrangement::kNone;
  const bool few = shape.outer < lanes && shape.length >= kLeastMatrix;
  if ((few || shape.length > kLongestColumn) && split(shape.length, lanes)) return Arrangement::kMatrix;
  return shape.length <= kLongestColumn ? Arrangement::kRows : Arrangement::kNone;
}

}  // namespace

bool has_fourier(const FourierShape& shape, DType dtype) { return arrangement_of(shape, dtype) != Arrangement::kNone; }

void emit_fourier(Builder& builder, const FourierShape& shape, const FourierArray& from, const FourierArray& to,
                  const FourierOptions& options) {
  const DType dtype = builder.buffer_dtype(from.buffer);
  Transformer transformer(builder, dtype, options);
  switch (arrangement_of(shape, dtype)) {
    case Arrangement::kNone:
      CT_CHECK(false);
    case Arrangement::kColumns:
      return transformer.columns(shape, from, to);
    case Arrangement::kRows:
      return transformer.rows(shape, from, to);
    case Arrangement::kMatrix: {
      const auto [n1, n2] = *split(shape.length, kLineBytes / dtype_size(real_dtype(dtype)));
      return transformer.matrix(shape, n1, n2, from, to);
    }
  }
}

}  // namespace ct::loop
