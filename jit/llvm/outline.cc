#include "jit/llvm/outline.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "jit/loop_visit.h"

namespace ct::jit {

using loop::Block;
using loop::BlockId;
using loop::BufferId;
using loop::BufferKind;
using loop::Index;
using loop::Program;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

namespace {

// In statements, of which each becomes an instruction or two. A function costs as much to compile as some 50 of them,
// however small: each pass has to come into the processor's caches again.
constexpr int64_t kChunk = 400;       // of a function, about
constexpr int64_t kMost = 600;        // a function of no more is not cut
constexpr int64_t kLeastShared = 24;  // below, the call costs as much as the code
constexpr int64_t kLeastSaved = 80;
constexpr int64_t kMostShared = 4000;
constexpr int64_t kLeastPerVaried = 24;  // of a function, for each constant that differs between its uses
constexpr int64_t kGemm = 250;
constexpr int64_t kCall = 4;
constexpr int64_t kLargestModule = 4 * kChunk;

// A statement with everything that depends on where it occurs taken out, as words to compare: buffers and values are
// numbered as they come, and offsets count from the first access to each buffer. Float constants are no part of the
// words: they may differ.
class Form {
 public:
  Form(const Program& program, const std::vector<const Statement*>& constants)
      : program_(program), constant_(constants) {}

  void add(const Statement& s) {
    loop::visit_results(program_, s, [&](Value value) { results_.push_back(value); });
    statement(s);
  }

  // Hashing and equality of what may share code.
  struct Words {
    std::vector<uint64_t> words;
    bool operator==(const Words&) const = default;
    void append(const std::vector<const Statement*>& floats) {
      for (const Statement* constant : floats) words.push_back(constant->bits);
    }
    template <typename Hash>
    friend Hash AbslHashValue(Hash hash, const Words& w) {
      return Hash::combine(std::move(hash), w.words);
    }
  };
  Words take_words() { return std::move(words_); }

  struct Array {
    BufferId buffer;
    int64_t first;  // real elements
  };
  const std::vector<Array>& arrays() const { return arrays_; }
  const std::vector<Value>& values() const { return values_; }  // from outside
  const std::vector<Value>& results() const { return results_; }
  const std::vector<const Statement*>& constants() const { return constants_; }  // from outside
  const std::vector<const Statement*>& floats() const { return floats_; }        // constants, in and outside
  const std::vector<BufferId>& tables() const { return tables_; }                // constant buffers

 private:
  void word(uint64_t value) { words_.words.push_back(value); }

  void define(Value value) {
    numbers_.emplace(value, numbers_.size());
    range(value);
  }
  // The builder's bounds decide between instructions.
  void range(Value value) {
    const loop::ValueInfo& info = program_.values[value];
    word(static_cast<uint64_t>(info.dtype));
    word(static_cast<uint64_t>(info.range.low));
    word(static_cast<uint64_t>(info.range.high));
  }
  void use(Value value) {
    if (value == loop::kNoValue) return word(~uint64_t{0});
    const auto [at, is_new] = numbers_.emplace(value, numbers_.size());
    word(at->second);
    if (!is_new) return;
    range(value);
    if (const Statement* constant = constant_[value]) {
      constant_word(*constant);
      constants_.push_back(constant);
    } else {
      word(~uint64_t{0} - 1);
      values_.push_back(value);
    }
  }

  void constant_word(const Statement& constant) {
    if (is_float(constant.dtype) && dtype_info(constant.dtype).computes) {
      word(~uint64_t{0} - 2);
      floats_.push_back(&constant);
    } else {
      word(constant.bits);
    }
  }

