// A profiler's library that takes part in NVTX by NVTX_INJECTION64_PATH, and writes down which ranges begin and end. It
// wants of the tables what NVIDIA's want: their sizes, their versions, all slots of the modules.
#include <cstddef>
#include <cstdint>
#include <string>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

using Function = void (*)();
struct Callbacks {
  size_t bytes;
  int (*function_table)(uint32_t module, Function*** table, uint32_t* size);
};
struct VersionTable {
  size_t bytes;
  uint32_t version, reserved;
  void (*set_version_of_library)(uint32_t version);
};

std::string& written() {
  static auto& text = *new std::string;
  return text;
}

int push(const char* name) {
  written() += std::string("begin ") + name + "\n";
  return 0;
}
int pop() {
  written() += "end\n";
  return 0;
}

}  // namespace

EXPORTED int InitializeInjectionNvtx2(const void* (*export_table)(uint32_t)) {
  const auto* version = static_cast<const VersionTable*>(export_table(3));
  if (version == nullptr || version->bytes < sizeof(VersionTable) || version->version != 3) return 0;
  version->set_version_of_library(3);
  const auto* callbacks = static_cast<const Callbacks*>(export_table(1));
  if (callbacks == nullptr || callbacks->bytes < sizeof(Callbacks)) return 0;
  constexpr uint32_t kSizes[] = {16, 9, 15, 7, 16, 7};  // of CORE, CUDA, OPENCL, CUDART, CORE2, SYNC
  Function** core = nullptr;
  for (uint32_t module = 1; module <= 6; ++module) {
    Function** table = nullptr;
    uint32_t size = 0;
    if (callbacks->function_table(module, &table, &size) == 0 || size != kSizes[module - 1]) return 0;
    for (uint32_t i = 1; i < size; ++i) {
      if (table[i] == nullptr) return 0;
    }
    if (table[0] != nullptr || table[size] != nullptr) return 0;
    if (module == 1) core = table;
  }
  *core[9] = reinterpret_cast<Function>(push);  // NVTX_CBID_CORE_RangePushA
  *core[11] = reinterpret_cast<Function>(pop);  // NVTX_CBID_CORE_RangePop
  return 1;
}

EXPORTED const char* fake_nvtx_written() { return written().c_str(); }
