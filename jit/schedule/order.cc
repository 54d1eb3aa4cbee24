#include "jit/schedule/order.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "jit/loop/clone.h"
#include "jit/loop/passes/sums.h"
#include "jit/loop/visit.h"

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

constexpr int64_t kLeastElements = 1 << 15;  // of a nest: what fits the first cache needs no order
constexpr int64_t kColumns = 2048;           // accumulators at a time: they stay in the first cache
constexpr int64_t kRowsAtOnce = 4;           // rows that are added to them at a time,
constexpr size_t kMostAtOnce = 8;            // of so many statements
constexpr int64_t kTile = 32;                // rows and columns of a transpose's tile, more or less
constexpr int64_t kSquare = 8;               // rows and columns that are turned over in registers, at least
constexpr int64_t kLeastDirect = 1 << 12;    // bytes of a plain transpose that is worth more code,
constexpr int64_t kMostDirect = 1 << 22;     // and that the second cache holds
constexpr int64_t kLongTile = 128;           // the same of large arrays
constexpr size_t kMostPrologue = 6;          // statements that are done anew in each row

struct ParallelLoop {
  Value variable;
  int64_t extent;
};

int64_t constant_extent(const For& loop) { return loop.extent.is_constant() ? loop.extent.constant() : 0; }

// The statement of a block that is its only loop, with nothing but instructions before it; -1 if there is no such.
int only_loop(const Program& program, BlockId block) {
  int found = -1;
  const auto& statements = program.blocks[block].statements;
  for (size_t i = 0; i < statements.size(); ++i) {
    if (statements[i].kind == StatementKind::kFor) {
      if (found >= 0) return -1;
      found = static_cast<int>(i);
    } else if (found < 0 && !loop::is_instruction(statements[i])) {
      return -1;
    }
  }
  return found;
}

// By the statements of another block.
void replace_statement(Program& program, BlockId block, size_t position, BlockId made) {
  std::vector<Statement> replacement = std::move(program.blocks[made].statements);
  program.blocks[made].statements.clear();
  auto& statements = program.blocks[block].statements;
  for (Statement& s : replacement) s.group = statements[position].group;
  const auto at = statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(position));
  statements.insert(at, replacement.begin(), replacement.end());
}

