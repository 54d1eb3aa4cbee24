#include "runtime/cores.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace ct {
namespace {

// "max 100000" or "150000 100000": microseconds of processor time a period. Rounded up; 0 when there is no limit.
int limit_of(const std::string& directory) {
  std::ifstream file(directory + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return static_cast<int>((std::atof(quota.c_str()) + period - 1) / period);
}

// The least of the limits of this process's control group and those it is in (version 2).
int container_limit() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("0::", 0) != 0) continue;
    int least = 0;
    for (std::string path = line.substr(3); !path.empty(); path.resize(path.rfind('/'))) {
      if (const int limit = limit_of("/sys/fs/cgroup" + path); limit > 0)
        least = least == 0 ? limit : std::min(least, limit);
      if (path.rfind('/') == std::string::npos) break;
    }
    return least;
  }
  return 0;
}

// The cores that the process may run on; hardware_concurrency() counts all there are.
int allowed() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1,
                  static_cast<int>(std::thread::hardware_concurrency()));  // more cores than a cpu_set_t has room for
}

}  // namespace

int usable_cores() {
  static const int cores = [] {
    const int limit = container_limit();
    return limit > 0 ? std::clamp(limit, 1, allowed()) : allowed();
  }();
  return cores;
}

}  // namespace ct
