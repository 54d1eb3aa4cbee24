#include <stdint.h>

enum { IN = 64, HIDDEN = 32, OUT = 10, MOST = 32 };

// The parameters as the exported structure has them.
struct params {
  float b1[HIDDEN], b2[OUT], pad0[6], w1[IN][HIDDEN], w2[HIDDEN][OUT];
};

// Of a BLAS with 64-bit sizes, as NumPy brings it.
struct blas {
  void (*gemv)(int order, int transpose, int64_t m, int64_t n, float alpha, const float* a, int64_t lda, const float* x,
               int64_t incx, float beta, float* y, int64_t incy);
  void (*ger)(int order, int64_t m, int64_t n, float alpha, const float* x, int64_t incx, const float* y, int64_t incy,
              float* a, int64_t lda);
  void (*gemm)(int order, int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
               const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
};

#define DECLARE(NAME)                                                                  \
  int NAME##_add(float x, float* y);                                                   \
  float NAME##_step1(struct params* p, const float* x, const int32_t* y, float rate);  \
  float NAME##_step32(struct params* p, const float* x, const int32_t* y, float rate); \
  float NAME##_blas_step(int batch, struct params* p, const float* x, const int32_t* y, float rate, struct blas blas);
DECLARE(plain)
DECLARE(fast)
