#include "jit/compile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "ir/check.h"
#include "ir/error.h"
#include "ir/print.h"
#include "ir/process.h"
#include "ir/text.h"
#include "jit/cost/cost.h"
#include "jit/llvm/compiler.h"
#include "jit/llvm/memory.h"
#include "jit/loop/check.h"
#include "jit/loop/passes/sums.h"
#include "jit/lower/lower.h"
#include "jit/schedule/buffers.h"
#include "jit/schedule/merge.h"
#include "jit/schedule/order.h"
#include "jit/store/cache.h"
#include "jit/store/disk_cache.h"
#include "transforms/higher_order/custom_rule.h"
#include "transforms/transforms.h"
#include "transforms/windows.h"

namespace ct {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] != '\0' && std::strcmp(value, "0") != 0;
}

bool dump_wanted() {
  static const bool wanted = is_set("CT_DUMP");
  return wanted;
}

bool check_wanted() {
#ifdef NDEBUG
  static const bool wanted = is_set("CT_CHECK_PASSES");
  return wanted;
#else
  return true;
#endif
}

void dump(const char* pass, const std::string& text) {
  std::fprintf(stderr, "---- after %s ----\n%s\n", pass, text.c_str());
}

thread_local StageTimes* stage_times = nullptr;

class Stopwatch {
 public:
  explicit Stopwatch(const char* name) : name_(name), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() {
    if (stage_times == nullptr) return;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    stage_times->stages.push_back({name_, passed.count()});
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  const char* name_;
  std::chrono::steady_clock::time_point start_;
};

// What passes work on: graphs, which are made anew, and programs of loops, which are changed.
void apply(GraphPtr (*pass)(const Graph&), GraphPtr& graph) { graph = pass(*graph); }
template <typename Pass>
void apply(const Pass& pass, loop::Program& program) {
  pass(program);
}
std::string text_of(const GraphPtr& graph) { return print(*graph); }
std::string text_of(const loop::Program& program) { return loop::to_string(program); }
std::string problem_of(const GraphPtr& graph) { return check(*graph); }
std::string problem_of(const loop::Program& program) { return loop::check(program); }

// Runs one pass: timed under its name, printed when asked for and when it changed something, and checked where that is
// wanted.
template <typename Program, typename Pass>
void run_pass(const char* name, const Pass& pass, Program& program) {
  let_others_fork();
  const std::string before = dump_wanted() ? text_of(program) : "";
  {
    const Stopwatch stopwatch(name);
    apply(pass, program);
  }
  if (dump_wanted()) {
    if (const std::string after = text_of(program); after != before) dump(name, after);
  }
  if (!check_wanted()) return;
  if (const std::string problem = problem_of(program); !problem.empty()) {
    throw Error(ErrorKind::kInternal, concat("the pass '", name, "' made an illegal program: ", problem));
  }
}

GraphPtr expand_but_loops(const Graph& graph) { return expand_host_calls(graph, jit::always_loops); }
GraphPtr expand_all_host_calls(const Graph& graph) {
  return expand_host_calls(graph, [](const Primitive&, const Attrs&, absl::Span<const Aval>) { return false; });
}

}  // namespace

StageTimes::StageTimes() : enclosing_(stage_times) { stage_times = this; }
StageTimes::~StageTimes() { stage_times = enclosing_; }

