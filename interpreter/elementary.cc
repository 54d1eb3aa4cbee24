#include "interpreter/elementary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>

#include "ir/elementary.h"

namespace ct {
namespace {

// Integers that wrap around, as machine instructions do.
template <class I>
struct Wrapped {
  using Unsigned = std::make_unsigned_t<I>;

  I value;

  static Wrapped of(Unsigned bits) { return {static_cast<I>(bits)}; }
  Unsigned bits() const { return static_cast<Unsigned>(value); }

  Wrapped operator-() const { return of(Unsigned{0} - bits()); }
  friend Wrapped operator+(Wrapped a, Wrapped b) { return of(a.bits() + b.bits()); }
  friend Wrapped operator-(Wrapped a, Wrapped b) { return of(a.bits() - b.bits()); }
  friend Wrapped operator&(Wrapped a, Wrapped b) { return of(a.bits() & b.bits()); }
  friend Wrapped operator|(Wrapped a, Wrapped b) { return of(a.bits() | b.bits()); }
  friend bool operator==(Wrapped a, Wrapped b) { return a.value == b.value; }
  friend bool operator<(Wrapped a, Wrapped b) { return a.value < b.value; }
  friend bool operator>(Wrapped a, Wrapped b) { return a.value > b.value; }
};

// The machine of ir/elementary.h that computes. `kFused`: the processor joins a product and a sum into one rounding, so
// compiled code does. `kModerate`: angles are known to be no larger than the common reduction takes.
template <class T, bool kFused, bool kModerate = false>
struct NumberMachine {
  using Bits = std::conditional_t<std::is_same_v<T, double>, int64_t, int32_t>;
  using Real = T;
  using Integer = Wrapped<Bits>;
  using Bool = bool;
  using Word = uint64_t;
  using Wide = NumberMachine<double, kFused, kModerate>;
  using Small = Wrapped<int32_t>;
  static constexpr bool kKnown = true;
  static constexpr bool kIsDouble = std::is_same_v<T, double>;
  static constexpr bool is_double = kIsDouble;
  static constexpr int kMantissa = kIsDouble ? 52 : 23;
  static constexpr int kBias = kIsDouble ? 1023 : 127;

  static T real(double value) { return static_cast<T>(value); }
  static Integer integer(int64_t value) { return {static_cast<Bits>(value)}; }
  static Small small(int64_t value) { return {static_cast<int32_t>(value)}; }
  static Word word(uint64_t value) { return value; }
  static Wide wide() { return {}; }

  static T fma(T a, T b, T c) {
    if constexpr (kFused) {
      return std::fma(a, b, c);
    } else {
      return a * b + c;
    }
  }
  template <class V>
  static V select(bool condition, V a, V b) {
    return condition ? a : b;
  }
  static T power(Integer n) { return from_bits(shift_left(n + integer(kBias), kMantissa)); }
  static T scale(T x, Integer n, T /*whole*/) {
    // Two exact steps and one rounding, so that results may be subnormal and the exponent beyond the largest.
    const Integer half = shift_right(n, 1);
    return x * power(half) * power(n - half);
  }
  static Integer bits_of(T x) { return {std::bit_cast<Bits>(x)}; }
  static T from_bits(Integer n) { return std::bit_cast<T>(n.value); }
  static T absolute(T x) { return std::fabs(x); }
  static T floor(T x) { return std::floor(x); }
  static bool is_finite(T x) { return std::fabs(x) <= std::numeric_limits<T>::max(); }
  static T max(T a, T b) { return a > b || a != a ? a : b; }
  static T min(T a, T b) { return a < b || a != a ? a : b; }
  static Integer max(Integer a, Integer b) { return a > b ? a : b; }
  static Integer min(Integer a, Integer b) { return a < b ? a : b; }
  static Integer shift_left(Integer n, int count) { return Integer::of(n.bits() << count); }
  static Integer shift_right(Integer n, int count) { return {static_cast<Bits>(n.value >> count)}; }
  static Word shift_left(Word n, Word count) { return count < 64 ? n << count : 0; }
  static Word shift_right_logical(Word n, Word count) { return count < 64 ? n >> count : 0; }
  static Word mul_high(Word a, Word b) {
    __extension__ using Product = unsigned __int128;
    return static_cast<Word>(static_cast<Product>(a) * b >> 64);
  }
  static double widened(T x) { return static_cast<double>(x); }
  static T narrowed(double x) { return static_cast<T>(x); }
  static Small to_small(Integer n) { return {static_cast<int32_t>(n.value)}; }
  static Word to_word(Integer n) { return static_cast<Word>(n.value); }
  static Integer from_word(Word n) { return {static_cast<Bits>(n)}; }
  static Word word_of_condition(bool condition) { return condition ? 1 : 0; }
  static T rounded(Integer n) { return static_cast<T>(n.value); }
  static Integer truncated(T x) { return {static_cast<Bits>(x)}; }

  static std::array<Word, 4> words_of_two_over_pi(Integer first) {
    const auto word = [&](int64_t i) { return i == 0 ? Word{0} : Word{tables::kTwoOverPi[i - 1]}; };
    return {word(first.value), word(first.value + 1), word(first.value + 2), word(first.value + 3)};
  }

