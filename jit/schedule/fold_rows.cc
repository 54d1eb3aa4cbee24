#include <algorithm>
#include <cstdlib>

#include "jit/loop/clone.h"
#include "jit/loop/passes/sums.h"
#include "jit/loop/visit.h"
#include "jit/schedule/nests.h"

namespace ct::jit {
namespace {

using loop::BlockId;
using loop::BufferId;
using loop::Carry;
using loop::Cloner;
using loop::For;
using loop::Index;
using loop::NewLoop;
using loop::Program;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

constexpr int64_t kColumns = 2048;  // accumulators at a time: they stay in the first cache
constexpr int64_t kRowsAtOnce = 4;  // rows that are added to them at a time,
constexpr size_t kMostAtOnce = 8;   // of so many statements

// Whether `inner`, inside of `outer`, goes down columns: memory is touched at neighbouring places from one iteration of
// `outer` to the next, and far apart from one of `inner` to the next.
bool goes_down_columns(const Program& program, const For& outer, const For& inner) {
  bool along = false, legal = true;
  loop::visit_statements(program, inner.body, [&](const Statement& s) {
    if (s.kind == StatementKind::kFor || s.kind == StatementKind::kWhile || s.kind == StatementKind::kIf) legal = false;
    if (s.kind == StatementKind::kStore) {
      // Rows of stored elements, each written once.
      legal = legal && std::abs(s.index.coefficient_of(inner.variable)) >= constant_extent(outer);
    }
    if (s.kind != StatementKind::kLoad && s.kind != StatementKind::kStore) return;
    const int64_t across = s.index.coefficient_of(outer.variable), down = s.index.coefficient_of(inner.variable);
    // What is one for the whole row, like its factor, serves every order.
    if (std::abs(down) == 1 && across != 0 && constant_extent(inner) > 1) legal = false;
    if (across == 1 && std::abs(down) >= 64) along = true;
  });
  return legal && along;
}

// for column { prologue; fold over rows; epilogue }  ->
// for tile of columns { for column: a[column] = init; for row for column: a[column] += ...; for column: epilogue }
// Many rows are added up in blocks, with accumulators b: a[column] += b[column] after each.
class RowFold {
 public:
  RowFold(Program& program, For outer, For inner, std::vector<Statement> prologue, std::vector<Statement> epilogue,
          const std::vector<ParallelLoop>& around)
      : program_(program),
        outer_(std::move(outer)),
        inner_(std::move(inner)),
        prologue_(std::move(prologue)),
        epilogue_(std::move(epilogue)),
        columns_(constant_extent(outer_)),
        rows_(constant_extent(inner_)),
        rows_of_block_(choose_block()) {
    int64_t copies = 1;
    for (const ParallelLoop& loop : around) {
      own_ += Index::of(loop.variable, copies * columns_);
      copies *= loop.extent;
    }
    accumulators_ = new_accumulators(copies);
    if (rows_of_block_ < rows_) of_block_ = new_accumulators(copies);
  }

  // The block of what takes the nest's place.
  BlockId emit() {
    const BlockId made = loop::new_block(program_);
    BlockId where = made;
    if (columns_ > kColumns && columns_ % kColumns == 0) {
      const NewLoop tiles = loop::append_for(program_, made, columns_ / kColumns, {.parallel = true});
      where = tiles.body;
      first_ = Index::of(tiles.variable, kColumns);
      count_ = kColumns;
    } else {
      count_ = columns_;
    }
    start(where);
    if (of_block_.empty()) {
      add_rows(accumulators_, 0, rows_, where);
    } else {
      const NewLoop blocks = loop::append_for(program_, where, rows_ / rows_of_block_, {});
      add_block(Index::of(blocks.variable, rows_of_block_), rows_of_block_, blocks.body);
      if (const int64_t rest = rows_ % rows_of_block_; rest > 0) add_block(rows_ - rest, rest, where);
    }
    finish(where, {.vectorize = true, .parallel = where == made});
    return made;
  }

 private:
  // Of sums of floats alone: other folds would need another start.
  int64_t choose_block() const {
    bool sums = true, floats = false;
    for (const Carry& carry : inner_.carries) {
      sums = sums && *carry.combine == ScalarOp::kAdd;
      floats = floats || is_float(program_.values[carry.init].dtype);
    }
    return sums && floats ? block_of(rows_, kRowsOfBlock, 1) : rows_;
  }

  std::vector<BufferId> new_accumulators(int64_t copies) {
    std::vector<BufferId> result;
    for (const Carry& carry : inner_.carries) {
      result.push_back(loop::new_temporary(program_, program_.values[carry.init].dtype, copies * columns_));
    }
    return result;
  }

  Value load(BufferId buffer, const Index& column, BlockId where) {
    return loop::append_load(program_, where, buffer, own_ + column);
  }
  void store(BufferId buffer, const Index& column, Value value, BlockId where) {
    loop::append_store(program_, where, buffer, own_ + column, value);
  }
  Value combine(size_t carry, Value sum, Value value, BlockId where) {
    return loop::append_scalar(program_, where, *inner_.carries[carry].combine, sum, value);
  }
  NewLoop over_columns(BlockId where) { return loop::append_for(program_, where, count_, {.vectorize = true}); }

