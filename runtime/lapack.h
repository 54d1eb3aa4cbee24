// LAPACK, found when it is first needed: the library that NumPy brings (OpenBLAS, 64-bit integers), else the system's;
// or the file that the environment variable COTANGENT_LAPACK names. docs/design/011-lapack.md says why it is not
// linked.
//
// Each routine has LAPACK's name without its type letter, column-major arrays, and returns LAPACK's `info`: 0 for
// success. Work arrays are inside `Workspace`, made for one shape and used for every matrix of a batch. To add a
// routine, add its name to `Routine` and the table in lapack.cc, and a function that calls it.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace ct::lapack {

template <class T>
struct RealOf {
  using Type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using Type = R;
};
template <class T>
using Real = typename RealOf<T>::Type;
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

template <class T>
struct Workspace {
  std::vector<T> work;
  std::vector<Real<T>> real_work;
  std::vector<int64_t> integers;
};

// The Cholesky factor of the triangle `uplo` ('U' or 'L'), in place.
template <class T>
int potrf(char uplo, int64_t n, T* a, int64_t lda);

// P A = L U in place; pivots[i] is the row, from 0, that row i was exchanged with.
template <class T>
int getrf(int64_t m, int64_t n, T* a, int64_t lda, int32_t* pivots, Workspace<T>& workspace);

// op(A) X = B or X op(A) = B in place of B (m x n). side 'L' or 'R', op 'N', 'T' or 'C', diagonal 'N' or 'U'.
template <class T>
void trsm(char side, char uplo, char op, char diagonal, int64_t m, int64_t n, const T* a, int64_t lda, T* b,
          int64_t ldb);

// Reflectors of A = QR below R, their scales in tau; orgqr makes the first n columns of Q out of k reflectors.
template <class T>
int geqrf(int64_t m, int64_t n, T* a, int64_t lda, T* tau, Workspace<T>& workspace);
// The same for A with its columns reordered so that the diagonal of R descends: column j was pivots[j], from 0.
template <class T>
int geqp3(int64_t m, int64_t n, T* a, int64_t lda, int32_t* pivots, T* tau, Workspace<T>& workspace);
template <class T>
int orgqr(int64_t m, int64_t n, int64_t k, T* a, int64_t lda, const T* tau, Workspace<T>& workspace);

// jobz 'A' (full), 'S' (reduced) or 'N' (values only). Destroys A.
template <class T>
int gesdd(char jobz, int64_t m, int64_t n, T* a, int64_t lda, Real<T>* s, T* u, int64_t ldu, T* vt, int64_t ldvt,
          Workspace<T>& workspace);

// Eigenvalues w, ascending, and with jobz 'V' the eigenvectors in place of A. Real or complex Hermitian.
template <class T>
int syevd(char jobz, char uplo, int64_t n, T* a, int64_t lda, Real<T>* w, Workspace<T>& workspace);

// Eigenvalues, and left and right eigenvectors where the pointers are not null (n x n each). Destroys A.
template <class T>
int geev(int64_t n, T* a, int64_t lda, std::complex<Real<T>>* w, std::complex<Real<T>>* left,
         std::complex<Real<T>>* right, Workspace<T>& workspace);

// C = op(A) op(B), of m x n, with inner size k; op 'N', 'T' or 'C'.
template <class T>
void gemm(char op_a, char op_b, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c,
          int64_t ldc);

// A X + X B = C in place of C (m x n), for A and B in Schur form.
template <class T>
void trsyl(int64_t m, int64_t n, const T* a, const T* b, T* c);

// A = Z T Z^H, T in place of A; Z is not computed when null.
template <class T>
int gees(int64_t n, T* a, int64_t lda, T* z, Workspace<T>& workspace);

}  // namespace ct::lapack
