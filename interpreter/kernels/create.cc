#include <algorithm>

#include "interpreter/kernels/kernels.h"
#include "runtime/float_types.h"

namespace ct::kernels {

bool full(const KernelInput& input, absl::Span<Tensor> results) {
  const DType dtype = input.output_avals[0].dtype();
  Tensor result(input.output_avals[0]);
  dispatch_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T value;
    if constexpr (is_complex_v<T>) {
      const auto& parts = input.attrs.reals("value");
      value = convert_element<T>(std::complex<double>(parts[0], parts[1]));
    } else if constexpr (std::is_floating_point_v<T> || is_small_float_v<T>) {
      value = convert_element<T>(input.attrs.real("value"));
    } else {
      value = convert_element<T>(input.attrs.integer("value"));
    }
    std::fill_n(result.as<T>(), result.size(), value);
  });
  results[0] = std::move(result);
  return true;
}

bool iota(const KernelInput& input, absl::Span<Tensor> results) {
  Tensor result(input.output_avals[0]);
  const Shape& shape = result.shape();
  const size_t axis = static_cast<size_t>(input.attrs.integer("axis"));
  int64_t outer = 1;
  int64_t inner = 1;
  for (size_t i = 0; i < axis; ++i) outer *= shape[i];
  for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t length = shape[axis];
  dispatch_dtype(result.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = result.as<T>();
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < length; ++i, to += inner) std::fill_n(to, inner, convert_element<T>(i));
    }
  });
  results[0] = std::move(result);
  return true;
}

}  // namespace ct::kernels
