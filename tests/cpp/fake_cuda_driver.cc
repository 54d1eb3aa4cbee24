// A driver of NVIDIA's that has no GPU: its memory is the host's, its kernels are counted, and not run unless somebody
// says how (fake_cuda_run_kernels), and it fails where it is told to. The device "cuda" opens it by CT_CUDA_DRIVER in
// the environment.
//
// It is as strict as the real one, or stricter: work waits in its stream until somebody waits for it; what is not
// memory, a stream or a module of the thread's context is an error, and so is PTX that is too new for it.
//
// Tests tell it what to be by variables of the environment: CT_FAKE_CUDA_VERSION (12080), _CAPABILITY (90), _DEVICES
// (1), _MEMORY (bytes) and _FAIL ("call:n:status": its n-th call fails), and ask it by the functions at the end.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/driver.h"

using namespace ct::cuda;  // NOLINT: what is defined here has the names of the driver, in no namespace

namespace {

constexpr int kSharedBytes = 227 << 10;

int64_t from_environment(const char* name, int64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoll(value);
}

struct FakeModule {
  std::string text;
  int64_t life;
  Ordinal device;
};
struct FakeFunction {
  FakeModule* module;
  std::string name;
  size_t parameters;
  int shared_bytes = 48 << 10;
};
struct FakeStream {
  int64_t life;
  Ordinal device;
  std::deque<std::function<Status()>> work = {};
  size_t begun = 0;  // how much of what it has got is no longer there
  size_t end() const { return begun + work.size(); }
};

// What a stream had to do when it was recorded. Streams of others, whose handles are small, are done at once.
struct FakeEvent {
  int64_t life;
  Ordinal device;
  bool timed;
  FakeStream* stream = nullptr;
  size_t end = 0;
};

struct FakeBlock {
  size_t bytes;
  int64_t life;
  Ordinal device;
};

using KernelRunner = void (*)(const char* name, void** arguments, size_t count);

struct Fake {
  std::recursive_mutex mutex;
  KernelRunner runner = nullptr;
  bool initialized = false;
  Status sticky = Status::kSuccess;
  int64_t life = 0;                                  // how often it was restarted
  std::map<Ordinal, std::vector<int64_t>> contexts;  // the lives that they are of
  std::map<Address, FakeBlock> memory;
  std::map<Ordinal, size_t> memory_bytes;
  std::set<FakeStream*> streams;
  std::set<FakeModule*> modules;
  std::set<FakeEvent*> events;
  std::map<std::string, FakeFunction> functions;
  std::map<std::string, int64_t> calls;
  std::string fail_call;
  int64_t fail_at = 0;
  Status fail_with = Status::kSuccess;
  std::string launches;
};

Fake& fake() {
  static auto& one = *new Fake;
  return one;
}
thread_local Context current = nullptr;

// Handles of contexts: numbers of devices, from 1 on.
Context context_of(Ordinal device) { return reinterpret_cast<Context>(static_cast<uintptr_t>(device) + 1); }
Ordinal device_of(Context context) { return static_cast<Ordinal>(reinterpret_cast<uintptr_t>(context)) - 1; }
Ordinal current_device() { return device_of(current); }
bool is_retained(Context context) {
  const auto found = fake().contexts.find(device_of(context));
  return found != fake().contexts.end() && !found->second.empty();
}

bool ends_the_context(Status status) {
  const auto number = static_cast<uint32_t>(status);
  return number >= 700 && number < 720 && status != Status::kLaunchOutOfResources;
}

// "call:n:status"
void fail_as(const std::string& text) {
  std::istringstream stream(text);
  std::string at, status;
  std::getline(stream, fake().fail_call, ':');
  std::getline(stream, at, ':');
  std::getline(stream, status);
  fake().fail_at = std::atoll(at.c_str());
  fake().fail_with = static_cast<Status>(std::atoll(status.c_str()));
}

// Whether a call goes on: counts it, fails where that is wanted.
Status begin(const char* call, bool needs_context) {
  Fake& f = fake();
  if (f.calls.empty()) {
    if (const char* fail = std::getenv("CT_FAKE_CUDA_FAIL")) fail_as(fail);
  }
  const int64_t number = ++f.calls[call];
  if (f.fail_call == call && f.fail_at == number) {
    if (ends_the_context(f.fail_with)) f.sticky = f.fail_with;
    return f.fail_with;
  }
  if (!needs_context) return Status::kSuccess;
  if (!f.initialized) return Status::kNotInitialized;
  if (f.sticky != Status::kSuccess) return f.sticky;
  return is_retained(current) ? Status::kSuccess : Status::kInvalidContext;
}

// Whether it is memory of a device.
bool holds(Ordinal device, Address address, size_t bytes) {
  auto block = fake().memory.upper_bound(address);
  if (block == fake().memory.begin()) return false;
  --block;
  return block->second.device == device && address - block->first <= block->second.bytes &&
         bytes <= block->second.bytes - (address - block->first);
}

// Up to its n-th work, of all that it has ever got.
Status drain(FakeStream* stream, size_t end) {
  Status first = Status::kSuccess;
  while (stream->begun < end) {
    const auto work = std::move(stream->work.front());
    stream->work.pop_front();
    ++stream->begun;
    const Status status = work();
    if (first == Status::kSuccess && status != Status::kSuccess) first = fake().sticky = status;
  }
  return first;
}
Status drain(FakeStream* stream) { return drain(stream, stream->end()); }

// The stream, if it is one of the thread's context.
FakeStream* stream_of(Stream handle) {
  auto* stream = reinterpret_cast<FakeStream*>(handle);
  return fake().streams.contains(stream) && stream->device == current_device() ? stream : nullptr;
}

// Work of the thread's context. One that has ended works no more; `always`: it is cleared away all the same.
Status queue(Stream handle, std::function<Status()> work, bool always = false) {
  FakeStream* const stream = always ? reinterpret_cast<FakeStream*>(handle) : stream_of(handle);
  if (stream == nullptr || !fake().streams.contains(stream)) return Status::kInvalidHandle;
  stream->work.push_back([work = std::move(work), always] {
    return fake().sticky == Status::kSuccess || always ? work() : Status::kSuccess;
  });
  return Status::kSuccess;
}

bool is_of_others(Stream stream) { return reinterpret_cast<uintptr_t>(stream) <= kPerThreadStream; }

// Of a line like ".version 7.8" or ".target sm_90".
int digits_after(const std::string& text, const std::string& word) {
  const size_t at = text.find(word);
  if (at == std::string::npos) return -1;
  int number = 0;
  for (size_t i = at + word.size(); i < text.size() && text[i] != '\n'; ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) != 0) number = number * 10 + (text[i] - '0');
  }
  return number;
}

