// What a library of an exported GPU program is made of: one `Program`, which jit/llvm/gpu_c_functions.cc writes as
// constants behind the functions that C calls, and the code that plays it, runtime.cc, the same for all programs.
//
// It is for machines that have neither cotangent nor the library of C++: numbers and pointers only. The steps are a
// plan's (device/plan.h), written one behind the other as words of 64 bits; `Where` is two of them, buffer and bytes.
// Buffers are numbered: arguments of the C function, constants, the workspace.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "device/cuda/cublaslt_calls.h"
#include "device/cuda/driver_calls.h"

namespace ct::cuda::cublas {

struct Calls {
#define CT_CUBLASLT_POINTER(name, ...) Status (*name)(__VA_ARGS__);
  CT_CUBLASLT_CALLS(CT_CUBLASLT_POINTER)
#undef CT_CUBLASLT_POINTER
};

}  // namespace ct::cuda::cublas

namespace ct::cuda::exported {

// What the C functions return besides 0. A failed call of the driver is kDriverFailure and its CUresult, one of
// cuBLASLt kProductFailure and its cublasStatus_t.
enum Result : int {
  kSuccess = 0,
  kNoMemory = 1,
  kNoDriver = 7,
  kNoProductLibrary = 8,
  kDriverFailure = 1000,
  kProductFailure = 2000
};

// Each with what follows it.
enum StepWord : int64_t {
  kLaunch,   // kernel, blocks, threads, bytes of shared memory, number of arguments, Where of each
  kProduct,  // product, Where of first, second and result
  kCopy,     // Where to, Where from, bytes
  kFill,     // Where, byte, bytes
  kRepeat,   // how often, words of the body; the body
};

struct Matrix {
  int64_t type, rows, columns, pitch, operation, batch_stride;  // as cuBLASLt's descriptors have them
};
struct Product {
  Matrix first, second, result;
  int64_t batch, compute_type, factor_type, accumulate;
  int64_t element_bytes;  // what addresses are multiples of at least
};

// ---- what a library keeps -------------------------------------------------------------------------------------------

struct DriverCalls {
#define CT_CUDA_POINTER(name, symbol, ...) Status (*name)(__VA_ARGS__);
  CT_CUDA_CALLS(CT_CUDA_POINTER)
  CT_CUDA_CALLS_OF_EXPORTED(CT_CUDA_POINTER)
#undef CT_CUDA_POINTER
};
struct Resident;  // what a program has in one context

struct State {
  union {
    pthread_mutex_t mutex;    // as it is when it is all zeros
    int64_t mutex_words[16];  // systems have others
  };
  int64_t has_driver, has_product_library;
  DriverCalls driver;
  cublas::Calls products;
  Resident* residents;
};

// ---- the program ----------------------------------------------------------------------------------------------------

struct Program {
  const char* ptx;
  const char* symbols;              // of the kernels, each with a 0 at its end
  const int64_t* shared_bytes;      // of the kernels
  const Product* products;          // that cuBLASLt makes
  const int64_t* steps;             // words
  const unsigned char* constants;   // their values
  const int64_t* constant_offsets;  // where each begins
  int64_t kernel_count, product_count, word_count, constant_count, constant_bytes;
  int64_t argument_count;   // of the C function, but for the workspace and the stream
  int64_t workspace_bytes;  // without that of products, which begins there
  State state;              // zeros at first
};

// Addresses that a call needs room for, where a launch has at most so many arguments.
inline constexpr int64_t scratch_addresses(int64_t arguments, int64_t constants, int64_t most_of_launch) {
  return arguments + constants + 1 + 2 * most_of_launch;
}

// The functions of runtime.cc, which each function of a library passes its own program.
inline constexpr const char* kCall = "ct_cuda_call";
inline constexpr const char* kCallWithWorkspace = "ct_cuda_call_with_workspace";
inline constexpr const char* kLoad = "ct_cuda_load";
inline constexpr const char* kUnload = "ct_cuda_unload";

extern "C" {
int ct_cuda_call(Program* program, const Address* arguments, Address* scratch, Stream stream);
int ct_cuda_call_with_workspace(Program* program, const Address* arguments, Address* scratch, Address workspace,
                                Stream stream);
int ct_cuda_load(Program* program, Stream stream);
int ct_cuda_unload(Program* program, Stream stream);
}

}  // namespace ct::cuda::exported
