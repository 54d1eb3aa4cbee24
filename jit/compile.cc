#include "jit/compile.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "device/cpu/cpu.h"
#include "device/cuda/cuda.h"
#include "device/emulated/emulated.h"
#include "ir/check.h"
#include "ir/print.h"
#include "jit/backend.h"
#include "jit/cost/cost.h"
#include "jit/large_graphs.h"
#include "jit/llvm/compiler.h"
#include "jit/llvm/debugging.h"
#include "jit/llvm/library_products.h"
#include "jit/llvm/memory.h"
#include "jit/loop/check.h"
#include "jit/loop/passes/sums.h"
#include "jit/lower/lower.h"
#include "jit/schedule/buffers.h"
#include "jit/schedule/gather_in_blocks.h"
#include "jit/schedule/merge.h"
#include "jit/schedule/order.h"
#include "jit/schedule/read_before_update.h"
#include "jit/schedule/read_early.h"
#include "jit/schedule/split_rows.h"
#include "jit/schedule/use_in_blocks.h"
#include "jit/store/cache.h"
#include "jit/store/disk_cache.h"
#include "jit/store/ready_code.h"
#include "runtime/error.h"
#include "runtime/freed_memory.h"
#include "runtime/interrupt.h"
#include "runtime/process.h"
#include "runtime/status.h"
#include "runtime/text.h"
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
template <typename Pass>
void apply(const Pass& pass, GraphPtr& graph) {
  graph = pass(*graph);
}
template <typename Pass>
void apply(const Pass& pass, loop::Program& program) {
  pass(program);
}
std::string text_of(const GraphPtr& graph) { return print(*graph); }
// Before lowering there is none.
std::string text_of(const loop::Program& program) { return program.blocks.empty() ? "" : loop::to_string(program); }
std::string problem_of(const GraphPtr& graph) { return check(*graph); }
std::string problem_of(const loop::Program& program) { return loop::check(program); }

