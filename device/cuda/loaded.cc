#include "device/cuda/loaded.h"

#include <array>

#include "device/residency.h"
#include "runtime/text.h"

namespace ct::cuda {
namespace {

// What kernels may have without asking for it.
constexpr uint32_t kUsualSharedBytes = 48 << 10;

std::string types(const std::vector<Aval>& avals) {
  std::vector<std::string> all;
  for (const Aval& aval : avals) all.push_back(aval.to_string());
  return join(all, ", ");
}

std::string typed_name(const Plan& plan) {
  return concat(plan.name, "(", types(plan.inputs), ") -> (", types(plan.outputs), ")");
}

}  // namespace

CudaLoaded::Modules::~Modules() {
  if (modules_.empty() || !context_->try_to_enter()) return;
  // Their kernels may be under way.
  context_->driver().cuStreamSynchronize.attempt(context_->stream());
  for (Module module : modules_) context_->driver().cuModuleUnload.attempt(module);
}

void CudaLoaded::Modules::add(const Code& code) {
  if (code.format != Code::Format::kPtx) throw Error(ErrorKind::kInternal, "code of the host in a plan for a GPU");
  std::array<char, 4096> log{};
  std::array<JitOption, 2> options = {JitOption::kErrorLog, JitOption::kErrorLogBytes};
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  const auto& load = context_->driver().cuModuleLoadDataEx;
  Module module = nullptr;
  const Status status = load.attempt(&module, code.bytes.c_str(), options.size(), options.data(), values.data());
  if (status != Status::kSuccess) throw context_->driver().failure(load.name(), status, log.data());
  modules_.push_back(module);
}

CudaLoaded::CudaLoaded(Plan plan, Device& device, std::shared_ptr<const HostTable> host_table,
                       std::shared_ptr<GpuContext> context)
    : Loaded(std::move(plan), device, std::move(host_table)),
      context_(std::move(context)),
      name_(std::make_shared<const std::string>(typed_name(this->plan()))),
      modules_(context_) {
  for (const Code& code : this->plan().codes) modules_.add(code);
  find_functions();
}

void CudaLoaded::find_functions() {
  const Driver& driver = context_->driver();
  for (const std::vector<Step>& block : plan().blocks) {
    for (const Step& step : block) {
      const auto* kernel = std::get_if<KernelStep>(&step);
      if (kernel == nullptr) continue;
      Function function = nullptr;
      driver.cuModuleGetFunction(&function, modules_[kernel->code], kernel->symbol.c_str());
      if (kernel->shared_bytes > context_->facts().shared_bytes) {
        throw Error(ErrorKind::kUnsupported, concat("a kernel of ", *name_, " shares ", kernel->shared_bytes,
                                                    " bytes among the threads of a block; ", context_->facts().name,
                                                    " has ", context_->facts().shared_bytes))
            .hint("compile the program here: it was compiled for a GPU with more");
      }
      if (kernel->shared_bytes > kUsualSharedBytes) {
        driver.cuFuncSetAttribute(function, FunctionAttribute::kMostDynamicSharedBytes,
                                  static_cast<int>(kernel->shared_bytes));
      }
      functions_.emplace(kernel, function);
    }
  }
}

std::vector<Tensor> CudaLoaded::play_resident(absl::Span<const Tensor> inputs) const {
  const Working computes(Work::kCompute);
  context_->enter();
  context_->driver().note_plan(name_);
  return Loaded::play_resident(inputs);
}

}  // namespace ct::cuda