  // `parts` real elements for each that the index counts.
  void access(BufferId buffer, const Index& index, int64_t parts = 1) {
    const loop::Buffer& info = program_.buffers[buffer];
    word(static_cast<uint64_t>(info.dtype));
    int64_t first = 0;
    if (info.kind == BufferKind::kConstant) {
      word(~static_cast<uint64_t>(buffer));
      if (std::ranges::find(tables_, buffer) == tables_.end()) tables_.push_back(buffer);
    } else {
      const int64_t constant = index.constant() * parts;
      size_t number = 0;
      while (number < arrays_.size() && arrays_[number].buffer != buffer) ++number;
      if (number == arrays_.size()) arrays_.push_back({buffer, constant});
      first = arrays_[number].first;
      word(number);
      // Whether it is the real part that the index means.
      if (is_complex(info.dtype)) word(static_cast<uint64_t>(first & 1));
    }
    word(static_cast<uint64_t>(index.constant() * parts - first));
    terms(index);
  }
  void terms(const Index& index) {
    word(index.terms().size());
    for (const Index::Term& term : index.terms()) {
      use(term.value);
      word(static_cast<uint64_t>(term.coefficient));
    }
  }
  void whole(const Index& index) {
    word(static_cast<uint64_t>(index.constant()));
    terms(index);
  }

  void matrix(const loop::Matrix& m) {
    access(m.buffer, m.offset);
    word(static_cast<uint64_t>(m.row_stride));
    word(static_cast<uint64_t>(m.column_stride));
  }

  void carries(const std::vector<loop::Carry>& list) {
    word(list.size());
    for (const loop::Carry& carry : list) {
      use(carry.init);
      word(carry.combine ? static_cast<uint64_t>(*carry.combine) : ~uint64_t{0});
    }
  }

  void block(BlockId id) {
    word(program_.blocks[id].statements.size());
    for (const Statement& s : program_.blocks[id].statements) statement(s);
  }

  void statement(const Statement& s) {
    word(static_cast<uint64_t>(s.kind) | static_cast<uint64_t>(s.op) << 8 | static_cast<uint64_t>(s.dtype) << 16);
    if (s.kind == StatementKind::kConstant) {
      constant_word(s);
    } else {
      word(s.bits);
    }
    for (Value operand : s.operands) use(operand);
    switch (s.kind) {
      case StatementKind::kIndex:
        whole(s.index);
        break;
      case StatementKind::kLoad:
      case StatementKind::kStore:
        access(s.buffer, s.index);
        break;
      case StatementKind::kGemm: {
        const loop::Gemm& gemm = program_.gemms[s.detail];
        for (int64_t size : {gemm.m, gemm.n, gemm.k}) word(static_cast<uint64_t>(size));
        word(gemm.accumulate);
        for (const loop::Matrix* m : {&gemm.a, &gemm.b, &gemm.c}) matrix(*m);
        break;
      }
      case StatementKind::kFill:
      case StatementKind::kCopy: {
        const loop::MemoryRange& memory = program_.ranges[s.detail];
        const int64_t parts = is_complex(program_.buffers[memory.destination].dtype) ? 2 : 1;
        access(memory.destination, memory.destination_offset, parts);
        if (s.kind == StatementKind::kCopy) access(memory.source, memory.source_offset, parts);
        whole(memory.count);
        break;
      }
      case StatementKind::kFor: {
        const loop::For& loop = program_.fors[s.detail];
        whole(loop.extent);
        word(loop.options.vectorize | loop.options.parallel << 1 | loop.options.whole << 2);
        carries(loop.carries);
        break;
      }
      case StatementKind::kWhile:
        carries(program_.whiles[s.detail].carries);
        break;
      case StatementKind::kIf:
        use(program_.ifs[s.detail].condition);
        break;
      default:
        break;
    }
    loop::visit_arguments(program_, s, [&](Value value) { define(value); });
    loop::visit_blocks_of(program_, s, [&](BlockId inner) { block(inner); });
    loop::visit_yields(program_, s, [&](Value value) { use(value); });
    loop::visit_results(program_, s, [&](Value value) { define(value); });
  }

  const Program& program_;
  const std::vector<const Statement*>& constant_;
  Words words_;
  absl::flat_hash_map<Value, uint64_t> numbers_;
  std::vector<Array> arrays_;
  std::vector<Value> values_, results_;
  std::vector<const Statement*> constants_, floats_;
  std::vector<BufferId> tables_;
};

class Outliner {
 public:
  Outliner(const Program& program, const std::function<bool(const loop::For&)>& vectorized)
      : program_(program), vectorized_(vectorized), weights_(program.blocks.size(), -1) {}

