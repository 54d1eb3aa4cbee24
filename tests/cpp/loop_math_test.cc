// The transcendental functions as compiled: their stated bounds in ulp, against long double, over all exponents of
// float32 and a sample of float64; and matrix products of many shapes and strides.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "jit/llvm/c_functions.h"
#include "jit/llvm/link.h"
#include "jit/llvm/ready_products.h"
#include "jit/llvm/tiles.h"
#include "runtime/pool.h"
#include "tests/cpp/exported_run.h"
#include "tests/cpp/loop_testing.h"

namespace ct::loop {
namespace {

Program elementwise(ScalarOp op, DType dtype, int count) {
  Builder b;
  bool binary = scalar_op_info(op).arity == 2;
  BufferId x = b.input(dtype, count), y = b.input(dtype, count), out = b.output(dtype, count);
  b.for_each(count, {.vectorize = true}, [&](Index i) {
    Scalar left = b.load(x, i);
    b.store(out, i, binary ? b.apply(op, left, b.load(y, i)) : b.apply(op, left));
  });
  return b.finish();
}

// Units in the last place of the correctly rounded result; infinite where one is NaN, infinite or of another sign and
// the other is not.
template <class T>
double ulps(T got, long double want) {
  T rounded = static_cast<T>(want);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isinf(rounded) || std::isinf(got)) {
    // Near the end of the range a result may overflow that just does not.
    bool close =
        std::isinf(got) && std::fabs(want) > 0.9999999L * static_cast<long double>(std::numeric_limits<T>::max());
    return rounded == got || close ? 0 : HUGE_VAL;
  }
  if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) ? 0 : HUGE_VAL;
  int exponent;
  std::frexp(want, &exponent);
  int digits = std::numeric_limits<T>::digits;
  exponent = std::max(exponent - digits, std::numeric_limits<T>::min_exponent - digits);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / std::ldexp(1.0L, exponent));
}

struct Function {
  ScalarOp op;
  long double (*exact)(long double);
  double bound_float, bound_double;
};

const Function kFunctions[] = {
    {ScalarOp::kExp, [](long double x) { return std::exp(x); }, 1.1, 1.1},
    {ScalarOp::kExpm1, [](long double x) { return std::expm1(x); }, 1.5, 2.0},
    {ScalarOp::kLog, [](long double x) { return std::log(x); }, 1.0, 1.0},
    {ScalarOp::kLog1p, [](long double x) { return std::log1p(x); }, 1.2, 1.2},
    {ScalarOp::kTanh, [](long double x) { return std::tanh(x); }, 1.3, 1.5},
    {ScalarOp::kErf, [](long double x) { return std::erf(x); }, 1.2, 1.2},
    {ScalarOp::kSin, [](long double x) { return std::sin(x); }, 1.5, 1.0},
    {ScalarOp::kCos, [](long double x) { return std::cos(x); }, 1.5, 1.0},
    {ScalarOp::kSqrt, [](long double x) { return std::sqrt(x); }, 0.5, 0.5},
};

template <class T>
std::vector<T> sample(int count) {
  std::vector<T> x;
  std::mt19937_64 random(1);
  for (T special : {T(0), T(-0.0), std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(), T(NAN),
                    T(1), T(-1), std::numeric_limits<T>::denorm_min(), -std::numeric_limits<T>::denorm_min(),
                    std::numeric_limits<T>::max(), std::numeric_limits<T>::min()}) {
    x.push_back(special);
  }
  // The double nearest to a multiple of pi/2: nothing is left after a careless reduction.
  x.push_back(static_cast<T>(0x1.6ac5b262ca1ffp+849));
  for (int i = static_cast<int>(x.size()); i < count; ++i) {
    T value;
    if constexpr (sizeof(T) == 4) {
      uint32_t bits = static_cast<uint32_t>(i) * (0x100000000ull / static_cast<uint64_t>(count)) +
                      static_cast<uint32_t>(random() % 4096);
      std::memcpy(&value, &bits, 4);
    } else if (i % 2 == 0) {
      uint64_t bits = random();
      std::memcpy(&value, &bits, 8);
    } else {
      value = static_cast<T>(
          std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -63 + static_cast<int>(random() % 24) - 8));
    }
    x.push_back(value);
  }
  return x;
}

