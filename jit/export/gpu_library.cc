#include "jit/export/gpu_library.h"

#include <algorithm>
#include <charconv>

#include "device/cuda/exported/runtime_object.h"
#include "ir/serialize.h"
#include "jit/compile.h"
#include "jit/export/gpu_header.h"
#include "jit/export/gpu_program.h"
#include "jit/export/lengths.h"
#include "jit/llvm/compiler.h"
#include "jit/llvm/gpu_c_functions.h"
#include "jit/llvm/link.h"
#include "runtime/status.h"
#include "runtime/text.h"
#include "transforms/higher_order/custom_rule.h"

namespace ct {
namespace {

// The header, the libraries of these objects, and the graph.
absl::StatusOr<std::vector<ExportedFile>> files(const GraphPtr& graph, const GpuLibraryOptions& options,
                                                std::string header, const std::vector<jit::ArchiveMember>& objects) {
  const std::string& name = options.name;
  auto archive = jit::write_archive(objects);
  if (!archive.ok()) return archive.status();
  std::vector<std::string> codes;
  codes.reserve(objects.size());
  for (const jit::ArchiveMember& object : objects) codes.push_back(object.bytes);
  auto shared = jit::link_shared_library(codes, concat("lib", name, ".so"));
  if (!shared.ok()) return shared.status();
  return std::vector<ExportedFile>{
      {concat(name, ".h"), std::move(header)},
      {concat("lib", name, ".a"), *std::move(archive)},
      {concat("lib", name, ".so"), *std::move(shared)},
      {concat(name, ".ctir"), serialize(*with_rules_captured(graph), {}, options.constants)}};
}

constexpr std::string_view kCuda = "cuda";
constexpr int kLeastCapability = 80, kAnyPtx = 1000;
// What loads and launches runs on a processor of the kind of this one, on any of its systems.
#ifdef __x86_64__
constexpr const char *kHostTriple = "x86_64-linux-gnu", *kHostCpu = "x86-64-v2";
#else
constexpr const char *kHostTriple = "aarch64-linux-gnu", *kHostCpu = "generic";
#endif

// "cuda": the oldest; "cuda:sm_90".
absl::StatusOr<std::string> gpu_architecture(std::string_view target) {
  constexpr std::string_view kSm = "cuda:sm_";
  int capability = target == kCuda ? kLeastCapability : 0;
  if (target.starts_with(kSm)) {
    const char* end = target.data() + target.size();
    if (std::from_chars(target.data() + kSm.size(), end, capability).ptr != end) capability = 0;
  }
  std::string architecture = concat("sm_", capability);
  if (capability >= kLeastCapability && jit::kernel_architecture(capability, kAnyPtx) == architecture) {
    return architecture;
  }
  return absl::InvalidArgumentError(
      concat("'", target, "' is no target\n  choose 'cuda', for all GPUs from compute capability 8.0 on, or one like ",
             "'cuda:sm_90', for those from 9.0 on"));
}

absl::StatusOr<std::vector<ExportedFile>> make_files(const GraphPtr& graph, const GpuLibraryOptions& options) {
  const auto architecture = gpu_architecture(options.target);
  if (!architecture.ok()) return architecture.status();
  Machine machine = kGpu;
  machine.has_product_library = options.product_library;
  const auto plan = compile_kernels(graph, *architecture, machine);
  if (!plan.ok()) return plan.status();
  const auto program = gpu_program(*plan, options.constants);
  if (!program.ok()) return program.status();
  auto object = jit::emit_gpu_object(*program, options.name, {.triple = kHostTriple, .cpu = kHostCpu});
  if (!object.ok()) return object.status();
  const bool has_products = !program->products.empty();
  int64_t workspace_bytes = has_products ? program->workspace_bytes : plan->arena_bytes;
  if (has_products) workspace_bytes += static_cast<int64_t>(cuda::cublas::kMostWorkspaceBytes);
  const auto lengths = jit::bounded_inputs(*graph, graph->num_inputs() - options.constants.size());
  return files(graph, options, gpu_header(*graph, options, workspace_bytes, has_products, *architecture, lengths),
               {{concat(options.name, ".o"), *std::move(object)},
                {"cotangent_cuda.o", std::string(cuda::exported::runtime_object())}});
}

}  // namespace

absl::StatusOr<std::vector<ExportedFile>> gpu_library(const GraphPtr& graph, const GpuLibraryOptions& options) {
  try {
    return make_files(graph, options);
  } catch (const Error& error) {
    return status_of(error);
  }
}

}  // namespace ct
