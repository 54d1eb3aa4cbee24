#include "device/null/null.h"

#include <mutex>

namespace ct {
namespace {

class Null final : public Device {
 public:
  std::string_view name() const override { return "null"; }

  absl::StatusOr<std::shared_ptr<Buffer>> allocate(size_t bytes) override {
    std::lock_guard lock(mutex_);
    ++counts_.allocations;
    counts_.allocated_bytes += static_cast<int64_t>(bytes);
    return Buffer::borrow(nullptr, bytes, [] {});
  }
  absl::Status copy_to_device(Buffer&, const Tensor&) override { return count(&NullCounts::copies); }
  absl::Status copy_to_host(const Tensor&, const Buffer&) override { return count(&NullCounts::copies); }
  absl::Status run(const Plan& plan, absl::Span<Buffer* const> inputs, absl::Span<Buffer* const> outputs) override {
    if (inputs.size() != plan.inputs.size() || outputs.size() != plan.outputs.size()) {
      return absl::InvalidArgumentError("the numbers of buffers and of the plan's inputs and outputs differ");
    }
    return count(&NullCounts::launches);
  }
  absl::Status synchronize() override { return absl::OkStatus(); }

  NullCounts counts() {
    std::lock_guard lock(mutex_);
    return counts_;
  }
  void reset() {
    std::lock_guard lock(mutex_);
    counts_ = {};
  }

 private:
  absl::Status count(int64_t NullCounts::* what) {
    std::lock_guard lock(mutex_);
    ++(counts_.*what);
    return absl::OkStatus();
  }

  std::mutex mutex_;
  NullCounts counts_;
};

Null& device() {
  static Null* device = new Null;
  return *device;
}

}  // namespace

Device& null_device() { return device(); }
NullCounts null_counts() { return device().counts(); }
void reset_null_counts() { device().reset(); }

}  // namespace ct
