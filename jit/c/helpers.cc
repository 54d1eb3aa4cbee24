#include "jit/c/helpers.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "jit/loop/float_layout.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct::jit::c {

namespace {

using Words = std::initializer_list<std::pair<std::string_view, std::string>>;

// The template with each $word replaced. No word begins another one.
std::string filled(std::string_view text, Words words) {
  std::string result;
  while (!text.empty()) {
    if (text.front() != '$') {
      result += text.front();
      text.remove_prefix(1);
      continue;
    }
    bool found = false;
    for (const auto& [word, value] : words) {
      if (!text.substr(1).starts_with(word)) continue;
      result += value;
      text.remove_prefix(1 + word.size());
      found = true;
      break;
    }
    CT_CHECK(found);
  }
  return result;
}

std::string bits_of(DType dtype) { return std::to_string(8 * dtype_size(dtype)); }

// Integers of which C does not compute in a wider type.
std::string wrapping_type(DType dtype) { return dtype_size(dtype) == 8 ? "uint64_t" : "uint32_t"; }

template <typename Real>
std::string real_literal(Real value, const char* suffix) {
  if (std::isinf(value)) return concat(value < 0 ? "-" : "", "__builtin_inf", suffix, "()");
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + suffix;
}

}  // namespace

bool is_small_float(DType dtype) { return is_float(dtype) && dtype != DType::kFloat32 && dtype != DType::kFloat64; }

std::string_view register_type(DType dtype) {
  if (is_small_float(dtype)) return "float";
  return is_bool(dtype) ? "bool" : memory_type(dtype);
}

std::string_view memory_type(DType dtype) {
  if (dtype == DType::kFloat32) return "float";
  if (is_double(dtype)) return "double";
  const bool has_sign = is_signed_integer(dtype);
  switch (dtype_size(dtype)) {
    case 1:
      return has_sign ? "int8_t" : "uint8_t";
    case 2:
      return has_sign ? "int16_t" : "uint16_t";
    case 4:
      return has_sign ? "int32_t" : "uint32_t";
    default:
      return has_sign ? "int64_t" : "uint64_t";
  }
}

std::string short_name(DType dtype) {
  if (is_bool(dtype)) return "bool";
  if (dtype == DType::kFloat32) return "f32";
  if (is_double(dtype)) return "f64";
  if (is_float(dtype)) return std::string(dtype_name(dtype));
  return concat(is_signed_integer(dtype) ? "i" : "u", 8 * dtype_size(dtype));
}

std::string literal(DType dtype, uint64_t bits) {
  if (is_bool(dtype)) return bits != 0 ? "true" : "false";
  if (dtype == DType::kFloat32) return real_literal(std::bit_cast<float>(static_cast<uint32_t>(bits)), "f");
  if (is_double(dtype)) return real_literal(std::bit_cast<double>(bits), "");
  CT_CHECK(!is_float(dtype));
  if (!is_signed_integer(dtype)) {
    return dtype_size(dtype) == 8 ? concat("UINT64_C(", bits, ")") : concat(bits, "u");
  }
  const int unused = 64 - 8 * dtype_size(dtype);
  const int64_t value = static_cast<int64_t>(bits << unused) >> unused;
  if (dtype == DType::kInt64) {
    if (value == INT64_MIN) return "INT64_MIN";
    return value > INT32_MAX || value < INT32_MIN ? concat("INT64_C(", value, ")") : std::to_string(value);
  }
  return value == INT32_MIN ? "INT32_MIN" : std::to_string(value);
}