template <class T>
void check_functions(DType dtype, const jit::TargetOptions& target) {
  constexpr int kCount = 1 << 17;
  std::vector<T> x = sample<T>(kCount), y(kCount);
  for (const Function& function : kFunctions) {
    Runner(elementwise(function.op, dtype, kCount), target)({x.data(), x.data()}, {y.data()});
    double worst = 0;
    T at = 0;
    for (int i = 0; i < kCount; ++i) {
      double error = ulps(y[i], function.exact(x[i]));
      if (error > worst) {
        worst = error;
        at = x[i];
      }
    }
    EXPECT_LE(worst, sizeof(T) == 4 ? function.bound_float : function.bound_double)
        << scalar_op_info(function.op).name << " " << dtype_name(dtype) << " at " << at << " for " << target.cpu;
  }
}

TEST(Math, FunctionsKeepTheirBounds) {
  for (const jit::TargetOptions& target : test_targets()) {
    check_functions<float>(DType::kFloat32, target);
    check_functions<double>(DType::kFloat64, target);
  }
}

template <class T>
void check_binary(DType dtype, const jit::TargetOptions& target) {
  struct Binary {
    ScalarOp op;
    long double (*exact)(long double, long double);
    double bound_float, bound_double;
  };
  const Binary functions[] = {
      {ScalarOp::kPow, [](long double a, long double b) { return std::pow(a, b); }, 0.6, 1.5},
      {ScalarOp::kAtan2, [](long double a, long double b) { return std::atan2(a, b); }, 0.6, 2.4},
      {ScalarOp::kRem, [](long double a, long double b) { return std::fmod(a, b); }, 0, 0},
  };
  constexpr int kCount = 1 << 15;
  const double specials[] = {0., -0., HUGE_VAL, -HUGE_VAL, NAN, 1., -1., 2., -2., 3., -3., .5, -.5, 1e30, -1e30, 1e-40};
  std::mt19937_64 random(2);
  std::vector<T> a(kCount), b(kCount), c(kCount), any = sample<T>(kCount);
  for (int i = 0; i < kCount; ++i) {
    auto ordinary = [&] {
      return std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -63 + static_cast<int>(random() % 12) - 5);
    };
    a[i] = static_cast<T>(i < 256 ? specials[i / 16] : i % 2 ? any[random() % kCount] : std::fabs(ordinary()));
    b[i] = static_cast<T>(i < 256      ? specials[i % 16]
                          : i % 4 == 1 ? any[random() % kCount]
                          : i % 4 == 3 ? std::round(ordinary())
                                       : ordinary());
  }
  for (const Binary& function : functions) {
    Runner(elementwise(function.op, dtype, kCount), target)({a.data(), b.data()}, {c.data()});
    double worst = 0;
    int at = 0;
    for (int i = 0; i < kCount; ++i) {
      double error = ulps(c[i], function.exact(a[i], b[i]));
      if (error > worst) {
        worst = error;
        at = i;
      }
    }
    EXPECT_LE(worst, sizeof(T) == 4 ? function.bound_float : function.bound_double)
        << scalar_op_info(function.op).name << " " << dtype_name(dtype) << " of " << a[at] << ", " << b[at] << " is "
        << c[at];
  }
}

TEST(Math, PowAtan2AndRemainderKeepTheirBounds) {
  for (const jit::TargetOptions& target : test_targets()) {
    check_binary<float>(DType::kFloat32, target);
    check_binary<double>(DType::kFloat64, target);
  }
}

// ------------------------------------------------------------------------------------------------------- matrix
// products

enum class Layout { kRows, kColumns, kSparse };

Matrix matrix_of(BufferId buffer, Layout layout, int64_t rows, int64_t columns) {
  switch (layout) {
    case Layout::kRows:
      return {buffer, 1, columns, 1};
    case Layout::kColumns:
      return {buffer, 1, 1, rows};
    default:
      return {buffer, 1, 2 * columns + 3, 2};
  }
}

