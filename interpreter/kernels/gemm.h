// result[m, n] = a[m, k] b[k, n], all row-major and dense: the inside of dot_general.
//
// Floats take a register-tiled loop over packed columns of b, compiled for several vector widths and chosen by what the
// processor has; other types take a plain loop. Accumulates in T.
#pragma once

#include <cstdint>

namespace ct {

template <class T>
void multiply_matrices(const T* a, const T* b, T* result, int64_t m, int64_t n, int64_t k);

extern template void multiply_matrices<float>(const float*, const float*, float*, int64_t, int64_t, int64_t);
extern template void multiply_matrices<double>(const double*, const double*, double*, int64_t, int64_t, int64_t);

}  // namespace ct
