// Relocatable objects into this process, for the device `cpu`: RuntimeDyld with one mapping per plan, written, then
// made executable and read-only. It links a small object in tens of microseconds, a fraction of what a session of ORC
// costs, and needs no global state.
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "device/cpu/cpu.h"
#include "device/cpu/pool.h"
#include "device/host_call.h"
#include "ir/interrupt.h"
#include "jit/llvm/tiles.h"

namespace ct::jit {

namespace {

// Code first, then data, on pages of their own; all objects of a program next to each other, so that they reach each
// other by relative addresses.
class Mapping : public llvm::RuntimeDyld::MemoryManager {
 public:
  // No object needs more memory of either kind than the bytes that describe it, but for alignment and rounding.
  Mapping(size_t object_bytes, size_t objects) {
    code_size_ = pages(object_bytes + objects * kSlack);
    size_ = 2 * code_size_;
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    start_ = static_cast<uint8_t*>(memory);
    next_code_ = start_;
    next_data_ = start_ + code_size_;
  }
  ~Mapping() override {
    if (start_ != nullptr) munmap(start_, size_);
  }

  uint8_t* allocateCodeSection(uintptr_t size, unsigned alignment, unsigned, llvm::StringRef) override {
    return take(next_code_, start_ + code_size_, size, alignment);
  }

  uint8_t* allocateDataSection(uintptr_t size, unsigned alignment, unsigned, llvm::StringRef, bool) override {
    return take(next_data_, start_ + size_, size, alignment);
  }

  void registerEHFrames(uint8_t*, uint64_t, size_t) override {}  // entry points never unwind
  void deregisterEHFrames() override {}

  bool finalizeMemory(std::string* error) override {
    if (start_ == nullptr || exhausted_) {
      if (error != nullptr) *error = "no memory for machine code";
      return true;
    }
    // What is left over goes back where it is worth a system call.
    if (uintptr_t used = pages(static_cast<uintptr_t>(next_data_ - start_)); size_ - used >= kWorthReturning) {
      munmap(start_ + used, size_ - used);
      size_ = used;
    }
    if (mprotect(start_, code_size_, PROT_READ | PROT_EXEC) != 0) {
      if (error != nullptr) *error = std::string("cannot make memory executable: ") + std::strerror(errno);
      return true;
    }
    __builtin___clear_cache(reinterpret_cast<char*>(start_), reinterpret_cast<char*>(start_ + code_size_));
    return false;
  }

 private:
  static constexpr uintptr_t kSlack = 1024, kWorthReturning = 1 << 20;

  static uintptr_t pages(uintptr_t bytes) {
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
  }

  uint8_t* take(uint8_t*& next, uint8_t* end, uintptr_t size, unsigned alignment) {
    if (start_ == nullptr) return nullptr;
    uintptr_t mask = std::max(alignment, 1u) - 1;
    auto* at = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(next) + mask) & ~mask);
    if (at + size > end) {
      exhausted_ = true;
      return nullptr;
    }
    next = at + size;
    return at;
  }

  uint8_t* start_ = nullptr;
  uintptr_t size_ = 0, code_size_ = 0;
  uint8_t *next_code_ = nullptr, *next_data_ = nullptr;
  bool exhausted_ = false;
};

// The only outside functions that code may call.
class Runtime : public llvm::LegacyJITSymbolResolver {
 public:
  llvm::JITSymbol findSymbol(const std::string& name) override {
    auto known = [](auto* function) {
      return llvm::JITSymbol(static_cast<llvm::JITTargetAddress>(reinterpret_cast<uintptr_t>(function)),
                             llvm::JITSymbolFlags::Exported);
    };
    if (name == "memcpy") return known(&std::memcpy);
    if (name == "memset") return known(&std::memset);
    if (name == "memmove") return known(&std::memmove);
    if (name == kHostCallSymbol) return known(&call_host);
    if (name == kGoOnSymbol) return known(&go_on);
    if (name == kParallelSymbol) return known(&run_parallel);
    if (const void* function = find_ready(name)) return known(function);
    return nullptr;
  }
  llvm::JITSymbol findSymbolInLogicalDylib(const std::string&) override { return nullptr; }
};

absl::StatusOr<NativeCode> load_elf(const Plan& plan) {
  const std::string& symbol = std::get<NativeStep>(plan.blocks[0][0]).symbol;
  size_t bytes = 0;
  for (const Code& code : plan.codes) bytes += code.bytes.size();
  auto mapping = std::make_shared<Mapping>(bytes, plan.codes.size());
  Runtime runtime;
  llvm::RuntimeDyld linker(*mapping, runtime);
  std::vector<std::unique_ptr<llvm::object::ObjectFile>> files;  // the linker refers to them
  // The entry's last: calls of what is there already are direct.
  for (size_t i = plan.codes.size(); i-- > 0;) {
    const llvm::MemoryBufferRef buffer(plan.codes[i].bytes, symbol);
    llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> file =
        llvm::object::ObjectFile::createELFObjectFile(buffer);
    if (!file) return absl::DataLossError("not an object file: " + llvm::toString(file.takeError()));
    linker.loadObject(**file);
    if (linker.hasError()) return absl::DataLossError("cannot load machine code: " + linker.getErrorString().str());
    files.push_back(std::move(*file));
  }
  linker.resolveRelocations();
  if (linker.hasError()) return absl::InternalError("cannot link machine code: " + linker.getErrorString().str());
  std::string error;
  if (mapping->finalizeMemory(&error)) return absl::ResourceExhaustedError(error);
  void* entry = linker.getSymbolLocalAddress(symbol);
  if (entry == nullptr) return absl::DataLossError("the object does not define " + symbol);
  return NativeCode{reinterpret_cast<PlanEntry>(entry), mapping};
}

const bool registered = (set_native_loader(load_elf), true);

}  // namespace

}  // namespace ct::jit
