// Radix sort, lowest digit first, of keys and the positions that they came from: keys are mapped to unsigned integers
// that compare as they do (as in runtime/sort_order.h). Several keys are sorted by one after the other, the last one
// first. The first few of many are those that stay in a short list while the line goes by. When more are wanted,
// whatever comes before the last of the best so far is collected, and sorted when there is much of it.
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "jit/kernels/kernels.h"
#include "jit/loop/num.h"
#include "runtime/float_types.h"

namespace ct::loop {
namespace {

constexpr DType kPlace = DType::kUInt32;
constexpr int64_t kWideDigits =
    4096;  // from this size on, passes are worth more than the larger tables of wider digits
constexpr int kNarrow = 8, kWide = 11;
constexpr int64_t kShort = 32;   // the longest ragged line that is sorted by insertion
constexpr int64_t kFew = 32;     // the longest list that is kept in order by insertion
constexpr int64_t kBlock = 128;  // elements that are compared with its last one at once
// How many are collected before they are sorted: so many times those that are wanted, and no fewer than
constexpr int64_t kCollected = 4, kLeastCollected = 256;

// One unsigned key of an operand: of complex numbers the real or the imaginary part.
struct Key {
  size_t operand;
  DType dtype;  // of what is loaded: real
  int parts = 1, part = 0;
  DType mapped;
  int bits;
};

class Sorter {
 public:
  Sorter(Builder& builder, const SortShape& shape, absl::Span<const Elements> operands,
         absl::Span<const Elements> results)
      : b_(builder), shape_(shape), operands_(operands), results_(results) {
    for (size_t i = 0; i < shape.keys; ++i) {
      const DType dtype = b_.buffer_dtype(operands[i].buffer), real = real_dtype(dtype);
      const int size = dtype_size(real);
      const bool is_wide = size == 8;
      const int bits = is_bool(real) ? 1 : is_float(real) ? (is_wide ? 64 : 32) : 8 * size;
      const int parts = is_complex(dtype) ? 2 : 1;
      for (int part = 0; part < parts; ++part) {
        keys_.push_back({i, real, parts, part, is_wide ? DType::kUInt64 : DType::kUInt32, bits});
      }
    }
  }

  void run() {
    const bool few = keys_.size() == 1 && shape_.count <= kFew && shape_.count * 4 <= shape_.size;
    const int64_t collected = std::max(shape_.count * kCollected, kLeastCollected);
    const bool many = !few && keys_.size() == 1 && collected * 2 <= shape_.size;
    half_ = many ? collected + kBlock : shape_.size;
    const int64_t kept = few ? shape_.count : 2 * half_;
    places_ = b_.temporary(kPlace, kept, 0);
    for (const Key& key : keys_) {
      std::optional<BufferId>& buffer = key.mapped == DType::kUInt64 ? wide_ : narrow_;
      if (!buffer) buffer = b_.temporary(key.mapped, kept, 0);
    }
    int64_t counts = 0;
    for (const Key& key : keys_) counts = std::max(counts, int64_t{digits_of(key)} << width_of(key));
    if (!few) counts_ = b_.temporary(kPlace, counts, 0);
    b_.for_each(shape_.outer * shape_.inner, {.whole = true}, [&](const Index& line) {
      from_ = b_.divide(line, shape_.inner) * (shape_.size * shape_.inner) + b_.modulo(line, shape_.inner);
      to_ = b_.divide(line, shape_.inner) * (shape_.count * shape_.inner) + b_.modulo(line, shape_.inner);
      length_ = length_of(line);
      const Index order = few ? select_few() : many ? select_many(collected) : sort_all();
      const Index sorted = shape_.lengths ? at_most(length_, shape_.count) : Index(shape_.count);
      for (size_t i = 0; i < results_.size(); ++i) {
        b_.for_each(sorted, {.vectorize = true}, [&](const Index& k) {
          const Scalar value =
              b_.load(operands_[i].buffer, operands_[i].offset + from_ + place(order + k) * shape_.inner);
          b_.store(results_[i].buffer, results_[i].offset + to_ + k * shape_.inner, value);
        });
        if (!shape_.lengths || shape_.unread) continue;
        b_.for_each(Index(shape_.count) - sorted, {.vectorize = true}, [&](const Index& behind) {
          const Index k = sorted + behind;
          const Scalar value = b_.load(operands_[i].buffer, operands_[i].offset + from_ + k * shape_.inner);
          b_.store(results_[i].buffer, results_[i].offset + to_ + k * shape_.inner, value);
        });
      }
    });
  }