// Runs one pass: timed under its name, printed when asked for and when it changed something, and checked where that is
// wanted.
template <typename Program, typename Pass>
void run_pass(const char* name, const Pass& pass, Program& program) {
  let_others_fork();
  throw_if_stopped();
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

const Machine& this_process() {
  static const Machine machine = [] {
    Machine made = kThisProcess;
    made.bfloat16_products = jit::host_has_bfloat16_tiles();
    return made;
  }();
  return machine;
}

GraphPtr prepare(const GraphPtr& graph, const Machine& machine, Products products) {
  GraphPtr g = graph;
  if (dump_wanted()) dump("capture", print(*g));
  // Mask regions, batched regions, custom rules and checkpoints become the primitives they stand for.
  run_pass("expand_regions", expand_all_but_terms, g);
  // What libraries of this process compute, too, as far as there are rules for it.
  if (machine.libraries != Machine::Libraries::kProcess) {
    const bool loops = machine.libraries == Machine::Libraries::kLoops;
    run_pass("expand_host_calls", loops ? expand_but_loops : expand_all_host_calls, g);
  }
  // Calls become their equations, so that what follows sees across them.
  run_pass("inline_calls", inline_calls, g);
  // Of what the forward pass computes for an element-wise derivative one array is kept; while products know that zeros
  // win.
  run_pass("factor_slopes", factor_slopes, g);
  // What only `contract` knows as it is, where that may look at it.
  if (any_with_terms(*g))
    run_pass("expand_but_grown", products == Products::kOff ? expand_regions : expand_but_grown, g);
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
  // Gradients of what an example chooses by branches.
  if (products != Products::kOff) run_pass("products_after_branches", products_after_branches, g);
  // Products that the steps of a scan need not make one by one, like those of a recurrent network's inputs.
  run_pass("hoist_products", hoist_products, g);
  // What is made of products that are larger than their factors, norms of each example's gradient say, without these.
  if (products != Products::kOff) {
    run_pass("contract", [&](const Graph& whole) { return contract(whole, products); }, g);
  }
  // And the rest.
  if (any_with_terms(*g)) {
    run_pass("expand_terms", expand_regions, g);
    run_pass("common_subexpressions", eliminate_common_subexpressions, g);
  }
  return g;
}

loop::Program lower_prepared(const Graph& graph, std::string_view name, const Machine& machine,
                             jit::HostFunctions* host_functions, const jit::Donated* donated) {
  loop::Program program;
  // Fusion decides which variables get memory and which loops compute them; lowering writes those loops.
  const jit::LoweringOptions options{.machine = machine, .host_functions = host_functions};
  run_pass("lower", [&](loop::Program& made) { made = jit::lower(graph, name, options); }, program);
  if (machine.chunks) {
    // Sums down columns go row by row, transposes by tiles.
    run_pass("order_loops", jit::order_loops, program);
    // What one loop leaves in the cache the next one uses.
    run_pass("merge_loops", jit::merge_loops, program);
    // What windows see is made where it is multiplied.
    run_pass("gather_in_blocks", jit::gather_in_blocks, program);
    // And what they are added to, where products are made.
    run_pass("use_in_blocks", jit::use_in_blocks, program);
    // Float sums of any length are as exact as short ones.
    run_pass("split_long_sums", jit::split_long_sums, program);
  }
  // What loops carry and change in place is read before.
  run_pass("read_before_update", jit::read_before_update, program);
  // Then it needs no second buffer.
  run_pass("remove_swaps", jit::remove_swaps, program);
  // Rows that have nothing to do with each other take their steps by themselves, on all threads.
  if (machine.chunks && machine.libraries == Machine::Libraries::kProcess) {
    run_pass("split_rows", jit::split_rows, program);
  }
  // What is read for the last time makes room.
  run_pass("read_early", jit::read_early, program);
  // Copies and double buffers that are not needed go; temporaries that are never alive together share memory.
  run_pass("assign_buffers", [&](loop::Program& made) { jit::assign_buffers(made, donated); }, program);
  return program;
}

namespace {

// What code on disk was made from, in full.
std::string source_text(const Graph& graph, const CompileOptions& options, const Backend& backend) {
  std::string donated;
  for (bool flag : options.donated) donated += flag ? '1' : '0';
  return concat(jit::build_fingerprint(), "\n", jit::host_cpu_features(), "\nbackend=", backend.kind,
                "\ncpu=", options.cpu, "\ntarget=", backend.target ? backend.target(graph) : "",
                "\nproducts=", static_cast<int>(options.products), "\ndonated=", donated, "\n", print(graph));
}

// In it, or in a graph inside of it.
bool any_equation(const Graph& graph, const std::function<bool(const Graph& graph, const Equation& equation)>& is_one) {
  for (const Equation& equation : graph.equations()) {
    if (is_one(graph, equation)) return true;
    for (const auto& [key, value] : graph.attrs(equation).items()) {
      if (const auto* inner = std::get_if<GraphPtr>(&value); inner != nullptr && any_equation(**inner, is_one)) {
        return true;
      }
      if (const auto* inner = std::get_if<std::vector<GraphPtr>>(&value)) {
        for (const GraphPtr& branch : *inner) {
          if (any_equation(*branch, is_one)) return true;
        }
      }
    }
  }
  return false;
}

// Values of the front end, Python objects say, whose text does not tell what they are.
bool holds_opaque(const Graph& graph) {
  return any_equation(graph, [](const Graph& around, const Equation& equation) {
    return std::ranges::any_of(around.attrs(equation).items(),
                               [](const auto& item) { return std::holds_alternative<OpaquePtr>(item.second); });
  });
}

void add_types(Plan& plan, const Graph& graph) {
  const auto avals = graph.input_avals();
  plan.inputs.assign(avals.begin(), avals.end());
  plan.outputs = graph.output_avals();
}

// What `body` throws, as a status.
template <class Body>
auto as_status(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return jit::out_of_memory();
  } catch (const Error& error) {
    return status_of(error);
  }
}

// ---- the back ends of this process --------------------------------------------------------------------------------

constexpr const char* kProgram = "program";

absl::StatusOr<Plan> plan_native(const GraphPtr& graph, const CompileOptions& options,
                                 jit::HostFunctions& host_functions) {
  const jit::Donated donated{options.donated};
  const loop::Program program = lower_prepared(*prepare(graph, this_process(), options.products), kProgram,
                                               this_process(), &host_functions, &donated);
  auto plan = jit::emit_object(program, "ct_program", {.triple = "", .cpu = options.cpu, .vector_bits = 0});
  if (!plan.ok()) return plan;
  plan->donations = jit::donations(program, donated);
  plan->nanoseconds = static_cast<int64_t>(std::min(jit::CostModel(program).program(), 1e15));
  // Nobody knows how often such a loop goes round.
  if (!program.whiles.empty()) plan->nanoseconds = std::max(plan->nanoseconds, kMayBeLong);
  return plan;
}

// Lowering finds the same ones again, in the same order.
void find_host_functions(const GraphPtr& graph, const CompileOptions& options, jit::HostFunctions& host_functions) {
  lower_prepared(*prepare(graph, this_process(), options.products), kProgram, this_process(), &host_functions);
}

// One host function: the whole graph.
absl::StatusOr<Plan> plan_interpreted(const GraphPtr& graph, const CompileOptions&,
                                      jit::HostFunctions& host_functions) {
  Plan plan;
  plan.name = "interpreted";
  plan.target = "cpu";
  add_types(plan, *graph);
  plan.donations.assign(plan.outputs.size(), -1);
  plan.nanoseconds = kMayBeLong;
  for (Var var = graph->num_inputs(); var < graph->num_vars(); ++var) {
    plan.nanoseconds += 1000 + graph->aval(var).size();
  }
  HostStep step{host_functions.add({.inputs = plan.inputs, .outputs = plan.outputs, .graph = graph}), {}, {}};
  const auto place = [&](PlanBuffer::Kind kind, size_t position, const Aval& aval) -> ByteRange {
    plan.buffers.push_back(
        {.kind = kind, .position = static_cast<int32_t>(position), .offset = 0, .bytes = aval.bytes()});
    return {{static_cast<uint32_t>(plan.buffers.size() - 1), 0}, aval.bytes()};
  };
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    step.inputs.push_back(place(PlanBuffer::Kind::kInput, i, plan.inputs[i]));
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    step.outputs.push_back(place(PlanBuffer::Kind::kOutput, i, plan.outputs[i]));
  }
  plan.blocks = {{std::move(step)}};
  return plan;
}

