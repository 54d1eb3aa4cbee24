#include "runtime/dtype.h"

#include <array>
#include <vector>

#include "runtime/error.h"

namespace ct {
namespace {

constexpr std::array<DTypeInfo, kNumDTypes> kDTypeTable = {{
    {DType::kBool, "bool", 1, DTypeKind::kBool, true},
    {DType::kInt8, "int8", 1, DTypeKind::kSigned, true},
    {DType::kInt16, "int16", 2, DTypeKind::kSigned, true},
    {DType::kInt32, "int32", 4, DTypeKind::kSigned, true},
    {DType::kInt64, "int64", 8, DTypeKind::kSigned, true},
    {DType::kUInt8, "uint8", 1, DTypeKind::kUnsigned, true},
    {DType::kUInt16, "uint16", 2, DTypeKind::kUnsigned, true},
    {DType::kUInt32, "uint32", 4, DTypeKind::kUnsigned, true},
    {DType::kUInt64, "uint64", 8, DTypeKind::kUnsigned, true},
    {DType::kFloat16, "float16", 2, DTypeKind::kFloat, true},
    {DType::kBFloat16, "bfloat16", 2, DTypeKind::kFloat, true},
    {DType::kFloat32, "float32", 4, DTypeKind::kFloat, true},
    {DType::kFloat64, "float64", 8, DTypeKind::kFloat, true},
    {DType::kFloat8E3M4, "float8_e3m4", 1, DTypeKind::kFloat, false},
    {DType::kFloat8E4M3, "float8_e4m3", 1, DTypeKind::kFloat, false},
    {DType::kFloat8E4M3B11FNUZ, "float8_e4m3b11fnuz", 1, DTypeKind::kFloat, false},
    {DType::kFloat8E4M3FN, "float8_e4m3fn", 1, DTypeKind::kFloat, false},
    {DType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", 1, DTypeKind::kFloat, false},
    {DType::kFloat8E5M2, "float8_e5m2", 1, DTypeKind::kFloat, false},
    {DType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", 1, DTypeKind::kFloat, false},
    {DType::kFloat8E8M0FNU, "float8_e8m0fnu", 1, DTypeKind::kFloat, false},
    {DType::kComplex64, "complex64", 8, DTypeKind::kComplex, true},
    {DType::kComplex128, "complex128", 16, DTypeKind::kComplex, true},
    {DType::kKey, "key", 8, DTypeKind::kKey, false},
}};

// The promotion lattice of JAX ("Type promotion semantics"): an edge leads to the next wider type. Three
// extra nodes stand for Python's int, float and complex scalars.
constexpr int kWeakInt = kNumDTypes;
constexpr int kWeakFloat = kNumDTypes + 1;
constexpr int kWeakComplex = kNumDTypes + 2;
constexpr int kNumNodes = kNumDTypes + 3;

struct Edge {
  int from;
  int to;
};

constexpr int node(DType dtype) { return static_cast<int>(dtype); }

constexpr Edge kLattice[] = {
    {node(DType::kBool), kWeakInt},
    {kWeakInt, node(DType::kUInt8)},
    {kWeakInt, node(DType::kInt8)},
    {node(DType::kUInt8), node(DType::kUInt16)},
    {node(DType::kUInt16), node(DType::kUInt32)},
    {node(DType::kUInt32), node(DType::kUInt64)},
    {node(DType::kInt8), node(DType::kInt16)},
    {node(DType::kInt16), node(DType::kInt32)},
    {node(DType::kInt32), node(DType::kInt64)},
    {node(DType::kUInt8), node(DType::kInt16)},
    {node(DType::kUInt16), node(DType::kInt32)},
    {node(DType::kUInt32), node(DType::kInt64)},
    {node(DType::kUInt64), kWeakFloat},
    {node(DType::kInt64), kWeakFloat},
    {kWeakFloat, node(DType::kFloat16)},
    {kWeakFloat, node(DType::kBFloat16)},
    {kWeakFloat, node(DType::kFloat8E3M4)},
    {kWeakFloat, node(DType::kFloat8E4M3)},
    {kWeakFloat, node(DType::kFloat8E4M3B11FNUZ)},
    {kWeakFloat, node(DType::kFloat8E4M3FN)},
    {kWeakFloat, node(DType::kFloat8E4M3FNUZ)},
    {kWeakFloat, node(DType::kFloat8E5M2)},
    {kWeakFloat, node(DType::kFloat8E5M2FNUZ)},
    {kWeakFloat, node(DType::kFloat8E8M0FNU)},
    {kWeakFloat, kWeakComplex},
    {node(DType::kFloat16), node(DType::kFloat32)},
    {node(DType::kBFloat16), node(DType::kFloat32)},
    {node(DType::kFloat32), node(DType::kFloat64)},
    {node(DType::kFloat32), node(DType::kComplex64)},
    {node(DType::kFloat64), node(DType::kComplex128)},
    {kWeakComplex, node(DType::kComplex64)},
    {node(DType::kComplex64), node(DType::kComplex128)},
};

using NodeSet = uint32_t;  // bit n: node n is reachable
static_assert(kNumNodes <= 32);

std::array<NodeSet, kNumNodes> reachable_sets() {
  std::array<NodeSet, kNumNodes> reach{};
  for (int n = 0; n < kNumNodes; ++n) reach[n] = NodeSet{1} << n;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Edge& edge : kLattice) {
      const NodeSet merged = reach[edge.from] | reach[edge.to];
      changed |= merged != reach[edge.from];
      reach[edge.from] = merged;
    }
  }
  return reach;
}

int node_of(PromotedType type) {
  if (!type.weak || type.dtype == DType::kBool) return node(type.dtype);
  if (is_complex(type.dtype)) return kWeakComplex;
  return is_float(type.dtype) ? kWeakFloat : kWeakInt;
}

}  // namespace

const DTypeInfo& dtype_info(DType dtype) { return kDTypeTable[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& info : kDTypeTable) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

DType real_dtype(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  if (dtype == DType::kComplex128) return DType::kFloat64;
  return dtype;
}

DType complex_dtype(DType dtype) {
  if (dtype == DType::kFloat64 || dtype == DType::kComplex128) return DType::kComplex128;
  return DType::kComplex64;
}

PromotedType promote_types(PromotedType a, PromotedType b, DType default_float) {
  const int left = node_of(a);
  const int right = node_of(b);
  if (left == right) {
    // Two weak scalars of one kind keep the wider of their default dtypes.
    return dtype_size(a.dtype) >= dtype_size(b.dtype) ? a : b;
  }
  static const std::array<NodeSet, kNumNodes> reach = reachable_sets();
  const NodeSet common = reach[left] & reach[right];
  // The least upper bound reaches every other common bound.
  for (int n = 0; n < kNumNodes; ++n) {
    if (!(common >> n & 1) || (common & ~reach[n])) continue;
    if (n < kNumDTypes) return {static_cast<DType>(n), false};
    // The bound is a weak node, which either names the concrete dtype itself or is that of a signed integer and uint64.
    if (n == left) return a;
    if (n == right) return b;
    return {default_float, true};
  }
  const bool key = a.dtype == DType::kKey || b.dtype == DType::kKey;
  throw Error(ErrorKind::kDType,
              "no common dtype for " + std::string(dtype_name(a.dtype)) + " and " + std::string(dtype_name(b.dtype)))
      .hint(key ? "random keys are opaque: draw numbers from them, or read them with ct.random.key_data"
                : "convert one operand explicitly with .astype(...)");
}

}  // namespace ct
