// The driver without a GPU (fake_cuda_driver.cc), as tests of the device "cuda" use it.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "runtime/error.h"

namespace ct {

// A function of a fake library, which is told or asked something.
template <class Function>
Function* of_fake(const char* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(dlopen(library, RTLD_NOW | RTLD_LOCAL), name));
}
inline int64_t driver_calls(const std::string& call) {
  return of_fake<int64_t(const char*)>(CT_FAKE_DRIVER, "fake_cuda_calls")(call.c_str());
}
inline int64_t driver_live() { return of_fake<int64_t()>(CT_FAKE_DRIVER, "fake_cuda_live")(); }
// `fail`: which call, and how.
inline void restart_driver(const std::string& fail = "") {
  of_fake<void(const char*)>(CT_FAKE_DRIVER, "fake_cuda_restart")(fail.c_str());
}

// As it is if nobody says anything, with this cuBLASLt; empty: none.
inline void use_fake_driver(const char* product_library) {
  setenv("CT_CUDA_DRIVER", CT_FAKE_DRIVER, 1);
  setenv("CT_CUBLASLT", product_library, 1);
  for (const char* name : {"VERSION", "CAPABILITY", "DEVICES", "MEMORY", "FAIL"}) {
    unsetenv((std::string("CT_FAKE_CUDA_") + name).c_str());
  }
}

inline std::string error_of(const std::function<void()>& body, ErrorKind kind) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace ct
