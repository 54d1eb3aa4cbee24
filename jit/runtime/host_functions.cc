#include "jit/runtime/host_functions.h"

#include <cstring>

#include "interpreter/evaluate.h"
#include "runtime/error.h"
#include "runtime/process.h"
#include "runtime/text.h"

namespace ct::jit {
namespace {

const RunGraph& graph_runner() {
  static const RunGraph* run =
      new RunGraph([](const Graph& graph, absl::Span<const Tensor> inputs) { return evaluate(graph, inputs); });
  return *run;
}

std::vector<Tensor> at_addresses(const Avals& avals, void* const* addresses) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < avals.size(); ++i) {
    tensors.emplace_back(avals[i], Buffer::borrow(addresses[i], static_cast<size_t>(avals[i].bytes()), [] {}));
  }
  return tensors;
}

void compute(const HostFunction& target, const void* const* inputs, void* const* outputs) {
  if (target.action) return target.action();
  const std::vector<Tensor> operands = at_addresses(target.inputs, const_cast<void* const*>(inputs));
  const Working computes(Work::kCompute);
  LocationScope location(target.location);
  std::vector<Tensor> results;
  if (target.primitive == nullptr) {
    results = evaluate(*target.graph, operands);
  } else {
    const std::vector<Tensor> places = at_addresses(target.outputs, outputs);
    results =
        target.primitive->reference({operands, *target.attrs, target.outputs, graph_runner(), places, target.unread});
  }
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

std::string types_text(const Avals& avals) {
  std::vector<std::string> texts;
  for (const Aval& aval : avals) texts.push_back(aval.to_string());
  return concat("(", join(texts, ", "), ")");
}

}  // namespace

std::vector<std::string> HostFunctions::texts() const {
  std::vector<std::string> texts;
  for (const HostFunction& function : functions_) {
    const std::string name = function.primitive == nullptr ? "program" : function.primitive->name;
    texts.push_back(concat(name, types_text(function.inputs), " -> ", types_text(function.outputs)));
  }
  return texts;
}

void HostFunctions::call(uint32_t function, const void* const* inputs, void* const* outputs) const {
  const HostFunction& target = functions_[function];
  try {
    compute(target, inputs, outputs);
  } catch (Error& error) {
    if (target.primitive != nullptr) error.op(target.primitive->name).at(target.location);
    throw;
  }
}

}  // namespace ct::jit
