// The device "cuda" on a driver that has no GPU (fake_cuda_driver.cc): what it tells the driver, and what it makes of
// every call that fails. That kernels compute the right things, the emulated device shows (gpu_test.cc).
#include <gmock/gmock.h>

#include <map>

#include "device/cuda/context.h"
#include "device/cuda/cuda.h"
#include "device/residency.h"
#include "tests/cpp/compile_testing.h"
#include "tests/cpp/doubling_plan.h"
#include "tests/cpp/error_sites.h"
#include "tests/cpp/fake_driver.h"

namespace ct {
namespace {

using cuda::Status;
using testing::AllOf;
using testing::HasSubstr;

const Aval kNumber(DType::kFloat32, {});

// ---- the fake driver ------------------------------------------------------------------------------------------------

int64_t calls(const std::string& call) { return driver_calls(call); }
int64_t live() { return driver_live(); }
std::string launches() { return of_fake<const char*()>(CT_FAKE_DRIVER, "fake_cuda_launches")(); }
void restart(const std::string& fail = "") { restart_driver(fail); }

const std::vector<std::string>& call_names() {
#define CT_NAME(name, symbol, ...) #name,
  static const std::vector<std::string> names = {CT_CUDA_CALLS(CT_NAME)};
#undef CT_NAME
  return names;
}

class Cuda : public testing::Test {
 protected:
  Cuda() {
    use_fake_driver("");
    restart();
  }
};

// ---- a plan of every kind of step -----------------------------------------------------------------------------------

// Of no effect: what these numbers become is up to the other steps.
constexpr const char* kText =
    ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(\n  .param .u64 k_0,\n  .param .u64 "
    "k_1\n)\n{ret;}\n";

Plan doubling() {
  Plan plan = doubling_without_steps();
  plan.target = "cuda:sm_80";
  plan.nanoseconds = kMayBeLong;
  const Where in{0, 0}, out{1, 0}, x{2, 0}, below{3, 0}, above{3, 4};
  const ByteRange number{x, 4};
  plan.codes = {{.format = Code::Format::kPtx, .bytes = kText}};
  const KernelStep kernel{
      .code = 0, .symbol = "k", .blocks = 3, .threads = 256, .shared_bytes = 100 << 10, .arguments = {in, x}};
  plan.blocks = {
      {FillStep{x, 255, 4}, CopyStep{x, in, 4}, kernel, HostStep{1, {number}, {{below, 1}}}, LoopStep{-1, below, 1},
       LoopStep{3, {}, 2}, HostStep{2, {number}, {{above, 4}}}, BranchStep{above, {4, 3}}, CopyStep{out, x, 4}},
      {HostStep{0, {number}, {number}}, HostStep{1, {number}, {{below, 1}}}},
      {HostStep{0, {number}, {number}}},
      {HostStep{3, {number}, {number}}},
      {}};
  return plan;
}

LoadedPtr load(Device& device, const Plan& plan = doubling()) {
  auto loaded = device.load(plan, std::make_shared<const DoublingFunctions>());
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return *loaded;
}
float run(const Loaded& loaded, double x) { return loaded({Tensor::scalar(DType::kFloat32, x)})[0].as<float>()[0]; }

TEST_F(Cuda, RunsEveryKindOfStep) {
  {
    const auto device = new_cuda_device();
    const LoadedPtr loaded = load(*device);
    EXPECT_EQ(run(*loaded, 3), 96);     // 12, 96
    EXPECT_EQ(run(*loaded, 20), -160);  // 20, 160
    EXPECT_EQ(run(*loaded, 7), -112);   // 14, 112
    EXPECT_EQ(launches(), "k 3x256 2\nk 3x256 2\nk 3x256 2\n");
    EXPECT_EQ(calls("cuModuleLoadDataEx"), 1);
    EXPECT_EQ(calls("cuMemAllocAsync"), 3);  // input, result, temporaries: those of the first call
    EXPECT_GT(live(), 0);
  }
  EXPECT_EQ(live(), 0);
}

TEST_F(Cuda, IsInOrderWithTheStreamsOfOthers) {
  const auto device = new_cuda_device();
  Queue& queue = device->queue();
  EXPECT_NE(queue.handle(), 0U);
  const int32_t four = 4;
  int32_t copied = 0;
  const std::shared_ptr<Buffer> memory = device->allocate(sizeof four);
  queue.copy_to_device(memory->data(), &four, sizeof four);
  queue.copy_to_host(&copied, memory->data(), sizeof copied);
  EXPECT_EQ(copied, 0);  // nobody has waited
  queue.follow(cuda::kLegacyStream);
  EXPECT_EQ(copied, 0);
  queue.lead(cuda::kLegacyStream);
  EXPECT_EQ(copied, 4);  // what comes next in that stream may read it
  const std::string what = error_of([&] { queue.lead(0x1234); }, ErrorKind::kDevice);
  EXPECT_THAT(what, HasSubstr("cuStreamWaitEvent failed with 400"));
}

TEST_F(Cuda, OpensNothingBeforeSomebodyAsks) {
  const auto device = new_cuda_device();
  EXPECT_EQ(calls("cuDriverGetVersion"), 0);
  const CudaFacts facts = device->facts();
  EXPECT_EQ(facts.name, "Fake GPU");
  EXPECT_EQ(facts.capability, 90);
  EXPECT_EQ(facts.ptx, 87);
  EXPECT_EQ(facts.driver, 12080);
  EXPECT_EQ(facts.memory_bytes, 1 << 30);
  EXPECT_EQ(calls("cuDevicePrimaryCtxRetain"), 0);  // which takes memory of the GPU
  EXPECT_EQ(live(), 0);
}

// ---- every call fails once ------------------------------------------------------------------------------------------

// Uses the device in every way. `at_end` is called when only giving back is left.
void use(const std::function<void()>& at_end) {
  const auto device = new_cuda_device(), second = new_cuda_device(1);
  const LoadedPtr loaded = load(*device);
  EXPECT_EQ(run(*loaded, 3), 96);
  device->allocate(6 << 20).reset();
  device->allocate(7 << 20).reset();  // more than there is beside the one above
  Queue& queue = device->queue();
  EXPECT_TRUE(queue.is_idle());
  queue.lead(cuda::kLegacyStream);
  queue.follow(cuda::kPerThreadStream);
  EXPECT_EQ(put(*device, put(*second, Tensor::scalar(DType::kFloat32, 5))).as<float>()[0], 5);
  const auto begin = queue.mark(), end = queue.mark();
  queue.wait();
  EXPECT_EQ(end->since(*begin), 0);
  at_end();
  queue.follow_all();
}

TEST_F(Cuda, EveryCallThatFailsIsAnErrorAndNothingLeaks) {
  setenv("CT_FAKE_CUDA_MEMORY", "10000000", 1);
  setenv("CT_FAKE_CUDA_DEVICES", "2", 1);
  const GraphPtr graph = build_graph({kNumber}, [](Builder&, const Values& v) { return Values{v[0] * v[0]}; });
  const auto on_cpu = compile(graph, {.use_disk_cache = false});
  ASSERT_TRUE(on_cpu.ok());

  std::map<std::string, int64_t> before_end, all;
  const auto count = [](std::map<std::string, int64_t>& counts) {
    for (const std::string& name : call_names()) counts[name] = calls(name);
  };
  use([&] { count(before_end); });
  count(all);
  for (const std::string& name : call_names()) {
    const bool only_when_failing = name == "cuMemGetInfo" || name.starts_with("cuGetError");
    EXPECT_EQ(all[name] == 0, only_when_failing) << name;
    for (int64_t n = 1; n <= all[name]; ++n) {
      for (const Status status : {Status::kUnknown, Status::kIllegalAddress}) {
        SCOPED_TRACE(name + ", call " + std::to_string(n));
        const std::string number = std::to_string(static_cast<uint32_t>(status));
        restart(name + ":" + std::to_string(n) + ":" + number);
        bool ended = false;
        if (n <= before_end[name]) {
          const std::string what = error_of([&] { use([&] { ended = true; }); }, ErrorKind::kDevice);
          EXPECT_THAT(what, AllOf(HasSubstr("CUDA's " + name + " failed with " + number + ", CUDA_ERROR_"),
                                  HasSubstr("(a fake text)")));
          EXPECT_FALSE(ended);
          EXPECT_EQ(live(), 0);
        } else {
          use([&] { ended = true; });
          EXPECT_TRUE(ended);
          of_fake<void()>(CT_FAKE_DRIVER, "fake_cuda_clear")();  // what the driver refused to take back
        }
        EXPECT_EQ(run(**on_cpu, 3), 9);
      }
    }
  }
  restart();
  use([] {});
  EXPECT_EQ(live(), 0);
  EXPECT_TRUE(compile(graph, {.backend = "llvm", .cpu = "x86-64-v2", .use_disk_cache = false}).ok());
}

TEST_F(Cuda, ADeviceWorksAgainAfterAFailure) {
  for (const std::string& name : call_names()) {
    SCOPED_TRACE(name);
    const auto device = new_cuda_device();
    restart(name + ":1:999");
    LoadedPtr first;  // until the driver takes it back
    try {
      first = load(*device);
    } catch (const Error&) {
    }
    const LoadedPtr loaded = load(*device);
    try {
      EXPECT_EQ(run(*loaded, 3), 96);
    } catch (const Error&) {
    }
    EXPECT_EQ(run(*loaded, 7), -112);
    restart();
  }
  EXPECT_EQ(live(), 0);
}

TEST_F(Cuda, TextsOfErrorsMayFail) {
  for (const char* name : {"cuGetErrorName", "cuGetErrorString"}) {
    restart();
    const auto device = new_cuda_device();
    const LoadedPtr loaded = load(*device);
    restart(std::string(name) + ":1:999");
    setenv("CT_FAKE_CUDA_MEMORY", "1000", 1);
    EXPECT_THAT(error_of([&] { device->allocate(1 << 20); }, ErrorKind::kMemory),
                HasSubstr("cuMemAllocAsync failed with 2"));
    unsetenv("CT_FAKE_CUDA_MEMORY");
  }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

TEST_F(Cuda, SizesOfMemoryAreFew) {
  EXPECT_EQ(cuda::size_class(0), 256U);
  EXPECT_EQ(cuda::size_class(257), 320U);
  EXPECT_EQ(cuda::size_class(1024), 1024U);
  EXPECT_EQ(cuda::size_class((1 << 30) + 1), (1U << 30) + (2U << 20));
  for (size_t bytes = 256; bytes < 100000; bytes += 7) {
    EXPECT_GE(cuda::size_class(bytes), bytes);
    EXPECT_LE(cuda::size_class(bytes) * 4, bytes * 5);
  }
}

TEST_F(Cuda, MemoryIsUsedAgainAndGivenBackWhereItIsWanted) {
  setenv("CT_FAKE_CUDA_MEMORY", "10000000", 1);
  {
    const auto device = new_cuda_device();
    void* first = device->allocate(5'000'000)->data();
    EXPECT_EQ(device->allocate(4'900'000)->data(), first);  // of one class
    EXPECT_EQ(calls("cuMemAllocAsync"), 1);
    const auto held = device->allocate(7'000'000);  // not beside it
    EXPECT_EQ(calls("cuMemFreeAsync"), 1);
    EXPECT_THAT(
        error_of([&] { device->allocate(4'000'000); }, ErrorKind::kMemory),
        AllOf(HasSubstr(
                  "CUDA's cuMemAllocAsync failed with 2, CUDA_ERROR_OUT_OF_MEMORY (out of memory) for 4194304 bytes"),
              HasSubstr(" of 10000000 bytes of the GPU are free")));
  }
  EXPECT_EQ(live(), 0);
}

TEST_F(Cuda, AProgramWithoutMemoryNamesItsLargestArrays) {
  setenv("CT_FAKE_CUDA_MEMORY", "600", 1);
  const auto device = new_cuda_device();
  Plan plan = doubling();
  plan.arena_bytes = 4096;
  const LoadedPtr loaded = load(*device, plan);
  EXPECT_THAT(error_of([&] { run(*loaded, 3); }, ErrorKind::kMemory),
              AllOf(HasSubstr("largest arrays:\n    4096 bytes: intermediate results, which ct.explain(f)(...) lists "
                              "by your lines\n    4 bytes: input 0, float32[]"),
                    HasSubstr("memory_limit")));
  setenv("CT_FAKE_CUDA_MEMORY", "60000", 1);
  EXPECT_EQ(run(*loaded, 3), 96);
}

// ---- what is missing or too old -------------------------------------------------------------------------------------

TEST_F(Cuda, SaysWhyThereIsNone) {
  const auto why = [] { return error_of([] { new_cuda_device()->facts(); }, ErrorKind::kDevice); };
  setenv("CT_CUDA_DRIVER", "/nowhere/libcuda.so", 1);
  EXPECT_THAT(why(),
              AllOf(HasSubstr("there is no NVIDIA driver: /nowhere/libcuda.so"), HasSubstr("install NVIDIA's driver")));
  setenv("CT_CUDA_DRIVER", "libm.so.6", 1);
  EXPECT_THAT(why(), AllOf(HasSubstr("libm.so.6 has no function cuInit"), HasSubstr("update the driver")));
  setenv("CT_CUDA_DRIVER", CT_FAKE_DRIVER, 1);
  setenv("CT_FAKE_CUDA_VERSION", "11040", 1);
  EXPECT_THAT(why(),
              HasSubstr("the NVIDIA driver is for CUDA 11.4; the least that works is 11.8\n  update the driver"));
  unsetenv("CT_FAKE_CUDA_VERSION");
  setenv("CT_FAKE_CUDA_DEVICES", "0", 1);
  EXPECT_THAT(why(), AllOf(HasSubstr("CUDA_ERROR_NO_DEVICE"), HasSubstr("CUDA_VISIBLE_DEVICES")));
  unsetenv("CT_FAKE_CUDA_DEVICES");
  setenv("CT_FAKE_CUDA_CAPABILITY", "75", 1);
  EXPECT_THAT(why(), HasSubstr("the GPU Fake GPU has compute capability 7.5; kernels are made for 8.0 and newer"));
}

TEST_F(Cuda, ThePtxIsOfAVersionThatTheDriverReads) {
  for (const auto& [version, ptx] :
       std::map<int, int>{{11080, 78}, {12000, 80}, {12050, 85}, {12060, 85}, {12080, 87}, {13000, 90}}) {
    setenv("CT_FAKE_CUDA_VERSION", std::to_string(version).c_str(), 1);
    EXPECT_EQ(new_cuda_device()->facts().ptx, ptx);
  }
  EXPECT_EQ(jit::kernel_architecture(80, 78), "sm_80");
  EXPECT_EQ(jit::kernel_architecture(89, 90), "sm_89");
  EXPECT_EQ(jit::kernel_architecture(90, 78), "sm_90");
  EXPECT_EQ(jit::kernel_architecture(100, 85), "sm_90");
  EXPECT_EQ(jit::kernel_architecture(88, 78), "sm_87");

  const auto device = new_cuda_device();
  Plan plan = doubling();
  plan.codes[0].bytes.replace(9, 3, "9.9");
  EXPECT_THAT(error_of([&] { load(*device, plan); }, ErrorKind::kDevice),
              AllOf(HasSubstr("cuModuleLoadDataEx failed with 222, CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
                    HasSubstr(": Unsupported .version\n  update the driver")));
  plan = doubling();
  std::get<KernelStep>(plan.blocks[0][2]).symbol = "absent";
  EXPECT_THAT(error_of([&] { load(*device, plan); }, ErrorKind::kDevice),
              HasSubstr("cuModuleGetFunction failed with 500"));
  plan = doubling();
  std::get<KernelStep>(plan.blocks[0][2]).shared_bytes = 1 << 20;
  EXPECT_EQ(message_of([&] { load(*device, plan); }),
            "a kernel of doubling(float32[]) -> (float32[]) shares 1048576 bytes among the threads of a block; Fake "
            "GPU has 232448\n"
            "  compile the program here: it was compiled for a GPU with more");
}

TEST_F(Cuda, AFailureThatComesLaterNamesWhatRan) {
  const auto device = new_cuda_device();
  const LoadedPtr loaded = load(*device);
  EXPECT_EQ(run(*loaded, 3), 96);
  restart("cuStreamSynchronize:2:700");
  EXPECT_THAT(
      error_of([&] { run(*loaded, 3); }, ErrorKind::kDevice),
      AllOf(HasSubstr("cuStreamSynchronize failed with 700, CUDA_ERROR_ILLEGAL_ADDRESS (a fake text); it, or one of"),
            HasSubstr("failed: doubling(float32[]) -> (float32[])"), HasSubstr("start another one")));
  // Whatever is called next fails the same way.
  EXPECT_THAT(error_of([&] { run(*loaded, 3); }, ErrorKind::kDevice), HasSubstr("failed with 700"));
}

TEST_F(Cuda, WhatAHostFunctionThrowsLeavesTheCall) {
  class Fails final : public HostTable {
   public:
    std::vector<std::string> texts() const override { return DoublingFunctions().texts(); }
    void call(uint32_t, const void* const*, void* const*) const override { throw Error(ErrorKind::kValue, "no"); }
  };
  {
    const auto device = new_cuda_device();
    const auto loaded = device->load(doubling(), std::make_shared<const Fails>());
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ(error_of([&] { run(**loaded, 3); }, ErrorKind::kValue), "no");
    EXPECT_THAT(device->load(doubling()).status().message(), HasSubstr("nobody brought the host functions"));
  }
  EXPECT_EQ(live(), 0);
}

// ---- programs -------------------------------------------------------------------------------------------------------

TEST_F(Cuda, ProgramsAreMadeForTheGpuThatIsThere) {
  const GraphPtr graph = build_graph({Aval(DType::kFloat32, {100, 3}), kNumber},
                                     [](Builder&, const Values& v) { return Values{tanh(v[0]), exp(v[1])}; });
  const auto loaded = compile(graph, {.backend = "cuda"});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)->plan().target, "cuda:sm_90");
  restart();
  std::vector<Tensor> results =
      (**loaded)({Tensor(Aval(DType::kFloat32, {100, 3})), Tensor::scalar(DType::kFloat32, 1)});
  EXPECT_EQ(launches(), "kernel0 1x256 5\n");
  // The number travels with the call.
  EXPECT_EQ(calls("cuMemcpyHtoDAsync"), 1);
  EXPECT_EQ(calls("cuMemsetD32Async"), 1);
  EXPECT_EQ(calls("cuMemcpyDtoHAsync"), 0);
  EXPECT_EQ(calls("cuStreamSynchronize"), 1);
  for (int again = 0; again < 2; ++again) {
    for (const Tensor& result : results) EXPECT_NE(result.data(), nullptr);
    EXPECT_EQ(calls("cuMemcpyDtoHAsync"), 2);
  }
  results.clear();
  restart();
  (**loaded)({Tensor(Aval(DType::kFloat32, {100, 3})), Tensor::scalar(DType::kFloat32, 1)});
  EXPECT_EQ(calls("cuMemAllocAsync") + calls("cuMemFreeAsync") + calls("cuModuleLoadDataEx"), 0);
}

// Of this GPU's architecture: the plan of kernels, and the one of a step of the host.
TEST_F(Cuda, PlansAreKeptOnDisk) {
  std::string directory = testing::TempDir() + "cuda_cache_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  setenv("CT_CACHE_DIR", directory.c_str(), 1);
  const GraphPtr kernels = build_graph({kNumber}, [](Builder&, const Values& v) { return Values{erf(v[0])}; });
  const GraphPtr host = build_graph({Aval(DType::kFloat32, {3, 3})}, [](Builder& b, const Values& v) {
    return Values{b.bind(get_primitive("qr"), {v[0]}, Attrs::make({{"full_matrices", false}, {"pivoting", false}}))[1]};
  });
  for (const GraphPtr& graph : {kernels, host}) {
    for (const int64_t hits : {0, 1}) {
      clear_cache();
      const int64_t before = cache_statistics().disk_hits;
      const auto loaded = compile(graph, {.backend = "cuda"});
      ASSERT_TRUE(loaded.ok()) << loaded.status().message();
      EXPECT_EQ(cache_statistics().disk_hits - before, hits);
      std::vector<Tensor> inputs;
      for (const Aval& aval : graph->input_avals()) {
        inputs.emplace_back(aval);
        std::memset(inputs.back().data(), 0, static_cast<size_t>(aval.bytes()));
      }
      EXPECT_EQ((**loaded)(inputs).size(), 1U);
    }
  }
  unsetenv("CT_CACHE_DIR");
}

}  // namespace
}  // namespace ct
