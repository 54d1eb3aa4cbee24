// What tests of primitives share: small arrays, programs of a few equations run by the reference evaluation, and one
// check a rule: derivative against differences, transpose by the inner-product law, batching against a loop, masking
// against a slice.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "interpreter/evaluate.h"
#include "ir/combinators.h"
#include "ir/ops.h"

namespace ct::testing_ops {

using Complex = std::complex<double>;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- Arrays -------------------------------------------------------------------------------------------------------

inline Tensor array(DType dtype, Shape shape, const std::vector<double>& values) {
  Tensor result(Aval(dtype, shape));
  for (int64_t i = 0; i < result.size(); ++i) store_real(result, i, values[i]);
  return result;
}
inline Tensor vector(DType dtype, const std::vector<double>& values) {
  return array(dtype, {static_cast<int64_t>(values.size())}, values);
}
inline Tensor vector(const std::vector<double>& values) { return vector(DType::kFloat64, values); }
inline Tensor complex_vector(const std::vector<Complex>& values) {
  Tensor result(Aval(DType::kComplex128, {static_cast<int64_t>(values.size())}));
  for (int64_t i = 0; i < result.size(); ++i) store_complex(result, i, values[i]);
  return result;
}
inline Tensor random(Aval aval, int seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Tensor result(aval);
  for (int64_t i = 0; i < result.size(); ++i) {
    const double re = normal(generator), im = normal(generator);
    store_complex(result, i, {re, im});
  }
  return result;
}
inline Tensor random(Shape shape, int seed) { return random(Aval(DType::kFloat64, shape), seed); }

inline std::vector<double> reals(const Tensor& tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor.size(); ++i) result.push_back(load_real(tensor, i));
  return result;
}
inline std::vector<int64_t> integers(const Tensor& tensor) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < tensor.size(); ++i) result.push_back(load_integer(tensor, i));
  return result;
}
inline std::vector<Complex> complexes(const Tensor& tensor) {
  std::vector<Complex> result;
  for (int64_t i = 0; i < tensor.size(); ++i) result.push_back(load_complex(tensor, i));
  return result;
}

inline void expect_near(const Tensor& actual, const Tensor& expected, double tolerance = 1e-12) {
  ASSERT_EQ(actual.aval().to_string(), expected.aval().to_string());
  for (int64_t i = 0; i < actual.size(); ++i) {
    const Complex a = load_complex(actual, i), b = load_complex(expected, i);
    if (a == b || (std::isnan(a.real()) && std::isnan(b.real()))) continue;
    EXPECT_LE(std::abs(a - b), tolerance * (1 + std::abs(b))) << "element " << i << ": " << a << " is not " << b;
  }
}

// Elements [start, start + count) of `axis`.
inline Tensor window(const Tensor& x, int axis, int64_t start, int64_t count) {
  Shape shape = x.shape();
  shape[axis] = count;
  Tensor result(x.aval().with_shape(shape));
  int64_t after = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i) after *= shape[i];
  const int64_t before = count * after == 0 ? 0 : result.size() / (count * after);
  for (int64_t i = 0; i < before; ++i) {
    for (int64_t j = 0; j < count * after; ++j) {
      store_complex(result, i * count * after + j, load_complex(x, (i * x.shape()[axis] + start) * after + j));
    }
  }
  return result;
}
inline Tensor without_axis(const Tensor& x, int axis) {
  Shape shape = x.shape();
  shape.erase(shape.begin() + axis);
  return x.reinterpret(x.aval().with_shape(shape));
}

// ---- Programs -----------------------------------------------------------------------------------------------------

using Body = std::function<Value(const Values&)>;

