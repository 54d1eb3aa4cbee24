#include "jit/export/c_source.h"

#include <cstdint>
#include <utility>

#include "jit/export/lower_function.h"
#include "jit/llvm/compiler.h"
#include "runtime/error.h"
#include "runtime/status.h"
#include "runtime/text.h"

namespace ct {

absl::StatusOr<SourceOfLibrary> library_source(const std::vector<SourceFunction>& functions,
                                               const LibraryTarget& target) {
  const auto facts = jit::target_facts(target.options(target.cpus[0]));
  if (!facts.ok()) return facts.status();
  jit::c::Helpers helpers(*facts);
  SourceOfLibrary made;
  std::string programs;
  try {
    for (const SourceFunction& each : functions) {
      LoweredFunction lowered = lower_function(each.graph, each.function, INT64_MAX);
      jit::c::Source source = jit::c::emit_source(lowered.program, each.names, helpers);
      lowered.function.arena_bytes = source.arena_bytes;
      programs += concat("\n", std::exchange(source.text, ""));
      made.functions.push_back(
          {std::move(source), jit::CWorkspace(lowered.function), std::move(lowered.function.lengths)});
    }
  } catch (const Error& error) {
    return status_of(error);
  }
  made.text = concat(jit::c::preamble(*facts), "\n", helpers.text(), programs);
  return made;
}

}  // namespace ct
