#include "jit/c/emission.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "jit/loop/visit.h"
#include "jit/machine/questions.h"
#include "runtime/error.h"

namespace ct::jit::c {

using loop::BlockId;
using loop::BufferId;
using loop::BufferKind;
using loop::Index;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

namespace {

constexpr size_t kLongest = 88;  // of an expression that is written where it is used

bool is_parameter(const Names& names, const std::string& name) {
  return std::ranges::find(names.inputs, name) != names.inputs.end() ||
         std::ranges::find(names.outputs, name) != names.outputs.end();
}

}  // namespace

Emission::Emission(const loop::Program& program, const Names& names, Helpers& helpers)
    : program(program),
      facts(helpers.facts()),
      helpers(helpers),
      cost(program),
      arena_bytes(program.arena_bytes),
      names_(names),
      values_(program.values.size()),
      uses_(program.values.size()),
      calls_(program),
      writes_before_(program.blocks.size()) {
  count_uses();
}

bool never_runs(const loop::Program& program, const Statement& s) {
  return s.kind == StatementKind::kFor && program.range_of(program.fors[s.detail].extent).high <= 0;
}

uint32_t times_written(const Statement& s) {
  return s.kind == StatementKind::kStore || s.kind == StatementKind::kIf || loop::is_instruction(s) ? 1 : 2;
}

// Until nothing more turns out to be unused: what only such values are made from is unused, too. Then once more, as it
// is known what is written as calls.
void Emission::count_uses() {
  std::vector<bool> unused(program.values.size(), false);
  // What a call takes from outside is used once, by the call.
  std::vector<uint32_t> made_by(program.values.size(), 0), used_by;
  for (BlockId block = 0; block < program.blocks.size(); ++block) {
    for (size_t i = 0; i < program.blocks[block].statements.size(); ++i) {
      const auto make = [&](Value value) { made_by[value] = calls_.run(block, i); };
      loop::visit_arguments(program, program.blocks[block].statements[i], make);
      loop::visit_results(program, program.blocks[block].statements[i], make);
    }
  }
  const auto use = [&](Value value, BlockId block, size_t position, uint32_t times) {
    uses_[value].count += times;
    uses_[value].block = block;
    uses_[value].position = static_cast<uint32_t>(position);
  };
  const auto count = [&](const Statement& s, BlockId block, size_t position) {
    const uint32_t times = times_written(s);
    const bool only_multiplies = s.kind == StatementKind::kScalar && (s.op == ScalarOp::kMul || s.op == ScalarOp::kDiv);
    if (s.kind != StatementKind::kStore && !only_multiplies) {
      c::visit_inputs(program, s, [&](Value value) { uses_[value].adds = true; });
      loop::visit_yields(program, s, [&](Value value) { uses_[value].adds = true; });
    }
    if (never_runs(program, s)) {
      for (const loop::Carry& carry : program.fors[s.detail].carries) {
        if (!unused[carry.result]) use(carry.init, block, position, times);
      }
      return;
    }
    const uint32_t run = calls_.run(block, position);
    c::visit_inputs(program, s, [&](Value value) {
      if (!calls_.is_call(run) || made_by[value] == run) return use(value, block, position, times);
      if (std::exchange(used_by[value], run) != run) use(value, block, position, 1);
    });
    const auto yield = [&](Value value, BlockId from) { use(value, from, program.blocks[from].statements.size(), 1); };
    if (s.kind == StatementKind::kFor) {
      for (const loop::Carry& carry : program.fors[s.detail].carries) yield(carry.next, program.fors[s.detail].body);
    } else if (s.kind == StatementKind::kWhile) {
      const loop::While& inner = program.whiles[s.detail];
      yield(inner.condition, inner.condition_block);
      for (const loop::Carry& carry : inner.carries) yield(carry.next, inner.body);
    } else if (s.kind == StatementKind::kIf) {
      const loop::If& inner = program.ifs[s.detail];
      for (const loop::If::Merge& merge : inner.merges) {
        if (unused[merge.result]) continue;
        yield(merge.then_value, inner.then_block);
        yield(merge.else_value, inner.else_block);
      }
    }
  };
  // Those inside are counted after all of the block.
  const auto count_block = [&](BlockId block, const auto& self) -> void {
    const std::vector<Statement>& statements = program.blocks[block].statements;
    const auto is_written = [&](const Statement& s) { return !loop::is_instruction(s) || !unused[s.result]; };
    for (size_t i = 0; i < statements.size(); ++i) {
      if (is_written(statements[i])) count(statements[i], block, i);
    }
    for (const Statement& s : statements) {
      if (never_runs(program, s)) continue;
      loop::visit_blocks_of(program, s, [&](BlockId inner) { self(inner, self); });
    }
  };
  const auto count_all = [&] {
    std::ranges::fill(uses_, Uses{});
    used_by.assign(program.values.size(), 0);
    count_block(0, count_block);
  };
  for (bool found = true; found;) {
    count_all();
    found = false;
    for (Value value = 0; value < uses_.size(); ++value) {
      if (uses_[value].count > 0 || unused[value]) continue;
      unused[value] = found = true;
    }
  }
  calls_.find([&](Value value) { return uses_[value].count; });
  count_all();
  for (BlockId block = 0; block < program.blocks.size(); ++block) {
    uint32_t writes = 0;
    for (const Statement& s : program.blocks[block].statements) {
      writes_before_[block].push_back(writes);
      if (!loop::is_instruction(s)) ++writes;
    }
    writes_before_[block].push_back(writes);
  }
}

// ---------------------------------------------------------------------------------------------------------------- text

std::string Emission::fresh(std::string_view kind) {
  for (;;) {
    std::string name = concat(kind, ++next_name_);
    if (!is_parameter(names_, name)) return name;
  }
}

std::string Emission::loop_variable() {
  constexpr std::string_view kNames = "ijklmn";
  const auto number = static_cast<size_t>(loops_open++);
  if (number < kNames.size() && !is_parameter(names_, std::string(1, kNames[number])))
    return std::string(1, kNames[number]);
  return fresh("i");
}

std::string declared(DType dtype, std::string_view name, std::string_view initial) {
  return concat(register_type(dtype), " ", name, " = ", initial, ";");
}

// -------------------------------------------------------------------------------------------------------------- values

std::string Emission::value(Value value, Binding least) {
  const Expression& known = values_[value];
  CT_CHECK(!known.text.empty());
  return known.binding < least ? concat("(", known.text, ")") : known.text;
}

std::string Emission::in_byte(Value value) {
  const Expression& known = values_[value];
  if (!is_bool(program.values[value].dtype) || known.binding != kBitwise) return this->value(value);
  return concat("(bool)(", known.text, ")");
}

std::string Emission::index(const Index& index, Binding least) {
  std::string result;
  for (const Index::Term& term : index.terms()) {
    const int64_t factor = term.coefficient;
    if (!result.empty()) result += factor < 0 ? " - " : " + ";
    if (result.empty() && factor < 0) result += '-';
    const int64_t size = factor < 0 ? -factor : factor;
    if (size != 1) result += concat(size > INT32_MAX ? concat("INT64_C(", size, ")") : concat(size), " * ");
    result += value(term.value, size == 1 ? (factor < 0 ? kProduct : kSum) : kUnary);
  }
  const int64_t constant = index.constant();
  if (result.empty()) return literal(DType::kInt64, static_cast<uint64_t>(constant));
  if (constant != 0) {
    result += concat(constant < 0 ? " - " : " + ",
                     literal(DType::kInt64, static_cast<uint64_t>(constant < 0 ? -constant : constant)));
  }
  const bool atom = index.as_value() && values_[*index.as_value()].binding == kAtom;
  return least > kSum && !atom ? concat("(", result, ")") : result;
}

int64_t real_elements(const loop::Program& program, BufferId buffer) {
  const loop::Buffer& b = program.buffers[buffer];
  return b.elements * (is_complex(b.dtype) ? 2 : 1);
}

std::string Emission::table(const loop::Buffer& buffer) {
  const DType dtype = real_dtype(buffer.dtype);
  const bool is_bits = is_bool(dtype) || is_small_float(dtype) || dtype == DType::kKey;
  const DType kind = !is_bits                 ? dtype
                     : dtype_size(dtype) == 1 ? DType::kUInt8
                     : dtype_size(dtype) == 2 ? DType::kUInt16
                                              : DType::kUInt64;
  const auto size = static_cast<size_t>(dtype_size(kind));
  const size_t count = buffer.bytes.size() / size;
  std::string list;
  size_t in_line = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, buffer.bytes.data() + i * size, size);
    const Expression number = constant(kind, bits);
    const std::string item = concat(number.text, i + 1 < count ? "," : "");
    in_line += item.size() + 1;
    const bool breaks = i == 0 || in_line > 110;
    if (breaks) in_line = item.size() + 1;
    list += concat(breaks ? "\n    " : " ", item);
  }
  return helpers.function_like(
      "ct_table", concat("static const ", memory_type(kind), " $name[", std::max<size_t>(count, 1), "] = {",
                         count == 0 ? "0" : list, "};\n"));
}

