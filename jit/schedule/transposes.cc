#include <algorithm>
#include <cstdlib>

#include "jit/loop/clone.h"
#include "jit/loop/visit.h"
#include "jit/schedule/nests.h"

namespace ct::jit {
namespace {

using loop::BlockId;
using loop::BufferId;
using loop::Cloner;
using loop::For;
using loop::Index;
using loop::NewLoop;
using loop::Program;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

constexpr int64_t kTile = 32;              // rows and columns of a transpose's tile, more or less
constexpr int64_t kSquare = 8;             // rows and columns that are turned over in registers, at least
constexpr int64_t kLeastDirect = 1 << 12;  // bytes of a plain transpose that is worth more code,
constexpr int64_t kMostDirect = 1 << 22;   // and that the second cache holds
constexpr int64_t kLongTile = 128;         // the same of large arrays

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

// The most iterations of a loop; 0 where nothing is known of them.
int64_t bound_of(const Program& program, const For& loop) {
  const int64_t most = program.range_of(loop.extent).high;
  return most == INT64_MAX ? 0 : std::max<int64_t>(most, 0);
}

Value number(Program& program, BlockId where, int64_t value) {
  Statement s{.kind = StatementKind::kConstant, .dtype = DType::kInt64};
  s.bits = static_cast<uint64_t>(value);
  return loop::append(program, where, std::move(s));
}
Index apply(Program& program, BlockId where, ScalarOp op, const Index& a, int64_t b) {
  Statement s{.kind = StatementKind::kIndex, .dtype = DType::kInt64};
  s.index = a;
  const Value left = loop::append(program, where, std::move(s));
  return Index::of(loop::append_scalar(program, where, op, left, number(program, where, b)));
}

// A part of an axis that may end at a length: the elements of it that there are, and the tiles that have some.
struct Covered {
  Part part;
  Index elements, tiles;
};
Covered covered(Program& program, BlockId where, const Index& extent, const Part& part) {
  const int64_t most = part.tiles * part.size;
  if (extent.is_constant()) return {part, most, part.tiles};
  const Index behind = apply(program, where, ScalarOp::kMax, extent - Index(part.start), 0);
  const Index elements = apply(program, where, ScalarOp::kMin, behind, most);
  return {part, elements, apply(program, where, ScalarOp::kDiv, elements + Index(part.size - 1), part.size)};
}
Index elements_of_tile(Program& program, BlockId where, const Covered& axis, Value tile) {
  if (axis.elements.is_constant()) return axis.part.size;
  return apply(program, where, ScalarOp::kMin, axis.elements - Index::of(tile, axis.part.size), axis.part.size);
}

// What is computed before a loop in a loop: what the iterations of the outer one have in common, and what is of each.
struct Prologue {
  std::vector<Statement> common, own;
};
Prologue prologue_of(const Program& program, const std::vector<Statement>& body, Value outer) {
  Prologue result;
  absl::flat_hash_set<Value> of_each = {outer};
  for (const Statement& s : absl::MakeConstSpan(body).first(body.size() - 1)) {
    bool common = s.kind != StatementKind::kLoad;  // what is loaded may be stored by the nest
    loop::visit_inputs(program, s, [&](Value value) { common = common && !of_each.contains(value); });
    if (!common) loop::visit_results(program, s, [&](Value value) { of_each.insert(value); });
    (common ? result.common : result.own).push_back(s);
  }
  return result;
}

// Whether the inner of two loops, with what is computed before it, has the same iterations in each of the outer one.
bool is_rectangle(const Program& program, const std::vector<Statement>& own, const For& outer, const For& inner) {
  bool same = inner.extent.coefficient_of(outer.variable) == 0;
  for (const Statement& s : own) {
    loop::visit_results(program, s, [&](Value value) { same = same && inner.extent.coefficient_of(value) == 0; });
  }
  return same;
}

// Whether a nest would stay in its arrays if it went to the bounds of its loops, as copies of whole tiles do.
bool holds_bounds(const Program& program, const std::vector<Statement>& work, const For& outer, const For& inner) {
  if (outer.extent.is_constant() && inner.extent.is_constant()) return true;
  return absl::c_all_of(work, [&](const Statement& s) {
    if (s.kind != StatementKind::kLoad && s.kind != StatementKind::kStore) return true;
    const loop::Buffer& buffer = program.buffers[s.buffer];
    const loop::Range range = program.range_of(s.index);
    return range.low >= 0 && range.high < buffer.elements * (is_complex(buffer.dtype) ? 2 : 1);
  });
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

// What a tile reads down columns is first copied to a place of its own, as a whole, also where a length ends in it, and
// turned over (the emitter does that in registers): many lines are on their way from memory at once then, and the tile
// reads rows. `copies`: by number among the loads, the buffer of the copy.
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

}  // namespace

bool tile_transpose(Program& program, BlockId block, size_t position, const std::vector<ParallelLoop>& around_it) {
  For outer = program.fors[program.blocks[block].statements[position].detail];
  if (!outer.options.parallel || !outer.carries.empty()) return false;
  const std::vector<Statement> body = program.blocks[outer.body].statements;
  if (body.empty() || body.back().kind != StatementKind::kFor || only_loop(program, outer.body) < 0) return false;
  For inner = program.fors[body.back().detail];
  if (!inner.options.parallel || !inner.carries.empty() || body.size() > kMostPrologue) return false;
  const auto [common, prologue] = prologue_of(program, body, outer.variable);
  if (!is_rectangle(program, prologue, outer, inner)) return false;
  const Value first_of_two = inner.variable;
  const std::optional<For> joined = as_one(program, inner);
  if (joined && is_plain_transpose(program, program.blocks[joined->body].statements, outer, *joined)) inner = *joined;
  const std::vector<Statement> work = program.blocks[inner.body].statements;
  const bool direct = prologue.empty() && is_plain_transpose(program, work, outer, inner);
  // Less than words go element by element, where tiles help only what the caches do not hold.
  const int64_t least = of_words(program, work) ? kLeastOrdered : 8 * kLeastOrdered;
  if (!direct && (bound_of(program, outer) < 2 * kTile || bound_of(program, inner) < 2 * kTile ||
                  bound_of(program, outer) * bound_of(program, inner) < least)) {
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
  if (!simple || !across || !down || !holds_bounds(program, work, outer, inner)) return false;
  // Results are written along rows.
  if (stores_down && !stores_across && prologue.empty()) std::swap(outer, inner);

  Index own = 0;
  int64_t instances = 1;
  for (const ParallelLoop& loop : around_it) instances *= loop.extent;
  const BlockId made = loop::new_block(program);
  program.blocks[made].statements = common;
  for (const Part& rows_part : parts_of(bound_of(program, outer))) {
    for (const Part& columns_part : parts_of(bound_of(program, inner))) {
      const Covered rows = covered(program, made, outer.extent, rows_part);
      const Covered columns = covered(program, made, inner.extent, columns_part);
      const NewLoop row_tile = loop::append_for(program, made, rows.tiles, {.parallel = true});
      const Index row_count = elements_of_tile(program, row_tile.body, rows, row_tile.variable);
      const NewLoop column_tile = loop::append_for(program, row_tile.body, columns.tiles, {});
      const Index column_count = elements_of_tile(program, column_tile.body, columns, column_tile.variable);
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
      const NewLoop row = loop::append_for(program, column_tile.body, row_count, {.parallel = true});
      Cloner cloner(program);
      cloner.replace(outer.variable, first_row + Index::of(row.variable));
      cloner.clone(prologue, row.body);
      const NewLoop column = loop::append_for(program, row.body, column_count, inner.options);
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

}  // namespace ct::jit
