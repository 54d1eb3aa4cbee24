// Compiling for Python: entries of jitted functions, the graphs of eager transformed functions, graphs by themselves;
// and what GPU there is to compile for.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/cuda/cuda.h"
#include "device/residency.h"
#include "device/step_text.h"
#include "interpreter/evaluate.h"
#include "jit/backend.h"
#include "jit/compile.h"
#include "jit/large_graphs.h"
#include "python_bindings/gil.h"
#include "python_bindings/graph.h"
#include "python_bindings/jit_function.h"
#include "python_bindings/placement.h"
#include "python_bindings/statuses.h"
#include "python_bindings/tracebacks.h"
#include "runtime/hash.h"
#include "runtime/interrupt.h"
#include "runtime/location.h"
#include "runtime/process.h"
#include "runtime/status.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/find_invalid.h"
#include "transforms/higher_order/custom_rule.h"

namespace ct::python {

void throw_status(const absl::Status& status, const std::string& what) {
  note_site(status);
  throw Error(kind_of(status),
              concat(what, " failed: ", std::string_view(status.message().data(), status.message().size())));
}

namespace {

// What takes less time than this is done before another thread could have made use of the GIL.
constexpr int64_t kReleaseGilNanoseconds = 5'000;

constexpr double kLongToCompile = 10;  // seconds

std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

// Warns, once for each function, of a graph that takes long to compile, at the line that most of it comes from. With
// the lock.
void warn_if_large(const Graph& graph, const std::string& name) {
  const GraphSize size = size_of(graph);
  if (size.seconds < kLongToCompile) return;
  std::map<std::pair<std::string, int>, std::pair<int64_t, std::string>> lines;
  for (const auto& [location, count] : size.by_location) {
    const SourceLocation source = resolve_location(location);
    if (source.file.empty()) continue;
    auto& [equations, function] = lines[{source.file, source.line}];
    equations += count;
    function = source.function;
  }
  const auto most = std::ranges::max_element(lines, {}, [](const auto& line) { return line.second.first; });
  if (most == lines.end()) return;
  const auto& [file, line] = most->first;
  const auto& [equations, function] = most->second;
  const std::string subject = name.empty() ? function : name;
  static auto* warned = new std::set<std::string>;
  const std::string key = concat(subject, "\n", file, "\n", line);
  if (warned->contains(key)) return;
  const std::string message =
      concat(subject, ": ", with_commas(size.equations), " equations, ", with_commas(equations), " of them from ", file,
             ":", line, function.empty() ? "" : concat(" (", function, ")"), ": compiling them may take ",
             with_commas(std::llround(size.seconds)),
             " s\n  write the loop that repeats this line with ct.lax.fori_loop or "
             "ct.lax.scan, which compile a step once, or with ct.vmap where the steps are independent\n"
             "  see docs/profiling.md#compiling");
  py::module_::import("warnings").attr("warn_explicit")(message, py::handle(PyExc_UserWarning), file, line);
  warned->insert(key);
}

// While other threads go on.
absl::StatusOr<LoadedPtr> compile_released(const GraphPtr& graph, const CompileOptions& options = {},
                                           const std::string& name = "") {
  const Interruptible scope;
  const BeforeCompiling looks([&](const Graph& compiled) {
    const WithInterpreter interpreter;
    warn_if_large(compiled, name);
  });
  const WithoutInterpreter released;
  return compile(graph, options);
}

}  // namespace

void compile_entry(JitFunction* self, const EntryPtr& entry) {
  CompileOptions options;
  options.backend = entry->backend;
  options.donated = entry->donated;
  options.products = config().products();
  auto loaded = compile_released(entry->graph, options, *self->name);
  if (!loaded.ok()) throw_status(loaded.status(), "compiling " + *self->name);
  entry->loaded = *loaded;
  entry->releases_gil = entry->loaded->plan().nanoseconds >= kReleaseGilNanoseconds;
}

void check_results(const Graph& graph, absl::Span<const Tensor> inputs, absl::Span<const Tensor> results) {
  const Invalid what = config().invalid();
  const auto is_valid = [&](const Tensor& result) { return find_invalid(result, what).empty(); };
  if (std::all_of(results.begin(), results.end(), is_valid)) return;
  auto origin = find_invalid(graph, inputs, what);
  if (!origin) return;
  // Of an eager operation on a device, whose program was not captured.
  if (origin->location == kNoLocation) origin->location = calling_location();
  throw invalid_error(*origin, &graph);
}

namespace {

// While other threads go on, if it takes long.
std::vector<Tensor> evaluate_released(const Graph& graph, absl::Span<const Tensor> inputs) {
  constexpr int64_t kManyElements = 100'000;
  int64_t elements = 0;
  bool loops = false;
  for (Var var = 0; var < graph.num_vars() && elements < kManyElements; ++var) elements += graph.aval(var).size();
  for (const Equation& equation : graph.equations()) {
    loops = loops || equation.primitive->is<structures::While>() || equation.primitive->is<structures::Scan>();
  }
  const Interruptible scope;
  std::optional<WithoutInterpreter> released;
  if (loops || elements >= kManyElements) released.emplace();
  const Working computes(Work::kCompute);
  return evaluate(graph, inputs);
}

// Where a graph runs: on the device that functions which it calls are jitted for, else where its arrays are.
std::string backend_to_run(const Graph& graph, absl::Span<const Tensor> inputs) {
  std::string named = named_backend(graph, "", "the transformed function");
  if (!named.empty()) return named;
  const int place = common_place(
      inputs.size(), [&](size_t i) { return inputs[i].place(); },
      [](size_t i) { return concat("operand ", std::to_string(i)); }, "arrays");
  return backend_for(place);
}

// What the host evaluates for a device: the results are moved there.
std::vector<Tensor> evaluate_for(Device& device, const Graph& graph, absl::Span<const Tensor> inputs) {
  std::vector<Tensor> results = evaluate_released(graph, inputs);
  if (device.place() == kHostPlace) return results;
  for (Tensor& result : results) result = put(device, result);
  return results;
}

// Eager transformed functions (grad(f)(x) in a loop) run here: interpreted the first time, compiled from the second on.
// On a device they are compiled at once, as eager operations of its arrays are.
std::vector<Tensor> run_or_compile(const GraphPtr& captured, absl::Span<const Tensor> inputs) {
  const std::string backend = backend_to_run(*captured, inputs);
  Device& device = *find_backend(backend)->device;
  const int place = device.place();
  const GraphPtr graph = without_rules(captured);
  struct Warm {
    GraphPtr graph;
    int calls = 0;
    LoadedPtr loaded;
  };
  constexpr size_t kCapacity = 1024;
  static auto* known = new std::unordered_map<uint64_t, std::shared_ptr<Warm>>;  // guarded by the GIL
  const uint64_t key = hash_combine(graph->hash(), static_cast<uint64_t>(place));
  if (known->size() >= kCapacity && !known->count(key)) known->clear();
  std::shared_ptr<Warm>& slot = (*known)[key];
  if (!slot || !same_graph(*slot->graph, *graph)) slot = std::make_shared<Warm>(Warm{graph, 0, nullptr});
  // The table may change while callbacks or rules written in Python run.
  const std::shared_ptr<Warm> warm = slot;
  if (warm->calls++ == 0 && place == kHostPlace) return evaluate_for(device, *graph, inputs);
  if (!warm->loaded) {
    CompileOptions options;
    options.backend = backend;
    auto loaded = compile_released(graph, options);
    // What cannot be compiled (a host-only operation) is interpreted every time.
    if (!loaded.ok() && loaded.status().code() == absl::StatusCode::kUnavailable)
      throw_status(loaded.status(), "compiling");
    if (!loaded.ok()) return evaluate_for(device, *graph, inputs);
    warm->loaded = *loaded;
  }
  const LoadedPtr loaded = warm->loaded;
  std::optional<WithoutInterpreter> released;
  if (loaded->plan().nanoseconds >= kReleaseGilNanoseconds) released.emplace();
  return (*loaded)(inputs);
}

std::vector<Tensor> run_warming_up(const GraphPtr& graph, absl::Span<const Tensor> inputs) {
  std::vector<Tensor> results =
      config().disable_jit ? evaluate_for(*find_backend(backend_to_run(*graph, inputs))->device, *graph, inputs)
                           : run_or_compile(graph, inputs);
  if (config().invalid().any()) check_results(*graph, inputs, results);
  return results;
}

struct ExecutableHandle {
  GraphPtr graph;
  LoadedPtr loaded;
  Products products;
};

// What a device does for a plan, in order: depth inside of loops and branches, what is done, and of kernels blocks,
// threads, and bytes: of memory that the threads of a block share, and of the arrays that the kernel is given; and the
// kernel's name.
class Steps {
 public:
  explicit Steps(const Plan& plan) : plan_(plan) { add_block(0, 0); }
  py::list list;

