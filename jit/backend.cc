#include "jit/backend.h"

#include <algorithm>
#include <deque>

#include "runtime/error.h"

namespace ct {
namespace {

std::deque<Backend>& backends() {
  static auto& all = *new std::deque<Backend>;
  return all;
}

}  // namespace

void register_backend(Backend backend) {
  CT_CHECK(find_backend(backend.name) == nullptr);
  backends().push_back(std::move(backend));
}

const Backend* find_backend(std::string_view name) {
  for (const Backend& backend : backends()) {
    if (backend.name == name) return &backend;
  }
  return nullptr;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Backend& backend : backends()) {
    if (backend.name == backend.kind) names.push_back(backend.name);
  }
  return names;
}

std::string backend_at(int place) {
  if (place == kHostPlace) return CompileOptions{}.backend;
  const auto found =
      std::ranges::find(backends(), place, [](const Backend& backend) { return backend.device->place(); });
  return found == backends().end() ? "" : found->name;
}

}  // namespace ct
