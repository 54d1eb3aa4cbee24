// The floats C++20 lacks, as storage structs that convert to and from float with round-to-nearest-even:
// bfloat16, IEEE float16 and the float8 kinds. `dispatch_dtype` turns a DType into a C++ type.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/dtype.h"
#include "runtime/error.h"

namespace ct {

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    bits = std::isnan(value) ? static_cast<uint16_t>((word >> 16) | 0x40)
                             : static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

// Which patterns are not finite numbers. IEEE's: a full exponent. "fn": all ones, no infinities. "fnuz": that of
// negative zero, which there is none of.
enum class Specials : uint8_t { kInfinities, kAllOnesNan, kNegativeZeroNan };

// A binary float of `kExponentBits` and `kMantissaBits`.
template <class Storage, int kExponentBits, int kMantissaBits, Specials kSpecials,
          int kBias = (1 << (kExponentBits - 1)) - 1>
struct SmallFloat {
  Storage bits = 0;
  static constexpr int kSignShift = kExponentBits + kMantissaBits;
  static constexpr uint32_t kExponentMask = (1u << kExponentBits) - 1;
  static constexpr uint32_t kMagnitudeMask = (1u << kSignShift) - 1;
  static constexpr uint32_t kInfinity = kExponentMask << kMantissaBits;
  static constexpr bool kSignedSpecials = kSpecials != Specials::kNegativeZeroNan;
  static constexpr uint32_t kNan = kSpecials == Specials::kInfinities   ? kInfinity | 1u << (kMantissaBits - 1)
                                   : kSpecials == Specials::kAllOnesNan ? kMagnitudeMask
                                                                        : 1u << kSignShift;
  static constexpr uint32_t kLargest = kSpecials == Specials::kInfinities   ? kInfinity - 1
                                       : kSpecials == Specials::kAllOnesNan ? kMagnitudeMask - 1
                                                                            : kMagnitudeMask;

  SmallFloat() = default;
  // Branch-free (selects only), so that loops over it vectorise.
  explicit SmallFloat(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = word & 0x7fffffff;
    // Normal results: round the mantissa to nearest even in place (a carry moves into the exponent) and rebias.
    const uint32_t rounded = magnitude + (1u << (kDroppedBits - 1)) - 1 + (magnitude >> kDroppedBits & 1);
    const uint32_t normal = (rounded >> kDroppedBits) - ((127u - kBias) << kMantissaBits);
    // Subnormal results: adding a float whose last place is our smallest number makes the adder round.
    const float magic = std::bit_cast<float>((127u + 1 - kBias - kMantissaBits + 23) << 23);
    const uint32_t subnormal =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + magic) - std::bit_cast<uint32_t>(magic);
    const uint32_t finite = magnitude < ((127u + 1 - kBias) << 23) ? subnormal : normal;
    const uint32_t overflow = kSpecials == Specials::kInfinities ? kInfinity : kNan;
    const uint32_t bounded = magnitude >= 0x7f800000 || finite > kLargest ? overflow : finite;
    const uint32_t result = magnitude > 0x7f800000 ? kNan : bounded;
    const bool has_sign = kSignedSpecials || (result != 0 && result != kNan);
    bits = static_cast<Storage>((has_sign ? word >> 31 : 0) << kSignShift | result);
  }
  explicit operator float() const {
    const uint32_t magnitude = bits & kMagnitudeMask;
    const uint32_t sign = static_cast<uint32_t>(bits >> kSignShift) << 31;
    // A mantissa alone is a number of the smallest steps. No operand or result here is a float32 that is subnormal,
    // which some programs take for zero (subnormals.h).
    const float steps = static_cast<float>(magnitude) * std::bit_cast<float>((127u + 1 - kBias - kMantissaBits) << 23);
    const float normal = std::bit_cast<float>((magnitude << kDroppedBits) + ((127u - kBias) << 23));
    const float scaled = magnitude >> kMantissaBits == 0 ? steps : normal;
    const uint32_t special = kSpecials == Specials::kInfinities ? 0x7f800000 | magnitude << kDroppedBits : 0x7fc00000;
    const bool is_special = kSignedSpecials ? magnitude > kLargest : bits == kNan;
    return std::bit_cast<float>((kSignedSpecials || !is_special ? sign : 0) |
                                (is_special ? special : std::bit_cast<uint32_t>(scaled)));
  }

 private:
  static constexpr int kDroppedBits = 23 - kMantissaBits;
};

// A power of two from 2^-127 to 2^127, the scale of a block of numbers: no sign, no zero, no infinity.
struct Float8E8M0FNU {
  uint8_t bits = 0;
  Float8E8M0FNU() = default;
  explicit Float8E8M0FNU(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    // To the nearer power of two, and up from the middle.
    const uint32_t rounded = (word + 0x400000) >> 23;
    const uint32_t tiny = word < 0x600000 ? 0 : 1;
    const bool is_number = word - 1 < 0x7f000000 + 0x3fffff;  // positive, and below 1.5 * 2^127
    bits = static_cast<uint8_t>(!is_number ? 0xff : word < 0x800000 ? tiny : rounded);
  }
  explicit operator float() const {
    const uint32_t word = static_cast<uint32_t>(bits) << 23;
    return std::bit_cast<float>(bits == 0 ? 0x400000u : bits == 0xff ? 0x7fc00000u : word);
  }
};