 private:
  void add_block(uint32_t block, int depth) {
    if (block >= plan_.blocks.size()) return;
    for (const Step& step : plan_.blocks[block]) add(step, depth);
  }
  void add_line(const Step& step, int depth) {
    list.append(py::make_tuple(depth, step_text(plan_, step), 0, 0, 0, 0, ""));
  }

  void add(const Step& step, int depth) {
    if (std::holds_alternative<NativeStep>(step)) return;
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (kernel == nullptr) {
      add_line(step, depth);
    } else {
      add_kernel(*kernel, depth);
    }
    if (const auto* loop = std::get_if<LoopStep>(&step)) add_block(loop->body, depth + 1);
    if (const auto* branch = std::get_if<BranchStep>(&step)) {
      for (const uint32_t body : branch->bodies) add_block(body, depth + 1);
    }
  }
  void add_kernel(const KernelStep& step, int depth) {
    int64_t bytes = 0;
    for (const Where& argument : step.arguments) {
      const PlanBuffer& buffer = plan_.buffers[argument.buffer];
      if (buffer.kind != PlanBuffer::Kind::kArena) bytes += buffer.bytes;
    }
    list.append(py::make_tuple(depth, step.work, step.blocks, step.threads, step.shared_bytes, bytes, step.symbol));
  }