std::string preamble(const TargetFacts& facts) {
  const bool has_masks = facts.arch == TargetFacts::Arch::kX86 && facts.has_masks();
  std::string text = concat(has_masks ? "#include <immintrin.h>\n" : "", R"C(#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined __FAST_MATH__ || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__)
#error "compile without -ffast-math, -Ofast and -ffinite-math-only: NaN, infinities and the order of sums count here"
#endif
#ifdef __NO_MATH_ERRNO__ /* compiled with -fno-math-errno */
#define CT_NO_ERRNO
#endif
#define CT_INLINE static inline __attribute__((always_inline, unused))
#ifdef __cplusplus
#define CT_STATIC_ASSERT static_assert
#else
#define CT_STATIC_ASSERT _Static_assert
#endif
/* A multiply and an add are two roundings unless the program says fma. Loops whose iterations do not depend on each
 * other say so. What GCC computes ahead of branches it knows no vectors of. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#pragma clang diagnostic ignored "-Wpass-failed"
#if __has_warning("-Wbitwise-instead-of-logical") /* both sides are computed, without a branch */
#pragma clang diagnostic ignored "-Wbitwise-instead-of-logical"
#endif
#define CT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define CT_UNROLL _Pragma("clang loop unroll(full)")
#elif defined __GNUC__
#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif
#pragma GCC optimize("fp-contract=off", "no-trapping-math", "no-math-errno", "no-strict-aliasing", "no-tree-pre")
#define CT_INDEPENDENT _Pragma("GCC ivdep")
#define CT_UNROLL _Pragma("GCC unroll 64")
#else
#error "this source needs the extensions that GCC and Clang share"
#endif
/* A product that is rounded before it is added: GCC from 12 on makes one operation of complex products, whatever it was told. */
#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 12
#define CT_ROUNDED(product) __builtin_assoc_barrier(product)
#else
#define CT_ROUNDED(product) (product)
#endif
#if defined __FLT_EVAL_METHOD__ && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error "the compiler keeps floats more exactly than their type says: results would differ"
#endif
)C");
  if (facts.arch == TargetFacts::Arch::kX86 && facts.fma) {
    text += concat("#if defined __x86_64__ && !defined __FMA__\n#error \"compile with -march=",
                   facts.masks_any_size ? "x86-64-v4" : "x86-64-v3", "\"\n#endif\n");
  }
  return text;
}

std::string Helpers::text() const { return join(definitions_, "\n"); }

std::string Helpers::function(const std::string& name, const std::string& body) {
  const auto [at, is_new] = known_.emplace(name, body);
  CT_CHECK(at->second == body);
  if (is_new) definitions_.push_back(body);
  return name;
}

std::string Helpers::function_like(const std::string& wanted, const std::string& body) {
  const auto [at, is_new] = bodies_.emplace(body, wanted);
  if (!is_new) return at->second;
  for (int number = 2; knows(at->second); ++number) at->second = concat(wanted, "_", number);
  return function(at->second, filled(body, {{"name", at->second}}));
}

// ------------------------------------------------------------------------------------------------------------- scalars

std::string Helpers::scalar(ScalarOp op, DType dtype) {
  if (is_float(dtype)) return scalar_float(op, dtype);
  return scalar_integer(op, dtype);
}