 private:
  Num num(const Scalar& scalar) { return {b_, scalar}; }
  Num constant(DType dtype, int64_t value) { return num(b_.constant(dtype, value)); }
  Num number_of(const Index& index) { return num(b_.to_scalar(index)); }
  Index at_most(const Index& index, int64_t most) {
    return b_.to_index(number_of(index).apply(ScalarOp::kMin, constant(DType::kInt64, most)).scalar());
  }
  Index at_least(const Index& index, int64_t least) {
    return b_.to_index(number_of(index).apply(ScalarOp::kMax, constant(DType::kInt64, least)).scalar());
  }

  // How many elements of the line are put in order.
  Index length_of(const Index& line) {
    if (!shape_.lengths) return shape_.size;
    const Scalar given = b_.load(shape_.lengths->buffer, shape_.lengths->offset + line);
    return at_most(at_least(b_.to_index(b_.convert(given, DType::kInt64)), 0), shape_.size);
  }
  BufferId buffer_of(const Key& key) const { return *(key.mapped == DType::kUInt64 ? wide_ : narrow_); }

  // Bounded, so that whoever looks at ranges sees that it is a place of the line.
  Index place(const Index& at) {
    const Num found = num(b_.load(places_, at)).apply(ScalarOp::kMin, constant(kPlace, shape_.size - 1));
    return b_.to_index(found.convert(DType::kInt64).scalar());
  }

  // The key of the element at a position of the line, as an unsigned number.
  Num mapped(const Key& key, const Index& position) {
    const Elements& operand = operands_[key.operand];
    const Index element = operand.offset + from_ + position * shape_.inner;
    const Num x =
        num(key.parts == 2 ? b_.load_part(operand.buffer, element * 2 + key.part) : b_.load(operand.buffer, element));
    Num result;
    if (is_float(key.dtype)) {
      const Num wide = key.bits == 64 ? x : x.convert(DType::kFloat32);
      const Num bits = wide.bitcast(key.mapped);
      const Num sign = num(b_.constant(key.mapped, 1)) << (key.bits - 1);
      const Num zero = constant(key.mapped, 0);
      const Num turned = select((bits & sign) == zero, bits | sign, bits.apply(ScalarOp::kNot));
      result = select(bits == sign, sign, turned);  // -0 as 0
      result = select(wide == wide, result, zero.apply(ScalarOp::kNot));
    } else if (is_signed_integer(key.dtype)) {
      const DType bare = unsigned_of(dtype_size(key.dtype));
      const Num sign = constant(bare, 1) << (key.bits - 1);
      result = x.bitcast(bare).apply(ScalarOp::kXor, sign).convert(key.mapped);
    } else {
      result = x.convert(key.mapped);
    }
    if (!shape_.descending) return result;
    Num all = constant(key.mapped, 0).apply(ScalarOp::kNot);
    if (key.bits < 32) all = constant(key.mapped, (int64_t{1} << key.bits) - 1);
    return result.apply(ScalarOp::kXor, all);
  }

  static DType unsigned_of(int bytes) {
    return bytes == 1 ? DType::kUInt8 : bytes == 2 ? DType::kUInt16 : bytes == 4 ? DType::kUInt32 : DType::kUInt64;
  }

  // Where in places_ the order begins: keys and positions lie in one half of their arrays and go to the other.
  Index sort_all() {
    const Index n = length_;
    b_.for_each(n, {.vectorize = true}, [&](const Index& i) { b_.store(places_, i, b_.to_scalar(i, kPlace)); });
    Index at = 0;
    for (size_t k = keys_.size(); k-- > 0;) {
      const Key& key = keys_[k];
      const bool first = k + 1 == keys_.size();
      b_.for_each(n, {.vectorize = true}, [&](const Index& i) {
        b_.store(buffer_of(key), at + i, mapped(key, first ? i : place(at + i)).scalar());
      });
      at = sort_by(key, at, n);
    }
    return at;
  }

  // Sorts `length` keys and their positions, which lie at `at`. Where they are afterwards.
  Index sort_by(const Key& key, const Index& at, const Index& length) {
    if (!shape_.lengths) return sort_by_digits(key, at, length);
    const Scalars result = b_.if_else((number_of(length) <= constant(DType::kInt64, kShort)).scalar(),
                                      [&] {
                                        insert_all(key, at, length);
                                        return Scalars{b_.to_scalar(at)};
                                      },
                                      [&] { return Scalars{b_.to_scalar(sort_by_digits(key, at, length))}; });
    return b_.to_index(result[0]);
  }