int fake_version() { return static_cast<int>(from_environment("CT_FAKE_CUDA_VERSION", 12080)); }
int fake_capability() { return static_cast<int>(from_environment("CT_FAKE_CUDA_CAPABILITY", 90)); }

const char* error_name(Status status) {
  switch (status) {
    case Status::kOutOfMemory:
      return "CUDA_ERROR_OUT_OF_MEMORY";
    case Status::kNoDevice:
      return "CUDA_ERROR_NO_DEVICE";
    case Status::kIllegalAddress:
      return "CUDA_ERROR_ILLEGAL_ADDRESS";
    case Status::kUnsupportedPtxVersion:
      return "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
    case Status::kUnknown:
      return "CUDA_ERROR_UNKNOWN";
    default:
      return nullptr;
  }
}

}  // namespace

#define FAKE(name, needs_context)           \
  const std::lock_guard lock(fake().mutex); \
  if (const Status begun = begin(name, needs_context); begun != Status::kSuccess) return begun
#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED Status cuInit(unsigned) {
  FAKE("cuInit", false);
  fake().initialized = true;
  return from_environment("CT_FAKE_CUDA_DEVICES", 1) == 0 ? Status::kNoDevice : Status::kSuccess;
}

EXPORTED Status cuDriverGetVersion(int* version) {
  FAKE("cuDriverGetVersion", false);
  *version = fake_version();
  return Status::kSuccess;
}

