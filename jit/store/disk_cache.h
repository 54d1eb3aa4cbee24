// Plans on disk, one file for each program, in CT_CACHE_DIR, else $XDG_CACHE_HOME/cotangent, else
// ~/.cache/cotangent. CT_CACHE_DIR set to nothing turns it off. They take about CT_CACHE_MEGABYTES, which is 500 unless
// it is set: those that were not used for the longest go.
//
// A file is executed later, so it is trusted only when it belongs to this user, nobody else can write it, it says in
// full what it was made from (program, options, processor, build of this library), and what follows is a plan whose
// checksum and indices are right. Anything else is ignored and overwritten. Files are written under another name and
// renamed, so that readers see whole ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "device/plan.h"

namespace ct::jit {

// `source` is everything that the plan depends on.
std::optional<Plan> load_from_disk(std::string_view source);
// Failures are silent: the cache is an optimisation.
void store_on_disk(std::string_view source, const Plan& plan);

// Empty when the disk cache is off.
std::string disk_cache_directory();
// Differs between builds of this library.
const std::string& build_fingerprint();

}  // namespace ct::jit
