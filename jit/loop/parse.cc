#include "jit/loop/parse.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>

#include "ir/lexer.h"
#include "jit/loop/ranges.h"
#include "runtime/text.h"

namespace ct::loop {

namespace {

// Of values there are as many as the largest number says, whether all are defined or not.
constexpr uint64_t kMostValues = uint64_t{1} << 24;

// Instructions with operands that are not a ScalarOp.
struct Form {
  std::string_view name;
  StatementKind kind;
  int arity;
};
constexpr Form kForms[] = {
    {"fma", StatementKind::kFma, 3},          {"scale", StatementKind::kScale, 3},
    {"mul_high", StatementKind::kMulHigh, 2}, {"select", StatementKind::kSelect, 3},
    {"convert", StatementKind::kConvert, 1},  {"bitcast", StatementKind::kBitcast, 1},
};

std::optional<ScalarOp> scalar_op_named(std::string_view name) {
  const auto* const found = std::ranges::find(kScalarOpTable, name, &ScalarOpInfo::name);
  if (found == std::end(kScalarOpTable)) return std::nullopt;
  return static_cast<ScalarOp>(found - kScalarOpTable);
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : lexer_(text, file) {}

  Program run() {
    word("program", "at the beginning");
    program_.name = lexer_.expect_name("the name of the program").text;
    lexer_.expect("(", "before the size of the arena");
    word("arena", "after '('");
    program_.arena_bytes = lexer_.integer();
    word("bytes", "after the size of the arena");
    lexer_.expect(")", "after the size of the arena");
    while (lexer_.accept_name("buffer")) buffer();
    program_.blocks.emplace_back();
    block(0, 1);
    if (lexer_.next().kind != TokenKind::kEnd) unexpected("after the program");
    return std::move(program_);
  }

 private:
  // ---- Words ------------------------------------------------------------------------------------------------------

  void word(std::string_view name, std::string_view where) {
    if (lexer_.accept_name(name)) return;
    lexer_.fail(lexer_.next(), concat("expected '", name, "' ", where, ", found ", lexer_.describe(lexer_.next())));
  }
  [[noreturn]] void unexpected(std::string_view where) {
    lexer_.fail(lexer_.next(), concat("unexpected ", lexer_.describe(lexer_.next()), " ", where));
  }

  uint64_t number(const Token& token, std::string_view text, std::string_view what) {
    uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || code != std::errc() || end != text.data() + text.size()) {
      lexer_.fail(token, concat("expected ", what, ", found ", lexer_.describe(token)));
    }
    return value;
  }
  uint64_t number(std::string_view what) {
    const Token token = lexer_.take();
    return number(token, token.text, what);
  }

  DType dtype() {
    const Token name = lexer_.expect_name("a dtype");
    const std::optional<DType> found = dtype_from_name(name.text);
    if (!found) lexer_.fail(name, concat("there is no dtype '", name.text, "'"));
    return *found;
  }

  // ---- Buffers ----------------------------------------------------------------------------------------------------

  // Of an array: "temp3@128" is three tokens.
  std::string array_name(Token* at) {
    *at = lexer_.expect_name("the name of a buffer");
    std::string name(at->text);
    if (name.starts_with("temp")) {
      lexer_.expect("@", "and the offset of a temporary");
      name += concat("@", lexer_.integer());
    }
    return name;
  }

  void buffer() {
    Token at;
    const std::string name = array_name(&at);
    const size_t digits = std::min(at.text.find_first_of("0123456789"), at.text.size());
    const uint64_t position = number(at, at.text.substr(digits), "in, out, temp or const with a number");
    const std::string_view kind = at.text.substr(0, digits);
    Buffer made{};
    made.position = static_cast<int64_t>(position);
    if (kind == "out") made.kind = BufferKind::kOutput;
    if (kind == "temp") made.kind = BufferKind::kTemporary;
    if (kind == "const") made.kind = BufferKind::kConstant;
    if (made.kind == BufferKind::kInput && kind != "in") unknown_buffer(at);
    if (kind == "temp" || kind == "const") {
      if (position != program_.buffers.size()) {
        lexer_.fail(at, concat("'", name, "' is number ", program_.buffers.size(), " of the buffers"));
      }
      made.position = 0;
    }
    if (kind == "temp") made.position = std::stoll(name.substr(name.find('@') + 1));
    lexer_.expect(":", "after the name of a buffer");
    made.dtype = dtype();
    lexer_.expect("[", "before the number of elements");
    made.elements = lexer_.integer();
    lexer_.expect("]", "after the number of elements");
    if (kind == "const") {
      lexer_.expect("=", "before the bytes of a constant");
      made.bytes = bytes();
    }
    if (!buffers_.emplace(name, static_cast<BufferId>(program_.buffers.size())).second) {
      lexer_.fail(at, concat("'", name, "' is there twice"));
    }
    program_.buffers.push_back(std::move(made));
  }