template <class T>
void check_product(DType dtype, DType result_dtype, int64_t m, int64_t n, int64_t k, Layout la, Layout lb, Layout lc,
                   bool accumulate, const jit::TargetOptions& target) {
  auto size = [](int64_t rows, int64_t columns) { return (2 * columns + 3) * (rows + 1) + 2 * columns + 4; };
  Builder builder;
  BufferId a = builder.input(dtype, size(m, k)), b = builder.input(dtype, size(k, n)),
           c = builder.output(result_dtype, size(m, n));
  Matrix ma = matrix_of(a, la, m, k), mb = matrix_of(b, lb, k, n), mc = matrix_of(c, lc, m, n);
  builder.gemm(m, n, k, ma, mb, mc, accumulate);
  Runner run(builder.finish(), target);
  std::mt19937 random(static_cast<unsigned>(m * 31 + n * 7 + k));
  dispatch_dtype(result_dtype, [&](auto tag) {
    using R = typename decltype(tag)::type;
    std::unique_ptr<T[]> x(new T[size(m, k)]), y(new T[size(k, n)]);
    std::unique_ptr<R[]> z(new R[size(m, n)]), want(new R[size(m, n)]);
    // Small integers: sums are exact in every dtype and order.
    for (int64_t i = 0; i < size(m, k); ++i) x[i] = convert_element<T>(static_cast<double>(random() % 5) - 2);
    for (int64_t i = 0; i < size(k, n); ++i) y[i] = convert_element<T>(static_cast<double>(random() % 5) - 2);
    for (int64_t i = 0; i < size(m, n); ++i) z[i] = want[i] = convert_element<R>(static_cast<double>(random() % 3));
    using C = ComputeType<T>;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        C sum{};
        for (int64_t l = 0; l < k; ++l) {
          C p = static_cast<C>(x[1 + i * ma.row_stride + l * ma.column_stride]) *
                static_cast<C>(y[1 + l * mb.row_stride + j * mb.column_stride]);
          sum = static_cast<C>(sum + p);
        }
        R& to = want[1 + i * mc.row_stride + j * mc.column_stride];
        to = accumulate ? convert_element<R>(static_cast<C>(convert_element<C>(to) + sum)) : convert_element<R>(sum);
      }
    }
    run({x.get(), y.get()}, {z.get()});
    for (int64_t i = 0; i < size(m, n); ++i) {
      bool equal =
          std::memcmp(&z[i], &want[i], sizeof(R)) == 0 || convert_element<C>(z[i]) == convert_element<C>(want[i]);
      ASSERT_TRUE(equal) << dtype_name(dtype) << " " << m << "x" << n << "x" << k << " layouts " << static_cast<int>(la)
                         << static_cast<int>(lb) << static_cast<int>(lc) << " element " << i << " " << target.cpu;
    }
  });
}

TEST(Gemm, EveryShapeAndStride) {
  const int64_t sizes[] = {0, 1, 2, 3, 5, 8, 15, 16, 17, 33, 64, 70};
  std::mt19937 random(1);
  auto size = [&] { return sizes[random() % 12]; };
  auto layout = [&] { return static_cast<Layout>(random() % 3); };
  for (const jit::TargetOptions& target : test_targets()) {
    for (int i = 0; i < 60; ++i) {
      check_product<float>(DType::kFloat32, DType::kFloat32, size(), size(), size(), layout(), layout(), layout(),
                           i % 2 == 0, target);
    }
    for (int i = 0; i < 20; ++i) {
      check_product<double>(DType::kFloat64, DType::kFloat64, size(), size(), size(), layout(), layout(), layout(),
                            i % 2 == 0, target);
    }
    // Large enough for packing and blocks of k.
    check_product<float>(DType::kFloat32, DType::kFloat32, 130, 150, 700, Layout::kRows, Layout::kRows, Layout::kRows,
                         false, target);
    check_product<float>(DType::kFloat32, DType::kFloat32, 130, 150, 700, Layout::kColumns, Layout::kColumns,
                         Layout::kRows, true, target);
    // Both factors along k, few rows and columns: whole vectors, what is left of k, blocks of it.
    for (int64_t k : {256, 275, 9000}) {
      for (bool accumulate : {false, true}) {
        check_product<float>(DType::kFloat32, DType::kFloat32, 16, 27, k, Layout::kRows, Layout::kColumns,
                             accumulate ? Layout::kColumns : Layout::kRows, accumulate, target);
        check_product<double>(DType::kFloat64, DType::kFloat64, 5, 7, k, Layout::kRows, Layout::kColumns,
                              Layout::kSparse, accumulate, target);
      }
    }
  }
}