GraphPtr prepare(const GraphPtr& graph, Home home) {
  GraphPtr g = graph;
  if (dump_wanted()) dump("capture", print(*g));
  // Mask regions, batched regions, custom rules and checkpoints become the primitives they stand for.
  run_pass("expand_regions", expand_regions, g);
  // What libraries of this process compute, too, as far as there are rules for it.
  if (home != Home::kProcess) {
    run_pass("expand_host_calls", home == Home::kLibrary ? expand_but_loops : expand_all_host_calls, g);
  }
  // Calls become their equations, so that what follows sees across them.
  run_pass("inline_calls", inline_calls, g);
  // Derivatives of products with windows as such products; before what takes slices of pieces apart.
  run_pass("canonical_windows", canonical_windows, g);
  // Arrays put together from pieces in one form; before what makes updates of concatenations of many pieces.
  run_pass("canonical_pieces", canonical_pieces, g);
  // Folds in one form, however they were written: first, as what is concatenated has other forms later.
  run_pass("canonical_folds", canonical_folds, g);
  // Algebra that makes equations go away; first, because it exposes equal subexpressions.
  run_pass("simplify", simplify, g);
  // One computation of what is computed twice: derivatives repeat parts of what they derive.
  run_pass("common_subexpressions", eliminate_common_subexpressions, g);
  // What nothing needs any more, also inside loops and branches.
  run_pass("dead_code", eliminate_dead_code, g);
  // Products that the steps of a scan need not make one by one, like those of a recurrent network's inputs.
  run_pass("hoist_products", hoist_products, g);
  return g;
}

loop::Program lower_prepared(const Graph& graph, std::string_view name, bool kernels,
                             jit::HostFunctions* host_functions) {
  loop::Program program;
  // Fusion decides which variables get memory and which loops compute them; lowering writes those loops.
  const jit::LoweringOptions options{.kernels = kernels, .host_functions = host_functions};
  run_pass("lower", [&](loop::Program& made) { made = jit::lower(graph, name, options); }, program);
  if (!kernels) {
    // Sums down columns go row by row, transposes by tiles.
    run_pass("order_loops", jit::order_loops, program);
    // What one loop leaves in the cache the next one uses.
    run_pass("merge_loops", jit::merge_loops, program);
    // Float sums of any length are as exact as short ones.
    run_pass("split_long_sums", jit::split_long_sums, program);
  }
  // Copies and double buffers that are not needed go; temporaries that are never alive together share memory.
  run_pass("assign_buffers", jit::assign_buffers, program);
  return program;
}