// ---- folds over rows ------------------------------------------------------------------------------------------------

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
// Many rows are added up in blocks, with accumulators b: a[column] += b[column] after each. Iterations of the loops in
// `around` may run at once, so each has accumulators of its own.
bool fold_by_rows(Program& program, BlockId block, size_t position, const std::vector<ParallelLoop>& around_it) {
  const For outer = program.fors[program.blocks[block].statements[position].detail];
  const int64_t columns = constant_extent(outer);
  if (!outer.options.vectorize || !outer.options.parallel || !outer.carries.empty() || columns < 16) return false;
  const int at = only_loop(program, outer.body);
  if (at < 0 || !loop::only_elements(program, outer.body)) return false;
  const std::vector<Statement> body = program.blocks[outer.body].statements;
  const For inner = program.fors[body[static_cast<size_t>(at)].detail];
  const int64_t rows = constant_extent(inner);
  if (inner.carries.empty() || rows < 8 || rows * columns < kLeastElements || at > static_cast<int>(kMostPrologue)) {
    return false;
  }
  for (const Carry& carry : inner.carries) {
    if (!carry.combine) return false;
  }
  if (!goes_down_columns(program, outer, inner)) return false;
  const std::vector<Statement> prologue(body.begin(), body.begin() + at), epilogue(body.begin() + at + 1, body.end());

  std::vector<BufferId> accumulators;
  Index own = 0;
  int64_t copies = 1;
  for (const ParallelLoop& loop : around_it) {
    own += Index::of(loop.variable, copies * columns);
    copies *= loop.extent;
  }
  for (const Carry& carry : inner.carries) {
    accumulators.push_back(loop::new_temporary(program, program.values[carry.init].dtype, copies * columns));
  }
  int64_t rows_of_block = rows;
  for (const Carry& carry : inner.carries) {
    const DType dtype = program.values[carry.init].dtype;
    if (*carry.combine == ScalarOp::kAdd && is_float(dtype)) rows_of_block = block_of(rows, kRowsOfBlock, 1);
  }
  for (const Carry& carry : inner.carries) {
    // One that is no sum would need another start.
    if (*carry.combine != ScalarOp::kAdd) rows_of_block = rows;
  }
  std::vector<BufferId> of_blocks;
  for (size_t c = 0; rows_of_block < rows && c < accumulators.size(); ++c) {
    const loop::Buffer whole = program.buffers[accumulators[c]];
    of_blocks.push_back(loop::new_temporary(program, whole.dtype, whole.elements));
  }
  const BlockId made = loop::new_block(program);
  BlockId around = made;
  Index first = 0;
  int64_t count = columns;
  if (columns > kColumns && columns % kColumns == 0) {
    const NewLoop tiles = loop::append_for(program, made, columns / kColumns, {.parallel = true});
    around = tiles.body;
    first = Index::of(tiles.variable, kColumns);
    count = kColumns;
  }
  const auto load = [&](BufferId buffer, const Index& column, BlockId where) {
    return loop::append_load(program, where, buffer, own + column);
  };
  const auto store = [&](BufferId buffer, const Index& column, Value value, BlockId where) {
    loop::append_store(program, where, buffer, own + column, value);
  };
  const loop::LoopOptions alike{.vectorize = true, .parallel = true}, columns_only{.vectorize = true};
  {
    const NewLoop start = loop::append_for(program, around, count, columns_only);
    Cloner cloner(program);
    cloner.replace(outer.variable, first + Index::of(start.variable));
    cloner.clone(prologue, start.body);
    for (size_t c = 0; c < accumulators.size(); ++c) {
      store(accumulators[c], first + Index::of(start.variable), cloner.value(inner.carries[c].init, start.body),
            start.body);
    }
  }
  const auto combine = [&](size_t c, Value sum, Value value, BlockId where) {
    return loop::append_scalar(program, where, *inner.carries[c].combine, sum, value);
  };
  const auto combine_into = [&](const std::vector<BufferId>& buffers, size_t c, const Index& place, Value value,
                                BlockId where) {
    store(buffers[c], place, combine(c, load(buffers[c], place, where), value, where), where);
  };
  const size_t statements = prologue.size() + program.blocks[inner.body].statements.size();
  const auto add_some_rows = [&](const std::vector<BufferId>& buffers, const Index& from, int64_t size, int64_t at_once,
                                 BlockId where) {
    const NewLoop row = loop::append_for(program, where, size / at_once, {});
    const NewLoop column = loop::append_for(program, row.body, count, columns_only);
    const Index place = first + Index::of(column.variable);
    std::vector<Value> sums;
    for (const BufferId buffer : buffers) sums.push_back(load(buffer, place, column.body));
    for (int64_t i = 0; i < at_once; ++i) {
      Cloner cloner(program);
      cloner.replace(outer.variable, place);
      cloner.replace(inner.variable, from + Index::of(row.variable, at_once) + i);
      cloner.clone(prologue, column.body);
      cloner.clone(program.blocks[inner.body].statements, column.body);
      for (size_t c = 0; c < buffers.size(); ++c) {
        sums[c] = combine(c, sums[c], cloner.value(inner.carries[c].next, column.body), column.body);
      }
    }
    for (size_t c = 0; c < buffers.size(); ++c) store(buffers[c], place, sums[c], column.body);
  };
  // Several rows for each time that the accumulators are read and written.
  const auto add_rows = [&](const std::vector<BufferId>& buffers, const Index& from, int64_t size, BlockId where) {
    const int64_t at_once = statements * buffers.size() <= kMostAtOnce ? kRowsAtOnce : 1;
    const int64_t rest = size % at_once;
    if (size >= at_once) add_some_rows(buffers, from, size - rest, at_once, where);
    if (rest > 0) add_some_rows(buffers, from + (size - rest), rest, 1, where);
  };
  const auto add_block = [&](const Index& from, int64_t size, BlockId where) {
    const NewLoop start = loop::append_for(program, where, count, columns_only);
    for (BufferId buffer : of_blocks) {
      const Value zero =
          loop::append(program, start.body, {.kind = StatementKind::kConstant, .dtype = program.buffers[buffer].dtype});
      store(buffer, first + Index::of(start.variable), zero, start.body);
    }
    add_rows(of_blocks, from, size, where);
    const NewLoop end = loop::append_for(program, where, count, columns_only);
    const Index place = first + Index::of(end.variable);
    for (size_t c = 0; c < of_blocks.size(); ++c) {
      combine_into(accumulators, c, place, load(of_blocks[c], place, end.body), end.body);
    }
  };
  if (of_blocks.empty()) {
    add_rows(accumulators, 0, rows, around);
  } else {
    const NewLoop blocks = loop::append_for(program, around, rows / rows_of_block, {});
    add_block(Index::of(blocks.variable, rows_of_block), rows_of_block, blocks.body);
    if (const int64_t rest = rows % rows_of_block; rest > 0) add_block(rows - rest, rest, around);
  }
  {
    const NewLoop end = loop::append_for(program, around, count, around == made ? alike : columns_only);
    const Index place = first + Index::of(end.variable);
    Cloner cloner(program);
    cloner.replace(outer.variable, place);
    cloner.clone(prologue, end.body);
    for (size_t c = 0; c < accumulators.size(); ++c) {
      cloner.replace_value(inner.carries[c].result, load(accumulators[c], place, end.body));
    }
    cloner.clone(epilogue, end.body);
  }
  replace_statement(program, block, position, made);
  return true;
}