  void start(BlockId where) {
    const NewLoop columns = over_columns(where);
    const Index column = first_ + Index::of(columns.variable);
    Cloner cloner(program_);
    cloner.replace(outer_.variable, column);
    cloner.clone(prologue_, columns.body);
    for (size_t c = 0; c < accumulators_.size(); ++c) {
      store(accumulators_[c], column, cloner.value(inner_.carries[c].init, columns.body), columns.body);
    }
  }

  // Several rows for each time that the accumulators are read and written.
  void add_rows(const std::vector<BufferId>& sums, const Index& from, int64_t count, BlockId where) {
    const size_t statements = prologue_.size() + program_.blocks[inner_.body].statements.size();
    const int64_t at_once = statements * sums.size() <= kMostAtOnce ? kRowsAtOnce : 1;
    const int64_t rest = count % at_once;
    if (count >= at_once) add_rows(sums, from, count - rest, at_once, where);
    if (rest > 0) add_rows(sums, from + (count - rest), rest, 1, where);
  }

  void add_rows(const std::vector<BufferId>& buffers, const Index& from, int64_t count, int64_t at_once,
                BlockId where) {
    const NewLoop row = loop::append_for(program_, where, count / at_once, {});
    const NewLoop columns = over_columns(row.body);
    const Index column = first_ + Index::of(columns.variable);
    std::vector<Value> sums;
    for (const BufferId buffer : buffers) sums.push_back(load(buffer, column, columns.body));
    for (int64_t i = 0; i < at_once; ++i) {
      Cloner cloner(program_);
      cloner.replace(outer_.variable, column);
      cloner.replace(inner_.variable, from + Index::of(row.variable, at_once) + i);
      cloner.clone(prologue_, columns.body);
      cloner.clone(program_.blocks[inner_.body].statements, columns.body);
      for (size_t c = 0; c < buffers.size(); ++c) {
        sums[c] = combine(c, sums[c], cloner.value(inner_.carries[c].next, columns.body), columns.body);
      }
    }
    for (size_t c = 0; c < buffers.size(); ++c) store(buffers[c], column, sums[c], columns.body);
  }

  void add_block(const Index& from, int64_t count, BlockId where) {
    const NewLoop before = over_columns(where);
    for (BufferId buffer : of_block_) {
      const Value zero = loop::append(program_, before.body,
                                      {.kind = StatementKind::kConstant, .dtype = program_.buffers[buffer].dtype});
      store(buffer, first_ + Index::of(before.variable), zero, before.body);
    }
    add_rows(of_block_, from, count, where);
    const NewLoop after = over_columns(where);
    const Index column = first_ + Index::of(after.variable);
    for (size_t c = 0; c < of_block_.size(); ++c) {
      const Value sum = load(of_block_[c], column, after.body);
      store(accumulators_[c], column, combine(c, load(accumulators_[c], column, after.body), sum, after.body),
            after.body);
    }
  }

  void finish(BlockId where, const loop::LoopOptions& options) {
    const NewLoop columns = loop::append_for(program_, where, count_, options);
    const Index column = first_ + Index::of(columns.variable);
    Cloner cloner(program_);
    cloner.replace(outer_.variable, column);
    cloner.clone(prologue_, columns.body);
    for (size_t c = 0; c < accumulators_.size(); ++c) {
      cloner.replace_value(inner_.carries[c].result, load(accumulators_[c], column, columns.body));
    }
    cloner.clone(epilogue_, columns.body);
  }

  Program& program_;
  const For outer_, inner_;
  const std::vector<Statement> prologue_, epilogue_;
  const int64_t columns_, rows_, rows_of_block_;
  std::vector<BufferId> accumulators_, of_block_;
  Index own_ = 0;      // where this instance's accumulators begin
  Index first_ = 0;    // column of the tile,
  int64_t count_ = 0;  // which has so many
};

}  // namespace

bool fold_by_rows(Program& program, BlockId block, size_t position, const std::vector<ParallelLoop>& around) {
  const For outer = program.fors[program.blocks[block].statements[position].detail];
  const int64_t columns = constant_extent(outer);
  if (!outer.options.vectorize || !outer.options.parallel || !outer.carries.empty() || columns < 16) return false;
  const int at = only_loop(program, outer.body);
  if (at < 0 || at > static_cast<int>(kMostPrologue) || !loop::only_elements(program, outer.body)) return false;
  const std::vector<Statement> body = program.blocks[outer.body].statements;
  const For inner = program.fors[body[static_cast<size_t>(at)].detail];
  const int64_t rows = constant_extent(inner);
  if (inner.carries.empty() || rows < 8 || rows * columns < kLeastOrdered) return false;
  for (const Carry& carry : inner.carries) {
    if (!carry.combine) return false;
  }
  if (!goes_down_columns(program, outer, inner)) return false;
  RowFold fold(program, outer, inner, {body.begin(), body.begin() + at}, {body.begin() + at + 1, body.end()}, around);
  replace_statement(program, block, position, fold.emit());
  return true;
}

}  // namespace ct::jit