  Outline run() {
    result_.functions.emplace_back().end = static_cast<uint32_t>(program_.blocks[0].statements.size());
    if (weight_of_block(0) > kMost) {
      constants_.resize(program_.values.size());
      for (const Block& block : program_.blocks) {
        for (const Statement& s : block.statements) {
          if (s.kind == StatementKind::kConstant) constants_[s.result] = &s;
        }
      }
      find_repeats(0, false);
      if (std::ranges::any_of(repeats_, [](const auto& each) { return each.second.varies_much; }))
        find_repeats(0, true);
      std::vector<Item> items = plan(0);
      cut(0, items);
      take(result_.functions[0], items);
    } else {
      result_.functions[0].weight = weight_of_block(0);
    }
    slots_end_ = (program_.arena_bytes + 7) / 8 * 8;
    find_swaps();
    owners_.assign(program_.values.size(), kNobody);
    parents_.assign(result_.functions.size(), kNobody);
    trace(0, 0, 0, result_.functions[0].end, result_.functions[0].calls);
    bundle();
    // Without slots the program's own arena will do.
    result_.arena_bytes = result_.slots.empty() && result_.pointer_slots.empty() ? program_.arena_bytes : slots_end_;
    return std::move(result_);
  }

 private:
  static constexpr uint32_t kNobody = ~0u;

  // A statement, or a call in place of some.
  struct Item {
    uint32_t begin, end;
    int64_t weight;
    bool is_call = false;
    bool may_fail = false;
    OutlinedCall call = {};
  };

  int64_t weight_of(const Statement& s) {
    switch (s.kind) {
      case StatementKind::kConstant:
        return 0;
      case StatementKind::kGemm:
        return kGemm;
      case StatementKind::kFill:
      case StatementKind::kCopy:
      case StatementKind::kSwap:
        return 4;
      case StatementKind::kHostCall: {
        const loop::HostCall& call = program_.host_calls[s.detail];
        return 8 + 2 * static_cast<int64_t>(call.inputs.size() + call.outputs.size());
      }
      default:
        break;
    }
    int64_t weight = loop::is_instruction(s) || s.kind == StatementKind::kStore ? 1 : 4;
    loop::visit_blocks_of(program_, s, [&](BlockId inner) { weight += weight_of_block(inner); });
    return weight;
  }
  int64_t weight_of_block(BlockId block) {
    int64_t& weight = weights_[block];
    if (weight < 0) {
      int64_t sum = 0;
      for (const Statement& s : program_.blocks[block].statements) sum += weight_of(s);
      weights_[block] = sum;
      return sum;
    }
    return weight;
  }

  bool holds(const Statement& s, StatementKind a, StatementKind b) const {
    bool found = s.kind == a || s.kind == b;
    loop::visit_blocks_of(program_, s, [&](BlockId block) {
      for (const Statement& inner : program_.blocks[block].statements) found = found || holds(inner, a, b);
    });
    return found;
  }
  // Whether the blocks inside run a statement at a time.
  bool opens(const Statement& s) {
    switch (s.kind) {
      case StatementKind::kFor: {
        const auto [at, is_new] = opens_.emplace(s.detail, false);
        if (is_new) at->second = !program_.fors[s.detail].options.whole && !vectorized_(program_.fors[s.detail]);
        return at->second;
      }
      case StatementKind::kWhile:
      case StatementKind::kIf:
        return true;
      default:
        return false;
    }
  }

  // -------------------------------------------------------------------------------------------------------- sharing

  bool may_share(const Statement& s) {
    if (s.kind != StatementKind::kFor && s.kind != StatementKind::kGemm && s.kind != StatementKind::kWhile)
      return false;
    const int64_t weight = weight_of(s);
    return weight >= kLeastShared && weight <= kMostShared && !holds(s, StatementKind::kSwap, StatementKind::kHostCall);
  }

