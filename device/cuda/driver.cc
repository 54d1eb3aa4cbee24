#include "device/cuda/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "runtime/text.h"

namespace ct::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr size_t kNotedPlans = 4;

// The context is of no use after these: whatever is called next fails the same way.
bool ends_the_context(Status status) {
  switch (status) {
    case Status::kIllegalAddress:
    case Status::kLaunchTimeout:
    case Status::kAssert:
    case Status::kHardwareStackError:
    case Status::kIllegalInstruction:
    case Status::kMisalignedAddress:
    case Status::kInvalidAddressSpace:
    case Status::kInvalidPc:
    case Status::kLaunchFailed:
      return true;
    default:
      return false;
  }
}

std::string advice(Status status) {
  switch (status) {
    case Status::kNoDevice:
      return "nvidia-smi lists the GPUs of this machine, and CUDA_VISIBLE_DEVICES hides those that it does not name";
    case Status::kNotInitialized:
      return "a process that was forked from one that uses a GPU cannot use it: start processes by 'spawn'";
    case Status::kDeinitialized:
      return "the process is ending";
    case Status::kStubLibrary:
      return "this libcuda is the stub for linking: take its folder out of LD_LIBRARY_PATH";
    case Status::kOutOfMemory:
      return kGpuMemoryAdvice;
    case Status::kInvalidImage:
    case Status::kInvalidPtx:
    case Status::kNoBinaryForGpu:
    case Status::kUnsupportedPtxVersion:
      return "update the driver";
    case Status::kJitCompilerNotFound:
      return "the driver's installation lacks libnvidia-ptxjitcompiler.so.1: install the whole driver";
    case Status::kSystemNotReady:
    case Status::kSystemDriverMismatch:
      return "the driver's library and its kernel module do not fit: restart the machine, or reinstall the driver";
    default:
      return "";
  }
}

std::string library_name() {
  const char* named = std::getenv("CT_CUDA_DRIVER");
  return named != nullptr && *named != '\0' ? named : kLibrary;
}

}  // namespace

ProcessMutex& mutex() {
  static auto& one = *new ProcessMutex;
  return one;
}

std::string version_text(int version) { return concat(version / 1000, ".", version % 1000 / 10); }

std::shared_ptr<const Driver> Driver::open() {
  const std::string library = library_name();
  const std::shared_ptr<Driver> driver(new Driver);
  driver->find_calls(library.c_str());
  driver->cuDriverGetVersion(&driver->version_);
  if (driver->version_ < kLeastDriver) {
    throw Error(ErrorKind::kDevice, concat("the NVIDIA driver is for CUDA ", version_text(driver->version_),
                                           "; the least that works is ", version_text(kLeastDriver)))
        .hint("update the driver");
  }
  driver->cuInit(0);
  return driver;
}

void Driver::find_calls(const char* library) {
  // It stays open: a driver has threads of its own.
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw Error(ErrorKind::kDevice, concat("there is no NVIDIA driver: ", dlerror()))
        .hint(
            "install NVIDIA's driver, or name \"cpu\" where a GPU is named: backend=, device=, ct.default_device, "
            "CT_DEVICE in the environment");
  }
  const auto find = [&](auto& call, const char* symbol) {
    if (call.find(handle, symbol)) return;
    throw Error(ErrorKind::kDevice,
                concat(library, " has no function ", symbol, ": it is no NVIDIA driver, or one older than for CUDA ",
                       version_text(kLeastDriver)))
        .hint("update the driver");
  };
#define CT_CUDA_FIND(name, symbol, ...) find(name, #symbol);
  CT_CUDA_CALLS(CT_CUDA_FIND)
#undef CT_CUDA_FIND
}

// From the release notes of PTX: a new version came with each CUDA, except that 11.8 had 7.8 and that 12.6 repeated the
// one before.
int Driver::ptx() const {
  const int minor = version_ % 1000 / 10;
  if (version_ < 12000) return 78;
  if (version_ < 13000) return 80 + (minor >= 6 ? minor - 1 : minor);
  return std::min(90 + minor, 99);
}

Error Driver::failure(std::string_view call, Status status, std::string_view log) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName.attempt(status, &name) != Status::kSuccess) name = nullptr;
  if (cuGetErrorString.attempt(status, &text) != Status::kSuccess) text = nullptr;
  std::string message = concat("CUDA's ", call, " failed with ", static_cast<uint32_t>(status));
  if (name != nullptr) message += concat(", ", name);
  if (text != nullptr) message += concat(" (", text, ")");
  if (!log.empty()) message += concat(": ", log);
  std::string hint = advice(status);
  if (ends_the_context(status)) {
    const std::string plans = latest_plans();
    if (!plans.empty()) message += concat("; it, or one of these, which ran last, failed: ", plans);
    hint = "this process cannot use the GPU any more: start another one; `compute-sanitizer python …` finds the place";
  }
  Error error(status == Status::kOutOfMemory ? ErrorKind::kMemory : ErrorKind::kDevice, message);
  if (!hint.empty()) error.hint(hint);
  return error;
}

void Driver::note_plan(std::shared_ptr<const std::string> name) const {
  std::lock_guard lock(mutex());
  plans_.push_back(std::move(name));
  if (plans_.size() > kNotedPlans) plans_.pop_front();
}

std::string Driver::latest_plans() const {
  std::lock_guard lock(mutex());
  std::string all;
  for (auto plan = plans_.rbegin(); plan != plans_.rend(); ++plan) {
    all += (all.empty() ? "" : ", ") + **plan;
  }
  return all;
}

}  // namespace ct::cuda
