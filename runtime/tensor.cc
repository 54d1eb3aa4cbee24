#include "runtime/tensor.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "runtime/float_types.h"
#include "runtime/freed_memory.h"
#include "runtime/memory_advice.h"
#include "runtime/process.h"
#include "runtime/processor.h"

namespace ct {

void advise_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#if defined(__linux__)
  constexpr auto kPage = static_cast<uintptr_t>(kProcessor.page);
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + kPage - 1) / kPage * kPage;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + bytes) / kPage * kPage;
  // Only advice: where it is not taken, all works the same.
  static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
#endif
}

namespace {

constexpr auto kAlignment = static_cast<size_t>(kProcessor.line);
constexpr size_t kSmall = 960;
constexpr size_t kHuge = size_t{4} << 20;

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

  ProcessMutex mutex_;
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

namespace {

// The block of a small buffer: its bytes lie behind the Buffer, in the one allocation of both.
void* const kBehind = reinterpret_cast<void*>(1);

void* aligned_behind(void* end) {
  return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(end) + kAlignment - 1) / kAlignment * kAlignment);
}

// Blocks for small buffers that were freed lately, by size: programs allocate the same sizes again and again, and more
// of them than malloc keeps at hand.
class FreeBlocks {
 public:
  FreeBlocks() = default;
  ~FreeBlocks() {
    for (Class& c : classes_) {
      while (c.first != nullptr) std::free(std::exchange(c.first, c.first->next));
      c.count = kMost;  // what a thread frees after this goes back to malloc
    }
  }
  FreeBlocks(const FreeBlocks&) = delete;
  FreeBlocks& operator=(const FreeBlocks&) = delete;

  void* take(size_t bytes) {
    const size_t number = (bytes + kGrain - 1) / kGrain;
    if (number < kClasses && classes_[number].first != nullptr) {
      --classes_[number].count;
      return std::exchange(classes_[number].first, classes_[number].first->next);
    }
    return std::malloc(number * kGrain);
  }
  void give(void* block, size_t bytes) {
    const size_t number = (bytes + kGrain - 1) / kGrain;
    if (number >= kClasses || classes_[number].count >= kMost) return std::free(block);
    Class& c = classes_[number];
    c.first = new (block) Block{c.first};
    ++c.count;
  }

 private:
  static constexpr size_t kGrain = 64;
  static constexpr size_t kClasses = 20;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr uint32_t kMost = 0;  // let the sanitizer see every block
#else
  static constexpr uint32_t kMost = 128;
#endif
  struct Block {
    Block* next;
  };
  struct Class {
    Block* first = nullptr;
    uint32_t count = 0;
  };
  Class classes_[kClasses];
};
thread_local FreeBlocks free_blocks;

// Allocates objects with room behind them, and tells where that is.
template <class T>
struct BehindAllocator {
  using value_type = T;
  size_t bytes;
  void** behind;

  BehindAllocator(size_t bytes, void** behind) : bytes(bytes), behind(behind) {}
  template <class U>
  BehindAllocator(const BehindAllocator<U>& other) : bytes(other.bytes), behind(other.behind) {}  // NOLINT: converts

  T* allocate(size_t count) {
    void* block = free_blocks.take(count * sizeof(T) + kAlignment + bytes);
    if (block == nullptr) throw std::bad_alloc();
    *behind = aligned_behind(static_cast<T*>(block) + count);
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t count) { free_blocks.give(block, count * sizeof(T) + kAlignment + bytes); }
  template <class U>
  bool operator==(const BehindAllocator<U>&) const {
    return true;
  }
};

}  // namespace

std::shared_ptr<Buffer> Buffer::allocate(size_t bytes) {
  if (bytes <= kSmall) {
    // malloc serves small sizes from a cache of the thread; aligned_alloc never does, and costs three times as much.
    void* data = nullptr;
    std::shared_ptr<Buffer> buffer = std::allocate_shared<Buffer>(BehindAllocator<Buffer>(rounded_up(bytes), &data),
                                                                  Passkey{}, kBehind, nullptr, bytes, nullptr);
    buffer->data_ = data;
    return buffer;
  }
  const size_t rounded = rounded_up(bytes);
  void* block = bytes >= kHuge ? large_blocks().take(rounded) : nullptr;
  if (block == nullptr && rounded >= bytes) {
    if (bytes >= kHuge) return_freed_memory();
    block = std::aligned_alloc(kAlignment, rounded);
    if (block == nullptr) {
      large_blocks().drop();
      block = std::aligned_alloc(kAlignment, rounded);
    }
    if (block != nullptr && bytes >= kHuge) advise_huge_pages(block, bytes);
  }
  if (block == nullptr) {
    throw Error(ErrorKind::kMemory, "out of memory: could not allocate " + std::to_string(bytes) + " bytes")
        .hint(kMemoryAdvice);
  }
  try {
    return std::make_shared<Buffer>(Passkey{}, block, block, bytes, nullptr);
  } catch (...) {
    std::free(block);
    throw;
  }
}

bool Buffer::small() const { return block_ == kBehind; }

// ---- in the memory of devices ---------------------------------------------------------------------------------------

namespace {

ProcessMutex& device_bytes_mutex() {
  static auto* mutex = new ProcessMutex;
  return *mutex;
}

}  // namespace

std::shared_ptr<Buffer> Buffer::on_device(size_t bytes, std::shared_ptr<const DeviceBytes> made) {
  auto buffer = std::make_shared<Buffer>(Passkey{}, nullptr, nullptr, bytes, nullptr);
  buffer->place_ = made->place();
  CT_CHECK(buffer->place_ != kHostPlace);
  buffer->device_bytes_ = std::move(made);
  buffer->has_device_bytes_ = true;
  return buffer;
}

std::shared_ptr<const DeviceBytes> Buffer::device_bytes() const {
  if (!has_device_bytes_.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(device_bytes_mutex());
  return device_bytes_;
}

void Buffer::keep_on_device(std::shared_ptr<const DeviceBytes> copied) {
  if (place_ != kHostPlace) return;
  const std::lock_guard lock(device_bytes_mutex());
  device_bytes_.swap(copied);
  has_device_bytes_ = true;
}

// Not under the lock: it may take long, and fail. Threads that ask at the same time each bring a copy; the first stays.
void* Buffer::bring_to_host() const {
  const std::shared_ptr<Buffer> copy = allocate(bytes_);
  device_bytes()->copy_to_host(copy->data(), bytes_);
  const std::lock_guard lock(device_bytes_mutex());
  if (copy_for_host_ == nullptr) {
    copy_for_host_ = copy;
    data_.store(copy->data(), std::memory_order_release);
  }
  return copy_for_host_->data();
}

std::shared_ptr<Buffer> Buffer::borrow(void* data, size_t bytes, std::function<void()> release) {
  return std::make_shared<Buffer>(Passkey{}, nullptr, data, bytes, std::move(release));
}

Buffer::~Buffer() {
  if (release_) release_();
  if (block_ == kBehind) return;
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