// ---- transposes -----------------------------------------------------------------------------------------------------

// An axis as whole tiles and, where it does not divide, what is left.
struct Part {
  int64_t start, tiles, size;
};
// Large arrays in large tiles, which the second cache holds: of long pieces of rows the processor fetches the rest by
// itself.
std::vector<Part> parts_of(int64_t extent) {
  const bool is_long = extent >= 16 * kLongTile;
  if (extent < 2 * kTile) return {{0, 1, extent}};
  const std::initializer_list<int64_t> large = {kLongTile, 120, 160, 96, 192, 144, 112};
  const std::initializer_list<int64_t> small = {kTile, 48, 16, 40, 24, 64};
  for (int64_t size : is_long ? large : small) {
    if (extent % size == 0) return {{0, extent / size, size}};
  }
  const int64_t size = is_long ? kLongTile : kTile;
  return {{0, extent / size, size}, {extent - extent % size, 1, extent % size}};
}

// Of a tile's copy: what is gathered at once should not share sets of the cache.
int64_t tile_stride(const Part& columns) { return columns.size + 16; }
int64_t tile_elements(const Part& rows, const Part& columns) { return rows.size * tile_stride(columns); }

bool of_words(const Program& program, const std::vector<Statement>& work) {
  return absl::c_all_of(work, [&](const Statement& s) {
    return (s.kind != StatementKind::kLoad && s.kind != StatementKind::kStore) ||
           dtype_size(program.buffers[s.buffer].dtype) >= 4;
  });
}

// An access of a nest of two loops, as its strides along them.
bool goes_down(const Statement& s, const For& outer, const For& inner, int64_t least_stride = kTile) {
  const bool is_access = s.kind == StatementKind::kLoad || s.kind == StatementKind::kStore;
  return is_access && s.index.coefficient_of(outer.variable) == 1 &&
         std::abs(s.index.coefficient_of(inner.variable)) >= least_stride;
}

// Whether a nest does nothing but turn over what the caches hold, of words: then it goes from one array to the other
// in squares of vectors, without a copy between them.
bool is_plain_transpose(const Program& program, const std::vector<Statement>& work, const For& outer,
                        const For& inner) {
  const int64_t rows = constant_extent(outer), columns = constant_extent(inner);
  if (work.size() != 2 || work[0].kind != StatementKind::kLoad || work[1].kind != StatementKind::kStore) return false;
  const int64_t bytes = rows * columns * dtype_size(program.buffers[work[0].buffer].dtype);
  const bool turns = (goes_down(work[0], outer, inner, kSquare) && goes_down(work[1], inner, outer, kSquare)) ||
                     (goes_down(work[0], inner, outer, kSquare) && goes_down(work[1], outer, inner, kSquare));
  return turns && of_words(program, work) && rows >= kSquare && columns >= kSquare && bytes >= kLeastDirect &&
         bytes <= kMostDirect;
}