// What has no kernels is one host function.
absl::StatusOr<Plan> plan_kernels(const GraphPtr& graph, const CompileOptions& options,
                                  jit::HostFunctions& host_functions, std::string_view architecture,
                                  const Machine& machine) {
  std::vector<int> donations;
  auto plan = as_status([&] {
    const GraphPtr prepared = prepare(graph, machine, options.products);
    const loop::Program program = lower_prepared(*prepared, kProgram, machine, &host_functions);
    donations = jit::donations(program, {options.donated});
    return jit::emit_kernels(program, architecture, machine, donations);
  });
  if (absl::IsUnimplemented(plan.status())) return plan_interpreted(graph, options, host_functions);
  if (!plan.ok()) return plan;
  plan->donations = std::move(donations);
  plan->nanoseconds = kMayBeLong;
  return plan;
}

Machine gpu_machine(bool has_product_library) {
  Machine machine = kGpu;
  machine.has_product_library = has_product_library;
  return machine;
}

absl::StatusOr<Plan> plan_emulated(const GraphPtr& graph, const CompileOptions& options,
                                   jit::HostFunctions& host_functions) {
  return plan_kernels(graph, options, host_functions, jit::kEmulated, gpu_machine(emulates_product_library()));
}

// Lowering finds the same ones again, in the same order; of what has no kernels there is the whole graph.
void find_host_functions_of_kernels(const GraphPtr& graph, const CompileOptions& options,
                                    jit::HostFunctions& host_functions) {
  const Machine machine = gpu_machine(emulates_product_library());
  const absl::Status lowered = as_status([&]() -> absl::Status {
    lower_prepared(*prepare(graph, machine, options.products), kProgram, machine, &host_functions);
    return absl::OkStatus();
  });
  if (absl::IsUnimplemented(lowered)) static_cast<void>(plan_interpreted(graph, options, host_functions));
}