  // Each in front of the larger ones before it.
  void insert_all(const Key& key, const Index& at, const Index& length) {
    const BufferId keys = buffer_of(key);
    const Num zero = constant(DType::kInt64, 0), one = constant(DType::kInt64, 1);
    b_.for_each(length, {}, [&](const Index& i) {
      const Num x = num(b_.load(keys, at + i));
      const Scalar position = b_.load(places_, at + i);
      const auto before = [&](const Num& j) { return at + b_.to_index(select(j > zero, j - one, zero).scalar()); };
      const Scalars found = b_.while_loop(
          Scalars{b_.to_scalar(i)},
          [&](absl::Span<const Scalar> carried) {
            const Num j = num(carried[0]);
            return ((j > zero) & (num(b_.load(keys, before(j))) > x)).scalar();
          },
          [&](absl::Span<const Scalar> carried) {
            const Index from = before(num(carried[0])), to = at + b_.to_index(carried[0]);
            b_.store(keys, to, b_.load(keys, from));
            b_.store(places_, to, b_.load(places_, from));
            return Scalars{(num(carried[0]) - one).scalar()};
          });
      b_.store(keys, at + b_.to_index(found[0]), x.scalar());
      b_.store(places_, at + b_.to_index(found[0]), position);
    });
  }

  Index sort_by_digits(const Key& key, const Index& at, const Index& length) {
    count_digits(key, at, length);
    const Builder::CarrySpec carry{b_.to_scalar(at)};
    const auto [digit, arguments] = b_.begin_for(digits_of(key), {}, absl::MakeConstSpan(&carry, 1));
    const Scalar moved = sort_by_digit(key, digit, b_.to_index(arguments[0]), length);
    return b_.to_index(b_.end_for(absl::MakeConstSpan(&moved, 1))[0]);
  }

  int digits_of(const Key& key) const {
    const int most = half_ < kWideDigits ? kNarrow : kWide;
    return (key.bits + most - 1) / most;
  }
  int width_of(const Key& key) const { return (key.bits + digits_of(key) - 1) / digits_of(key); }

  Index digit_of(const Key& key, const Scalar& x, const Num& shift) {
    const Num bits =
        num(x).apply(ScalarOp::kShrLogical, shift) & constant(key.mapped, (int64_t{1} << width_of(key)) - 1);
    return b_.to_index(bits.convert(DType::kInt64).scalar());
  }

  // counts_: how often each digit occurs, for all digits of a key.
  void count_digits(const Key& key, const Index& at, const Index& length) {
    const int64_t buckets = int64_t{1} << width_of(key);
    b_.fill(counts_, 0, digits_of(key) * buckets, b_.constant(kPlace, 0));
    b_.for_each(length, {}, [&](const Index& i) {
      const Scalar x = b_.load(buffer_of(key), at + i);
      for (int digit = 0; digit < digits_of(key); ++digit) {
        const Index place = digit_of(key, x, constant(key.mapped, digit * width_of(key))) + digit * buckets;
        b_.store(counts_, place, b_.apply(ScalarOp::kAdd, b_.load(counts_, place), b_.constant(kPlace, 1)));
      }
    });
  }

  // Where the order is afterwards.
  Scalar sort_by_digit(const Key& key, const Index& digit, const Index& at, const Index& length) {
    const int64_t buckets = int64_t{1} << width_of(key);
    const BufferId keys = buffer_of(key);
    const Num shift = num(b_.to_scalar(digit * width_of(key), key.mapped));
    const Index table = digit * buckets;
    const Scalar one = b_.constant(kPlace, 1);
    const Scalar in_first = b_.load(counts_, table + digit_of(key, b_.load(keys, at), shift));
    const Scalar here = b_.to_scalar(at);
    const Scalars result = b_.if_else(
        b_.apply(ScalarOp::kEq, in_first, b_.to_scalar(length, kPlace)), [&] { return Scalars{here}; },  // all alike
        [&] {
          const Builder::CarrySpec start{b_.constant(kPlace, 0)};
          const auto [bucket, sums] = b_.begin_for(buckets, {}, absl::MakeConstSpan(&start, 1));
          const Scalar in_bucket = b_.load(counts_, table + bucket);
          b_.store(counts_, table + bucket, sums[0]);
          const Scalar sum = b_.apply(ScalarOp::kAdd, sums[0], in_bucket);
          b_.end_for(absl::MakeConstSpan(&sum, 1));
          const Index other = Index(half_) - at;
          b_.for_each(length, {}, [&](const Index& i) {
            const Scalar moved = b_.load(keys, at + i);
            const Index bucket = table + digit_of(key, moved, shift);
            const Scalar next = b_.load(counts_, bucket);
            const Index target = other + b_.to_index(b_.convert(next, DType::kInt64));
            b_.store(counts_, bucket, b_.apply(ScalarOp::kAdd, next, one));
            b_.store(keys, target, moved);
            b_.store(places_, target, b_.load(places_, at + i));
          });
          return Scalars{b_.to_scalar(other)};
        });
    return result[0];
  }

