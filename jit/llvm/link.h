// Objects into libraries, without a system compiler or linker: lld runs inside the process, archives are written by
// LLVM.
//
// All functions work on bytes; the caller decides where files go. They may be called from several threads (linking is
// one at a time).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ct::jit {

struct ArchiveMember {
  std::string name;   // "step.o"
  std::string bytes;  // an object, for any machine
};

// A shared library from relocatable ELF objects. What they leave undefined (memcpy and the like) is found at load time
// in the program's own libc. `soname` is the name that programs linked against it will ask for: "libstep.so".
absl::StatusOr<std::string> link_shared_library(absl::Span<const std::string> objects, std::string_view soname);

// Of a WebAssembly module, in its memory: what outgrows it traps.
inline constexpr int64_t kWasmStackBytes = 65536;

// A WebAssembly module from relocatable objects, which shows these functions, its `memory`, and `__heap_base`, from
// where on the memory is free. It imports nothing.
absl::StatusOr<std::string> link_wasm_module(absl::Span<const std::string> objects,
                                             absl::Span<const std::string> functions);

// A static library with a symbol table, the same bytes for the same members.
absl::StatusOr<std::string> write_archive(absl::Span<const ArchiveMember> members);

}  // namespace ct::jit
