#include "jit/profile.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "device/host_call.h"
#include "device/residency.h"
#include "device/step_text.h"
#include "device/step_times.h"
#include "jit/backend.h"
#include "jit/fuse/fuse.h"
#include "jit/llvm/compiler.h"
#include "jit/loop/visit.h"
#include "runtime/error.h"
#include "runtime/location.h"
#include "runtime/text.h"

namespace ct::jit {
namespace {

using loop::BlockId;
using loop::BufferId;
using loop::Program;
using loop::Statement;
using loop::StatementKind;

struct Traffic {
  double read = 0, written = 0;
};

// Adds up what statements do, each as often as the loops around it say.
class Account {
 public:
  explicit Account(const Program& program) : program_(program) {}

  void add(const Statement& s, double times) {
    switch (s.kind) {
      case StatementKind::kLoad:
        traffic_[s.buffer].read += times * dtype_size(s.dtype);
        break;
      case StatementKind::kStore:
        traffic_[s.buffer].written += times * dtype_size(s.dtype);
        break;
      case StatementKind::kScalar:
      case StatementKind::kFma:
      case StatementKind::kScale:
        if (is_float(s.dtype)) operations_ += times * (s.kind == StatementKind::kFma ? 2 : 1);
        break;
      case StatementKind::kFor: {
        const loop::For& loop = program_.fors[s.detail];
        const loop::Range range = program_.range_of(loop.extent);
        const double count = range.high == INT64_MAX ? 1 : static_cast<double>(std::max<int64_t>(range.high, 0));
        for (const loop::Carry& carry : loop.carries) {
          if (carry.combine && is_float(program_.values[carry.init].dtype)) operations_ += times * count;
        }
        block(loop.body, times * count);
        return;
      }
      case StatementKind::kGemm: {
        const loop::Gemm& gemm = program_.gemms[s.detail];
        const auto size = [&](const loop::Matrix& matrix, int64_t elements) {
          return times * static_cast<double>(elements) * dtype_size(program_.buffers[matrix.buffer].dtype);
        };
        traffic_[gemm.a.buffer].read += size(gemm.a, gemm.m * gemm.k);
        traffic_[gemm.b.buffer].read += size(gemm.b, gemm.k * gemm.n);
        traffic_[gemm.c.buffer].written += size(gemm.c, gemm.m * gemm.n);
        operations_ += times * (is_complex(program_.buffers[gemm.c.buffer].dtype) ? 8 : 2) *
                       static_cast<double>(gemm.m) * static_cast<double>(gemm.n * gemm.k);
        break;
      }
      case StatementKind::kFill:
      case StatementKind::kCopy: {
        const loop::MemoryRange& range = program_.ranges[s.detail];
        const loop::Range count = program_.range_of(range.count);
        const double elements = count.high == INT64_MAX ? 0 : static_cast<double>(std::max<int64_t>(count.high, 0));
        traffic_[range.destination].written += times * elements * dtype_size(program_.buffers[range.destination].dtype);
        if (s.kind == StatementKind::kCopy) {
          traffic_[range.source].read += times * elements * dtype_size(program_.buffers[range.source].dtype);
        }
        break;
      }
      case StatementKind::kHostCall: {
        const loop::HostCall& call = program_.host_calls[s.detail];
        const auto bytes = [&](const loop::HostCall::Array& array) {
          return times * static_cast<double>(array.elements) * dtype_size(program_.buffers[array.buffer].dtype);
        };
        for (const loop::HostCall::Array& array : call.inputs) traffic_[array.buffer].read += bytes(array);
        for (const loop::HostCall::Array& array : call.outputs) traffic_[array.buffer].written += bytes(array);
        break;
      }
      default:
        break;
    }
    loop::visit_blocks_of(program_, s, [&](BlockId id) { block(id, times); });
  }

  void finish(Group& group) const {
    for (const auto& [buffer, traffic] : traffic_) {
      const auto whole =
          static_cast<double>(program_.buffers[buffer].elements) * dtype_size(program_.buffers[buffer].dtype);
      group.bytes_read += static_cast<int64_t>(std::min(traffic.read, whole));
      group.bytes_written += static_cast<int64_t>(std::min(traffic.written, whole));
    }
    group.operations += operations_;
  }

 private:
  void block(BlockId id, double times) {
    for (const Statement& s : program_.blocks[id].statements) add(s, times);
  }