  // Of what went by, the list holds the first `count` and everything since then that may belong to them. Where in
  // places_ it begins.
  Index select_many(int64_t collected) {
    const Key& key = keys_[0];
    const BufferId list = buffer_of(key);
    const Index rest = shape_.lengths ? at_least(length_ - collected, 0) : length_ - collected;
    const Index blocks = b_.divide(rest, kBlock);
    Index before = length_ - blocks * kBlock;
    if (shape_.lengths) before = at_most(before, half_ - 1);  // as it is: its range is seen to fit
    const auto add = [&](const Index& at, const Num& x, const Index& position) {
      b_.store(list, at, x.scalar());
      b_.store(places_, at, b_.to_scalar(position, kPlace));
    };
    b_.for_each(before, {.vectorize = true}, [&](const Index& i) { add(i, mapped(key, i), i); });
    const std::vector<Builder::CarrySpec> start{
        {b_.to_scalar(Index(0))},                                           // where the list is
        {b_.to_scalar(before)},                                             // its length
        {num(b_.constant(key.mapped, 0)).apply(ScalarOp::kNot).scalar()}};  // what new ones must come before
    const auto [block, state] = b_.begin_for(blocks + 1, {}, start);
    const Scalars old = state;
    const Num turn = num(b_.to_scalar(block)), last_turn = number_of(blocks);
    const Num is_full = num(old[1]) >= constant(DType::kInt64, collected);
    const Scalars cut = b_.if_else((is_full | (turn == last_turn)).scalar(),
                                   [&] {
                                     const Index at = sort_by(key, b_.to_index(old[0]), b_.to_index(old[1]));
                                     return Scalars{b_.to_scalar(at), b_.to_scalar(Index(shape_.count)),
                                                    b_.load(list, at + (shape_.count - 1))};
                                   },
                                   [&] { return old; });
    const Num place = turn.apply(ScalarOp::kMin, number_of(blocks - 1));  // its range is seen to fit
    Index first = b_.to_index(place.scalar()) * kBlock + before;
    if (shape_.lengths) first = at_least(at_most(first, shape_.size - kBlock), 0);
    const Num limit = num(cut[2]);
    const Scalar least = b_.reduce(kBlock, {.vectorize = true}, ScalarOp::kMin, start[2].init,
                                   [&](const Index& i) { return mapped(key, first + i).scalar(); });
    const Scalars length = b_.if_else(((num(least) < limit) & (turn < last_turn)).scalar(),
                                      [&] {
                                        const Builder::CarrySpec carry{cut[1]};
                                        const auto [i, arguments] =
                                            b_.begin_for(kBlock, {}, absl::MakeConstSpan(&carry, 1));
                                        const Num x = mapped(key, first + i);
                                        add(b_.to_index(cut[0]) + b_.to_index(arguments[0]), x, first + i);
                                        const Num one = constant(DType::kInt64, 1), zero = constant(DType::kInt64, 0);
                                        const Scalar next = (num(arguments[0]) + select(x < limit, one, zero)).scalar();
                                        return b_.end_for(absl::MakeConstSpan(&next, 1));
                                      },
                                      [&] { return Scalars{cut[1]}; });
    return b_.to_index(b_.end_for(Scalars{cut[0], length[0], cut[2]})[0]);
  }

