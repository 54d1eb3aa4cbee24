#include "jit/export/library.h"

#include <algorithm>
#include <utility>

#include "jit/compile.h"
#include "jit/cost/cost.h"
#include "jit/export/lower_function.h"
#include "jit/llvm/cpu_words.h"
#include "jit/llvm/link.h"
#include "jit/llvm/stack_sizes.h"
#include "runtime/status.h"
#include "runtime/text.h"

namespace ct {
namespace {

// Constants up to this size are in the code of every level; larger ones are in the library once.
constexpr int64_t kInCode = 4096;
// What a C function takes of the stack by itself, with what it calls to ask for the processor: numbers that are given
// by value, and pointers to arrays. More than it is; make_library looks.
int64_t stack_of_call(const jit::CFunction& function) {
  const auto pointers =
      static_cast<int64_t>(function.inputs.size() + function.constants.size() + function.outputs.size());
  return 1024 + 32 * static_cast<int64_t>(function.parameters.size()) + 2 * pointers +
         (jit::CWorkspace(function).pointers < 0 ? 8 * pointers : 0);
}

struct NamedTarget {
  const char* name;
  const char* triple;
  std::vector<std::string> cpus;
  const char* least_cpu;
  const char* features = "";
  LibraryTarget::Kind kind = LibraryTarget::Kind::kLinux;
};

// Those that the tests run: an untested target is one whose code may be silently wrong.
const std::vector<NamedTarget>& targets() {
  static const auto& known = *new std::vector<NamedTarget>{
      {"x86-64", "x86_64-linux-gnu", {"x86-64-v2", "x86-64-v3", "x86-64-v4"}, "x86-64"},
      {"x86-64-v2", "x86_64-linux-gnu", {"x86-64-v2"}, "x86-64"},
      {"x86-64-v3", "x86_64-linux-gnu", {"x86-64-v3"}, "x86-64"},
      {"x86-64-v4", "x86_64-linux-gnu", {"x86-64-v4"}, "x86-64"},
      {"aarch64", "aarch64-linux-gnu", {"generic"}, "generic"},
      {"riscv64", "riscv64-unknown-linux-gnu", {"generic-rv64"}, "generic-rv64", "+m,+a,+f,+d,+c"},
      {"riscv64-v", "riscv64-unknown-linux-gnu", {"generic-rv64"}, "generic-rv64", "+m,+a,+f,+d,+c,+v"},
      // NEON flushes subnormal numbers.
      {"armv7", "armv7-unknown-linux-gnueabihf", {"generic"}, "generic", "-neon,-d32,+vfp4d16"},
      {"cortex-m4f", "thumbv7em-unknown-none-eabihf", {"cortex-m4"}, "cortex-m4", "", LibraryTarget::Kind::kBare},
      {"cortex-m7", "thumbv7em-unknown-none-eabihf", {"cortex-m7"}, "cortex-m7", "", LibraryTarget::Kind::kBare},
      {"cortex-m33", "thumbv8m.main-unknown-none-eabihf", {"cortex-m33"}, "cortex-m33", "", LibraryTarget::Kind::kBare},
      {"wasm32",
       "wasm32-unknown-unknown",
       {"generic"},
       "generic",
       "+simd128,+bulk-memory,+bulk-memory-opt,+nontrapping-fptoint,+sign-ext",
       LibraryTarget::Kind::kWasm},
#ifdef __x86_64__
      {"native", "", {""}, "x86-64"},
#else
      {"native", "", {""}, "generic"},
#endif
  };
  return known;
}

}  // namespace

std::vector<std::string> library_target_names() {
  std::vector<std::string> names;
  for (const NamedTarget& target : targets()) names.emplace_back(target.name);
  return names;
}

std::string_view library_version() { return CT_VERSION; }

absl::StatusOr<LibraryTarget> library_target(std::string_view name, bool portable) {
  for (const NamedTarget& target : targets()) {
    if (name == target.name) {
      return LibraryTarget{target.name,     target.triple, target.cpus, target.least_cpu,
                           target.features, target.kind,   portable};
    }
  }
  return absl::InvalidArgumentError(concat("there is no tested code generation for the target '", name,
                                           "'\n  choose one of: ", join(library_target_names(), ", ")));
}

absl::StatusOr<unsigned> pointer_bits(const LibraryTarget& target) {
  const auto level = jit::borrow_target(target.options(target.cpus.front()));
  if (!level.ok()) return level.status();
  return (*level)->pointer_bits();
}

absl::StatusOr<CompiledFunction> compile_function(const GraphPtr& graph, const LibraryFunction& function,
                                                  const LibraryTarget& target) {
  CompiledFunction made;
  jit::CFunction& c = made.function;
  try {
    LoweredFunction lowered = lower_function(graph, function, kInCode);
    const loop::Program& program = lowered.program;
    c = std::move(lowered.function);
    made.nanoseconds = static_cast<int64_t>(std::min(jit::CostModel(program).program(), 1e15));
    made.bounded = program.whiles.empty();
    // Nobody knows how often such a loop goes round.
    if (!made.bounded) made.nanoseconds = std::max(made.nanoseconds, kMayBeLong);
    for (size_t level = 0; level < target.cpus.size(); ++level) {
      c.entries.push_back(concat(function.symbol, "_entry_", level));
      auto entry = jit::emit_library_entry(program, c.entries.back(), target.options(target.cpus[level]),
                                           target.kind == LibraryTarget::Kind::kLinux);
      if (!entry.ok()) return entry.status();
      const auto stack = jit::stack_sizes(entry->object);
      if (!stack.ok()) return stack.status();
      made.stack_bytes = std::max(made.stack_bytes, stack->all);
      made.objects.push_back(std::move(entry->object));
      c.arena_bytes = std::max(c.arena_bytes, entry->arena_bytes);
      c.shares_loops = c.shares_loops || entry->shares_loops;
    }
    made.stack_bytes += stack_of_call(c);
    // LLVM notes no sizes there.
    if (target.kind == LibraryTarget::Kind::kWasm) made.stack_bytes = jit::kWasmStackBytes;
  } catch (const Error& error) {
    return status_of(error);
  }
  return made;
}

absl::StatusOr<LibraryFiles> make_library(const std::string& name, const std::vector<CompiledFunction>& functions,
                                          const std::string& description, uint64_t signature, bool checks,
                                          const LibraryTarget& target) {
  jit::CLibrary library{.name = name,
                        .description = description,
                        .signature = signature,
                        .checks = checks,
                        .levels = {},
                        .functions = {}};
  for (const std::string& cpu : target.cpus) {
    const auto level = jit::borrow_target(target.options(cpu));
    if (!level.ok()) return level.status();
    library.levels.push_back(jit::cpu_words(**level));
  }
  std::vector<jit::ArchiveMember> members;
  for (const CompiledFunction& function : functions) {
    library.functions.push_back(function.function);
    for (size_t level = 0; level < function.objects.size(); ++level) {
      members.push_back({concat(function.function.entries[level], ".o"), function.objects[level]});
    }
  }
  auto calls = jit::emit_c_functions(library, target.options(target.least_cpu));
  if (!calls.ok()) return calls.status();
  const auto stack = jit::stack_sizes(*calls);
  if (!stack.ok()) return stack.status();
  int64_t most = 0;
  for (const jit::CFunction& function : library.functions) most = std::max(most, stack_of_call(function));
  if (stack->largest > most - 256) {
    return absl::InternalError(concat("a function of ", name, " takes ", stack->largest, " bytes of stack"));
  }
  members.insert(members.begin(), {concat(name, ".o"), *std::move(calls)});
  auto archive = jit::write_archive(members);
  if (!archive.ok()) return archive.status();
  std::vector<std::string> codes;
  codes.reserve(members.size());
  for (jit::ArchiveMember& member : members) codes.push_back(std::move(member.bytes));
  LibraryFiles files{*std::move(archive), ""};
  if (target.kind == LibraryTarget::Kind::kBare) return files;
  std::vector<std::string> shown = {concat(name, "_check"), concat(name, "_signature"), concat(name, "_describe"),
                                    concat(name, "_error")};
  for (const CompiledFunction& function : functions) {
    shown.push_back(function.function.name);
    shown.push_back(concat(function.function.name, "_leaves"));
  }
  auto linked = target.kind == LibraryTarget::Kind::kWasm ? jit::link_wasm_module(codes, shown)
                                                          : jit::link_shared_library(codes, concat("lib", name, ".so"));
  if (!linked.ok()) return linked.status();
  files.linked = *std::move(linked);
  return files;
}

}  // namespace ct
