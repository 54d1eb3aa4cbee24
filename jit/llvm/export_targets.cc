// The machines that programs are exported for: those that the tests run or inspect. Everything else is an error that
// lists these: an untested target is one whose code may be silently wrong.
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <cctype>

#include "jit/llvm/compiler.h"
#include "runtime/text.h"

namespace ct::jit {
namespace {

struct ExportTarget {
  const char* name;  // in messages, and what users write
  llvm::Triple::ArchType architecture;
  llvm::Triple::EnvironmentType environment;
  const char* cpu;  // where none is given
};

// Little-endian, 64-bit pointers, ELF, Linux's calling conventions: emitter, constants and linker rely on each.
constexpr ExportTarget kExportTargets[] = {
    {"x86_64-linux-gnu", llvm::Triple::x86_64, llvm::Triple::GNU, "x86-64-v2"},
    {"x86_64-linux-musl", llvm::Triple::x86_64, llvm::Triple::Musl, "x86-64-v2"},
    {"aarch64-linux-gnu", llvm::Triple::aarch64, llvm::Triple::GNU, "generic"},
    {"aarch64-linux-musl", llvm::Triple::aarch64, llvm::Triple::Musl, "generic"},
};

bool matches(const ExportTarget& target, const llvm::Triple& triple) {
  const bool same_environment =
      triple.getEnvironment() == target.environment ||
      (triple.getEnvironment() == llvm::Triple::UnknownEnvironment && target.environment == llvm::Triple::GNU);
  // Not by what LLVM takes the name for: x86_64h and arm64e are other machines to it, too.
  const llvm::StringRef name = triple.getArchName();
  const bool same_architecture = target.architecture == llvm::Triple::x86_64 ? name == "x86_64" || name == "amd64"
                                                                             : name == "aarch64" || name == "arm64";
  return same_architecture && triple.getArch() == target.architecture && triple.getOS() == llvm::Triple::Linux &&
         same_environment && triple.isOSBinFormatELF();
}

}  // namespace

std::vector<std::string> export_target_names() {
  std::vector<std::string> names;
  for (const ExportTarget& target : kExportTargets) names.push_back(target.name);
  return names;
}

absl::StatusOr<TargetOptions> export_target(const TargetOptions& options) {
  for (const std::string& name : {options.triple, options.cpu}) {
    // LLVM knows the parts of a triple by how they begin.
    const bool plain = std::ranges::all_of(name, [](unsigned char c) {
      return c < 128 &&
             (std::isalnum(c) || std::string_view("-_.+").find(static_cast<char>(c)) != std::string_view::npos);
    });
    if (!plain) return absl::InvalidArgumentError(concat("'", name, "' names no target and no processor"));
  }
  if (options.triple.empty()) return options;
  const llvm::Triple triple(llvm::Triple::normalize(options.triple));
  for (const ExportTarget& target : kExportTargets) {
    if (!matches(target, triple)) continue;
    return TargetOptions{target.name, options.cpu.empty() ? target.cpu : options.cpu, options.vector_bits};
  }
  return absl::InvalidArgumentError(concat("there is no tested code generation for the target '", options.triple,
                                           "'; choose one of: ", join(export_target_names(), ", ")));
}

}  // namespace ct::jit