  // Statements alike, but for float constants, of which some may differ.
  struct Repeat {
    int count = 0;
    uint32_t function = 0;
    std::vector<int64_t> first;     // by array
    std::vector<uint64_t> floats;   // of the first one
    std::vector<uint32_t> differs;  // positions in these
    bool varies_much = false;
  };

  // Where too many constants differ, the same ones are part of what is alike.
  Repeat& repeat_of(Form& form) {
    Form::Words words = form.take_words();
    Repeat& alike = repeats_[words];
    if (!alike.varies_much) return alike;
    words.append(form.floats());
    return repeats_[std::move(words)];
  }

  void find_repeats(BlockId block, bool only_varying) {
    for (const Statement& s : program_.blocks[block].statements) {
      if (may_share(s)) {
        Form form(program_, constants_);
        form.add(s);
        count(form, weight_of(s), only_varying);
      }
      if (opens(s)) loop::visit_blocks_of(program_, s, [&](BlockId inner) { find_repeats(inner, only_varying); });
    }
  }

  void count(Form& form, int64_t weight, bool only_varying) {
    const std::vector<const Statement*>& floats = form.floats();
    Form::Words words = form.take_words();
    if (only_varying) {
      if (!repeats_[words].varies_much) return;
      words.append(floats);
    }
    Repeat& repeat = repeats_[std::move(words)];
    if (repeat.count++ == 0) {
      for (const Statement* constant : floats) repeat.floats.push_back(constant->bits);
      return;
    }
    for (uint32_t i = 0; i < floats.size() && !repeat.varies_much; ++i) {
      if (floats[i]->bits == repeat.floats[i] || std::ranges::find(repeat.differs, i) != repeat.differs.end()) continue;
      repeat.differs.push_back(i);
      repeat.varies_much = static_cast<int64_t>(repeat.differs.size()) * kLeastPerVaried > weight;
    }
  }

  bool share(const Statement& s, uint32_t position, BlockId block, std::vector<Item>& items) {
    if (!may_share(s)) return false;
    Form form(program_, constants_);
    form.add(s);
    Repeat& repeat = repeat_of(form);
    if ((repeat.count - 1) * weight_of(s) < kLeastSaved) return false;
    if (repeat.function == 0) {
      repeat.function = static_cast<uint32_t>(result_.functions.size());
      OutlinedFunction& f = result_.functions.emplace_back();
      f.block = block;
      f.begin = position;
      f.end = position + 1;
      f.shared = true;
      f.values = form.values();
      f.results = form.results();
      for (uint32_t i : repeat.differs) f.varied.push_back(form.floats()[i]->result);
      for (const Statement* constant : form.constants()) {
        if (std::ranges::find(f.varied, constant->result) == f.varied.end()) f.constants.push_back(constant);
      }
      f.buffers = form.tables();
      f.weight = weight_of(s);
      for (const Form::Array& array : form.arrays()) {
        f.arrays.push_back(array.buffer);
        repeat.first.push_back(array.first);
      }
    }
    Item item{position, position + 1, kCall, true, false, {position, position + 1, repeat.function, {}, {}, {}, {}}};
    for (size_t i = 0; i < repeat.first.size(); ++i) {
      item.call.arrays.push_back({form.arrays()[i].buffer, form.arrays()[i].first - repeat.first[i]});
    }
    for (uint32_t i : repeat.differs) item.call.constants.push_back(form.floats()[i]);
    item.call.values = form.values();
    item.call.results = form.results();
    item.weight += static_cast<int64_t>(item.call.arrays.size() + item.call.constants.size() + item.call.values.size() +
                                        item.call.results.size());
    items.push_back(std::move(item));
    return true;
  }

  // --------------------------------------------------------------------------------------------------------- cutting

