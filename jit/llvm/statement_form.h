// When two statements can be the same code.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/loop/visit.h"

namespace ct::jit {

// A statement with everything that depends on where it occurs taken out, as words to compare: buffers and values are
// numbered as they come, and offsets count from the first access to each buffer. Float constants are no part of the
// words: they may differ.
class Form {
 public:
  Form(const loop::Program& program, const std::vector<const loop::Statement*>& constants)
      : program_(program), constant_(constants) {}

  void add(const loop::Statement& s) {
    loop::visit_results(program_, s, [&](loop::Value value) { results_.push_back(value); });
    statement(s);
  }

  // A loop of any extent of which the emitter decides the same.
  void add_of_any_extent(const loop::Statement& s, const std::vector<uint64_t>& decided) {
    for (uint64_t decision : decided) word(decision);
    any_extent_ = program_.fors[s.detail].variable;
    add(s);
  }

  // One of several statements, of whose results others need some. Where arrays are is told by a table, whose entries
  // depend on what kind of memory it is.
  void add_of_part(const loop::Statement& s, const std::function<bool(loop::Value)>& needed) {
    if (s.kind == loop::StatementKind::kConstant) return;  // made where it is used
    kinds_ = true;
    statement(s);
    loop::visit_results(program_, s, [&](loop::Value value) {
      if (!needed(value)) return;
      word(numbers_.at(value));
      results_.push_back(value);
    });
  }

  // Hashing and equality of what may share code.
  struct Words {
    std::vector<uint64_t> words;
    bool operator==(const Words&) const = default;
    void append(const std::vector<const loop::Statement*>& floats) {
      for (const loop::Statement* constant : floats) words.push_back(constant->bits);
    }
    template <typename Hash>
    friend Hash AbslHashValue(Hash hash, const Words& w) {
      return Hash::combine(std::move(hash), w.words);
    }
  };
  Words take_words() { return std::move(words_); }

  struct Array {
    loop::BufferId buffer;
    int64_t first;  // real elements
  };
  const std::vector<Array>& arrays() const { return arrays_; }
  const std::vector<loop::Value>& values() const { return values_; }  // from outside
  const std::vector<loop::Value>& results() const { return results_; }
  const std::vector<const loop::Statement*>& constants() const { return constants_; }  // from outside
  const std::vector<const loop::Statement*>& floats() const { return floats_; }        // constants, in and outside
  const std::vector<loop::BufferId>& tables() const { return tables_; }                // constant buffers

 private:
  void word(uint64_t value) { words_.words.push_back(value); }

  void define(loop::Value value) {
    numbers_.emplace(value, numbers_.size());
    range(value);
  }
  // The builder's bounds decide between instructions.
  void range(loop::Value value) {
    const loop::ValueInfo& info = program_.values[value];
    word(static_cast<uint64_t>(info.dtype));
    word(static_cast<uint64_t>(info.range.low));
    // Of the variable only where it ends.
    word(value == any_extent_ ? 0 : static_cast<uint64_t>(info.range.high));
  }
  void use(loop::Value value) {
    if (value == loop::kNoValue) return word(~uint64_t{0});
    const auto [at, is_new] = numbers_.emplace(value, numbers_.size());
    word(at->second);
    if (!is_new) return;
    range(value);
    if (const loop::Statement* constant = constant_[value]) {
      constant_word(*constant);
      constants_.push_back(constant);
    } else {
      word(~uint64_t{0} - 1);
      values_.push_back(value);
    }
  }

  void constant_word(const loop::Statement& constant) {
    if (is_float(constant.dtype) && dtype_info(constant.dtype).computes) {
      word(~uint64_t{0} - 2);
      floats_.push_back(&constant);
    } else {
      word(constant.bits);
    }
  }

