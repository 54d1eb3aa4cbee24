#include "jit/runtime/host_call.h"

#include <cstring>

#include "device/cpu/pool.h"
#include "interpreter/evaluate.h"
#include "ir/error.h"
#include "ir/parallel.h"
#include "ir/process.h"
#include "ir/text.h"

namespace ct::jit {
namespace {

thread_local HostScope* current_scope = nullptr;

const RunGraph& graph_runner() {
  static const RunGraph* run =
      new RunGraph([](const Graph& graph, absl::Span<const Tensor> inputs) { return evaluate(graph, inputs); });
  return *run;
}

// What primitives share among threads, they share in the pool that programs use.
const bool pool_is_registered = [] {
  set_parallel_runner({threads, [](int64_t count, int64_t nanoseconds, int64_t in_all, ParallelBody body) {
                         const auto range = [](void* context, int64_t begin, int64_t end, void*) {
                           for (int64_t i = begin; i < end; ++i) (*static_cast<ParallelBody*>(context))(i);
                         };
                         const ParallelLoop loop{.body = range,
                                                 .context = &body,
                                                 .extent = count,
                                                 .multiple = 1,
                                                 .scratch_bytes = 0,
                                                 .scratch = nullptr,
                                                 .nanoseconds = nanoseconds,
                                                 .in_program = in_all};
                         run_parallel(&loop);
                       }});
  return true;
}();

}  // namespace

HostScope::HostScope(const HostFunctions& functions) : functions_(functions), enclosing_(current_scope) {
  current_scope = this;
}
HostScope::~HostScope() { current_scope = enclosing_; }

void HostScope::call(uint32_t function, const void* const* inputs, void* const* outputs) const {
  const HostFunction& target = functions_[function];
  if (target.action) return target.action();
  std::vector<Tensor> operands;
  for (size_t i = 0; i < target.inputs.size(); ++i) {
    const auto bytes = static_cast<size_t>(target.inputs[i].bytes());
    operands.emplace_back(target.inputs[i], Buffer::borrow(const_cast<void*>(inputs[i]), bytes, [] {}));
  }
  std::vector<Tensor> places;
  for (size_t i = 0; i < target.outputs.size(); ++i) {
    const auto bytes = static_cast<size_t>(target.outputs[i].bytes());
    places.emplace_back(target.outputs[i], Buffer::borrow(outputs[i], bytes, [] {}));
  }
  const Working computes(Work::kCompute);
  LocationScope location(target.location);
  const std::vector<Tensor> results =
      target.primitive->reference({operands, *target.attrs, target.outputs, graph_runner(), places});
  CT_CHECK(results.size() == target.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!same_type(results[i].aval(), target.outputs[i])) {
      throw Error(ErrorKind::kInternal, concat("the reference rule returned ", results[i].aval().to_string(),
                                               " for an output of type ", target.outputs[i].to_string()));
    }
    // Arrays of no elements may have no memory.
    const auto bytes = static_cast<size_t>(target.outputs[i].bytes());
    if (bytes != 0 && results[i].data() != outputs[i]) std::memcpy(outputs[i], results[i].data(), bytes);
  }
}

void HostScope::rethrow() const {
  if (failed_ == nullptr) return;
  try {
    std::rethrow_exception(failure_);
  } catch (Error& error) {
    error.op(failed_->primitive->name).at(failed_->location);
    throw;
  }
}

bool call_host(uint32_t function, const void* const* inputs, void* const* outputs) noexcept {
  HostScope& scope = *current_scope;
  try {
    scope.call(function, inputs, outputs);
    return true;
  } catch (...) {
    scope.failure_ = std::current_exception();
    scope.failed_ = &scope.functions_[function];
    return false;
  }
}

}  // namespace ct::jit
