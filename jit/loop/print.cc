// Loop IR as text: one statement a line, blocks indented, buffers named by role (in0, out0, temp3@128, const4). Ranges
// of values are written where they are not what follows from how the value is made. What statements were made from is
// not part of the text.
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#include "jit/loop/loop.h"
#include "jit/loop/ranges.h"

namespace ct::loop {

namespace {

template <typename... Pieces>
void append(std::string& text, const Pieces&... pieces) {
  auto put = [&](const auto& piece) {
    using Piece = std::decay_t<decltype(piece)>;
    if constexpr (std::is_floating_point_v<Piece>) {
      char digits[40];
      std::snprintf(digits, sizeof digits, sizeof(Piece) == 4 ? "%.9g" : "%.17g", static_cast<double>(piece));
      text += digits;
    } else if constexpr (std::is_integral_v<Piece>) {
      text += std::to_string(piece);
    } else {
      text += std::string_view(piece);
    }
  };
  (put(pieces), ...);
}

template <typename... Pieces>
std::string cat(const Pieces&... pieces) {
  std::string text;
  append(text, pieces...);
  return text;
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string run() {
    append(text_, "program ", program_.name, " (arena ", program_.arena_bytes, " bytes)\n");
    for (BufferId id = 0; id < program_.buffers.size(); ++id) {
      const Buffer& buffer = program_.buffers[id];
      append(text_, "  buffer ", name_of_buffer(id), " : ", dtype_name(buffer.dtype), "[", buffer.elements, "]",
             buffer.kind == BufferKind::kConstant ? " = \"" + hexadecimal(buffer.bytes) + "\"" : "", "\n");
    }
    block(0, 1);
    return std::move(text_);
  }

 private:
  static std::string name(Value value) { return value == kNoValue ? "_" : cat("%", value); }

  // Where it is defined.
  std::string defined(Value value, Range natural) const {
    const Range range = program_.values[value].range;
    if (range.low == natural.low && range.high == natural.high) return name(value);
    return cat(name(value), " in [", range.low == INT64_MIN ? "_" : cat(range.low), ", ",
               range.high == INT64_MAX ? "_" : cat(range.high), "]");
  }
  std::string defined(Value value) const { return defined(value, dtype_range(program_.values[value].dtype)); }

  static std::string hexadecimal(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
      text += kDigits[static_cast<uint8_t>(byte) >> 4];
      text += kDigits[static_cast<uint8_t>(byte) & 15];
    }
    return text;
  }