std::string Emission::buffer(BufferId id) {
  const loop::Buffer& buffer = program.buffers[id];
  switch (buffer.kind) {
    case BufferKind::kInput:
      return names_.inputs[static_cast<size_t>(buffer.position)];
    case BufferKind::kOutput:
      return names_.outputs[static_cast<size_t>(buffer.position)];
    case BufferKind::kConstant:
      return table(buffer);
    case BufferKind::kTemporary:
      return concat("temporary", id);
  }
  CT_CHECK(false);
}

std::string Emission::element(BufferId id, const Index& index) {
  return concat(buffer(id), "[", this->index(index), "]");
}

std::string Emission::pointer(BufferId id, const Index& index) {
  if (index == Index(0)) return buffer(id);
  return concat(buffer(id), " + ", this->index(index));
}

void Emission::define_at(Value value, Expression expression, BlockId block, uint32_t position) {
  const Uses& used = uses_[value];
  bool inlines = used.count == 1 && used.block == block && expression.text.size() <= kLongest;
  if (inlines && expression.reads) {
    // Nothing may be written before it is read.
    const std::vector<uint32_t>& writes = writes_before_[block];
    inlines = writes[position] == writes[used.position];
  }
  if (inlines) return define(value, std::move(expression));
  const std::string name = fresh("v");
  line("const ", declared(program.values[value].dtype, name, expression.text));
  define(value, {name, kAtom, false});
}

