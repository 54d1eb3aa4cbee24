#include "runtime/sort_order.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <functional>
#include <limits>
#include <type_traits>

#include "runtime/error.h"
#include "runtime/float_types.h"
#include "runtime/parallel.h"
#include "runtime/pool.h"
#include "runtime/radix_sort.h"
#include "runtime/text.h"

namespace ct {
namespace {

// The unsigned type that elements are mapped to: small floats as float, parts of complex numbers as such.
template <class T>
struct MappedType {
  using type = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
};
template <class T>
struct MappedType<std::complex<T>> : MappedType<T> {};
template <class T>
using Mapped = typename MappedType<T>::type;

// `lossy` is no longer 0 when numbers that compare equal but differ are mapped to one. Without branches, for vectors.
template <class T>
Mapped<T> mapped(T x, Mapped<T>& lossy) {
  if constexpr (is_small_float_v<T>) {
    return mapped(static_cast<float>(x), lossy);
  } else if constexpr (std::is_floating_point_v<T>) {
    using U = Mapped<T>;
    constexpr U kSign = U{1} << (sizeof(U) * 8 - 1);
    const U bits = std::bit_cast<U>(x);
    const U is_nan = static_cast<U>((bits & ~kSign) > std::bit_cast<U>(std::numeric_limits<T>::infinity()));
    const U is_negative_zero = static_cast<U>(bits == kSign);
    lossy |= is_nan | is_negative_zero;
    const U turned = bits ^ ((U{0} - (bits >> (sizeof(U) * 8 - 1))) | kSign);  // all bits of negative numbers
    return (turned + is_negative_zero) | (U{0} - is_nan);
  } else if constexpr (std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<Mapped<T>>(static_cast<U>(x) ^ (U{1} << (sizeof(U) * 8 - 1)));
  } else {
    return static_cast<Mapped<T>>(x);
  }
}

// The inverse where nothing was lost.
template <class T>
T unmapped(Mapped<T> key) {
  if constexpr (is_small_float_v<T>) {
    return T(unmapped<float>(key));
  } else if constexpr (std::is_floating_point_v<T>) {
    constexpr int kLast = sizeof(Mapped<T>) * 8 - 1;
    return std::bit_cast<T>(key ^ (((key >> kLast) - 1) | Mapped<T>{1} << kLast));
  } else if constexpr (std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(key) ^ (U{1} << (sizeof(U) * 8 - 1)));
  } else {
    return static_cast<T>(key);
  }
}

template <class T>
constexpr int key_bits() {
  return sizeof(Mapped<T>) == 4 && !std::is_floating_point_v<T> && !is_small_float_v<T> && !is_complex_v<T>
             ? static_cast<int>(sizeof(T)) * 8
             : static_cast<int>(sizeof(Mapped<T>)) * 8;
}

// Below these sizes std::sort wins.
constexpr size_t kShortestRadix = 96;
constexpr size_t kShortestWideRadix = 768;
constexpr int64_t kMapping = 1;  // nanoseconds for an element, about

// body(begin, end) for parts of [0, count), which threads share if there are many.
void in_parts(size_t count, absl::FunctionRef<void(size_t, size_t)> body) {
  const size_t parts = count < kLeastSharedSort ? 1 : static_cast<size_t>(ct::threads());
  if (parts == 1) return body(0, count);
  const auto nanoseconds = static_cast<int64_t>(count) * kMapping;
  parallel_for(static_cast<int64_t>(parts), nanoseconds, 4 * nanoseconds, [&](int64_t at) {
    const auto part = static_cast<size_t>(at);
    body(count * part / parts, count * (part + 1) / parts);
  });
}

// The keys of elements, a block at a time: of so many, known when this is compiled, compilers make vectors.
constexpr size_t kBlock = 32;
template <class T>
using KeyBlock = std::array<Mapped<T>, kBlock>;

// `element(i)`, i < length; the rest of the block is filled with the last one. Of complex numbers the real part, 0, or
// the imaginary part, 1. False: some were `lossy`.
template <class T, class GetElement>
bool map_block(GetElement&& element, size_t length, int part, bool descending, KeyBlock<T>& to) {
  static_cast<void>(part);
  using Part = decltype([](auto x) {
    if constexpr (is_complex_v<decltype(x)>) {
      return x.real();
    } else {
      return x;
    }
  }(std::declval<T>()));
  std::array<Part, kBlock> parts;
  const auto take = [&](size_t i) {
    if constexpr (is_complex_v<T>) {
      parts[i] = part == 0 ? element(i).real() : element(i).imag();
    } else {
      parts[i] = element(i);
    }
  };
  if (length == kBlock) {
    for (size_t i = 0; i < kBlock; ++i) take(i);
  } else {
    for (size_t i = 0; i < length; ++i) take(i);
    for (size_t i = length; i < kBlock; ++i) parts[i] = parts[length - 1];
  }
  const Mapped<T> turned =
      descending ? static_cast<Mapped<T>>(~Mapped<T>{0} >> (sizeof(Mapped<T>) * 8 - key_bits<T>())) : 0;
  Mapped<T> lossy = 0;
  for (size_t i = 0; i < kBlock; ++i) to[i] = mapped(parts[i], lossy) ^ turned;
  return lossy == 0;
}

// The same of elements `stride` apart.
template <class T>
bool map_line(const T* elements, int64_t stride, size_t length, int part, bool descending, KeyBlock<T>& to) {
  if (stride == 1) return map_block<T>([&](size_t i) { return elements[i]; }, length, part, descending, to);
  return map_block<T>([&](size_t i) { return elements[static_cast<int64_t>(i) * stride]; }, length, part, descending,
                      to);
}

// In which bits keys differ from the first of them.
template <class Key>
Key differing(const std::array<Key, kBlock>& keys, Key first) {
  Key all = 0;
  for (size_t i = 0; i < kBlock; ++i) all |= keys[i] ^ first;
  return all;
}

}  // namespace

