#include "device/emulated/emulated.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>
#include <variant>

#include "device/cpu/cpu.h"
#include "device/emulated/block.h"
#include "runtime/error.h"
#include "runtime/float_types.h"
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

void make_product(const ProductStep& step, const void* a, const void* b, void* c);

class EmulatedQueue final : public HostQueue {
 public:
  void launch(const Loaded& loaded, const KernelStep& kernel, absl::Span<void* const> arguments) override {
    run_blocks(static_cast<const EmulatedLoaded&>(loaded).kernel(kernel.symbol), arguments, kernel.blocks,
               kernel.threads, kernel.shared_bytes);
  }
  void product(const ProductStep& product, const void* a, const void* b, void* c) override {
    make_product(product, a, b, c);
  }
};

class Emulated final : public Device {
 public:
  int place() const override { return kEmulatedPlace; }
  std::shared_ptr<Buffer> allocate(size_t bytes) override {
    try {
      return Buffer::allocate(bytes);
    } catch (const Error& error) {
      throw Error(error.kind(), error.message(), error.site());
    }
  }

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

// As a library does: sums are in the type that the step names, and rounded once.
template <class Element, class Result, class Sum>
void make_product(const ProductStep& step, const void* lhs, const void* rhs, void* result) {
  const auto *a = static_cast<const Element*>(lhs), *b = static_cast<const Element*>(rhs);
  auto* c = static_cast<Result*>(result);
  const auto at = [](const ProductMatrix& matrix, int64_t batch, int64_t row, int64_t column) {
    return batch * matrix.batch_stride + row * matrix.row_stride + column * matrix.column_stride;
  };
  std::vector<Sum> row(static_cast<size_t>(step.n));
  for (int64_t batch = 0; batch < step.batch; ++batch) {
    for (int64_t i = 0; i < step.m; ++i) {
      std::ranges::fill(row, Sum{});
      for (int64_t l = 0; l < step.k; ++l) {
        const Sum factor(a[at(step.a, batch, i, l)]);
        for (int64_t j = 0; j < step.n; ++j) {
          row[static_cast<size_t>(j)] += factor * static_cast<Sum>(b[at(step.b, batch, l, j)]);
        }
      }
      for (int64_t j = 0; j < step.n; ++j) {
        Result& to = c[at(step.c, batch, i, j)];
        const Sum sum = row[static_cast<size_t>(j)];
        to = Result(step.accumulate ? static_cast<Sum>(to) + sum : sum);
      }
    }
  }
}

void make_product(const ProductStep& step, const void* a, const void* b, void* c) {
  const bool widens = step.c.dtype != step.a.dtype;
  switch (step.a.dtype) {
    case DType::kFloat64:
      return make_product<double, double, double>(step, a, b, c);
    case DType::kFloat16:
      return widens ? make_product<Float16, float, float>(step, a, b, c)
                    : make_product<Float16, Float16, float>(step, a, b, c);
    case DType::kBFloat16:
      return widens ? make_product<BFloat16, float, float>(step, a, b, c)
                    : make_product<BFloat16, BFloat16, float>(step, a, b, c);
    default:
      return make_product<float, float, float>(step, a, b, c);
  }
}

}  // namespace

bool emulates_product_library() {
  static const bool wanted = std::getenv("CT_EMULATED_PRODUCTS") != nullptr;
  return wanted;
}

bool checks_races() {
  static const bool wanted = std::getenv("CT_CHECK_RACES") != nullptr;
  return wanted;
}

Device& emulated_device() {
  static Emulated* device = new Emulated;
  return *device;
}

}  // namespace ct