std::string Helpers::scalar_float(ScalarOp op, DType dtype) {
  // Small floats are computed with as float32.
  const DType kind = is_double(dtype) ? dtype : DType::kFloat32;
  const std::string name = concat("ct_", scalar_op_info(op).name, "_", short_name(kind));
  if (knows(name)) return name;
  const std::string type(register_type(kind)), f = suffix(kind);
  const auto define = [&](std::string_view parameters, std::string_view body) {
    return function(name, filled(concat(kInline, "$T $name(", parameters, ") ", body, "\n"),
                                 {{"T", type},
                                  {"name", name},
                                  {"f", f},
                                  {"1", real_literal(1.0, f.c_str())},
                                  {"0", real_literal(0.0, f.c_str())},
                                  {"vector", op == ScalarOp::kSqrt ? vector(kind, is_double(kind) ? 2 : 4) : ""},
                                  {"letter", is_double(kind) ? "d" : "s"},
                                  {"whole", real_literal(std::ldexp(1.0, is_double(kind) ? 52 : 23), f.c_str())}}));
  };
  const auto rounding = [&](std::string_view builtin, std::string_view correction) {
    return define("$T x", concat(R"({
#if defined __SSE4_1__ || defined __aarch64__ || defined __wasm__
  return __builtin_)",
                                 builtin, R"($f(x);
#else /* where compilers would call the C library: a sum with the least number that has no fraction bits */
  const $T size = __builtin_fabs$f(x);
  $T rounded = __builtin_copysign$f((size + $whole) - $whole, x);
)",
                                 correction, R"(  return size < $whole ? __builtin_copysign$f(rounded, x) : x;
#endif
})"));
  };
  switch (op) {
    case ScalarOp::kAbs:
      return define("$T x", "{ return __builtin_fabs$f(x); }");
    case ScalarOp::kSign:
      return define("$T x", "{ return x < $0 || x > $0 ? __builtin_copysign$f($1, x) : x; }");
    case ScalarOp::kFloor:
      return rounding("floor", "  rounded = rounded > x ? rounded - $1 : rounded;\n");
    case ScalarOp::kCeil:
      return rounding("ceil", "  rounded = rounded < x ? rounded + $1 : rounded;\n");
    case ScalarOp::kRound:
      return rounding("rint", "");
    case ScalarOp::kSqrt:
      if (is_double(kind) && !facts_.doubles) {
        // Digit by digit, in integers: "Freely distributable libm" (fdlibm), e_sqrt.c.
        const std::string to_bits = bitcast(kind, DType::kUInt64), from_bits = bitcast(DType::kUInt64, kind);
        return function(
            name, concat("/* Where the processor has no root of double: digit by digit, as fdlibm's e_sqrt.c. */\n",
                         "static double ", name, R"C((double x) {
  const uint64_t bits = )C",
                         to_bits, R"C((x), infinity = UINT64_C(0x7ff) << 52;
  if (bits << 1 == 0 || bits == infinity) return x;
  if (bits << 1 > infinity << 1) return x;
  if (bits >> 63 != 0) return __builtin_nan("");
  int64_t exponent = (int64_t)(bits >> 52);
  uint64_t left = bits & ((UINT64_C(1) << 52) - 1);
  if (exponent == 0) {
    for (exponent = 1; left >> 52 == 0; --exponent) left <<= 1;
  } else {
    left |= UINT64_C(1) << 52;
  }
  exponent -= 1023;
  left <<= (exponent & 1) + 1;
  uint64_t twice = 0, root = 0;
  for (uint64_t digit = UINT64_C(1) << 53; digit != 0; digit >>= 1) {
    const uint64_t trial = twice + digit;
    if (trial <= left) {
      twice = trial + digit;
      left -= trial;
      root += digit;
    }
    left <<= 1;
  }
  if (left != 0) root += root & 1;
  return )C",
                         from_bits, "((root >> 1) + ((uint64_t)((exponent >> 1) + 1022) << 52));\n}\n"));
      }
      // Builtins set errno by a call of the C library, unless they are told not to.
      return define("$T x", R"C({
#ifdef CT_NO_ERRNO
  return __builtin_sqrt$f(x);
#elif defined __clang__ && __clang_major__ >= 16
  return __builtin_elementwise_sqrt(x);
#elif defined __SSE2__
  const $vector all = {x};
  return __builtin_ia32_sqrts$letter(all)[0];
#else
  return __builtin_sqrt$f(x); /* needs -fno-math-errno or -lm */
#endif
})C");
    case ScalarOp::kIsFinite:
      return function(name, concat(kInline, "bool ", name, "(", type, " x) { return __builtin_fabs", f,
                                   "(x) < __builtin_inf", f, "(); }\n"));
    case ScalarOp::kMax:
      return define("$T a, $T b", "{ return a != a ? a : a > b ? a : b; }");
    case ScalarOp::kMin:
      return define("$T a, $T b", "{ return a != a ? a : a < b ? a : b; }");
    default:
      throw Error(ErrorKind::kInternal, "C source has no function of floats for an operation")
          .op(scalar_op_info(op).name);
  }
}

