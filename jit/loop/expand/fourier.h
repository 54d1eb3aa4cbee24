// Discrete Fourier transforms as loops, of lengths that are products of small primes.
//
// The transforms of neighbouring columns are computed side by side, one in each lane of a vector, so that nothing is
// ever shuffled inside of a transform. `lanes` of them are a *group*, whose points lie in a scratch array
// [point][part][lane] that the caches hold while passes go over it:
//
//   length = r0 * r1 * ... * rp       a pass for each factor, which transforms r points at a time in registers;
//   point  = (j0 r1 + j1) r2 + ...    where a point lies. A pass replaces one digit j by a digit k of the result's
//                                     number k0 + r0 (k1 + r1 (...)), in place;
//                                     the first pass may read, and the last one write, other arrays.
//
// Three arrangements use that (`emit_fourier`):
//
//   inner axis    Along an axis that others follow, the lanes are neighbours along those; a long axis is transformed in
//                 two steps, as a long row is.
//   many rows     They become columns by a transposition on the way into the scratch array, and rows again on the way
//                 out.
//   one long row  As the matrix n1 x n2 that it is in memory, it is transformed along its columns, multiplied with
//   roots
//                 of unity and stored; then along its rows, in groups of them, which writes the result's columns in
//                 order (D. H. Bailey, "FFTs in external or hierarchical memory", 1990).
//
// Two real lines are the real and the imaginary part of a complex one, whose result is taken apart by symmetry; and a
// matrix has only the half of its rows that the others are conjugates of.
//
// Roots of unity are rounded from tables in double precision whose size is about that of a column.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/loop/loop.h"

namespace ct::loop {

struct FourierArray {
  BufferId buffer;
  Index offset;
};

// An array [outer][length][inner], transformed along the middle.
struct FourierShape {
  int64_t outer, length, inner;
};

// Whether emit_fourier can.
bool has_fourier(const FourierShape& shape, DType dtype);

struct FourierOptions {
  bool inverse = false;
  double scale = 1;  // of the result
};

// `to` = transform of `from`, which do not overlap. Both are of one complex dtype.
void emit_fourier(Builder& builder, const FourierShape& shape, const FourierArray& from, const FourierArray& to,
                  const FourierOptions& options);

// The same of rows of `length` reals, and the length / 2 + 1 coefficients that determine the others: `from` is real and
// `to` complex, or, for the inverse, the other way round. Of coefficients that are real the imaginary parts are not
// used.
bool has_real_fourier(int64_t outer, int64_t length, DType dtype);
void emit_real_fourier(Builder& builder, int64_t outer, int64_t length, const FourierArray& from,
                       const FourierArray& to, const FourierOptions& options);

// Whether both can for every shape and dtype that a transform of this length may have.
bool always_has_fourier(int64_t length);

}  // namespace ct::loop
