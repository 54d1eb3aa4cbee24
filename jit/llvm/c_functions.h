// The functions of an exported library.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "jit/llvm/compiler.h"
#include "jit/llvm/target.h"
#include "jit/loop/loop.h"

namespace ct::jit {

// What NAME_stop of a library sets, an int32.
llvm::GlobalVariable* stop_flag(llvm::Module& module);
// Around the module's entry point, which becomes private.
void add_c_functions(llvm::Module& module, const Target& target, const loop::Program& program,
                     std::string_view entry_symbol, const std::string& name, int64_t arena_bytes,
                     absl::Span<const BoundedInput> bounded, int64_t stop_slot);

}  // namespace ct::jit