std::string Helpers::scalar_integer(ScalarOp op, DType dtype) {
  const std::string name = concat("ct_", scalar_op_info(op).name, "_", short_name(dtype));
  if (knows(name)) return name;
  const bool has_sign = is_signed_integer(dtype);
  const int size = dtype_size(dtype);
  const DType magnitude = !has_sign   ? dtype
                          : size == 8 ? DType::kUInt64
                          : size == 4 ? DType::kUInt32
                          : size == 2 ? DType::kUInt16
                                      : DType::kUInt8;
  const auto add = [&](std::string_view text) {
    return function(name,
                    filled(concat(kInline, text), {{"T", std::string(memory_type(dtype))},
                                                   {"U", wrapping_type(dtype)},
                                                   {"M", std::string(memory_type(magnitude))},
                                                   {"name", name},
                                                   {"bits", bits_of(dtype)},
                                                   {"least", has_sign ? concat("INT", bits_of(dtype), "_MIN") : "0"}}));
  };
  const auto define = [&](std::string_view parameters, std::string_view body) {
    return add(concat("$T $name(", parameters, ") { return ", body, "; }\n"));
  };
  const std::string_view one = "$T a", two = "$T a, $T b";
  switch (op) {
    case ScalarOp::kNeg:
      return define(one, "($T)(($U)0 - ($U)a)");
    case ScalarOp::kAbs:
      return has_sign ? define(one, "a < 0 ? ($T)(($U)0 - ($U)a) : a") : define(one, "a");
    case ScalarOp::kSign:
      return has_sign ? define(one, "($T)((a > 0) - (a < 0))") : define(one, "a != 0");
    case ScalarOp::kAdd:
      return define(two, "($T)(($U)a + ($U)b)");
    case ScalarOp::kSub:
      return define(two, "($T)(($U)a - ($U)b)");
    case ScalarOp::kMul:
      return define(two, "($T)(($U)a * ($U)b)");
    case ScalarOp::kDiv:
      // By zero it is -1, and the least number divided by -1 is itself.
      return has_sign ? define(two, "b == 0 ? ($T)-1 : ($T)(a / (a == $least && b == -1 ? ($T)1 : b))")
                      : define(two, "b == 0 ? ($T)-1 : ($T)(a / b)");
    case ScalarOp::kRem:
      return has_sign ? define(two, "b == 0 ? a : ($T)(a % (a == $least && b == -1 ? ($T)1 : b))")
                      : define(two, "b == 0 ? a : ($T)(a % b)");
    case ScalarOp::kMax:
      return define(two, "a > b ? a : b");
    case ScalarOp::kMin:
      return define(two, "a < b ? a : b");
    case ScalarOp::kShl:
      return define(two, "($M)b < $bits ? ($T)(($U)a << ($M)b) : 0");
    case ScalarOp::kShrLogical:
      return define(two, "($M)b < $bits ? ($T)(($M)a >> ($M)b) : 0");
    case ScalarOp::kShrArithmetic:
      return define(two, "($T)(a >> (($M)b < $bits ? ($M)b : $bits - 1))");
    case ScalarOp::kPopulationCount:
      // Of pairs, of groups of four, of bytes; the product adds up those of all bytes in the highest.
      return add(R"($T $name($T a) {
  $U counts = ($M)a;
  counts -= (counts >> 1) & (($U)-1 / 3);
  counts = (counts & (($U)-1 / 5)) + ((counts >> 2) & (($U)-1 / 5));
  counts = (counts + (counts >> 4)) & (($U)-1 / 17);
  return ($T)((counts * (($U)-1 / 255)) >> (8 * sizeof counts - 8));
}
)");
    case ScalarOp::kLeadingZeros: {
      const std::string count = scalar_integer(ScalarOp::kPopulationCount, dtype);
      std::string below = "  $U below = ($M)a; /* with every bit below the highest one */\n";
      for (int shift = 1; shift < 8 * size; shift *= 2) {
        below += concat("  below |= below >> ", shift, ";\n");
      }
      return add(concat("$T $name($T a) {\n", below, "  return ", count, "(($T)~below);\n}\n"));
    }
    default:
      throw Error(ErrorKind::kInternal, "C source has no function of integers for an operation")
          .op(scalar_op_info(op).name);
  }
}

std::string Helpers::scale(DType dtype) {
  const std::string name = concat("ct_scale_", short_name(dtype));
  const DType integer = is_double(dtype) ? DType::kInt64 : DType::kInt32;
  const DType word = is_double(dtype) ? DType::kUInt64 : DType::kUInt32;
  const std::string from_bits = bitcast(word, dtype);
  return function(name, filled(R"(/* x * 2^n: two exact steps and one rounding, so that results may be subnormal. */
$inline$T $name($T x, $I n) {
  const $I half = n >> 1;
  return x * $bits(($U)(half + $bias) << $mantissa) * $bits(($U)(n - half + $bias) << $mantissa);
}
)",
                               {{"inline", std::string(kInline)},
                                {"T", std::string(register_type(dtype))},
                                {"I", std::string(memory_type(integer))},
                                {"U", std::string(memory_type(word))},
                                {"name", name},
                                {"bits", from_bits},
                                {"bias", is_double(dtype) ? "1023" : "127"},
                                {"mantissa", is_double(dtype) ? "52" : "23"}}));
}

