#include <algorithm>
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

class Cuda final : public CudaDevice {
 public:
  int place() const override { return kCudaPlace; }
  CudaFacts facts() override { return gpu().facts; }
  bool has_product_library() override { return product_library() != nullptr; }

  std::shared_ptr<Buffer> allocate(size_t bytes) override {
    cuda::GpuContext& opened = context();
    opened.enter();
    return opened.allocate(bytes);
  }

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

 private:
  static bool has_products(const Plan& plan) {
    return std::ranges::any_of(plan.blocks, [](const std::vector<Step>& block) {
      return std::ranges::any_of(block, [](const Step& step) { return std::holds_alternative<ProductStep>(step); });
    });
  }

  // What fails is tried again by whoever asks next. A fork waits for it, so that no child finds the lock taken.
  const cuda::Gpu& gpu() {
    const Working opens(Work::kCompile);
    std::lock_guard lock(opening_);
    if (!gpu_) gpu_ = cuda::find_gpu();
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

  std::mutex opening_;
  std::optional<cuda::Gpu> gpu_;
  std::optional<std::shared_ptr<const cuda::cublas::Library>> product_library_;
  std::shared_ptr<cuda::GpuContext> context_;
  std::optional<cuda::StreamQueue> queue_;
};

}  // namespace

CudaDevice& cuda_device() {
  static auto* device = new Cuda;
  return *device;
}

std::unique_ptr<CudaDevice> new_cuda_device() { return std::make_unique<Cuda>(); }

}  // namespace ct