TEST(Gemm, OtherDtypes) {
  for (const jit::TargetOptions& target : test_targets()) {
    for (int64_t n : {1, 7, 20}) {
      for (bool accumulate : {false, true}) {
        Layout layout = accumulate ? Layout::kColumns : Layout::kRows;
        check_product<BFloat16>(DType::kBFloat16, DType::kBFloat16, 9, n, 11, layout, Layout::kRows, Layout::kRows,
                                accumulate, target);
        check_product<Float16>(DType::kFloat16, DType::kFloat32, 9, n, 11, layout, Layout::kRows, Layout::kRows,
                               accumulate, target);
        check_product<int32_t>(DType::kInt32, DType::kInt32, 9, n, 11, layout, Layout::kSparse, Layout::kRows,
                               accumulate, target);
        check_product<uint8_t>(DType::kUInt8, DType::kUInt8, 9, n, 11, layout, Layout::kRows, Layout::kRows, accumulate,
                               target);
        check_product<std::complex<float>>(DType::kComplex64, DType::kComplex64, 9, n, 11, layout, Layout::kRows,
                                           Layout::kRows, accumulate, target);
      }
    }
  }
}

// The first rows, columns and steps of a product, as many as it is told when it runs; what is behind the steps is NaN.
void check_first(int64_t m, int64_t n, int64_t k, Layout la, Layout lb, Layout lc, bool accumulate,
                 const jit::TargetOptions& target) {
  auto size = [](int64_t rows, int64_t columns) { return (2 * columns + 3) * (rows + 1) + 2 * columns + 4; };
  Builder b;
  const BufferId x = b.input(DType::kFloat32, size(m, k)), y = b.input(DType::kFloat32, size(k, n)),
                 counts = b.input(DType::kInt64, 3), z = b.output(DType::kFloat32, size(m, n));
  auto count = [&](int64_t which, int64_t most) {
    const Scalar least = b.apply(ScalarOp::kMax, b.load(counts, which), b.constant(DType::kInt64, 0));
    return b.to_index(b.apply(ScalarOp::kMin, least, b.constant(DType::kInt64, most)));
  };
  const Matrix ma = matrix_of(x, la, m, k), mb = matrix_of(y, lb, k, n), mc = matrix_of(z, lc, m, n);
  b.gemm({m, n, k, ma, mb, mc, accumulate, count(0, m), count(1, n), count(2, k)});
  Runner run(b.finish(), target);
  std::mt19937 random(static_cast<unsigned>(m * 31 + n * 7 + k));
  const int64_t all[] = {m, n, k};
  for (int round = 0; round < 4; ++round) {
    std::array<int64_t, 3> first{};
    for (int i : {0, 1, 2}) {
      const int64_t some[] = {0, all[i], static_cast<int64_t>(random() % static_cast<unsigned>(all[i] + 1))};
      first[static_cast<size_t>(i)] = round == 0 ? all[i] : some[random() % 3];
    }
    const auto [rows, columns, steps] = first;
    std::vector<float> a(static_cast<size_t>(size(m, k)), std::nanf("")),
        c(static_cast<size_t>(size(k, n)), std::nanf(""));
    auto at = [](std::vector<float>& from, const Matrix& matrix, int64_t i, int64_t j) -> float& {
      return from[static_cast<size_t>(1 + i * matrix.row_stride + j * matrix.column_stride)];
    };
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < steps; ++l) at(a, ma, i, l) = static_cast<float>(random() % 5) - 2;
    for (int64_t l = 0; l < steps; ++l)
      for (int64_t j = 0; j < n; ++j) at(c, mb, l, j) = static_cast<float>(random() % 5) - 2;
    std::vector<float> got(static_cast<size_t>(size(m, n)), 3);
    run({a.data(), c.data(), first.data()}, {got.data()});
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        float want = accumulate ? 3 : 0;
        for (int64_t l = 0; l < steps; ++l) want += at(a, ma, i, l) * at(c, mb, l, j);
        ASSERT_EQ(at(got, mc, i, j), want) << m << "x" << n << "x" << k << " first " << rows << ", " << columns << ", "
                                           << steps << " layouts " << static_cast<int>(la) << static_cast<int>(lb)
                                           << static_cast<int>(lc) << " at " << i << ", " << j << " " << target.cpu;
      }
    }
    ASSERT_EQ(got.front(), 3);
    ASSERT_EQ(got.back(), 3);
  }
}

