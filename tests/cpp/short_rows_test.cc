// Nests over short rows (jit/machine/short_rows.h): which are walked how, and that results are those of one element
// after the other, in place too.
#include "jit/machine/short_rows.h"

#include <tuple>

#include "tests/cpp/guarded.h"
#include "tests/cpp/loop_testing.h"

namespace ct::loop {
namespace {

using jit::ShortRows;
using jit::TargetFacts;

constexpr LoopOptions kAll{.vectorize = true, .parallel = true};
constexpr TargetFacts kAvx512{TargetFacts::Arch::kX86, 512, 32, true, true, true, true, true};
constexpr TargetFacts kCortexM{TargetFacts::Arch::kArm, 128, 16, false, false, true, false, false};
constexpr TargetFacts kNeon{TargetFacts::Arch::kAArch64, 128, 32, false, false, true, true, true};

struct Shape {
  int64_t rows, columns;
};

// w - (row * column) * rate, and whether that is below 0. The column's element is read outside of the inner loop.
Program update(DType dtype, Shape shape, bool compares) {
  Builder b;
  const BufferId w = b.input(dtype, shape.rows * shape.columns), column = b.input(dtype, shape.rows);
  const BufferId row = b.input(dtype, shape.columns), rate = b.input(dtype, 1);
  const BufferId out = b.output(dtype, shape.rows * shape.columns);
  const BufferId below = compares ? b.output(DType::kBool, shape.rows * shape.columns) : out;
  b.for_each(shape.rows, kAll, [&](Index i) {
    const Scalar of_column = b.load(column, i);
    b.for_each(shape.columns, kAll, [&](Index j) {
      const Index at = i * shape.columns + j;
      const Scalar product = b.apply(ScalarOp::kMul, b.load(row, j), of_column);
      const Scalar change = b.apply(ScalarOp::kMul, product, b.load(rate, 0));
      const Scalar value = b.apply(ScalarOp::kSub, b.load(w, at), change);
      b.store(out, at, value);
      if (compares) b.store(below, at, b.apply(ScalarOp::kLt, value, b.constant(dtype, 0)));
    });
  });
  return b.finish();
}

std::optional<ShortRows> chosen(const Program& program, const TargetFacts& facts) {
  return jit::choose_short_rows(program, facts, program.fors[program.blocks[0].statements.back().detail]);
}

TEST(ShortRows, FillWholeVectors) {
  using Wanted = std::tuple<int64_t, unsigned, int64_t, int64_t>;  // columns; width, rows, vectors
  const auto look = [](DType dtype, int64_t rows, const TargetFacts& facts, const std::vector<Wanted>& all) {
    for (const auto& [columns, width, wanted_rows, vectors] : all) {
      const Program program = update(dtype, {rows, columns}, false);
      const auto found = chosen(program, facts);
      ASSERT_EQ(found.has_value(), width != 0) << columns;
      if (!found) continue;
      EXPECT_EQ(found->width, width) << columns;
      EXPECT_EQ(found->rows, wanted_rows) << columns;
      EXPECT_EQ(found->vectors, vectors) << columns;
    }
  };
  look(DType::kFloat32, 40, kAvx512,
       {{10, 16, 8, 5},
        {7, 16, 16, 7},
        {2, 16, 16, 2},
        {32, 16, 2, 4},
        {20, 16, 4, 5},
        {64, 16, 1, 4},
        {33, 0, 0, 0},
        {34, 16, 1, 3},
        {128, 16, 1, 8},
        {129, 0, 0, 0}});
  look(DType::kFloat64, 40, kAvx512, {{10, 8, 4, 5}, {16, 8, 2, 4}});
  look(DType::kFloat32, 40, kNeon, {{10, 4, 2, 5}, {3, 4, 4, 3}, {9, 0, 0, 0}, {11, 4, 1, 3}});
  look(DType::kFloat32, 40, kCortexM, {{10, 0, 0, 0}, {4, 0, 0, 0}});
  look(DType::kFloat32, 7, kAvx512, {{10, 0, 0, 0}});  // fewer rows than one iteration has
}

TEST(ShortRows, AreOnlyOfElementsAtKnownPlaces) {
  const auto nest = [](const std::function<void(Builder&, BufferId, BufferId, Index, Index)>& body) {
    Builder b;
    const BufferId in = b.input(DType::kFloat32, 512), out = b.output(DType::kFloat32, 512);
    b.for_each(32, kAll, [&](Index i) { b.for_each(10, kAll, [&](Index j) { body(b, in, out, i, j); }); });
    return chosen(b.finish(), kAvx512).has_value();
  };
  EXPECT_TRUE(nest([](Builder& b, BufferId in, BufferId out, Index i, Index j) {
    b.store(out, i * 10 + j, b.load(in, i * 10 + j + 7));
  }));
  // Rows apart, in what is read or in what is written; rows turned into columns; numbers of elements.
  EXPECT_FALSE(nest([](Builder& b, BufferId in, BufferId out, Index i, Index j) {
    b.store(out, i * 10 + j, b.load(in, i * 12 + j));
  }));
  EXPECT_FALSE(nest([](Builder& b, BufferId in, BufferId out, Index i, Index j) {
    b.store(out, i * 12 + j, b.load(in, i * 10 + j));
  }));
  EXPECT_FALSE(nest([](Builder& b, BufferId in, BufferId out, Index i, Index j) {
    b.store(out, i * 10 + j, b.load(in, j * 32 + i));
  }));
  EXPECT_FALSE(nest([](Builder& b, BufferId, BufferId out, Index i, Index j) {
    b.store(out, i * 10 + j, b.to_scalar(j, DType::kFloat32));
  }));
  // What is read may just have been written.
  EXPECT_FALSE(nest([](Builder& b, BufferId, BufferId out, Index i, Index j) {
    b.store(out, i * 10 + j, b.constant(DType::kFloat32, 1));
    b.store(out, i * 10 + j, b.apply(ScalarOp::kAdd, b.load(out, i * 10 + j), b.load(out, i * 10 + j)));
  }));
}

template <typename T>
void expect_values(DType dtype, const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes) {
    const int64_t count = shape.rows * shape.columns;
    const auto bytes = [](int64_t elements) { return static_cast<size_t>(elements) * sizeof(T); };
    // Nothing behind any array is touched.
    const Guarded w_memory(bytes(count)), column_memory(bytes(shape.rows)), row_memory(bytes(shape.columns));
    const Guarded out_memory(bytes(count)), below_memory(static_cast<size_t>(count));
    T *w = w_memory.as<T>(), *column = column_memory.as<T>(), *row = row_memory.as<T>(), *out = out_memory.as<T>();
    bool* below = below_memory.as<bool>();
    const T rate = static_cast<T>(1.25);
    for (int64_t i = 0; i < shape.rows; ++i) column[i] = static_cast<T>(1 + i % 5);
    for (int64_t j = 0; j < shape.columns; ++j) row[j] = static_cast<T>(j % 7 - 2.5);
    for (const jit::TargetOptions& target : test_targets()) {
      for (const bool compares : {false, true}) {
        const Runner run(update(dtype, shape, compares), target);
        for (const bool in_place : {false, true}) {
          for (int64_t i = 0; i < count; ++i) w[i] = static_cast<T>(i % 11 / 3.0);
          std::vector<void*> outputs{in_place ? w : out};
          if (compares) outputs.push_back(below);
          run({w, column, row, &rate}, outputs);
          int64_t wrong = 0;
          for (int64_t i = 0; i < count; ++i) {
            const T product = static_cast<T>(row[i % shape.columns] * column[i / shape.columns]);
            const T change = static_cast<T>(product * rate);
            const T want = static_cast<T>(static_cast<T>(i % 11 / 3.0) - change);
            wrong += (in_place ? w : out)[i] != want || (compares && below[i] != (want < T{0}));
          }
          EXPECT_EQ(wrong, 0) << shape.rows << " x " << shape.columns << " of " << sizeof(T) << " bytes";
        }
      }
    }
  }
}

TEST(ShortRows, HaveTheValuesOfOneByOne) {
  const std::vector<Shape> shapes{{32, 10}, {37, 10}, {130, 7}, {17, 2}, {5, 24},  {9, 32}, {3, 48},
                                  {70, 3},  {2, 5},   {6, 35},  {8, 30}, {4, 100}, {7, 9},  {5, 18}};
  expect_values<float>(DType::kFloat32, shapes);
  expect_values<double>(DType::kFloat64, {{33, 5}, {6, 12}, {9, 16}, {5, 13}});
  expect_values<int8_t>(DType::kInt8, {{131, 6}, {64, 3}, {5, 67}});
}

// More than the caches hold goes to memory past them, where it is aligned, by whole vectors.
TEST(ShortRows, AreStoredPastTheCaches) {
  constexpr int64_t kRows = (40 << 20) / 40 + 5, kColumns = 10;
  const Runner run(update(DType::kFloat32, {kRows, kColumns}, false));
  std::vector<float> w(kRows * kColumns, 1), column(kRows), row(kColumns), out(kRows * kColumns + 17, -7);
  for (size_t i = 0; i < column.size(); ++i) column[i] = static_cast<float>(i % 1001);
  for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<float>(j);
  const float rate = 2;
  for (const bool aligned : {true, false}) {
    const size_t first = (64 - reinterpret_cast<uintptr_t>(out.data()) % 64) / 4 % 16 + (aligned ? 0 : 1);
    run({w.data(), column.data(), row.data(), &rate}, {out.data() + first});
    int64_t wrong = 0;
    for (size_t i = 0; i < w.size(); ++i) wrong += out[first + i] != 1 - row[i % 10] * column[i / 10] * 2;
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(out.back(), -7);
  }
}

}  // namespace
}  // namespace ct::loop
