#include "device/device.h"

#include "device/cpu/cpu.h"
#include "device/null/null.h"
#include "ir/text.h"

namespace ct {

absl::StatusOr<Device*> find_device(std::string_view name) {
  if (name == "cpu") return &cpu_device();
  if (name == "null") return &null_device();
  return absl::NotFoundError(
      concat("there is no device named '", name, "'; choose one of: ", join(device_names(), ", ")));
}

std::vector<std::string> device_names() { return {"cpu", "null"}; }

}  // namespace ct