  template <class Then, class Otherwise>
  static std::tuple<Integer, T, T> either(bool condition, const Then& then, const Otherwise& otherwise) {
    if constexpr (!kModerate) {
      if (condition) return then();
    }
    return otherwise();
  }
};

template <ScalarOp op, bool kFused, bool kModerate, class T>
T evaluated(T x, [[maybe_unused]] T y) {
  Elementary<NumberMachine<T, kFused, kModerate>> functions{{}};
  if constexpr (op == ScalarOp::kExp) return functions.exp(x);
  if constexpr (op == ScalarOp::kExpm1) return functions.expm1(x);
  if constexpr (op == ScalarOp::kLog) return functions.log(x);
  if constexpr (op == ScalarOp::kLog1p) return functions.log1p(x);
  if constexpr (op == ScalarOp::kTanh) return functions.tanh(x);
  if constexpr (op == ScalarOp::kErf) return functions.erf(x);
  if constexpr (op == ScalarOp::kSin) return functions.sin_or_cos(x, false);
  if constexpr (op == ScalarOp::kCos) return functions.sin_or_cos(x, true);
  if constexpr (op == ScalarOp::kPow) return functions.pow(x, y);
  if constexpr (op == ScalarOp::kAtan2) return functions.atan2(x, y);
}

constexpr int64_t kPiece = 256;

template <ScalarOp op, bool kFused, class T>
[[gnu::always_inline]] inline void loop(T* result, const T* x, const T* y, int64_t count) {
  if constexpr (op == ScalarOp::kSin || op == ScalarOp::kCos) {
    // All as if they were moderate, which vectorises; then the others again, from a copy, as the result may lie over x.
    T piece[kPiece];
    for (int64_t start = 0; start < count; start += kPiece) {
      const int64_t size = std::min(kPiece, count - start);
      std::copy_n(x + start, size, piece);
      int any = 0;
#pragma GCC ivdep
      for (int64_t i = 0; i < size; ++i) {
        any |= !(std::fabs(piece[i]) < T(kHugeAngle));
        result[start + i] = evaluated<op, kFused, true, T>(piece[i], T(0));
      }
      if (any == 0) continue;
      for (int64_t i = 0; i < size; ++i) {
        if (!(std::fabs(piece[i]) < T(kHugeAngle))) {
          result[start + i] = evaluated<op, kFused, false, T>(piece[i], T(0));
        }
      }
    }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (scalar_op_info(op).arity == 1) {
        result[i] = evaluated<op, kFused, true, T>(x[i], x[i]);
      } else {
        result[i] = evaluated<op, kFused, true, T>(x[i], y[i]);
      }
    }
  }
}

// Flattened: each function into its loop, so that the target's instructions are used in it.
template <ScalarOp op, class T>
[[gnu::flatten]] void plain_loop(T* result, const T* x, const T* y, int64_t count) {
  loop<op, false, T>(result, x, y, count);
}

template <class T>
using LoopOf = void (*)(T* result, const T* x, const T* y, int64_t count);

#if defined(__x86_64__)
template <ScalarOp op, class T>
[[gnu::flatten, gnu::target("avx2,fma")]] void fused_loop(T* result, const T* x, const T* y, int64_t count) {
  loop<op, true, T>(result, x, y, count);
}
// The same results, in wider registers and with shifts of 64-bit integers.
template <ScalarOp op, class T>
[[gnu::flatten, gnu::target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]] void wide_loop(T* result, const T* x,
                                                                                            const T* y, int64_t count) {
  loop<op, true, T>(result, x, y, count);
}

// What compiled code uses here: a fused multiply-add where there is one (jit/llvm/target.cc).
template <ScalarOp op, class T>
LoopOf<T> best_loop() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return plain_loop<op, T>;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return wide ? wide_loop<op, T> : fused_loop<op, T>;
}
#else
// Every 64-bit ARM has it.
template <ScalarOp op, class T>
[[gnu::flatten]] void fused_loop(T* result, const T* x, const T* y, int64_t count) {
  loop<op, true, T>(result, x, y, count);
}
template <ScalarOp op, class T>
LoopOf<T> best_loop() {
  return fused_loop<op, T>;
}
#endif

}  // namespace

template <ScalarOp op, class T>
void elementary_loop(T* result, const T* x, const T* y, int64_t count) {
  static const LoopOf<T> best = best_loop<op, T>();
  best(result, x, y, count);
}

#define CT_INSTANTIATE(op)                                                                  \
  template void elementary_loop<ScalarOp::op>(float*, const float*, const float*, int64_t); \
  template void elementary_loop<ScalarOp::op>(double*, const double*, const double*, int64_t);
CT_INSTANTIATE(kExp)
CT_INSTANTIATE(kExpm1)
CT_INSTANTIATE(kLog)
CT_INSTANTIATE(kLog1p)
CT_INSTANTIATE(kTanh)
CT_INSTANTIATE(kErf)
CT_INSTANTIATE(kSin)
CT_INSTANTIATE(kCos)
CT_INSTANTIATE(kPow)
CT_INSTANTIATE(kAtan2)
#undef CT_INSTANTIATE

}  // namespace ct
