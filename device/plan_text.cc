#include "device/plan.h"
#include "runtime/text.h"

namespace ct {
namespace {

class TextWriter {
 public:
  explicit TextWriter(const Plan& plan) : plan_(plan) {}

  std::string text() {
    line("plan ", plan_.name, " for ", plan_.target, ", arena ", plan_.arena_bytes, " bytes");
    block(0);
    return std::move(text_);
  }

 private:
  template <class... Parts>
  void line(const Parts&... parts) {
    text_ += std::string(depth_ * 2, ' ') + concat(parts...) + "\n";
  }

  void block(uint32_t number) {
    if (number >= plan_.blocks.size()) return;
    ++depth_;
    for (const Step& step : plan_.blocks[number]) {
      std::visit([&](const auto& each) { write(each); }, step);
    }
    --depth_;
  }

  std::string place(const Where& where) const {
    const PlanBuffer& buffer = plan_.buffers[where.buffer];
    const std::string at = where.offset == 0 ? "" : concat("+", where.offset);
    switch (buffer.kind) {
      case PlanBuffer::Kind::kInput:
        return concat("input ", buffer.position, at);
      case PlanBuffer::Kind::kOutput:
        return concat("output ", buffer.position, at);
      case PlanBuffer::Kind::kArena:
        return concat("arena", at);
    }
    return "";
  }
  std::string place(const ByteRange& range) const { return place(range.at); }
  template <class Place>
  std::string places(const std::vector<Place>& list) const {
    std::string all;
    for (const Place& one : list) all += (all.empty() ? "" : ", ") + place(one);
    return all;
  }

  void write(const NativeStep& step) { line("native ", step.symbol); }
  void write(const KernelStep& step) {
    line("kernel ", step.symbol, " of ", step.blocks, " x ", step.threads, " threads, ", step.shared_bytes,
         " bytes shared (", places(step.arguments), ")");
  }
  std::string matrix(const ProductMatrix& matrix) const {
    const std::string batch = matrix.batch_stride == 0 ? "" : concat(" each ", matrix.batch_stride);
    return concat(dtype_name(matrix.dtype), " ", place(matrix.at), " strides ", matrix.row_stride, ", ",
                  matrix.column_stride, batch);
  }
  void write(const ProductStep& step) {
    const std::string batch = step.batch == 1 ? "" : concat(step.batch, " of ");
    line("product ", batch, step.m, " x ", step.n, " x ", step.k, " in ", dtype_name(step.compute), " (",
         matrix(step.a), "; ", matrix(step.b), ") ", step.accumulate ? "added to" : "->", " (", matrix(step.c), ")");
  }
  void write(const CopyStep& step) {
    line("copy ", step.bytes, " bytes from ", place(step.from), " to ", place(step.to));
  }
  void write(const FillStep& step) {
    line("fill ", step.bytes, " bytes at ", place(step.to), " with ", static_cast<int>(step.byte));
  }
  void write(const HostStep& step) {
    line("host ", plan_.host_functions[step.function], " (", places(step.inputs), ") -> (", places(step.outputs), ")");
  }
  void write(const LoopStep& step) {
    if (step.count == -1) {
      line("while ", place(step.go_on));
    } else {
      line("for ", step.count, " times");
    }
    block(step.body);
  }
  void write(const BranchStep& step) {
    line("branch ", place(step.index));
    for (size_t i = 0; i < step.bodies.size(); ++i) {
      line("case ", i);
      block(step.bodies[i]);
    }
  }

  const Plan& plan_;
  size_t depth_ = 0;
  std::string text_;
};

}  // namespace

std::string to_string(const Plan& plan) { return TextWriter(plan).text(); }

}  // namespace ct
