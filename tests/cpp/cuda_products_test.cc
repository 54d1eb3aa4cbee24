// Large products on the device "cuda": what is told to a cuBLASLt that has no GPU (fake_cublaslt.cc), whose products
// are those of the processor, and what becomes of each of its calls that fails.
#include <gmock/gmock.h>

#include <map>

#include "device/cuda/cuda.h"
#include "device/cuda/libraries.h"
#include "device/emulated/emulated.h"
#include "runtime/text.h"
#include "tests/cpp/compile_testing.h"
#include "tests/cpp/fake_driver.h"

namespace ct {
namespace {

using testing::AllOf;
using testing::HasSubstr;

int64_t library_calls(const std::string& call) {
  return of_fake<int64_t(const char*)>(CT_FAKE_CUBLASLT, "fake_cublaslt_calls")(call.c_str());
}
int64_t library_live() { return of_fake<int64_t()>(CT_FAKE_CUBLASLT, "fake_cublaslt_live")(); }
void restart(const std::string& fail = "") {
  of_fake<void(const char*)>(CT_FAKE_CUBLASLT, "fake_cublaslt_restart")(fail.c_str());
  restart_driver();
}

const std::vector<std::string>& call_names() {
#define CT_NAME(name, ...) #name,
  static const std::vector<std::string> names = {CT_CUBLASLT_CALLS(CT_NAME)};
#undef CT_NAME
  return names;
}

class CudaProducts : public testing::Test {
 protected:
  CudaProducts() {
    use_fake_driver(CT_FAKE_CUBLASLT);
    restart();
  }
};

// Twice a product: made, and added to that.
Plan plan_of(const ProductStep& product, int64_t a, int64_t b, int64_t c) {
  Plan plan;
  plan.name = "products";
  plan.target = "cuda:sm_80";
  plan.nanoseconds = kMayBeLong;
  plan.inputs = {Aval(product.a.dtype, {a}), Aval(product.b.dtype, {b})};
  plan.outputs = {Aval(product.c.dtype, {c})};
  plan.donations = {-1};
  for (int i = 0; i < 3; ++i) {
    const bool is_output = i == 2;
    const Aval& aval = is_output ? plan.outputs[0] : plan.inputs[static_cast<size_t>(i)];
    plan.buffers.push_back({.kind = is_output ? PlanBuffer::Kind::kOutput : PlanBuffer::Kind::kInput,
                            .position = is_output ? 0 : i,
                            .offset = 0,
                            .bytes = aval.bytes()});
  }
  ProductStep added = product;
  added.accumulate = true;
  plan.blocks = {{FillStep{{2, 0}, 0, plan.outputs[0].bytes()}, product, added}};
  EXPECT_EQ(check_plan(plan), "");
  return plan;
}

ProductStep step(DType operands, DType result) {
  return {.m = 5,
          .n = 7,
          .k = 6,
          .a = {.at = {0, 0}, .dtype = operands, .row_stride = 6},
          .b = {.at = {1, 0}, .dtype = operands, .row_stride = 7},
          .c = {.at = {2, 0}, .dtype = result, .row_stride = 7},
          .compute = product_compute_type(operands)};
}

LoadedPtr load(Device& device, const Plan& plan) {
  auto loaded = device.load(plan);
  if (!loaded.ok()) throw Error(ErrorKind::kDevice, std::string(loaded.status().message()));
  return *loaded;
}

std::vector<Tensor> arguments(const Plan& plan) {
  std::mt19937 generator(7);
  std::vector<Tensor> made;
  for (const Aval& aval : plan.inputs) made.push_back(random_tensor(aval, generator, -1, 1));
  return made;
}
void expect_emulated(const Plan& plan, const std::vector<Tensor>& found, double tolerance) {
  const std::vector<Tensor> inputs = arguments(plan), expected = (*load(emulated_device(), plan))(inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    std::string difference;
    EXPECT_TRUE(near(found[i], expected[i], tolerance, &difference)) << difference;
  }
}

// ---- values ---------------------------------------------------------------------------------------------------------

TEST_F(CudaProducts, AreThoseOfEveryType) {
  using enum DType;
  for (const auto& [operands, result] : {std::pair{kFloat32, kFloat32},
                                         {kFloat64, kFloat64},
                                         {kFloat16, kFloat16},
                                         {kFloat16, kFloat32},
                                         {kBFloat16, kBFloat16},
                                         {kBFloat16, kFloat32}}) {
    SCOPED_TRACE(concat(dtype_name(operands), " -> ", dtype_name(result)));
    const Plan plan = plan_of(step(operands, result), 30, 42, 35);
    const auto device = new_cuda_device();
    expect_emulated(plan, (*load(*device, plan))(arguments(plan)), dtype_size(result) == 2 ? 1e-1 : 1e-5);
  }
}

// Each of a, b, c rows or columns first, dense or in a larger array, single or in a batch.
TEST_F(CudaProducts, AreThoseOfMatricesThatLieInEveryWay) {
  for (int ways = 0; ways < 32; ++ways) {
    SCOPED_TRACE(ways);
    ProductStep product = step(DType::kFloat32, DType::kFloat32);
    const int64_t more = (ways & 8) != 0 ? 3 : 0;
    const auto lay = [&](ProductMatrix& matrix, int64_t rows, int64_t columns, bool by_columns) {
      matrix.row_stride = by_columns ? 1 : columns + more;
      matrix.column_stride = by_columns ? rows + more : 1;
      matrix.at.offset = 4 * more;
      if ((ways & 16) != 0) matrix.batch_stride = 120;
    };
    lay(product.a, 5, 6, (ways & 1) != 0);
    lay(product.b, 6, 7, (ways & 2) != 0);
    lay(product.c, 5, 7, (ways & 4) != 0);
    if ((ways & 16) != 0) product.batch = 3;
    if (ways == 31) product.b.batch_stride = 0;
    const Plan plan = plan_of(product, 400, 400, 400);
    const auto device = new_cuda_device();
    expect_emulated(plan, (*load(*device, plan))(arguments(plan)), 1e-5);
  }
  EXPECT_EQ(library_live(), 0);
}

// ---- what a call costs ----------------------------------------------------------------------------------------------

TEST_F(CudaProducts, WhatWasMadeBeforeIsALaunchAndNothingElse) {
  const auto device = new_cuda_device();
  const Plan plan = plan_of(step(DType::kFloat32, DType::kFloat32), 30, 42, 35);
  const LoadedPtr loaded = load(*device, plan);
  (*loaded)(arguments(plan));
  EXPECT_EQ(library_calls("cublasLtMatmulAlgoGetHeuristic"), 2);  // one of them adds
  const int64_t live = library_live();
  restart();
  (*loaded)(arguments(plan));
  for (const std::string& name : call_names()) {
    EXPECT_EQ(library_calls(name), name == "cublasLtMatmul" ? 2 : 0) << name;
  }
  EXPECT_EQ(driver_calls("cuMemAllocAsync"), 0);
  EXPECT_EQ(library_live(), live);
}

// ---- every call fails once ------------------------------------------------------------------------------------------

TEST_F(CudaProducts, EveryCallThatFailsIsAnErrorAndNothingLeaks) {
  const Plan plan = plan_of(step(DType::kFloat32, DType::kFloat32), 30, 42, 35);
  const GraphPtr graph =
      build_graph({Aval(DType::kFloat32, {})}, [](Builder&, const Values& v) { return Values{v[0] * v[0]}; });
  const auto on_cpu = compile(graph, {.use_disk_cache = false});
  ASSERT_TRUE(on_cpu.ok());
  const auto use = [&] {
    const auto device = new_cuda_device();
    const LoadedPtr loaded = load(*device, plan);
    expect_emulated(plan, (*loaded)(arguments(plan)), 1e-5);
  };
  use();
  std::map<std::string, int64_t> all;
  for (const std::string& name : call_names()) all[name] = library_calls(name);
  for (const std::string& name : call_names()) {
    EXPECT_GT(all[name], 0) << name;
    for (int64_t n = 1; n <= all[name]; ++n) {
      SCOPED_TRACE(name + ", call " + std::to_string(n));
      restart(name + ":" + std::to_string(n) + ":14");
      if (name.ends_with("Destroy")) {
        use();
      } else {
        EXPECT_THAT(error_of(use, ErrorKind::kDevice),
                    AllOf(HasSubstr("cuBLASLt's " + name + " failed with 14, CUBLAS_STATUS_INTERNAL_ERROR"),
                          HasSubstr("CT_CUBLASLT= in the environment does without the library")));
      }
      EXPECT_EQ(library_live(), 0);
      EXPECT_EQ(driver_live(), 0);
      EXPECT_EQ((**on_cpu)({Tensor::scalar(DType::kFloat32, 3)})[0].as<float>()[0], 9);
    }
  }
  restart("cublasLtMatmul:1:3");
  EXPECT_THAT(error_of(use, ErrorKind::kMemory), HasSubstr("cublasLtMatmul failed with 3"));
}

TEST_F(CudaProducts, ADeviceWorksAgainAfterAFailure) {
  const Plan plan = plan_of(step(DType::kFloat32, DType::kFloat32), 30, 42, 35);
  for (const std::string& name : call_names()) {
    SCOPED_TRACE(name);
    const auto device = new_cuda_device();
    restart(name + ":1:14");
    try {
      (*load(*device, plan))(arguments(plan));
    } catch (const Error&) {
    }
    expect_emulated(plan, (*load(*device, plan))(arguments(plan)), 1e-5);
  }
}

// ---- whether there is one -------------------------------------------------------------------------------------------

TEST_F(CudaProducts, TheLibraryIsOpenedWhereItIsNamed) {
  EXPECT_TRUE(new_cuda_device()->has_product_library());
  setenv("CT_CUBLASLT", "", 1);
  const auto without = new_cuda_device();
  EXPECT_FALSE(without->has_product_library());
  const Plan plan = plan_of(step(DType::kFloat32, DType::kFloat32), 30, 42, 35);
  EXPECT_THAT(without->load(plan).status().message(),
              HasSubstr("was made for a GPU with cuBLASLt, which is not there"));
  setenv("CT_CUBLASLT", "/nowhere/libcublasLt.so", 1);
  const auto named = [] { new_cuda_device()->has_product_library(); };
  EXPECT_THAT(error_of(named, ErrorKind::kDevice), HasSubstr("names no cuBLASLt: /nowhere/libcublasLt.so"));
  setenv("CT_CUBLASLT", "libm.so.6", 1);
  EXPECT_THAT(error_of(named, ErrorKind::kDevice), HasSubstr("libm.so.6 has no function cublasLt"));
}

// Needs no GPU. What it takes are attributes of these numbers and sizes.
TEST_F(CudaProducts, TheRealLibraryTakesDescriptors) {
  using namespace cuda::cublas;  // NOLINT: as in device/cuda/products.cc
  setenv("CT_CUBLASLT", "libcublasLt.so.13", 1);
  std::shared_ptr<const Library> library;
  try {
    library = Library::open(13000);
  } catch (const Error&) {
    GTEST_SKIP() << "there is no libcublasLt.so.13";
  }
  Matmul matmul = nullptr;
  Layout layout = nullptr;
  Preference preference = nullptr;
  library->cublasLtMatmulDescCreate(&matmul, ComputeType::kFloat32, ElementType::kFloat32);
  for (const auto attribute : {MatmulAttribute::kTransposeA, MatmulAttribute::kTransposeB}) {
    const auto operation = Operation::kTranspose;
    library->cublasLtMatmulDescSetAttribute(matmul, attribute, &operation, sizeof operation);
  }
  library->cublasLtMatrixLayoutCreate(&layout, ElementType::kBFloat16, 5, 6, 7);
  const int32_t count = 3;
  const int64_t stride = 1000;
  library->cublasLtMatrixLayoutSetAttribute(layout, LayoutAttribute::kBatchCount, &count, sizeof count);
  library->cublasLtMatrixLayoutSetAttribute(layout, LayoutAttribute::kBatchStride, &stride, sizeof stride);
  library->cublasLtMatmulPreferenceCreate(&preference);
  const uint64_t bytes = 32 << 20;
  library->cublasLtMatmulPreferenceSetAttribute(preference, PreferenceAttribute::kMostWorkspaceBytes, &bytes,
                                                sizeof bytes);
  for (const auto attribute :
       {PreferenceAttribute::kReductionSchemes, PreferenceAttribute::kAlignmentA, PreferenceAttribute::kAlignmentB,
        PreferenceAttribute::kAlignmentC, PreferenceAttribute::kAlignmentD}) {
    const uint32_t number =
        attribute == PreferenceAttribute::kReductionSchemes ? kReductionInComputeType : uint32_t{16};
    library->cublasLtMatmulPreferenceSetAttribute(preference, attribute, &number, sizeof number);
  }
  library->cublasLtMatmulPreferenceDestroy(preference);
  library->cublasLtMatrixLayoutDestroy(layout);
  library->cublasLtMatmulDescDestroy(matmul);
  EXPECT_THROW(library->cublasLtMatmulDescSetAttribute(nullptr, MatmulAttribute::kTransposeA, nullptr, 0), Error);
}

// ---- programs -------------------------------------------------------------------------------------------------------

TEST_F(CudaProducts, ProgramsLeaveLargeProductsToIt) {
  const Aval x(DType::kFloat32, {170, 160}), y(DType::kFloat32, {160, 180}), small(DType::kFloat32, {100, 100});
  const auto product = [](Builder&, const Values& v) { return Values{dot_general(v[0], v[1], {{1}, {0}, {}, {}})}; };
  std::mt19937 generator(7);
  const GraphPtr graph = build_graph({x, y}, product);
  const auto loaded = compile(graph, {.backend = "cuda", .use_disk_cache = false});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_THAT(to_string((*loaded)->plan()), HasSubstr("product 170 x 180 x 160 in float32"));
  const std::vector<Tensor> inputs = {random_tensor(x, generator), random_tensor(y, generator)},
                            expected = evaluate(*graph, inputs), found = (**loaded)(inputs);
  std::string difference;
  EXPECT_TRUE(near(found[0], expected[0], 1e-3, &difference)) << difference;
  EXPECT_EQ(library_calls("cublasLtMatmul"), 1);
  const auto others = compile(build_graph({small, small}, product), {.backend = "cuda", .use_disk_cache = false});
  ASSERT_TRUE(others.ok());
  EXPECT_THAT(to_string((*others)->plan()), HasSubstr("kernel kernel0"));
}

}  // namespace
}  // namespace ct
