#include <algorithm>
#include <utility>

#include "device/plan.h"
#include "runtime/text.h"

namespace ct {
namespace {

class Checker {
 public:
  explicit Checker(const Plan& plan) : plan_(plan) {}

  std::string problem() {
    header();
    for (size_t i = 0; i < plan_.buffers.size(); ++i) buffer(i);
    for (block_ = 0; block_ < plan_.blocks.size(); ++block_) {
      for (const Step& step : plan_.blocks[block_]) {
        std::visit([&](const auto& each) { check(each); }, step);
      }
    }
    return problem_;
  }

 private:
  template <class... Parts>
  void expect(bool condition, const Parts&... parts) {
    if (!condition && problem_.empty()) problem_ = concat(parts...);
  }

  void header() {
    expect(plan_.arena_bytes >= 0 && plan_.nanoseconds >= 0, "a negative size or time");
    expect(plan_.donations.size() == plan_.outputs.size(), plan_.donations.size(), " donations for ",
           plan_.outputs.size(), " outputs");
    for (int input : plan_.donations) {
      expect(input >= -1 && input < static_cast<int64_t>(plan_.inputs.size()), "a donation of input ", input);
    }
    for (const Code& code : plan_.codes) expect(code.format <= Code::Format::kPtx, "code of an unknown format");
    for (const std::vector<Aval>* avals : {&plan_.inputs, &plan_.outputs}) {
      for (const Aval& aval : *avals) expect(static_cast<bool>(aval), "an input or output without a type");
    }
  }

  void buffer(size_t number) {
    const PlanBuffer& buffer = plan_.buffers[number];
    expect(buffer.kind <= PlanBuffer::Kind::kArena, "buffer ", number, " of an unknown kind");
    int64_t room = plan_.arena_bytes;
    if (buffer.kind != PlanBuffer::Kind::kArena) {
      const std::vector<Aval>& avals = buffer.kind == PlanBuffer::Kind::kInput ? plan_.inputs : plan_.outputs;
      const bool known = buffer.position >= 0 && buffer.position < static_cast<int64_t>(avals.size());
      expect(known, "buffer ", number, " is argument ", buffer.position, " of ", avals.size());
      room = known && avals[static_cast<size_t>(buffer.position)] ? avals[static_cast<size_t>(buffer.position)].bytes()
                                                                  : 0;
    }
    expect(buffer.offset >= 0 && buffer.bytes >= 0 && buffer.offset <= room && buffer.bytes <= room - buffer.offset,
           "buffer ", number, " is ", buffer.bytes, " bytes at ", buffer.offset, " of ", room);
  }

  void place(const Where& where, int64_t bytes, const char* what) {
    const bool known = where.buffer < plan_.buffers.size();
    expect(known, "a ", what, " in buffer ", where.buffer, " of ", plan_.buffers.size());
    const int64_t room = known ? plan_.buffers[where.buffer].bytes : 0;
    expect(where.offset >= 0 && bytes >= 0 && where.offset <= room && bytes <= room - where.offset, "a ", what, " of ",
           bytes, " bytes at ", where.offset, " of ", room);
  }
  void body(uint32_t number) {
    // Behind the block that has it, so that none contains itself.
    expect(number > block_ && number < plan_.blocks.size(), "block ", number, " inside of block ", block_, " of ",
           plan_.blocks.size());
  }

  void check(const NativeStep& step) {
    const bool elf = std::ranges::all_of(plan_.codes, [](const Code& c) { return c.format == Code::Format::kElf; });
    expect(!step.symbol.empty() && elf, "a native step without its code");
  }
  void check(const KernelStep& step) {
    expect(step.code < plan_.codes.size() && !step.symbol.empty(), "a kernel in code ", step.code, " of ",
           plan_.codes.size());
    expect(step.blocks > 0 && step.threads > 0, "a kernel of no threads");
    for (const Where& where : step.arguments) place(where, 0, "kernel's argument");
  }
  void check(const ProductMatrix& matrix, int64_t rows, int64_t columns, const ProductStep& step) {
    const int64_t size = dtype_size(matrix.dtype);
    const bool is_stored = (matrix.column_stride == 1 && matrix.row_stride >= columns) ||
                           (matrix.row_stride == 1 && matrix.column_stride >= rows);
    expect(is_stored && matrix.batch_stride >= 0, "a product's matrix of strides ", matrix.row_stride, ", ",
           matrix.column_stride, " and ", matrix.batch_stride);
    int64_t elements = 1;
    bool fits = true;
    for (const auto& [count, stride] : {std::pair(rows, matrix.row_stride), std::pair(columns, matrix.column_stride),
                                        std::pair(step.batch, matrix.batch_stride)}) {
      int64_t last = 0;
      fits = fits && !__builtin_mul_overflow(count - 1, stride, &last) &&
             !__builtin_add_overflow(elements, last, &elements);
    }
    int64_t bytes = 0;
    fits = fits && !__builtin_mul_overflow(elements, size, &bytes);
    expect(fits, "a product's matrix of too many bytes");
    if (fits) place(matrix.at, bytes, "product's matrix");
  }
  void check(const ProductStep& step) {
    const bool is_some = step.m > 0 && step.n > 0 && step.k > 0 && step.batch > 0;
    expect(is_some, "a product of sizes ", step.m, ", ", step.n, ", ", step.k, " and ", step.batch);
    const bool is_typed = step.a.dtype == step.b.dtype && is_product_type(step.a.dtype, step.c.dtype) &&
                          step.compute == product_compute_type(step.a.dtype);
    expect(is_typed, "a product of unknown types");
    if (!is_some || !is_typed) return;
    check(step.a, step.m, step.k, step);
    check(step.b, step.k, step.n, step);
    check(step.c, step.m, step.n, step);
  }
  void check(const CopyStep& step) {
    place(step.to, step.bytes, "copy");
    place(step.from, step.bytes, "copy");
  }
  void check(const FillStep& step) { place(step.to, step.bytes, "fill"); }
  void check(const HostStep& step) {
    expect(step.function < plan_.host_functions.size(), "host function ", step.function, " of ",
           plan_.host_functions.size());
    for (const ByteRange& range : step.inputs) place(range.at, range.bytes, "host function's input");
    for (const ByteRange& range : step.outputs) place(range.at, range.bytes, "host function's output");
  }
  void check(const LoopStep& step) {
    expect(step.count >= -1, "a loop of ", step.count, " iterations");
    if (step.count == -1) place(step.go_on, 1, "loop's condition");
    body(step.body);
  }
  void check(const BranchStep& step) {
    place(step.index, sizeof(int32_t), "branch's index");
    expect(!step.bodies.empty(), "a branch without bodies");
    for (uint32_t number : step.bodies) body(number);
  }

  const Plan& plan_;
  size_t block_ = 0;
  std::string problem_;
};

}  // namespace

bool is_product_type(DType operands, DType result) {
  const bool is_half = operands == DType::kFloat16 || operands == DType::kBFloat16;
  if (operands != DType::kFloat32 && operands != DType::kFloat64 && !is_half) return false;
  return result == operands || (is_half && result == DType::kFloat32);
}
DType product_compute_type(DType operands) { return operands == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32; }

std::string check_plan(const Plan& plan) { return Checker(plan).problem(); }

}  // namespace ct