EXPORTED Status cuDeviceGetCount(int* count) {
  FAKE("cuDeviceGetCount", false);
  *count = static_cast<int>(from_environment("CT_FAKE_CUDA_DEVICES", 1));
  return Status::kSuccess;
}

EXPORTED Status cuDeviceGet(Ordinal* device, int ordinal) {
  FAKE("cuDeviceGet", false);
  *device = ordinal;
  return Status::kSuccess;
}

EXPORTED Status cuDeviceGetName(char* name, int bytes, Ordinal) {
  FAKE("cuDeviceGetName", false);
  std::snprintf(name, static_cast<size_t>(bytes), "Fake GPU");
  return Status::kSuccess;
}

EXPORTED Status cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Ordinal) {
  FAKE("cuDeviceGetAttribute", false);
  switch (attribute) {
    case DeviceAttribute::kMultiprocessors:
      *value = 132;
      return Status::kSuccess;
    case DeviceAttribute::kCapabilityMajor:
      *value = fake_capability() / 10;
      return Status::kSuccess;
    case DeviceAttribute::kCapabilityMinor:
      *value = fake_capability() % 10;
      return Status::kSuccess;
    case DeviceAttribute::kMostSharedBytes:
      *value = kSharedBytes;
      return Status::kSuccess;
  }
  return Status::kUnknown;
}

EXPORTED Status cuDeviceTotalMem_v2(size_t* bytes, Ordinal) {
  FAKE("cuDeviceTotalMem", false);
  *bytes = static_cast<size_t>(from_environment("CT_FAKE_CUDA_MEMORY", 1 << 30));
  return Status::kSuccess;
}

EXPORTED Status cuDevicePrimaryCtxRetain(Context* context, Ordinal device) {
  FAKE("cuDevicePrimaryCtxRetain", false);
  fake().contexts[device].push_back(fake().life);
  *context = context_of(device);
  return Status::kSuccess;
}

EXPORTED Status cuDevicePrimaryCtxRelease_v2(Ordinal device) {
  FAKE("cuDevicePrimaryCtxRelease", false);
  if (!is_retained(context_of(device))) return Status::kInvalidContext;
  fake().contexts[device].pop_back();
  return Status::kSuccess;
}

EXPORTED Status cuCtxSetCurrent(Context context) {
  FAKE("cuCtxSetCurrent", false);
  if (context != nullptr && !is_retained(context)) return Status::kInvalidContext;
  current = context;
  return Status::kSuccess;
}

EXPORTED Status cuCtxGetCurrent(Context* context) {
  FAKE("cuCtxGetCurrent", false);
  *context = current;
  return Status::kSuccess;
}

EXPORTED Status cuStreamCreate(Stream* stream, unsigned flags) {
  FAKE("cuStreamCreate", true);
  if (flags != kNonBlocking) return Status::kUnknown;
  auto* made = new FakeStream{fake().life, current_device()};
  fake().streams.insert(made);
  *stream = reinterpret_cast<Stream>(made);
  return Status::kSuccess;
}

EXPORTED Status cuStreamSynchronize(Stream handle) {
  FAKE("cuStreamSynchronize", true);
  FakeStream* const stream = stream_of(handle);
  return stream != nullptr ? drain(stream) : Status::kInvalidHandle;
}

