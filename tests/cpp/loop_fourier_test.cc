// Fourier transforms as loops, against the definition, for all arrangements and targets.
#include "jit/loop_fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "jit/buffers.h"
#include "tests/cpp/loop_testing.h"

namespace ct::loop {
namespace {

using Complex = std::complex<long double>;

std::vector<Complex> roots_of(int64_t n) {
  std::vector<Complex> result;
  for (int64_t i = 0; i < n; ++i) {
    const long double angle =
        -2 * std::numbers::pi_v<long double> * static_cast<long double>(i) / static_cast<long double>(n);
    result.emplace_back(std::cos(angle), std::sin(angle));
  }
  return result;
}

struct Case {
  FourierShape shape;
  FourierOptions options;
};

// One line of the result, by the definition.
std::vector<Complex> expected_line(const std::vector<Complex>& x, const Case& c, int64_t first) {
  const int64_t n = c.shape.length;
  const std::vector<Complex> roots = roots_of(n);
  std::vector<Complex> result;
  // Of long ones some coefficients.
  for (int64_t k = 0; k < n; k += std::max<int64_t>(1, n / 97)) {
    Complex sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      const Complex root = roots[static_cast<size_t>(j * k % n)];
      sum += x[static_cast<size_t>(first + j * c.shape.inner)] * (c.options.inverse ? std::conj(root) : root);
    }
    result.push_back(sum * static_cast<long double>(c.options.scale));
  }
  return result;
}

template <typename Real>
void run(const Case& c, DType dtype) {
  const FourierShape& shape = c.shape;
  SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " [" << shape.outer << ", " << shape.length << ", "
                                  << shape.inner << "] inverse " << c.options.inverse);
  ASSERT_TRUE(has_fourier(shape, dtype));
  const int64_t size = shape.outer * shape.length * shape.inner, margin = 3;
  Builder b;
  const BufferId in = b.input(dtype, size + margin), out = b.output(dtype, size + margin);
  emit_fourier(b, shape, {in, margin}, {out, 1}, c.options);
  Program program = b.finish();
  jit::assign_buffers(program);

  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<std::complex<Real>> x(static_cast<size_t>(size + margin));
  for (auto& value : x) value = {static_cast<Real>(normal(random)), static_cast<Real>(normal(random))};
  const std::vector<Complex> exact(x.begin() + margin, x.end());
  const double bound = 4 * std::numeric_limits<Real>::epsilon() * c.options.scale *
                       std::sqrt(static_cast<double>(shape.length)) * std::log2(shape.length + 2.0);
  for (const jit::TargetOptions& target : test_targets()) {
    std::vector<std::complex<Real>> y(x.size(), std::complex<Real>(7, 7));
    Runner(program, target)({x.data()}, {y.data()});
    EXPECT_EQ(y.front(), std::complex<Real>(7, 7));
    EXPECT_EQ(y.back(), std::complex<Real>(7, 7));
    long double worst = 0;
    const int64_t lines = shape.outer * shape.inner;
    for (int64_t line = 0; line < lines; line += std::max<int64_t>(1, lines / 23)) {
      const int64_t first = line / shape.inner * shape.length * shape.inner + line % shape.inner;
      const std::vector<Complex> expected = expected_line(exact, c, first);
      const int64_t step = std::max<int64_t>(1, shape.length / 97);
      for (size_t k = 0; k < expected.size(); ++k) {
        const auto at = static_cast<size_t>(1 + first + static_cast<int64_t>(k) * step * shape.inner);
        worst = std::max(worst, std::abs(Complex(y[at]) - expected[k]));
      }
    }
    EXPECT_LT(worst, bound) << target.cpu << " " << target.vector_bits;
  }
}

void run_both(const Case& c) {
  run<float>(c, DType::kComplex64);
  run<double>(c, DType::kComplex128);
}

TEST(LoopFourier, EveryLengthThatFactors) {
  int found = 0;
  for (int64_t n = 1; n <= 260; ++n) {
    if (!has_fourier({1, n, 1}, DType::kComplex64)) continue;
    ++found;
    run<double>({{1, n, 1}, {}}, DType::kComplex128);
  }
  EXPECT_GT(found, 100);
}

TEST(LoopFourier, Rows) {
  for (int64_t rows : {2, 3, 8, 16, 17, 40}) {
    for (int64_t n : {1, 2, 5, 16, 33, 120}) run_both({{rows, n, 1}, {}});
  }
  run_both({{19, 60, 1}, {.inverse = true, .scale = 1.0 / 60}});
}

TEST(LoopFourier, Columns) {
  for (int64_t columns : {2, 7, 16, 21, 64}) {
    for (int64_t n : {1, 3, 14, 90}) run_both({{3, n, columns}, {}});
  }
  run_both({{2, 48, 10}, {.inverse = true, .scale = 0.5}});
}

TEST(LoopFourier, LongRows) {
  for (int64_t n : {256, 1000, 4096, 30030, 50000}) run_both({{1, n, 1}, {}});
  run_both({{3, 6000, 1}, {.inverse = true, .scale = 0.25}});
}

TEST(LoopFourier, LengthsThatDoNot) {
  for (int64_t n : {int64_t{17}, int64_t{2 * 17}, int64_t{99991}, int64_t{1} << 40, INT64_MAX}) {
    EXPECT_FALSE(has_fourier({1, n, 1}, DType::kComplex64)) << n;
  }
  EXPECT_FALSE(has_fourier({1, 8192, 2}, DType::kComplex64));
}

}  // namespace
}  // namespace ct::loop
