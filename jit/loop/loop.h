// The loop IR: what a compiled program does, as loop nests over scalars. It sits between the graph (arrays, no order)
// and machine code (registers, no arrays), and knows neither: lowering builds it, the emitter in jit/llvm consumes it.
//
// A `Program` is one native entry function. It has three data structures:
//
//   buffers  flat runs of elements, each an input, an output, a piece of one arena of temporaries, or constant bytes
//   blocks   of statements: For, While, If, Store, Gemm, Fill, Copy, Swap, HostCall, and instructions that define one
//            value each
//   values   scalars in SSA form, of *machine* dtypes only. Inside a vectorised loop the emitter widens them; nothing
//            here mentions vectors.
//
// Addresses are `Index`: constant + sum of coefficient * value, where a value is a loop variable or any int64 scalar (a
// loaded gather index, the result of a division). So the emitter reads off the stride of an access along the loop it
// vectorises.
//
// Read `Builder` first: lowering makes Programs with it; passes change them with loop/clone.h. Its `Scalar` hides what
// machines do not have: complex numbers (pairs of real values; complex buffers are interleaved reals), arithmetic of
// float16/bfloat16 (computed in float32, rounded after each operation), and transcendental functions (polynomials, by
// loop/expand/math.h). Semantics of each operation: ir/scalar_op.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "ir/scalar_op.h"
#include "runtime/dtype.h"

namespace ct::loop {

using Value = uint32_t;     // into Program::values
using BufferId = uint32_t;  // into Program::buffers
using BlockId = uint32_t;   // into Program::blocks
inline constexpr Value kNoValue = ~0u;
inline constexpr BlockId kNoBlock = ~0u;

// ----------------------------------------------------------------------------------------------------------------
// index

// constant + sum of coefficient * value. Terms are sorted by value, without zero coefficients, so equal indices compare
// equal.
class Index {
 public:
  struct Term {
    Value value;
    int64_t coefficient;
    bool operator==(const Term&) const = default;
  };

  Index(int64_t constant = 0) : constant_(constant) {}  // NOLINT: integers are indices
  static Index of(Value value, int64_t coefficient = 1);

  int64_t constant() const { return constant_; }
  absl::Span<const Term> terms() const { return terms_; }
  bool is_constant() const { return terms_.empty(); }
  int64_t coefficient_of(Value value) const;
  // The value itself, if the index is exactly 1 * value.
  std::optional<Value> as_value() const;

  Index& operator+=(const Index& other);
  Index& operator-=(const Index& other);
  Index& operator*=(int64_t factor);
  friend Index operator+(Index a, const Index& b) { return a += b; }
  friend Index operator-(Index a, const Index& b) { return a -= b; }
  friend Index operator*(Index a, int64_t factor) { return a *= factor; }
  friend Index operator*(int64_t factor, Index a) { return a *= factor; }
  bool operator==(const Index& other) const = default;

 private:
  void add_term(Term term);

