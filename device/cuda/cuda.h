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

class CudaDevice : public Device {
 public:
  // Throws Error(kDevice) where there is no driver, or none that is new enough, or no GPU.
  virtual CudaFacts facts() = 0;
  // Whether there is a library for large products of matrices, which is opened for that.
  virtual bool has_product_library() = 0;
};

// The process's.
CudaDevice& cuda_device();
// Another one, for tests: its end, and that of what it loaded and allocated, gives everything back to the driver.
std::unique_ptr<CudaDevice> new_cuda_device();

}  // namespace ct
