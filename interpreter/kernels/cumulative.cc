// Running folds along one axis, kept in the reference's width and rounded once an element.
#include <memory>

#include "interpreter/kernels/folds.h"
#include "interpreter/kernels/kernels.h"

namespace ct::kernels {
namespace {

// The type running sums are kept in: as wide as the reference's.
template <class T>
struct RunningType {
  using type = T;
};
template <class T>
  requires(std::is_floating_point_v<ComputeType<T>>)
struct RunningType<T> {
  using type = double;
};
template <class T>
  requires(is_complex_v<T>)
struct RunningType<T> {
  using type = std::complex<double>;
};

template <ScalarOp op, class T>
void accumulate_as(const T* x, T* result, int64_t outer, int64_t length, int64_t inner, bool reverse) {
  using Acc = typename RunningType<T>::type;
  const std::unique_ptr<Acc[]> running(new Acc[inner]);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t step = 0; step < length; ++step) {
      const int64_t offset = (o * length + (reverse ? length - 1 - step : step)) * inner;
      for (int64_t j = 0; j < inner; ++j) {
        const Acc value = convert_element<Acc>(x[offset + j]);
        running[j] = step == 0 ? value : apply<op>(running[j], value);
        result[offset + j] = convert_element<T>(running[j]);
      }
    }
  }
}

}  // namespace

bool cumulative(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& x = input.operands[0];
  if (!dtype_info(x.dtype()).computes) return false;
  const size_t axis = static_cast<size_t>(input.attrs.integer("axis"));
  const bool reverse = input.attrs.flag("reverse");
  int64_t outer = 1;
  int64_t inner = 1;
  for (size_t i = 0; i < axis; ++i) outer *= x.shape()[i];
  for (size_t i = axis + 1; i < x.shape().size(); ++i) inner *= x.shape()[i];
  Tensor result(input.output_avals[0]);
  const bool done = dispatch_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return dispatch_fold<T>(input.primitive.structure_as<structures::RunningFold>()->combine, [&]<ScalarOp op>() {
      accumulate_as<op, T>(x.as<const T>(), result.as<T>(), outer, x.shape()[axis], inner, reverse);
    });
  });
  if (done) results[0] = std::move(result);
  return done;
}

}  // namespace ct::kernels
