// The calls of NVIDIA's driver that are used, with types and numbers, as cuda.h has them. tests/cpp/cuda_header.cc
// compares them with it. Without headers of C++'s library: what exported programs bring includes it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ct::cuda {

// CUresult. The driver has more of them.
enum class Status : uint32_t {
  kSuccess = 0,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kNoDevice = 100,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kUnknown = 999,
};
// CUdevice_attribute
enum class DeviceAttribute : uint32_t {
  kMultiprocessors = 16,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kMostSharedBytes = 97,
};
// CUfunction_attribute
enum class FunctionAttribute : uint32_t { kMostDynamicSharedBytes = 8 };
// CUjit_option
enum class JitOption : uint32_t { kErrorLog = 5, kErrorLogBytes = 6 };

inline constexpr unsigned kNonBlocking = 1;    // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kTimedEvent = 0;     // CU_EVENT_DEFAULT
inline constexpr unsigned kDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING
// CU_STREAM_LEGACY, CU_STREAM_PER_THREAD: handles of streams that are always there.
inline constexpr uintptr_t kLegacyStream = 1, kPerThreadStream = 2;

using Ordinal = int;                 // CUdevice
using Address = uint64_t;            // CUdeviceptr
using Context = struct Context_*;    // CUcontext
using Stream = struct Stream_*;      // CUstream
using Module = struct Module_*;      // CUmodule
using Function = struct Function_*;  // CUfunction
using Event = struct Event_*;        // CUevent

// CUlaunchConfig
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream stream;
  struct LaunchAttribute_* attributes;
  unsigned attribute_count;
};

// Name in cuda.h, symbol in the library, parameters.
#define CT_CUDA_CALLS(CALL)                                                                        \
  CALL(cuInit, cuInit, unsigned)                                                                   \
  CALL(cuDriverGetVersion, cuDriverGetVersion, int*)                                               \
  CALL(cuDeviceGetCount, cuDeviceGetCount, int*)                                                   \
  CALL(cuDeviceGet, cuDeviceGet, Ordinal*, int)                                                    \
  CALL(cuDeviceGetName, cuDeviceGetName, char*, int, Ordinal)                                      \
  CALL(cuDeviceGetAttribute, cuDeviceGetAttribute, int*, DeviceAttribute, Ordinal)                 \
  CALL(cuDeviceTotalMem, cuDeviceTotalMem_v2, size_t*, Ordinal)                                    \
  CALL(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, Context*, Ordinal)                      \
  CALL(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, Ordinal)                           \
  CALL(cuCtxSetCurrent, cuCtxSetCurrent, Context)                                                  \
  CALL(cuCtxSynchronize, cuCtxSynchronize)                                                         \
  CALL(cuStreamCreate, cuStreamCreate, Stream*, unsigned)                                          \
  CALL(cuStreamSynchronize, cuStreamSynchronize, Stream)                                           \
  CALL(cuStreamQuery, cuStreamQuery, Stream)                                                       \
  CALL(cuStreamDestroy, cuStreamDestroy_v2, Stream)                                                \
  CALL(cuStreamWaitEvent, cuStreamWaitEvent, Stream, Event, unsigned)                              \
  CALL(cuEventCreate, cuEventCreate, Event*, unsigned)                                             \
  CALL(cuEventRecord, cuEventRecord, Event, Stream)                                                \
  CALL(cuEventElapsedTime, cuEventElapsedTime, float*, Event, Event)                               \
  CALL(cuEventDestroy, cuEventDestroy_v2, Event)                                                   \
  CALL(cuMemGetInfo, cuMemGetInfo_v2, size_t*, size_t*)                                            \
  CALL(cuMemAllocAsync, cuMemAllocAsync, Address*, size_t, Stream)                                 \
  CALL(cuMemFreeAsync, cuMemFreeAsync, Address, Stream)                                            \
  CALL(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, Address, const void*, size_t, Stream)              \
  CALL(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, void*, Address, size_t, Stream)                    \
  CALL(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, Address, Address, size_t, Stream)                  \
  CALL(cuMemcpyPeerAsync, cuMemcpyPeerAsync, Address, Context, Address, Context, size_t, Stream)   \
  CALL(cuMemsetD8Async, cuMemsetD8Async, Address, unsigned char, size_t, Stream)                   \
  CALL(cuMemsetD32Async, cuMemsetD32Async, Address, unsigned, size_t, Stream)                      \
  CALL(cuModuleLoadDataEx, cuModuleLoadDataEx, Module*, const void*, unsigned, JitOption*, void**) \
  CALL(cuModuleGetFunction, cuModuleGetFunction, Function*, Module, const char*)                   \
  CALL(cuModuleUnload, cuModuleUnload, Module)                                                     \
  CALL(cuFuncSetAttribute, cuFuncSetAttribute, Function, FunctionAttribute, int)                   \
  CALL(cuLaunchKernelEx, cuLaunchKernelEx, const LaunchConfig*, Function, void**, void**)          \
  CALL(cuGetErrorName, cuGetErrorName, Status, const char**)                                       \
  CALL(cuGetErrorString, cuGetErrorString, Status, const char**)

// And those that only exported programs call, whose contexts are their callers'.
#define CT_CUDA_CALLS_OF_EXPORTED(CALL) CALL(cuCtxGetCurrent, cuCtxGetCurrent, Context*)

}  // namespace ct::cuda