  // The list is the first `count` of what went by.
  Index select_few() {
    const Key& key = keys_[0];
    const BufferId list = buffer_of(key);
    const int64_t count = shape_.count;
    const Index blocks = b_.divide(length_, kBlock);
    const Scalar all = num(b_.constant(key.mapped, 0)).apply(ScalarOp::kNot).scalar();
    // Takes up what lies at [start, start + length): the last of the list before and after.
    const auto take = [&](const Index& start, const Index& length, const Scalar& limit) {
      const Builder::CarrySpec carry{limit};
      const auto [i, arguments] = b_.begin_for(length, {}, absl::MakeConstSpan(&carry, 1));
      const Index position = shape_.lengths ? at_most(start + i, shape_.size - 1) : start + i;  // seen to fit
      const Num x = mapped(key, position), last = num(arguments[0]);
      const Num filling = num(b_.to_scalar(position)) < constant(DType::kInt64, count);
      const Scalars next = b_.if_else(((x < last) | filling).scalar(),
                                      [&] {
                                        insert(list, x, position);
                                        return Scalars{b_.load(list, count - 1)};
                                      },
                                      [&] { return Scalars{last.scalar()}; });
      return b_.end_for(next)[0];
    };
    b_.for_each(count, {}, [&](const Index& i) { b_.store(list, i, all); });
    const Scalar after_first = take(0, shape_.lengths ? at_most(length_, kBlock) : std::min(kBlock, shape_.size), all);
    Scalar limit = after_first;
    if (shape_.size >= 2 * kBlock) {
      const Builder::CarrySpec carry{after_first};
      const Index others = shape_.lengths ? at_least(blocks - 1, 0) : blocks - 1;
      const auto [block, arguments] = b_.begin_for(others, {}, absl::MakeConstSpan(&carry, 1));
      const Index start = shape_.lengths ? at_most((block + 1) * kBlock, shape_.size - kBlock) : (block + 1) * kBlock;
      const Scalar least = b_.reduce(kBlock, {.vectorize = true}, ScalarOp::kMin, all,
                                     [&](const Index& i) { return mapped(key, start + i).scalar(); });
      const Scalar before = arguments[0];
      const Scalars after =
          b_.if_else((num(least) < num(before)).scalar(), [&] { return Scalars{take(start, kBlock, before)}; },
                     [&] { return Scalars{before}; });
      limit = b_.end_for(after)[0];
    }
    if (shape_.lengths) {
      const Index done = at_least(blocks, 1) * kBlock;
      if (shape_.size > kBlock) take(done, at_least(length_ - done, 0), limit);
    } else if (shape_.size > kBlock && shape_.size % kBlock != 0) {
      take(blocks * kBlock, shape_.size % kBlock, limit);
    }
    return 0;
  }

  // Before the first that is larger; the last one goes.
  void insert(BufferId list, const Num& x, const Index& position) {
    // The place to fill: the end of the list while it is short.
    const Num last = constant(DType::kInt64, shape_.count - 1);
    const Num at = num(b_.to_scalar(position));
    const Scalar start = select(at < last, at, last).scalar();
    const Num zero = constant(DType::kInt64, 0), one = constant(DType::kInt64, 1);
    const Scalars found = b_.while_loop(
        Scalars{start},
        [&](absl::Span<const Scalar> carried) {
          const Num j = num(carried[0]);
          const Num before = select(j > zero, j - one, zero);
          const Num larger = num(b_.load(list, b_.to_index(before.scalar()))) > x;
          return ((j > zero) & larger).scalar();
        },
        [&](absl::Span<const Scalar> carried) {
          const Index j = b_.to_index(carried[0]);
          b_.store(list, j, b_.load(list, j - Index(1)));
          b_.store(places_, j, b_.load(places_, j - Index(1)));
          return Scalars{b_.to_scalar(j - Index(1))};
        });
    const Index j = b_.to_index(found[0]);
    b_.store(list, j, x.scalar());
    b_.store(places_, j, b_.to_scalar(position, kPlace));
  }

  Builder& b_;
  const SortShape shape_;
  absl::Span<const Elements> operands_, results_;
  std::vector<Key> keys_;
  BufferId places_ = 0, counts_ = 0;
  int64_t half_ = 0;                       // of the arrays of keys and positions
  std::optional<BufferId> narrow_, wide_;  // mapped keys of 32 and of 64 bits
  Index from_, to_, length_;               // of the line
};

}  // namespace

void emit_sort(Builder& builder, const SortShape& shape, absl::Span<const Elements> operands,
               absl::Span<const Elements> results) {
  Sorter(builder, shape, operands, results).run();
}

}  // namespace ct::loop