// A loop and the only one in it, of a nest that only copies, where memory is touched as if they were one: the inner one
// with the extent of both.
std::optional<For> as_one(const Program& program, const For& outer) {
  const auto& body = program.blocks[outer.body].statements;
  if (body.size() != 1 || body[0].kind != StatementKind::kFor) return {};
  For inner = program.fors[body[0].detail];
  if (!inner.options.parallel || !inner.carries.empty()) return {};
  const int64_t extent = constant_extent(inner);
  for (const Statement& s : program.blocks[inner.body].statements) {
    if (s.kind != StatementKind::kLoad && s.kind != StatementKind::kStore) return {};
    if (s.index.coefficient_of(outer.variable) != extent * s.index.coefficient_of(inner.variable)) return {};
  }
  inner.extent = constant_extent(outer) * extent;
  return inner;
}

// What a tile reads down columns is first copied to a place of its own, turned over (the emitter does that in
// registers): many lines are on their way from memory at once then, and the tile reads rows. `copies`: by number
// among the loads, the buffer of the copy.
void copy_columns(Program& program, BlockId where, const std::vector<Statement>& statements, const For& outer,
                  const For& inner, const Index& first_row, const Index& first_column, const Part& rows,
                  const Part& columns, const Index& own, absl::flat_hash_map<size_t, BufferId>& copies,
                  int64_t instances) {
  size_t loads = 0;
  for (Statement load : statements) {
    if (load.kind != StatementKind::kLoad) continue;
    const size_t number = loads++;
    if (!goes_down(load, outer, inner)) continue;
    auto known = [&](Value value) {
      return value == outer.variable || value == inner.variable || value < outer.variable;
    };
    bool affine = true;
    loop::visit_index(load.index, [&](Value value) { affine = affine && known(value); });
    if (!affine) continue;
    copies[number] = loop::new_temporary(program, load.dtype, instances * tile_elements(rows, columns));
    const NewLoop column = loop::append_for(program, where, columns.size, {});
    const NewLoop row = loop::append_for(program, column.body, rows.size, {.vectorize = true});
    Cloner cloner(program);
    cloner.replace(outer.variable, first_row + Index::of(row.variable));
    cloner.replace(inner.variable, first_column + Index::of(column.variable));
    load.index = cloner.index(load.index);
    const Value element = loop::append(program, row.body, std::move(load));
    loop::append_store(program, row.body, copies[number],
                       own + Index::of(row.variable, tile_stride(columns)) + Index::of(column.variable), element);
  }
}

