#include "device/cuda/context.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include "runtime/text.h"

namespace ct::cuda {
namespace {

// Of kernels: what bfloat16 needs.
constexpr int kLeastCapability = 80;
constexpr size_t kLeastBlock = 256, kLargestStep = 2 << 20;

}  // namespace

int gpu_count(const Driver& driver) {
  int count = 0;
  driver.cuDeviceGetCount(&count);
  if (count == 0) throw driver.failure(driver.cuDeviceGetCount.name(), Status::kNoDevice);
  return count;
}

Gpu find_gpu(std::shared_ptr<const Driver> shared, int number) {
  Gpu gpu{.driver = std::move(shared), .facts = {}};
  const Driver& driver = *gpu.driver;
  if (const int count = gpu_count(driver); number >= count) {
    throw Error(ErrorKind::kDevice, concat("there is no GPU ", number, ": the driver shows ", count, ", from 0 on"))
        .hint("ct.devices() lists them; CUDA_VISIBLE_DEVICES in the environment says which the driver shows")
        .see("device-missing");
  }
  driver.cuDeviceGet(&gpu.ordinal, number);
  char name[256] = "";
  driver.cuDeviceGetName(name, sizeof name, gpu.ordinal);
  name[sizeof name - 1] = '\0';
  const auto attribute = [&](DeviceAttribute which) {
    int value = 0;
    driver.cuDeviceGetAttribute(&value, which, gpu.ordinal);
    return value;
  };
  size_t bytes = 0;
  driver.cuDeviceTotalMem(&bytes, gpu.ordinal);
  gpu.facts = {
      .name = name,
      .capability = 10 * attribute(DeviceAttribute::kCapabilityMajor) + attribute(DeviceAttribute::kCapabilityMinor),
      .ptx = driver.ptx(),
      .driver = driver.version(),
      .multiprocessors = attribute(DeviceAttribute::kMultiprocessors),
      .shared_bytes = attribute(DeviceAttribute::kMostSharedBytes),
      .memory_bytes = static_cast<int64_t>(bytes)};
  if (gpu.facts.capability < kLeastCapability) {
    throw Error(ErrorKind::kDevice,
                concat("the GPU ", gpu.facts.name, " has compute capability ", gpu.facts.capability / 10, ".",
                       gpu.facts.capability % 10, "; kernels are made for ", kLeastCapability / 10, ".0 and newer"))
        .hint(
            "choose another one with CUDA_VISIBLE_DEVICES, or name \"cpu\" where it is named: backend=, device=, "
            "ct.default_device, CT_DEVICE in the environment");
  }
  return gpu;
}

std::shared_ptr<GpuContext> GpuContext::open(Gpu gpu) {
  // Its end gives back what it has got by then.
  const std::shared_ptr<GpuContext> context(new GpuContext(std::move(gpu)));
  const Driver& driver = context->driver();
  driver.cuDevicePrimaryCtxRetain(&context->context_, context->gpu_.ordinal);
  context->enter();
  driver.cuStreamCreate(&context->stream_, kNonBlocking);
  return context;
}

// What fails here fails because the process, or the GPU, is ending.
GpuContext::~GpuContext() {
  if (context_ == nullptr) return;
  try_to_enter();
  for (const auto& [size, blocks] : idle_) {
    for (Address block : blocks) driver().cuMemFreeAsync.attempt(block, stream_);
  }
  if (stream_ != nullptr) {
    driver().cuStreamSynchronize.attempt(stream_);
    products_.reset();
    driver().cuStreamDestroy.attempt(stream_);
  }
  driver().cuCtxSetCurrent.attempt(nullptr);
  driver().cuDevicePrimaryCtxRelease.attempt(gpu_.ordinal);
}

void GpuContext::use_products(const std::shared_ptr<const cublas::Library>& library) {
  {
    std::lock_guard lock(mutex());
    if (products_ != nullptr) return;
  }
  auto products = std::make_unique<Products>(library);  // given back without the lock if another thread was faster
  std::lock_guard lock(mutex());
  if (products_ == nullptr) products_.swap(products);
}

size_t size_class(size_t bytes) {
  const size_t least = std::max(bytes, kLeastBlock);
  const size_t step = std::min(std::bit_floor(least) / 4, kLargestStep);
  return (least + step - 1) / step * step;
}

Address GpuContext::take_idle(size_t size) {
  std::lock_guard lock(mutex());
  const auto idle = idle_.find(size);
  if (idle == idle_.end()) return 0;
  const Address block = idle->second.back();
  idle->second.pop_back();
  if (idle->second.empty()) idle_.erase(idle);
  use_.kept -= static_cast<int64_t>(size);
  return block;
}

void GpuContext::keep_idle(Address block, size_t size) {
  idle_[size].push_back(block);
  use_.kept += static_cast<int64_t>(size);
}

void GpuContext::note_taken(size_t size) {
  std::lock_guard lock(mutex());
  ++use_.requests;
  use_.in_use += static_cast<int64_t>(size);
  use_.most = std::max(use_.most, use_.in_use);
}

MemoryUse GpuContext::memory_use() const {
  std::lock_guard lock(mutex());
  return use_;
}

void GpuContext::give_back(Address block, size_t size) {
  std::lock_guard lock(mutex());
  use_.in_use -= static_cast<int64_t>(size);
  keep_idle(block, size);
}

void GpuContext::free_idle() {
  const auto some_size = [this] {
    std::lock_guard lock(mutex());
    return idle_.empty() ? 0 : idle_.begin()->first;
  };
  while (const size_t size = some_size()) {
    const Address block = take_idle(size);
    if (block == 0) continue;  // another thread was faster
    const Status status = driver().cuMemFreeAsync.attempt(block, stream_);
    if (status == Status::kSuccess) continue;
    {
      std::lock_guard lock(mutex());
      keep_idle(block, size);
    }
    throw driver().failure(driver().cuMemFreeAsync.name(), status);
  }
  driver().cuStreamSynchronize(stream_);
}

Error GpuContext::no_memory(size_t bytes) const {
  const Error failed = driver().failure(driver().cuMemAllocAsync.name(), Status::kOutOfMemory);
  size_t free = 0, total = 0;
  std::string left;
  if (driver().cuMemGetInfo.attempt(&free, &total) == Status::kSuccess) {
    left = concat("; ", free, " of ", total, " bytes of the GPU are free");
  }
  return Error(ErrorKind::kMemory, concat(failed.message(), " for ", bytes, " bytes", left));
}

std::shared_ptr<Buffer> GpuContext::allocate(size_t bytes) {
  const size_t size = size_class(bytes);
  Address block = take_idle(size);
  if (block == 0) {
    Status status = driver().cuMemAllocAsync.attempt(&block, size, stream_);
    if (status == Status::kOutOfMemory) {
      free_idle();
      status = driver().cuMemAllocAsync.attempt(&block, size, stream_);
    }
    if (status == Status::kOutOfMemory) throw no_memory(size);
    if (status != Status::kSuccess) throw driver().failure(driver().cuMemAllocAsync.name(), status);
  }
  note_taken(size);
  return Buffer::borrow(reinterpret_cast<void*>(block), bytes,
                        [context = shared_from_this(), block, size] { context->give_back(block, size); });
}

}  // namespace ct::cuda
