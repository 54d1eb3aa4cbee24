#include "jit/loop/check.h"

#include <algorithm>

#include "jit/loop/clone.h"
#include "jit/loop/ranges.h"
#include "jit/loop/visit.h"

namespace ct::loop {

namespace {

class Checker {
 public:
  explicit Checker(const Program& program) : program_(program), defined_(program.values.size(), kNever) {
    known_.values = program.values;
  }

  std::string run() {
    for (BufferId id = 0; id < program_.buffers.size(); ++id) buffer(id);
    if (program_.blocks.empty()) fail("there is no entry block");
    if (error_.empty()) block(0);
    return error_;
  }

 private:
  enum State : uint8_t { kNever, kVisible, kOutOfScope };

  void fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }
  void require(bool condition, const std::string& what) {
    if (!condition) fail(what);
  }

  static std::string text(Value value) { return "%" + std::to_string(value); }
  std::string text(BufferId id, const char* of) const { return "buffer " + std::to_string(id) + " (" + of + ")"; }
  static std::string text(DType dtype) { return std::string(dtype_name(dtype)); }

  void buffer(BufferId id) {
    const Buffer& b = program_.buffers[id];
    int64_t size = dtype_size(b.dtype);
    require(b.elements >= 0, text(id, "size") + " has fewer than no elements");
    if (b.kind == BufferKind::kTemporary) {
      int64_t part = dtype_size(machine_dtype(b.dtype));
      require(b.position >= 0 && b.position % part == 0, text(id, "temporary") + " is not aligned to its element");
      require(b.position + b.elements * size <= program_.arena_bytes,
              text(id, "temporary") + " reaches past the arena");
    }
    if (b.kind == BufferKind::kConstant) {
      require(static_cast<int64_t>(b.bytes.size()) == b.elements * size,
              text(id, "constant") + " has not as many bytes as it says");
    }
  }

  bool valid(Value value) {
    if (value < program_.values.size()) return true;
    fail("there is no value " + (value == kNoValue ? "%_" : text(value)));
    return false;
  }

  void use(Value value) {
    if (!valid(value)) return;
    if (defined_[value] == kNever) fail(text(value) + " is used before it is defined");
    if (defined_[value] == kOutOfScope) fail(text(value) + " is used outside the block that defines it");
  }

  void define(Value value, std::vector<Value>& scope) {
    if (!valid(value)) return;
    if (defined_[value] != kNever) return fail(text(value) + " is defined twice");
    defined_[value] = kVisible;
    scope.push_back(value);
  }

  void close(const std::vector<Value>& scope) {
    for (Value value : scope) defined_[value] = kOutOfScope;
  }

  DType dtype(Value value) const {
    return value < program_.values.size() ? program_.values[value].dtype : DType::kBool;
  }

  void has_dtype(Value value, DType expected, const char* role) {
    require(dtype(value) == expected,
            std::string(role) + " " + text(value) + " is " + text(dtype(value)) + ", not " + text(expected));
  }

  // Of an index, where the last or the first iteration of each loop around takes it that has one: a loop whose extent
  // depends on the variables of others goes no further than these let it.
  Index furthest(Index index, bool up) const {
    for (size_t i = open_loops_.size(); i-- > 0;) {
      const For& loop = *open_loops_[i];
      const int64_t coefficient = index.coefficient_of(loop.variable);
      if (coefficient == 0 || loop.extent.is_constant()) continue;
      index -= Index::of(loop.variable, coefficient);
      if ((coefficient > 0) == up) index += (loop.extent - Index(1)) * coefficient;
    }
    return index;
  }
  Range reach(const Index& index) const {
    Range range = known_.range_of(index);
    range.low = std::max(range.low, known_.range_of(furthest(index, false)).low);
    range.high = std::min(range.high, known_.range_of(furthest(index, true)).high);
    return range;
  }

  // What is computed of such an index lies between narrower numbers, too.
  void narrow(const Statement& s) {
    if (open_loops_.empty() || !is_integer(s.dtype) || s.result >= known_.values.size()) return;
    const Range found = s.kind == StatementKind::kIndex ? reach(s.index) : result_range(known_, s);
    Range& range = known_.values[s.result].range;
    range = {std::max(range.low, found.low), std::min(range.high, found.high)};
  }

  // [index, index + count) inside the buffer's real elements, as far as ranges can tell.
  void in_bounds(BufferId id, const Index& index, int64_t last_offset, const char* what) {
    if (id >= program_.buffers.size())
      return fail(std::string(what) + " names buffer " + std::to_string(id) + ", which does not exist");
    visit_index(index, [&](Value value) {
      use(value);
      has_dtype(value, DType::kInt64, "index term");
    });
    // Ranges do not know what a branch has tested, nor that a loop never runs.
    if (guards_ > 0) return;
    const Buffer& b = program_.buffers[id];
    int64_t elements = b.elements * (is_complex(b.dtype) ? 2 : 1);
    Range range = reach(index);
    if (range.low != INT64_MIN && range.low < 0) {
      fail(std::string(what) + " of buffer " + std::to_string(id) + " may reach index " + std::to_string(range.low));
    }
    if (range.high != INT64_MAX && range.high + last_offset >= elements) {
      fail(std::string(what) + " of buffer " + std::to_string(id) + " may reach index " +
           std::to_string(range.high + last_offset) + " of " + std::to_string(elements));
    }
  }