// Each time that somebody asks, a piece of work is done.
EXPORTED Status cuStreamQuery(Stream handle) {
  FAKE("cuStreamQuery", true);
  FakeStream* const stream = stream_of(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  if (stream->work.empty()) return Status::kSuccess;
  const Status status = drain(stream, stream->begun + 1);
  return status == Status::kSuccess ? Status::kNotReady : status;
}

EXPORTED Status cuStreamDestroy_v2(Stream handle) {
  FAKE("cuStreamDestroy", false);
  auto* stream = reinterpret_cast<FakeStream*>(handle);
  if (fake().streams.erase(stream) == 0) return Status::kInvalidHandle;
  drain(stream);
  delete stream;
  return Status::kSuccess;
}

EXPORTED Status cuCtxSynchronize() {
  FAKE("cuCtxSynchronize", true);
  for (FakeStream* stream : fake().streams) {
    if (stream->device == current_device()) drain(stream);
  }
  return fake().sticky;
}

EXPORTED Status cuEventCreate(Event* event, unsigned flags) {
  FAKE("cuEventCreate", true);
  if (flags != kDisableTiming && flags != kTimedEvent) return Status::kUnknown;
  auto* made = new FakeEvent{fake().life, current_device(), flags == kTimedEvent};
  fake().events.insert(made);
  *event = reinterpret_cast<Event>(made);
  return Status::kSuccess;
}

EXPORTED Status cuEventRecord(Event handle, Stream of) {
  FAKE("cuEventRecord", true);
  auto* event = reinterpret_cast<FakeEvent*>(handle);
  if (!fake().events.contains(event) || event->device != current_device()) return Status::kInvalidHandle;
  FakeStream* const stream = is_of_others(of) ? nullptr : stream_of(of);
  if (!is_of_others(of) && stream == nullptr) return Status::kInvalidHandle;
  event->stream = stream;
  event->end = stream == nullptr ? 0 : stream->end();
  return Status::kSuccess;
}

// What others do next is done at once, so what they wait for is done now. The stream may be of another device.
EXPORTED Status cuStreamWaitEvent(Stream then, Event handle, unsigned) {
  FAKE("cuStreamWaitEvent", true);
  auto* event = reinterpret_cast<FakeEvent*>(handle);
  if (!fake().events.contains(event)) return Status::kInvalidHandle;
  FakeStream* const first = event->stream;
  if (is_of_others(then)) return first == nullptr ? Status::kSuccess : drain(first, event->end);
  auto* const waiting = reinterpret_cast<FakeStream*>(then);
  if (!fake().streams.contains(waiting)) return Status::kInvalidHandle;
  waiting->work.push_back([first, waiting, end = event->end] {
    const bool waits = first != nullptr && first != waiting;
    return waits && fake().streams.contains(first) ? drain(first, end) : Status::kSuccess;
  });
  return Status::kSuccess;
}

// As if each piece of work took a microsecond. It is an error before the stream has come to both.
EXPORTED Status cuEventElapsedTime(float* milliseconds, Event earlier, Event later) {
  FAKE("cuEventElapsedTime", true);
  const auto *first = reinterpret_cast<FakeEvent*>(earlier), *then = reinterpret_cast<FakeEvent*>(later);
  for (const FakeEvent* event : {first, then}) {
    if (!fake().events.contains(const_cast<FakeEvent*>(event)) || !event->timed) return Status::kInvalidHandle;
    if (event->stream == nullptr || event->stream->begun < event->end) return Status::kUnknown;
  }
  *milliseconds = static_cast<float>(then->end - first->end) * 1e-3F;
  return Status::kSuccess;
}

// What fails here may be something that was queued before: the event is gone all the same.
EXPORTED Status cuEventDestroy_v2(Event handle) {
  const std::lock_guard lock(fake().mutex);
  auto* event = reinterpret_cast<FakeEvent*>(handle);
  const bool known = fake().events.erase(event) != 0;
  if (known) delete event;
  const Status status = begin("cuEventDestroy", false);
  return known || status != Status::kSuccess ? status : Status::kInvalidHandle;
}

EXPORTED Status cuMemGetInfo_v2(size_t* free, size_t* total) {
  FAKE("cuMemGetInfo", true);
  *total = static_cast<size_t>(from_environment("CT_FAKE_CUDA_MEMORY", 1 << 30));
  *free = *total - std::min(*total, fake().memory_bytes[current_device()]);
  return Status::kSuccess;
}

EXPORTED Status cuMemAllocAsync(Address* address, size_t bytes, Stream) {
  FAKE("cuMemAllocAsync", true);
  const auto total = static_cast<size_t>(from_environment("CT_FAKE_CUDA_MEMORY", 1 << 30));
  if (bytes == 0) return Status::kUnknown;
  const Ordinal device = current_device();
  if (bytes + fake().memory_bytes[device] > total) return Status::kOutOfMemory;
  *address = reinterpret_cast<Address>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  fake().memory[*address] = {bytes, fake().life, device};
  fake().memory_bytes[device] += bytes;
  return Status::kSuccess;
}

EXPORTED Status cuMemFreeAsync(Address address, Stream stream) {
  FAKE("cuMemFreeAsync", false);
  return queue(
      stream,
      [address] {
        const auto block = fake().memory.find(address);
        if (block == fake().memory.end()) return Status::kIllegalAddress;
        fake().memory_bytes[block->second.device] -= block->second.bytes;
        fake().memory.erase(block);
        std::free(reinterpret_cast<void*>(address));
        return Status::kSuccess;
      },
      /*always=*/true);
}

// The host's memory is read, and written below, when somebody waits: as pinned memory is, and pageable memory where a
// GPU can.
EXPORTED Status cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Stream stream) {
  FAKE("cuMemcpyHtoDAsync", true);
  return queue(stream, [device = current_device(), to, from, bytes] {
    if (!holds(device, to, bytes)) return Status::kIllegalAddress;
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return Status::kSuccess;
  });
}

