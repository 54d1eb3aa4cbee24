#include "jit/store/disk_cache.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/hash.h"
#include "runtime/text.h"

namespace ct::jit {
namespace {

// Far above any program's; a length beyond it is a sign of a broken file.
constexpr uint64_t kLongest = uint64_t{1} << 31;

void make_directory(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0700);
  }
  mkdir(path.c_str(), 0700);
}

// Whether it belongs to this user, and nobody else may write into it.
bool is_private_directory(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Files lie in so many folders, by the beginnings of their names, of which each has its share of the whole: looking at
// one of them takes a fraction of a millisecond, however many files there are.
constexpr size_t kFolders = 256;
constexpr uint64_t kUsualMegabytes = 500;
constexpr uint64_t kStoresForLook = 8;      // on average
constexpr time_t kUsedAnew = 24 * 60 * 60;  // seconds after which a file that is read is marked as used

uint64_t most_bytes() {
  const char* chosen = std::getenv("CT_CACHE_MEGABYTES");
  const double megabytes = chosen == nullptr || *chosen == 0 ? kUsualMegabytes : std::strtod(chosen, nullptr);
  return static_cast<uint64_t>(std::clamp(megabytes, 0.0, 1e9) * 1e6);
}

// What was not used for the longest goes, until the folder has three quarters of its share; the last one used stays.
void remove_unused(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listed(opendir(folder.c_str()), closedir);
  if (listed == nullptr) return;
  struct File {
    timespec used;
    uint64_t bytes;
    std::string name;
  };
  std::vector<File> files;
  uint64_t sum = 0;
  while (const dirent* entry = readdir(listed.get())) {
    struct stat status;
    if (fstatat(dirfd(listed.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) {
      continue;
    }
    files.push_back({status.st_mtim, static_cast<uint64_t>(status.st_blocks) * 512, entry->d_name});
    sum += files.back().bytes;
  }
  const uint64_t most = most_bytes() / kFolders;
  if (sum <= most) return;
  std::ranges::sort(files, {}, [](const File& file) { return std::pair(file.used.tv_sec, file.used.tv_nsec); });
  for (size_t i = 0; i + 1 < files.size() && sum > most / 4 * 3; ++i) {
    unlinkat(dirfd(listed.get()), files[i].name.c_str(), 0);
    sum -= files[i].bytes;
  }
}

std::string file_name(std::string_view source) {
  char name[40];
  std::snprintf(name, sizeof name, "%016llx%016llx", static_cast<unsigned long long>(hash_bytes(source)),
                static_cast<unsigned long long>(hash_bytes(source, 0x9e3779b97f4a7c15ull)));
  return name;
}

// The whole file, if it is private to this user.
std::optional<std::string> read_private_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return std::nullopt;
  struct stat status;
  std::string bytes;
  bool good = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
              (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && static_cast<uint64_t>(status.st_size) < kLongest;
  if (good) {
    if (time(nullptr) - status.st_mtime > kUsedAnew) futimens(file, nullptr);
    bytes.resize(static_cast<size_t>(status.st_size));
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = read(file, bytes.data() + done, bytes.size() - done);
      if (count <= 0) break;
      done += static_cast<size_t>(count);
    }
    good = done == bytes.size();
  }
  close(file);
  if (!good) return std::nullopt;
  return bytes;
}

void remove_file(const std::string& path) { unlink(path.c_str()); }

std::string folder_of(const std::string& directory, const std::string& name) {
  return concat(directory, "/", name.substr(0, 2));
}

}  // namespace

std::string disk_cache_directory() {
  if (const char* chosen = std::getenv("CT_CACHE_DIR")) return chosen;
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base != nullptr && base[0] == '/') {
    return concat(base, "/cotangent");
  }
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? concat(home, "/.cache/cotangent") : std::string();
}

const std::string& build_fingerprint() {
  // The file that this code was loaded from: a rebuilt library may compile the same program differently.
  static const std::string* fingerprint = [] {
    Dl_info info;
    struct stat status;
    std::string text = "unknown";
    if (dladdr(reinterpret_cast<const void*>(&build_fingerprint), &info) != 0 && info.dli_fname != nullptr &&
        stat(info.dli_fname, &status) == 0) {
      text = concat(status.st_size, ".", status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec);
    }
    return new std::string(concat(CT_VERSION, " ", text));
  }();
  return *fingerprint;
}

// The length of what the plan was made from, the same in full, and the plan.
std::optional<Plan> load_from_disk(std::string_view source) {
  const std::string directory = disk_cache_directory();
  if (directory.empty()) return std::nullopt;
  const std::string name = file_name(source);
  const auto file = read_private_file(concat(folder_of(directory, name), "/", name));
  uint64_t size = 0;
  if (!file || file->size() < sizeof size) return std::nullopt;
  std::string_view bytes = *file;
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  if (size != source.size() || !bytes.starts_with(source)) return std::nullopt;
  bytes.remove_prefix(size);
  absl::StatusOr<Plan> plan = restore_plan(bytes);
  if (!plan.ok()) return std::nullopt;
  return *std::move(plan);
}

void store_on_disk(std::string_view source, const Plan& plan) {
  const std::string directory = disk_cache_directory();
  if (directory.empty()) return;
  const std::string name = file_name(source), folder = folder_of(directory, name);
  make_directory(folder);
  if (!is_private_directory(directory) || !is_private_directory(folder)) return;
  const uint64_t size = source.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += source;
  bytes += save_plan(plan);

  static std::atomic<uint64_t> counter{0};
  const uint64_t number = counter.fetch_add(1);
  const std::string path = concat(folder, "/", name);
  const std::string temporary = concat(path, ".", getpid(), ".", number);
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = write(file, bytes.data() + done, bytes.size() - done);
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  const bool closed = close(file) == 0;
  if (done != bytes.size() || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) remove_file(temporary);
  if ((number + static_cast<uint64_t>(getpid())) % kStoresForLook == 0) remove_unused(folder);
}

}  // namespace ct::jit