  void matrix(const Matrix& m, int64_t rows, int64_t columns, const char* what) {
    if (rows == 0 || columns == 0) return;
    int64_t furthest = 0, nearest = 0;
    for (int64_t reach : {(rows - 1) * m.row_stride, (columns - 1) * m.column_stride})
      (reach > 0 ? furthest : nearest) += reach;
    if (m.buffer < program_.buffers.size() && is_complex(program_.buffers[m.buffer].dtype)) ++furthest;
    in_bounds(m.buffer, m.offset, furthest, what);
    in_bounds(m.buffer, m.offset + nearest, 0, what);
  }

  void carries(const std::vector<Carry>& list, bool independent) {
    for (const Carry& carry : list) {
      require(!independent || carry.combine.has_value(),
              "a vectorised or parallel loop carries " + text(carry.init) + " without a combine");
      require(carry.combine.has_value() == (carry.argument == kNoValue),
              "a carry has an argument and a combine, or neither");
      has_dtype(carry.result, dtype(carry.init), "result of a carry");
      if (carry.argument != kNoValue) has_dtype(carry.argument, dtype(carry.init), "argument of a carry");
    }
  }

  void yields(const std::vector<Carry>& list) {
    for (const Carry& carry : list) {
      use(carry.next);
      has_dtype(carry.next, dtype(carry.init), "next value of a carry");
    }
  }

  void operation(const Statement& s) {
    DType first = dtype(s.operands[0]);
    int arity = scalar_op_info(s.op).arity;
    for (int i = 0; i < arity; ++i) {
      require(s.operands[i] != kNoValue, "an operation lacks an operand");
      has_dtype(s.operands[i], first, "operand");
    }
    bool tests = is_comparison(s.op) || s.op == ScalarOp::kIsFinite;
    require(s.dtype == (tests ? DType::kBool : first),
            "the result of " + std::string(scalar_op_info(s.op).name) + " is " + text(s.dtype));
  }

  // A result may hold several arrays until it is written.
  bool are_apart(const HostCall::Array& one, const HostCall::Array& other) const {
    if (one.buffer != other.buffer || one.elements == 0 || other.elements == 0) return true;
    const Range distance = program_.range_of(other.offset - one.offset);
    return distance.low >= one.elements || distance.high <= -other.elements;
  }

  void host_call(const HostCall& call) {
    const auto array = [&](const HostCall::Array& a, const char* what) {
      if (a.elements == 0) return;
      const int64_t parts = a.buffer < program_.buffers.size() && is_complex(program_.buffers[a.buffer].dtype) ? 2 : 1;
      in_bounds(a.buffer, a.offset * parts, a.elements * parts - 1, what);
    };
    for (const HostCall::Array& input : call.inputs) array(input, "input of a host call");
    for (const HostCall::Array& output : call.outputs) {
      array(output, "output of a host call");
      if (!error_.empty()) return;
      require(program_.buffers[output.buffer].kind != BufferKind::kConstant, "a host call writes to a constant");
      for (const HostCall::Array& input : call.inputs) {
        require(are_apart(input, output), "a host call writes to a buffer that it reads");
      }
    }
  }

  void access(const Statement& s) {
    in_bounds(s.buffer, s.index, 0, s.kind == StatementKind::kLoad ? "load" : "store");
    if (!error_.empty()) return;
    require(machine_dtype(program_.buffers[s.buffer].dtype) == s.dtype, "an access has another dtype than its buffer");
    if (s.kind == StatementKind::kLoad) return;
    has_dtype(s.operands[0], s.dtype, "stored value");
    require(program_.buffers[s.buffer].kind != BufferKind::kConstant, "a store to a constant");
  }

  void for_loop(const Statement& s) {
    const For& loop = program_.fors[s.detail];
    carries(loop.carries, loop.options.vectorize || loop.options.parallel);
    std::vector<Value> arguments;
    visit_arguments(program_, s, [&](Value value) { define(value, arguments); });
    const bool never_runs = program_.range_of(loop.extent).high <= 0;
    guards_ += never_runs;
    open_loops_.push_back(&loop);
    block(loop.body, [&] { yields(loop.carries); });
    open_loops_.pop_back();
    guards_ -= never_runs;
    close(arguments);
  }

  void while_loop(const Statement& s) {
    const While& loop = program_.whiles[s.detail];
    carries(loop.carries, false);
    std::vector<Value> arguments;
    visit_arguments(program_, s, [&](Value value) { define(value, arguments); });
    block(loop.condition_block, [&] {
      use(loop.condition);
      has_dtype(loop.condition, DType::kBool, "condition");
      ++guards_;
      block(loop.body, [&] { yields(loop.carries); });
      --guards_;
    });
    close(arguments);
  }