EXPORTED Status cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Stream stream) {
  FAKE("cuMemcpyDtoHAsync", true);
  return queue(stream, [device = current_device(), to, from, bytes] {
    if (!holds(device, from, bytes)) return Status::kIllegalAddress;
    std::memcpy(to, reinterpret_cast<void*>(from), bytes);
    return Status::kSuccess;
  });
}

static Status copied(Ordinal to_device, Address to, Ordinal from_device, Address from, size_t bytes, Stream stream) {
  return queue(stream, [=] {
    if (!holds(to_device, to, bytes) || !holds(from_device, from, bytes)) return Status::kIllegalAddress;
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
    return Status::kSuccess;
  });
}

EXPORTED Status cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream stream) {
  FAKE("cuMemcpyDtoDAsync", true);
  return copied(current_device(), to, current_device(), from, bytes, stream);
}

EXPORTED Status cuMemcpyPeerAsync(Address to, Context to_context, Address from, Context from_context, size_t bytes,
                                  Stream stream) {
  FAKE("cuMemcpyPeerAsync", true);
  if (!is_retained(to_context) || !is_retained(from_context)) return Status::kInvalidContext;
  return copied(device_of(to_context), to, device_of(from_context), from, bytes, stream);
}

EXPORTED Status cuMemsetD8Async(Address to, unsigned char byte, size_t bytes, Stream stream) {
  FAKE("cuMemsetD8Async", true);
  return queue(stream, [device = current_device(), to, byte, bytes] {
    if (!holds(device, to, bytes)) return Status::kIllegalAddress;
    std::memset(reinterpret_cast<void*>(to), byte, bytes);
    return Status::kSuccess;
  });
}

EXPORTED Status cuMemsetD32Async(Address to, unsigned word, size_t count, Stream stream) {
  FAKE("cuMemsetD32Async", true);
  return queue(stream, [device = current_device(), to, word, count] {
    if (to % sizeof word != 0 || !holds(device, to, count * sizeof word)) return Status::kIllegalAddress;
    std::fill_n(reinterpret_cast<unsigned*>(to), count, word);
    return Status::kSuccess;
  });
}