inline std::vector<Tensor> run_all(const std::function<Values(Builder&, const Values&)>& body,
                                   const std::vector<Tensor>& inputs) {
  Avals avals;
  for (const Tensor& input : inputs) avals.push_back(input.aval());
  return evaluate_reference(*build_graph(avals, body), inputs);
}
inline Tensor run(const Body& body, const std::vector<Tensor>& inputs) {
  return run_all([&](Builder&, const Values& values) { return Values{body(values)}; }, inputs)[0];
}
inline Tensor run(Value (*op)(Value), const Tensor& x) {
  return run([&](const Values& v) { return op(v[0]); }, {x});
}
inline Tensor run(Value (*op)(Value, Value), const Tensor& x, const Tensor& y) {
  return run([&](const Values& v) { return op(v[0], v[1]); }, {x, y});
}

// One equation and its rules, by name.
struct Op {
  std::string name;
  AttrsPtr attrs = Attrs::empty();
  const Primitive& primitive() const { return get_primitive(name); }
};

inline Tensor run(const Op& op, const std::vector<Tensor>& operands) {
  return run_all([&](Builder& builder, const Values& v) { return builder.bind(op.primitive(), v, op.attrs); },
                 operands)[0];
}

inline bool inexact(const Tensor& tensor) { return is_inexact(tensor.dtype()); }

// The jvp rule on operands and tangents; tangents that are missing, and those of discrete operands, are null.
inline Tensor tangent_of(const Op& op, const std::vector<Tensor>& operands, const std::vector<Tensor>& tangents) {
  std::vector<Tensor> inputs = operands;
  for (size_t i = 0; i < operands.size(); ++i) inputs.push_back(tangents[i] ? tangents[i] : operands[i]);
  return run_all(
      [&](Builder& builder, const Values& v) {
        const size_t count = operands.size();
        Values primals(v.begin(), v.begin() + count), directions(v.begin() + count, v.end());
        for (size_t i = 0; i < count; ++i) {
          if (!tangents[i] || !inexact(operands[i])) directions[i] = Value();
        }
        const JvpResult result = op.primitive().jvp(builder, primals, directions, op.attrs);
        return Values{instantiate(builder, result.tangents[0], result.outputs[0].aval())};
      },
      inputs)[0];
}

inline Tensor moved(const Tensor& x, const Tensor& direction, double step) {
  Tensor result(x.aval());
  for (int64_t i = 0; i < x.size(); ++i) {
    store_complex(result, i, load_complex(x, i) + step * load_complex(direction, i));
  }
  return result;
}

inline void expect_derivative(const Op& op, const std::vector<Tensor>& operands, double tolerance = 1e-7) {
  SCOPED_TRACE(op.name);
  std::vector<Tensor> tangents, ahead, behind;
  const double step = 1e-6;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor& x = operands[i];
    tangents.push_back(inexact(x) ? random(x.aval(), 7 + static_cast<int>(i)) : x);
    ahead.push_back(inexact(x) ? moved(x, tangents[i], step) : x);
    behind.push_back(inexact(x) ? moved(x, tangents[i], -step) : x);
  }
  const Tensor high = run(op, ahead), low = run(op, behind);
  Tensor slope(high.aval());
  for (int64_t i = 0; i < slope.size(); ++i) {
    store_complex(slope, i, (load_complex(high, i) - load_complex(low, i)) / (2 * step));
  }
  expect_near(tangent_of(op, operands, tangents), slope, tolerance);
}

// Re(sum of products), the pairing of cotangents with tangents.
inline double pairing(const Tensor& x, const Tensor& y) {
  Complex sum = 0;
  for (int64_t i = 0; i < x.size(); ++i) sum += load_complex(x, i) * load_complex(y, i);
  return sum.real();
}

// The op as a function of operand `linear` alone obeys <c, op(t)> = <transpose(c), t>.
inline void expect_transpose(const Op& op, const std::vector<Tensor>& operands, int linear) {
  SCOPED_TRACE(op.name + " in operand " + std::to_string(linear));
  const Tensor result = run(op, operands);
  const Tensor cotangent = random(result.aval(), 11);
  std::vector<Tensor> inputs = operands;
  inputs.push_back(cotangent);
  const Tensor transposed = run_all(
      [&](Builder& builder, const Values& v) {
        Values known(v.begin(), v.end() - 1);
        Avals avals;
        for (const Value& value : known) avals.push_back(value.aval());
        known[linear] = Value();
        return Values{op.primitive().transpose(builder, {known, avals, {v.back()}}, op.attrs)[linear]};
      },
      inputs)[0];
  EXPECT_EQ(transposed.aval().to_string(), operands[linear].aval().to_string());
  EXPECT_NEAR(pairing(cotangent, result), pairing(transposed, operands[linear]), 1e-9);
}

