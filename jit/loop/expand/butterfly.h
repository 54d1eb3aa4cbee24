// Short Fourier transforms of numbers in registers, and into which of them a long one falls apart.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/loop/num.h"

namespace ct::loop {

struct Complex {
  Num re, im;
};
using Points = std::vector<Complex>;

inline Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }

inline Complex multiply(const Complex& a, const Complex& b) {
  return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}

// exp(-2 pi i turns / n).
struct Root {
  double re, im;
};
Root root_of_unity(int64_t turns, int64_t n);

// The transform, of one of the radices below: sum over j of x[j] exp(-2 pi i j k / n).
Points butterfly(const Points& x);

// Whether a radix, a prime, is worth loops over its points instead of a butterfly.
bool is_looped(int64_t radix);

// The factors of a length, one for each pass, so that passes are few and cheap, with the largest of those that are
// looped at the end; empty if a prime is too large.
std::vector<int64_t> radices_of(int64_t length);

}  // namespace ct::loop
