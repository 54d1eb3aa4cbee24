#include "jit/store/disk_cache.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ir/hash.h"
#include "ir/text.h"

namespace ct::jit {
namespace {

constexpr std::string_view kMagic = "cotangent object 4\n";
// Far above any program's; a length beyond it is a sign of a broken file.
constexpr uint64_t kLongest = uint64_t{1} << 31;

uint64_t checksum(std::string_view bytes) {
  // Two passes from different seeds would still be 64 bits; length and content are enough against accidents.
  return hash_combine(hash_bytes(bytes), bytes.size());
}

class Writer {
 public:
  void number(uint64_t value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    bytes.append(value);
  }
  std::string bytes;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool number(uint64_t& value) {
    if (bytes_.size() < sizeof value) return false;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return true;
  }
  bool text(std::string& value) {
    uint64_t size;
    if (!number(size) || size > kLongest || size > bytes_.size()) return false;
    value.assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return true;
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

bool make_directory(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0700);
  }
  mkdir(path.c_str(), 0700);
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
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

std::optional<StoredCode> load_from_disk(std::string_view source) {
  const std::string directory = disk_cache_directory();
  if (directory.empty()) return std::nullopt;
  const auto bytes = read_private_file(concat(directory, "/", file_name(source)));
  if (!bytes || bytes->size() < kMagic.size() + sizeof(uint64_t)) return std::nullopt;
  const std::string_view body = std::string_view(*bytes).substr(0, bytes->size() - sizeof(uint64_t));
  uint64_t expected;
  std::memcpy(&expected, bytes->data() + body.size(), sizeof expected);
  if (body.substr(0, kMagic.size()) != kMagic || checksum(body) != expected) return std::nullopt;

  Reader reader(body.substr(kMagic.size()));
  std::string made_from;
  StoredCode code;
  uint64_t arena, nanoseconds, count;
  if (!reader.text(made_from) || made_from != source || !reader.text(code.symbol) || !reader.number(arena) ||
      !reader.number(nanoseconds) || !reader.number(count) || count > kLongest) {
    return std::nullopt;
  }
  code.arena_bytes = static_cast<int64_t>(arena);
  code.nanoseconds = static_cast<int64_t>(nanoseconds);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t donation;
    if (!reader.number(donation)) return std::nullopt;
    code.donations.push_back(static_cast<int>(static_cast<int64_t>(donation)));
  }
  uint64_t objects = 0;
  if (!reader.number(code.host_functions) || !reader.number(objects) || objects > kLongest) return std::nullopt;
  for (uint64_t i = 0; i < objects; ++i) {
    if (!reader.text(code.objects.emplace_back())) return std::nullopt;
  }
  if (!reader.at_end()) return std::nullopt;
  return code;
}

void store_on_disk(std::string_view source, const StoredCode& code) {
  const std::string directory = disk_cache_directory();
  if (directory.empty() || !make_directory(directory)) return;
  Writer writer;
  writer.bytes = kMagic;
  writer.text(source);
  writer.text(code.symbol);
  writer.number(static_cast<uint64_t>(code.arena_bytes));
  writer.number(static_cast<uint64_t>(code.nanoseconds));
  writer.number(code.donations.size());
  for (int donation : code.donations) writer.number(static_cast<uint64_t>(static_cast<int64_t>(donation)));
  writer.number(code.host_functions);
  writer.number(code.objects.size());
  for (const std::string& object : code.objects) writer.text(object);
  writer.number(checksum(writer.bytes));

  static std::atomic<uint64_t> counter{0};
  const std::string path = concat(directory, "/", file_name(source));
  const std::string temporary = concat(path, ".", getpid(), ".", counter.fetch_add(1));
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  size_t done = 0;
  while (done < writer.bytes.size()) {
    const ssize_t count = write(file, writer.bytes.data() + done, writer.bytes.size() - done);
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  const bool closed = close(file) == 0;
  if (done != writer.bytes.size() || !closed || rename(temporary.c_str(), path.c_str()) != 0) remove_file(temporary);
}

}  // namespace ct::jit