  static std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      if (c == '\n') result += "\\n";
      if (c != '\n') result += c;
    }
    return result + "\"";
  }

  std::string name_of_buffer(BufferId id) const {
    const Buffer& buffer = program_.buffers[id];
    switch (buffer.kind) {
      case BufferKind::kInput:
        return cat("in", buffer.position);
      case BufferKind::kOutput:
        return cat("out", buffer.position);
      case BufferKind::kTemporary:
        return cat("temp", id, "@", buffer.position);
      case BufferKind::kConstant:
        return cat("const", id);
    }
    return "?";
  }

  static std::string index(const Index& index) {
    std::string text;
    for (const Index::Term& term : index.terms()) {
      if (!text.empty()) append(text, " + ");
      if (term.coefficient != 1) append(text, term.coefficient, "*");
      append(text, name(term.value));
    }
    if (text.empty()) return cat(index.constant());
    if (index.constant() != 0) append(text, " + ", index.constant());
    return text;
  }

  std::string at(BufferId buffer, const Index& i) const { return cat(name_of_buffer(buffer), "[", index(i), "]"); }

  std::string matrix(const Matrix& m) const {
    return cat(at(m.buffer, m.offset), " strides (", m.row_stride, ", ", m.column_stride, ")");
  }

  void line(int depth, std::string_view text) { append(text_, std::string(2 * depth, ' '), text, "\n"); }

  std::string carries(const std::vector<Carry>& carries) const {
    std::string text;
    for (const Carry& carry : carries) {
      append(text, text.empty() ? " carry " : ", ", defined(carry.result), " = ",
             carry.combine ? std::string(scalar_op_info(*carry.combine).name) : defined(carry.argument), " from ",
             name(carry.init));
    }
    return text;
  }

  static std::string nexts(const std::vector<Carry>& carries) {
    std::string text = "yield";
    for (const Carry& carry : carries) append(text, " ", name(carry.next));
    return text;
  }

  std::string operands(const Statement& s) const {
    std::string text;
    for (Value operand : s.operands) {
      if (operand != kNoValue) append(text, text.empty() ? "" : ", ", name(operand));
    }
    return text;
  }

  void instruction(const Statement& s, std::string_view what, int depth) {
    line(depth, cat(defined(s.result, result_range(program_, s)), " : ", dtype_name(s.dtype), " = ", what));
  }

  void block(BlockId id, int depth) {
    for (const Statement& s : program_.blocks[id].statements) statement(s, depth);
  }

  void statement(const Statement& s, int depth) {
    switch (s.kind) {
      case StatementKind::kConstant:
        return instruction(s, constant(s), depth);
      case StatementKind::kScalar:
        return instruction(s, cat(scalar_op_info(s.op).name, " ", operands(s)), depth);
      case StatementKind::kFma:
        return instruction(s, cat("fma ", operands(s)), depth);
      case StatementKind::kScale:
        return instruction(s, cat("scale ", operands(s)), depth);
      case StatementKind::kMulHigh:
        return instruction(s, cat("mul_high ", operands(s)), depth);
      case StatementKind::kSelect:
        return instruction(s, cat("select ", operands(s)), depth);
      case StatementKind::kConvert:
        return instruction(s, cat("convert ", operands(s)), depth);
      case StatementKind::kBitcast:
        return instruction(s, cat("bitcast ", operands(s)), depth);
      case StatementKind::kIndex:
        return instruction(s, cat("index ", index(s.index)), depth);
      case StatementKind::kLoad:
        return instruction(s, cat("load ", at(s.buffer, s.index), s.bits == 1 ? " always" : ""), depth);
      case StatementKind::kStore:
        return line(depth, cat("store ", at(s.buffer, s.index), " = ", name(s.operands[0])));
      case StatementKind::kFor: {
        const For& loop = program_.fors[s.detail];
        line(depth,
             cat("for ", defined(loop.variable, variable_range(program_, loop.extent)), " < ", index(loop.extent),
                 loop.options.parallel ? " parallel" : "", loop.options.vectorize ? " vectorize" : "",
                 loop.options.whole ? " whole" : "", carries(loop.carries)));
        block(loop.body, depth + 1);
        if (!loop.carries.empty()) line(depth + 1, nexts(loop.carries));
        return;
      }
      case StatementKind::kWhile: {
        const While& loop = program_.whiles[s.detail];
        line(depth, cat("while", carries(loop.carries)));
        block(loop.condition_block, depth + 1);
        line(depth, cat("do if ", name(loop.condition)));
        block(loop.body, depth + 1);
        return line(depth + 1, nexts(loop.carries));
      }
      case StatementKind::kIf: {
        const If& branch = program_.ifs[s.detail];
        line(depth, cat("if ", name(branch.condition)));
        block(branch.then_block, depth + 1);
        if (!program_.blocks[branch.else_block].statements.empty()) {
          line(depth, "else");
          block(branch.else_block, depth + 1);
        }
        for (const If::Merge& merge : branch.merges) {
          line(depth, cat("merge ", defined(merge.result), " = then ", name(merge.then_value), " else ",
                          name(merge.else_value)));
        }
        return;
      }
      case StatementKind::kGemm: {
        const Gemm& gemm = program_.gemms[s.detail];
        std::string counts;
        if (gemm.rows != Index(gemm.m) || gemm.columns != Index(gemm.n) || gemm.steps != Index(gemm.k)) {
          counts = cat(" first (", index(gemm.rows), ", ", index(gemm.columns), ", ", index(gemm.steps), ")");
        }
        return line(depth, cat("gemm ", gemm.m, "x", gemm.n, "x", gemm.k, counts, " ", matrix(gemm.c),
                               gemm.accumulate ? " += " : " = ", matrix(gemm.a), " @ ", matrix(gemm.b)));
      }
      case StatementKind::kFill: {
        const MemoryRange& range = program_.ranges[s.detail];
        return line(depth, cat("fill ", at(range.destination, range.destination_offset), " count ", index(range.count),
                               " byte ", s.bits));
      }
      case StatementKind::kCopy: {
        const MemoryRange& range = program_.ranges[s.detail];
        return line(depth, cat("copy ", at(range.destination, range.destination_offset), " = ",
                               at(range.source, range.source_offset), " count ", index(range.count)));
      }
      case StatementKind::kSwap:
        return line(depth, cat("swap ", name_of_buffer(s.buffer), ", ", name_of_buffer(s.other)));
      case StatementKind::kHostCall: {
        const HostCall& call = program_.host_calls[s.detail];
        const auto list = [&](const std::vector<HostCall::Array>& arrays) {
          std::string text;
          for (const HostCall::Array& array : arrays) {
            append(text, text.empty() ? "" : ", ", at(array.buffer, array.offset), " count ", array.elements);
          }
          return text;
        };
        return line(depth, cat("host call ", call.function, " ", quoted(call.name), " (", list(call.outputs), ") = (",
                               list(call.inputs), ")"));
      }
    }
  }

  static std::string constant(const Statement& s) {
    const auto real = [&](auto value, uint64_t bits_of_nan) {
      if (std::isnan(value)) return s.bits == bits_of_nan ? std::string("nan") : cat("bits ", s.bits);
      return cat(value);
    };
    if (s.dtype == DType::kFloat32) return real(std::bit_cast<float>(static_cast<uint32_t>(s.bits)), 0x7fc00000);
    if (s.dtype == DType::kFloat64) return real(std::bit_cast<double>(s.bits), 0x7ff8000000000000);
    if (is_signed_integer(s.dtype)) {
      int shift = 64 - 8 * dtype_size(s.dtype);
      return cat(static_cast<int64_t>(s.bits << shift) >> shift);
    }
    if (is_float(s.dtype)) return cat("bits ", s.bits);
    return cat(s.bits);
  }

  const Program& program_;
  std::string text_;
};

}  // namespace

std::string to_string(const Program& program) { return Printer(program).run(); }

}  // namespace ct::loop
