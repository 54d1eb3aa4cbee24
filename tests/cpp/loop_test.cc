// The loop IR and its LLVM back end: values against plain C++, for every dtype, vector tails, reductions, control flow,
// PTX, linking.
#include "jit/loop/loop.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <numeric>
#include <thread>

#include "device/cpu/cpu.h"
#include "jit/llvm/link.h"
#include "tests/cpp/loop_testing.h"

namespace ct::loop {
namespace {

using jit::compile;
using jit::TargetOptions;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr LoopOptions kVector{.vectorize = true, .parallel = true};

TEST(Index, IsAffineArithmetic) {
  Index i = Index::of(3, 4) + 5 + Index::of(1) * 2;
  EXPECT_EQ(i.coefficient_of(3), 4);
  EXPECT_EQ(i.coefficient_of(1), 2);
  EXPECT_EQ(i.coefficient_of(2), 0);
  EXPECT_EQ(i.constant(), 5);
  EXPECT_EQ(i - i, Index(0));
  EXPECT_EQ((i * 0), Index(0));
  EXPECT_EQ(Index::of(7).as_value(), 7u);
  EXPECT_FALSE((Index::of(7) + 1).as_value().has_value());
}

TEST(Builder, DivisionsStayAffineWhereRangesAllow) {
  Builder b;
  BufferId out = b.output(DType::kInt64, 12);
  auto i = b.begin_for(3);
  auto j = b.begin_for(4);
  Index flat = i.variable * 4 + j.variable;
  EXPECT_EQ(b.divide(flat, 4), i.variable);
  EXPECT_EQ(b.modulo(flat, 4), j.variable);
  EXPECT_EQ(b.divide(flat * 2, 2), flat);
  Index opaque = b.divide(flat, 3);  // not affine: an opaque term with a range
  EXPECT_EQ(b.range_of(opaque).low, 0);
  EXPECT_EQ(b.range_of(opaque).high, 3);
  b.store(out, flat, b.to_scalar(opaque * 3 + b.modulo(flat, 3)));
  b.end_for();
  b.end_for();
  std::vector<int64_t> result(12);
  Runner(b.finish())({}, {result.data()});
  for (int64_t k = 0; k < 12; ++k) EXPECT_EQ(result[k], k);
}

TEST(Printer, ShowsStatementsAndBuffers) {
  Builder b("scale");
  BufferId in = b.input(DType::kFloat32, 10), out = b.output(DType::kFloat32, 10);
  b.for_each(10, kVector, [&](Index i) {
    Scalar x = b.load(in, i);
    b.store(out, i, b.apply(ScalarOp::kMul, x, b.constant(DType::kFloat32, 0.5)));
  });
  EXPECT_EQ(to_string(b.finish()),
            "program scale (arena 0 bytes)\n"
            "  buffer in0 : float32[10]\n"
            "  buffer out0 : float32[10]\n"
            "  for %0 < 10 parallel vectorize\n"
            "    %1 : float32 = load in0[%0]\n"
            "    %2 : float32 = 0.5\n"
            "    %3 : float32 = mul %1, %2\n"
            "    store out0[%0] = %3\n");
}

// ------------------------------------------------------------------------------------------------------------- vectors

TEST(Vectors, EveryTailLength) {
  for (const TargetOptions& target : test_targets()) {
    for (int n = 0; n <= 40; ++n) {
      Builder b;
      BufferId x = b.input(DType::kFloat32, n), y = b.output(DType::kFloat32, n), bytes = b.output(DType::kUInt8, n);
      b.for_each(n, kVector, [&](Index i) {
        Scalar v = b.load(x, i);
        b.store(y, i, b.apply(ScalarOp::kAdd, b.apply(ScalarOp::kMul, v, v), b.constant(DType::kFloat32, 1)));
        b.store(bytes, i, b.convert(v, DType::kUInt8));
      });
      std::vector<float> in(n), out(n + 1, -1);
      std::vector<uint8_t> small(n + 1, 99);
      for (int i = 0; i < n; ++i) in[i] = static_cast<float>(i);
      Runner(b.finish(), target)({in.data()}, {out.data(), small.data()});
      for (int i = 0; i < n; ++i) {
        ASSERT_EQ(out[i], in[i] * in[i] + 1) << n;
        ASSERT_EQ(small[i], i) << n;
      }
      EXPECT_EQ(out[n], -1) << n;
      EXPECT_EQ(small[n], 99) << n;
    }
  }
}

TEST(Vectors, DynamicExtents) {
  for (const TargetOptions& target : test_targets()) {
    Builder b;
    BufferId length = b.input(DType::kInt32, 1), x = b.input(DType::kFloat64, 50), y = b.output(DType::kFloat64, 50),
             sum = b.output(DType::kFloat64, 1);
    Index n = b.to_index(b.apply(ScalarOp::kMin, b.load(length, 0), b.constant(DType::kInt32, 50)));
    b.for_each(n, kVector, [&](Index i) { b.store(y, i, b.apply(ScalarOp::kNeg, b.load(x, i))); });
    b.store(sum, 0, b.reduce(n, kVector, ScalarOp::kAdd, b.constant(DType::kFloat64, 0), [&](Index i) {
      return b.load(x, i);
    }));
    Runner run(b.finish(), target);
    std::vector<double> in(50), out(50);
    for (int i = 0; i < 50; ++i) in[i] = i + 1;
    for (int32_t given = -2; given <= 50; ++given) {
      double total = 0;
      std::fill(out.begin(), out.end(), 7);
      run({&given, in.data()}, {out.data(), &total});
      for (int i = 0; i < 50; ++i) ASSERT_EQ(out[i], i < given ? -in[i] : 7);
      EXPECT_EQ(total, given > 0 ? given * (given + 1) / 2 : 0);
    }
  }
}

// out[i] = in[start + i * stride], forwards, backwards, gathered; then the same for stores.
TEST(Vectors, Strides) {
  for (const TargetOptions& target : test_targets()) {
    for (int64_t stride : {-3, -1, 0, 1, 2, 5}) {
      for (int n : {1, 7, 16, 37}) {
        for (DType dtype : {DType::kFloat32, DType::kInt16, DType::kFloat64}) {
          Builder b;
          BufferId in = b.input(dtype, 200), out = b.output(dtype, n), spread = b.output(dtype, 200);
          int64_t start = stride < 0 ? 150 : 3;
          b.for_each(n, kVector, [&](Index i) { b.store(out, i, b.load(in, start + stride * i)); });
          if (stride != 0) b.for_each(n, kVector, [&](Index i) { b.store(spread, start + stride * i, b.load(in, i)); });
          Runner run(b.finish(), target);
          dispatch_dtype(dtype, [&](auto tag) {
            using T = typename decltype(tag)::type;
            if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
              std::vector<T> data(200), gathered(n), scattered(200);
              for (int i = 0; i < 200; ++i) data[i] = static_cast<T>(i);
              run({data.data()}, {gathered.data(), scattered.data()});
              for (int i = 0; i < n; ++i) {
                ASSERT_EQ(gathered[i], data[start + stride * i]);
                if (stride != 0) {
                  ASSERT_EQ(scattered[start + stride * i], data[i]);
                }
              }
            }
          });
        }
      }
    }
  }
}

// The arrays end where their last element does, at a page that may not be read.
TEST(Vectors, NearbyElementsEndWithTheArray) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* memory =
      static_cast<char*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + 3 * page, page, PROT_NONE), 0);
  for (const TargetOptions& target : test_targets()) {
    for (int64_t stride : {2, 3, 4, 5, 8, 9}) {
      for (int64_t n : {1, 16, 37, 64}) {
        const int64_t elements = (n - 1) * stride + 1;
        Builder b;
        BufferId x = b.input(DType::kFloat32, elements), y = b.output(DType::kFloat32, n);
        b.for_each(n, kVector, [&](Index i) { b.store(y, i, b.load(x, i * stride)); });
        auto* in = reinterpret_cast<float*>(memory + 3 * page) - elements;
        std::vector<float> out(static_cast<size_t>(n), -1);
        for (int64_t i = 0; i < elements; ++i) in[i] = static_cast<float>(i);
        Runner(b.finish(), target)({in}, {out.data()});
        for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], i * stride) << stride << " " << n;
      }
    }
  }
  munmap(memory, 4 * page);
}