bool tile_transpose(Program& program, BlockId block, size_t position, const std::vector<ParallelLoop>& around_it) {
  For outer = program.fors[program.blocks[block].statements[position].detail];
  if (!outer.options.parallel || !outer.carries.empty()) return false;
  const std::vector<Statement> body = program.blocks[outer.body].statements;
  if (body.empty() || body.back().kind != StatementKind::kFor || only_loop(program, outer.body) < 0) return false;
  For inner = program.fors[body.back().detail];
  if (!inner.options.parallel || !inner.carries.empty() || body.size() > kMostPrologue) return false;
  const std::vector<Statement> prologue(body.begin(), body.end() - 1);
  const Value first_of_two = inner.variable;
  const std::optional<For> joined = as_one(program, inner);
  if (joined && is_plain_transpose(program, program.blocks[joined->body].statements, outer, *joined)) inner = *joined;
  const std::vector<Statement> work = program.blocks[inner.body].statements;
  const bool direct = prologue.empty() && is_plain_transpose(program, work, outer, inner);
  // Less than words go element by element, where tiles help only what the caches do not hold.
  const int64_t least = of_words(program, work) ? kLeastElements : 8 * kLeastElements;
  if (!direct && (constant_extent(outer) < 2 * kTile || constant_extent(inner) < 2 * kTile ||
                  constant_extent(outer) * constant_extent(inner) < least)) {
    return false;
  }
  const int64_t least_stride = direct ? kSquare : kTile;
  bool across = false, down = false, simple = true, stores_down = false, stores_across = false;
  for (const Statement& s : work) {
    simple = simple && (loop::is_instruction(s) || s.kind == StatementKind::kStore);
    const bool is_down = goes_down(s, outer, inner, least_stride), is_across = goes_down(s, inner, outer, least_stride);
    down = down || is_down;
    across = across || is_across;
    if (s.kind != StatementKind::kStore) continue;
    stores_down = stores_down || is_down;
    stores_across = stores_across || is_across;
  }
  if (!simple || !across || !down) return false;
  // Results are written along rows.
  if (stores_down && !stores_across && prologue.empty()) std::swap(outer, inner);
  const int64_t rows = constant_extent(outer), columns = constant_extent(inner);

  Index own = 0;
  int64_t instances = 1;
  for (const ParallelLoop& loop : around_it) instances *= loop.extent;
  const BlockId made = loop::new_block(program);
  for (const Part& rows_part : parts_of(rows)) {
    for (const Part& columns_part : parts_of(columns)) {
      const NewLoop row_tile = loop::append_for(program, made, rows_part.tiles, {.parallel = true});
      const NewLoop column_tile = loop::append_for(program, row_tile.body, columns_part.tiles, {});
      const int64_t size = tile_elements(rows_part, columns_part);
      own = Index::of(row_tile.variable, size);
      int64_t stride = size * rows_part.tiles;
      for (const ParallelLoop& loop : around_it) {
        own += Index::of(loop.variable, stride);
        stride *= loop.extent;
      }
      const Index first_row = rows_part.start + Index::of(row_tile.variable, rows_part.size);
      const Index first_column = columns_part.start + Index::of(column_tile.variable, columns_part.size);
      if (direct) {
        // Along what is written: lines of which only a part was written are dear to come back to.
        const NewLoop row = loop::append_for(program, column_tile.body, rows_part.size, {});
        const NewLoop column = loop::append_for(program, row.body, columns_part.size, {.vectorize = true});
        Cloner cloner(program);
        if (joined) cloner.replace(first_of_two, 0);
        cloner.replace(outer.variable, first_row + Index::of(row.variable));
        cloner.replace(inner.variable, first_column + Index::of(column.variable));
        cloner.clone(work, column.body);
        continue;
      }
      absl::flat_hash_map<size_t, BufferId> copies;
      if (prologue.empty()) {
        copy_columns(program, column_tile.body, work, outer, inner, first_row, first_column, rows_part, columns_part,
                     own, copies, instances * rows_part.tiles);
      }
      const NewLoop row = loop::append_for(program, column_tile.body, rows_part.size, {.parallel = true});
      Cloner cloner(program);
      cloner.replace(outer.variable, first_row + Index::of(row.variable));
      cloner.clone(prologue, row.body);
      const NewLoop column = loop::append_for(program, row.body, columns_part.size, inner.options);
      cloner.replace(inner.variable, first_column + Index::of(column.variable));
      cloner.clone(work, column.body);
      size_t loads = 0;
      for (Statement& s : program.blocks[column.body].statements) {
        if (s.kind != StatementKind::kLoad) continue;
        const auto copy = copies.find(loads++);
        if (copy == copies.end()) continue;
        s.buffer = copy->second;
        s.index = own + Index::of(row.variable, tile_stride(columns_part)) + Index::of(column.variable);
      }
    }
  }
  replace_statement(program, block, position, made);
  return true;
}

void order(Program& program, BlockId block, std::vector<ParallelLoop>& around) {
  for (size_t i = 0; i < program.blocks[block].statements.size(); ++i) {
    const Statement s = program.blocks[block].statements[i];
    if (s.kind == StatementKind::kFor) {
      if (fold_by_rows(program, block, i, around) || tile_transpose(program, block, i, around)) continue;
      const For& loop = program.fors[s.detail];
      if (loop.options.parallel) {
        if (!loop.extent.is_constant()) continue;
        around.push_back({loop.variable, loop.extent.constant()});
        order(program, loop.body, around);
        around.pop_back();
        continue;
      }
    }
    std::vector<BlockId> inside;
    loop::visit_blocks_of(program, s, [&](BlockId id) { inside.push_back(id); });
    for (BlockId id : inside) order(program, id, around);
  }
}

}  // namespace

void order_loops(loop::Program& program) {
  std::vector<ParallelLoop> around;
  order(program, 0, around);
}

}  // namespace ct::jit
