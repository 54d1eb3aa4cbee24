// NVIDIA's driver, libcuda: opened when somebody asks for a GPU and not before, with declarations of our own
// (driver_calls.h).
//
// A call that fails throws: Error(kMemory) where the GPU has no memory left, else Error(kDevice). It says which call,
// what the driver says, and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/call.h"
#include "device/cuda/driver_calls.h"
#include "runtime/error.h"
#include "runtime/process.h"

namespace ct::cuda {

// ---- the library ----------------------------------------------------------------------------------------------------

// The oldest that has all these calls, and reads the PTX that is made for GPUs of its time: 11.8.
inline constexpr int kLeastDriver = 11080;

class Driver;

// What to do where a GPU has no memory left.
inline constexpr const char* kGpuMemoryAdvice =
    "free what other processes and libraries hold (nvidia-smi shows it), or use less: jit(..., memory_limit=...)";

template <class... Parameters>
using Call = LibraryCall<Driver, Status, Parameters...>;

class Driver {
 public:
  // The library that CT_CUDA_DRIVER in the environment names, else libcuda.so.1; initialized. Throws where there is
  // none, and for one that is too old.
  static std::shared_ptr<const Driver> open();

#define CT_CUDA_MEMBER(name, symbol, ...) Call<__VA_ARGS__> name{*this, #name};
  CT_CUDA_CALLS(CT_CUDA_MEMBER)
#undef CT_CUDA_MEMBER

  int version() const { return version_; }  // 12080: it is for CUDA 12.8
  // Of the PTX that it reads: 87 is 8.7.
  int ptx() const;

  // What `call` has thrown if it returned that. `log` is what the driver wrote beside it.
  Error failure(std::string_view call, Status status, std::string_view log = "") const;

  // That a plan is going to run: an error of one that runs already may be reported by any later call.
  void note_plan(std::shared_ptr<const std::string> name) const;

  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

 private:
  Driver() = default;
  void find_calls(const char* library);
  std::string latest_plans() const;

  int version_ = 0;
  mutable std::deque<std::shared_ptr<const std::string>> plans_;  // the last ones, guarded by mutex()
};

// Of everything in this folder that threads share.
ProcessMutex& mutex();

std::string version_text(int version);  // "12.8"

}  // namespace ct::cuda
