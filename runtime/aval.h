// The abstract value of a variable: shape, dtype and the weak-type flag, interned so that equality is a pointer
// comparison. Shapes are static; ragged sizes are ordinary integer values beside the padded array (see
// transforms/mask.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "runtime/dtype.h"

namespace ct {

using Shape = absl::InlinedVector<int64_t, 6>;

int64_t num_elements(absl::Span<const int64_t> shape);
std::string shape_string(absl::Span<const int64_t> shape);  // "(2, 3)"; "(8,)"; "()"

class Aval {
 public:
  Aval() = default;
  Aval(DType dtype, absl::Span<const int64_t> shape, bool weak = false);

  DType dtype() const { return data_->dtype; }
  const Shape& shape() const { return data_->shape; }
  bool weak() const { return data_->weak; }
  int rank() const { return static_cast<int>(data_->shape.size()); }
  int64_t dim(int axis) const { return data_->shape[axis]; }
  int64_t size() const { return data_->size; }
  int64_t bytes() const { return data_->size * dtype_size(data_->dtype); }
  uint64_t hash() const { return data_->hash; }

  Aval with_shape(absl::Span<const int64_t> shape) const { return Aval(dtype(), shape, weak()); }
  Aval with_dtype(DType dtype) const { return Aval(dtype, shape()); }
  // Of x[i], for an array with axes.
  Aval element() const {
    const Data* known = data_->element.load(std::memory_order_acquire);
    return known != nullptr ? Aval(*known) : make_element();
  }
  Aval strong() const { return Aval(dtype(), shape(), false); }

  std::string to_string() const;  // "float32[2,3]"; weak types end in '*'

  explicit operator bool() const { return data_ != nullptr; }
  bool operator==(const Aval& other) const { return data_ == other.data_; }

 private:
  struct Data {
    DType dtype;
    bool weak;
    Shape shape;
    int64_t size;
    uint64_t hash;
    mutable std::atomic<const Data*> element = nullptr;  // null: nobody asked yet
    Data(DType dtype, bool weak, absl::Span<const int64_t> shape)
        : dtype(dtype), weak(weak), shape(shape.begin(), shape.end()), size(0), hash(0) {}
    Data(Data&& other) noexcept
        : dtype(other.dtype), weak(other.weak), shape(std::move(other.shape)), size(other.size), hash(other.hash) {}
  };
  struct Interner;
  explicit Aval(const Data& data) : data_(&data) {}
  Aval make_element() const;

  const Data* data_ = nullptr;
};

// Dtype and shape equal; weak types do not matter to the compiled code.
inline bool same_type(const Aval& a, const Aval& b) {
  return a == b || (a.dtype() == b.dtype() && a.shape() == b.shape());
}

}  // namespace ct
