// Algorithms that stand in for libraries in programs that leave this process: their loops are legal at sizes around the
// edges of tiles. What they compute is compared in tests/export/test_export_kernels.py.
#include "ir/primitive.h"
#include "jit/loop/check.h"
#include "tests/cpp/compile_testing.h"

namespace ct {
namespace {

void expect_legal(const std::vector<Aval>& avals, const char* primitive, const AttrsPtr& attrs) {
  const GraphPtr graph = build_graph(avals, [&](Builder& builder, const Values& operands) {
    return builder.bind(get_primitive(primitive), operands, attrs);
  });
  const loop::Program program = lower_prepared(*prepare(graph, kAnyHost), "test", kAnyHost);
  EXPECT_TRUE(program.host_calls.empty());
  EXPECT_EQ(loop::check(program), "") << print(*graph) << loop::to_string(program).substr(0, 20000);
  EXPECT_TRUE(jit::emit_object(program, "test").ok());
}

TEST(Kernels, LinearAlgebraIsLegal) {
  for (const int64_t n : {17, 31, 32, 33, 64, 70}) {
    for (const bool ragged : {false, true}) {
      const DType dtype = n % 2 == 0 ? DType::kFloat32 : DType::kFloat64;
      std::vector<Aval> operands{Aval(dtype, {3, n, n})};
      if (ragged) operands.push_back(Aval(DType::kInt32, {3}));
      expect_legal(operands, "cholesky", Attrs::make({}));
      expect_legal(operands, "cholesky", Attrs::make({{"upper", true}}));
      expect_legal(operands, "lu", Attrs::make({}));
      for (const bool vectors : {false, true}) {
        expect_legal(operands, "eigh", Attrs::make({{"lower", vectors}, {"compute_vectors", vectors}}));
      }
      for (const bool left : {false, true}) {
        std::vector<Aval> system{Aval(dtype, {3, n, n}), Aval(dtype, left ? Shape{3, n, 5} : Shape{3, 5, n})};
        if (ragged) system.push_back(Aval(DType::kInt32, {3}));
        expect_legal(system, "triangular_solve",
                     Attrs::make({{"left_side", left},
                                  {"lower", n < 40},
                                  {"transpose_a", ragged},
                                  {"conjugate_a", false},
                                  {"unit_diagonal", n > 32}}));
      }
    }
    for (const bool full : {false, true}) {
      for (const int64_t more : {0, 40}) {
        const AttrsPtr attrs = Attrs::make({{"full_matrices", full}, {"pivoting", false}});
        expect_legal({Aval(DType::kFloat32, {n + more, n})}, "qr", attrs);
        expect_legal({Aval(DType::kFloat64, {n, n + more})}, "qr", attrs);
      }
    }
    expect_legal({Aval(DType::kFloat32, {n, n + 40})}, "lu", Attrs::make({}));
    expect_legal({Aval(DType::kComplex64, {2, n, n})}, "eigh",
                 Attrs::make({{"lower", true}, {"compute_vectors", true}}));
  }
}

TEST(Kernels, SortsAreLegal) {
  for (const int64_t n : {33, 128, 129, 4095, 4096}) {
    for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kBFloat16, DType::kComplex128, DType::kBool}) {
      const std::vector<Aval> operands{Aval(dtype, {2, n, 3}), Aval(DType::kInt8, {2, n, 3})};
      for (const int64_t count : {int64_t{1}, int64_t{8}, n}) {
        for (const int64_t keys : {1, 2}) {
          const AttrsPtr attrs =
              Attrs::make({{"axis", int64_t{1}}, {"num_keys", keys}, {"count", count}, {"descending", keys == 1}});
          expect_legal(operands, "sort", attrs);
          std::vector<Aval> ragged = operands;
          ragged.emplace_back(DType::kInt32, Shape{2, 1, 3});
          expect_legal(ragged, "sort", attrs->with("ragged", true));
          expect_legal(ragged, "sort", attrs->with("ragged", true)->with("unread", true));
        }
      }
    }
  }
}

}  // namespace
}  // namespace ct