  int64_t constant_ = 0;
  std::vector<Term> terms_;
};

// Inclusive bounds of an integer, saturating at the ends of int64.
struct Range {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
  bool known() const { return low != INT64_MIN && high != INT64_MAX; }
};

// --------------------------------------------------------------------------------------------------------------
// program

enum class BufferKind : uint8_t { kInput, kOutput, kTemporary, kConstant };

struct Buffer {
  BufferKind kind;
  DType dtype;        // complex buffers hold 2 * elements reals
  int64_t elements;   // of `dtype`
  int64_t position;   // kInput, kOutput: argument number; kTemporary: byte offset in the arena
  std::string bytes;  // kConstant
};

// What statements compute. The first group are instructions: each defines `result`.
enum class StatementKind : uint8_t {
  kConstant,  // bits
  kScalar,    // op(operands): no complex, no transcendental, no float16/bfloat16 except through kConvert
  kFma,       // operands[0] * operands[1] + operands[2], in one rounding where the machine has it, else in two
  kScale,  // operands[0] * 2^operands[1] in one rounding; operands[2] is the exponent as a float of operands[0]'s kind
  kMulHigh,   // upper half of the product of two uint32 or uint64
  kSelect,    // operands[0] ? operands[1] : operands[2]
  kConvert,   // operands[0] to dtype, as ir/scalar_op.h says
  kBitcast,   // operands[0] to dtype of equal size (float16/bfloat16 <-> 16-bit integers included)
  kIndex,     // `index` as an int64 value
  kLoad,      // buffer[index]; index counts dtype's real elements
  kStore,     // buffer[index] = operands[0]
  kFor,       // Program::fors[detail]
  kWhile,     // Program::whiles[detail]
  kIf,        // Program::ifs[detail]
  kGemm,      // Program::gemms[detail]
  kFill,      // Program::ranges[detail]: every byte of destination = `bits` (0 or 255)
  kCopy,      // Program::ranges[detail]: destination = source; the ranges do not overlap
  kSwap,      // exchange what `buffer` and `other` name, from here on: double buffering of loop-carried arrays
  kHostCall,  // Program::host_calls[detail]
};

struct Statement {
  StatementKind kind;
  ScalarOp op = ScalarOp::kAdd;
  DType dtype = DType::kInt64;  // of the result; kStore: of the stored real element
  Value result = kNoValue;
  Value operands[3] = {kNoValue, kNoValue, kNoValue};
  BufferId buffer = 0;
  BufferId other = 0;
  uint32_t detail = 0;
  // kConstant: the value's bit pattern, zero extended. kFill: the byte. kLoad: 1 if the index is in bounds whatever its
  // operands are, so that inactive lanes may load too.
  uint64_t bits = 0;
  Index index = {};
  uint32_t group = 0;  // Program::groups; of statements of the entry block
  // Which call of a function of real numbers it is part of, whose expansion it is (expand/math.h): one more than its
  // place in Program::expansions. 0: none. For people; copies keep it.
  uint32_t expansion = 0;
};

struct LoopOptions {
  // The iterations are independent, apart from carries that have a `combine`: the emitter may run several at once, in
  // any order.
  bool vectorize = false;
  // Same promise, for threads and GPU grids.
  bool parallel = false;
  // One piece of code, however long: what is cut in functions (outline.h) cannot be shared by threads.
  bool whole = false;
};

// A scalar carried from one iteration to the next, in a register.
//  - With `combine`, the body yields a *contribution* and the loop combines it: result = init (+) x0 (+) x1 ..., in an
//  order that the
//    target's vector width fixes. `argument` does not exist.
//  - Without, the body reads `argument` and yields its next value.
struct Carry {
  Value init = kNoValue;
  Value argument = kNoValue;
  Value next = kNoValue;
  Value result = kNoValue;
  std::optional<ScalarOp> combine = {};  // kAdd kMul kMax kMin kAnd kOr kXor
};

struct For {
  Value variable;  // int64, 0 <= variable < extent
  Index extent;    // evaluated on entry; negative counts as 0
  BlockId body;
  LoopOptions options;
  std::vector<Carry> carries;
};

// `condition` is computed by condition_block from the carries' arguments; body yields their next values.
struct While {
  std::vector<Carry> carries;
  BlockId condition_block;
  Value condition;
  BlockId body;
};

struct If {
  struct Merge {
    Value then_value;
    Value else_value;
    Value result;
  };
  Value condition;
  BlockId then_block;
  BlockId else_block;
  std::vector<Merge> merges;
};

// One operand of a matrix product: element (r, c) is buffer[offset + r * row_stride + c * column_stride].
struct Matrix {
  BufferId buffer;
  Index offset;
  int64_t row_stride;
  int64_t column_stride;
};

// c = a b, or c += a b, of one type: floats, or complex numbers (offsets and strides count parts). Half floats a and b
// may have a c of float32, in which they are accumulated. Of integers and few complex numbers Builder::gemm writes
// loops.
struct Gemm {
  int64_t m, n, k;
  Matrix a;  // m x k
  Matrix b;  // k x n
  Matrix c;  // m x n; overlaps neither a nor b
  bool accumulate;
  // How many of the m, n, k there are, counted from the first; at most as many. Elements of c in rows and columns
  // behind these may be written or not.
  Index rows = m, columns = n, steps = k;
};

struct MemoryRange {
  BufferId destination;
  BufferId source;  // kCopy
  Index destination_offset;
  Index source_offset;  // in elements of the buffers' dtype (complex: whole elements)
  Index count;          // in elements
};

// Code outside of the program, called on whole arrays. The program ends early when the call fails.
struct HostCall {
  struct Array {
    BufferId buffer;
    Index offset;      // in elements of the buffer's dtype (complex: whole elements)
    int64_t elements;  // row-major from there
  };
  uint32_t function;           // position in the table of whoever runs the program (host_call.h)
  std::string name;            // for people
  std::vector<Array> inputs;   // read
  std::vector<Array> outputs;  // written; overlap neither each other nor any input
};

struct ValueInfo {
  DType dtype;  // bool, integers, float16..float64, float8; never complex or key
  Range range;  // integers: what the builder could prove
};

struct Block {
  std::vector<Statement> statements;
};

struct Program {
  std::string name = "program";
  std::vector<Buffer> buffers;
  std::vector<ValueInfo> values;
  std::vector<Block> blocks;  // blocks[0] is the entry
  std::vector<For> fors;
  std::vector<While> whiles;
  std::vector<If> ifs;
  std::vector<Gemm> gemms;
  std::vector<MemoryRange> ranges;
  std::vector<HostCall> host_calls;
  std::vector<std::string> groups = {""};  // what statements were made from, for people
  std::vector<ScalarOp> expansions;        // the functions of the calls that statements are parts of
  int64_t arena_bytes = 0;                 // end of the last temporary