std::string Helpers::mul_high(DType dtype) {
  const std::string name = concat("ct_mul_high_", short_name(dtype));
  if (dtype_size(dtype) == 4) {
    return function(name, concat(kInline, "uint32_t ", name,
                                 "(uint32_t a, uint32_t b) { return (uint32_t)(((uint64_t)a * b) >> 32); }\n"));
  }
  return function(name, concat(kInline, "uint64_t ", name, R"((uint64_t a, uint64_t b) {
  const uint64_t a_low = a & UINT32_MAX, a_high = a >> 32, b_low = b & UINT32_MAX, b_high = b >> 32;
  const uint64_t middle = a_high * b_low + ((a_low * b_low) >> 32), other = a_low * b_high + (middle & UINT32_MAX);
  return a_high * b_high + (middle >> 32) + (other >> 32);
}
)"));
}

std::string Helpers::fma(DType dtype) {
  const std::string name = concat("ct_fma_", short_name(dtype));
  const std::string type(register_type(dtype));
  const bool once = facts_.fma && (facts_.doubles || !is_double(dtype));
  return function(
      name, concat("/* a * b + c in ", once ? "one rounding" : "two roundings", ". */\n", kInline, type, " ", name, "(",
                   type, " a, ", type, " b, ", type, " c) { return ",
                   once ? concat("__builtin_fma", suffix(dtype), "(a, b, c)") : "CT_ROUNDED(a * b) + c", "; }\n"));
}

// --------------------------------------------------------------------------------------------------------- conversions

std::string Helpers::bitcast(DType from, DType to) {
  if (is_small_float(from) || is_small_float(to)) {
    // Their bits are those of an unsigned integer of the size.
    const std::string name = concat("ct_", short_name(to), "_of_bits_of_", short_name(from));
    const std::string inner = is_small_float(from) ? concat(encode(from), "(x)") : "x";
    const DType word = dtype_size(from) == 1 ? DType::kUInt8 : DType::kUInt16;
    const std::string bits = concat("(", memory_type(word), ")", inner);
    const std::string result =
        is_small_float(to) ? concat(decode(to), "(", bits, ")") : concat("(", memory_type(to), ")", bits);
    return function(name, concat(kInline, register_type(to), " ", name, "(", register_type(from), " x) { return ",
                                 result, "; }\n"));
  }
  const std::string name = concat("ct_", short_name(to), "_of_bits_of_", short_name(from));
  if (is_bool(from) || is_bool(to)) {
    return function(name, concat(kInline, register_type(to), " ", name, "(", register_type(from), " x) { return ",
                                 is_bool(to) ? "x != 0" : concat("(", memory_type(to), ")x"), "; }\n"));
  }
  return function(name, concat(kInline, register_type(to), " ", name, "(", register_type(from), " x) {\n  ",
                               register_type(to), " y;\n  __builtin_memcpy(&y, &x, sizeof y);\n  return y;\n}\n"));
}

