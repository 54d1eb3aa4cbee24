#include "jit/ptx.h"

#include "ir/error.h"
#include "jit/compile.h"

namespace ct {

absl::StatusOr<jit::PtxModule> compile_to_ptx_module(const GraphPtr& graph, std::string_view sm) {
  try {
    return jit::emit_ptx(lower_prepared(*prepare(graph, Home::kDevice), "kernels", /*kernels=*/true), sm);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUnsupported) return absl::UnimplementedError(error.what());
    return absl::InternalError(error.what());
  }
}

absl::StatusOr<std::string> compile_to_ptx(const GraphPtr& graph, std::string_view sm) {
  absl::StatusOr<jit::PtxModule> module = compile_to_ptx_module(graph, sm);
  if (!module.ok()) return module.status();
  return std::move(module->text);
}

}  // namespace ct
