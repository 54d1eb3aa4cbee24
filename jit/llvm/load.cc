// RuntimeDyld with one mapping per object: written, then made executable and read-only. It links a small object in tens
// of microseconds, a fraction of what a session of ORC costs, and needs no global state.
#include "jit/llvm/load.h"

#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "jit/host_call.h"

namespace ct::jit {

namespace {

// Code first, then data, on pages of their own.
class Mapping : public llvm::RuntimeDyld::MemoryManager {
 public:
  ~Mapping() override {
    if (start_ != nullptr) munmap(start_, size_);
  }

  bool needsToReserveAllocationSpace() override { return true; }

  void reserveAllocationSpace(uintptr_t code, llvm::Align code_align, uintptr_t read_only, llvm::Align read_only_align,
                              uintptr_t data, llvm::Align data_align) override {
    uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    auto pages = [&](uintptr_t bytes) { return (bytes + page - 1) / page * page; };
    code_size_ = pages(code + code_align.value());
    // Every section may need its alignment again.
    size_ = code_size_ + pages(read_only + data + 16 * (read_only_align.value() + data_align.value()));
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    start_ = static_cast<uint8_t*>(memory);
    next_code_ = start_;
    next_data_ = start_ + code_size_;
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
    if (mprotect(start_, code_size_, PROT_READ | PROT_EXEC) != 0) {
      if (error != nullptr) *error = std::string("cannot make memory executable: ") + std::strerror(errno);
      return true;
    }
    __builtin___clear_cache(reinterpret_cast<char*>(start_), reinterpret_cast<char*>(start_ + code_size_));
    return false;
  }

 private:
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
    return nullptr;
  }
  llvm::JITSymbol findSymbolInLogicalDylib(const std::string&) override { return nullptr; }
};

}  // namespace

absl::StatusOr<CompiledFunction> load_elf(const ObjectCode& object) {
  auto buffer =
      llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(object.bytes), object.symbol, /*RequiresNullTerminator=*/false);
  llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> file =
      llvm::object::ObjectFile::createELFObjectFile(buffer->getMemBufferRef());
  if (!file) return absl::DataLossError("not an object file: " + llvm::toString(file.takeError()));
  auto mapping = std::make_shared<Mapping>();
  Runtime runtime;
  llvm::RuntimeDyld linker(*mapping, runtime);
  linker.loadObject(**file);
  if (linker.hasError()) return absl::DataLossError("cannot load machine code: " + linker.getErrorString().str());
  linker.resolveRelocations();
  if (linker.hasError()) return absl::InternalError("cannot link machine code: " + linker.getErrorString().str());
  std::string error;
  if (mapping->finalizeMemory(&error)) return absl::ResourceExhaustedError(error);
  void* entry = linker.getSymbolLocalAddress(object.symbol);
  if (entry == nullptr) return absl::DataLossError("the object does not define " + object.symbol);
  return CompiledFunction(reinterpret_cast<EntryPoint>(entry), object.arena_bytes, mapping);
}

}  // namespace ct::jit
