// Element types: one table of facts per dtype, from which size, kind, name and promotion are read.
//
// Start at `kDTypeTable` in dtype.cc; everything else here is a look-up in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ct {

enum class DType : uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kFloat8E3M4,
  kFloat8E4M3,
  kFloat8E4M3B11FNUZ,
  kFloat8E4M3FN,
  kFloat8E4M3FNUZ,
  kFloat8E5M2,
  kFloat8E5M2FNUZ,
  kFloat8E8M0FNU,
  kComplex64,
  kComplex128,
  kKey,
};

inline constexpr int kNumDTypes = static_cast<int>(DType::kKey) + 1;

enum class DTypeKind : uint8_t { kBool, kSigned, kUnsigned, kFloat, kComplex, kKey };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // NumPy's spelling: "float32"
  int size;               // bytes of one element
  DTypeKind kind;
  bool computes;  // false: a storage format, converted before arithmetic
};

const DTypeInfo& dtype_info(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

inline std::string_view dtype_name(DType dtype) { return dtype_info(dtype).name; }
inline int dtype_size(DType dtype) { return dtype_info(dtype).size; }
inline DTypeKind dtype_kind(DType dtype) { return dtype_info(dtype).kind; }

inline bool is_bool(DType d) { return d == DType::kBool; }
inline bool is_signed_integer(DType d) { return dtype_kind(d) == DTypeKind::kSigned; }
inline bool is_unsigned_integer(DType d) { return dtype_kind(d) == DTypeKind::kUnsigned; }
inline bool is_integer(DType d) { return is_signed_integer(d) || is_unsigned_integer(d); }
inline bool is_float(DType d) { return dtype_kind(d) == DTypeKind::kFloat; }
// A float of eight bits: memory holds it, arithmetic does not take it.
inline bool is_float8(DType d) { return is_float(d) && dtype_size(d) == 1; }
inline bool is_complex(DType d) { return dtype_kind(d) == DTypeKind::kComplex; }
// Dtypes that carry derivatives.
inline bool is_inexact(DType d) { return is_float(d) || is_complex(d); }

// The dtype of the real and imaginary parts: complex64 -> float32; any other dtype is its own.
DType real_dtype(DType dtype);
// float32 -> complex64, float64 -> complex128; narrower floats give complex64.
DType complex_dtype(DType dtype);

// A dtype and whether it came from a Python scalar (JAX's weak type): weak operands do not widen.
struct PromotedType {
  DType dtype;
  bool weak;
};

// The join of two types in JAX's promotion lattice. A signed integer and uint64 have no integer in common: they join in
// the type of a Python float, which is `default_float`.
PromotedType promote_types(PromotedType a, PromotedType b, DType default_float = DType::kFloat32);

}  // namespace ct
