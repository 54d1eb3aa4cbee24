#include "jit/schedule/use_in_blocks.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "jit/loop/clone.h"
#include "jit/loop/visit.h"
#include "jit/schedule/gather_in_blocks.h"
#include "jit/schedule/nests.h"
#include "jit/schedule/uses.h"

namespace ct::jit {
namespace {

using loop::BlockId;
using loop::BufferId;
using loop::Cloner;
using loop::For;
using loop::Gemm;
using loop::Index;
using loop::Matrix;
using loop::NewLoop;
using loop::Program;
using loop::Range;
using loop::Statement;
using loop::StatementKind;

// A loop over examples that ends with a product, and a loop over rows of what the products make, some for each example.
struct Pair {
  size_t maker, user;  // in the entry block
  uint32_t gemm;
  BufferId array;
  int64_t example, row;   // elements
  bool rows_are_columns;  // whether the array's outer dimension is the product's columns
};

int64_t stride_of_outer(const Gemm& gemm, bool columns) { return columns ? gemm.c.column_stride : gemm.c.row_stride; }

class Pairs {
 public:
  explicit Pairs(const Program& program) : program_(program), statements_(program.blocks[0].statements) {}

  std::optional<Pair> at(size_t position) {
    if (statements_[position].kind != StatementKind::kFor) return std::nullopt;
    const For& maker = program_.fors[statements_[position].detail];
    if (!maker.options.parallel || !maker.carries.empty() || constant_extent(maker) < 2) return std::nullopt;
    Pair pair{.maker = position, .user = 0, .gemm = 0, .array = 0, .example = 0, .row = 0, .rows_are_columns = false};
    if (!ends_with_product(maker, pair)) return std::nullopt;
    // Of long programs few loops come so far.
    if (uses_.empty()) {
      for (const Statement& s : statements_) add_uses(program_, s, uses_.emplace_back());
    }
    if (!finds_user(pair) || !has_rows(pair)) return std::nullopt;
    return pair;
  }

 private:
  bool ends_with_product(const For& maker, Pair& pair) const {
    const std::vector<Statement>& body = program_.blocks[maker.body].statements;
    if (body.empty() || body.back().kind != StatementKind::kGemm) return false;
    if (absl::c_count_if(body, [](const Statement& s) { return s.kind == StatementKind::kGemm; }) != 1) return false;
    pair.gemm = body.back().detail;
    const Gemm& gemm = program_.gemms[pair.gemm];
    pair.array = gemm.c.buffer;
    const loop::Buffer& array = program_.buffer(pair.array);
    if (array.kind != loop::BufferKind::kTemporary || !is_float(array.dtype) || gemm.accumulate) return false;
    if (loop::bytes_of(program_, pair.array) < kLeastGathered) return false;
    if (gemm.rows != Index(gemm.m) || gemm.columns != Index(gemm.n) || gemm.steps != Index(gemm.k)) return false;
    pair.example = gemm.m * gemm.n;
    if (gemm.c.offset != Index::of(maker.variable, pair.example)) return false;
    if (pair.example * constant_extent(maker) != array.elements) return false;
    const bool by_columns = gemm.c.row_stride == 1 && gemm.c.column_stride == gemm.m;
    const bool by_rows = gemm.c.column_stride == 1 && gemm.c.row_stride == gemm.n;
    pair.rows_are_columns = by_columns;
    return by_columns || by_rows;
  }

  // The only statement that reads the array, in front of which the loop over examples may stand as well.
  bool finds_user(Pair& pair) const {
    size_t users = 0;
    for (size_t i = 0; i < statements_.size(); ++i) {
      if (i == pair.maker) continue;
      if (uses_[i].writes.contains(pair.array)) return false;
      if (!uses_[i].reads.contains(pair.array)) continue;
      pair.user = i;
      ++users;
    }
    if (users != 1 || pair.user < pair.maker) return false;
    for (size_t i = pair.maker + 1; i < pair.user; ++i) {
      if (has_to_follow(program_, uses_[i], statements_[pair.maker], uses_[pair.maker])) return false;
      if (has_to_follow(program_, uses_[pair.maker], statements_[i], uses_[i])) return false;
    }
    return true;
  }

