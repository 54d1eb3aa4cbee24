// The interface to what runs plans: memory, copies between host and device, launches. `cpu` (cpu/cpu.h) calls the
// plan's entry; `null` (null/null.h) only counts, for tests of everything above it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/plan.h"
#include "ir/tensor.h"

namespace ct {

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;

  virtual absl::StatusOr<std::shared_ptr<Buffer>> allocate(size_t bytes) = 0;
  virtual absl::Status copy_to_device(Buffer& destination, const Tensor& source) = 0;
  virtual absl::Status copy_to_host(const Tensor& destination, const Buffer& source) = 0;
  // Launches the plan. The buffers must live until `synchronize`.
  virtual absl::Status run(const Plan& plan, absl::Span<Buffer* const> inputs, absl::Span<Buffer* const> outputs) = 0;
  virtual absl::Status synchronize() = 0;
};

// "cpu" or "null"; an unknown name lists the choices. Devices live as long as the process.
absl::StatusOr<Device*> find_device(std::string_view name);
std::vector<std::string> device_names();

}  // namespace ct
