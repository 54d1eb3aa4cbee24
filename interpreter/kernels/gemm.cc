// Products are added in one rounding where the processor can: the project's default forbids it elsewhere.
#pragma GCC optimize("-ffp-contract=fast")

#include "interpreter/kernels/gemm.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace ct {
namespace {

// A register tile is kRows rows by two vectors: eight accumulators leave registers for operands on every machine.
constexpr int64_t kRows = 4;
constexpr int64_t kDepth = 512;  // of a panel of b; its sums are added to the result

template <class T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};

// Adds rows [0, kCount) of a times one panel [depth, 2 vectors] to `tile` rows of the result.
template <class T, int kBytes, int kCount>
[[gnu::always_inline]] inline void multiply_tile(const T* a, int64_t a_stride, const T* panel, int64_t depth, T* result,
                                                 int64_t result_stride, int64_t width) {
  using Vector = typename VectorOf<T, kBytes>::type;
  constexpr int64_t kLanes = kBytes / sizeof(T);
  Vector sums[kCount][2] = {};
  for (int64_t p = 0; p < depth; ++p) {
    const Vector left = *reinterpret_cast<const Vector*>(panel + p * 2 * kLanes);
    const Vector right = *reinterpret_cast<const Vector*>(panel + p * 2 * kLanes + kLanes);
#pragma GCC unroll 4
    for (int row = 0; row < kCount; ++row) {
      const T factor = a[row * a_stride + p];
      sums[row][0] += factor * left;
      sums[row][1] += factor * right;
    }
  }
  for (int row = 0; row < kCount; ++row) {
    T* to = result + row * result_stride;
    if (width == 2 * kLanes) {
      Vector* vectors = reinterpret_cast<Vector*>(to);
      vectors[0] += sums[row][0];
      vectors[1] += sums[row][1];
    } else {
      const T* from = reinterpret_cast<const T*>(&sums[row][0]);
      for (int64_t j = 0; j < width; ++j) to[j] += from[j];
    }
  }
}

template <class T, int kBytes>
[[gnu::always_inline]] inline void multiply_tiled(const T* a, const T* b, T* result, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kWidth = 2 * kBytes / static_cast<int64_t>(sizeof(T));
  const std::unique_ptr<T[]> panel(new T[std::min(kDepth, k) * kWidth]);
  for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
    const int64_t depth = std::min(kDepth, k - p0);
    for (int64_t j = 0; j < n; j += kWidth) {
      const int64_t width = std::min(kWidth, n - j);
      for (int64_t p = 0; p < depth; ++p) {
        T* to = panel.get() + p * kWidth;
        std::memcpy(to, b + (p0 + p) * n + j, static_cast<size_t>(width) * sizeof(T));
        std::fill(to + width, to + kWidth, T(0));
      }
      int64_t i = 0;
      for (; i + kRows <= m; i += kRows) {
        multiply_tile<T, kBytes, kRows>(a + i * k + p0, k, panel.get(), depth, result + i * n + j, n, width);
      }
      for (; i < m; ++i) {
        multiply_tile<T, kBytes, 1>(a + i * k + p0, k, panel.get(), depth, result + i * n + j, n, width);
      }
    }
  }
}

// How many products are added one after the other before their sum is added to that of others.
constexpr int64_t kLongSum = 512;

// Few rows: packing b would cost as much as using it.
template <class T>
[[gnu::always_inline]] inline void multiply_rows(const T* a, const T* b, T* result, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kColumns = 1024;
  for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const int64_t j1 = std::min(j0 + kColumns, n);
    for (int64_t i = 0; i < m; ++i) {
      T* to = result + i * n;
      // Long sums in blocks, each summed by itself.
      for (int64_t p0 = 0; p0 < k; p0 += kLongSum) {
        T part[kColumns];
        T* sums = k > kLongSum ? part : to + j0;
        if (k > kLongSum) std::fill_n(part, j1 - j0, T(0));
        for (int64_t p = p0; p < std::min(p0 + kLongSum, k); ++p) {
          const T factor = a[i * k + p];
          const T* from = b + p * n + j0;
#pragma GCC ivdep
          for (int64_t j = 0; j < j1 - j0; ++j) sums[j] += factor * from[j];
        }
        if (k > kLongSum) {
          for (int64_t j = j0; j < j1; ++j) to[j] += part[j - j0];
        }
      }
    }
  }
}

// One column: a sum along each row of a, in lanes.
template <class T>
[[gnu::always_inline]] inline void multiply_column(const T* a, const T* b, T* result, int64_t m, int64_t k) {
  constexpr int64_t kLanes = 32;
  for (int64_t i = 0; i < m; ++i, a += k) {
    T total = 0;
    for (int64_t p0 = 0; p0 < k; p0 += kLanes * kLongSum) {
      const int64_t end = std::min(p0 + kLanes * kLongSum, k);
      T lanes[kLanes] = {};
      int64_t p = p0;
      for (; p + kLanes <= end; p += kLanes) {
        for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[p + lane] * b[p + lane];
      }
      for (int64_t width = kLanes / 2; width > 0; width /= 2) {
        for (int64_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
      }
      T sum = lanes[0];
      for (; p < end; ++p) sum += a[p] * b[p];
      total += sum;
    }
    result[i] = total;
  }
}

template <class T, int kBytes>
[[gnu::always_inline]] inline void multiply(const T* a, const T* b, T* result, int64_t m, int64_t n, int64_t k) {
  if (n == 1) {
    multiply_column(a, b, result, m, k);
    return;
  }
  std::fill_n(result, m * n, T(0));
  if (m < kRows) {
    multiply_rows(a, b, result, m, n, k);
  } else {
    multiply_tiled<T, kBytes>(a, b, result, m, n, k);
  }
}

template <class T>
using Multiply = void (*)(const T*, const T*, T*, int64_t, int64_t, int64_t);

template <class T>
void multiply_baseline(const T* a, const T* b, T* result, int64_t m, int64_t n, int64_t k) {
  multiply<T, 16>(a, b, result, m, n, k);
}

#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2,fma")]] void multiply_avx2(const T* a, const T* b, T* result, int64_t m, int64_t n, int64_t k) {
  multiply<T, 32>(a, b, result, m, n, k);
}
template <class T>
[[gnu::target("avx512f,fma")]] void multiply_avx512(const T* a, const T* b, T* result, int64_t m, int64_t n,
                                                    int64_t k) {
  multiply<T, 64>(a, b, result, m, n, k);
}
#endif

template <class T>
Multiply<T> best_multiply() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return multiply_avx512<T>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_avx2<T>;
#endif
  return multiply_baseline<T>;
}

}  // namespace

template <class T>
void multiply_matrices(const T* a, const T* b, T* result, int64_t m, int64_t n, int64_t k) {
  static const Multiply<T> best = best_multiply<T>();
  best(a, b, result, m, n, k);
}

template void multiply_matrices<float>(const float*, const float*, float*, int64_t, int64_t, int64_t);
template void multiply_matrices<double>(const double*, const double*, double*, int64_t, int64_t, int64_t);

}  // namespace ct
