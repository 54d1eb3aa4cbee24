// Nests in another order (jit/schedule/order.h), run: they read nothing behind their arrays and write no element that
// the nest did not.
#include <algorithm>

#include "jit/schedule/order.h"
#include "tests/cpp/guarded.h"
#include "tests/cpp/loop_testing.h"

namespace ct::loop {
namespace {

constexpr int64_t kRows = 530, kColumns = 512;  // 16 tiles of 32 rows and one of 18; 16 of 32 columns
constexpr LoopOptions kAll{.vectorize = true, .parallel = true};

struct Ends {
  bool rows, columns;  // at a length that the program is given
};

// out[row][column] = 1 - in[column][row].
Program transpose(DType dtype, Ends ends) {
  Builder b;
  const BufferId given = b.input(DType::kInt64, 1), in = b.input(dtype, kRows * kColumns);
  const BufferId out = b.output(dtype, kRows * kColumns);
  const Scalar length = b.load(given, 0);
  const auto end = [&](bool is_given, int64_t bound) {
    if (!is_given) return Index(bound);
    return b.to_index(b.apply(ScalarOp::kMin, length, b.constant(DType::kInt64, bound)));
  };
  const Index rows = end(ends.rows, kRows), columns = end(ends.columns, kColumns);
  b.for_each(rows, kAll, [&](Index row) {
    b.for_each(columns, kAll, [&](Index column) {
      const Scalar turned = b.load(in, column * kRows + row);
      b.store(out, row * kColumns + column, b.apply(ScalarOp::kSub, b.constant(dtype, 1), turned));
    });
  });
  Program program = b.finish();
  jit::order_loops(program);
  EXPECT_GT(program.arena_bytes, 0) << "no tiles";
  return program;
}

template <typename T>
void expect_lengths(DType dtype) {
  const Guarded memory(kRows * kColumns * sizeof(T));
  T* in = memory.as<T>();
  for (int64_t i = 0; i < kRows * kColumns; ++i) in[i] = static_cast<T>(i % 97);
  for (const Ends ends : {Ends{true, false}, Ends{false, true}, Ends{true, true}}) {
    for (const jit::TargetOptions& target : test_targets()) {
      const Runner run(transpose(dtype, ends), target);
      for (int64_t given : {-2, 0, 1, 31, 32, 33, 511, 512, 513, 529, 530, 600}) {
        const auto end = [&](bool is_given, int64_t bound) {
          return is_given ? std::clamp(given, int64_t{0}, bound) : bound;
        };
        const int64_t rows = end(ends.rows, kRows), columns = end(ends.columns, kColumns);
        std::vector<T> out(kRows * kColumns, T{99});
        run({&given, in}, {out.data()});
        int64_t wrong = 0;
        for (int64_t row = 0; row < kRows; ++row) {
          for (int64_t column = 0; column < kColumns; ++column) {
            const bool inside = row < rows && column < columns;
            const T want = inside ? static_cast<T>(1 - in[column * kRows + row]) : T{99};
            wrong += out[static_cast<size_t>(row * kColumns + column)] != want;
          }
        }
        EXPECT_EQ(wrong, 0) << "of length " << given;
      }
    }
  }
}

TEST(Transposes, EndAtLengths) {
  expect_lengths<float>(DType::kFloat32);
  expect_lengths<double>(DType::kFloat64);
  expect_lengths<int8_t>(DType::kInt8);
}

// out[row][column] = in[column][start + row] for the rows that there are from each start.
TEST(Transposes, ReadNothingBehindArrays) {
  const Guarded memory(kRows * kColumns * sizeof(float));
  auto* in = memory.as<float>();
  for (int64_t i = 0; i < kRows * kColumns; ++i) in[i] = static_cast<float>(i);
  Builder b;
  const BufferId x = b.input(DType::kFloat32, kRows * kColumns), y = b.output(DType::kFloat32, kRows * kColumns);
  b.for_each(kRows, {}, [&](Index start) {
    b.for_each(Index(kRows) - start, kAll, [&](Index row) {
      b.for_each(kColumns, kAll, [&](Index column) {
        const Scalar turned = b.load(x, column * kRows + start + row);
        b.store(y, row * kColumns + column, b.apply(ScalarOp::kNeg, turned));
      });
    });
  });
  Program program = b.finish();
  jit::order_loops(program);
  std::vector<float> out(kRows * kColumns);
  const Runner run(program);
  run({in}, {out.data()});
  for (int64_t row : {0, 1, 511, 529}) {  // what the last start wrote there
    for (int64_t column : {0, 511}) {
      EXPECT_EQ(out[static_cast<size_t>(row * kColumns + column)], -in[column * kRows + kRows - 1]) << row;
    }
  }
}

}  // namespace
}  // namespace ct::loop
