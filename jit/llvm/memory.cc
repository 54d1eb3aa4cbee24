#include "jit/llvm/memory.h"

#include <llvm/Support/ErrorHandling.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <new>
#include <string>
#include <tuple>

#include "runtime/error.h"
#include "runtime/text.h"

namespace ct::jit {

namespace {

// Of a statement while its module is compiled, and of what a thread of LLVM needs whatever it compiles. Measured over
// unrolled programs were 1 kB and 10 MB; half as much again and a bit for those that were not.
constexpr int64_t kBytesPerStatement = 2'000;
constexpr int64_t kBytesPerThread = int64_t{16} << 20;
// Below this nobody is asked: reading what the system says takes longer than compiling it.
constexpr int64_t kSmall = 400;

// A number of kB in one of /proc's lists, in bytes; -1 if it is not there.
int64_t kilobytes_of(const char* file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, name.size(), name) == 0) return std::atoll(line.c_str() + name.size()) * 1024;
  }
  return -1;
}

int64_t number_in(const char* file) {
  std::ifstream stream(file);
  int64_t number = -1;
  return stream >> number ? number : -1;  // "max" is none
}

}  // namespace

int64_t memory_left() {
  int64_t left = INT64_MAX;
  if (const int64_t available = kilobytes_of("/proc/meminfo", "MemAvailable:"); available >= 0) left = available;
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const int64_t used = std::max<int64_t>(kilobytes_of("/proc/self/status", "VmSize:"), 0);
    left = std::min(left, std::max<int64_t>(static_cast<int64_t>(limit.rlim_cur) - used, 0));
  }
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const int64_t used = std::max<int64_t>(kilobytes_of("/proc/self/status", "VmData:"), 0);
    left = std::min(left, std::max<int64_t>(static_cast<int64_t>(limit.rlim_cur) - used, 0));
  }
  // Of the control group that a container is. What is cached of files can be taken back.
  for (const auto& [most, used, cached] :
       {std::tuple{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"},
        std::tuple{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                   "/sys/fs/cgroup/memory/memory.stat"}}) {
    const int64_t bound = number_in(most), now = number_in(used);
    if (bound < 0 || now < 0) continue;
    const int64_t files = std::max<int64_t>(kilobytes_of(cached, "inactive_file ") / 1024, 0);
    left = std::min(left, std::max<int64_t>(bound - now + files, 0));
  }
  return left;
}

absl::Status out_of_memory() {
  return absl::ResourceExhaustedError(
      "there is not enough memory to compile the program; make it smaller (lax.scan or lax.fori_loop instead of an "
      "unrolled loop, several jitted functions instead of one), or run it with backend=\"interpreter\"");
}

absl::Status check_memory(int64_t weight, uint32_t& at_a_time) {
  if (weight < kSmall && at_a_time == 1) return absl::OkStatus();
  const int64_t left = memory_left();
  if (left == INT64_MAX) return absl::OkStatus();
  const int64_t each = kBytesPerThread + weight * kBytesPerStatement;
  if (left / each >= at_a_time) return absl::OkStatus();
  at_a_time = static_cast<uint32_t>(left / each);
  if (at_a_time > 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(concat("compiling the program takes about ", each >> 20, " MB of memory, and ",
                                             left >> 20, " MB are left: ", std::string(out_of_memory().message())));
}

void throw_from_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    llvm::install_fatal_error_handler([](void*, const char* reason, bool) {
      throw Error(ErrorKind::kInternal, concat("the code generator failed: ", reason));
    });
  });
}

}  // namespace ct::jit