// What an emulated GPU's kernels report, and whose products they leave out, is the environment's to say.
std::string emulated_target(const Graph&) {
  return concat(emulates_product_library() ? "with a library of products" : "", checks_races() ? ", races" : "");
}

std::string cuda_architecture(CudaDevice& gpu) {
  const CudaFacts facts = gpu.facts();
  return jit::kernel_architecture(facts.capability, facts.ptx);
}
// Opening the library takes longer than compiling a small program: nobody asks for it whose arrays are too small for
// that. A product of m x k and k x n is (m n k)^2 in what is multiplied here.
bool wants_product_library(const Graph& graph) {
  constexpr auto kLeast = static_cast<double>(jit::kLeastOfLibrary);
  return any_equation(graph, [](const Graph& around, const Equation& equation) {
    if (!equation.primitive->is<structures::Product>()) return false;
    double sizes = static_cast<double>(around.aval(equation.first_output).size());
    for (const Var operand : around.operands(equation)) sizes *= static_cast<double>(around.aval(operand).size());
    return sizes >= kLeast * kLeast;
  });
}
// Of a plan that has any.
void find_whole_graph(const GraphPtr& graph, const CompileOptions& options, jit::HostFunctions& host_functions) {
  static_cast<void>(plan_interpreted(graph, options, host_functions));
}

Backend cuda_backend(CudaDevice& gpu) {
  const auto has_library = [&gpu](const Graph& graph) {
    return wants_product_library(graph) && gpu.has_product_library();
  };
  return {
      .name = gpu.number() == 0 ? "cuda" : concat("cuda:", gpu.number()),
      .kind = "cuda",
      .device = &gpu,
      .make_plan =
          [&gpu, has_library](const GraphPtr& graph, const CompileOptions& options,
                              jit::HostFunctions& host_functions) {
            return plan_kernels(graph, options, host_functions, cuda_architecture(gpu),
                                gpu_machine(has_library(*graph)));
          },
      .find_host_functions = find_whole_graph,
      .target = [&gpu, has_library](
                    const Graph& graph) { return cuda_architecture(gpu) + (has_library(graph) ? " cuBLASLt" : ""); }};
}

const bool registered = [] {
  register_backend(
      {.name = "llvm", .device = &cpu_device(), .make_plan = plan_native, .find_host_functions = find_host_functions});
  register_backend({.name = "interpreter", .device = &cpu_device(), .make_plan = plan_interpreted});
  for (int number = 0; number < kMostGpus; ++number) register_backend(cuda_backend(cuda_device(number)));
  register_backend({.name = "cuda-emulated",
                    .device = &emulated_device(),
                    .make_plan = plan_emulated,
                    .find_host_functions = find_host_functions_of_kernels,
                    .target = emulated_target});
  return true;
}();

absl::StatusOr<const Backend*> named_backend(const std::string& name) {
  if (const Backend* found = find_backend(name)) return found;
  return absl::InvalidArgumentError(
      concat("there is no backend named '", name, "'\n  choose one of: ", join(backend_names(), ", ")));
}

// From the disk, or made now and kept there.
absl::StatusOr<LoadedPtr> make(const Backend& backend, const GraphPtr& graph, const CompileOptions& options,
                               bool& from_disk) {
  // A file is found by the program's text, which opaque values are not part of.
  const bool on_disk = options.use_disk_cache && !jit::debugging_wanted() && backend.find_host_functions != nullptr &&
                       !jit::disk_cache_directory().empty() && !holds_opaque(*graph);
  std::string source;
  if (on_disk) {
    source = source_text(*graph, options, backend);
    if (auto stored = jit::load_from_disk(source)) {
      auto host_functions = std::make_shared<jit::HostFunctions>();
      if (!stored->host_functions.empty()) backend.find_host_functions(graph, options, *host_functions);
      if (host_functions->texts() == stored->host_functions) {
        add_types(*stored, *graph);
        auto loaded = backend.device->load(*stored, std::move(host_functions));
        from_disk = loaded.ok();
        if (from_disk) return loaded;
      }
    }
  }
  BeforeCompiling::tell(*graph);
  auto host_functions = std::make_shared<jit::HostFunctions>();
  auto plan = backend.make_plan(graph, options, *host_functions);
  note_freed_memory();
  if (!plan.ok()) return plan.status();
  add_types(*plan, *graph);
  plan->host_functions = host_functions->texts();
  auto loaded = backend.device->load(*plan, std::move(host_functions));
  if (on_disk && loaded.ok()) jit::store_on_disk(source, *plan);
  return loaded;
}

