#include "jit/export/gpu_program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <variant>

#include "device/cuda/stored_matrix.h"
#include "runtime/error.h"
#include "runtime/status.h"
#include "runtime/text.h"

namespace ct {
namespace {

using cuda::cublas::ComputeType;
using cuda::cublas::ElementType;
using cuda::cublas::Operation;
using cuda::cublas::Stored;

constexpr int64_t kConstantAlignment = 256;

// What the kernels of a block compute, for people.
std::string work_of(const Plan& plan, uint32_t block) {
  for (const Step& step : plan.blocks[block]) {
    if (const auto* kernel = std::get_if<KernelStep>(&step); kernel != nullptr && !kernel->work.empty()) {
      return kernel->work;
    }
    if (const auto* product = std::get_if<ProductStep>(&step)) return product->work;
    if (const auto* loop = std::get_if<LoopStep>(&step)) {
      if (std::string work = work_of(plan, loop->body); !work.empty()) return work;
    }
  }
  return "";
}

std::string around(const std::string& work) { return work.empty() ? "" : concat(" around ", work); }

class Writer {
 public:
  Writer(const Plan& plan, const std::vector<Tensor>& constants)
      : plan_(plan),
        inputs_(static_cast<int64_t>(plan.inputs.size() - constants.size())),
        outputs_(static_cast<int64_t>(plan.outputs.size())),
        constants_(static_cast<int64_t>(constants.size())) {
    made_.arguments = inputs_ + outputs_;
    // cuBLASLt's part of the workspace begins behind it.
    made_.workspace_bytes = (plan.arena_bytes + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
    for (const Tensor& constant : constants) {
      made_.constants.resize((made_.constants.size() + kConstantAlignment - 1) / kConstantAlignment *
                             kConstantAlignment);
      made_.constant_offsets.push_back(static_cast<int64_t>(made_.constants.size()));
      made_.constants.append(constant.as<char>(), static_cast<size_t>(constant.aval().bytes()));
    }
    CT_CHECK(plan.codes.size() <= 1);
    if (!plan.codes.empty()) made_.ptx = plan.codes[0].bytes;
  }

  jit::GpuProgram write() {
    if (!plan_.blocks.empty()) block(0);
    return std::move(made_);
  }

 private:
  void word(int64_t value) { made_.steps.push_back(value); }
  void place(const Where& where) {
    const PlanBuffer& buffer = plan_.buffers[where.buffer];
    switch (buffer.kind) {
      case PlanBuffer::Kind::kInput:
        word(buffer.position < inputs_ ? buffer.position : made_.arguments + buffer.position - inputs_);
        break;
      case PlanBuffer::Kind::kOutput:
        word(inputs_ + buffer.position);
        break;
      case PlanBuffer::Kind::kArena:
        word(made_.arguments + constants_);
        break;
    }
    word(buffer.offset + where.offset);
  }

  void block(uint32_t number) {
    for (const Step& step : plan_.blocks[number]) {
      std::visit([&](const auto& each) { write(each); }, step);
    }
  }

  static void write(const NativeStep&) { throw Error(ErrorKind::kInternal, "code of the host in a plan for a GPU"); }
  void write(const KernelStep& step) {
    const auto [known, is_new] = kernels_.try_emplace(step.symbol, static_cast<int64_t>(made_.symbols.size()));
    if (is_new) {
      made_.symbols.push_back(step.symbol);
      made_.shared_bytes.push_back(step.shared_bytes);
    }
    for (const int64_t each :
         {int64_t{cuda::exported::kLaunch}, known->second, int64_t{step.blocks}, int64_t{step.threads},
          int64_t{step.shared_bytes}, static_cast<int64_t>(step.arguments.size())}) {
      word(each);
    }
    for (const Where& argument : step.arguments) place(argument);
    made_.most_of_launch = std::max(made_.most_of_launch, static_cast<int64_t>(step.arguments.size()));
  }
  void write(const CopyStep& step) {
    if (step.bytes == 0) return;
    word(cuda::exported::kCopy);
    place(step.to);
    place(step.from);
    word(step.bytes);
  }
  void write(const FillStep& step) {
    if (step.bytes == 0) return;
    word(cuda::exported::kFill);
    place(step.to);
    word(step.byte);
    word(step.bytes);
  }

  void write(const ProductStep& step) {
    const bool flipped = cuda::cublas::stored(step.c, step.m, step.n).transposed;
    const auto matrix = [&](const ProductMatrix& from, int64_t rows, int64_t columns) {
      const Stored as = cuda::cublas::stored(from, rows, columns);
      const Operation operation = as.transposed == flipped ? Operation::kNone : Operation::kTranspose;
      return cuda::exported::Matrix{.type = static_cast<int64_t>(cuda::cublas::element_type(from.dtype)),
                                    .rows = as.rows,
                                    .columns = as.columns,
                                    .pitch = as.pitch,
                                    .operation = static_cast<int64_t>(operation),
                                    .batch_stride = from.batch_stride};
    };
    const cuda::exported::Matrix a = matrix(step.a, step.m, step.k), b = matrix(step.b, step.k, step.n);
    const bool is_wide = step.compute == DType::kFloat64;
    word(cuda::exported::kProduct);
    word(static_cast<int64_t>(made_.products.size()));
    place(flipped ? step.b.at : step.a.at);
    place(flipped ? step.a.at : step.b.at);
    place(step.c.at);
    made_.products.push_back(
        {.first = flipped ? b : a,
         .second = flipped ? a : b,
         .result = matrix(step.c, step.m, step.n),
         .batch = step.batch,
         .compute_type = static_cast<int64_t>(is_wide ? ComputeType::kFloat64 : ComputeType::kFloat32),
         .factor_type = static_cast<int64_t>(is_wide ? ElementType::kFloat64 : ElementType::kFloat32),
         .accumulate = step.accumulate ? 1 : 0,
         .element_bytes = dtype_size(step.a.dtype)});
  }

  void write(const LoopStep& step) {
    if (step.count < 0) {
      throw Error(ErrorKind::kUnsupported,
                  concat("a loop", around(work_of(plan_, step.body)),
                         " goes on by a condition that the GPU computes: the library would have to wait for it"))
          .hint("give the loop a number of iterations that is known (fori_loop, scan), or export for a processor")
          .see("export-without-a-form");
    }
    word(cuda::exported::kRepeat);
    word(step.count);
    const size_t at = made_.steps.size();
    word(0);
    block(step.body);
    made_.steps[at] = static_cast<int64_t>(made_.steps.size() - at - 1);
  }
  void write(const BranchStep& step) const {
    std::string work;
    for (uint32_t body : step.bodies) work += work.empty() ? work_of(plan_, body) : "";
    throw Error(ErrorKind::kUnsupported,
                concat("a branch", around(work),
                       " is chosen by an index that the GPU computes: the library would have to wait for it"))
        .hint("compute both branches and select (where), or export for a processor")
        .see("export-without-a-form");
  }
  static void write(const HostStep&) { CT_CHECK(false); }  // refused where it was to be lowered

  const Plan& plan_;
  const int64_t inputs_, outputs_, constants_;
  std::map<std::string, int64_t> kernels_;
  jit::GpuProgram made_;
};

}  // namespace

absl::StatusOr<jit::GpuProgram> gpu_program(const Plan& plan, const std::vector<Tensor>& constants) {
  try {
    return Writer(plan, constants).write();
  } catch (const Error& error) {
    return status_of(error);
  }
}

}  // namespace ct