std::string Helpers::convert(DType from, DType to) {
  if (is_small_float(to)) {
    const std::string round = round_to(to);
    if (from != DType::kFloat64) {
      const std::string name = concat("ct_", short_name(to), "_of_", short_name(from));
      return function(
          name, concat(kInline, "float ", name, "(", register_type(from), " x) { return ", round, "((float)x); }\n"));
    }
    const std::string name = concat("ct_", short_name(to), "_of_f64");
    const std::string to_bits = bitcast(DType::kFloat32, DType::kUInt32),
                      from_bits = bitcast(DType::kUInt32, DType::kFloat32);
    return function(
        name, concat("/* Through float rounded to odd: the second rounding sees what the first dropped. */\n", kInline,
                     "float ", name, R"((double x) {
  const float nearest = (float)x;
  const double back = (double)nearest;
  const bool larger = __builtin_fabs(back) > __builtin_fabs(x), inexact = back < x || back > x;
  return )",
                     round, "(", from_bits, "((", to_bits, R"((nearest) - (uint32_t)larger) | (uint32_t)inexact));
}
)"));
  }
  CT_CHECK(is_float(from) && is_integer(to));
  const DType kind = is_double(from) ? from : DType::kFloat32;
  const std::string name = concat("ct_", short_name(to), "_of_", short_name(kind));
  const int size = 8 * dtype_size(to);
  const std::string type(memory_type(to)), f = suffix(kind);
  const bool has_sign = is_signed_integer(to);
  const std::string above = real_literal(std::ldexp(1.0, has_sign ? size - 1 : size), f.c_str());
  const std::string most = concat(has_sign ? "INT" : "UINT", size, "_MAX");
  const std::string least = has_sign ? concat("INT", size, "_MIN") : "0";
  const std::string below =
      has_sign ? real_literal(-std::ldexp(1.0, size - 1), f.c_str()) : real_literal(0.0, f.c_str());
  return function(name, concat("/* Truncated; the nearest there is; of NaN 0. */\n", kInline, type, " ", name, "(",
                               register_type(kind), " x) { return x >= ", above, " ? ", most, " : x > ", below, " ? (",
                               type, ")x : x <= ", below, " ? ", least, " : 0; }\n"));
}

std::string Helpers::decode(DType small) {
  const std::string name = concat("ct_from_", short_name(small));
  if (knows(name)) return name;
  const std::string to_bits = bitcast(DType::kFloat32, DType::kUInt32),
                    from_bits = bitcast(DType::kUInt32, DType::kFloat32);
  if (converts(small)) return decode_half();
  const std::string head = concat(kInline, "float ", name, "(", memory_type(small), " stored) {\n");
  if (small == DType::kBFloat16)
    return function(name, concat(head, "  return ", from_bits, "((uint32_t)stored << 16);\n}\n"));
  if (small == DType::kFloat8E8M0FNU) {
    return function(name, concat(head, R"(  const uint32_t power = (uint32_t)stored << 23;
  return )",
                                 from_bits, "(stored == 0 ? 0x400000u : stored == 0xff ? 0x7fc00000u : power);\n}\n"));
  }
  const loop::FloatLayout f = loop::float_layout(small);
  const uint32_t magnitude_mask = (1u << (f.bits - 1)) - 1, sign = 1u << (f.bits - 1);
  std::string special;
  if (f.specials == Specials::kInfinities) {
    const uint32_t infinity = magnitude_mask & ~((1u << f.mantissa) - 1);
    special = concat("  if (magnitude >= ", infinity, "u) result = shifted | 0x7f800000u;\n");
  } else if (f.specials == Specials::kAllOnesNan) {
    special = concat("  if (magnitude == ", magnitude_mask, "u) result = 0x7fc00000u;\n");
  }
  const std::string negative_zero =
      f.specials == Specials::kNegativeZeroNan ? concat("  if (stored == ", sign, "u) result = 0x7fc00000u;\n") : "";
  return function(
      name, concat(head, R"(  const uint32_t magnitude = stored & )", magnitude_mask, R"(u, sign = (stored & )", sign,
                   "u) << ", 32 - f.bits, ", shifted = magnitude << ", 23 - f.mantissa, R"(;
  uint32_t result = )",
                   to_bits, "(", from_bits, "(shifted) * ",
                   real_literal(static_cast<float>(std::ldexp(1.0, 126 + f.least)), "f"), ");\n", special,
                   "  result |= sign;\n", negative_zero, "  return ", from_bits, "(result);\n}\n"));
}

