#include "device/emulated/emulated.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "device/cpu/cpu.h"
#include "device/emulated/block.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

// A plan with the addresses of its kernels. The code hands them out in the order of the numbers in their names.
class EmulatedLoaded final : public Loaded {
 public:
  EmulatedLoaded(Plan plan, Device& device, std::shared_ptr<const HostTable> host_table, NativeCode code)
      : Loaded(std::move(plan), device, std::move(host_table)), code_(std::move(code)) {
    size_t kernels = 0;
    for (const std::vector<Step>& block : this->plan().blocks) {
      for (const Step& step : block) {
        if (const auto* kernel = std::get_if<KernelStep>(&step)) {
          kernels = std::max(kernels, number(kernel->symbol) + 1);
        }
      }
    }
    kernels_.resize(kernels);
    if (code_.entry != nullptr) code_.entry(nullptr, kernels_.data(), nullptr);
  }

  EmulatedKernel kernel(std::string_view symbol) const {
    return reinterpret_cast<EmulatedKernel>(kernels_.at(number(symbol)));
  }

 private:
  static size_t number(std::string_view symbol) {
    constexpr std::string_view kName = "kernel";
    size_t result = 0;
    const char* end = symbol.data() + symbol.size();
    if (!symbol.starts_with(kName) || std::from_chars(symbol.data() + kName.size(), end, result).ptr != end) {
      throw Error(ErrorKind::kInternal, concat("a kernel is called '", symbol, "'"));
    }
    return result;
  }

  NativeCode code_;
  std::vector<void*> kernels_;
};

class EmulatedQueue final : public HostQueue {
 public:
  void launch(const Loaded& loaded, const KernelStep& kernel, absl::Span<void* const> arguments) override {
    run_blocks(static_cast<const EmulatedLoaded&>(loaded).kernel(kernel.symbol), arguments, kernel.blocks,
               kernel.threads, kernel.shared_bytes);
  }
};

class Emulated final : public Device {
 public:
  int place() const override { return kEmulatedPlace; }
  std::shared_ptr<Buffer> allocate(size_t bytes) override { return Buffer::allocate(bytes); }

  absl::StatusOr<LoadedPtr> load(const Plan& plan, std::shared_ptr<const HostTable> host_table) override {
    if (const std::string problem = check_plan(plan); !problem.empty()) return absl::InvalidArgumentError(problem);
    NativeCode code;
    if (!plan.codes.empty()) {
      Plan kernels;
      kernels.name = plan.name;
      kernels.codes = plan.codes;
      kernels.blocks = {{NativeStep{kKernelsSymbol}}};
      absl::StatusOr<NativeCode> linked = load_native(kernels);
      if (!linked.ok()) return linked.status();
      code = *std::move(linked);
    }
    return std::make_shared<const EmulatedLoaded>(plan, *this, std::move(host_table), std::move(code));
  }
  Queue& queue() override { return queue_; }

 private:
  EmulatedQueue queue_;
};

}  // namespace

Device& emulated_device() {
  static Emulated* device = new Emulated;
  return *device;
}

}  // namespace ct