  std::vector<Item> plan(BlockId block) {
    std::vector<Item> items;
    const std::vector<Statement>& statements = program_.blocks[block].statements;
    for (uint32_t i = 0; i < statements.size(); ++i) {
      const Statement& s = statements[i];
      if (share(s, i, block, items)) continue;
      Item item{i, i + 1, weight_of(s)};
      item.may_fail = s.kind == StatementKind::kHostCall;
      if (opens(s)) {
        item.weight = 4;
        loop::visit_blocks_of(program_, s, [&](BlockId inner) {
          std::vector<Item> parts = plan(inner);
          cut(inner, parts);
          std::vector<OutlinedCall> calls;
          for (Item& part : parts) {
            item.weight += part.weight;
            item.may_fail = item.may_fail || part.may_fail;
            if (part.is_call) calls.push_back(std::move(part.call));
          }
          if (!calls.empty()) result_.inner_calls.emplace(inner, std::move(calls));
        });
      }
      items.push_back(std::move(item));
    }
    return items;
  }

  static int64_t total(const std::vector<Item>& items) {
    int64_t sum = 0;
    for (const Item& item : items) sum += item.weight;
    return sum;
  }

  // Makes chunks until the block is small.
  void cut(BlockId block, std::vector<Item>& items) {
    for (int64_t before = INT64_MAX, now = total(items); now > kMost && now < before;) {
      std::vector<Item> chunks;
      for (size_t first = 0; first < items.size();) {
        size_t last = first;
        int64_t weight = 0;
        while (last < items.size() && (last == first || weight + items[last].weight <= kChunk)) {
          weight += items[last++].weight;
        }
        if (last == first + 1 && items[first].is_call) {
          chunks.push_back(std::move(items[first]));
        } else {
          chunks.push_back(chunk(block, {items.begin() + static_cast<std::ptrdiff_t>(first),
                                         items.begin() + static_cast<std::ptrdiff_t>(last)}));
        }
        first = last;
      }
      items = std::move(chunks);
      before = now;
      now = total(items);
    }
  }

  Item chunk(BlockId block, std::vector<Item> parts) {
    const auto function = static_cast<uint32_t>(result_.functions.size());
    OutlinedFunction& f = result_.functions.emplace_back();
    f.block = block;
    f.begin = parts.front().begin;
    f.end = parts.back().end;
    take(f, parts);
    return {f.begin, f.end, kCall, true, f.may_fail, {f.begin, f.end, function, {}, {}, {}, {}}};
  }

  static void take(OutlinedFunction& f, std::vector<Item>& parts) {
    for (Item& part : parts) {
      f.weight += part.weight;
      f.may_fail = f.may_fail || part.may_fail;
      if (part.is_call) f.calls.push_back(std::move(part.call));
    }
  }

  // ------------------------------------------------------------------------------------------------ values that cross

  void find_swaps() {
    for (const Block& block : program_.blocks) {
      for (const Statement& s : block.statements) {
        if (s.kind != StatementKind::kSwap) continue;
        for (BufferId id : {s.buffer, s.other}) {
          if (result_.pointer_slots.emplace(id, slots_end_).second) {
            result_.swapped.push_back(id);
            slots_end_ += 8;
          }
        }
      }
    }
  }

  void give_slot(Value value) {
    if (result_.slots.emplace(value, slots_end_).second) slots_end_ += 8;
  }

  void define(uint32_t f, Value value) { owners_[value] = f; }

  void use(uint32_t f, Value value) {
    if (value == loop::kNoValue) return;
    const uint32_t owner = owners_[value];
    if (owner == f || !seen_values_.emplace(f, value).second) return;
    if (!constants_.empty() && constants_[value] != nullptr) {
      result_.functions[f].constants.push_back(constants_[value]);
      return;
    }
    give_slot(value);
    uint32_t callee = owner;
    while (callee != kNobody && parents_[callee] != f) callee = parents_[callee];
    if (callee == kNobody) {
      result_.functions[f].entry_values.push_back(value);
    } else {
      result_.functions[callee].results.push_back(value);
    }
  }

  void use_buffer(uint32_t f, BufferId buffer) {
    if (seen_buffers_.emplace(f, buffer).second) result_.functions[f].buffers.push_back(buffer);
  }

  // Everything that function f does in these statements, in order.
  void trace(uint32_t f, BlockId block, uint32_t begin, uint32_t end, absl::Span<const OutlinedCall> calls) {
    size_t next = 0;
    for (uint32_t i = begin; i < end; ++i) {
      if (next < calls.size() && calls[next].begin == i) {
        const OutlinedCall& call = calls[next++];
        trace_call(f, call);
        i = call.end - 1;
      } else {
        trace_statement(f, program_.blocks[block].statements[i]);
      }
    }
  }