EXPORTED Status cuModuleLoadDataEx(Module* module, const void* image, unsigned count, JitOption* options,
                                   void** values) {
  FAKE("cuModuleLoadDataEx", true);
  const std::string text = static_cast<const char*>(image);
  char* log = nullptr;
  size_t log_bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == JitOption::kErrorLog) log = static_cast<char*>(values[i]);
    if (options[i] == JitOption::kErrorLogBytes) log_bytes = reinterpret_cast<size_t>(values[i]);
  }
  const auto fail = [&](Status status, const char* why) {
    if (log != nullptr) std::snprintf(log, log_bytes, "%s", why);
    return status;
  };
  const int version = fake_version(), minor = version % 1000 / 10;
  const int ptx = version < 12000 ? 78 : version / 1000 == 12 ? 80 + minor - (minor > 5 ? 1 : 0) : 90 + minor;
  if (digits_after(text, ".version ") < 0)
    return fail(Status::kInvalidPtx, "line 1; fatal: Missing .version directive");
  if (digits_after(text, ".version ") > ptx) return fail(Status::kUnsupportedPtxVersion, "Unsupported .version");
  if (digits_after(text, ".target sm_") > fake_capability()) return fail(Status::kNoBinaryForGpu, "no such target");
  auto* made = new FakeModule{text, fake().life, current_device()};
  fake().modules.insert(made);
  *module = reinterpret_cast<Module>(made);
  return Status::kSuccess;
}

EXPORTED Status cuModuleGetFunction(Function* function, Module handle, const char* name) {
  FAKE("cuModuleGetFunction", true);
  auto* module = reinterpret_cast<FakeModule*>(handle);
  if (!fake().modules.contains(module) || module->device != current_device()) return Status::kInvalidHandle;
  const size_t at = module->text.find(std::string(".entry ") + name + "(");
  if (at == std::string::npos) return Status::kNotFound;
  const std::string parameters = module->text.substr(at, module->text.find(')', at) - at);
  size_t count = 0;
  for (size_t i = parameters.find(".param"); i != std::string::npos; i = parameters.find(".param", i + 1)) ++count;
  FakeFunction& found = fake().functions[std::to_string(reinterpret_cast<uintptr_t>(module)) + name];
  found = {module, name, count};
  *function = reinterpret_cast<Function>(&found);
  return Status::kSuccess;
}

EXPORTED Status cuModuleUnload(Module handle) {
  FAKE("cuModuleUnload", false);
  auto* module = reinterpret_cast<FakeModule*>(handle);
  if (fake().modules.erase(module) == 0) return Status::kInvalidHandle;
  std::erase_if(fake().functions, [&](const auto& item) { return item.second.module == module; });
  delete module;
  return Status::kSuccess;
}

EXPORTED Status cuFuncSetAttribute(Function handle, FunctionAttribute attribute, int value) {
  FAKE("cuFuncSetAttribute", true);
  if (attribute != FunctionAttribute::kMostDynamicSharedBytes || value > kSharedBytes) return Status::kUnknown;
  reinterpret_cast<FakeFunction*>(handle)->shared_bytes = value;
  return Status::kSuccess;
}

// Arguments must be in its memory when the kernel's turn comes, or null.
EXPORTED Status cuLaunchKernelEx(const LaunchConfig* config, Function handle, void** parameters, void**) {
  FAKE("cuLaunchKernelEx", true);
  const auto* function = reinterpret_cast<const FakeFunction*>(handle);
  const Ordinal device = current_device();
  if (function->module->device != device) return Status::kInvalidHandle;
  if (static_cast<int>(config->shared_bytes) > function->shared_bytes) return Status::kLaunchOutOfResources;
  if (config->block_x == 0 || config->block_x > 1024 || config->grid_x == 0) return Status::kUnknown;
  std::vector<Address> arguments;
  for (size_t i = 0; i < function->parameters; ++i) arguments.push_back(*static_cast<Address*>(parameters[i]));
  fake().launches += function->name + " " + std::to_string(config->grid_x) + "x" + std::to_string(config->block_x) +
                     " " + std::to_string(arguments.size()) + "\n";
  return queue(config->stream, [device, arguments, name = function->name] {
    const bool known = std::ranges::all_of(arguments, [device](Address a) { return a == 0 || holds(device, a, 0); });
    if (!known) return Status::kIllegalAddress;
    std::vector<void*> pointers;
    for (Address argument : arguments) pointers.push_back(reinterpret_cast<void*>(argument));
    if (fake().runner != nullptr) fake().runner(name.c_str(), pointers.data(), pointers.size());
    return Status::kSuccess;
  });
}

