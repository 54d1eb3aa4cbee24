#include "ir/sort_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>

#include "ir/error.h"
#include "ir/float_types.h"
#include "ir/text.h"

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

// Sets `lossy` when numbers that compare equal but differ are mapped to one.
template <class T>
Mapped<T> mapped(T x, bool& lossy) {
  if constexpr (is_small_float_v<T>) {
    return mapped(static_cast<float>(x), lossy);
  } else if constexpr (std::is_floating_point_v<T>) {
    using U = Mapped<T>;
    constexpr U kSign = U{1} << (sizeof(U) * 8 - 1);
    if (x != x) {
      lossy = true;
      return std::numeric_limits<U>::max();
    }
    const U bits = std::bit_cast<U>(x);
    if (bits == kSign) {
      lossy = true;
      return kSign;
    }
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
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
    constexpr Mapped<T> kSign = Mapped<T>{1} << (sizeof(Mapped<T>) * 8 - 1);
    return std::bit_cast<T>((key & kSign) != 0 ? key & ~kSign : ~key);
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
// From this size on passes are worth more than the larger tables of wider digits.
constexpr size_t kWideDigits = 4096;

// By `bits` bits of key(item) from the lowest on; stable.
template <class Item, class Key>
void radix_sort(std::vector<Item>& items, std::vector<Item>& scratch, std::vector<uint32_t>& counts, int bits,
                Key&& key) {
  const int width = items.size() < kWideDigits ? 8 : 11;
  const int digits = (bits + width - 1) / width;
  const size_t buckets = size_t{1} << width;
  counts.assign(buckets * static_cast<size_t>(digits), 0);
  for (const Item& item : items) {
    const auto value = key(item);
    for (int digit = 0; digit < digits; ++digit) {
      ++counts[static_cast<size_t>(digit) * buckets + (value >> (digit * width) & (buckets - 1))];
    }
  }
  scratch.resize(items.size());
  for (int digit = 0; digit < digits; ++digit) {
    uint32_t* const starts = counts.data() + static_cast<size_t>(digit) * buckets;
    const int shift = digit * width;
    if (starts[key(items[0]) >> shift & (buckets - 1)] == items.size()) continue;  // all alike
    uint32_t total = 0;
    for (size_t bucket = 0; bucket < buckets; ++bucket) {
      const uint32_t count = starts[bucket];
      starts[bucket] = total;
      total += count;
    }
    for (const Item& item : items) scratch[starts[key(item) >> shift & (buckets - 1)]++] = item;
    items.swap(scratch);
  }
}

// The first `count` items in order, by `less`, which is total; `whole` sorts them all by other means.
template <class Item, class Less, class Whole>
void sort_first(std::vector<Item>& items, size_t count, size_t shortest_radix, Less&& less, Whole&& whole) {
  auto end = items.end();
  if (count * 4 < items.size()) {
    end = items.begin() + static_cast<std::ptrdiff_t>(count);
    if (count > 0) std::nth_element(items.begin(), end - 1, items.end(), less);
  } else if (items.size() >= shortest_radix) {
    return whole();
  }
  std::sort(items.begin(), end, less);
}

// The keys of `count` elements; of a complex number its real part, 0, or imaginary part, 1. False: some were `lossy`.
template <class T>
bool map_elements(const T* elements, int64_t stride, size_t count, int part, bool descending, auto* to) {
  static_cast<void>(part);
  constexpr Mapped<T> kUsed = ~Mapped<T>{0} >> (sizeof(Mapped<T>) * 8 - key_bits<T>());
  const Mapped<T> turned = descending ? kUsed : 0;
  bool lossy = false;
  const auto map_all = [&](int64_t step) {
    for (size_t i = 0; i < count; ++i) {
      const T& element = elements[static_cast<int64_t>(i) * step];
      if constexpr (is_complex_v<T>) {
        to[i] = mapped(part == 0 ? element.real() : element.imag(), lossy) ^ turned;
      } else {
        to[i] = mapped(element, lossy) ^ turned;
      }
    }
  };
  if (stride == 1) {
    map_all(1);  // vectors
  } else {
    map_all(stride);
  }
  return !lossy;
}

}  // namespace

LineSorter::LineSorter(int64_t size, int64_t count, bool descending)
    : size_(static_cast<size_t>(size)), count_(static_cast<size_t>(count)), descending_(descending) {
  if (size > int64_t{std::numeric_limits<uint32_t>::max()}) {
    throw Error(ErrorKind::kUnsupported, concat("cannot sort an axis of ", size, " elements"))
        .hint("axes below 2**32 elements can be sorted");
  }
}

// The keys of a line in mapped_.
template <class T>
bool LineSorter::map(const SortKey& key, int part) {
  mapped_.resize(size_);
  return map_elements(static_cast<const T*>(key.elements), key.stride, size_, part, descending_, mapped_.data());
}

// Sorts the order so far by one more key, which counts more than those before.
template <class T>
void LineSorter::order_by(const SortKey& key, int part, bool is_last) {
  if (is_last && !has_order_ && count_ * 4 < size_) return order_few<T>(key, part);
  map<T>(key, part);
  const size_t count = is_last ? count_ : size_;
  const auto position_at = [&](size_t place) { return has_order_ ? order_[place] : static_cast<uint32_t>(place); };
  next_order_.resize(size_);
  if constexpr (key_bits<T>() <= 32) {
    packed_.resize(size_);
    for (size_t i = 0; i < size_; ++i) packed_[i] = mapped_[position_at(i)] << 32 | i;
    sort_first(packed_, count, kShortestRadix, std::less<>(), [&] {
      radix_sort(packed_, packed_scratch_, counts_, key_bits<T>(), [](uint64_t item) { return item >> 32; });
    });
    for (size_t i = 0; i < count; ++i) next_order_[i] = position_at(static_cast<uint32_t>(packed_[i]));
  } else {
    wide_.resize(size_);
    for (size_t i = 0; i < size_; ++i) wide_[i] = {mapped_[position_at(i)], static_cast<uint32_t>(i)};
    const auto less = [](const Wide& a, const Wide& b) {
      return a.key != b.key ? a.key < b.key : a.position < b.position;
    };
    sort_first(wide_, count, kShortestWideRadix, less,
               [&] { radix_sort(wide_, wide_scratch_, counts_, 64, [](const Wide& item) { return item.key; }); });
    for (size_t i = 0; i < count; ++i) next_order_[i] = position_at(wide_[i].position);
  }
  order_.swap(next_order_);
  has_order_ = true;
}

// The first few by one key. Once there are `count_` candidates, the largest of them is a limit that few others are
// below, so most of a line is mapped and compared, a block at a time, and nothing else.
template <class T>
void LineSorter::order_few(const SortKey& key, int part) {
  constexpr size_t kBlock = 128;
  order_.clear();
  has_order_ = true;
  if (count_ == 0) return;
  std::array<Mapped<T>, kBlock> block;
  const auto less = [](const Wide& a, const Wide& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  };
  wide_.clear();
  Mapped<T> most = std::numeric_limits<Mapped<T>>::max();  // a candidate's key is not above it
  const auto keep_first = [&] {
    if (wide_.size() < count_) return true;
    const auto last = wide_.begin() + static_cast<std::ptrdiff_t>(count_ - 1);
    std::nth_element(wide_.begin(), last, wide_.end(), less);
    wide_.resize(count_);
    if (wide_.back().key == 0) return false;  // equal ones come later
    most = static_cast<Mapped<T>>(wide_.back().key - 1);
    return true;
  };
  const size_t room = 2 * count_ + kBlock;
  const T* elements = static_cast<const T*>(key.elements);
  for (size_t begin = 0; begin < size_; begin += kBlock) {
    const size_t length = std::min(kBlock, size_ - begin);
    if (length < kBlock) block.fill(std::numeric_limits<Mapped<T>>::max());
    map_elements(elements + static_cast<int64_t>(begin) * key.stride, key.stride, length, part, descending_,
                 block.data());
    unsigned any = 0;
    for (size_t i = 0; i < kBlock; ++i) any |= static_cast<unsigned>(block[i] <= most);
    if (any == 0) continue;
    for (size_t i = 0; i < length; ++i) {
      if (block[i] <= most) wide_.push_back({block[i], static_cast<uint32_t>(begin + i)});
    }
    if (wide_.size() + kBlock > room && !keep_first()) break;
  }
  std::sort(wide_.begin(), wide_.end(), less);
  for (size_t i = 0; i < count_; ++i) order_.push_back(wide_[i].position);
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
  return absl::MakeConstSpan(order_).subspan(0, count_);
}

template <class T>
bool LineSorter::sort_values_of(const SortKey& key, void* result, int64_t result_stride) {
  if constexpr (is_complex_v<T>) {
    return false;
  } else {
    const bool turned = descending_;
    descending_ = false;
    const bool exact = map<T>(key, 0);
    descending_ = turned;
    if (!exact) return false;
    const auto write = [&](const auto& sorted) {
      T* to = static_cast<T*>(result);
      for (size_t i = 0; i < count_; ++i) {
        const size_t from = descending_ ? size_ - 1 - i : i;
        to[static_cast<int64_t>(i) * result_stride] = unmapped<T>(static_cast<Mapped<T>>(sorted[from]));
      }
    };
    if constexpr (key_bits<T>() <= 32) {
      narrow_.assign(mapped_.begin(), mapped_.end());
      if (size_ < kShortestRadix) {
        std::sort(narrow_.begin(), narrow_.end());
      } else {
        radix_sort(narrow_, narrow_scratch_, counts_, key_bits<T>(), [](uint32_t item) { return item; });
      }
      write(narrow_);
    } else {
      if (size_ < kShortestWideRadix) {
        std::sort(mapped_.begin(), mapped_.end());
      } else {
        radix_sort(mapped_, packed_scratch_, counts_, 64, [](uint64_t item) { return item; });
      }
      write(mapped_);
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