  const Program& program_;
  std::map<BufferId, Traffic> traffic_;
  double operations_ = 0;
};

// The statements of the entry block in runs of one group; `ends` are the positions after each.
std::vector<Group> groups_of(const Program& program, std::vector<size_t>* ends = nullptr) {
  std::vector<Group> groups;
  const auto& statements = program.blocks[0].statements;
  for (size_t i = 0; i < statements.size();) {
    const uint32_t group = statements[i].group;
    Account account(program);
    for (; i < statements.size() && statements[i].group == group; ++i) account.add(statements[i], 1);
    Group made;
    made.name = group == 0 ? "inputs and outputs" : program.groups[group];
    account.finish(made);
    groups.push_back(std::move(made));
    if (ends != nullptr) ends->push_back(i);
  }
  return groups;
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

Description describe(const GraphPtr& graph, Products products) {
  const Contractions contractions;
  const GraphPtr prepared = prepare(graph, this_process(), products);
  HostFunctions functions;
  const jit::Donated donated;
  const Program program = lower_prepared(*prepared, "program", this_process(), &functions, &donated);
  Description result;
  result.contractions = contractions.found;
  result.groups = groups_of(program);
  result.arena_bytes = program.arena_bytes;
  const Fusion fusion = fuse(*prepared, {.bfloat16_products = this_process().bfloat16_products});
  for (const Equation& equation : prepared->equations()) {
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      const Var var = equation.first_output + k;
      if (!fusion.stored[var]) continue;
      const Aval& aval = prepared->aval(var);
      const std::string location = location_string(equation.location);
      result.stored.push_back(
          {concat(equation.primitive->name, " -> ", aval.to_string(), location.empty() ? "" : "  ", location),
           aval.bytes(), fusion.reasons[var] == nullptr ? "" : fusion.reasons[var]});
    }
  }
  return result;
}

namespace {

// The traffic and arithmetic of steps: those of the groups that they compute, by name. What several steps compute is
// counted in the first of them.
class StepGroups {
 public:
  explicit StepGroups(std::vector<Group> groups) {
    for (Group& group : groups) {
      const std::string name = group.name;
      unclaimed_[name].push_back(std::move(group));
    }
  }

  Group claim(const Plan& plan, const ct::Step& step) {
    Group result{.name = step_text(plan, step)};
    std::string work;
    if (const auto* kernel = std::get_if<KernelStep>(&step)) work = kernel->work;
    if (const auto* product = std::get_if<ProductStep>(&step)) work = product->work;
    // Loops that were merged are one group, with several names.
    const std::vector<std::string> names = absl::StrSplit(work, kBetweenGroups);
    const auto begin = names.begin();
    for (size_t i = 0; i < names.size(); ++i) {
      for (size_t end = names.size(); end > i; --end) {
        const auto found = unclaimed_.find(absl::StrJoin(begin + static_cast<std::ptrdiff_t>(i),
                                                         begin + static_cast<std::ptrdiff_t>(end), kBetweenGroups));
        if (found == unclaimed_.end() || found->second.empty()) continue;
        add(found->second.front(), result);
        found->second.pop_front();
        i = end - 1;
        break;
      }
    }
    return result;
  }

 private:
  static void add(const Group& group, Group& result) {
    result.bytes_read += group.bytes_read;
    result.bytes_written += group.bytes_written;
    result.operations += group.operations;
  }

