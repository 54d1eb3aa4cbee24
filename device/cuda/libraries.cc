#include "device/cuda/libraries.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/runtime.h"
#include "runtime/text.h"

namespace ct::cuda::cublas {
namespace {

// Of CUDA, with a library of that number that we know.
constexpr int kNewest = 13, kOldest = 12;

std::vector<std::string> candidates(int driver) {
  std::vector<std::string> files;
  for (int version = std::min(driver / 1000, kNewest); version >= kOldest; --version) {
    const std::string file = concat("libcublasLt.so.", version);
    // Where PyPI's nvidia-cublas has it, of CUDA 13 and of older ones.
    for (const std::string& folder : runtime().package_directories) {
      files.push_back(concat(folder, "/nvidia/cu", version, "/lib/", file));
      files.push_back(concat(folder, "/nvidia/cublas/lib/", file));
    }
    files.push_back(file);
  }
  return files;
}

std::string advice(Status status) {
  switch (status) {
    case Status::kNotInitialized:
    case Status::kArchMismatch:
      return "the library may be too new for the driver, or too old for the GPU: install the nvidia-cublas of the "
             "driver's CUDA, or do without one: CT_CUBLASLT= in the environment";
    case Status::kAllocFailed:
      return "free what other processes and libraries hold (nvidia-smi shows it), or use less: jit(..., "
             "memory_limit=...)";
    default:
      return "CT_CUBLASLT= in the environment does without the library";
  }
}

}  // namespace

std::shared_ptr<const Library> Library::open(int driver) {
  const std::shared_ptr<Library> library(new Library);
  if (const char* named = std::getenv("CT_CUBLASLT")) {
    if (*named == '\0') return nullptr;
    const std::string problem = library->find_calls(named);
    if (problem.empty()) return library;
    throw Error(ErrorKind::kDevice, concat("CT_CUBLASLT in the environment names no cuBLASLt: ", problem))
        .hint("name a libcublasLt.so, or nothing: then products are made without it");
  }
  for (const std::string& file : candidates(driver)) {
    if (library->find_calls(file).empty()) return library;
  }
  return nullptr;
}

std::string Library::find_calls(const std::string& file) {
  // It stays open, as the driver does.
  void* handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return dlerror();
  std::string missing;
  const auto find = [&](auto& call, const char* symbol) {
    if (!call.find(handle, symbol)) missing = concat(file, " has no function ", symbol);
  };
#define CT_CUBLASLT_FIND(name, ...) find(name, #name);
  CT_CUBLASLT_CALLS(CT_CUBLASLT_FIND)
#undef CT_CUBLASLT_FIND
  name_of_ = reinterpret_cast<decltype(name_of_)>(dlsym(handle, "cublasLtGetStatusName"));
  if (name_of_ == nullptr) missing = concat(file, " has no function cublasLtGetStatusName");
  return missing;
}

Error Library::failure(std::string_view call, Status status) const {
  const char* name = name_of_(status);
  std::string message = concat("cuBLASLt's ", call, " failed with ", static_cast<uint32_t>(status));
  if (name != nullptr) message += concat(", ", name);
  return Error(status == Status::kAllocFailed ? ErrorKind::kMemory : ErrorKind::kDevice, message).hint(advice(status));
}

}  // namespace ct::cuda::cublas
