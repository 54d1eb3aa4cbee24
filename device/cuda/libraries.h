// cuBLASLt, NVIDIA's library of matrix products: opened when a program has a large product and not before, with
// declarations of our own of the calls that are used. tests/cpp/cublaslt_header.cc compares them with cublasLt.h.
//
// It need not be there: `Library::open`. A call that fails throws: Error(kMemory) where there is no memory left, else
// Error(kDevice).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/call.h"
#include "device/cuda/cublaslt_calls.h"
#include "device/cuda/driver.h"
#include "runtime/error.h"

namespace ct::cuda::cublas {

// ---- the library ----------------------------------------------------------------------------------------------------

class Library;

template <class... Parameters>
using Call = LibraryCall<Library, Status, Parameters...>;

class Library {
 public:
  // The one that CT_CUBLASLT in the environment names: an error if that is none, and no library if it is empty. Else
  // the newest that is made for the driver's CUDA or an older one, in packages beside ours or where the system looks;
  // null if there is none.
  static std::shared_ptr<const Library> open(int driver);

#define CT_CUBLASLT_MEMBER(name, ...) Call<__VA_ARGS__> name{*this, #name};
  CT_CUBLASLT_CALLS(CT_CUBLASLT_MEMBER)
#undef CT_CUBLASLT_MEMBER

  Error failure(std::string_view call, Status status) const;

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

 private:
  Library() = default;
  // What is missing, or nothing.
  std::string find_calls(const std::string& file);

  const char* (*name_of_)(Status) = nullptr;
};

}  // namespace ct::cuda::cublas