  void branch(const If& branch) {
    has_dtype(branch.condition, DType::kBool, "condition");
    ++guards_;
    block(branch.then_block, [&] {
      for (const If::Merge& merge : branch.merges) use(merge.then_value);
    });
    block(branch.else_block, [&] {
      for (const If::Merge& merge : branch.merges) use(merge.else_value);
    });
    --guards_;
    for (const If::Merge& merge : branch.merges) {
      has_dtype(merge.else_value, dtype(merge.then_value), "merged value");
      has_dtype(merge.result, dtype(merge.then_value), "merged value");
    }
  }

  void memory_range(const Statement& s) {
    const MemoryRange& range = program_.ranges[s.detail];
    const Range count = program_.range_of(range.count);
    if (count.high <= 0 || count.high == INT64_MAX) return;
    // The range of the end, not the sum of both ends: offset and count may share terms.
    auto inside = [&](BufferId id, const Index& offset, const char* what) {
      const int64_t parts = id < program_.buffers.size() && is_complex(program_.buffers[id].dtype) ? 2 : 1;
      in_bounds(id, (offset + range.count) * parts - 1, 0, what);
    };
    inside(range.destination, range.destination_offset, "destination");
    if (s.kind == StatementKind::kCopy) inside(range.source, range.source_offset, "source");
  }

  void swap(const Statement& s) {
    require(s.buffer < program_.buffers.size() && s.other < program_.buffers.size(),
            "a swap names a buffer that does not exist");
    if (!error_.empty()) return;
    const Buffer &a = program_.buffers[s.buffer], &b = program_.buffers[s.other];
    require(a.elements == b.elements && a.dtype == b.dtype, "a swap of buffers of different size");
    require(a.kind != BufferKind::kConstant && b.kind != BufferKind::kConstant, "a swap of a constant");
  }

  void instruction(const Statement& s) {
    switch (s.kind) {
      case StatementKind::kScalar:
        return operation(s);
      case StatementKind::kFma:
      case StatementKind::kMulHigh:
        for (Value operand : s.operands) {
          if (operand != kNoValue) has_dtype(operand, s.dtype, "operand");
        }
        return;
      case StatementKind::kScale:
        has_dtype(s.operands[0], s.dtype, "operand");
        has_dtype(s.operands[1], s.dtype == DType::kFloat64 ? DType::kInt64 : DType::kInt32, "exponent");
        has_dtype(s.operands[2], s.dtype, "exponent");
        return;
      case StatementKind::kSelect:
        has_dtype(s.operands[0], DType::kBool, "condition");
        has_dtype(s.operands[1], s.dtype, "choice");
        has_dtype(s.operands[2], s.dtype, "choice");
        return;
      case StatementKind::kBitcast:
        return require(dtype_size(dtype(s.operands[0])) == dtype_size(s.dtype), "a bitcast changes the size");
      default:
        return;
    }
  }

  void statement(const Statement& s, std::vector<Value>& scope) {
    visit_inputs(program_, s, [&](Value value) { use(value); });
    switch (s.kind) {
      case StatementKind::kLoad:
      case StatementKind::kStore:
        access(s);
        break;
      case StatementKind::kFor:
        for_loop(s);
        break;
      case StatementKind::kWhile:
        while_loop(s);
        break;
      case StatementKind::kIf:
        branch(program_.ifs[s.detail]);
        break;
      case StatementKind::kGemm: {
        const Gemm& gemm = program_.gemms[s.detail];
        matrix(gemm.a, gemm.m, gemm.k, "operand a");
        matrix(gemm.b, gemm.k, gemm.n, "operand b");
        matrix(gemm.c, gemm.m, gemm.n, "result");
        break;
      }
      case StatementKind::kFill:
      case StatementKind::kCopy:
        memory_range(s);
        break;
      case StatementKind::kSwap:
        swap(s);
        break;
      case StatementKind::kHostCall:
        host_call(program_.host_calls[s.detail]);
        break;
      default:
        instruction(s);
    }
    if (error_.empty()) narrow(s);
    if (error_.empty()) visit_results(program_, s, [&](Value value) { define(value, scope); });
  }

  template <typename AtEnd>
  void block(BlockId id, AtEnd&& at_end) {
    if (id >= program_.blocks.size()) return fail("there is no block " + std::to_string(id));
    std::vector<Value> scope;
    for (const Statement& s : program_.blocks[id].statements) {
      if (!error_.empty()) return;
      statement(s, scope);
    }
    at_end();
    close(scope);
  }
  void block(BlockId id) {
    block(id, [] {});
  }

  std::vector<const For*> open_loops_;
  const Program& program_;
  Program known_;  // no more than its values: between which numbers they lie where they are computed
  std::vector<State> defined_;
  int guards_ = 0;
  std::string error_;
};

}  // namespace

std::string check(const Program& program) { return Checker(program).run(); }

}  // namespace ct::loop
