// `ct_run` of the headers of exported libraries, which tests call without a header.
#pragma once

#include <cstddef>

namespace ct {

struct ExportedRun {
  size_t size = sizeof(ExportedRun);
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  const volatile int* stop = nullptr;
  void* parallel = nullptr;
  void* pool = nullptr;
};

}  // namespace ct
