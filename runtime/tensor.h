// A concrete array: contiguous row-major bytes in a reference-counted, 64-byte-aligned buffer.
//
// `Buffer` owns the bytes (or keeps alive whoever does, for zero-copy import); `Tensor` is a buffer plus an aval.
// Copies share the buffer; tensors are immutable once handed out. So the same bytes may be in several memories: those
// that a device has made come to the host when somebody asks where they are there, and what a device was brought stays
// there as well.
#pragma once

#include <atomic>
#include <complex>
#include <cstddef>
#include <functional>
#include <memory>

#include "runtime/aval.h"
#include "runtime/error.h"

namespace ct {

// Fresh memory comes page by page, at a fault each: large pages, where the system has some, make that cheap. For what
// is as large as a few of them.
void advise_huge_pages(void* data, size_t bytes);

// Bytes in the memory of a device (device/residency.h).
class DeviceBytes {
 public:
  DeviceBytes() = default;
  virtual ~DeviceBytes() = default;
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  virtual int place() const = 0;  // which memory; kHostPlace never
  // Waits until they are computed.
  virtual void copy_to_host(void* to, size_t bytes) const = 0;
};
inline constexpr int kHostPlace = 0;

class Buffer {
 public:
  // Uninitialised bytes, aligned to 64; throws ErrorKind::kMemory when there are none.
  static std::shared_ptr<Buffer> allocate(size_t bytes);
  // Bytes owned by somebody else; `release` runs when the last reference goes.
  static std::shared_ptr<Buffer> borrow(void* data, size_t bytes, std::function<void()> release);
  // Bytes that a device has made, or makes.
  static std::shared_ptr<Buffer> on_device(size_t bytes, std::shared_ptr<const DeviceBytes> made);

  // Use allocate, borrow and on_device.
  struct Passkey;
  Buffer(const Passkey&, void* block, void* data, size_t bytes, std::function<void()> release)
      : block_(block), data_(data), bytes_(bytes), release_(std::move(release)) {}
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // In the memory of the host. The first time that it is asked of what a device makes, waits for it.
  void* data() const {
    void* const data = data_.load(std::memory_order_acquire);
    return data != nullptr || place_ == kHostPlace ? data : bring_to_host();
  }
  size_t bytes() const { return bytes_; }
  bool borrowed() const { return block_ == nullptr; }  // somebody else's bytes
  // Whether they are ours, and nowhere else.
  bool may_be_overwritten() const { return !borrowed() && !has_device_bytes_.load(std::memory_order_relaxed); }

  // Where the bytes were made: kHostPlace or the device's.
  int place() const { return place_; }
  // Where they are beside the host, if anywhere.
  std::shared_ptr<const DeviceBytes> device_bytes() const;
  // They have been copied there; this replaces an older copy, but nothing that was made on a device.
  void keep_on_device(std::shared_ptr<const DeviceBytes> copied);
  // A buffer of our own has room for any number of bytes up to the next multiple of 64, and can become one of so many.
  bool small() const;
  void resize(size_t bytes) { bytes_ = bytes; }

 private:
  void* bring_to_host() const;

  void* block_;  // what to free; null when the bytes are somebody else's
  mutable std::atomic<void*> data_;
  size_t bytes_;
  int place_ = kHostPlace;
  std::atomic<bool> has_device_bytes_ = false;
  std::function<void()> release_;
  std::shared_ptr<const DeviceBytes> device_bytes_;      // guarded by a mutex of all buffers
  mutable std::shared_ptr<const Buffer> copy_for_host_;  // of what a device has made; the same
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Aval aval) : aval_(aval), buffer_(Buffer::allocate(static_cast<size_t>(aval.bytes()))) {}
  Tensor(Aval aval, std::shared_ptr<Buffer> buffer) : aval_(aval), buffer_(std::move(buffer)) {}

  // A scalar of any dtype holding `value`.
  static Tensor scalar(DType dtype, double value, bool weak = false);

  const Aval& aval() const { return aval_; }
  DType dtype() const { return aval_.dtype(); }
  const Shape& shape() const { return aval_.shape(); }
  int64_t size() const { return aval_.size(); }
  void* data() const { return buffer_ ? buffer_->data() : nullptr; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data());
  }
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  int place() const { return buffer_ ? buffer_->place() : kHostPlace; }
  // The same bytes under another aval of the same byte count.
  Tensor reinterpret(Aval aval) const {
    CT_CHECK(aval.bytes() == aval_.bytes());
    return Tensor(aval, buffer_);
  }

  // Another array in the memory of this one: a small buffer that nothing else refers to, of as many lines of 64 bytes.
  void reuse(Aval aval) {
    buffer_->resize(static_cast<size_t>(aval.bytes()));
    aval_ = aval;
  }

  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  Aval aval_;
  std::shared_ptr<Buffer> buffer_;
};

// One element, converted; the slow and readable accessors of reference rules and printing.
double load_real(const Tensor& tensor, int64_t index);
int64_t load_integer(const Tensor& tensor, int64_t index);  // saturates from floats
std::complex<double> load_complex(const Tensor& tensor, int64_t index);
void store_real(const Tensor& tensor, int64_t index, double value);
void store_integer(const Tensor& tensor, int64_t index, int64_t value);
void store_complex(const Tensor& tensor, int64_t index, std::complex<double> value);

}  // namespace ct