  std::string bytes() {
    const Token at = lexer_.next();
    const std::string text = lexer_.quoted();
    std::string result;
    for (size_t i = 0; i < text.size(); i += 2) {
      uint8_t byte = 0;
      const char* const last = text.data() + std::min(i + 2, text.size());
      if (std::from_chars(text.data() + i, last, byte, 16).ptr != text.data() + i + 2) {
        lexer_.fail(at, "the bytes of a constant are two hexadecimal digits each");
      }
      result += static_cast<char>(byte);
    }
    return result;
  }

  [[noreturn]] void unknown_buffer(const Token& at) { lexer_.fail(at, concat("there is no buffer '", at.text, "'")); }

  BufferId array() {
    Token at;
    const auto found = buffers_.find(array_name(&at));
    if (found == buffers_.end()) unknown_buffer(at);
    return found->second;
  }

  // ---- Values -----------------------------------------------------------------------------------------------------

  struct Name {
    Token at;
    Value value;
  };
  Name value_name() {
    const Token at = lexer_.next();
    lexer_.expect("%", "before the number of a value");
    const uint64_t value = number("the number of a value");
    if (value >= kMostValues) lexer_.fail(at, concat("%", value, " is more values than a program has"));
    return {at, static_cast<Value>(value)};
  }

  Value value() {
    const Name name = value_name();
    if (name.value >= defined_.size() || !defined_[name.value]) {
      lexer_.fail(name.at, concat("%", name.value, " is not defined before this line"));
    }
    return name.value;
  }

  struct Defined {
    Value value;
    std::optional<Range> range;
  };
  Defined defined() {
    const Name name = value_name();
    if (name.value >= defined_.size()) {
      defined_.resize(name.value + 1);
      program_.values.resize(name.value + 1, {DType::kBool, {}});
    }
    if (defined_[name.value]) lexer_.fail(name.at, concat("%", name.value, " is defined twice"));
    defined_[name.value] = true;
    if (!lexer_.accept_name("in")) return {name.value, std::nullopt};
    lexer_.expect("[", "before the range of a value");
    Range range;
    if (!lexer_.accept_name("_")) range.low = lexer_.integer();
    lexer_.expect(",", "between the ends of a range");
    if (!lexer_.accept_name("_")) range.high = lexer_.integer();
    lexer_.expect("]", "after the range of a value");
    return {name.value, range};
  }
  Value know(const Defined& made, DType dtype, Range natural) {
    program_.values[made.value] = {dtype, made.range.value_or(natural)};
    return made.value;
  }
  Value know(const Defined& made, DType dtype) { return know(made, dtype, dtype_range(dtype)); }
  Value know_like(const Defined& made, Value like) { return know(made, program_.values[like].dtype); }

  Index index() {
    Index result = 0;
    do {
      if (lexer_.at("%")) {
        result += Index::of(value());
        continue;
      }
      const int64_t factor = lexer_.integer();
      result += lexer_.accept("*") ? Index::of(value(), factor) : Index(factor);
    } while (lexer_.accept("+"));
    return result;
  }

  BufferId at(Index& offset) {
    const BufferId buffer = array();
    lexer_.expect("[", "before an index");
    offset = index();
    lexer_.expect("]", "after an index");
    return buffer;
  }

  // ---- Statements -------------------------------------------------------------------------------------------------

  void block(BlockId id, int depth) {
    while (lexer_.next().kind != TokenKind::kEnd && lexer_.next().column > 2 * depth) {
      if (lexer_.next().column != 2 * depth + 1) unexpected(concat("here: this block is indented by ", 2 * depth));
      if (lexer_.at_name("yield")) return;
      Statement s = statement(depth);
      program_.blocks[id].statements.push_back(std::move(s));
    }
  }
  BlockId inner_block(int depth) {
    program_.blocks.emplace_back();
    const auto made = static_cast<BlockId>(program_.blocks.size() - 1);
    block(made, depth);
    return made;
  }

  template <typename Detail>
  static Statement with(StatementKind kind, std::vector<Detail>& details, Detail detail) {
    details.push_back(std::move(detail));
    Statement s{.kind = kind};
    s.detail = static_cast<uint32_t>(details.size() - 1);
    return s;
  }

