// Ranges with names for profilers, around what the host tells a device: Nsight Systems and others show them, with the
// kernels that were launched within.
//
// They are NVTX's, NVIDIA's tools extension: a profiler names a library by NVTX_INJECTION64_PATH in the environment,
// which is opened when the first range is wanted. Without it, or if it does not take part, a range is nothing, as in
// other programs with NVTX.
#pragma once

#include <string>

namespace ct {

class NamedRange {
 public:
  // Whether somebody looks at them; without that none need be made.
  static bool wanted();

  explicit NamedRange(const std::string& name);
  ~NamedRange();
  NamedRange(const NamedRange&) = delete;
  NamedRange& operator=(const NamedRange&) = delete;
};

}  // namespace ct