LineSorter::LineSorter(int64_t size, int64_t count, bool descending)
    : size_(static_cast<size_t>(size)), count_(static_cast<size_t>(count)), descending_(descending) {
  if (size > int64_t{std::numeric_limits<uint32_t>::max()}) {
    throw Error(ErrorKind::kUnsupported, concat("cannot sort an axis of ", size, " elements"))
        .hint("axes below 2**32 elements can be sorted");
  }
}

// Sorts the order so far by one more key, which counts more than those before. `make(begin, end, items)` writes the
// items of these places, whose place is `place_of` them, and returns in which bits their keys differ.
template <class Item, class Make, class GetKey, class GetPlace, class Less>
void LineSorter::order_items(size_t count, size_t shortest, Make&& make, GetKey&& get_key, GetPlace&& place_of,
                             Less&& less) {
  using Key = decltype(get_key(std::declval<Item>()));
  Item* const items = items_.get<Item>(2 * size_);
  std::atomic<Key> differ = 0;
  in_parts(size_, [&](size_t begin, size_t end) {
    differ.fetch_or(static_cast<Key>(make(begin, end, items)), std::memory_order_relaxed);
  });
  const auto* order = has_order_ ? order_.get<uint32_t>(size_) : nullptr;
  auto* next = next_order_.get<uint32_t>(size_);
  const auto finish = [&](size_t begin, const Item* sorted, size_t length) {
    for (size_t i = 0; i < length; ++i) {
      const uint32_t place = place_of(sorted[i]);
      next[begin + i] = order == nullptr ? place : order[place];
    }
  };
  if (count * 4 < size_) {
    if (count > 0) std::nth_element(items, items + count - 1, items + size_, less);
    std::sort(items, items + count, less);
    finish(0, items, count);
  } else if (size_ < shortest) {
    std::sort(items, items + size_, less);
    finish(0, items, size_);
  } else {
    shared_radix_sort(items, items + size_, size_, bits_of(differ.load()), shortest, get_key, less, finish);
  }
  std::swap(order_, next_order_);
  has_order_ = true;
}

template <class T>
void LineSorter::order_by(const SortKey& key, int part, bool is_last) {
  if (is_last && !has_order_ && count_ * 4 < size_) return order_few<T>(key, part);
  if (size_ == 0) return;
  const size_t count = is_last ? count_ : size_;
  const T* elements = static_cast<const T*>(key.elements);
  const auto* order = has_order_ ? order_.get<uint32_t>(size_) : nullptr;
  KeyBlock<T> first;
  map_line(elements, key.stride, 1, part, descending_, first);
  // The keys at places from `begin` on, and in which bits they differ.
  const auto map_places = [&](size_t begin, size_t end, auto&& take) {
    KeyBlock<T> block;
    Mapped<T> differ = 0;
    for (; begin < end; begin += kBlock) {
      const size_t length = std::min(kBlock, end - begin);
      if (order == nullptr) {
        map_line(elements + static_cast<int64_t>(begin) * key.stride, key.stride, length, part, descending_, block);
      } else {
        const auto element = [&](size_t i) { return elements[static_cast<int64_t>(order[begin + i]) * key.stride]; };
        map_block<T>(element, length, part, descending_, block);
      }
      differ |= differing(block, first[0]);
      for (size_t i = 0; i < length; ++i) take(begin + i, block[i]);
    }
    return differ;
  };
  if constexpr (key_bits<T>() <= 32) {
    const auto make = [&](size_t begin, size_t end, uint64_t* items) {
      return map_places(begin, end, [&](size_t place, uint64_t mapped) { items[place] = mapped << 32 | place; });
    };
    order_items<uint64_t>(
        count, kShortestRadix, make, [](uint64_t item) { return static_cast<uint32_t>(item >> 32); },
        [](uint64_t item) { return static_cast<uint32_t>(item); }, std::less<>());
  } else {
    const auto make = [&](size_t begin, size_t end, Wide* items) {
      return map_places(begin, end,
                        [&](size_t place, uint64_t mapped) { items[place] = {mapped, static_cast<uint32_t>(place)}; });
    };
    order_items<Wide>(
        count, kShortestWideRadix, make, [](const Wide& item) { return item.key; },
        [](const Wide& item) { return item.position; }, std::less<>());
  }
}

