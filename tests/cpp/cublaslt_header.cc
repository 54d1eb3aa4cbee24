// Our declarations of cuBLASLt's interface are those of cublasLt.h. Nothing of this runs.
#include <cublasLt.h>

#include <cstddef>

#include "device/cuda/libraries.h"
#include "tests/cpp/alike.h"

namespace ct::cuda {

// ---- types ----------------------------------------------------------------------------------------------------------

CT_PAIR(cublas::Status, cublasStatus_t);
CT_PAIR(cublas::ComputeType, cublasComputeType_t);
CT_PAIR(cublas::ElementType, cudaDataType_t);
CT_PAIR(cublas::MatmulAttribute, cublasLtMatmulDescAttributes_t);
CT_PAIR(cublas::LayoutAttribute, cublasLtMatrixLayoutAttribute_t);
CT_PAIR(cublas::PreferenceAttribute, cublasLtMatmulPreferenceAttributes_t);
CT_PAIR(cublas::Handle, cublasLtHandle_t);
CT_PAIR(cublas::Matmul, cublasLtMatmulDesc_t);
CT_PAIR(cublas::Layout, cublasLtMatrixLayout_t);
CT_PAIR(cublas::Preference, cublasLtMatmulPreference_t);
CT_PAIR(cublas::Algorithm, cublasLtMatmulAlgo_t);
CT_PAIR(cublas::Found, cublasLtMatmulHeuristicResult_t);
CT_PAIR(Stream, cudaStream_t);

namespace cublas {

static_assert(sizeof(Operation) == sizeof(cublasOperation_t));

#define CT_FIELD(ours, theirs) static_assert(offsetof(Found, ours) == offsetof(cublasLtMatmulHeuristicResult_t, theirs))
CT_FIELD(algorithm, algo);
CT_FIELD(workspace_bytes, workspaceSize);
CT_FIELD(state, state);
CT_FIELD(waves, wavesCount);
CT_FIELD(reserved, reserved);

// ---- calls ----------------------------------------------------------------------------------------------------------

#define CT_COMPARE(name, ...) \
  static_assert(Parameters<__VA_ARGS__>::are(&::name), "the parameters of " CT_EXPANDED(name));
CT_CUBLASLT_CALLS(CT_COMPARE)

// ---- numbers --------------------------------------------------------------------------------------------------------

CT_EQUAL(Status::kSuccess, CUBLAS_STATUS_SUCCESS);
CT_EQUAL(Status::kNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
CT_EQUAL(Status::kAllocFailed, CUBLAS_STATUS_ALLOC_FAILED);
CT_EQUAL(Status::kInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
CT_EQUAL(Status::kArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
CT_EQUAL(Status::kExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
CT_EQUAL(Status::kInternalError, CUBLAS_STATUS_INTERNAL_ERROR);
CT_EQUAL(Status::kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
CT_EQUAL(ComputeType::kFloat32, CUBLAS_COMPUTE_32F);
CT_EQUAL(ComputeType::kFloat64, CUBLAS_COMPUTE_64F);
CT_EQUAL(ElementType::kFloat32, CUDA_R_32F);
CT_EQUAL(ElementType::kFloat64, CUDA_R_64F);
CT_EQUAL(ElementType::kFloat16, CUDA_R_16F);
CT_EQUAL(ElementType::kBFloat16, CUDA_R_16BF);
CT_EQUAL(Operation::kNone, CUBLAS_OP_N);
CT_EQUAL(Operation::kTranspose, CUBLAS_OP_T);
CT_EQUAL(MatmulAttribute::kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
CT_EQUAL(MatmulAttribute::kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
CT_EQUAL(LayoutAttribute::kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
CT_EQUAL(LayoutAttribute::kBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
CT_EQUAL(PreferenceAttribute::kMostWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
CT_EQUAL(PreferenceAttribute::kReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
CT_EQUAL(PreferenceAttribute::kAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
CT_EQUAL(PreferenceAttribute::kAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
CT_EQUAL(PreferenceAttribute::kAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
CT_EQUAL(PreferenceAttribute::kAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
CT_EQUAL(kReductionInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);

}  // namespace cublas
}  // namespace ct::cuda