// The batch rule, with operand i batched at axes[i] (-1: not), against one run an example.
inline void expect_batch(const Op& op, const std::vector<Tensor>& operands, const std::vector<int>& axes,
                         int64_t size) {
  SCOPED_TRACE(op.name);
  int out_axis = -1;
  const Tensor all = run_all(
      [&](Builder& builder, const Values& v) {
        std::vector<Batched> batched;
        for (size_t i = 0; i < v.size(); ++i) batched.push_back({v[i], axes[i]});
        const Batched result = op.primitive().batch(builder, batched, {size}, op.attrs)[0];
        out_axis = result.axis;
        return Values{result.value};
      },
      operands)[0];
  ASSERT_GE(out_axis, 0);
  for (int64_t example = 0; example < size; ++example) {
    std::vector<Tensor> one;
    for (size_t i = 0; i < operands.size(); ++i) {
      one.push_back(axes[i] < 0 ? operands[i] : without_axis(window(operands[i], axes[i], example, 1), axes[i]));
    }
    expect_near(without_axis(window(all, out_axis, example, 1), out_axis), run(op, one));
  }
}

struct Ragged {
  int operand, axis;
};

// The mask rule with `ragged` axes of one length, NaN beyond it, against the op on the valid part.
inline void expect_mask(const Op& op, std::vector<Tensor> operands, const std::vector<Ragged>& ragged, int64_t length,
                        int out_axis) {
  SCOPED_TRACE(op.name + " of length " + std::to_string(length));
  std::vector<Tensor> valid = operands;
  for (const Ragged& r : ragged) {
    const Tensor padded = random(operands[r.operand].aval(), 1);
    const int64_t bound = padded.shape()[r.axis];
    valid[r.operand] = window(valid[r.operand], r.axis, 0, length);
    operands[r.operand] = Tensor(padded.aval());
    for (int64_t i = 0; i < padded.size(); ++i) store_real(operands[r.operand], i, kNan);
    // Copy the valid part back, line by line.
    const Tensor& part = valid[r.operand];
    int64_t after = 1;
    for (int i = r.axis + 1; i < padded.aval().rank(); ++i) after *= padded.shape()[i];
    for (int64_t i = 0; i < part.size(); ++i) {
      const int64_t block = i / (length * after);
      store_complex(operands[r.operand], block * bound * after + i % (length * after), load_complex(part, i));
    }
  }
  std::vector<Tensor> inputs = operands;
  inputs.push_back(Tensor::scalar(DType::kInt32, static_cast<double>(length)));
  bool out_ragged = false;
  const Tensor result = run_all(
      [&](Builder& builder, const Values& v) {
        std::vector<Masked> masked;
        for (size_t i = 0; i < operands.size(); ++i) masked.push_back(exact(v[i]));
        for (const Ragged& r : ragged) masked[r.operand].lengths[r.axis] = v.back();
        const Masked out = op.primitive().mask(builder, masked, op.attrs)[0];
        out_ragged = out.any_ragged();
        if (out_axis >= 0) {
          EXPECT_EQ(out.lengths[out_axis], v.back());
        }
        return Values{out.value};
      },
      inputs)[0];
  EXPECT_EQ(out_ragged, out_axis >= 0);
  expect_near(out_axis < 0 ? result : window(result, out_axis, 0, length), run(op, valid));
}

// A fresh input.
inline Value in(Builder& builder, DType dtype, Shape shape = {3}) { return builder.input(Aval(dtype, shape)); }

}  // namespace ct::testing_ops
