#include "device/step_text.h"

#include "runtime/text.h"

namespace ct {
namespace {

struct Describe {
  const Plan& plan;

  std::string operator()(const NativeStep& step) const { return step.symbol; }
  std::string operator()(const KernelStep& step) const { return step.work.empty() ? "moves numbers" : step.work; }
  std::string operator()(const ProductStep& step) const {
    const std::string batch = step.batch == 1 ? "" : concat(step.batch, " of ");
    return concat("product by a library: ", batch, step.m, " x ", step.n, " x ", step.k, ", ", dtype_name(step.a.dtype),
                  step.accumulate ? ", added to its result: " : ": ", step.work);
  }
  std::string operator()(const CopyStep& step) const { return concat("copies ", step.bytes, " bytes"); }
  std::string operator()(const FillStep& step) const { return concat("fills ", step.bytes, " bytes"); }
  std::string operator()(const HostStep& step) const {
    int64_t bytes = 0;
    for (const auto* ranges : {&step.inputs, &step.outputs}) {
      for (const ByteRange& range : *ranges) bytes += range.bytes;
    }
    return concat("on the host, ", bytes, " bytes copied: ", plan.host_functions[step.function]);
  }
  std::string operator()(const LoopStep& step) const {
    return step.count == -1 ? "while a number on the device says so, which the host waits for"
                            : concat(step.count, " times");
  }
  std::string operator()(const BranchStep&) const {
    return "one of these, by a number on the device, which the host waits for";
  }
};

}  // namespace

std::string step_text(const Plan& plan, const Step& step) { return std::visit(Describe{plan}, step); }

}  // namespace ct
