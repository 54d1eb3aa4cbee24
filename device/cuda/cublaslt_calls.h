// The calls of cuBLASLt that are used, with types and numbers, as cublasLt.h has them. tests/cpp/cublaslt_header.cc
// compares them with it. Without headers of C++'s library: what exported programs bring includes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cuda/driver_calls.h"

namespace ct::cuda::cublas {

// cublasStatus_t
enum class Status : uint32_t {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kArchMismatch = 8,
  kExecutionFailed = 13,
  kInternalError = 14,
  kNotSupported = 15,
};
// cublasComputeType_t: no sums in fewer digits.
enum class ComputeType : uint32_t { kFloat32 = 68, kFloat64 = 70 };
// cudaDataType
enum class ElementType : uint32_t { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 14 };
// cublasOperation_t
enum class Operation : uint32_t { kNone = 0, kTranspose = 1 };
// cublasLtMatmulDescAttributes_t
enum class MatmulAttribute : uint32_t { kTransposeA = 3, kTransposeB = 4 };
// cublasLtMatrixLayoutAttribute_t
enum class LayoutAttribute : uint32_t { kBatchCount = 5, kBatchStride = 6 };
// cublasLtMatmulPreferenceAttributes_t
enum class PreferenceAttribute : uint32_t {
  kMostWorkspaceBytes = 1,
  kReductionSchemes = 3,
  kAlignmentA = 5,
  kAlignmentB = 6,
  kAlignmentC = 7,
  kAlignmentD = 8,
};
// CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE: parts of sums are added up in the type of the sums, in an order that is
// fixed.
inline constexpr uint32_t kReductionInComputeType = 2;
// Of the GPU's memory, while a product is made: what we let it have.
inline constexpr uint64_t kMostWorkspaceBytes = 32 << 20;

using Handle = struct Handle_*;          // cublasLtHandle_t
using Matmul = struct Matmul_*;          // cublasLtMatmulDesc_t
using Layout = struct Layout_*;          // cublasLtMatrixLayout_t
using Preference = struct Preference_*;  // cublasLtMatmulPreference_t

// cublasLtMatmulAlgo_t
struct Algorithm {
  uint64_t data[8];
};
// cublasLtMatmulHeuristicResult_t
struct Found {
  Algorithm algorithm;
  size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

// Name, parameters.
#define CT_CUBLASLT_CALLS(CALL)                                                                                       \
  CALL(cublasLtCreate, Handle*)                                                                                       \
  CALL(cublasLtDestroy, Handle)                                                                                       \
  CALL(cublasLtMatmulDescCreate, Matmul*, ComputeType, ElementType)                                                   \
  CALL(cublasLtMatmulDescDestroy, Matmul)                                                                             \
  CALL(cublasLtMatmulDescSetAttribute, Matmul, MatmulAttribute, const void*, size_t)                                  \
  CALL(cublasLtMatrixLayoutCreate, Layout*, ElementType, uint64_t, uint64_t, int64_t)                                 \
  CALL(cublasLtMatrixLayoutDestroy, Layout)                                                                           \
  CALL(cublasLtMatrixLayoutSetAttribute, Layout, LayoutAttribute, const void*, size_t)                                \
  CALL(cublasLtMatmulPreferenceCreate, Preference*)                                                                   \
  CALL(cublasLtMatmulPreferenceDestroy, Preference)                                                                   \
  CALL(cublasLtMatmulPreferenceSetAttribute, Preference, PreferenceAttribute, const void*, size_t)                    \
  CALL(cublasLtMatmulAlgoGetHeuristic, Handle, Matmul, Layout, Layout, Layout, Layout, Preference, int, Found*, int*) \
  CALL(cublasLtMatmul, Handle, Matmul, const void*, const void*, Layout, const void*, Layout, const void*,            \
       const void*, Layout, void*, Layout, const Algorithm*, void*, size_t, Stream)

}  // namespace ct::cuda::cublas
