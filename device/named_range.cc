#include "device/named_range.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace ct {
namespace {

// ---- as in nvtx3/nvtxDetail/nvtxTypes.h -----------------------------------------------------------------------------

using Function = void (*)();
constexpr uint32_t kCallbacksTable = 1, kVersionTable = 3;  // NvtxExportTableID
constexpr uint32_t kVersion = 3;
constexpr size_t kCore = 1;                              // NvtxCallbackModule
constexpr size_t kRangePush = 9, kRangePop = 11;         // NvtxCallbackIdCore: RangePushA, RangePop
constexpr std::array kSizes = {0, 16, 9, 15, 7, 16, 7};  // of NvtxCallbackModule's functions: NVTX_CBID_..._SIZE
constexpr size_t kMostFunctions = 16;

// A module's slots. The first has no function, and behind the last there is none.
struct Slots {
  std::array<Function, kMostFunctions> functions{};
  std::array<Function*, kMostFunctions + 1> table{};
};

struct Callbacks {  // NvtxExportTableCallbacks
  size_t bytes = sizeof(Callbacks);
  int (*function_table)(uint32_t module, Function*** table, uint32_t* size) = nullptr;
};
struct VersionTable {  // NvtxExportTableVersionInfo
  size_t bytes = sizeof(VersionTable);
  uint32_t version = kVersion;
  uint32_t reserved = 0;
  void (*set_version_of_library)(uint32_t) = nullptr;
};

// ---- the library ----------------------------------------------------------------------------------------------------

std::array<Slots, kSizes.size()>& modules() {
  static auto& all = *new std::array<Slots, kSizes.size()>;
  return all;
}

int function_table(uint32_t module, Function*** table, uint32_t* size) {
  if (module == 0 || module >= kSizes.size()) return 0;
  Slots& slots = modules().at(module);
  const auto count = static_cast<size_t>(kSizes.at(module));
  for (size_t i = 1; i < count; ++i) slots.table.at(i) = &slots.functions.at(i);
  if (table != nullptr) *table = slots.table.data();
  if (size != nullptr) *size = static_cast<uint32_t>(count);
  return 1;
}

const void* export_table(uint32_t table) {
  static const Callbacks callbacks{.function_table = function_table};
  static const VersionTable version{.set_version_of_library = [](uint32_t) {}};
  if (table == kCallbacksTable) return &callbacks;
  return table == kVersionTable ? &version : nullptr;
}

struct Ranges {
  int (*push)(const char* name) = nullptr;
  int (*pop)() = nullptr;
};

std::string library_name() {
  const char* named = std::getenv("NVTX_INJECTION64_PATH");
  return named == nullptr ? "" : named;
}

// What the library has put into the slots. It stays open.
Ranges find_ranges() {
  const std::string library = library_name();
  if (library.empty()) return {};
  void* handle = dlopen(library.c_str(), RTLD_LAZY);
  if (handle == nullptr) return {};
  using Initialize = int (*)(const void* (*export_table)(uint32_t));
  auto* const initialize = reinterpret_cast<Initialize>(dlsym(handle, "InitializeInjectionNvtx2"));
  if (initialize == nullptr || initialize(export_table) == 0) return {};
  const Slots& core = modules()[kCore];
  Ranges found{.push = reinterpret_cast<int (*)(const char*)>(core.functions[kRangePush]),
               .pop = reinterpret_cast<int (*)()>(core.functions[kRangePop])};
  return found.push == nullptr || found.pop == nullptr ? Ranges{} : found;
}

const Ranges& ranges() {
  static const Ranges found = find_ranges();
  return found;
}

}  // namespace

bool NamedRange::wanted() { return ranges().push != nullptr; }

NamedRange::NamedRange(const std::string& name) {
  if (wanted()) ranges().push(name.c_str());
}
NamedRange::~NamedRange() {
  if (wanted()) ranges().pop();
}

}  // namespace ct
