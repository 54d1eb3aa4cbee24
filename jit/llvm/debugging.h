// For profilers and debuggers of machine code, as CT_PERF=1 and CT_GDB=1 in the environment ask for: functions have
// readable names, instructions the lines of the user's that they were made for. Such code is not kept on disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jit/llvm/outline.h"
#include "jit/loop/loop.h"

namespace llvm {
class IRBuilderBase;
class Module;
}  // namespace llvm

namespace ct::jit {

bool perf_wanted();
bool gdb_wanted();
inline bool debugging_wanted() { return perf_wanted() || gdb_wanted(); }

// For a program's entry point: its name and the last line that it was made from, "program train.py:12 (loss)".
std::string readable_symbol(const loop::Program& program, std::string_view name);

// What the builder adds to `module` from here on was made for this group of the program's.
void mark_group(llvm::IRBuilderBase& builder, llvm::Module& module, uint32_t group);

// Makes debug information of these marks, and names the functions that the program was cut into after the groups that
// they begin with. Once, when the module is complete.
void add_debug_information(llvm::Module& module, const loop::Program& program, const Outline& outline,
                           std::string_view symbol);

}  // namespace ct::jit
