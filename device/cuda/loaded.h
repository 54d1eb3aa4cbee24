// A plan on a GPU: its kernels, assembled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "device/cuda/context.h"
#include "device/loaded.h"

namespace ct::cuda {

class CudaLoaded final : public Loaded {
 public:
  // Throws what the driver says of the kernels.
  CudaLoaded(Plan plan, Device& device, std::shared_ptr<const HostTable> host_table,
             std::shared_ptr<GpuContext> context);

  // Of a step of the plan.
  Function function(const KernelStep& kernel) const { return functions_.at(&kernel); }

 private:
  class Modules {
   public:
    explicit Modules(std::shared_ptr<GpuContext> context) : context_(std::move(context)) {}
    ~Modules();
    Modules(const Modules&) = delete;
    Modules& operator=(const Modules&) = delete;
    void add(const Code& code);
    Module operator[](size_t i) const { return modules_[i]; }

   private:
    std::shared_ptr<GpuContext> context_;
    std::vector<Module> modules_;
  };

  std::vector<Tensor> play_resident(absl::Span<const Tensor> inputs) const override;
  void find_functions();

  const std::shared_ptr<GpuContext> context_;
  const std::shared_ptr<const std::string> name_;  // with types, for errors
  Modules modules_;
  absl::flat_hash_map<const KernelStep*, Function> functions_;
};

}  // namespace ct::cuda
