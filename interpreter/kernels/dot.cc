// dot_general: both operands are brought to [batch, free, contracted] and [batch, contracted, free], which is a copy
// only where the layout or the dtype asks for one, and every batch is a product of two dense matrices.
#include <algorithm>
#include <memory>

#include "interpreter/kernels/gemm.h"
#include "interpreter/kernels/kernels.h"
#include "interpreter/kernels/move.h"
#include "interpreter/scalar_semantics.h"
#include "ir/ops.h"
#include "runtime/bfloat16_products.h"
#include "runtime/float_types.h"

namespace ct::kernels {
namespace {

int64_t extent(const Tensor& x, const Ints& axes) {
  int64_t size = 1;
  for (int64_t axis : axes) size *= x.shape()[axis];
  return size;
}

// The elements of x in the order of `permutation`, in type C: x's own memory, or a copy in `storage`.
template <class T, class C>
const C* arranged(const Tensor& x, const Ints& permutation, std::unique_ptr<C[]>& storage) {
  const Shape strides = row_major_strides(x.shape());
  CopyAxes axes(permutation.size());
  int64_t to = 1;
  bool moves = false;
  int64_t last = -1;
  for (size_t i = permutation.size(); i-- > 0;) {
    axes[i] = {x.shape()[permutation[i]], strides[permutation[i]], to};
    to *= axes[i].size;
  }
  for (int64_t axis : permutation) {
    if (x.shape()[axis] == 1) continue;
    moves |= axis < last;
    last = axis;
  }
  const T* elements = x.as<const T>();
  std::unique_ptr<T[]> moved;
  if (moves && x.size() > 0) {
    moved.reset(new T[x.size()]);
    copy_strided(moved.get(), elements, std::move(axes), sizeof(T));
    elements = moved.get();
  }
  if constexpr (std::is_same_v<T, C>) {
    storage = std::move(moved);
    return elements;
  } else {
    storage.reset(new C[x.size()]);
    for (int64_t i = 0; i < x.size(); ++i) storage[i] = convert_element<C>(elements[i]);
    return storage.get();
  }
}

template <class C>
void multiply_plain(const C* a, const C* b, C* result, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kLongSum = 512;  // longer ones in blocks, each summed by itself
  std::fill_n(result, m * n, C(0));
  const std::unique_ptr<C[]> part(k > kLongSum ? new C[n] : nullptr);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p0 = 0; p0 < k; p0 += kLongSum) {
      C* sums = part ? part.get() : result + i * n;
      if (part) std::fill_n(sums, n, C(0));
      for (int64_t p = p0; p < std::min(p0 + kLongSum, k); ++p) {
        const C factor = a[i * k + p];
#pragma GCC ivdep
        for (int64_t j = 0; j < n; ++j) {
          sums[j] = apply<ScalarOp::kAdd>(sums[j], apply<ScalarOp::kMul>(factor, b[p * n + j]));
        }
      }
      if (!part) continue;
      for (int64_t j = 0; j < n; ++j) result[i * n + j] = apply<ScalarOp::kAdd>(result[i * n + j], sums[j]);
    }
  }
}

// Of bfloat16, by the processor's tiles for these, where it has them and they pay.
bool dot_by_tiles(const KernelInput& input, const Ints& lhs_order, const Ints& rhs_order, int64_t batch, int64_t m,
                  int64_t n, int64_t k, const Tensor& result) {
  if (batch == 0 || !takes_bfloat16_tiles(m, n, k) || !has_bfloat16_tiles()) return false;
  std::unique_ptr<BFloat16[]> lhs_storage, rhs_storage;
  const BFloat16* a = arranged<BFloat16>(input.operands[0], lhs_order, lhs_storage);
  const BFloat16* b = arranged<BFloat16>(input.operands[1], rhs_order, rhs_storage);
  BFloat16* products = result.as<BFloat16>();
  const auto above = [](int64_t value, int64_t unit) { return (value + unit - 1) / unit; };
  const int64_t strips = above(m, kBfloat16Rows), panels = above(n, kBfloat16Columns);
  struct alignas(64) Line {
    char bytes[64];
  };
  const auto lines = [&](int64_t bytes) { return std::unique_ptr<Line[]>(new Line[above(bytes, sizeof(Line))]); };
  const auto packed = lines(panels * bfloat16_panel_bytes(k)), scratch = lines(bfloat16_scratch_bytes(k));
  const Bfloat16Product product{
      .a_row = k, .a_column = 1, .b_row = n, .b_column = 1, .c_row = n, .c_column = 1, .accumulate = 0, .narrow = 1};
  for (int64_t i = 0; i < batch; ++i) {
    pack_bfloat16(&product, &b[i * k * n].bits, packed[0].bytes, k, n, 0, panels);
    multiply_bfloat16(&product, &a[i * m * k].bits, packed[0].bytes, reinterpret_cast<char*>(products + i * m * n),
                      scratch[0].bytes, m, n, k, 0, strips, 0, panels);
  }
  return true;
}

template <class T>
void dot_as(const KernelInput& input, const Ints& lhs_order, const Ints& rhs_order, int64_t batch, int64_t m, int64_t n,
            int64_t k, const Tensor& result) {
  using C = ComputeType<T>;
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (dot_by_tiles(input, lhs_order, rhs_order, batch, m, n, k, result)) return;
  }
  std::unique_ptr<C[]> lhs_storage;
  std::unique_ptr<C[]> rhs_storage;
  std::unique_ptr<C[]> result_storage;
  const C* a = arranged<T>(input.operands[0], lhs_order, lhs_storage);
  const C* b = arranged<T>(input.operands[1], rhs_order, rhs_storage);
  C* products;
  if constexpr (std::is_same_v<T, C>) {
    products = result.as<C>();
  } else {
    result_storage.reset(new C[result.size()]);
    products = result_storage.get();
  }
  for (int64_t i = 0; i < batch; ++i) {
    if constexpr (std::is_floating_point_v<C>) {
      multiply_matrices(a + i * m * k, b + i * k * n, products + i * m * n, m, n, k);
    } else {
      multiply_plain(a + i * m * k, b + i * k * n, products + i * m * n, m, n, k);
    }
  }
  if constexpr (!std::is_same_v<T, C>) {
    for (int64_t i = 0; i < result.size(); ++i) result.as<T>()[i] = convert_element<T>(products[i]);
  }
}

Ints concatenated(const Ints& x, const Ints& y, const Ints& z) {
  Ints result(x);
  result.insert(result.end(), y.begin(), y.end());
  result.insert(result.end(), z.begin(), z.end());
  return result;
}

}  // namespace

bool dot_general(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& lhs = input.operands[0];
  const Tensor& rhs = input.operands[1];
  if (!dtype_info(lhs.dtype()).computes) return false;
  const auto [lhs_contract, rhs_contract, lhs_batch, rhs_batch] = DotDimensions::from(input.attrs);
  const Ints lhs_free = free_axes(lhs.aval().rank(), lhs_contract, lhs_batch);
  const Ints rhs_free = free_axes(rhs.aval().rank(), rhs_contract, rhs_batch);
  Tensor result(input.output_avals[0]);
  dispatch_dtype(lhs.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    dot_as<T>(input, concatenated(lhs_batch, lhs_free, lhs_contract), concatenated(rhs_batch, rhs_contract, rhs_free),
              extent(lhs, lhs_batch), extent(lhs, lhs_free), extent(rhs, rhs_free), extent(lhs, lhs_contract), result);
  });
  results[0] = std::move(result);
  return true;
}

}  // namespace ct::kernels