std::string Emission::scratch(DType dtype, int64_t elements) {
  const int64_t begin = divide_up(program.arena_bytes, 64) * 64 + scratch_used_;
  scratch_used_ += divide_up(elements * dtype_size(dtype), 64) * 64;
  arena_bytes = std::max(arena_bytes, divide_up(program.arena_bytes, 64) * 64 + scratch_used_);
  ++arena_uses_;
  const std::string name = fresh("scratch");
  line(memory_type(dtype), "* const ", name, " = (", memory_type(dtype), "*)(void*)(arena + ", begin, ");");
  return name;
}

void Emission::ask_to_stop(double nanoseconds) {
  if (in_lanes || nanoseconds < kShortIteration) return;
  stops = true;
  line("if (stop != NULL && *stop != 0) return 1;");
}

void Emission::count_time(const Statement& statement) {
  if (cost.program() < kLongProgram) return;
  pending_ += cost.statement(statement);
  if (pending_ < kBetweenQuestions / 2) return;
  pending_ = 0;
  ask_to_stop(kLongProgram);
}

// ---------------------------------------------------------------------------------------------------------- statements

void Emission::block(BlockId id) { statements(id, 0, static_cast<uint32_t>(program.blocks[id].statements.size())); }

void Emission::statements(BlockId id, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end;) {
    const uint32_t after = function_call(id, i, end);
    if (after > i) {
      i = after;
      continue;
    }
    statement(program.blocks[id].statements[i], id, i);
    ++i;
  }
}

void Emission::statement(const Statement& s, BlockId id, uint32_t position) {
  if (sides != nullptr && s.kind != StatementKind::kConstant) {
    const bool is_left_out =
        loop::is_instruction(s) ? !sides->needed.contains(s.result) : sides->asks && s.kind != StatementKind::kIf;
    if (is_left_out) return;
  }
  switch (s.kind) {
    case StatementKind::kStore: {
      const DType dtype = s.dtype;
      const std::string stored = is_small_float(dtype) ? concat(helpers.encode(dtype), "(", value(s.operands[0]), ")")
                                                       : in_byte(s.operands[0]);
      return line(element(s.buffer, s.index), " = ", stored, ";");
    }
    case StatementKind::kFor:
      if (!never_runs(program, s)) return for_loop(program.fors[s.detail]);
      for (const loop::Carry& carry : program.fors[s.detail].carries) define(carry.result, values_[carry.init]);
      return;
    case StatementKind::kWhile:
      return while_loop(program.whiles[s.detail]);
    case StatementKind::kIf:
      return if_else(program.ifs[s.detail], id, position);
    case StatementKind::kGemm:
      return product(program.gemms[s.detail]);
    case StatementKind::kFill:
    case StatementKind::kCopy: {
      const loop::MemoryRange& range = program.ranges[s.detail];
      const DType dtype = program.buffers[range.destination].dtype;
      const int64_t parts = is_complex(dtype) ? 2 : 1;
      const Index bytes = range.count * static_cast<int64_t>(dtype_size(dtype));
      const std::string size = concat("(size_t)", index(bytes, kUnary));
      const std::string to = pointer(range.destination, range.destination_offset * parts);
      if (s.kind == StatementKind::kFill) return line("__builtin_memset(", to, ", ", s.bits, ", ", size, ");");
      return line("__builtin_memcpy(", to, ", ", pointer(range.source, range.source_offset * parts), ", ", size, ");");
    }
    case StatementKind::kSwap: {
      const std::string a = buffer(s.buffer), b = buffer(s.other);
      const std::string_view type = memory_type(real_dtype(program.buffers[s.buffer].dtype));
      open();
      line(type, "* const before = ", a, ";");
      line(a, " = ", b, ";");
      line(b, " = before;");
      return close();
    }
    case StatementKind::kHostCall:
      CT_CHECK(false);  // refused where it was to be lowered
    case StatementKind::kConstant:
      return define(s.result, instruction(s));
    default:
      if (uses_[s.result].count == 0) return;
      return define_at(s.result, instruction(s), id, position);
  }
}

}  // namespace ct::jit::c
