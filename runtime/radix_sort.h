// Radix sorts of items by an unsigned key, both stable.
//
// `radix_sort` goes through the items once for each digit, lowest first. `shared_radix_sort` first brings items with
// equal highest digits together, which threads do in equal parts, and then sorts these groups, each small enough for a
// core's own cache, one on each thread: so what one thread has written another reads once, not once for each digit.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/parallel.h"
#include "runtime/pool.h"
#include "runtime/tensor.h"

namespace ct {

// Bits [low, high) of a key; the others are the same in all items.
struct KeyBits {
  int low, high;
};

// Those in which one of the keys differs from another, given what differs from the first.
template <class Key>
KeyBits bits_of(Key differing) {
  return differing == 0 ? KeyBits{0, 0}
                        : KeyBits{std::countr_zero(differing), static_cast<int>(std::bit_width(differing))};
}

inline constexpr int kMostDigitBits = 11;
// From this size on passes are worth more than the larger tables of wider digits.
inline constexpr size_t kWideDigits = 4096;
inline constexpr size_t kLeastSharedSort = size_t{1} << 16;

// The result lies in one of the two arrays: where, is returned.
template <class Item, class GetKey>
Item* radix_sort(Item* items, Item* other, size_t count, KeyBits bits, GetKey&& key) {
  if (count < 2 || bits.low == bits.high) return items;
  const int most = count < kWideDigits ? 8 : kMostDigitBits;
  const int digits = (bits.high - bits.low + most - 1) / most;
  const int width = (bits.high - bits.low + digits - 1) / digits;
  const size_t buckets = size_t{1} << width;
  const auto digit_of = [&](const Item& item, int digit) {
    return static_cast<size_t>(key(item) >> (bits.low + digit * width)) & (buckets - 1);
  };
  std::vector<uint32_t> counts(buckets * static_cast<size_t>(digits), 0);
  // Two or three digits at a time, as many as make up all: each item is looked at once for them.
  const auto count_digits = [&]<size_t... digit>(int from, std::index_sequence<digit...>) {
    uint32_t* const tables = counts.data() + static_cast<size_t>(from) * buckets;
    const int shifts[] = {static_cast<int>(digit) * width...};
    const auto first = bits.low + from * width;
    for (size_t i = 0; i < count; ++i) {
      const auto rest = key(items[i]) >> first;
      (++tables[digit * buckets + (static_cast<size_t>(rest >> shifts[digit]) & (buckets - 1))], ...);
    }
  };
  for (int from = 0; from < digits;) {
    const int left = digits - from;
    if (left == 1) {
      count_digits(from, std::make_index_sequence<1>());
      from += 1;
    } else if (left == 2 || left == 4) {
      count_digits(from, std::make_index_sequence<2>());
      from += 2;
    } else {
      count_digits(from, std::make_index_sequence<3>());
      from += 3;
    }
  }
  for (int digit = 0; digit < digits; ++digit) {
    uint32_t* const starts = counts.data() + static_cast<size_t>(digit) * buckets;
    if (starts[digit_of(items[0], digit)] == count) continue;  // all alike
    uint32_t total = 0;
    for (size_t bucket = 0; bucket < buckets; ++bucket) {
      const uint32_t in_bucket = starts[bucket];
      starts[bucket] = total;
      total += in_bucket;
    }
    for (size_t i = 0; i < count; ++i) other[starts[digit_of(items[i], digit)]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

// `less` orders items as the key does, equal keys as they lie; groups of less than `shortest` items are sorted by it.
// The result is handed out in runs: finish(first place, items, how many), on any thread.
template <class Item, class GetKey, class Less, class Finish>
void shared_radix_sort(Item* items, Item* other, size_t count, KeyBits bits, size_t shortest, GetKey&& key, Less&& less,
                       Finish&& finish) {
  const auto alone = [&] { finish(size_t{0}, radix_sort(items, other, count, bits, key), count); };
  const auto threads = static_cast<size_t>(ct::threads());
  if (threads < 2 || count < kLeastSharedSort || bits.low == bits.high) return alone();
  const int width = std::min(kMostDigitBits, bits.high - bits.low), shift = bits.high - width;
  const size_t buckets = size_t{1} << width;
  const auto digit_of = [&](const Item& item) { return static_cast<size_t>(key(item) >> shift) & (buckets - 1); };
  const auto part_begin = [&](size_t part) { return count * part / threads; };
  const auto nanoseconds = static_cast<int64_t>(count);  // about that for each item and pass
  const int64_t in_all = nanoseconds * (1 + (bits.high - bits.low) / 8);
  const auto on_threads = [&](int64_t time, auto&& body) {
    parallel_for(static_cast<int64_t>(threads), time, in_all, [&](int64_t i) { body(static_cast<size_t>(i)); });
  };

  std::vector<uint32_t> places(threads * buckets, 0);  // of the next item in each bucket, by part
  on_threads(nanoseconds / 2, [&](size_t part) {
    uint32_t* const counts = places.data() + part * buckets;
    for (size_t i = part_begin(part); i < part_begin(part + 1); ++i) ++counts[digit_of(items[i])];
  });
  std::vector<uint32_t> starts(buckets + 1);
  uint32_t total = 0;
  size_t largest = 0;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    starts[bucket] = total;
    for (size_t part = 0; part < threads; ++part) {
      uint32_t& place = places[part * buckets + bucket];
      const uint32_t in_bucket = place;
      place = total;
      total += in_bucket;
    }
    largest = std::max<size_t>(largest, total - starts[bucket]);
  }
  starts[buckets] = total;
  // One thread would have most of the work, and the pass would have been for nothing.
  if (largest > count / 2 && shift > bits.low) return alone();
  on_threads(nanoseconds, [&](size_t part) {
    uint32_t* const next = places.data() + part * buckets;
    for (size_t i = part_begin(part); i < part_begin(part + 1); ++i) other[next[digit_of(items[i])]++] = items[i];
  });
  if (shift == bits.low) {
    return on_threads(nanoseconds, [&](size_t part) {
      finish(part_begin(part), other + part_begin(part), part_begin(part + 1) - part_begin(part));
    });
  }

  // The largest groups first, so that threads end together. Each thread has memory of its own to sort in: what is left
  // in `items` lies in the caches of the others.
  std::vector<uint32_t> groups;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    if (starts[bucket] != starts[bucket + 1]) groups.push_back(static_cast<uint32_t>(bucket));
  }
  const auto size_of = [&](uint32_t group) { return static_cast<size_t>(starts[group + 1] - starts[group]); };
  std::sort(groups.begin(), groups.end(), [&](uint32_t a, uint32_t b) { return size_of(a) > size_of(b); });
  const std::shared_ptr<Buffer> memory = Buffer::allocate(threads * largest * sizeof(Item));
  std::atomic<size_t> next = 0;
  on_threads(in_all - nanoseconds, [&](size_t thread) {
    Item* const own = static_cast<Item*>(memory->data()) + thread * largest;
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < groups.size();) {
      Item* group = other + starts[groups[i]];
      const size_t size = size_of(groups[i]);
      if (size < shortest) {
        std::sort(group, group + size, less);
      } else {
        group = radix_sort(group, own, size, {bits.low, shift}, key);
      }
      finish(starts[groups[i]], group, size);
    }
  });
}

}  // namespace ct
