// Memory for tests of what is read behind arrays.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace ct::loop {

// Memory that ends where a page does that nothing may touch.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    size_ = (bytes + page_ - 1) / page_ * page_ + page_;
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    memory_ = static_cast<char*>(memory);
    EXPECT_EQ(mprotect(memory_ + size_ - page_, page_, PROT_NONE), 0);
    begin_ = memory_ + size_ - page_ - bytes;
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(memory_, size_); }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(begin_);
  }

 private:
  size_t page_, size_ = 0;
  char *memory_ = nullptr, *begin_ = nullptr;
};

}  // namespace ct::loop