  Range range_of(const Index& index) const;
  const Buffer& buffer(BufferId id) const { return buffers[id]; }
};
inline bool is_temporary(const Program& program, BufferId id) {
  return program.buffer(id).kind == BufferKind::kTemporary;
}
inline int64_t bytes_of(const Program& program, BufferId id) {
  return program.buffer(id).elements * dtype_size(program.buffer(id).dtype);
}

// Text for people and tests (loop/print.cc); `parse` reads it back (loop/parse.h).
std::string to_string(const Program& program);

// --------------------------------------------------------------------------------------------------------------
// builder

// One number of any dtype while building: complex has two values.
struct Scalar {
  DType dtype = DType::kFloat32;
  Value re = kNoValue;
  Value im = kNoValue;
};

using Scalars = absl::InlinedVector<Scalar, 4>;

class Builder {
 public:
  explicit Builder(std::string name = "program");

  // Buffers. `elements` counts elements of `dtype`; complex ones are addressed by whole elements here too.
  BufferId input(DType dtype, int64_t elements);   // positions count up from 0
  BufferId output(DType dtype, int64_t elements);  // positions count up from 0
  BufferId temporary(DType dtype, int64_t elements, int64_t byte_offset);
  BufferId constant_buffer(DType dtype, int64_t elements, std::string bytes);

  // Constants. The double or integer is converted to dtype (float16/bfloat16 rounded to nearest even).
  Scalar constant(DType dtype, double value);
  Scalar constant(DType dtype, int64_t value);
  Scalar constant(DType dtype, int value) { return constant(dtype, static_cast<int64_t>(value)); }
  Scalar constant_complex(DType dtype, double re, double im);
  Scalar constant_from_bytes(DType dtype, const void* element);  // one element as it lies in memory

  // Memory.
  Scalar load(BufferId buffer, const Index& index);
  void store(BufferId buffer, const Index& index, Scalar value);  // value.dtype == the buffer's
  // Of complex buffers too, with an index that counts reals.
  Scalar load_part(BufferId buffer, const Index& index);
  void store_part(BufferId buffer, const Index& index, Scalar value);
  void fill(BufferId buffer, const Index& offset, const Index& count, Scalar value);
  void copy(BufferId destination, const Index& destination_offset, BufferId source, const Index& source_offset,
            const Index& count);  // equal dtypes, no overlap
  void swap(BufferId a, BufferId b);
  void host_call(HostCall call);

  // Arithmetic. Operands of one operation have equal dtypes (throws ct::Error otherwise); comparisons give bool.
  Scalar apply(ScalarOp op, absl::Span<const Scalar> operands);
  Scalar apply(ScalarOp op, Scalar a) { return apply(op, absl::MakeConstSpan(&a, 1)); }
  Scalar apply(ScalarOp op, Scalar a, Scalar b);
  Scalar select(Scalar condition, Scalar if_true, Scalar if_false);
  Scalar convert(Scalar value, DType dtype);
  Scalar bitcast(Scalar value, DType dtype);
  Scalar fma(Scalar a, Scalar b, Scalar c);  // float32, float64
  Scalar mul_high(Scalar a, Scalar b);       // uint32, uint64
  // x * 2^exponent for float32 and float64; `exponent`, at most three times as large as those of normal numbers, is
  // given as an integer of x's size and as a float: machines want the one or the other.
  Scalar scale(Scalar x, Scalar exponent, Scalar exponent_as_float);