std::string Helpers::encode(DType small) {
  const std::string name = concat("ct_to_", short_name(small));
  if (knows(name)) return name;
  const std::string to_bits = bitcast(DType::kFloat32, DType::kUInt32);
  const std::string narrow(memory_type(small));
  if (converts(small)) return encode_half();
  const std::string head = concat("/* Of a number that there is in the format. */\n", kInline, narrow, " ", name,
                                  "(float x) {\n  const uint32_t bits = ", to_bits, "(x);\n");
  if (small == DType::kBFloat16) return function(name, concat(head, "  return (uint16_t)(bits >> 16);\n}\n"));
  if (small == DType::kFloat8E8M0FNU) {
    return function(name, concat(head, "  return (uint8_t)(x != x ? 0xff : bits >> 23);\n}\n"));
  }
  const loop::FloatLayout f = loop::float_layout(small);
  const uint32_t all = (1u << (f.bits - 1)) - 1, infinity = all & ~((1u << f.mantissa) - 1);
  std::string special;
  if (f.specials == Specials::kInfinities) {
    special = concat("  if (magnitude == 0x7f800000u) result = ", infinity,
                     "u;\n  if (magnitude > 0x7f800000u) result = ", infinity | 1u << (f.mantissa - 1), "u;\n");
  } else if (f.specials == Specials::kAllOnesNan) {
    special = concat("  if (magnitude > 0x7f800000u) result = ", all, "u;\n");
  }
  const std::string last = f.specials == Specials::kNegativeZeroNan
                               ? concat("  if (magnitude > 0x7f800000u) result = ", 1u << (f.bits - 1), "u;\n")
                               : "";
  return function(
      name, concat(head, "  const uint32_t magnitude = bits & 0x7fffffffu;\n  const bool small = __builtin_fabsf(x) < ",
                   real_literal(static_cast<float>(std::ldexp(1.0, f.least)), "f"),
                   ";\n  const float units = small ? __builtin_fabsf(x) * ",
                   real_literal(static_cast<float>(std::ldexp(1.0, f.mantissa - f.least)), "f"),
                   " : 0.0f;\n  uint32_t result = small ? (uint32_t)(int32_t)units : (magnitude >> ", 23 - f.mantissa,
                   ") - ", static_cast<uint32_t>(126 + f.least) << f.mantissa, "u;\n", special, "  result |= bits >> ",
                   32 - f.bits, " & ", 1u << (f.bits - 1), "u;\n", last, "  return (", narrow, ")result;\n}\n"));
}

std::string Helpers::round_to(DType small) {
  const std::string name = concat("ct_round_to_", short_name(small));
  if (knows(name)) return name;
  const std::string to_bits = bitcast(DType::kFloat32, DType::kUInt32),
                    from_bits = bitcast(DType::kUInt32, DType::kFloat32);
  const std::string head = concat("/* The nearest number that there is in the format, of two the even one. */\n",
                                  kInline, "float ", name, "(float x) {\n  const uint32_t bits = ", to_bits, "(x);\n");
  if (converts(small)) return round_to_half();
  const std::string nan = "  if (x != x) result = __builtin_copysignf(__builtin_nanf(\"\"), x);\n";
  if (small == DType::kFloat8E8M0FNU) {
    return function(name, concat(head, R"(  const uint32_t tiny = bits < 0x600000u ? 0x400000u : 0x800000u;
  const uint32_t power = bits < 0x800000u ? tiny : (bits + 0x400000u) & 0xff800000u;
  return )",
                                 from_bits, "(bits - 1u < 0x7f3fffffu ? power : 0x7fc00000u);\n}\n"));
  }
  const loop::FloatLayout f = loop::float_layout(small);
  const int dropped = 23 - f.mantissa;
  std::string range;
  if (small != DType::kBFloat16) {
    const std::string magic = real_literal(static_cast<float>(std::ldexp(1.0, f.least - f.mantissa + 23)), "f");
    range = concat(
        "  const float size = __builtin_fabsf(x);\n  if (size < ",
        real_literal(static_cast<float>(std::ldexp(1.0, f.least)), "f"), ") result = __builtin_copysignf((size + ",
        magic, ") - ", magic, ", x);\n  if (__builtin_fabsf(result) > ", real_literal(f.largest, "f"), ") result = ",
        f.specials == Specials::kInfinities ? "__builtin_copysignf(__builtin_inff(), x)" : "__builtin_nanf(\"\")",
        ";\n");
  }
  if (f.specials == Specials::kNegativeZeroNan) range += "  if (result == 0.0f) result = 0.0f;\n";
  return function(name, concat(head, "  float result = ", from_bits, "((bits + (bits >> ", dropped, " & 1u) + ",
                               (1u << (dropped - 1)) - 1, "u) & ", ~((1u << dropped) - 1), "u);\n", range, nan,
                               "  return result;\n}\n"));
}

}  // namespace ct::jit::c
