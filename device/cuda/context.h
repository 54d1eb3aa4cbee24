// One GPU as this process uses it: what the driver says of it, its context, one stream, and its memory.
//
// All work goes through the one stream, so memory that is given back may be given out again at once: whatever the new
// owner does to it comes later in the stream.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "device/cuda/cuda.h"
#include "device/cuda/driver.h"
#include "device/cuda/products.h"
#include "runtime/tensor.h"

namespace ct::cuda {

// One of the GPUs that the driver shows. It takes no memory yet.
struct Gpu {
  std::shared_ptr<const Driver> driver;
  Ordinal ordinal = 0;
  CudaFacts facts;
};
Gpu find_gpu(std::shared_ptr<const Driver> driver, int number);
// How many there are; throws where there is none.
int gpu_count(const Driver& driver);

class GpuContext : public std::enable_shared_from_this<GpuContext> {
 public:
  static std::shared_ptr<GpuContext> open(Gpu gpu);
  ~GpuContext();
  GpuContext(const GpuContext&) = delete;
  GpuContext& operator=(const GpuContext&) = delete;

  // Makes it the calling thread's, which the calls of the driver mean. Other libraries have contexts of their own, so
  // this is done for each call of a program.
  void enter() const { driver().cuCtxSetCurrent(context_); }
  bool try_to_enter() const { return driver().cuCtxSetCurrent.attempt(context_) == Status::kSuccess; }

  const Driver& driver() const { return *gpu_.driver; }
  const CudaFacts& facts() const { return gpu_.facts; }
  Stream stream() const { return stream_; }
  Context handle() const { return context_; }

  // Before anything is made by it.
  void use_products(const std::shared_ptr<const cublas::Library>& library);
  // After that.
  Products& products() { return *products_; }

  // Uninitialised. What has no owner any more is kept for the next one of its size class, until the GPU has no memory
  // left: then all of it goes back to the driver. Error(kMemory) if that is not enough.
  std::shared_ptr<Buffer> allocate(size_t bytes);
  MemoryUse memory_use() const;

 private:
  explicit GpuContext(Gpu gpu) : gpu_(std::move(gpu)) {}
  Address take_idle(size_t size);              // 0: there is none
  void keep_idle(Address block, size_t size);  // with mutex() held
  void note_taken(size_t size);
  void give_back(Address block, size_t size);
  void free_idle();
  Error no_memory(size_t bytes) const;

  const Gpu gpu_;
  Context context_ = nullptr;
  Stream stream_ = nullptr;
  std::unique_ptr<Products> products_;           // written once, guarded by mutex()
  std::map<size_t, std::vector<Address>> idle_;  // by size, guarded by mutex()
  MemoryUse use_;                                // the same
};

// Sizes between powers of two are few, so that arrays of about one size share memory: at most a fifth is unused, and at
// most 2 MiB.
size_t size_class(size_t bytes);

}  // namespace ct::cuda