TEST(Gemm, FirstRowsColumnsAndSteps) {
  const int64_t sizes[] = {1, 2, 3, 5, 8, 15, 16, 17, 33, 64, 70};
  std::mt19937 random(2);
  auto size = [&] { return sizes[random() % 11]; };
  auto layout = [&] { return static_cast<Layout>(random() % 3); };
  for (const jit::TargetOptions& target : test_targets()) {
    for (int i = 0; i < 60; ++i) check_first(size(), size(), size(), layout(), layout(), layout(), i % 2 == 0, target);
    for (bool accumulate : {false, true}) {
      check_first(130, 150, 700, Layout::kRows, Layout::kRows, Layout::kRows, accumulate, target);
      check_first(130, 150, 700, Layout::kColumns, Layout::kColumns, Layout::kRows, accumulate, target);
      check_first(16, 27, 9000, Layout::kRows, Layout::kColumns, Layout::kRows, accumulate, target);
    }
  }
}

Program product_of(DType dtype, int64_t m, int64_t n, int64_t k, Layout la, Layout lb, Layout lc, bool accumulate) {
  auto size = [](int64_t rows, int64_t columns) { return (2 * columns + 3) * (rows + 1) + 2 * columns + 4; };
  Builder b;
  const BufferId x = b.input(dtype, size(m, k)), y = b.input(dtype, size(k, n)), z = b.output(dtype, size(m, n));
  b.gemm(m, n, k, matrix_of(x, la, m, k), matrix_of(y, lb, k, n), matrix_of(z, lc, m, n), accumulate);
  return b.finish();
}

// By code for this process, or for a library.
template <class T>
std::vector<T> product_by(const Program& program, const jit::TargetOptions& target, bool for_library) {
  std::mt19937 random(3);
  std::normal_distribution<T> normal;
  std::vector<std::vector<T>> arrays;
  for (BufferId id : {0, 1, 2}) {
    arrays.emplace_back(static_cast<size_t>(program.buffers[id].elements));
    for (T& element : arrays.back()) element = normal(random);
  }
  if (!for_library) {
    Runner(program, target)({arrays[0].data(), arrays[1].data()}, {arrays[2].data()});
    return arrays[2];
  }
  const auto code = jit::emit_library_entry(program, "product_code", target);
  EXPECT_TRUE(code.ok()) << code.status().message();
  const auto bytes = [&](size_t i) { return static_cast<int64_t>(arrays[i].size() * sizeof(T)); };
  const DType dtype = sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;
  const auto aval = [&](size_t i) { return Aval(dtype, {static_cast<int64_t>(arrays[i].size())}); };
  jit::CFunction function{.name = "product",
                          .parameters = {},
                          .inputs = {{0, 0}, {1, 0}},
                          .outputs = {{2, 0}},
                          .input_avals = {aval(0), aval(1)},
                          .output_avals = {aval(2)},
                          .pairs = {-1},
                          .donations = {-1},
                          .lengths = {},
                          .constants = {},
                          .arena_bytes = code->arena_bytes,
                          .may_stop = jit::may_take_long(program),
                          .entries = {"product_code"}};
  for (size_t i = 0; i < 3; ++i) {
    function.parameters.push_back({.bytes = bytes(i), .alignment = sizeof(T), .written = i == 2});
  }
  const auto workspace_bytes = static_cast<size_t>(jit::CWorkspace(function).bytes);
  jit::CLibrary all{
      .name = "product", .description = "{}", .signature = 7, .checks = true, .levels = {{}}, .functions = {function}};
  const auto calls = jit::emit_c_functions(all, target);
  EXPECT_TRUE(calls.ok()) << calls.status().message();
  const auto library = jit::link_shared_library({*calls, code->object}, "libproduct.so");
  EXPECT_TRUE(library.ok()) << library.status().message();
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("libct_product_" + std::to_string(getpid()) + ".so");
  std::ofstream(path, std::ios::binary) << *library;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove(path);
  EXPECT_NE(handle, nullptr) << dlerror();
  if (handle == nullptr) return {};
  using Product = int (*)(const T*, const T*, T*, const ExportedRun*);
  const auto product = reinterpret_cast<Product>(dlsym(handle, "product"));
  ExportedRun run;
  run.workspace = std::aligned_alloc(64, std::max<size_t>(workspace_bytes, 64));
  run.workspace_bytes = workspace_bytes;
  EXPECT_EQ(product(arrays[0].data(), arrays[1].data(), arrays[2].data(), &run), jit::kCOk);
  dlclose(handle);
  std::free(run.workspace);
  return arrays[2];
}

