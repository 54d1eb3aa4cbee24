// Object code on disk, one file for each program, in CT_CACHE_DIR, else $XDG_CACHE_HOME/cotangent, else
// ~/.cache/cotangent. CT_CACHE_DIR set to nothing turns it off.
//
// A file is executed later, so it is trusted only when it belongs to this user, nobody else can write it, its checksum
// is right, and it says in full what it was made from: program, options, processor, build of this library. Anything
// else is ignored and overwritten. Files are written under another name and renamed, so that readers see whole ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ct::jit {

struct StoredCode {
  std::vector<std::string> objects;  // relocatable
  std::string symbol;
  int64_t arena_bytes = 0;
  int64_t nanoseconds = 0;  // Plan::nanoseconds
  std::vector<int> donations;
  uint64_t host_functions = 0;  // how many it calls (host_call.h)
};

// `source` is everything that the code depends on.
std::optional<StoredCode> load_from_disk(std::string_view source);
// Failures are silent: the cache is an optimisation.
void store_on_disk(std::string_view source, const StoredCode& code);

// Empty when the disk cache is off.
std::string disk_cache_directory();
// Differs between builds of this library.
const std::string& build_fingerprint();

}  // namespace ct::jit
