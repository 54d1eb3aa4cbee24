#include "runtime/aval.h"

#include "absl/container/node_hash_set.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/process.h"
#include "runtime/size.h"
#include "runtime/text.h"

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
  ProcessMutex mutex;
  absl::node_hash_set<Data, Hash, Equal> table;

  static Interner& instance() {
    static Interner* interner = new Interner;
    return *interner;
  }
};

namespace {

[[noreturn]] void too_large(absl::Span<const int64_t> shape, std::string_view what) {
  throw Error(ErrorKind::kMemory, concat(what, " of shape ", shape_string(shape), " is too large to address"))
      .hint("the sizes multiply to more than 2**62, in elements or in bytes")
      .see("too-large");
}

// The elements of an array of this shape, which is one that can be.
int64_t checked_size(DType dtype, absl::Span<const int64_t> shape) {
  // Of the sizes above zero, so that strides fit for arrays without elements too.
  int64_t spread = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      throw Error(ErrorKind::kShape, "shape " + shape_string(shape) + " has a negative dimension")
          .hint("a size is 0 at least")
          .see("negative-size");
    empty |= dim == 0;
    if (dim != 0 && (__builtin_mul_overflow(spread, dim, &spread) || spread > kMostElements)) {
      too_large(shape, "an array");
    }
  }
  if (empty) return 0;
  if (spread > kMostBytes / dtype_size(dtype)) too_large(shape, concat("an array of ", dtype_name(dtype)));
  return spread;
}

}  // namespace

int64_t num_elements(absl::Span<const int64_t> shape) {
  int64_t size = 1;
  for (int64_t dim : shape) {
    if (__builtin_mul_overflow(size, dim, &size)) too_large(shape, "an array");
  }
  return size;
}

std::string shape_string(absl::Span<const int64_t> shape) {
  if (shape.size() == 1) return concat("(", shape[0], ",)");
  return concat("(", join(shape, ", "), ")");
}

Aval::Aval(DType dtype, absl::Span<const int64_t> shape, bool weak) {
  if (shape.size() > kMostAxes) {
    throw Error(ErrorKind::kValue, concat("an array has at most ", kMostAxes, " axes; got ", shape.size()))
        .hint("make one axis of several, with a shape of their product");
  }
  Data key(dtype, weak, shape);
  key.hash = hash_combine(static_cast<uint64_t>(dtype) * 2 + weak, shape.size());
  for (int64_t dim : shape) key.hash = hash_combine(key.hash, static_cast<uint64_t>(dim));
  Interner& interner = Interner::instance();
  std::lock_guard lock(interner.mutex);
  auto it = interner.table.find(key);
  if (it == interner.table.end()) {
    key.size = checked_size(dtype, shape);
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

}  // namespace ct
