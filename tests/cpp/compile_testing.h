// What tests of the compiler share: random arrays, and running a graph compiled and by the reference evaluation.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/host_call.h"
#include "interpreter/evaluate.h"
#include "ir/ops.h"
#include "ir/print.h"
#include "jit/compile.h"
#include "jit/llvm/compiler.h"
#include "jit/loop/check.h"
#include "jit/loop/parse.h"

namespace ct {

using Body = std::function<Values(Builder&, const Values&)>;

inline double tolerance(DType dtype) {
  switch (real_dtype(dtype)) {
    case DType::kFloat64:
      return 1e-11;
    case DType::kFloat32:
      return 2e-5;
    case DType::kFloat16:
      return 4e-3;
    case DType::kBFloat16:
      return 3e-2;
    default:
      return 0;
  }
}

inline Tensor random_tensor(Aval aval, std::mt19937& generator, double low = -2, double high = 2) {
  std::uniform_real_distribution<double> uniform(low, high);
  Tensor result(aval);
  for (int64_t i = 0; i < aval.size(); ++i) {
    const double re = uniform(generator), im = uniform(generator);
    if (is_bool(aval.dtype())) {
      store_integer(result, i, re > 0);
    } else if (is_integer(aval.dtype())) {
      store_integer(result, i, static_cast<int64_t>(is_signed_integer(aval.dtype()) ? re * 4 : std::abs(re) * 4));
    } else {
      store_complex(result, i, {re, is_complex(aval.dtype()) ? im : 0});
    }
  }
  return result;
}

// Whether two results agree; what differs goes into `difference`.
inline bool near(const Tensor& actual, const Tensor& expected, double tolerance, std::string* difference) {
  double scale = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double magnitude = std::abs(load_complex(expected, i));
    if (std::isfinite(magnitude)) scale = std::max(scale, magnitude);
  }
  for (int64_t i = 0; i < expected.size(); ++i) {
    const std::complex<double> a = load_complex(actual, i), b = load_complex(expected, i);
    if (a == b) continue;
    if (!std::isfinite(std::abs(b)) && !std::isfinite(std::abs(a))) continue;
    if (std::abs(a - b) <= tolerance * (std::abs(b) + scale + 1e-2)) continue;
    std::ostringstream text;
    text << "element " << i << " is " << a << ", not " << b;
    *difference = text.str();
    return false;
  }
  return true;
}

inline void expect_compiles(const GraphPtr& graph, const std::vector<Tensor>& inputs, double loosen = 1) {
  SCOPED_TRACE(print(*graph));
  const std::vector<Tensor> expected = evaluate_reference(*graph, inputs);
  jit::HostFunctions host_functions;
  const loop::Program program = lower_prepared(*graph, "test", kThisProcess, &host_functions);
  ASSERT_EQ(loop::check(program), "") << loop::to_string(program);
  const std::string text = loop::to_string(program);
  ASSERT_EQ(loop::to_string(loop::parse(text)), text);
  // CT_TEST_CPU=x86-64-v2 runs these tests on a lesser processor than this one.
  const char* cpu = std::getenv("CT_TEST_CPU");
  auto function = jit::compile(program, {.triple = "", .cpu = cpu == nullptr ? "" : cpu, .vector_bits = 0});
  ASSERT_TRUE(function.ok()) << function.status().message() << loop::to_string(program);
  std::vector<void*> input_pointers, output_pointers;
  for (const Tensor& input : inputs) input_pointers.push_back(input.data());
  std::vector<Tensor> actual;
  for (const Aval& aval : graph->output_avals()) {
    actual.emplace_back(aval);
    std::memset(actual.back().data(), 0xa5, static_cast<size_t>(aval.bytes()));
    output_pointers.push_back(actual.back().data());
  }
  const size_t arena_bytes = static_cast<size_t>((*function)->plan().arena_bytes + 64) / 64 * 64;
  std::unique_ptr<void, void (*)(void*)> arena(std::aligned_alloc(64, arena_bytes), std::free);
  std::memset(arena.get(), 0xa5, arena_bytes);
  const HostScope scope(host_functions);
  (*function)->entry()(input_pointers.data(), output_pointers.data(), arena.get());
  scope.rethrow();
  for (size_t i = 0; i < expected.size(); ++i) {
    std::string difference;
    EXPECT_TRUE(near(actual[i], expected[i], loosen * tolerance(expected[i].dtype()), &difference))
        << "output " << i << ": " << difference << "\n"
        << loop::to_string(program);
  }
}

inline void expect_compiles(const std::vector<Aval>& avals, const Body& body, uint32_t seed = 1, double low = -2,
                            double high = 2) {
  std::mt19937 generator(seed);
  std::vector<Tensor> inputs;
  for (const Aval& aval : avals) inputs.push_back(random_tensor(aval, generator, low, high));
  expect_compiles(build_graph(avals, body), inputs);
}

}  // namespace ct