namespace {

// What code on disk was made from, in full.
std::string source_text(const Graph& graph, const CompileOptions& options) {
  std::string donated;
  for (bool flag : options.donated) donated += flag ? '1' : '0';
  return concat(jit::build_fingerprint(), "\n", jit::host_cpu_features(), "\ncpu=", options.cpu, "\ndonated=", donated,
                "\n", print(graph));
}

// Values of the front end, Python objects say, whose text does not tell what they are.
bool holds_opaque(const Graph& graph) {
  for (const Equation& equation : graph.equations()) {
    for (const auto& [key, value] : graph.attrs(equation).items()) {
      if (std::holds_alternative<OpaquePtr>(value)) return true;
      if (const auto* inner = std::get_if<GraphPtr>(&value); inner != nullptr && holds_opaque(**inner)) return true;
      if (const auto* inner = std::get_if<std::vector<GraphPtr>>(&value)) {
        for (const GraphPtr& branch : *inner) {
          if (holds_opaque(*branch)) return true;
        }
      }
    }
  }
  return false;
}

absl::StatusOr<jit::Made> compile_llvm(const GraphPtr& graph, const CompileOptions& options) {
  Plan plan;
  plan.name = "program";
  const auto avals = graph->input_avals();
  plan.inputs.assign(avals.begin(), avals.end());
  plan.outputs = graph->output_avals();
  const jit::TargetOptions target{.triple = "", .cpu = options.cpu};
  jit::HostFunctions host_functions;
  auto finish = [&](const jit::CompiledFunction& function, std::shared_ptr<const loop::Program> program) {
    plan.entry = function.entry();
    plan.arena_bytes = function.arena_bytes();
    plan.code = std::make_shared<jit::CompiledFunction>(function);
    return std::make_shared<const Executable>(std::move(plan), graph, std::move(program), std::move(host_functions));
  };

  // A file is found by the program's text, which opaque values are not part of.
  const bool on_disk = options.use_disk_cache && !jit::disk_cache_directory().empty() && !holds_opaque(*graph);
  std::string source;
  if (on_disk) {
    source = source_text(*graph, options);
    if (auto stored = jit::load_from_disk(source)) {
      auto function = jit::load_object({std::move(stored->objects), stored->symbol, stored->arena_bytes});
      // The object refers to host functions by their position; lowering finds the same ones again.
      if (stored->host_functions > 0) lower_prepared(*prepare(graph), plan.name, false, &host_functions);
      if (function.ok() && host_functions.size() == stored->host_functions) {
        plan.donations = std::move(stored->donations);
        plan.nanoseconds = stored->nanoseconds;
        return jit::Made{finish(*function, nullptr), true};
      }
      host_functions.clear();
    }
  }

  const GraphPtr prepared = prepare(graph);
  auto program = std::make_shared<const loop::Program>(lower_prepared(*prepared, plan.name, false, &host_functions));
  plan.donations = jit::donations(*program, options.donated);
  plan.nanoseconds = static_cast<int64_t>(std::min(jit::CostModel(*program).program(), 1e15));
  // Nobody knows how often such a loop goes round.
  if (!program->whiles.empty()) plan.nanoseconds = std::max(plan.nanoseconds, kMayBeLong);
  if (!on_disk) {
    auto function = jit::compile(*program, target);
    if (!function.ok()) return function.status();
    return jit::Made{finish(*function, program)};
  }
  auto object = jit::emit_object(*program, "ct_program", target);
  if (!object.ok()) return object.status();
  auto function = jit::load_object(*object);
  if (!function.ok()) return function.status();
  jit::store_on_disk(source, {std::move(object->objects), object->symbol, object->arena_bytes, plan.nanoseconds,
                              plan.donations, host_functions.size()});
  return jit::Made{finish(*function, program)};
}

jit::Made compile_interpreter(const GraphPtr& graph) {
  Plan plan;
  plan.name = "interpreted";
  const auto avals = graph->input_avals();
  plan.inputs.assign(avals.begin(), avals.end());
  plan.outputs = graph->output_avals();
  plan.donations.assign(plan.outputs.size(), -1);
  plan.nanoseconds = kMayBeLong;
  for (Var var = graph->num_inputs(); var < graph->num_vars(); ++var)
    plan.nanoseconds += 1000 + graph->aval(var).size();
  return {std::make_shared<const Executable>(std::move(plan), graph, nullptr)};
}

}  // namespace

std::vector<std::string> backend_names() { return {"llvm", "interpreter"}; }

absl::StatusOr<std::shared_ptr<const Executable>> compile(const GraphPtr& captured, const CompileOptions& options) {
  const GraphPtr graph = without_rules(captured);  // found by what it computes
  const std::vector<std::string> names = backend_names();
  if (std::find(names.begin(), names.end(), options.backend) == names.end()) {
    return absl::InvalidArgumentError(
        concat("there is no backend named '", options.backend, "'; choose one of: ", join(names, ", ")));
  }
  return jit::cached(graph, options, [&]() -> absl::StatusOr<jit::Made> {
    try {
      if (options.backend == "interpreter") return compile_interpreter(graph);
      return compile_llvm(graph, options);
    } catch (const std::bad_alloc&) {
      return jit::out_of_memory();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kUnsupported) return absl::UnimplementedError(error.what());
      if (error.kind() == ErrorKind::kMemory) return absl::ResourceExhaustedError(error.what());
      return absl::InternalError(error.what());
    }
  });
}

std::string loop_text(const Executable& executable) {
  if (executable.program() != nullptr) return loop::to_string(*executable.program());
  if (executable.plan().entry == nullptr) return print(*executable.graph());
  jit::HostFunctions host_functions;
  return loop::to_string(lower_prepared(*prepare(executable.graph()), executable.plan().name, false, &host_functions));
}

}  // namespace ct