TEST(Vectors, ShortFoldsOfRows) {
  for (const TargetOptions& target : test_targets()) {
    for (int64_t columns : {2, 3, 7, 8, 9}) {
      const int64_t rows = 45;
      Builder b;
      BufferId x = b.input(DType::kFloat64, rows * columns), y = b.output(DType::kFloat64, rows);
      b.for_each(rows, kVector, [&](Index i) {
        b.store(y, i,
                b.reduce(columns, {.vectorize = true, .parallel = false}, ScalarOp::kAdd,
                         b.constant(DType::kFloat64, 0), [&](Index k) { return b.load(x, i * columns + k); }));
      });
      std::vector<double> in(static_cast<size_t>(rows * columns)), out(static_cast<size_t>(rows), -1);
      for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(i * i % 101);
      Runner(b.finish(), target)({in.data()}, {out.data()});
      for (size_t i = 0; i < out.size(); ++i) {
        const auto row = in.begin() + static_cast<std::ptrdiff_t>(i * static_cast<size_t>(columns));
        ASSERT_EQ(out[i], std::accumulate(row, row + columns, 0.0)) << columns;
      }
    }
  }
}

TEST(Vectors, GatherByLoadedIndex) {
  for (const TargetOptions& target : test_targets()) {
    Builder b;
    BufferId table = b.input(DType::kFloat32, 9), indices = b.input(DType::kInt32, 21),
             out = b.output(DType::kFloat32, 21);
    b.for_each(21, kVector, [&](Index i) {
      Scalar at = b.load(indices, i);
      at = b.apply(ScalarOp::kMax, b.apply(ScalarOp::kMin, at, b.constant(DType::kInt32, 8)),
                   b.constant(DType::kInt32, 0));
      b.store(out, i, b.load(table, b.to_index(at)));
    });
    std::vector<float> values = {0, 10, 20, 30, 40, 50, 60, 70, 80}, result(21);
    std::vector<int32_t> where(21);
    for (int i = 0; i < 21; ++i) where[i] = i - 5;
    Runner(b.finish(), target)({values.data(), where.data()}, {result.data()});
    for (int i = 0; i < 21; ++i) EXPECT_EQ(result[i], values[std::clamp(i - 5, 0, 8)]);
  }
}