  std::map<std::string, std::deque<Group>> unclaimed_;
};

// Those that are no loop or branch but in one, in order.
void add_steps(const Plan& plan, size_t block, std::vector<const ct::Step*>& steps) {
  if (block >= plan.blocks.size()) return;
  for (const ct::Step& step : plan.blocks[block]) {
    if (const auto* loop = std::get_if<LoopStep>(&step)) {
      add_steps(plan, loop->body, steps);
    } else if (const auto* branch = std::get_if<BranchStep>(&step)) {
      for (const uint32_t body : branch->bodies) add_steps(plan, body, steps);
    } else {
      steps.push_back(&step);
    }
  }
}

// Its clock says when it came to a step; the host's, when all was done, of runs that nothing is measured in.
absl::StatusOr<Profile> profile_on_device(Device& device, const GraphPtr& graph, absl::Span<const Tensor> inputs,
                                          int runs, const CompileOptions& options) {
  Profile result;
  LoadedPtr loaded;
  {
    StageTimes times;
    const Clock::time_point start = Clock::now();
    auto compiled = compile_anew(graph, options);
    if (!compiled.ok()) return compiled.status();
    loaded = *compiled;
    double rest = seconds_since(start);
    for (const StageTimes::Stage& stage : times.stages) rest -= stage.seconds;
    times.stages.push_back({"generate and load code", std::max(rest, 0.0)});
    result.stages = times.stages;
  }
  const Plan& plan = loaded->plan();
  HostFunctions functions;
  StepGroups groups(groups_of(lower_prepared(*prepare(graph, kGpu, options.products), "program", kGpu, &functions)));
  std::vector<const ct::Step*> steps;
  add_steps(plan, 0, steps);
  for (const ct::Step* step : steps) result.groups.push_back(groups.claim(plan, *step));

  std::vector<Tensor> arguments;
  for (const Tensor& input : inputs) arguments.push_back(put(device, input));
  for (int run = 0; run < runs; ++run) {
    device.queue().wait();
    const Clock::time_point start = Clock::now();
    result.outputs = (*loaded)(arguments);
    device.queue().wait();
    result.seconds.push_back(seconds_since(start));
    StepTimes times(*loaded);
    (*loaded)(arguments);
    double now = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      const StepTimes::Time* const time = times.time(*steps[i]);
      if (time != nullptr) now = time->start;
      result.groups[i].starts.push_back(now);
      result.groups[i].seconds.push_back(time == nullptr ? 0 : time->seconds);
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<Profile> profile(const GraphPtr& graph, absl::Span<const Tensor> inputs, int runs,
                                const CompileOptions& options) {
  const Backend* const backend = find_backend(options.backend);
  if (backend != nullptr && backend->device->place() != kHostPlace) {
    return profile_on_device(*backend->device, graph, inputs, runs, options);
  }
  Profile result;
  HostFunctions functions;
  Program program;
  LoadedPtr plain;
  {
    StageTimes times;
    program = lower_prepared(*prepare(graph, this_process(), options.products), "program", this_process(), &functions);
    const Clock::time_point start = Clock::now();
    auto compiled = compile(program);
    if (!compiled.ok()) return compiled.status();
    plain = *compiled;
    times.stages.push_back({"generate and load code", seconds_since(start)});
    result.stages = times.stages;
  }

  // The same program with a clock after each group.
  std::vector<size_t> ends;
  result.groups = groups_of(program, &ends);
  std::vector<double> clock;
  Clock::time_point start;
  Program clocked = program;
  std::vector<Statement> statements;
  for (size_t i = 0, next = 0; i < ends.size(); ++i) {
    const auto& all = program.blocks[0].statements;
    statements.insert(statements.end(), all.begin() + static_cast<std::ptrdiff_t>(next),
                      all.begin() + static_cast<std::ptrdiff_t>(ends[i]));
    next = ends[i];
    clocked.host_calls.push_back({static_cast<uint32_t>(functions.size()), "clock", {}, {}});
    Statement tick{.kind = StatementKind::kHostCall};
    tick.detail = static_cast<uint32_t>(clocked.host_calls.size() - 1);
    statements.push_back(tick);
  }
  clocked.blocks[0].statements = std::move(statements);
  HostFunction action;
  action.action = [&] { clock.push_back(seconds_since(start)); };
  functions.add(std::move(action));
  auto compiled = compile(clocked);
  if (!compiled.ok()) return compiled.status();

  std::vector<void*> input_pointers, output_pointers;
  for (const Tensor& input : inputs) input_pointers.push_back(input.data());
  for (const Aval& aval : graph->output_avals()) {
    result.outputs.emplace_back(aval);
    output_pointers.push_back(result.outputs.back().data());
  }
  const int64_t arena_bytes = std::max(plain->plan().arena_bytes, (*compiled)->plan().arena_bytes);
  const auto arena = Buffer::allocate(static_cast<size_t>(arena_bytes));
  for (int run = 0; run < runs; ++run) {
    const HostScope scope(functions);
    start = Clock::now();
    plain->entry()(input_pointers.data(), output_pointers.data(), arena->data());
    result.seconds.push_back(seconds_since(start));
    scope.rethrow();
    clock.clear();
    start = Clock::now();
    (*compiled)->entry()(input_pointers.data(), output_pointers.data(), arena->data());
    scope.rethrow();
    double before = 0;
    for (size_t i = 0; i < result.groups.size() && i < clock.size(); ++i) {
      result.groups[i].starts.push_back(before);
      result.groups[i].seconds.push_back(clock[i] - before);
      before = clock[i];
    }
  }
  return result;
}

}  // namespace ct::jit