// The graph that this one calls with its inputs and whose results it returns, if it does nothing else: a function that
// is jitted once more. Else itself.
const GraphPtr& only_called(const GraphPtr& graph) {
  if (graph->equations().size() != 1) return graph;
  const Equation& call = graph->equations()[0];
  if (call.primitive->region != Region::kCall) return graph;
  const GraphPtr& called = graph->attrs(call).graph("graph");
  const absl::Span<const Var> operands = graph->operands(call);
  const absl::Span<const Var> outputs = graph->outputs();
  if (operands.size() != graph->num_inputs() || outputs.size() != called->outputs().size()) return graph;
  for (Var i = 0; i < operands.size(); ++i) {
    if (operands[i] != i) return graph;
  }
  for (Var i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != call.first_output + i) return graph;
  }
  return called;
}

// The processor's flags of divisions by zero, overflow and the like are after it what they were before: callers may ask
// for them, as NumPy does after each function of its own, and a compiler divides.
class FloatingFlags {
 public:
  FloatingFlags() { std::fegetexceptflag(&before_, FE_ALL_EXCEPT); }
  ~FloatingFlags() { std::fesetexceptflag(&before_, FE_ALL_EXCEPT); }
  FloatingFlags(const FloatingFlags&) = delete;
  FloatingFlags& operator=(const FloatingFlags&) = delete;

 private:
  std::fexcept_t before_ = {};
};

}  // namespace

absl::StatusOr<LoadedPtr> compile(const GraphPtr& captured, const CompileOptions& options) {
  if (options.backend == CompileOptions{}.backend && options.cpu.empty()) {
    if (LoadedPtr loaded = ready_code(only_called(captured))) return loaded;
  }
  const GraphPtr graph = without_rules(captured);  // found by what it computes
  const auto backend = named_backend(options.backend);
  if (!backend.ok()) return backend.status();
  return jit::cached(graph, options, [&](bool& from_disk) {
    const FloatingFlags kept;
    return as_status([&] { return make(**backend, graph, options, from_disk); });
  });
}

absl::StatusOr<LoadedPtr> compile_anew(const GraphPtr& captured, const CompileOptions& options) {
  const auto backend = named_backend(options.backend);
  if (!backend.ok()) return backend.status();
  CompileOptions without_disk = options;
  without_disk.use_disk_cache = false;
  bool from_disk = false;
  return as_status([&] { return make(**backend, without_rules(captured), without_disk, from_disk); });
}

absl::StatusOr<Plan> compile_kernels(const GraphPtr& graph, std::string_view architecture, const Machine& machine) {
  return as_status([&] {
    const loop::Program program = lower_prepared(*prepare(graph, machine), "kernels", machine);
    auto plan = jit::emit_kernels(program, architecture, machine);
    if (plan.ok()) add_types(*plan, *graph);
    if (plan.ok()) plan->donations.assign(plan->outputs.size(), -1);
    return plan;
  });
}

std::string loop_text(const GraphPtr& captured, const Loaded& loaded, Products products) {
  const GraphPtr graph = without_rules(captured);
  if (loaded.entry() == nullptr) return to_string(loaded.plan()) + print(*graph);
  jit::HostFunctions host_functions;
  const jit::Donated donated;
  return loop::to_string(
      lower_prepared(*prepare(graph, this_process(), products), kProgram, this_process(), &host_functions, &donated));
}

}  // namespace ct