template <class T>
void expect_same_bits(DType dtype, int64_t m, int64_t n, int64_t k, Layout la, Layout lb, Layout lc, bool accumulate,
                      const jit::TargetOptions& target) {
  const Program program = product_of(dtype, m, n, k, la, lb, lc, accumulate);
  const std::vector<T> got = product_by<T>(program, target, false), want = product_by<T>(program, target, true);
  ASSERT_EQ(got.size(), want.size());
  EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(T)), 0)
      << dtype_name(dtype) << " " << m << "x" << n << "x" << k << " layouts " << static_cast<int>(la)
      << static_cast<int>(lb) << static_cast<int>(lc) << " accumulate " << accumulate << " " << target.cpu;
}

// Of every number of rows and columns in a tile, at its edges as well; of blocks of k; of copies of large factors.
TEST(Gemm, ReadyMadeTilesGiveTheBitsOfThoseInAProgram) {
  std::mt19937 random(2);
  auto layout = [&] { return static_cast<Layout>(random() % 3); };
  auto up_to = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(most)); };
  for (const jit::TargetOptions& target : test_targets()) {
    for (int i = 0; i < 60; ++i) {
      const bool accumulate = i % 2 == 0;
      const int64_t m = up_to(60), n = up_to(i % 3 == 0 ? 16 : 140), k = 8 + up_to(60);
      expect_same_bits<float>(DType::kFloat32, m, n, k, layout(), layout(), layout(), accumulate, target);
      if (i % 2 == 1)
        expect_same_bits<double>(DType::kFloat64, m, n, k, layout(), layout(), layout(), i % 4 == 1, target);
    }
    for (Layout la : {Layout::kRows, Layout::kColumns}) {
      for (Layout lb : {Layout::kRows, Layout::kColumns}) {
        expect_same_bits<float>(DType::kFloat32, 301, 290, 1500, la, lb, Layout::kRows, true, target);
        expect_same_bits<float>(DType::kFloat32, 23, 600, 700, la, lb, Layout::kRows, false, target);
      }
    }
    expect_same_bits<float>(DType::kFloat32, 1500, 500, 900, Layout::kColumns, Layout::kRows, Layout::kRows, false,
                            target);
  }
}

TEST(Gemm, OnlyProgramsOfThisProcessCallReadyMadeTiles) {
  const Program program =
      product_of(DType::kFloat32, 40, 48, 60, Layout::kRows, Layout::kRows, Layout::kRows, /*accumulate=*/false);
  const auto calls = [](const std::string& object) { return object.find(jit::kReadyBlockSymbol) != std::string::npos; };
  const auto entry = jit::emit_library_entry(program, "product");
  ASSERT_TRUE(entry.ok()) << entry.status().message();
  EXPECT_FALSE(calls(entry->object));
#if defined(__x86_64__)
  for (const char* cpu : {"x86-64-v2", "x86-64-v3", "x86-64-v4"})
    EXPECT_TRUE(calls(jit::emit_object(program, "product", {.triple = "", .cpu = cpu})->codes[0].bytes)) << cpu;
#endif
  // One that is packed, or that threads share, is one call.
  const Program large =
      product_of(DType::kFloat32, 300, 288, 400, Layout::kRows, Layout::kColumns, Layout::kRows, /*accumulate=*/false);
  const auto is_one_call = [](const std::string& object) {
    return object.find(jit::kReadyProductSymbol) != std::string::npos &&
           object.find(jit::kReadyBlockSymbol) == std::string::npos &&
           object.find(kParallelSymbol) == std::string::npos;
  };
  EXPECT_FALSE(is_one_call(jit::emit_library_entry(large, "product")->object));
#if defined(__x86_64__)
  for (const char* cpu : {"x86-64-v2", "x86-64-v3", "x86-64-v4"})
    EXPECT_TRUE(is_one_call(jit::emit_object(large, "product", {.triple = "", .cpu = cpu})->codes[0].bytes)) << cpu;
#endif
  // A call would be a large part of a small product.
  const Program small = product_of(DType::kFloat32, 4, 4, 4, Layout::kRows, Layout::kRows, Layout::kRows, false);
  EXPECT_FALSE(calls(jit::emit_object(small, "product")->codes[0].bytes));
}

// Code of which another build would have other tiles, or none.
TEST(Gemm, AnUnknownTileIsAnError) {
  EXPECT_EQ(jit::find_ready("ct_ready_9_0"), nullptr);
  EXPECT_EQ(jit::find_ready("ct_ready_3_999999"), nullptr);
  EXPECT_EQ(jit::find_ready("ct_ready_3"), nullptr);
  EXPECT_EQ(jit::find_ready("memcpy"), nullptr);
}

}  // namespace
}  // namespace ct::loop
