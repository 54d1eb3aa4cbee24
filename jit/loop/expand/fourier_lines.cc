#include "jit/loop/expand/fourier_lines.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace ct::loop {
BufferId FourierEmitter::constant_table(DType dtype, const std::vector<double>& numbers) {
  std::string bytes(numbers.size() * static_cast<size_t>(dtype_size(dtype)), '\0');
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (dtype == DType::kFloat64) {
      std::memcpy(bytes.data() + 8 * i, &numbers[i], 8);
    } else {
      const auto rounded = static_cast<float>(numbers[i]);
      std::memcpy(bytes.data() + 4 * i, &rounded, 4);
    }
  }
  return b_.constant_buffer(dtype, static_cast<int64_t>(numbers.size()), std::move(bytes));
}

void FourierEmitter::passes(int64_t length, const Scratch& scratch, const Load& from, const Store& to) {
  std::vector<int64_t> radices = radices_of(length);
  if (radices.empty()) radices = {1};
  for (size_t number = 0; number < radices.size(); ++number) pass(radices, number, scratch, from, to);
}

void FourierEmitter::pass(const std::vector<int64_t>& radices, size_t number, const Scratch& scratch, const Load& from,
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
    turns = constant_table(real_, numbers);
  }

  const auto turned_point = [&](const Index& leading, const Index& first, const Index& j, const Index& lane) {
    const Index point = first + j * after;
    const Complex value = number == 0 && from ? from(point, lane) : load(scratch, point, lane);
    if (!turns || (j.is_constant() && j.constant() == 0)) return value;
    const Index at = leading * (2 * (radix - 1)) + (j - 1) * 2;
    return multiply(value, {real(b_.load(*turns, at)), real(b_.load(*turns, at + 1))});
  };
  const auto butterflies = [&](const Index& leading, const Index& result, const Index& trailing) {
    const Index first = leading * (radix * after) + trailing;
    if (last && is_looped(radix)) {
      return prime_transforms(
          radix, scratch, first,
          [&](const Index& j, const Index& lane) { return turned_point(leading, first, j, lane); },
          [&](const Index& k, const Index& lane, const Complex& value) { to(result + k * before, lane, value); });
    }
    b_.for_each(scratch.lanes, {.vectorize = true}, [&](const Index& lane) {
      Points x;
      for (int64_t j = 0; j < radix; ++j) x.push_back(turned_point(leading, first, j, lane));
      x = butterfly(x);
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

// As in `transform_prime` (loop/expand/butterfly.cc): the sum of each pair goes where its first point was, the
// difference to the second one. Then results k and n - k are made of all of them, two such pairs at a time, which share
// what they load.
void FourierEmitter::prime_transforms(int64_t radix, const Scratch& scratch, const Index& first, const Load& load_point,
                                      const Store& to) {
  const int64_t half = radix / 2;
  b_.for_each(scratch.lanes, {.vectorize = true}, [&](const Index& lane) {
    const Complex x = load_point(0, lane);
    store(scratch, first, lane, x);
    const Builder::CarrySpec start[] = {{x.re.scalar()}, {x.im.scalar()}};
    const auto [i, sums] = b_.begin_for(half, {}, start);
    const Complex low = load_point(i + 1, lane), high = load_point(radix - 1 - i, lane), sum = low + high;
    store(scratch, first + i + 1, lane, sum);
    store(scratch, first + (radix - 1 - i), lane, low - high);
    const Scalar next[] = {(real(sums[0]) + sum.re).scalar(), (real(sums[1]) + sum.im).scalar()};
    const Scalars total = b_.end_for(next);
    to(0, lane, {real(total[0]), real(total[1])});
  });

  std::vector<double> numbers;
  for (int64_t k = 1; k <= half; ++k) {
    for (int64_t j = 1; j <= half; ++j) {
      const Root root = root_of_unity(j * k, radix);
      numbers.push_back(root.re);
      numbers.push_back(-root.im);
    }
  }
  const BufferId table = constant_table(real_, numbers);
  const auto results = [&](const Index& k, int64_t count) {
    b_.for_each(scratch.lanes, {.vectorize = true}, [&](const Index& lane) {
      const Complex x = load(scratch, first, lane);
      const Scalar zero = b_.constant(real_, 0);
      std::vector<Builder::CarrySpec> start;
      for (int64_t i = 0; i < count; ++i) {
        for (const Scalar& scalar : {x.re.scalar(), x.im.scalar(), zero, zero}) start.push_back({scalar});
      }
      const auto [j, carried] = b_.begin_for(half, {}, start);
      const Complex sum = load(scratch, first + j + 1, lane);
      const Complex difference = load(scratch, first + (radix - 1 - j), lane);
      Scalars next;
      for (int64_t i = 0; i < count; ++i) {
        const Index at = ((k + i) * half + j) * 2;
        const Num cosine = real(b_.load(table, at)), sine = real(b_.load(table, at + 1));
        const auto added = [&](const Num& x, const Num& by, size_t part) {
          next.push_back(fma(x, by, real(carried[static_cast<size_t>(4 * i) + part])).scalar());
        };
        added(sum.re, cosine, 0);
        added(sum.im, cosine, 1);
        added(difference.re, sine, 2);
        added(difference.im, sine, 3);
      }
      const Scalars total = b_.end_for(next);
      for (int64_t i = 0; i < count; ++i) {
        const auto part = [&](size_t number) { return real(total[static_cast<size_t>(4 * i) + number]); };
        const Complex even{part(0), part(1)}, odd{part(2), part(3)};
        to(k + i + 1, lane, {even.re + odd.im, even.im - odd.re});
        to(Index(radix - 1 - i) - k, lane, {even.re - odd.im, even.im + odd.re});
      }
    });
  };
  loop(half / 2, [&](const Index& pair) { results(pair * 2, 2); });
  if (half % 2 != 0) results(half - 1, 1);
}

// ---- lines ----------------------------------------------------------------------------------------------------------

// The emitter transposes squares of vectors in registers; what remains goes element by element.
void FourierEmitter::in_blocks(int64_t count, const std::function<void(const Index&, int64_t)>& body) {
  const int64_t rest = count % full_lanes();
  if (count > rest) body(0, count - rest);
  if (rest > 0) body(count - rest, rest);
}

void FourierEmitter::transpose(const Rows& from, const Columns& to, int64_t lines, int64_t count) {
  in_blocks(count, [&](const Index& first, int64_t size) {
    loop(lines, [&](const Index& line) {
      b_.for_each(size, {.vectorize = true}, [&](const Index& i) {
        const Scalar value = b_.load_part(from.buffer, from.offset + line * from.stride + first + i);
        b_.store_part(to.buffer, to.offset + (first + i) * to.stride + line, value);
      });
    });
  });
}

void FourierEmitter::transpose(const Columns& from, const Rows& to, int64_t lines, int64_t count) {
  in_blocks(count, [&](const Index& first, int64_t size) {
    b_.for_each(size, {}, [&](const Index& i) {
      b_.for_each(lines, {.vectorize = true}, [&](const Index& line) {
        const Scalar value = b_.load_part(from.buffer, from.offset + (first + i) * from.stride + line);
        b_.store_part(to.buffer, to.offset + line * to.stride + first + i, value);
      });
    });
  });
}

void FourierEmitter::turn_lanes(const Scratch& from, const Index& first, const Scratch& to, const Index& start) {
  for (int part : {0, 1}) {
    b_.for_each(to.lanes, {}, [&](const Index& column) {
      b_.for_each(from.lanes, {.vectorize = true}, [&](const Index& line) {
        b_.store(to.buffer, to.at(start + line, part, column),
                 b_.load(from.buffer, from.at(first + column, part, line)));
      });
    });
  }
}

// ---- roots between two steps ----------------------------------------------------------------------------------------

FourierEmitter::Roots FourierEmitter::roots(int64_t n) {
  int64_t low = 1;
  while (low * low < n) low *= 2;
  const auto table = [&](int64_t count, int64_t step) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < count; ++i) {
      const Root root = root_of_unity(i * step, n);
      numbers.push_back(root.re);
      numbers.push_back(root.im);
    }
    return constant_table(DType::kFloat64, numbers);
  };
  return {n, low, table(low, 1), table((n + low - 1) / low, low)};
}

Complex FourierEmitter::root(const Roots& roots, const Index& a, const Index& b) {
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

FourierEmitter::Scratch FourierEmitter::lane_roots(const Roots& roots, int64_t points) {
  const Scratch result = scratch(1, points, full_lanes());
  b_.for_each(points, {.vectorize = false, .parallel = true}, [&](const Index& point) {
    b_.for_each(result.lanes, {.vectorize = true},
                [&](const Index& lane) { store(result, point, lane, root(roots, point, lane)); });
  });
  return result;
}

void FourierEmitter::store_roots(const Roots& roots, int64_t points, const Index& first, BufferId buffer,
                                 const Index& offset) {
  b_.for_each(points, {.vectorize = true}, [&](const Index& point) {
    const Complex value = root(roots, point, first);
    b_.store(buffer, offset + point, value.re.scalar());
    b_.store(buffer, offset + points + point, value.im.scalar());
  });
}

Complex FourierEmitter::group_root(const Scratch& lane_roots, int64_t points, BufferId buffer, const Index& offset,
                                   const Index& point, const Index& lane) {
  const Complex of_group{real(b_.load(buffer, offset + point)), real(b_.load(buffer, offset + points + point))};
  return multiply(load(lane_roots, point, lane), of_group);
}

}  // namespace ct::loop