TEST(Vectors, OuterLoopsVectoriseWhenInnerOnesAreStrided) {
  for (const TargetOptions& target : test_targets()) {
    for (int rows : {1, 5, 33}) {
      for (int columns : {1, 4, 19, 40}) {
        Builder b;
        BufferId x = b.input(DType::kFloat32, rows * columns), by_column = b.output(DType::kFloat32, columns),
                 by_row = b.output(DType::kFloat32, rows), prefix = b.output(DType::kFloat32, rows * columns);
        Scalar zero = b.constant(DType::kFloat32, 0);
        b.for_each(columns, kVector, [&](Index j) {
          b.store(by_column, j,
                  b.reduce(rows, kVector, ScalarOp::kAdd, zero, [&](Index i) { return b.load(x, i * columns + j); }));
        });
        b.for_each(rows, kVector, [&](Index i) {
          b.store(by_row, i,
                  b.reduce(columns, kVector, ScalarOp::kMax, b.constant(DType::kFloat32, -HUGE_VAL),
                           [&](Index j) { return b.load(x, i * columns + j); }));
        });
        // A running sum down each column: carried, so only the outer loop can be vectors.
        b.for_each(columns, kVector, [&](Index j) {
          Builder::CarrySpec carry{zero};
          auto i = b.begin_for(rows, {}, absl::MakeConstSpan(&carry, 1));
          Scalar sum = b.apply(ScalarOp::kAdd, i.arguments[0], b.load(x, i.variable * columns + j));
          b.store(prefix, i.variable * columns + j, sum);
          b.end_for(absl::MakeConstSpan(&sum, 1));
        });
        std::vector<float> in(rows * columns), sums(columns), maxima(rows), running(rows * columns);
        for (int k = 0; k < rows * columns; ++k) in[k] = static_cast<float>((k * 37) % 101);
        Runner(b.finish(), target)({in.data()}, {sums.data(), maxima.data(), running.data()});
        for (int j = 0; j < columns; ++j) {
          float sum = 0;
          for (int i = 0; i < rows; ++i) ASSERT_EQ(running[i * columns + j], sum += in[i * columns + j]);
          ASSERT_EQ(sums[j], sum);
        }
        for (int i = 0; i < rows; ++i) {
          float largest = -HUGE_VALF;
          for (int j = 0; j < columns; ++j) largest = std::max(largest, in[i * columns + j]);
          ASSERT_EQ(maxima[i], largest);
        }
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------- reductions

TEST(Reductions, EveryOperationDtypeAndLength) {
  struct Case {
    ScalarOp op;
    double init;
  };
  for (const TargetOptions& target : test_targets()) {
    for (Case c : {Case{ScalarOp::kAdd, 3}, {ScalarOp::kMul, 1}, {ScalarOp::kMax, 0}, {ScalarOp::kMin, 0}}) {
      for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt8, DType::kInt32, DType::kUInt16, DType::kInt64,
                          DType::kComplex64, DType::kBFloat16, DType::kFloat16, DType::kBool}) {
        for (int n : {0, 1, 3, 16, 31, 64, 129, 300}) {
          Builder b;
          BufferId in = b.input(dtype, n), out = b.output(dtype, 1);
          b.store(out, 0,
                  b.reduce(n, kVector, c.op, b.constant(dtype, c.init), [&](Index i) { return b.load(in, i); }));
          Runner run(b.finish(), target);
          dispatch_dtype(dtype, [&](auto tag) {
            using T = typename decltype(tag)::type;
            if constexpr (!is_small_float_v<T> || sizeof(T) > 1) {
              std::unique_ptr<T[]> data(new T[n + 1]);
              auto number = [](double x) { return convert_element<T>(x); };
              // Small integers, so that every order of summation gives the same.
              for (int i = 0; i < n; ++i)
                data[i] = number(c.op == ScalarOp::kMul ? (i % 5 ? 1 : -1) : (i * 7) % 11 - 3);
              if (is_complex(dtype) && (c.op == ScalarOp::kMax || c.op == ScalarOp::kMin)) return;
              T result{};
              run({data.get()}, {&result});
              using C = ComputeType<T>;
              auto compute = [](T x) { return static_cast<C>(x); };
              C want = compute(number(c.init));
              for (int i = 0; i < n; ++i) {
                C x = compute(data[i]);
                if constexpr (std::is_same_v<T, bool>) {
                  want = c.op == ScalarOp::kAdd || c.op == ScalarOp::kMax ? want || x : want && x;
                } else if (c.op == ScalarOp::kAdd) {
                  want = static_cast<C>(want + x);
                } else if (c.op == ScalarOp::kMul) {
                  want = static_cast<C>(want * x);
                } else if constexpr (!is_complex_v<T>) {
                  want = c.op == ScalarOp::kMax ? std::max(want, x) : std::min(want, x);
                }
              }
              EXPECT_EQ(compute(result), compute(convert_element<T>(want)))
                  << dtype_name(dtype) << " " << scalar_op_info(c.op).name << " " << n;
            }
          });
        }
      }
    }
  }
}

TEST(Reductions, PropagateNan) {
  for (ScalarOp op : {ScalarOp::kMax, ScalarOp::kMin, ScalarOp::kAdd}) {
    for (int at = 0; at < 70; at += 3) {
      Builder b;
      BufferId in = b.input(DType::kFloat32, 70), out = b.output(DType::kFloat32, 1);
      b.store(out, 0,
              b.reduce(70, kVector, op, b.constant(DType::kFloat32, 0), [&](Index i) { return b.load(in, i); }));
      std::vector<float> data(70, 1.0f);
      data[at] = NAN;
      float result = 0;
      Runner(b.finish())({data.data()}, {&result});
      EXPECT_TRUE(std::isnan(result)) << at;
    }
  }
}

TEST(Reductions, ArgmaxByGenericCarries) {
  Builder b;
  BufferId in = b.input(DType::kFloat32, 50), out = b.output(DType::kInt64, 1);
  Builder::CarrySpec carries[] = {{b.constant(DType::kFloat32, -HUGE_VAL)}, {b.constant(DType::kInt64, 0)}};
  auto loop = b.begin_for(50, {}, carries);
  Scalar x = b.load(in, loop.variable);
  Scalar larger = b.apply(ScalarOp::kGt, x, loop.arguments[0]);
  Scalar next[] = {b.select(larger, x, loop.arguments[0]),
                   b.select(larger, b.to_scalar(loop.variable), loop.arguments[1])};
  Scalars results = b.end_for(next);
  b.store(out, 0, results[1]);
  std::vector<float> data(50);
  for (int i = 0; i < 50; ++i) data[i] = static_cast<float>((i * 29) % 50);
  int64_t result = -1;
  Runner(b.finish())({data.data()}, {&result});
  EXPECT_EQ(result, std::max_element(data.begin(), data.end()) - data.begin());
}

// ---------------------------------------------------------------------------------------------------------------
// control

// Collatz lengths: a While per lane, each running as long as it needs.
TEST(Control, DivergentWhile) {
  for (const TargetOptions& target : test_targets()) {
    Builder b;
    BufferId in = b.input(DType::kInt32, 37), out = b.output(DType::kInt32, 37);
    b.for_each(37, kVector, [&](Index i) {
      auto number = [&](int value) { return b.constant(DType::kInt32, value); };
      Scalar init[] = {b.load(in, i), number(0)};
      Scalars result = b.while_loop(
          init, [&](absl::Span<const Scalar> c) { return b.apply(ScalarOp::kNe, c[0], number(1)); },
          [&](absl::Span<const Scalar> c) {
            Scalar odd = b.convert(b.apply(ScalarOp::kAnd, c[0], number(1)), DType::kBool);
            Scalar up = b.apply(ScalarOp::kAdd, b.apply(ScalarOp::kMul, c[0], number(3)), number(1));
            Scalar down = b.apply(ScalarOp::kShrArithmetic, c[0], number(1));
            return Scalars{b.select(odd, up, down), b.apply(ScalarOp::kAdd, c[1], number(1))};
          });
      b.store(out, i, result[1]);
    });
    std::vector<int32_t> start(37), steps(37);
    for (int i = 0; i < 37; ++i) start[i] = i + 1;
    Runner(b.finish(), target)({start.data()}, {steps.data()});
    for (int i = 0; i < 37; ++i) {
      int n = i + 1, count = 0;
      for (; n != 1; ++count) n = n % 2 ? 3 * n + 1 : n / 2;
      EXPECT_EQ(steps[i], count) << i + 1;
    }
  }
}

// Branches with stores and loads that must not happen in the other lanes.
TEST(Control, DivergentIf) {
  for (const TargetOptions& target : test_targets()) {
    Builder b;
    BufferId in = b.input(DType::kFloat32, 40), out = b.output(DType::kFloat32, 40),
             picked = b.output(DType::kFloat32, 40);
    b.for_each(40, kVector, [&](Index i) {
      Scalar x = b.load(in, i);
      Scalars result = b.if_else(
          b.apply(ScalarOp::kGt, x, b.constant(DType::kFloat32, 2)),
          [&] {
            b.store(out, i, x);
            return Scalars{b.load(in, i - 3)};  // in bounds only because x > 2 means i >= 3
          },
          [&] { return Scalars{b.apply(ScalarOp::kNeg, x)}; });
      b.store(picked, i, result[0]);
    });
    std::vector<float> data(40), stored(40, -7), chosen(40);
    for (int i = 0; i < 40; ++i) data[i] = i % 3 == 0 ? -static_cast<float>(i) : static_cast<float>(i);
    Runner(b.finish(), target)({data.data()}, {stored.data(), chosen.data()});
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(stored[i], data[i] > 2 ? data[i] : -7);
      EXPECT_EQ(chosen[i], data[i] > 2 ? data[i - 3] : -data[i]);
    }
  }
}

TEST(Control, UniformIfAndWhile) {
  Builder b;
  BufferId flag = b.input(DType::kBool, 1), out = b.output(DType::kInt32, 8);
  Scalars base = b.if_else(
      b.load(flag, 0), [&] { return Scalars{b.constant(DType::kInt32, 100)}; },
      [&] { return Scalars{b.constant(DType::kInt32, 200)}; });
  Scalar init[] = {b.constant(DType::kInt64, 0)};
  b.while_loop(
      init, [&](absl::Span<const Scalar> c) { return b.apply(ScalarOp::kLt, c[0], b.constant(DType::kInt64, 8)); },
      [&](absl::Span<const Scalar> c) {
        b.store(out, b.to_index(c[0]), b.apply(ScalarOp::kAdd, base[0], b.convert(c[0], DType::kInt32)));
        return Scalars{b.apply(ScalarOp::kAdd, c[0], b.constant(DType::kInt64, 1))};
      });
  Runner run(b.finish());
  for (bool given : {false, true}) {
    int32_t result[8];
    run({&given}, {result});
    for (int i = 0; i < 8; ++i) EXPECT_EQ(result[i], (given ? 100 : 200) + i);
  }
}

// Double buffering: after k steps of x -> 2 x + 1 the carried array is where the swaps left it.
TEST(Control, SwapCarriesArrays) {
  for (int steps = 0; steps < 4; ++steps) {
    Builder b;
    BufferId in = b.input(DType::kFloat32, 20), out = b.output(DType::kFloat32, 20);
    BufferId from = b.temporary(DType::kFloat32, 20, 0), to = b.temporary(DType::kFloat32, 20, 128);
    b.copy(from, 0, in, 0, 20);
    b.for_each(steps, {}, [&](Index) {
      b.for_each(20, kVector, [&](Index i) {
        Scalar x = b.load(from, i);
        b.store(to, i, b.apply(ScalarOp::kAdd, b.apply(ScalarOp::kAdd, x, x), b.constant(DType::kFloat32, 1)));
      });
      b.swap(from, to);
    });
    b.copy(out, 0, from, 0, 20);
    std::vector<float> data(20), result(20);
    for (int i = 0; i < 20; ++i) data[i] = static_cast<float>(i);
    Runner(b.finish())({data.data()}, {result.data()});
    for (int i = 0; i < 20; ++i) EXPECT_EQ(result[i], std::ldexp(data[i] + 1, steps) - 1);
  }
}

TEST(Memory, FillAndCopy) {
  Builder b;
  BufferId in = b.input(DType::kComplex64, 10), out = b.output(DType::kComplex64, 10),
           ones = b.output(DType::kInt16, 9);
  b.fill(out, 0, 10, b.constant(DType::kComplex64, 0));
  b.copy(out, 2, in, 5, 3);
  b.fill(ones, 1, 7, b.constant(DType::kInt16, 258));
  std::vector<std::complex<float>> data(10), result(10, 9.0f);
  std::vector<int16_t> filled(9, 5);
  for (int i = 0; i < 10; ++i) data[i] = {static_cast<float>(i), -1};
  Runner(b.finish())({data.data()}, {result.data(), filled.data()});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(result[i], i >= 2 && i < 5 ? data[i + 3] : std::complex<float>(0));
  EXPECT_THAT(filled, ElementsAre(5, 258, 258, 258, 258, 258, 258, 258, 5));
}

// ------------------------------------------------------------------------------------------------- objects, link,
// threads

Program square_program(int n) {
  Builder b("square");
  BufferId in = b.input(DType::kFloat64, n), out = b.output(DType::kFloat64, n);
  b.for_each(n, kVector, [&](Index i) { b.store(out, i, b.apply(ScalarOp::kMul, b.load(in, i), b.load(in, i))); });
  return b.finish();
}

TEST(Objects, SurviveAsBytes) {
  auto object = jit::emit_object(square_program(11), "square", {});
  ASSERT_TRUE(object.ok());
  auto loaded = cpu_device().load(*object);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  double x[11], y[11];
  for (int i = 0; i < 11; ++i) x[i] = i;
  void* inputs[] = {x};
  void* outputs[] = {y};
  (*loaded)->run(inputs, outputs);
  for (int i = 0; i < 11; ++i) EXPECT_EQ(y[i], x[i] * x[i]);
  Plan other = *object;
  other.codes[0].bytes = "not an object";
  EXPECT_FALSE(cpu_device().load(other).ok());
  other = *object;
  other.blocks[0][0] = NativeStep{"cube"};
  EXPECT_FALSE(cpu_device().load(other).ok());
}

TEST(Objects, LinkIntoSharedLibrariesAndArchives) {
  auto object = jit::emit_object(square_program(11), "square", {.triple = "", .cpu = "x86-64-v2", .vector_bits = 0});
#if !defined(__x86_64__)
  object = jit::emit_object(square_program(11), "square", {});
#endif
  ASSERT_TRUE(object.ok());
  auto library = jit::link_shared_library({object->codes[0].bytes}, "libsquare.so");
  ASSERT_TRUE(library.ok()) << library.status().ToString();
  std::string path = testing::TempDir() + "/libsquare.so";
  std::ofstream(path, std::ios::binary) << *library;
  void* handle = dlopen(path.c_str(), RTLD_NOW);
  ASSERT_NE(handle, nullptr) << dlerror();
  auto entry = reinterpret_cast<PlanEntry>(dlsym(handle, "square"));
  ASSERT_NE(entry, nullptr);
  double x[11], y[11];
  for (int i = 0; i < 11; ++i) x[i] = i + 0.5;
  void* inputs[] = {x};
  void* outputs[] = {y};
  entry(inputs, outputs, nullptr);
  for (int i = 0; i < 11; ++i) EXPECT_EQ(y[i], x[i] * x[i]);
  dlclose(handle);
  std::remove(path.c_str());

  jit::ArchiveMember member{"square.o", object->codes[0].bytes};
  auto archive = jit::write_archive(absl::MakeConstSpan(&member, 1));
  ASSERT_TRUE(archive.ok());
  EXPECT_EQ(archive->substr(0, 8), "!<arch>\n");
  EXPECT_THAT(*archive, HasSubstr("square"));
  EXPECT_FALSE(jit::link_shared_library({"garbage"}, "libbad.so").ok());
}

TEST(Objects, AreMadeForOtherMachines) {
  auto object =
      jit::emit_object(square_program(100), "square", {.triple = "aarch64-linux-gnu", .cpu = "", .vector_bits = 0});
  ASSERT_TRUE(object.ok()) << object.status().ToString();
  EXPECT_EQ(object->codes[0].bytes.substr(1, 3), "ELF");
  EXPECT_FALSE(
      jit::emit_object(square_program(3), "x", {.triple = "m68k-unknown-none", .cpu = "", .vector_bits = 0}).ok());
  EXPECT_FALSE(jit::emit_object(square_program(3), "x", {.triple = "", .cpu = "no-such-cpu", .vector_bits = 0}).ok());
}

TEST(Objects, LeaveOutPassesThatLlvmHas) {
  if (jit::host_cpu_features().find("llvm-22") == std::string::npos) GTEST_SKIP() << "the names are those of LLVM 22";
  EXPECT_THAT(jit::unknown_pass_names(), testing::IsEmpty());
}

TEST(Objects, CompileFromManyThreads) {
  std::vector<std::thread> threads;
  std::vector<int> failures(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &failures] {
      for (int n = 1; n < 20; ++n) {
        auto function = compile(square_program(n + t));
        if (!function.ok()) {
          ++failures[t];
          continue;
        }
        std::vector<double> x(n + t, 3), y(n + t);
        void* inputs[] = {x.data()};
        void* outputs[] = {y.data()};
        (*function)->run(inputs, outputs);
        for (double value : y) failures[t] += value != 9;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(failures, ElementsAre(0, 0, 0, 0));
}

// -------------------------------------------------------------------------------------------------------------------
// check

TEST(Check, FindsIllegalPrograms) {
  auto program = [](const std::function<void(Builder&, BufferId, BufferId)>& body) {
    Builder b;
    BufferId in = b.input(DType::kFloat32, 10), out = b.output(DType::kFloat32, 10);
    body(b, in, out);
    return b.finish();
  };
  EXPECT_THAT(check(program([](Builder& b, BufferId in, BufferId out) {
                b.for_each(10, {}, [&](Index i) { b.store(out, i, b.load(in, i + 1)); });
              })),
              HasSubstr("may reach index 10 of 10"));
  EXPECT_THAT(check(program([](Builder& b, BufferId in, BufferId out) {
                b.for_each(10, {}, [&](Index i) { b.store(out, i - 1, b.load(in, i)); });
              })),
              HasSubstr("may reach index -1"));
  EXPECT_THAT(check(program([](Builder& b, BufferId in, BufferId out) {
                Scalar inner;
                b.for_each(10, {}, [&](Index i) { inner = b.load(in, i); });
                b.store(out, 0, inner);
              })),
              HasSubstr("outside the block"));
  EXPECT_THAT(check(program([](Builder& b, BufferId, BufferId out) {
                b.store(out, 0, {DType::kFloat32, b.constant(DType::kInt32, 1).re});
              })),
              HasSubstr("is int32, not float32"));
  // A loop from a length to the end: what is computed of its index lies no further than that.
  const auto from_a_length = [&](int64_t divisor) {
    return check(program([&](Builder& b, BufferId in, BufferId out) {
      const Scalar read = b.convert(b.load(in, 0), DType::kInt64);
      const Scalar held = b.apply(ScalarOp::kMax, read, b.constant(DType::kInt64, 0));
      const Index length = b.to_index(b.apply(ScalarOp::kMin, held, b.constant(DType::kInt64, 10)));
      b.for_each(Index(10) - length, {}, [&](Index i) {
        const Scalar doubled = b.apply(ScalarOp::kMul, b.to_scalar(length + i), b.constant(DType::kInt64, 2));
        const Scalar place = b.apply(ScalarOp::kDiv, doubled, b.constant(DType::kInt64, divisor));
        b.store(out, length + i, b.load(in, b.to_index(place)));
      });
    }));
  };
  EXPECT_EQ(from_a_length(2), "");
  EXPECT_THAT(from_a_length(1), HasSubstr("may reach index 18 of 10"));
  Program twice = program([](Builder& b, BufferId in, BufferId out) { b.store(out, 0, b.load(in, 0)); });
  twice.blocks[0].statements.push_back(twice.blocks[0].statements[0]);
  EXPECT_THAT(check(twice), HasSubstr("defined twice"));
  EXPECT_THROW(program([](Builder& b, BufferId in, BufferId) {
                 b.apply(ScalarOp::kAdd, b.load(in, 0), b.constant(DType::kFloat64, 1));
               }),
               Error);
}

}  // namespace
}  // namespace ct::loop
