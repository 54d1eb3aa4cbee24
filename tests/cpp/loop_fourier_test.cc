// Fourier transforms as loops, against the definition, for all arrangements and targets.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "jit/loop/expand/fourier.h"
#include "jit/schedule/buffers.h"
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
    for (int64_t line = 0; line < lines; line += std::max<int64_t>(1, lines / 7)) {
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
  for (int64_t n = 1; n <= 104; ++n) {
    if (!has_fourier({1, n, 1}, DType::kComplex64)) continue;
    ++found;
    run<double>({{1, n, 1}, {}}, DType::kComplex128);
  }
  EXPECT_GT(found, 50);
}

TEST(LoopFourier, Rows) {
  for (int64_t rows : {3, 16, 17, 40}) {
    for (int64_t n : {1, 2, 33, 120}) run_both({{rows, n, 1}, {}});
  }
  run_both({{19, 60, 1}, {.inverse = true, .scale = 1.0 / 60}});
}

TEST(LoopFourier, Columns) {
  for (int64_t columns : {2, 16, 21}) {
    for (int64_t n : {1, 14, 90}) run_both({{3, n, columns}, {}});
  }
  run_both({{2, 48, 10}, {.inverse = true, .scale = 0.5}});
  run_both({{2, 6000, 3}, {.inverse = true, .scale = 0.5}});
  run<float>({{1, 8192, 19}, {}}, DType::kComplex64);
}

TEST(LoopFourier, LongRows) {
  for (int64_t n : {256, 1000, 30030}) run_both({{1, n, 1}, {}});
  run_both({{3, 6000, 1}, {.inverse = true, .scale = 0.25}});
  run_both({{18, 512, 1}, {}});  // a matrix for each of many rows
}

// Coefficients of rows of reals, and back to what they were.
template <typename Real>
void run_real(int64_t rows, int64_t n, DType dtype) {
  SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " [" << rows << ", " << n << "]");
  const DType complex = complex_dtype(dtype);
  ASSERT_TRUE(has_real_fourier(rows, n, dtype));
  ASSERT_TRUE(has_real_fourier(rows, n, complex));
  const int64_t half = n / 2 + 1;
  const auto program_of = [&](bool inverse) {
    Builder b;
    const BufferId in = b.input(inverse ? complex : dtype, rows * (inverse ? half : n) + 3);
    const BufferId out = b.output(inverse ? dtype : complex, rows * (inverse ? n : half) + 3);
    emit_real_fourier(b, rows, n, {in, 3}, {out, 1},
                      {.inverse = inverse, .scale = inverse ? 3.0 / static_cast<double>(n) : 2.0});
    Program program = b.finish();
    jit::assign_buffers(program);
    return program;
  };
  const Program forward = program_of(false), backward = program_of(true);

  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  std::vector<Real> x(static_cast<size_t>(rows * n + 3));
  for (Real& value : x) value = static_cast<Real>(normal(random));
  std::vector<Complex> exact(x.begin() + 3, x.end());
  const double rounding = 4 * std::numeric_limits<Real>::epsilon() * std::log2(static_cast<double>(n) + 2);
  for (const jit::TargetOptions& target : test_targets()) {
    std::vector<std::complex<Real>> y(static_cast<size_t>(rows * half + 3), std::complex<Real>(7, 7));
    Runner(forward, target)({x.data()}, {y.data()});
    EXPECT_EQ(y.front(), std::complex<Real>(7, 7));
    EXPECT_EQ(y[y.size() - 2], std::complex<Real>(7, 7));
    long double worst = 0;
    const int64_t step = std::max<int64_t>(1, n / 97);
    for (int64_t row = 0; row < rows; row += std::max<int64_t>(1, rows / 11)) {
      const std::vector<Complex> expected = expected_line(exact, {{rows, n, 1}, {.scale = 2}}, row * n);
      for (int64_t k = 0; k * step < half; ++k) {
        const Complex found(y[static_cast<size_t>(1 + row * half + k * step)]);
        worst = std::max(worst, std::abs(found - expected[static_cast<size_t>(k)]));
      }
    }
    EXPECT_LT(worst, rounding * 2 * std::sqrt(static_cast<double>(n))) << target.cpu << " " << target.vector_bits;

    // The inverse, of coefficients with imaginary parts where they cannot be.
    std::vector<std::complex<Real>> spectrum(y.size() + 2);
    std::copy(y.begin() + 1, y.end() - 2, spectrum.begin() + 3);
    for (int64_t row = 0; row < rows; ++row) {
      spectrum[static_cast<size_t>(3 + row * half)].imag(static_cast<Real>(row + 1));
      if (n % 2 == 0) spectrum[static_cast<size_t>(3 + row * half + half - 1)].imag(Real(5));
    }
    std::vector<Real> back(x.size(), Real(7));
    Runner(backward, target)({spectrum.data()}, {back.data()});
    EXPECT_EQ(back.front(), Real(7));
    EXPECT_EQ(back[back.size() - 2], Real(7));
    double farthest = 0;
    for (size_t i = 0; i + 3 < x.size(); ++i)
      farthest = std::max(farthest, std::abs(static_cast<double>(back[i + 1]) - 6 * static_cast<double>(x[i + 3])));
    EXPECT_LT(farthest, rounding * 24) << target.cpu << " " << target.vector_bits;
  }
}

TEST(LoopFourier, Reals) {
  for (int64_t n = 1; n <= 50; ++n) {
    if (has_real_fourier(1, n, DType::kFloat32)) run_real<double>(1, n, DType::kFloat64);
  }
  for (int64_t rows : {2, 16, 33}) {
    for (int64_t n : {1, 2, 9, 40, 63}) {
      run_real<float>(rows, n, DType::kFloat32);
      run_real<double>(rows, n, DType::kFloat64);
    }
  }
}

TEST(LoopFourier, LongReals) {
  for (int64_t n : {32 * 33, 1000, 45 * 45, 4096, 15625}) {
    run_real<float>(1, n, DType::kFloat32);
    run_real<double>(1, n, DType::kFloat64);
  }
  run_real<float>(3, 6000, DType::kFloat32);
  run_real<float>(17, 1024, DType::kFloat32);
  run_real<double>(18, 1536, DType::kFloat64);
}

TEST(LoopFourier, LengthsThatDoNot) {
  for (int64_t n : {int64_t{67}, int64_t{2 * 67}, int64_t{29 * 31}, int64_t{99991}, int64_t{1} << 40, INT64_MAX}) {
    EXPECT_FALSE(has_fourier({1, n, 1}, DType::kComplex64)) << n;
  }
  EXPECT_FALSE(has_fourier({2, 67 * 512, 2}, DType::kComplex64));
}

}  // namespace
}  // namespace ct::loop