// The first few by one key. Once there are `count_` candidates, the largest of them is a limit that few others are
// below, so most of a line is mapped and compared, a block at a time, and nothing else.
template <class T>
void LineSorter::order_few(const SortKey& key, int part) {
  auto* const order = order_.get<uint32_t>(count_);
  has_order_ = true;
  if (count_ == 0) return;
  KeyBlock<T> block;
  wide_.clear();
  Mapped<T> most = std::numeric_limits<Mapped<T>>::max();  // a candidate's key is not above it
  const auto keep_first = [&] {
    if (wide_.size() < count_) return true;
    const auto last = wide_.begin() + static_cast<std::ptrdiff_t>(count_ - 1);
    std::nth_element(wide_.begin(), last, wide_.end());
    wide_.resize(count_);
    if (wide_.back().key == 0) return false;  // equal ones come later
    most = static_cast<Mapped<T>>(wide_.back().key - 1);
    return true;
  };
  const size_t room = 2 * count_ + kBlock;
  const T* elements = static_cast<const T*>(key.elements);
  for (size_t begin = 0; begin < size_; begin += kBlock) {
    const size_t length = std::min(kBlock, size_ - begin);
    map_line(elements + static_cast<int64_t>(begin) * key.stride, key.stride, length, part, descending_, block);
    unsigned any = 0;
    for (size_t i = 0; i < kBlock; ++i) any |= static_cast<unsigned>(block[i] <= most);
    if (any == 0) continue;
    for (size_t i = 0; i < length; ++i) {
      if (block[i] <= most) wide_.push_back({block[i], static_cast<uint32_t>(begin + i)});
    }
    if (wide_.size() + kBlock > room && !keep_first()) break;
  }
  std::sort(wide_.begin(), wide_.end());
  for (size_t i = 0; i < count_; ++i) order[i] = wide_[i].position;
}

absl::Span<const uint32_t> LineSorter::order(absl::Span<const SortKey> keys) {
  has_order_ = false;
  for (size_t i = keys.size(); i-- > 0;) {
    dispatch_dtype(keys[i].dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (is_complex_v<T>) order_by<T>(keys[i], 1, false);
      order_by<T>(keys[i], 0, i == 0);
    });
  }
  return {order_.get<uint32_t>(count_), count_};
}

template <class T>
bool LineSorter::sort_values_of(const SortKey& key, void* result, int64_t result_stride) {
  if constexpr (is_complex_v<T>) {
    return false;
  } else {
    if (size_ == 0) return true;
    using Key = Mapped<T>;
    Key* const keys = items_.get<Key>(2 * size_);
    const T* const elements = static_cast<const T*>(key.elements);
    KeyBlock<T> first;
    map_line(elements, key.stride, 1, 0, false, first);
    std::atomic<Key> differ = 0;
    std::atomic<bool> exact = true;
    in_parts(size_, [&](size_t begin, size_t end) {
      KeyBlock<T> block;
      Key differ_here = 0;
      bool exact_here = true;
      for (; begin < end; begin += kBlock) {
        const size_t length = std::min(kBlock, end - begin);
        const T* const from = elements + static_cast<int64_t>(begin) * key.stride;
        exact_here = map_line(from, key.stride, length, 0, false, block) && exact_here;
        differ_here |= differing(block, first[0]);
        std::copy_n(block.begin(), length, keys + begin);
      }
      differ.fetch_or(differ_here, std::memory_order_relaxed);
      if (!exact_here) exact = false;
    });
    if (!exact) return false;
    const auto finish = [&](size_t begin, const Key* sorted, size_t length) {
      T* const to = static_cast<T*>(result);
      if (!descending_ && result_stride == 1 && count_ == size_) {
        for (size_t i = 0; i < length; ++i) to[begin + i] = unmapped<T>(sorted[i]);
        return;
      }
      for (size_t i = 0; i < length; ++i) {
        const size_t place = descending_ ? size_ - 1 - begin - i : begin + i;
        if (place < count_) to[static_cast<int64_t>(place) * result_stride] = unmapped<T>(sorted[i]);
      }
    };
    constexpr size_t kShortest = key_bits<T>() <= 32 ? kShortestRadix : kShortestWideRadix;
    if (size_ < kShortest) {
      std::sort(keys, keys + size_);
      finish(0, keys, size_);
    } else {
      shared_radix_sort(
          keys, keys + size_, size_, bits_of(differ.load()), kShortest, [](Key item) { return item; }, std::less<>(),
          finish);
    }
    return true;
  }
}

bool LineSorter::sort_values(const SortKey& key, void* result, int64_t result_stride) {
  // Few of many are found faster by position.
  if (count_ * 4 < size_) return false;
  return dispatch_dtype(
      key.dtype, [&](auto tag) { return sort_values_of<typename decltype(tag)::type>(key, result, result_stride); });
}

}  // namespace ct