EXPORTED Status cuGetErrorName(Status status, const char** name) {
  FAKE("cuGetErrorName", false);
  *name = error_name(status);
  return *name == nullptr ? Status::kUnknown : Status::kSuccess;
}

EXPORTED Status cuGetErrorString(Status status, const char** text) {
  FAKE("cuGetErrorString", false);
  *text = status == Status::kOutOfMemory ? "out of memory" : "a fake text";
  return Status::kSuccess;
}

// ---- for other fakes ------------------------------------------------------------------------------------------------

EXPORTED bool fake_cuda_holds(const void* address, size_t bytes) {
  const std::lock_guard lock(fake().mutex);
  return holds(current_device(), reinterpret_cast<Address>(address), bytes);
}
// When its turn in the stream comes.
EXPORTED Status fake_cuda_queue(Stream stream, const std::function<Status()>& work) {
  const std::lock_guard lock(fake().mutex);
  return queue(stream, work);
}

// ---- for tests ------------------------------------------------------------------------------------------------------

// How often that was called.
EXPORTED int64_t fake_cuda_calls(const char* call) { return fake().calls[call]; }

// How many contexts, streams, modules, events and blocks of memory somebody has got since the restart and has not given
// back.
EXPORTED int64_t fake_cuda_live() {
  const Fake& f = fake();
  int64_t count = 0;
  for (const auto& [device, lives] : f.contexts) count += std::ranges::count(lives, f.life);
  for (const auto& [address, block] : f.memory) count += block.life == f.life;
  for (const FakeStream* stream : f.streams) count += stream->life == f.life;
  for (const FakeModule* module : f.modules) count += module->life == f.life;
  for (const FakeEvent* event : f.events) count += event->life == f.life;
  return count;
}

// From now on kernels are run, when their turn comes, by this.
EXPORTED void fake_cuda_run_kernels(KernelRunner runner) { fake().runner = runner; }

// A line for each launch: name, blocks x threads, arguments.
EXPORTED const char* fake_cuda_launches() { return fake().launches.c_str(); }

// From now on: as a new process that has called nothing. Of what is alive, nothing is counted and nothing is lost.
// `fail` is as CT_FAKE_CUDA_FAIL.
EXPORTED void fake_cuda_restart(const char* fail) {
  Fake& f = fake();
  ++f.life;
  f.calls.clear();
  f.launches.clear();
  f.sticky = Status::kSuccess;
  f.fail_at = 0;
  ++f.calls["restart"];
  fail_as(fail);
}

// Takes back what somebody has got since the restart.
EXPORTED void fake_cuda_clear() {
  Fake& f = fake();
  std::erase_if(f.memory, [&](const auto& item) {
    if (item.second.life != f.life) return false;
    f.memory_bytes[item.second.device] -= item.second.bytes;
    std::free(reinterpret_cast<void*>(item.first));
    return true;
  });
  std::erase_if(f.streams, [&](FakeStream* stream) {
    if (stream->life != f.life) return false;
    delete stream;
    return true;
  });
  std::erase_if(f.modules, [&](FakeModule* module) {
    if (module->life != f.life) return false;
    std::erase_if(f.functions, [&](const auto& item) { return item.second.module == module; });
    delete module;
    return true;
  });
  for (auto& [device, lives] : f.contexts) std::erase(lives, f.life);
  current = nullptr;
}
