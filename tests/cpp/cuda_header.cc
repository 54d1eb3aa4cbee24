// Our declarations of the driver's interface are those of cuda.h. Nothing of this runs.
#include <cuda.h>

#include <cstddef>
#include <string_view>

#include "device/cuda/driver.h"
#include "tests/cpp/alike.h"

// Since CUDA 12.8 the header means a second version, of the same parameters, which older drivers do not have.
#ifdef cuEventElapsedTime
#undef cuEventElapsedTime
extern "C" decltype(cuEventElapsedTime_v2) cuEventElapsedTime;
#endif

namespace ct::cuda {

// ---- types ----------------------------------------------------------------------------------------------------------

CT_PAIR(Status, CUresult);
CT_PAIR(DeviceAttribute, CUdevice_attribute);
CT_PAIR(FunctionAttribute, CUfunction_attribute);
CT_PAIR(JitOption, CUjit_option);
CT_PAIR(LaunchConfig, CUlaunchConfig);
CT_PAIR(Context, CUcontext);
CT_PAIR(Stream, CUstream);
CT_PAIR(Module, CUmodule);
CT_PAIR(Function, CUfunction);
CT_PAIR(Event, CUevent);

#define CT_FIELD(ours, theirs) static_assert(offsetof(LaunchConfig, ours) == offsetof(CUlaunchConfig, theirs))
CT_FIELD(grid_x, gridDimX);
CT_FIELD(grid_y, gridDimY);
CT_FIELD(grid_z, gridDimZ);
CT_FIELD(block_x, blockDimX);
CT_FIELD(block_y, blockDimY);
CT_FIELD(block_z, blockDimZ);
CT_FIELD(shared_bytes, sharedMemBytes);
CT_FIELD(stream, hStream);
CT_FIELD(attributes, attrs);
CT_FIELD(attribute_count, numAttrs);

// ---- calls ----------------------------------------------------------------------------------------------------------

#define CT_COMPARE(name, symbol, ...)                                                                \
  static_assert(std::string_view(CT_EXPANDED(name)) == #symbol, "the symbol of " CT_EXPANDED(name)); \
  static_assert(Parameters<__VA_ARGS__>::are(&::name), "the parameters of " CT_EXPANDED(name));
CT_CUDA_CALLS(CT_COMPARE)
CT_CUDA_CALLS_OF_EXPORTED(CT_COMPARE)

// ---- numbers --------------------------------------------------------------------------------------------------------

CT_EQUAL(Status::kSuccess, CUDA_SUCCESS);
CT_EQUAL(Status::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
CT_EQUAL(Status::kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
CT_EQUAL(Status::kDeinitialized, CUDA_ERROR_DEINITIALIZED);
CT_EQUAL(Status::kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
CT_EQUAL(Status::kNoDevice, CUDA_ERROR_NO_DEVICE);
CT_EQUAL(Status::kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
CT_EQUAL(Status::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
CT_EQUAL(Status::kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
CT_EQUAL(Status::kInvalidPtx, CUDA_ERROR_INVALID_PTX);
CT_EQUAL(Status::kJitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
CT_EQUAL(Status::kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
CT_EQUAL(Status::kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
CT_EQUAL(Status::kNotReady, CUDA_ERROR_NOT_READY);
CT_EQUAL(Status::kNotFound, CUDA_ERROR_NOT_FOUND);
CT_EQUAL(Status::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
CT_EQUAL(Status::kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
CT_EQUAL(Status::kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
CT_EQUAL(Status::kAssert, CUDA_ERROR_ASSERT);
CT_EQUAL(Status::kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
CT_EQUAL(Status::kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
CT_EQUAL(Status::kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
CT_EQUAL(Status::kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
CT_EQUAL(Status::kInvalidPc, CUDA_ERROR_INVALID_PC);
CT_EQUAL(Status::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
CT_EQUAL(Status::kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
CT_EQUAL(Status::kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
CT_EQUAL(Status::kUnknown, CUDA_ERROR_UNKNOWN);
CT_EQUAL(DeviceAttribute::kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
CT_EQUAL(DeviceAttribute::kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
CT_EQUAL(DeviceAttribute::kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
CT_EQUAL(DeviceAttribute::kMostSharedBytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
CT_EQUAL(FunctionAttribute::kMostDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
CT_EQUAL(JitOption::kErrorLog, CU_JIT_ERROR_LOG_BUFFER);
CT_EQUAL(JitOption::kErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
CT_EQUAL(kNonBlocking, CU_STREAM_NON_BLOCKING);

}  // namespace ct::cuda
