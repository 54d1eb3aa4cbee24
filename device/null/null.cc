#include "device/null/null.h"

namespace ct {

std::shared_ptr<Buffer> NullDevice::allocate(size_t bytes) {
  queue_.counts.allocated_bytes += static_cast<int64_t>(bytes);
  return Buffer::borrow(reinterpret_cast<void*>(uintptr_t{kArenaAlignment}), bytes, [] {});
}

absl::StatusOr<LoadedPtr> NullDevice::load(const Plan& plan, std::shared_ptr<const HostTable> host_table) {
  if (const std::string problem = check_plan(plan); !problem.empty()) return absl::InvalidArgumentError(problem);
  return std::make_shared<const Loaded>(plan, *this, std::move(host_table));
}

}  // namespace ct
