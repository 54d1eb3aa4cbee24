// Reading and updating at computed positions along one axis. See ops.h for the layout of operands and results.
#include <cstring>
#include <vector>

#include "interpreter/kernels/folds.h"
#include "interpreter/kernels/kernels.h"
#include "interpreter/scalar_semantics.h"
#include "ir/ops.h"
#include "runtime/float_types.h"

namespace ct::kernels {
namespace {

struct Layout {
  int64_t batch = 1;
  int64_t before = 1;
  int64_t length = 1;  // of the indexed axis
  int64_t after = 1;
  int64_t count = 1;  // indices for each batch element
};

Layout layout_of(const Tensor& operand, const Tensor& indices, const Attrs& attrs) {
  const auto [indexed, batch] = GatherAttrs::from(attrs);
  const auto axis = static_cast<size_t>(indexed), batch_dims = static_cast<size_t>(batch);
  Layout layout;
  const Shape& shape = operand.shape();
  for (size_t i = 0; i < batch_dims; ++i) layout.batch *= shape[i];
  for (size_t i = batch_dims; i < axis; ++i) layout.before *= shape[i];
  layout.length = shape[axis];
  for (size_t i = axis + 1; i < shape.size(); ++i) layout.after *= shape[i];
  for (size_t i = batch_dims; i < indices.shape().size(); ++i) layout.count *= indices.shape()[i];
  return layout;
}

std::vector<int64_t> load_indices(const Tensor& indices) {
  std::vector<int64_t> result(static_cast<size_t>(indices.size()));
  dispatch_dtype(indices.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < result.size(); ++i) result[i] = convert_element<int64_t>(indices.as<T>()[i]);
  });
  return result;
}

}  // namespace

bool gather(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& operand = input.operands[0];
  if (operand.dtype() == DType::kFloat8E8M0FNU) return false;  // a dtype of powers of two, without a zero
  const Layout layout = layout_of(operand, input.operands[1], input.attrs);
  const std::vector<int64_t> indices = load_indices(input.operands[1]);
  Tensor result(input.output_avals[0]);
  const size_t line = static_cast<size_t>(layout.after) * dtype_size(operand.dtype());
  const std::byte* from = operand.as<std::byte>();
  std::byte* to = result.as<std::byte>();
  for (int64_t b = 0; b < layout.batch; ++b) {
    for (int64_t p = 0; p < layout.before; ++p) {
      const std::byte* source = from + (b * layout.before + p) * layout.length * line;
      for (int64_t i = 0; i < layout.count; ++i, to += line) {
        const int64_t index = indices[b * layout.count + i];
        if (index >= 0 && index < layout.length) {
          std::memcpy(to, source + index * line, line);
        } else {
          std::memset(to, 0, line);  // the bytes of zero in every other dtype
        }
      }
    }
  }
  results[0] = std::move(result);
  return true;
}

bool scatter(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& operand = input.operands[0];
  const Tensor& updates = input.operands[2];
  const std::optional<ScalarOp> combine = input.primitive.structure_as<structures::Scatter>()->combine;
  if (combine && !dtype_info(operand.dtype()).computes) return false;
  const Layout layout = layout_of(operand, input.operands[1], input.attrs);
  const std::vector<int64_t> indices = load_indices(input.operands[1]);
  const bool overwrite =
      input.may_overwrite && operand.buffer().use_count() == 1 && operand.buffer()->may_be_overwritten();
  Tensor result = overwrite ? operand.reinterpret(input.output_avals[0]) : Tensor(input.output_avals[0]);
  if (!overwrite) std::memcpy(result.data(), operand.data(), static_cast<size_t>(operand.aval().bytes()));
  // Calls visit(line of the result, line of the updates) in the order in which updates count.
  const auto for_each_line = [&]<class T>(T* to, const T* from, auto&& visit) {
    for (int64_t b = 0; b < layout.batch; ++b) {
      for (int64_t p = 0; p < layout.before; ++p) {
        T* target = to + (b * layout.before + p) * layout.length * layout.after;
        for (int64_t i = 0; i < layout.count; ++i, from += layout.after) {
          const int64_t index = indices[b * layout.count + i];
          if (index >= 0 && index < layout.length) visit(target + index * layout.after, from);
        }
      }
    }
  };
  const bool done = dispatch_dtype(operand.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    if (!combine) {
      for_each_line(result.as<T>(), updates.as<const T>(), [&](T* line, const T* from) {
        std::memcpy(line, from, static_cast<size_t>(layout.after) * sizeof(T));
      });
      return true;
    }
    return dispatch_fold<T>(*combine, [&]<ScalarOp op>() {
      for_each_line(result.as<T>(), updates.as<const T>(), [&](T* line, const T* from) {
        for (int64_t j = 0; j < layout.after; ++j) {
          line[j] = convert_element<T>(apply<op>(convert_element<C>(line[j]), convert_element<C>(from[j])));
        }
      });
    });
  });
  if (done) results[0] = std::move(result);
  return done;
}

}  // namespace ct::kernels
