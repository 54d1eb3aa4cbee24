// Relocatable objects into this process.
#pragma once

#include "absl/status/statusor.h"
#include "jit/llvm/compiler.h"

namespace ct::jit {

absl::StatusOr<CompiledFunction> load_elf(const ObjectCode& code);

}  // namespace ct::jit
