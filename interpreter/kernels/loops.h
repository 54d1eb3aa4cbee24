// Contiguous loops over elements, one for each ScalarOp and dtype: the insides of the elementwise kernels.
//
// The table is filled by one file for each group of ops (arithmetic.cc, functions.cc, comparison.cc), so that none
// takes long to compile. Loops read and write storage types; small floats are computed in float and rounded at the end
// of each op, like everywhere. A result may lie exactly over an operand of the same element size.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "interpreter/elementary.h"
#include "interpreter/scalar_semantics.h"
#include "ir/scalar_op.h"
#include "runtime/float_types.h"

namespace ct {

using Loop = void (*)(void* result, const void* x, const void* y, int64_t count);  // y: null for unary ops

using LoopTable = std::array<std::array<Loop, kNumDTypes>, kNumScalarOps>;

const LoopTable& scalar_loops();  // null where the op is not defined on the dtype, or nobody needs it fast

namespace loops {

void fill_arithmetic(LoopTable& table);
void fill_functions(LoopTable& table);
void fill_complex_functions(LoopTable& table);
void fill_comparisons(LoopTable& table);

template <ScalarOp op, class T>
void run(void* result, const void* x_data, const void* y_data, int64_t count) {
  using C = ComputeType<T>;
  using R = ResultType<op, C>;
  using Stored = std::conditional_t<std::is_same_v<R, C>, T, R>;
  const T* x = static_cast<const T*>(x_data);
  Stored* z = static_cast<Stored*>(result);
  if constexpr (scalar_op_info(op).arity == 1) {
    static_cast<void>(y_data);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) z[i] = convert_element<Stored>(apply<op>(convert_element<C>(x[i])));
  } else {
    const T* y = static_cast<const T*>(y_data);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      z[i] = convert_element<Stored>(apply<op>(convert_element<C>(x[i]), convert_element<C>(y[i])));
    }
  }
}

// Small floats are converted in pieces that stay in the cache.
template <ScalarOp op, class T>
void run_elementary(void* result, const void* x_data, const void* y_data, int64_t count) {
  using C = ComputeType<T>;
  const T* x = static_cast<const T*>(x_data);
  const T* y = static_cast<const T*>(y_data);
  T* z = static_cast<T*>(result);
  if constexpr (std::is_same_v<T, C>) {
    elementary_loop<op, C>(z, x, y, count);
  } else {
    constexpr int64_t kPiece = 256;
    C wide_x[kPiece];
    C wide_y[kPiece];
    for (int64_t start = 0; start < count; start += kPiece) {
      const int64_t size = std::min(kPiece, count - start);
      for (int64_t i = 0; i < size; ++i) wide_x[i] = convert_element<C>(x[start + i]);
      if constexpr (scalar_op_info(op).arity == 2) {
        for (int64_t i = 0; i < size; ++i) wide_y[i] = convert_element<C>(y[start + i]);
      }
      elementary_loop<op, C>(wide_x, wide_x, wide_y, size);
      for (int64_t i = 0; i < size; ++i) z[start + i] = convert_element<T>(wide_x[i]);
    }
  }
}

// Puts the loops of `ops` into the table, for the complex dtypes or for all others.
template <bool kComplexOnes, ScalarOp... ops>
void fill(LoopTable& table) {
  const auto one = [&]<ScalarOp op>() {
    const auto put = [&]<class T>(DType dtype) {
      using C = ComputeType<T>;
      if constexpr (is_elementary(op) && std::is_floating_point_v<C>) {
        table[static_cast<int>(op)][static_cast<int>(dtype)] = run_elementary<op, T>;
      } else if constexpr (defined_v<op, C>) {
        table[static_cast<int>(op)][static_cast<int>(dtype)] = run<op, T>;
      }
    };
    if constexpr (kComplexOnes) {
      put.template operator()<std::complex<float>>(DType::kComplex64);
      put.template operator()<std::complex<double>>(DType::kComplex128);
    } else {
      put.template operator()<bool>(DType::kBool);
      put.template operator()<int8_t>(DType::kInt8);
      put.template operator()<int16_t>(DType::kInt16);
      put.template operator()<int32_t>(DType::kInt32);
      put.template operator()<int64_t>(DType::kInt64);
      put.template operator()<uint8_t>(DType::kUInt8);
      put.template operator()<uint16_t>(DType::kUInt16);
      put.template operator()<uint32_t>(DType::kUInt32);
      put.template operator()<uint64_t>(DType::kUInt64);
      put.template operator()<Float16>(DType::kFloat16);
      put.template operator()<BFloat16>(DType::kBFloat16);
      put.template operator()<float>(DType::kFloat32);
      put.template operator()<double>(DType::kFloat64);
    }
  };
  (one.template operator()<ops>(), ...);
}

}  // namespace loops
}  // namespace ct