  Statement statement(int depth) {
    if (lexer_.at("%")) return instruction();
    const Token keyword = lexer_.expect_name("a statement");
    const std::string_view name = keyword.text;
    if (name == "store") return store();
    if (name == "for") return loop(depth);
    if (name == "while") return while_loop(depth);
    if (name == "if") return branch(depth);
    if (name == "gemm") return gemm();
    if (name == "fill") return fill();
    if (name == "copy") return copy();
    if (name == "host") return host_call();
    if (name == "swap") {
      Statement s{.kind = StatementKind::kSwap};
      s.buffer = array();
      lexer_.expect(",", "between the buffers of a swap");
      s.other = array();
      return s;
    }
    lexer_.fail(keyword, concat("there is no statement '", name, "'"));
  }

  Statement instruction() {
    const Defined result = defined();
    lexer_.expect(":", "after what an instruction defines");
    Statement s{.kind = StatementKind::kConstant, .dtype = dtype(), .result = result.value};
    lexer_.expect("=", "before an instruction");
    const Token what = lexer_.next();
    if (lexer_.accept_name("index")) {
      s.kind = StatementKind::kIndex;
      s.index = index();
    } else if (lexer_.accept_name("load")) {
      s.kind = StatementKind::kLoad;
      s.buffer = at(s.index);
      s.bits = lexer_.accept_name("always");
    } else if (what.kind == TokenKind::kNumber || what.text == "bits" || what.text == "nan" || what.text == "inf") {
      s.bits = constant(s.dtype);
    } else {
      operation(s, lexer_.expect_name("an instruction"));
    }
    know(result, s.dtype, result_range(program_, s));
    return s;
  }

  void operation(Statement& s, const Token& name) {
    int arity = 0;
    const auto* const form = std::ranges::find(kForms, name.text, &Form::name);
    if (form != std::end(kForms)) {
      s.kind = form->kind;
      arity = form->arity;
    } else if (const auto op = scalar_op_named(name.text)) {
      s.kind = StatementKind::kScalar;
      s.op = *op;
      arity = scalar_op_info(*op).arity;
    } else {
      lexer_.fail(name, concat("there is no instruction '", name.text, "'"));
    }
    for (int i = 0; i < arity; ++i) {
      if (i > 0) lexer_.expect(",", concat("before operand ", i, " of ", name.text));
      s.operands[i] = value();
    }
  }

  uint64_t constant(DType dtype) {
    if (lexer_.accept_name("bits")) return number("the bits of a constant");
    if (dtype == DType::kFloat32) return std::bit_cast<uint32_t>(static_cast<float>(lexer_.real()));
    if (dtype == DType::kFloat64) return std::bit_cast<uint64_t>(lexer_.real());
    if (!is_signed_integer(dtype)) return number("a constant without sign");
    const auto bits = static_cast<uint64_t>(lexer_.integer());
    const int unused = 64 - 8 * dtype_size(dtype);
    return bits << unused >> unused;
  }

  Statement store() {
    Statement s{.kind = StatementKind::kStore};
    s.buffer = at(s.index);
    lexer_.expect("=", "before what is stored");
    s.operands[0] = value();
    s.dtype = program_.values[s.operands[0]].dtype;
    return s;
  }

  std::vector<Carry> carries() {
    std::vector<Carry> result;
    if (!lexer_.accept_name("carry")) return result;
    do {
      Carry carry;
      const Defined made = defined();
      lexer_.expect("=", "after the result of a carry");
      std::optional<Defined> argument;
      if (lexer_.at("%")) {
        argument = defined();
      } else {
        const Token name = lexer_.expect_name("how a carry combines");
        carry.combine = scalar_op_named(name.text);
        if (!carry.combine) lexer_.fail(name, concat("there is no operation '", name.text, "'"));
      }
      word("from", "before the initial value of a carry");
      carry.init = value();
      carry.result = know_like(made, carry.init);
      if (argument) carry.argument = know_like(*argument, carry.init);
      result.push_back(carry);
    } while (lexer_.accept(","));
    return result;
  }

  void yields(std::vector<Carry>& carries) {
    word("yield", "at the end of a loop that carries values");
    for (Carry& carry : carries) carry.next = value();
  }

  Statement loop(int depth) {
    const Defined variable = defined();
    lexer_.expect("<", "before the extent of a loop");
    For made{.variable = variable.value, .extent = index(), .body = kNoBlock, .options = {}, .carries = {}};
    know(variable, DType::kInt64, variable_range(program_, made.extent));
    made.options.parallel = lexer_.accept_name("parallel");
    made.options.vectorize = lexer_.accept_name("vectorize");
    made.options.whole = lexer_.accept_name("whole");
    made.carries = carries();
    made.body = inner_block(depth + 1);
    if (!made.carries.empty()) yields(made.carries);
    return with(StatementKind::kFor, program_.fors, std::move(made));
  }

