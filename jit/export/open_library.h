// An exported library in this process: its functions are programs as those that are compiled here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "device/loaded.h"
#include "ir/graph.h"

namespace ct {

class OpenLibrary {
 public:
  // A library that make_library made. Loading one runs code of it: from a folder that is trusted.
  static absl::StatusOr<std::shared_ptr<OpenLibrary>> open(const std::string& path, const std::string& name);

  uint64_t signature() const { return signature_(); }
  std::string description() const { return describe_(); }
  int check() const { return check_(); }  // a CStatus

  // The code of `facts`, which says all but types and steps: of the program that the graph is.
  absl::StatusOr<LoadedPtr> load(const Graph& graph, Plan facts, const std::string& symbol, bool asks_caller) const;

 private:
  std::shared_ptr<void> handle_;
  uint64_t (*signature_)() = nullptr;
  const char* (*describe_)() = nullptr;
  int (*check_)() = nullptr;
};

}  // namespace ct