  // Between indices and scalars.
  Scalar to_scalar(const Index& index, DType dtype = DType::kInt64);
  Index to_index(Scalar integer);
  // For index >= 0 and divisor > 0. Stay affine where the ranges of the terms allow it: (4 i + j) / 4 = i for 0 <= j
  // < 4.
  Index divide(const Index& index, int64_t divisor);
  Index modulo(const Index& index, int64_t divisor);
  Range range_of(const Index& index) const;

  // Loops. begin_for returns the variable; statements go into the body until end_for, which takes the carries' yields
  // (next values, or contributions where `combine` is set) and returns the carries' results.
  struct CarrySpec {
    Scalar init;
    std::optional<ScalarOp> combine = std::nullopt;
  };
  struct ForScope {
    Index variable;
    Scalars arguments;  // one per carry; empty Scalar for those with combine
  };
  ForScope begin_for(const Index& extent, LoopOptions options = {}, absl::Span<const CarrySpec> carries = {});
  Scalars end_for(absl::Span<const Scalar> yields = {});

  // The same with the body as a function.
  void for_each(const Index& extent, LoopOptions options, const std::function<void(Index)>& body);
  Scalar reduce(const Index& extent, LoopOptions options, ScalarOp combine, Scalar init,
                const std::function<Scalar(Index)>& contribution);

  Scalars while_loop(absl::Span<const Scalar> init, const std::function<Scalar(absl::Span<const Scalar>)>& condition,
                     const std::function<Scalars(absl::Span<const Scalar>)>& body);
  // Both functions yield scalars of the same dtypes.
  Scalars if_else(Scalar condition, const std::function<Scalars()>& then_body,
                  const std::function<Scalars()>& else_body);

  // Matrix product of any dtype: c = a b (or += if accumulate), with equal dtypes except that c may be float32 for
  // float16/bfloat16 operands.
  void gemm(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate) {
    gemm({m, n, k, a, b, c, accumulate});
  }
  void gemm(Gemm gemm);

  // Statements of the entry block from here on are made from something new, which the second call names.
  void begin_group();
  void name_group(std::string name);
  bool at_top() const { return block_ == 0; }

  DType buffer_dtype(BufferId buffer) const { return program_.buffers[buffer].dtype; }
  Program finish();

  // To try a loop nest and take it back: rollback forgets everything since the mark, which was made in the same block.
  struct Mark {
    BlockId block;
    size_t statements, buffers, values, blocks, fors, whiles, ifs, gemms, ranges, host_calls;
  };
  Mark mark() const;
  void rollback(const Mark& mark);

  // For loop/expand/math.cc: one instruction on machine values.
  Value emit(Statement statement);
  Value emit_scalar(ScalarOp op, DType dtype, Value a, Value b = kNoValue);
  DType dtype_of(Value value) const { return program_.values[value].dtype; }

 private:
  struct OpenFor {
    uint32_t index;                  // into program_.fors
    std::vector<CarrySpec> specs;    // as the caller gave them
    std::vector<uint32_t> position;  // first machine carry of each spec
  };

  Value new_value(DType dtype, Range range = {});
  BlockId new_block();
  void statement(Statement statement) {
    statement.group = group_;
    statement.expansion = expansion_;
    program_.blocks[block_].statements.push_back(std::move(statement));
  }
  Scalar apply_real(ScalarOp op, absl::Span<const Scalar> operands);
  Range result_range(const Statement& statement) const;

  Program program_;
  BlockId block_ = 0;
  uint32_t group_ = 0;
  uint32_t expansion_ = 0;
  std::vector<BlockId> outer_blocks_;
  std::vector<OpenFor> open_fors_;
  absl::flat_hash_map<Value, Index> computed_extents_;  // of loop variables
  std::vector<BufferId> constant_buffers_;
  int next_input_ = 0;
  int next_output_ = 0;
};

}  // namespace ct::loop