  Statement while_loop(int depth) {
    While made{.carries = carries(), .condition_block = kNoBlock, .condition = kNoValue, .body = kNoBlock};
    made.condition_block = inner_block(depth + 1);
    word("do", "after the condition of a while");
    word("if", "after 'do'");
    made.condition = value();
    made.body = inner_block(depth + 1);
    yields(made.carries);
    return with(StatementKind::kWhile, program_.whiles, std::move(made));
  }

  Statement branch(int depth) {
    If made{.condition = value(), .then_block = kNoBlock, .else_block = kNoBlock, .merges = {}};
    made.then_block = inner_block(depth + 1);
    // Without 'else' what follows belongs to the block around.
    if (lexer_.next().column == 2 * depth + 1 && lexer_.accept_name("else")) {
      made.else_block = inner_block(depth + 1);
    } else {
      program_.blocks.emplace_back();
      made.else_block = static_cast<BlockId>(program_.blocks.size() - 1);
    }
    while (lexer_.next().column == 2 * depth + 1 && lexer_.accept_name("merge")) {
      const Defined result = defined();
      lexer_.expect("=", "after what a branch defines");
      word("then", "before the value of the first block");
      const Value if_true = value();
      word("else", "before the value of the second block");
      const Value if_false = value();
      made.merges.push_back({if_true, if_false, know_like(result, if_true)});
    }
    return with(StatementKind::kIf, program_.ifs, std::move(made));
  }

  Matrix matrix() {
    Matrix result{};
    result.buffer = at(result.offset);
    word("strides", "after the offset of a matrix");
    lexer_.expect("(", "before the strides of a matrix");
    result.row_stride = lexer_.integer();
    lexer_.expect(",", "between the strides of a matrix");
    result.column_stride = lexer_.integer();
    lexer_.expect(")", "after the strides of a matrix");
    return result;
  }

  Statement gemm() {
    const Token sizes = lexer_.take();
    int64_t size[3] = {};
    std::string_view rest = sizes.text;
    for (int64_t& one : size) {
      const size_t end = std::min(rest.find('x'), rest.size());
      one = static_cast<int64_t>(number(sizes, rest.substr(0, end), "the sizes of a product, like 2x3x4"));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (!rest.empty()) lexer_.fail(sizes, "a product has three sizes, like 2x3x4");
    Gemm made{.m = size[0], .n = size[1], .k = size[2], .a = {}, .b = {}, .c = {}, .accumulate = false};
    if (lexer_.accept_name("first")) {
      lexer_.expect("(", "before the counts of a product");
      made.rows = index();
      lexer_.expect(",", "between the counts of a product");
      made.columns = index();
      lexer_.expect(",", "between the counts of a product");
      made.steps = index();
      lexer_.expect(")", "after the counts of a product");
    }
    made.c = matrix();
    made.accumulate = lexer_.accept("+");
    lexer_.expect("=", "after the result of a product");
    made.a = matrix();
    lexer_.expect("@", "between the operands of a product");
    made.b = matrix();
    return with(StatementKind::kGemm, program_.gemms, std::move(made));
  }

  Statement fill() {
    MemoryRange range{};
    range.destination = at(range.destination_offset);
    word("count", "after what is filled");
    range.count = index();
    word("byte", "after the count");
    const uint64_t byte = number("a byte");
    Statement s = with(StatementKind::kFill, program_.ranges, std::move(range));
    s.bits = byte;
    return s;
  }

  Statement copy() {
    MemoryRange range{};
    range.destination = at(range.destination_offset);
    lexer_.expect("=", "before what is copied");
    range.source = at(range.source_offset);
    word("count", "after what is copied");
    range.count = index();
    return with(StatementKind::kCopy, program_.ranges, std::move(range));
  }

  std::vector<HostCall::Array> call_arrays() {
    std::vector<HostCall::Array> result;
    lexer_.expect("(", "before the arrays of a host call");
    lexer_.list(")", "after the arrays of a host call", [&] {
      HostCall::Array array{};
      array.buffer = at(array.offset);
      word("count", "after an array of a host call");
      array.elements = lexer_.integer();
      result.push_back(std::move(array));
    });
    return result;
  }

  Statement host_call() {
    word("call", "after 'host'");
    HostCall call{};
    call.function = static_cast<uint32_t>(number("the number of a function"));
    call.name = lexer_.quoted();
    call.outputs = call_arrays();
    lexer_.expect("=", "before the inputs of a host call");
    call.inputs = call_arrays();
    return with(StatementKind::kHostCall, program_.host_calls, std::move(call));
  }

  Lexer lexer_;
  Program program_;
  std::map<std::string, BufferId, std::less<>> buffers_;
  std::vector<bool> defined_;
};

}  // namespace

Program parse(std::string_view text, const std::string& file) { return Parser(text, file).run(); }

}  // namespace ct::loop
