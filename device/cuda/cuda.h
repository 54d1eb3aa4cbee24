// A GPU of NVIDIA, through its driver (driver.h): kernels in PTX, which the driver assembles. It is looked for when
// something is loaded or allocated, or its facts are asked for. Arrays stay there (device/residency.h).
#pragma once

#include <memory>
#include <string>

#include "device/device.h"

namespace ct {

struct CudaFacts {
  std::string name;
  int capability = 0;  // 90: compute capability 9.0, "sm_90"
  int ptx = 0;         // the newest that the driver reads: 87 is 8.7
  int driver = 0;      // 12080: it is for CUDA 12.8
  int multiprocessors = 0;
  int64_t shared_bytes = 0;  // at most, of one block
  int64_t memory_bytes = 0;
};

// Of a GPU's memory, in bytes, by this process.
struct MemoryUse {
  int64_t in_use = 0;    // by arrays, and by what programs need while they run
  int64_t most = 0;      // the most that was in use at one time
  int64_t kept = 0;      // for the next arrays
  int64_t requests = 0;  // how often some was asked for
};

class CudaDevice : public Device {
 public:
  // Throws Error(kDevice) where there is no driver, or none that is new enough, or no GPU.
  virtual CudaFacts facts() = 0;
  // Its number among those that the driver shows.
  virtual int number() const = 0;
  // Nothing is looked for, or opened.
  virtual MemoryUse memory_use() = 0;
  // Whether there is a library for large products of matrices, which is opened for that.
  virtual bool has_product_library() = 0;
};

// The process's: of numbers below kMostGpus, whether there is such a GPU or not.
CudaDevice& cuda_device(int number = 0);
// The one whose memory a place is; null for that of another device.
CudaDevice* cuda_device_at(int place);
// How many the driver shows, at least one, and at most kMostGpus. Throws like CudaDevice::facts.
int cuda_device_count();
// Another one, for tests: its end, and that of what it loaded and allocated, gives everything back to the driver.
std::unique_ptr<CudaDevice> new_cuda_device(int number = 0);

}  // namespace ct
