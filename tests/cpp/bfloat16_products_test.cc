// Products of bfloat16 by tiles and by vectors, next to sums in double precision: any sizes, any strides.
#include "runtime/bfloat16_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "runtime/float_types.h"

namespace ct {
namespace {

bool has_pairs() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

struct Deleter {
  void operator()(char* memory) const { ::operator delete(memory, std::align_val_t{64}); }
};
std::unique_ptr<char, Deleter> memory(int64_t bytes) {
  return std::unique_ptr<char, Deleter>(
      static_cast<char*>(::operator new(static_cast<size_t>(bytes), std::align_val_t{64})));
}

class Numbers {
 public:
  explicit Numbers(unsigned seed) : engine_(seed) {}
  int64_t below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(engine_); }
  BFloat16 real() { return BFloat16(std::uniform_real_distribution<float>(-2, 2)(engine_)); }

 private:
  std::mt19937 engine_;
};

// A matrix by rows, by columns, or with gaps in both directions, in memory that is just as long as it has to be.
struct Matrix {
  Matrix(Numbers& numbers, int64_t rows, int64_t columns) {
    const int64_t pad = numbers.below(4), order = numbers.below(3);
    row = order == 0 ? columns + pad : order == 1 ? 1 : 2 * columns + pad;
    column = order == 0 ? 1 : order == 1 ? rows + pad : 2;
    const int64_t last = rows * columns == 0 ? -1 : (rows - 1) * row + (columns - 1) * column;
    elements.resize(static_cast<size_t>(last + 1));
    for (BFloat16& element : elements) element = numbers.real();
  }
  size_t place(int64_t i, int64_t j) const { return static_cast<size_t>(i * row + j * column); }
  float at(int64_t i, int64_t j) const { return static_cast<float>(elements[place(i, j)]); }
  const uint16_t* bits() const { return elements.empty() ? nullptr : &elements[0].bits; }

  int64_t row, column;
  std::vector<BFloat16> elements;
};

void multiply(const Bfloat16Product& product, const Matrix& a, const Matrix& b, char* c, int64_t m, int64_t n,
              int64_t k) {
  const int64_t panels = (n + kBfloat16Columns - 1) / kBfloat16Columns,
                strips = (m + kBfloat16Rows - 1) / kBfloat16Rows;
  const auto packed = memory(panels * bfloat16_panel_bytes(k)), scratch = memory(bfloat16_scratch_bytes(k));
  // As threads share them.
  pack_bfloat16(&product, b.bits(), packed.get(), k, n, panels / 2, panels);
  pack_bfloat16(&product, b.bits(), packed.get(), k, n, 0, panels / 2);
  for (const auto& [first, last] : {std::pair(strips / 2, strips), std::pair(int64_t{0}, strips / 2)}) {
    multiply_bfloat16(&product, a.bits(), packed.get(), c, scratch.get(), m, n, k, first, last, 0, panels / 3);
    multiply_bfloat16(&product, a.bits(), packed.get(), c, scratch.get(), m, n, k, first, last, panels / 3, panels);
  }
}

class Bfloat16Products : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!has_pairs()) GTEST_SKIP() << "this processor has no instructions for pairs of bfloat16";
    use_bfloat16_tiles(GetParam());
    if (GetParam() && !has_bfloat16_tiles()) GTEST_SKIP() << "this process has no registers of tiles";
  }
  void TearDown() override { use_bfloat16_tiles(true); }
};

TEST_P(Bfloat16Products, AreSumsOfProducts) {
  Numbers numbers(1);
  for (int times = 0; times < 150; ++times) {
    const int64_t m = 1 + numbers.below(150), n = 1 + numbers.below(100);
    const int64_t k = times % 10 == 0  ? 2048 + numbers.below(3000)
                      : times % 3 == 0 ? 32 * numbers.below(4)
                                       : numbers.below(100);
    const Matrix a(numbers, m, k), b(numbers, k, n);
    Matrix narrow(numbers, m, n);
    std::vector<float> wide;
    for (const BFloat16 element : narrow.elements) wide.push_back(static_cast<float>(element));
    const std::vector<float> before = wide;
    const bool accumulate = numbers.below(2) == 0, is_narrow = numbers.below(2) == 0;
    const Bfloat16Product product{a.row, a.column, b.row, b.column, narrow.row, narrow.column, accumulate, is_narrow};
    multiply(product, a, b,
             is_narrow ? reinterpret_cast<char*>(narrow.elements.data()) : reinterpret_cast<char*>(wide.data()), m, n,
             k);
    std::vector<bool> written(wide.size(), false);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const size_t place = narrow.place(i, j);
        double sum = accumulate ? before[place] : 0, size = std::fabs(sum);
        for (int64_t step = 0; step < k; ++step) {
          sum += static_cast<double>(a.at(i, step)) * b.at(step, j);
          size += std::fabs(static_cast<double>(a.at(i, step)) * b.at(step, j));
        }
        const double result = is_narrow ? static_cast<float>(narrow.elements[place]) : wide[place];
        ASSERT_NEAR(result, sum, 1e-6 * size + (is_narrow ? 0x1p-8 * std::fabs(sum) : 0))
            << m << " x " << k << " x " << n << " at " << i << ", " << j;
        written[place] = true;
      }
    }
    for (size_t i = 0; i < wide.size(); ++i) {
      if (written[i]) continue;
      ASSERT_EQ(wide[i], before[i]);
      ASSERT_EQ(static_cast<float>(narrow.elements[i]), before[i]);
    }
  }
}

TEST_P(Bfloat16Products, KeepWhatIsNotFinite) {
  constexpr int64_t kSize = 40;
  Numbers numbers(2);
  Matrix a(numbers, kSize, kSize), b(numbers, kSize, kSize);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  a.elements[a.place(3, 5)] = BFloat16(kInfinity);
  a.elements[a.place(33, 1)] = BFloat16(std::numeric_limits<float>::quiet_NaN());
  for (int64_t j = 0; j < kSize; ++j) b.elements[b.place(5, j)] = BFloat16(j == 7 ? 0.0F : 1.0F);
  for (const bool is_narrow : {false, true}) {
    std::vector<float> wide(kSize * kSize);
    std::vector<BFloat16> narrow(kSize * kSize);
    const Bfloat16Product product{a.row, a.column, b.row, b.column, kSize, 1, 0, is_narrow};
    multiply(product, a, b, is_narrow ? reinterpret_cast<char*>(narrow.data()) : reinterpret_cast<char*>(wide.data()),
             kSize, kSize, kSize);
    for (int64_t j = 0; j < kSize; ++j) {
      const auto result = [&](int64_t row) {
        const auto place = static_cast<size_t>(row * kSize + j);
        return is_narrow ? static_cast<float>(narrow[place]) : wide[place];
      };
      if (j == 7) {
        EXPECT_TRUE(std::isnan(result(3)));
      } else {
        EXPECT_EQ(result(3), kInfinity);
      }
      EXPECT_TRUE(std::isnan(result(33)));
      EXPECT_TRUE(std::isfinite(result(4)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(By, Bfloat16Products, testing::Bool(),
                         [](const auto& which) { return which.param ? "Tiles" : "Vectors"; });

}  // namespace
}  // namespace ct