using Float16 = SmallFloat<uint16_t, 5, 10, Specials::kInfinities>;
using Float8E3M4 = SmallFloat<uint8_t, 3, 4, Specials::kInfinities>;
using Float8E4M3 = SmallFloat<uint8_t, 4, 3, Specials::kInfinities>;
using Float8E4M3B11FNUZ = SmallFloat<uint8_t, 4, 3, Specials::kNegativeZeroNan, 11>;
using Float8E4M3FN = SmallFloat<uint8_t, 4, 3, Specials::kAllOnesNan>;
using Float8E4M3FNUZ = SmallFloat<uint8_t, 4, 3, Specials::kNegativeZeroNan, 8>;
using Float8E5M2 = SmallFloat<uint8_t, 5, 2, Specials::kInfinities>;
using Float8E5M2FNUZ = SmallFloat<uint8_t, 5, 2, Specials::kNegativeZeroNan, 16>;

template <class T>
struct TypeTag {
  using type = T;
};

// Calls visitor(TypeTag<T>{}) with the storage type of `dtype` (PRNG keys as uint64_t).
template <class Visitor>
decltype(auto) dispatch_dtype(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kBool:
      return visitor(TypeTag<bool>{});
    case DType::kInt8:
      return visitor(TypeTag<int8_t>{});
    case DType::kInt16:
      return visitor(TypeTag<int16_t>{});
    case DType::kInt32:
      return visitor(TypeTag<int32_t>{});
    case DType::kInt64:
      return visitor(TypeTag<int64_t>{});
    case DType::kUInt8:
      return visitor(TypeTag<uint8_t>{});
    case DType::kUInt16:
      return visitor(TypeTag<uint16_t>{});
    case DType::kUInt32:
      return visitor(TypeTag<uint32_t>{});
    case DType::kUInt64:
      return visitor(TypeTag<uint64_t>{});
    case DType::kFloat16:
      return visitor(TypeTag<Float16>{});
    case DType::kBFloat16:
      return visitor(TypeTag<BFloat16>{});
    case DType::kFloat32:
      return visitor(TypeTag<float>{});
    case DType::kFloat64:
      return visitor(TypeTag<double>{});
    case DType::kFloat8E3M4:
      return visitor(TypeTag<Float8E3M4>{});
    case DType::kFloat8E4M3:
      return visitor(TypeTag<Float8E4M3>{});
    case DType::kFloat8E4M3B11FNUZ:
      return visitor(TypeTag<Float8E4M3B11FNUZ>{});
    case DType::kFloat8E4M3FN:
      return visitor(TypeTag<Float8E4M3FN>{});
    case DType::kFloat8E4M3FNUZ:
      return visitor(TypeTag<Float8E4M3FNUZ>{});
    case DType::kFloat8E5M2:
      return visitor(TypeTag<Float8E5M2>{});
    case DType::kFloat8E5M2FNUZ:
      return visitor(TypeTag<Float8E5M2FNUZ>{});
    case DType::kFloat8E8M0FNU:
      return visitor(TypeTag<Float8E8M0FNU>{});
    case DType::kComplex64:
      return visitor(TypeTag<std::complex<float>>{});
    case DType::kComplex128:
      return visitor(TypeTag<std::complex<double>>{});
    case DType::kKey:
      return visitor(TypeTag<uint64_t>{});
  }
  check_failed("dtype is in the table", __FILE__, __LINE__);
}

template <class T>
inline constexpr bool is_small_float_v = false;
template <>
inline constexpr bool is_small_float_v<BFloat16> = true;
template <>
inline constexpr bool is_small_float_v<Float8E8M0FNU> = true;
template <class Storage, int kExponentBits, int kMantissaBits, Specials kSpecials, int kBias>
inline constexpr bool is_small_float_v<SmallFloat<Storage, kExponentBits, kMantissaBits, kSpecials, kBias>> = true;
template <class T>
inline constexpr bool is_complex_v = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// The type arithmetic on T is done in: float for the small floats, T itself otherwise.
template <class T>
using ComputeType = std::conditional_t<is_small_float_v<T>, float, T>;

// A float as an integer: truncated toward zero, saturated, NaN gives 0.
template <class To>
To saturating_cast(double value) {
  if (std::isnan(value)) return 0;
  // Both bounds are powers of two (or zero), hence exact in double.
  const double low = static_cast<double>(std::numeric_limits<To>::min());
  const double high = std::ldexp(1.0, std::numeric_limits<To>::digits);
  if (value <= low) return std::numeric_limits<To>::min();
  if (value >= high) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

// The float of which a rounding to a smaller float gives what rounding `value` itself to that would: where `value` is
// no float, the neighbour whose last bit is set. (The nearest one may be a tie that `value` is not.)
inline float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const double back = nearest;
  const bool too_big = std::abs(back) > std::abs(value);
  const bool inexact = back != value && value == value;
  return std::bit_cast<float>((std::bit_cast<uint32_t>(nearest) - too_big) | static_cast<uint32_t>(inexact));
}

// The conversion of ScalarOp's rules between any two storage types.
template <class To, class From>
To convert_element(From from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (is_small_float_v<From>) {
    return convert_element<To>(static_cast<float>(from));
  } else if constexpr (is_complex_v<From>) {
    if constexpr (is_complex_v<To>) {
      return To(static_cast<typename To::value_type>(from.real()), static_cast<typename To::value_type>(from.imag()));
    } else if constexpr (std::is_same_v<To, bool>) {
      return from != From(0);
    } else {
      return convert_element<To>(from.real());
    }
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From(0);
  } else if constexpr (is_complex_v<To>) {
    return To(convert_element<typename To::value_type>(from), 0);
  } else if constexpr (is_small_float_v<To> && std::is_same_v<From, double>) {
    return To(rounded_to_odd(from));
  } else if constexpr (is_small_float_v<To>) {
    return To(static_cast<float>(from));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return saturating_cast<To>(static_cast<double>(from));
  } else {
    return static_cast<To>(from);
  }
}

}  // namespace ct
