#include "runtime/location.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/process.h"
#include "runtime/runtime.h"

namespace ct {
namespace {

struct Entry {
  const void* code = nullptr;
  int instruction = 0;
  SourceLocation known;
};

struct Table {
  ProcessMutex mutex;
  std::vector<Entry> entries{Entry{}};  // entry 0 is kNoLocation
  absl::flat_hash_map<std::pair<const void*, int>, LocationId> by_code;
  std::map<std::pair<std::string, int>, LocationId> by_line;
};

Table& table() {
  static Table* instance = new Table;
  return *instance;
}

thread_local LocationId current_location = kNoLocation;

}  // namespace

LocationId intern_location(const void* code, int instruction) {
  Table& t = table();
  std::lock_guard lock(t.mutex);
  auto [it, inserted] = t.by_code.try_emplace({code, instruction}, static_cast<LocationId>(t.entries.size()));
  if (inserted) t.entries.push_back({code, instruction, {}});
  return it->second;
}

LocationId intern_location(SourceLocation location) {
  Table& t = table();
  std::lock_guard lock(t.mutex);
  auto [it, inserted] =
      t.by_line.try_emplace({location.file, location.line}, static_cast<LocationId>(t.entries.size()));
  if (inserted) t.entries.push_back({nullptr, 0, std::move(location)});
  return it->second;
}

SourceLocation resolve_location(LocationId location) {
  Table& t = table();
  Entry entry;
  {
    std::lock_guard lock(t.mutex);
    if (location == kNoLocation || location >= t.entries.size()) return {};
    entry = t.entries[location];
  }
  if (entry.code == nullptr) return entry.known;
  const auto& locate = runtime().locate;
  return locate ? locate(entry.code, entry.instruction) : SourceLocation{};
}

std::string location_string(LocationId location) {
  const SourceLocation source = resolve_location(location);
  if (source.file.empty()) return "";
  std::string text = source.file + ":" + std::to_string(source.line);
  if (!source.function.empty()) text += " (" + source.function + ")";
  return text;
}

LocationScope::LocationScope(LocationId location) : previous_(current_location) { current_location = location; }
LocationScope::~LocationScope() { current_location = previous_; }
LocationId LocationScope::current() { return current_location; }

}  // namespace ct