  // Each iteration of the user reads a row of its own.
  bool has_rows(Pair& pair) const {
    if (statements_[pair.user].kind != StatementKind::kFor) return false;
    const For& user = program_.fors[statements_[pair.user].detail];
    const int64_t count = constant_extent(user);
    const int64_t elements = program_.buffer(pair.array).elements;
    if (!user.options.parallel || !user.carries.empty() || count < 2 || elements % count != 0) return false;
    if (!loop::only_elements(program_, user.body)) return false;
    // What the maker needs is not what the user writes: they run in turn.
    const auto needed = [&](BufferId buffer) {
      return uses_[pair.maker].reads.contains(buffer) || uses_[pair.maker].writes.contains(buffer);
    };
    if (absl::c_any_of(uses_[pair.user].writes, needed)) return false;
    pair.row = elements / count;
    bool own = true;
    loop::visit_statements(program_, user.body, [&](const Statement& s) {
      if (s.kind != StatementKind::kLoad || s.buffer != pair.array) return;
      const Range inside = program_.range_of(s.index - Index::of(user.variable, pair.row));
      own = own && s.index.coefficient_of(user.variable) == pair.row && inside.known() && inside.low >= 0 &&
            inside.high < pair.row;
    });
    const int64_t stride = stride_of_outer(program_.gemms[pair.gemm], pair.rows_are_columns);
    return own && pair.example % pair.row == 0 && pair.row % stride == 0;
  }

  const Program& program_;
  const std::vector<Statement>& statements_;
  std::vector<Uses> uses_;
};

// Both loops as one, in a block of their own; nothing where a row is too large.
std::optional<BlockId> fused(Program& program, const Pair& pair) {
  const For maker = program.fors[program.blocks[0].statements[pair.maker].detail];
  const For user = program.fors[program.blocks[0].statements[pair.user].detail];
  const loop::Buffer array = program.buffer(pair.array);
  const int64_t bytes = pair.row * dtype_size(array.dtype);
  if (bytes > kMostGatheredBlock) return std::nullopt;
  const int64_t in_example = pair.example / pair.row, rows = largest_divisor(in_example, kMostGatheredBlock / bytes);
  const int64_t examples = constant_extent(maker), chunks = largest_divisor(examples, kMostGatheredChunks);
  if (chunks < 2) return std::nullopt;

  const BlockId made = loop::new_block(program);
  const BufferId block = loop::new_temporary(program, array.dtype, chunks * rows * pair.row);
  const NewLoop chunk = loop::append_for(program, made, chunks, {.parallel = true, .whole = true});
  const Index place = Index::of(chunk.variable, rows * pair.row);
  Index example = Index::of(chunk.variable, examples / chunks);
  BlockId inside = chunk.body;
  if (chunks < examples) {
    const NewLoop loop = loop::append_for(program, inside, examples / chunks, {});
    example += Index::of(loop.variable);
    inside = loop.body;
  }
  Cloner cloner(program);
  cloner.replace(maker.variable, example);
  std::vector<Statement> before = program.blocks[maker.body].statements;
  before.pop_back();
  cloner.clone(before, inside);
  Index first = 0;  // row of the example
  if (rows < in_example) {
    const NewLoop loop = loop::append_for(program, inside, in_example / rows, {});
    first = Index::of(loop.variable, rows);
    inside = loop.body;
  }

  Gemm gemm = program.gemms[pair.gemm];
  for (Matrix* matrix : {&gemm.a, &gemm.b}) matrix->offset = cloner.index(matrix->offset);
  const int64_t each = pair.row / stride_of_outer(gemm, pair.rows_are_columns);
  if (pair.rows_are_columns) {
    gemm.columns = gemm.n = rows * each;
    gemm.b.offset += first * (each * gemm.b.column_stride);
  } else {
    gemm.rows = gemm.m = rows * each;
    gemm.a.offset += first * (each * gemm.a.row_stride);
  }
  gemm.c.buffer = block;
  gemm.c.offset = place;
  append_gemm(program, inside, std::move(gemm));

  const NewLoop row = loop::append_for(program, inside, rows, user.options);
  const Index begin = example * in_example + first;
  Cloner of_user(program);
  of_user.replace(user.variable, begin + Index::of(row.variable));
  of_user.clone(user.body, row.body);
  const auto move = [&](auto&& self, BlockId id) -> void {
    for (Statement& s : program.blocks[id].statements) {
      if (s.kind == StatementKind::kLoad && s.buffer == pair.array) {
        s.buffer = block;
        s.index = s.index - begin * pair.row + place;
      }
      loop::visit_blocks_of(program, s, [&](BlockId inner) { self(self, inner); });
    }
  };
  move(move, row.body);
  return made;
}

}  // namespace

void use_in_blocks(Program& program) {
  std::optional<Pairs> pairs(program);
  for (size_t i = 0; i < program.blocks[0].statements.size();) {
    const std::optional<Pair> pair = pairs->at(i);
    const std::optional<BlockId> made = pair ? fused(program, *pair) : std::nullopt;
    if (!made) {
      ++i;
      continue;
    }
    replace_statement(program, 0, pair->user, *made);
    auto& statements = program.blocks[0].statements;
    statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(pair->maker));
    pairs.emplace(program);  // what is known of statements is known by their places
  }
}

}  // namespace ct::jit
