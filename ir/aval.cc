#include "ir/aval.h"

#include <mutex>

#include "absl/container/node_hash_set.h"
#include "ir/error.h"
#include "ir/hash.h"
#include "ir/text.h"

namespace ct {

struct Aval::Interner {
  struct Hash {
    size_t operator()(const Data& data) const { return data.hash; }
  };
  struct Equal {
    bool operator()(const Data& a, const Data& b) const {
      return a.dtype == b.dtype && a.weak == b.weak && a.shape == b.shape;
    }
  };
  std::mutex mutex;
  absl::node_hash_set<Data, Hash, Equal> table;

  static Interner& instance() {
    static Interner* interner = new Interner;
    return *interner;
  }
};

int64_t num_elements(absl::Span<const int64_t> shape) {
  int64_t size = 1;
  for (int64_t dim : shape) {
    if (__builtin_mul_overflow(size, dim, &size)) {
      throw Error(ErrorKind::kMemory, "an array of shape " + shape_string(shape) + " is too large to address");
    }
  }
  return size;
}

std::string shape_string(absl::Span<const int64_t> shape) {
  if (shape.size() == 1) return concat("(", shape[0], ",)");
  return concat("(", join(shape, ", "), ")");
}

Aval::Aval(DType dtype, absl::Span<const int64_t> shape, bool weak) {
  Data key(dtype, weak, shape);
  key.hash = hash_combine(static_cast<uint64_t>(dtype) * 2 + weak, shape.size());
  for (int64_t dim : shape) key.hash = hash_combine(key.hash, static_cast<uint64_t>(dim));
  Interner& interner = Interner::instance();
  std::lock_guard lock(interner.mutex);
  auto it = interner.table.find(key);
  if (it == interner.table.end()) {
    for (int64_t dim : shape) {
      if (dim < 0) throw Error(ErrorKind::kShape, "shape " + shape_string(shape) + " has a negative dimension");
    }
    key.size = num_elements(shape);
    it = interner.table.insert(std::move(key)).first;
  }
  data_ = &*it;
}

Aval Aval::make_element() const {
  const Aval element(dtype(), absl::MakeConstSpan(shape()).subspan(1), weak());
  data_->element.store(element.data_, std::memory_order_release);
  return element;
}

std::string Aval::to_string() const {
  return concat(dtype_name(dtype()), "[", join(shape(), ","), "]", weak() ? "*" : "");
}

int normalize_axis(int64_t axis, int rank, std::string_view op) {
  if (axis < -rank || axis >= rank) {
    throw Error(ErrorKind::kValue, concat("axis ", axis, " is out of bounds for an array with ", rank,
                                          rank == 1 ? " dimension" : " dimensions"))
        .op(op);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace ct