  void trace_call(uint32_t f, const OutlinedCall& call) {
    const OutlinedFunction& callee = result_.functions[call.function];
    if (!callee.shared) {
      parents_[call.function] = f;
      return trace(call.function, callee.block, callee.begin, callee.end, callee.calls);
    }
    for (Value value : call.values) use(f, value);
    for (const OutlinedCall::Array& array : call.arrays) use_buffer(f, array.buffer);
    for (Value value : call.results) {
      give_slot(value);
      define(f, value);
    }
  }

  void trace_statement(uint32_t f, const Statement& s) {
    loop::visit_inputs(program_, s, [&](Value value) { use(f, value); });
    for_each_buffer(s, [&](BufferId buffer) { use_buffer(f, buffer); });
    loop::visit_arguments(program_, s, [&](Value value) { define(f, value); });
    loop::visit_blocks_of(program_, s, [&](BlockId inner) {
      trace(f, inner, 0, static_cast<uint32_t>(program_.blocks[inner].statements.size()), result_.calls_in(inner));
    });
    loop::visit_yields(program_, s, [&](Value value) { use(f, value); });
    loop::visit_results(program_, s, [&](Value value) { define(f, value); });
  }

  template <typename Visit>
  void for_each_buffer(const Statement& s, Visit&& visit) const {
    switch (s.kind) {
      case StatementKind::kSwap:
        visit(s.other);
        [[fallthrough]];
      case StatementKind::kLoad:
      case StatementKind::kStore:
        return visit(s.buffer);
      case StatementKind::kGemm:
        for (const loop::Matrix* m :
             {&program_.gemms[s.detail].a, &program_.gemms[s.detail].b, &program_.gemms[s.detail].c}) {
          visit(m->buffer);
        }
        return;
      case StatementKind::kCopy:
        visit(program_.ranges[s.detail].source);
        [[fallthrough]];
      case StatementKind::kFill:
        return visit(program_.ranges[s.detail].destination);
      case StatementKind::kHostCall:
        for (const loop::HostCall::Array& array : program_.host_calls[s.detail].inputs) visit(array.buffer);
        for (const loop::HostCall::Array& array : program_.host_calls[s.detail].outputs) visit(array.buffer);
        return;
      default:
        return;
    }
  }

  // --------------------------------------------------------------------------------------------------------- modules

  // Many small modules use many cores; each costs more than a small function does.
  void bundle() {
    int64_t total = 0;
    for (const OutlinedFunction& f : result_.functions) total += f.weight;
    const int64_t most = std::clamp(total / 32, 2 * kChunk, kLargestModule);
    uint32_t module = 0;
    int64_t weight = 0;
    for (OutlinedFunction& f : result_.functions) {
      if (weight > 0 && weight + f.weight > most) {
        ++module;
        weight = 0;
      }
      f.module = module;
      weight += f.weight;
    }
    result_.modules = module + 1;
  }

  const Program& program_;
  const std::function<bool(const loop::For&)>& vectorized_;
  Outline result_;
  std::vector<int64_t> weights_;               // by block; -1: not known yet
  std::vector<const Statement*> constants_;    // by value; empty when the program is not cut
  absl::flat_hash_map<uint32_t, bool> opens_;  // by For
  absl::flat_hash_map<Form::Words, Repeat> repeats_;
  std::vector<uint32_t> owners_;   // by value: the function that defines it
  std::vector<uint32_t> parents_;  // by function: of a chunk, its caller
  absl::flat_hash_set<std::pair<uint32_t, Value>> seen_values_;
  absl::flat_hash_set<std::pair<uint32_t, BufferId>> seen_buffers_;
  int64_t slots_end_ = 0;
};

}  // namespace

Outline outline(const Program& program, const std::function<bool(const loop::For&)>& vectorized) {
  return Outliner(program, vectorized).run();
}

}  // namespace ct::jit
