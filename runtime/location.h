// Where in the user's program an equation was made: a small id into one table of (code, instruction) pairs.
//
// Recording is two words and a hash look-up; file and line are worked out only when an error or a printout asks,
// by the front end (runtime.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ct {

using LocationId = uint32_t;
inline constexpr LocationId kNoLocation = 0;

struct SourceLocation {
  std::string file;
  int line = 0;
  std::string function;
};

// `code` identifies a code object of the front end (kept alive by it), `instruction` an offset in it.
LocationId intern_location(const void* code, int instruction);
// For locations known outright: parsed text, C++ programs.
LocationId intern_location(SourceLocation location);

SourceLocation resolve_location(LocationId location);
std::string location_string(LocationId location);  // "train.py:12 (loss)", or "" for kNoLocation

// While one lives, equations built on this thread carry `location`: transforms re-emit under the equation they rewrite.
class LocationScope {
 public:
  explicit LocationScope(LocationId location);
  ~LocationScope();
  LocationScope(const LocationScope&) = delete;
  LocationScope& operator=(const LocationScope&) = delete;
  static LocationId current();

 private:
  LocationId previous_;
};

}  // namespace ct
