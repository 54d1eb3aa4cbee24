#include "ir/tensor.h"

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "ir/float_types.h"

namespace ct {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSmall = 960;
constexpr size_t kHuge = size_t{4} << 20;

// Fresh memory is handed out page by page, at a fault each: large pages make that cheap.
void advise_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#if defined(__linux__)
  constexpr uintptr_t kPage = 4096;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + kPage - 1) / kPage * kPage;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + bytes) / kPage * kPage;
  // Only advice: where it is not taken, all works the same.
  static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
#endif
}

template <class To>
To load_as(const Tensor& tensor, int64_t index) {
  return dispatch_dtype(
      tensor.dtype(), [&](auto tag) { return convert_element<To>(tensor.as<typename decltype(tag)::type>()[index]); });
}

template <class From>
void store_from(const Tensor& tensor, int64_t index, From value) {
  dispatch_dtype(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    tensor.as<T>()[index] = convert_element<T>(value);
  });
}

// Freed blocks of large arrays, for arrays of the same size to come: the system hands out memory page by page, each
// filled with zeros, which takes longer than many a program that then writes there.
class LargeBlocks {
 public:
  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (size_t i = blocks_.size(); i-- > 0;) {
      if (blocks_[i].bytes != bytes) continue;
      void* const data = blocks_[i].data;
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
      kept_ -= bytes;
      return data;
    }
    return nullptr;
  }

  void give(void* data, size_t bytes) {
    if (bytes > kMostKept) return std::free(data);
    const std::lock_guard lock(mutex_);
    while (kept_ + bytes > kMostKept) drop_oldest();
    blocks_.push_back({data, bytes});
    kept_ += bytes;
  }

  void drop() {
    const std::lock_guard lock(mutex_);
    while (!blocks_.empty()) drop_oldest();
  }

 private:
  static constexpr size_t kMostKept = size_t{128} << 20;
  struct Block {
    void* data;
    size_t bytes;
  };

  void drop_oldest() {
    std::free(blocks_.front().data);
    kept_ -= blocks_.front().bytes;
    blocks_.erase(blocks_.begin());
  }

  std::mutex mutex_;
  std::vector<Block> blocks_;  // oldest first
  size_t kept_ = 0;
};

LargeBlocks& large_blocks() {
  static auto* blocks = new LargeBlocks;  // never destroyed: arrays may outlive everything
  return *blocks;
}

size_t rounded_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

struct Buffer::Passkey {};

std::shared_ptr<Buffer> Buffer::allocate(size_t bytes) {
  void* block;
  void* data;
  if (bytes <= kSmall) {
    // malloc serves small sizes from a cache of the thread; aligned_alloc never does, and costs three times as much.
    block = std::malloc(bytes + kAlignment);
    data = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(block) + kAlignment - 1) / kAlignment * kAlignment);
  } else {
    const size_t rounded = rounded_up(bytes);
    block = data = bytes >= kHuge ? large_blocks().take(rounded) : nullptr;
    if (block == nullptr && rounded >= bytes) {
      block = data = std::aligned_alloc(kAlignment, rounded);
      if (block == nullptr) {
        large_blocks().drop();
        block = data = std::aligned_alloc(kAlignment, rounded);
      }
      if (block != nullptr && bytes >= kHuge) advise_huge_pages(data, bytes);
    }
  }
  if (block == nullptr) {
    throw Error(ErrorKind::kMemory, "out of memory: could not allocate " + std::to_string(bytes) + " bytes");
  }
  try {
    return std::make_shared<Buffer>(Passkey{}, block, data, bytes, nullptr);
  } catch (...) {
    std::free(block);
    throw;
  }
}

std::shared_ptr<Buffer> Buffer::borrow(void* data, size_t bytes, std::function<void()> release) {
  return std::make_shared<Buffer>(Passkey{}, nullptr, data, bytes, std::move(release));
}

Buffer::~Buffer() {
  if (release_) release_();
  if (block_ != nullptr && bytes_ >= kHuge) {
    large_blocks().give(block_, rounded_up(bytes_));
  } else {
    std::free(block_);
  }
}

Tensor Tensor::scalar(DType dtype, double value, bool weak) {
  Tensor result(Aval(dtype, {}, weak));
  store_real(result, 0, value);
  return result;
}

double load_real(const Tensor& tensor, int64_t index) { return load_as<double>(tensor, index); }
int64_t load_integer(const Tensor& tensor, int64_t index) { return load_as<int64_t>(tensor, index); }
std::complex<double> load_complex(const Tensor& tensor, int64_t index) {
  return load_as<std::complex<double>>(tensor, index);
}
void store_real(const Tensor& tensor, int64_t index, double value) { store_from(tensor, index, value); }
void store_integer(const Tensor& tensor, int64_t index, int64_t value) { store_from(tensor, index, value); }
void store_complex(const Tensor& tensor, int64_t index, std::complex<double> value) {
  store_from(tensor, index, value);
}

}  // namespace ct
