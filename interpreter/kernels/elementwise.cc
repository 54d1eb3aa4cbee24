#include <array>
#include <cstring>

#include "interpreter/kernels/kernels.h"
#include "interpreter/kernels/loops.h"

namespace ct {

const LoopTable& scalar_loops() {
  static const LoopTable table = [] {
    LoopTable result{};
    loops::fill_arithmetic(result);
    loops::fill_functions(result);
    loops::fill_complex_functions(result);
    loops::fill_comparisons(result);
    return result;
  }();
  return table;
}

Tensor elementwise_result(const KernelInput& input, int output) {
  const Aval& aval = input.output_avals[output];
  if (input.may_overwrite) {
    for (const Tensor& operand : input.operands) {
      if (operand.buffer().use_count() == 1 && operand.buffer()->may_be_overwritten() &&
          operand.size() == aval.size() && dtype_size(operand.dtype()) == dtype_size(aval.dtype())) {
        return operand.reinterpret(aval);
      }
    }
  }
  return Tensor(aval);
}

namespace kernels {
namespace {

template <class T>
void select_loop(void* result, const bool* predicate, const void* if_true, const void* if_false, int64_t count) {
  T* z = static_cast<T*>(result);
  const T* x = static_cast<const T*>(if_true);
  const T* y = static_cast<const T*>(if_false);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    // Both are loaded, so that the choice is a blend and not a branch.
    const T a = x[i];
    const T b = y[i];
    z[i] = predicate[i] ? a : b;
  }
}

template <class From, class To>
void convert_loop(void* result, const void* x_data, int64_t count) {
  const From* x = static_cast<const From*>(x_data);
  To* z = static_cast<To*>(result);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) z[i] = convert_element<To>(x[i]);
}

uint32_t rotate_left(uint32_t x, int count) { return x << count | x >> (32 - count); }

}  // namespace

bool scalar_op(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& x = input.operands[0];
  const Loop loop = scalar_loops()[static_cast<int>(input.primitive.scalar_op)][static_cast<int>(x.dtype())];
  if (loop == nullptr) return false;
  Tensor result = elementwise_result(input);
  loop(result.data(), x.data(), input.operands.size() > 1 ? input.operands[1].data() : nullptr, x.size());
  results[0] = std::move(result);
  return true;
}

bool select(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& if_true = input.operands[1];
  // The predicate has elements of another size unless the values are bytes, where it may be overwritten as well: each
  // element is read before it is written.
  Tensor result = elementwise_result(input);
  const auto run = [&](auto element) {
    select_loop<decltype(element)>(result.data(), input.operands[0].as<bool>(), if_true.data(),
                                   input.operands[2].data(), result.size());
  };
  switch (dtype_size(if_true.dtype())) {
    case 1:
      run(uint8_t{});
      break;
    case 2:
      run(uint16_t{});
      break;
    case 4:
      run(uint32_t{});
      break;
    case 8:
      run(uint64_t{});
      break;
    default:
      run(std::array<uint64_t, 2>{});
      break;
  }
  results[0] = std::move(result);
  return true;
}

bool convert(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& x = input.operands[0];
  if (x.dtype() == input.output_avals[0].dtype()) return alias(input, results);
  Tensor result = elementwise_result(input);
  dispatch_dtype(x.dtype(), [&](auto from) {
    dispatch_dtype(result.dtype(), [&](auto to) {
      convert_loop<typename decltype(from)::type, typename decltype(to)::type>(result.data(), x.data(), x.size());
    });
  });
  results[0] = std::move(result);
  return true;
}

bool alias(const KernelInput& input, absl::Span<Tensor> results) {
  results[0] = input.operands[0].reinterpret(input.output_avals[0]);
  return true;
}

// The rounds are those of ir/ops/threefry.cc.
bool threefry(const KernelInput& input, absl::Span<Tensor> results) {
  static constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  static constexpr uint32_t kParity = 0x1BD11BDA;
  results[0] = Tensor(input.output_avals[0]);
  results[1] = Tensor(input.output_avals[1]);
  const uint32_t* key0 = input.operands[0].as<uint32_t>();
  const uint32_t* key1 = input.operands[1].as<uint32_t>();
  const uint32_t* count0 = input.operands[2].as<uint32_t>();
  const uint32_t* count1 = input.operands[3].as<uint32_t>();
  uint32_t* result0 = results[0].as<uint32_t>();
  uint32_t* result1 = results[1].as<uint32_t>();
  const int64_t count = results[0].size();
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t keys[3] = {key0[i], key1[i], key0[i] ^ key1[i] ^ kParity};
    uint32_t x0 = count0[i] + keys[0];
    uint32_t x1 = count1[i] + keys[1];
#pragma GCC unroll 5
    for (int group = 0; group < 5; ++group) {
#pragma GCC unroll 4
      for (int round = 0; round < 4; ++round) {
        x0 += x1;
        x1 = rotate_left(x1, kRotations[group % 2][round]) ^ x0;
      }
      x0 += keys[(group + 1) % 3];
      x1 += keys[(group + 2) % 3] + static_cast<uint32_t>(group + 1);
    }
    result0[i] = x0;
    result1[i] = x1;
  }
  return true;
}

}  // namespace kernels
}  // namespace ct