  const Plan& plan_;
};

}  // namespace

void register_compiled(py::module_& module) {
  set_eager_graph_runner(run_warming_up, [](const Attrs& attrs) {
    return default_place() != kHostPlace || any_sub_graph(attrs, [](const Graph& graph) {
             const std::string named = named_backend(graph, "", "the operation");
             return !named.empty() && find_backend(named)->device->place() != kHostPlace;
           });
  });

  py::class_<ExecutableHandle>(module, "Executable", "A compiled graph.")
      .def("__call__",
           [](const ExecutableHandle& self, const py::list& operands) {
             std::vector<Tensor> inputs;
             for (py::handle operand : operands) {
               Datum datum = datum_from_python(operand);
               // Its value, where it has one, would carry no derivative.
               if (!std::holds_alternative<Tensor>(datum)) {
                 throw Error(ErrorKind::kType, "compiled code takes values, not what a transform traces")
                     .hint("transform the function that was compiled");
               }
               inputs.push_back(std::get<Tensor>(std::move(datum)));
             }
             py::list result;
             for (Tensor& output : (*self.loaded)(inputs)) result.append(array_object(std::move(output)));
             return result;
           })
      .def("loop_text", [](const ExecutableHandle& self) { return loop_text(self.graph, *self.loaded, self.products); })
      .def("steps", [](const ExecutableHandle& self) { return Steps(self.loaded->plan()).list; })
      // The text of its kernels; None where it has none, or they are code of the host.
      .def("ptx",
           [](const ExecutableHandle& self) -> std::optional<py::str> {
             const std::vector<Code>& codes = self.loaded->plan().codes;
             if (codes.empty() || codes[0].format != Code::Format::kPtx) return std::nullopt;
             return py::str(codes[0].bytes);
           })
      .def_property_readonly("arena_bytes",
                             [](const ExecutableHandle& self) { return self.loaded->plan().arena_bytes; });
  module.def(
      "compile_graph",
      [](const GraphHandle& handle, const std::string& backend, const std::string& cpu, bool use_disk_cache) {
        CompileOptions options;
        options.backend = backend;
        options.cpu = cpu;
        options.use_disk_cache = use_disk_cache;
        options.products = config().products();
        const GraphPtr graph = handle.graph;
        auto loaded = compile_released(graph, options);
        if (!loaded.ok()) throw_status(loaded.status(), "compiling");
        return ExecutableHandle{graph, *loaded, options.products};
      },
      py::arg("graph"), py::arg("backend") = "llvm", py::arg("cpu") = "", py::arg("use_disk_cache") = true);
  // Its kernels in PTX, for an architecture.
  module.def("ptx", [](const GraphHandle& handle, const std::string& architecture) {
    const absl::StatusOr<Plan> plan = compile_kernels(handle.graph, architecture);
    if (!plan.ok()) throw_status(plan.status(), "compiling");
    return plan->codes[0].bytes;
  });
  // Looks for the driver, and raises where there is none.
  module.def("cuda_device_count", [] {
    const WithoutInterpreter released;
    return cuda_device_count();
  });
  module.def("cuda_memory_use", [](int number) {
    const MemoryUse use = cuda_device(number).memory_use();
    py::dict result;
    result["bytes_in_use"] = use.in_use;
    result["peak_bytes_in_use"] = use.most;
    result["bytes_reserved"] = use.in_use + use.kept;
    result["num_allocs"] = use.requests;
    return result;
  });
  module.def(
      "cuda_facts",
      [](int number) {
        const CudaFacts facts = [&] {
          const WithoutInterpreter released;
          return cuda_device(number).facts();
        }();
        py::dict result;
        result["name"] = facts.name;
        result["capability"] = facts.capability;
        result["driver"] = facts.driver;
        result["multiprocessors"] = facts.multiprocessors;
        result["memory_bytes"] = facts.memory_bytes;
        return result;
      },
      py::arg("number") = 0);
}

}  // namespace ct::python
