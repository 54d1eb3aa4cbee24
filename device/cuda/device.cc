#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <mutex>
#include <optional>

#include "device/cuda/context.h"
#include "device/cuda/cuda.h"
#include "device/cuda/loaded.h"
#include "device/cuda/queue.h"
#include "runtime/process.h"
#include "runtime/text.h"

namespace ct {
namespace {

// The driver that the GPUs of a process share. What fails is tried again by whoever asks next. A fork waits for it, so
// that no child finds the lock taken.
class OpenedOnce {
 public:
  std::shared_ptr<const cuda::Driver> driver() {
    const Working opens(Work::kCompile);
    std::lock_guard lock(opening_);
    if (driver_ == nullptr) driver_ = cuda::Driver::open();
    return driver_;
  }

 private:
  std::mutex opening_;
  std::shared_ptr<const cuda::Driver> driver_;
};

class Cuda final : public CudaDevice {
 public:
  Cuda(std::shared_ptr<OpenedOnce> opened, int number) : opened_(std::move(opened)), number_(number) {}
  int place() const override { return kFirstGpuPlace << number_; }
  int number() const override { return number_; }
  CudaFacts facts() override { return gpu().facts; }
  MemoryUse memory_use() override {
    std::lock_guard lock(opening_);
    return context_ == nullptr ? MemoryUse{} : context_->memory_use();
  }
  bool has_product_library() override { return product_library() != nullptr; }

  std::shared_ptr<Buffer> allocate(size_t bytes) override {
    cuda::GpuContext& opened = context();
    opened.enter();
    return opened.allocate(bytes);
  }
  std::string memory_advice() const override { return cuda::kGpuMemoryAdvice; }

  absl::StatusOr<LoadedPtr> load(const Plan& plan, std::shared_ptr<const HostTable> host_table) override {
    if (const std::string problem = check_plan(plan); !problem.empty()) return absl::InvalidArgumentError(problem);
    if (!plan.host_functions.empty() && host_table == nullptr) {
      return absl::InvalidArgumentError(concat("nobody brought the host functions of '", plan.name, "'"));
    }
    context().enter();
    if (has_products(plan)) {
      const auto library = product_library();
      if (library == nullptr) {
        return absl::UnavailableError(concat("'", plan.name, "' was made for a GPU with cuBLASLt, which is not there"));
      }
      context().use_products(library);
    }
    return std::make_shared<const cuda::CudaLoaded>(plan, *this, std::move(host_table), context_);
  }

  Queue& queue() override {
    context().enter();
    return *queue_;
  }

  // After what the other one's stream has to do, and before what it gets next: that may reuse the memory.
  bool copy_from(Device& other, void* to, const void* from, int64_t bytes) override {
    auto* const gpu = dynamic_cast<Cuda*>(&other);
    if (gpu == nullptr) return false;
    if (bytes == 0) return true;
    Queue& ours = queue();  // opens the context
    cuda::GpuContext &here = context(), &there = gpu->context();
    gpu->queue().lead(ours.handle());
    here.enter();
    here.driver().cuMemcpyPeerAsync(reinterpret_cast<cuda::Address>(to), here.handle(),
                                    reinterpret_cast<cuda::Address>(from), there.handle(), static_cast<size_t>(bytes),
                                    here.stream());
    ours.lead(reinterpret_cast<uintptr_t>(there.stream()));
    return true;
  }

 private:
  static bool has_products(const Plan& plan) {
    return std::ranges::any_of(plan.blocks, [](const std::vector<Step>& block) {
      return std::ranges::any_of(block, [](const Step& step) { return std::holds_alternative<ProductStep>(step); });
    });
  }

  // As the driver is.
  const cuda::Gpu& gpu() {
    const Working opens(Work::kCompile);
    std::lock_guard lock(opening_);
    if (!gpu_) gpu_ = cuda::find_gpu(opened_->driver(), number_);
    return *gpu_;
  }
  std::shared_ptr<const cuda::cublas::Library> product_library() {
    const int driver = gpu().facts.driver;
    const Working opens(Work::kCompile);
    std::lock_guard lock(opening_);
    if (!product_library_) product_library_ = cuda::cublas::Library::open(driver);
    return *product_library_;
  }
  cuda::GpuContext& context() {
    const cuda::Gpu& found = gpu();
    const Working opens(Work::kCompile);
    std::lock_guard lock(opening_);
    if (context_ == nullptr) {
      context_ = cuda::GpuContext::open(found);
      queue_.emplace(*context_);
    }
    return *context_;
  }

  const std::shared_ptr<OpenedOnce> opened_;
  const int number_;
  std::mutex opening_;
  std::optional<cuda::Gpu> gpu_;
  std::optional<std::shared_ptr<const cuda::cublas::Library>> product_library_;
  std::shared_ptr<cuda::GpuContext> context_;
  std::optional<cuda::StreamQueue> queue_;
};

const std::shared_ptr<OpenedOnce>& of_the_process() {
  static const auto& opened = *new auto(std::make_shared<OpenedOnce>());
  return opened;
}

}  // namespace

CudaDevice& cuda_device(int number) {
  static auto* const devices = [] {
    auto* all = new std::array<std::unique_ptr<Cuda>, kMostGpus>;
    for (int i = 0; i < kMostGpus; ++i) (*all)[static_cast<size_t>(i)] = std::make_unique<Cuda>(of_the_process(), i);
    return all;
  }();
  return *devices->at(static_cast<size_t>(number));
}

CudaDevice* cuda_device_at(int place) {
  if (place < kFirstGpuPlace) return nullptr;
  return &cuda_device(std::countr_zero(static_cast<unsigned>(place / kFirstGpuPlace)));
}

int cuda_device_count() { return std::min(cuda::gpu_count(*of_the_process()->driver()), kMostGpus); }

std::unique_ptr<CudaDevice> new_cuda_device(int number) {
  return std::make_unique<Cuda>(std::make_shared<OpenedOnce>(), number);
}

}  // namespace ct
