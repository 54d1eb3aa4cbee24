#include "jit/export/open_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "device/cpu/cpu.h"
#include "runtime/process.h"
#include "runtime/text.h"

namespace ct {
namespace {

template <class Function>
bool find(void* handle, const std::string& symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(handle, symbol.c_str()));
  return function != nullptr;
}

// What the loader has open, by what the files are. It finds libraries again by their names: a file that took another
// one's place would be taken for it. So a library is opened by the number of its open file, under a name that no other
// one had before (somebody else may still have that open, when its number is free again), and each file once.
using FileId = std::pair<dev_t, ino_t>;
struct Opened {
  ProcessMutex mutex;
  std::map<FileId, std::weak_ptr<void>> by_file;
  uint64_t count = 0;

  static Opened& instance() {
    static auto& all = *new Opened;
    return all;
  }
};

// Of an open file: another one for each number.
std::string name_of(int file, uint64_t number) {
  std::string name = "/proc/self/fd/";
  for (; number != 0; number >>= 1) name += (number & 1) != 0 ? ".//" : "./";
  return name + std::to_string(file);
}

absl::StatusOr<std::shared_ptr<void>> open_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (file < 0 || fstat(file, &status) != 0) {
    return absl::UnavailableError(concat("cannot be opened: ", std::strerror(errno)));
  }
  Opened& opened = Opened::instance();
  std::lock_guard lock(opened.mutex);
  std::weak_ptr<void>& known = opened.by_file[{status.st_dev, status.st_ino}];
  if (std::shared_ptr<void> again = known.lock()) {
    ::close(file);
    return again;
  }
  const std::string own = name_of(file, ++opened.count);
  void* handle = dlopen(own.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    ::close(file);
    std::string why = dlerror();
    const size_t place = why.find(own);
    if (place != std::string::npos) why.replace(place, own.size(), path);
    return absl::UnavailableError(concat("cannot be opened: ", why));
  }
  std::shared_ptr<void> made(handle, [file](void* loaded) {
    dlclose(loaded);
    ::close(file);
  });
  known = made;
  return made;
}

}  // namespace

absl::StatusOr<std::shared_ptr<OpenLibrary>> OpenLibrary::open(const std::string& path, const std::string& name) {
  auto handle = open_file(path);
  if (!handle.ok()) return handle.status();
  auto library = std::make_shared<OpenLibrary>();
  library->handle_ = *handle;
  if (!find(handle->get(), name + "_signature", library->signature_) ||
      !find(handle->get(), name + "_describe", library->describe_) ||
      !find(handle->get(), name + "_check", library->check_)) {
    return absl::InvalidArgumentError(concat("is no exported library '", name, "'"));
  }
  return library;
}

absl::StatusOr<LoadedPtr> OpenLibrary::load(const Graph& graph, Plan facts, const std::string& symbol,
                                            bool asks_caller) const {
  NativeCode native{.entry = nullptr, .memory = handle_, .asks_caller = asks_caller};
  native.entry = reinterpret_cast<PlanEntry>(dlsym(handle_.get(), symbol.c_str()));
  if (native.entry == nullptr) return absl::InvalidArgumentError(concat("has no function ", symbol));
  facts.target = "cpu";
  const auto avals = graph.input_avals();
  facts.inputs.assign(avals.begin(), avals.end());
  facts.outputs = graph.output_avals();
  if (facts.donations.size() != facts.outputs.size() || facts.arena_bytes < 0 || facts.nanoseconds < 0) {
    return absl::InvalidArgumentError(concat("describes ", symbol, " as another program"));
  }
  for (size_t i = 0; i < facts.outputs.size(); ++i) {
    const int input = facts.donations[i];
    if (input < 0) continue;
    if (static_cast<size_t>(input) >= facts.inputs.size() ||
        facts.inputs[static_cast<size_t>(input)].bytes() != facts.outputs[i].bytes()) {
      return absl::InvalidArgumentError(concat("describes ", symbol, " as another program"));
    }
  }
  facts.blocks = {{NativeStep{symbol}}};
  return std::make_shared<const Loaded>(std::move(facts), cpu_device(), nullptr, std::move(native));
}

}  // namespace ct