  // `parts` real elements for each that the index counts.
  void access(loop::BufferId buffer, const loop::Index& index, int64_t parts = 1) {
    const loop::Buffer& info = program_.buffers[buffer];
    word(static_cast<uint64_t>(info.dtype));
    int64_t first = 0;
    if (info.kind == loop::BufferKind::kConstant) {
      word(~static_cast<uint64_t>(buffer));
      if (std::ranges::find(tables_, buffer) == tables_.end()) tables_.push_back(buffer);
    } else {
      const int64_t constant = index.constant() * parts;
      size_t number = 0;
      while (number < arrays_.size() && arrays_[number].buffer != buffer) ++number;
      if (number == arrays_.size()) arrays_.push_back({buffer, constant});
      first = arrays_[number].first;
      word(number);
      if (kinds_) word(static_cast<uint64_t>(info.kind));
      // Whether it is the real part that the index means.
      if (is_complex(info.dtype)) word(static_cast<uint64_t>(first & 1));
    }
    word(static_cast<uint64_t>(index.constant() * parts - first));
    terms(index);
  }
  void terms(const loop::Index& index) {
    word(index.terms().size());
    for (const loop::Index::Term& term : index.terms()) {
      use(term.value);
      word(static_cast<uint64_t>(term.coefficient));
    }
  }
  void whole(const loop::Index& index) {
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

  void block(loop::BlockId id) {
    word(program_.blocks[id].statements.size());
    for (const loop::Statement& s : program_.blocks[id].statements) statement(s);
  }

  void statement(const loop::Statement& s) {
    word(static_cast<uint64_t>(s.kind) | static_cast<uint64_t>(s.op) << 8 | static_cast<uint64_t>(s.dtype) << 16);
    if (s.kind == loop::StatementKind::kConstant) {
      constant_word(s);
    } else {
      word(s.bits);
    }
    for (loop::Value operand : s.operands) use(operand);
    switch (s.kind) {
      case loop::StatementKind::kIndex:
        whole(s.index);
        break;
      case loop::StatementKind::kLoad:
      case loop::StatementKind::kStore:
        access(s.buffer, s.index);
        break;
      case loop::StatementKind::kGemm: {
        const loop::Gemm& gemm = program_.gemms[s.detail];
        for (int64_t size : {gemm.m, gemm.n, gemm.k}) word(static_cast<uint64_t>(size));
        word(gemm.accumulate);
        for (const loop::Index* count : {&gemm.rows, &gemm.columns, &gemm.steps}) whole(*count);
        for (const loop::Matrix* m : {&gemm.a, &gemm.b, &gemm.c}) matrix(*m);
        break;
      }
      case loop::StatementKind::kFill:
      case loop::StatementKind::kCopy: {
        const loop::MemoryRange& memory = program_.ranges[s.detail];
        const int64_t parts = is_complex(program_.buffers[memory.destination].dtype) ? 2 : 1;
        access(memory.destination, memory.destination_offset, parts);
        if (s.kind == loop::StatementKind::kCopy) access(memory.source, memory.source_offset, parts);
        whole(memory.count);
        break;
      }
      case loop::StatementKind::kFor: {
        const loop::For& loop = program_.fors[s.detail];
        if (loop.variable == any_extent_) {
          word(~uint64_t{0} - 3);
        } else {
          whole(loop.extent);
        }
        word(loop.options.vectorize | loop.options.parallel << 1 | loop.options.whole << 2);
        carries(loop.carries);
        break;
      }
      case loop::StatementKind::kWhile:
        carries(program_.whiles[s.detail].carries);
        break;
      case loop::StatementKind::kIf:
        use(program_.ifs[s.detail].condition);
        break;
      default:
        break;
    }
    loop::visit_arguments(program_, s, [&](loop::Value value) { define(value); });
    loop::visit_blocks_of(program_, s, [&](loop::BlockId inner) { block(inner); });
    loop::visit_yields(program_, s, [&](loop::Value value) { use(value); });
    loop::visit_results(program_, s, [&](loop::Value value) { define(value); });
  }

  const loop::Program& program_;
  const std::vector<const loop::Statement*>& constant_;
  Words words_;
  absl::flat_hash_map<loop::Value, uint64_t> numbers_;
  std::vector<Array> arrays_;
  std::vector<loop::Value> values_, results_;
  std::vector<const loop::Statement*> constants_, floats_;
  std::vector<loop::BufferId> tables_;
  bool kinds_ = false;
  loop::Value any_extent_ = loop::kNoValue;  // a loop's variable
};

}  // namespace ct::jit
