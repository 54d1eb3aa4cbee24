// A concrete array on the host: contiguous row-major bytes in a reference-counted, 64-byte-aligned buffer.
//
// `Buffer` owns the bytes (or keeps alive whoever does, for zero-copy import); `Tensor` is a buffer plus an aval.
// Copies share the buffer; tensors are immutable once handed out.
#pragma once

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

class Buffer {
 public:
  // Uninitialised bytes, aligned to 64; throws ErrorKind::kMemory when there are none.
  static std::shared_ptr<Buffer> allocate(size_t bytes);
  // Bytes owned by somebody else; `release` runs when the last reference goes.
  static std::shared_ptr<Buffer> borrow(void* data, size_t bytes, std::function<void()> release);

  // Use allocate and borrow.
  struct Passkey;
  Buffer(const Passkey&, void* block, void* data, size_t bytes, std::function<void()> release)
      : block_(block), data_(data), bytes_(bytes), release_(std::move(release)) {}
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool borrowed() const { return block_ == nullptr; }  // somebody else's bytes: not ours to overwrite
  // A buffer of our own has room for any number of bytes up to the next multiple of 64, and can become one of so many.
  bool small() const;
  void resize(size_t bytes) { bytes_ = bytes; }

 private:
  void* block_;  // what to free; null when the bytes are somebody else's
  void* data_;
  size_t bytes_;
  std::function<void()> release_;
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
