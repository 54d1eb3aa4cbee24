// The order of a line of elements: smallest first, equal ones where they were. What `sort` is evaluated with.
//
// Numbers are mapped to unsigned integers that compare as they do, so that one routine serves every dtype and several
// keys: -0 equals 0, NaN is above every number and equal to itself, false is below true, complex numbers compare by
// their real part, then by the imaginary. Long lines go through a radix sort (radix_sort.h), which threads share, short
// ones through std::sort. The first few of many are those that stay in a small buffer while the line goes by.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "runtime/dtype.h"
#include "runtime/tensor.h"

namespace ct {

// One key of a line: elements of `dtype`, `stride` of them apart.
struct SortKey {
  DType dtype;
  const void* elements;
  int64_t stride;
};

// Orders lines; keeps its scratch memory from one line to the next.
class LineSorter {
 public:
  // Only the first `count` places of the order are wanted. Throws Error(kUnsupported) for lines of 2**32 and more.
  LineSorter(int64_t size, int64_t count, bool descending);

  // From here on lines have this size, and the first `count` are wanted: neither more than at first.
  void set_size(int64_t size, int64_t count) {
    size_ = static_cast<size_t>(size);
    count_ = static_cast<size_t>(count);
  }

  // The positions of the elements in order, `count` of them: by the first key, equal ones by the next. Valid until the
  // next call.
  absl::Span<const uint32_t> order(absl::Span<const SortKey> keys);

  // Sorts a line by itself, without positions, where equal elements cannot be told apart: no NaN, no -0, not complex.
  // Else nothing is written, and false returned.
  bool sort_values(const SortKey& key, void* result, int64_t result_stride);

 private:
  struct Wide {
    uint64_t key;
    uint32_t position;
    bool operator<(const Wide& other) const { return key != other.key ? key < other.key : position < other.position; }
  };
  // Memory that is not filled with anything.
  struct Scratch {
    std::shared_ptr<Buffer> buffer;
    template <class T>
    T* get(size_t count) {
      if (!buffer || buffer->bytes() < count * sizeof(T)) buffer = Buffer::allocate(count * sizeof(T));
      return static_cast<T*>(buffer->data());
    }
  };
  template <class T>
  void order_by(const SortKey& key, int part, bool is_last);
  template <class Item, class Make, class GetKey, class GetPlace, class Less>
  void order_items(size_t count, size_t shortest, Make&& make, GetKey&& get_key, GetPlace&& place_of, Less&& less);
  template <class T>
  void order_few(const SortKey& key, int part);
  template <class T>
  bool sort_values_of(const SortKey& key, void* result, int64_t result_stride);

  size_t size_, count_;
  bool descending_;
  bool has_order_ = false;  // from keys that count less
  Scratch order_;           // so far
  Scratch next_order_, items_;
  std::vector<Wide> wide_;  // the first few
};

}  // namespace ct
