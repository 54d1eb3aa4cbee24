#include "jit/schedule/split_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/cost/cost.h"
#include "jit/loop/clone.h"
#include "jit/loop/visit.h"
#include "jit/schedule/nests.h"
#include "jit/schedule/uses.h"
#include "runtime/pool.h"

namespace ct::jit {
namespace {

using loop::BlockId;
using loop::BufferId;
using loop::Cloner;
using loop::For;
using loop::Gemm;
using loop::Index;
using loop::Matrix;
using loop::MemoryRange;
using loop::NewLoop;
using loop::Program;
using loop::Range;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

constexpr int64_t kMostRows = 8;  // of a part: products of so few are as quick for each row as larger ones
constexpr double kLeastSplit = 2 * Pool::kLeastCold;  // nanoseconds of the whole loop
constexpr int64_t kMostWeights = int64_t{1} << 20;    // bytes of matrices that each thread reads in each step

class Rows {
 public:
  Rows(const Program& program, const For& steps) : program_(program), steps_(steps) {}

  // How many rows there are; 0: they are not independent.
  int64_t find() {
    const std::vector<Statement>& body = program_.blocks[steps_.body].statements;
    for (const Statement& s : body) {
      if (s.kind == StatementKind::kGemm) rows_ = program_.gemms[s.detail].m;
    }
    if (rows_ < 2) return 0;
    for (const Statement& s : body) add_uses(program_, s, uses_);
    return std::ranges::all_of(body, [&](const Statement& s) { return is_by_rows(s); }) ? rows_ : 0;
  }

 private:
  bool is_by_rows(const Statement& s) {
    switch (s.kind) {
      case StatementKind::kFor:
        return is_nest_of_rows(program_.fors[s.detail]);
      case StatementKind::kGemm: {
        const Gemm& gemm = program_.gemms[s.detail];
        return gemm.m == rows_ && gemm.rows == Index(rows_) && !uses_.writes.contains(gemm.b.buffer) &&
               holds_rows(gemm.c, gemm.n) && (!uses_.writes.contains(gemm.a.buffer) || holds_rows(gemm.a, gemm.k));
      }
      case StatementKind::kCopy: {
        const MemoryRange& range = program_.ranges[s.detail];
        if (!range.count.is_constant() || range.count.constant() % rows_ != 0) return false;
        const int64_t size = range.count.constant() / rows_;
        return holds(range.destination, range.destination_offset, size, {0, size - 1}) &&
               (!uses_.writes.contains(range.source) || holds(range.source, range.source_offset, size, {0, size - 1}));
      }
      case StatementKind::kSwap: {
        const int64_t elements = program_.buffer(s.buffer).elements;
        const int64_t size = elements / rows_;
        return elements % rows_ == 0 && program_.buffer(s.other).elements == elements &&
               holds(s.buffer, 0, size, {0, size - 1}) && holds(s.other, 0, size, {0, size - 1});
      }
      case StatementKind::kLoad:
        return !uses_.writes.contains(s.buffer);
      default:
        return loop::is_instruction(s);
    }
  }

  bool holds_rows(const Matrix& matrix, int64_t columns) {
    return matrix.column_stride > 0 && columns > 0 &&
           holds(matrix.buffer, matrix.offset, matrix.row_stride, {0, (columns - 1) * matrix.column_stride});
  }

  // Whether all that the rows of a step have of a buffer lies in rows of this size: `offset` is where the first one
  // begins, and `inside` what is added to it within a row.
  bool holds(BufferId buffer, const Index& offset, int64_t size, Range inside) {
    // Of complex numbers loads and stores count parts, and ranges whole numbers.
    if (size <= 0 || !inside.known() || is_complex(program_.buffer(buffer).dtype)) return false;
    int64_t& known = sizes_[buffer];
    if (known == 0) known = size;
    if (known != size) return false;
    const int64_t step = rows_ * size;
    if (offset.coefficient_of(steps_.variable) % step != 0) return false;
    for (const Index::Term& term : offset.terms()) {
      if (term.value != steps_.variable) return false;
    }
    const int64_t first = ((offset.constant() % step) + step) % step;
    return first + inside.low >= 0 && first + inside.high < size;
  }

  // A loop over rows, or over elements of all of them, and what is inside of it.
  bool is_nest_of_rows(const For& nest) {
    const int64_t extent = constant_extent(nest);
    if (extent <= 0 || extent % rows_ != 0 || !nest.carries.empty()) return false;
    bool by_rows = true;
    loop::visit_statements(program_, nest.body, [&](const Statement& s) {
      if (s.kind == StatementKind::kLoad || s.kind == StatementKind::kStore) {
        by_rows = by_rows && (!uses_.writes.contains(s.buffer) || is_in_row(s, nest, extent / rows_));
      } else {
        by_rows = by_rows && (loop::is_instruction(s) || s.kind == StatementKind::kFor || s.kind == StatementKind::kIf);
      }
    });
    return by_rows;
  }

  // `elements`: how many iterations of the nest a row has.
  bool is_in_row(const Statement& s, const For& nest, int64_t elements) {
    const int64_t stride = s.index.coefficient_of(nest.variable);
    Index offset = s.index.constant();
    Range inside = {0, stride * (elements - 1)};
    for (const Index::Term& term : s.index.terms()) {
      if (term.value == nest.variable) continue;
      if (term.value == steps_.variable) {
        offset += Index::of(term.value, term.coefficient);
        continue;
      }
      const Range range = program_.range_of(Index::of(term.value, term.coefficient));
      if (!range.known()) return false;
      inside.low += range.low;
      inside.high += range.high;
    }
    return holds(s.buffer, offset, stride * elements, inside);
  }

  const Program& program_;
  const For& steps_;
  int64_t rows_ = 0;
  Uses uses_;                                     // of a step
  absl::flat_hash_map<BufferId, int64_t> sizes_;  // of a row, in elements
};

// The steps of a part of the rows, in a block of their own.
class PartOfRows {
 public:
  PartOfRows(Program& program, const For& steps, int64_t rows, int64_t parts)
      : program_(program), steps_(steps), rows_(rows), parts_(parts), cloner_(program) {}

  BlockId emit() {
    const BlockId made = loop::new_block(program_);
    const NewLoop outer = loop::append_for(program_, made, parts_, {.parallel = true, .whole = true});
    const NewLoop inner = loop::append_for(program_, outer.body, steps_.extent, steps_.options);
    part_ = Index::of(outer.variable);
    cloner_.replace(steps_.variable, Index::of(inner.variable));
    const std::vector<Statement> body = program_.blocks[steps_.body].statements;
    for (const Statement& s : body) add(s, inner.body);
    return made;
  }

 private:
  void add(const Statement& s, BlockId block) {
    switch (s.kind) {
      case StatementKind::kFor: {
        const For nest = program_.fors[s.detail];
        const int64_t extent = constant_extent(nest) / parts_;
        const NewLoop own = loop::append_for(program_, block, extent, nest.options);
        cloner_.replace(nest.variable, Index::of(own.variable) + part_ * extent);
        cloner_.clone(nest.body, own.body);
        return;
      }
      case StatementKind::kGemm: {
        cloner_.clone(std::vector<Statement>{s}, block);
        Gemm& gemm = program_.gemms.back();
        gemm.m = rows_ / parts_;
        gemm.rows = gemm.m;
        gemm.a.offset += part_ * (gemm.m * gemm.a.row_stride);
        gemm.c.offset += part_ * (gemm.m * gemm.c.row_stride);
        return;
      }
      case StatementKind::kCopy: {
        cloner_.clone(std::vector<Statement>{s}, block);
        MemoryRange& range = program_.ranges.back();
        const int64_t count = range.count.constant() / parts_;
        range.count = count;
        range.destination_offset += part_ * count;
        range.source_offset += part_ * count;
        return;
      }
      case StatementKind::kSwap: {
        // Each part changes elements for itself: the others may be at another step.
        const int64_t count = program_.buffer(s.buffer).elements / parts_;
        const NewLoop each = loop::append_for(program_, block, count, {.vectorize = true, .parallel = true});
        const Index at = Index::of(each.variable) + part_ * count;
        const Value one = loop::append_load(program_, each.body, s.buffer, at);
        const Value other = loop::append_load(program_, each.body, s.other, at);
        loop::append_store(program_, each.body, s.buffer, at, other);
        loop::append_store(program_, each.body, s.other, at, one);
        return;
      }
      default:
        cloner_.clone(std::vector<Statement>{s}, block);
    }
  }

  Program& program_;
  const For steps_;
  const int64_t rows_, parts_;
  Cloner cloner_;
  Index part_;
};

// Whether threads gain by it, and would not by sharing what is in a step.
bool is_worth_splitting(const Program& program, const For& steps) {
  CostModel cost(program);
  if (cost.iterations(steps) * cost.iteration(steps) < kLeastSplit) return false;
  int64_t weights = 0;
  for (const Statement& s : program.blocks[steps.body].statements) {
    if (cost.statement(s) >= Pool::kLeastCold) return false;
    if (s.kind != StatementKind::kGemm) continue;
    const Gemm& gemm = program.gemms[s.detail];
    weights += gemm.k * gemm.n * dtype_size(program.buffer(gemm.b.buffer).dtype);
  }
  return weights <= kMostWeights;
}

int64_t parts_of_rows(int64_t rows) {
  const int64_t each = largest_divisor(rows, std::min(kMostRows, rows / 2));
  return each == 1 ? 1 : rows / each;
}

}  // namespace

void split_rows(Program& program) {
  for (size_t i = 0; i < program.blocks[0].statements.size(); ++i) {
    const Statement s = program.blocks[0].statements[i];
    if (s.kind != StatementKind::kFor) continue;
    const For steps = program.fors[s.detail];
    if (!steps.carries.empty() || steps.options.parallel || steps.options.vectorize) continue;
    const int64_t rows = Rows(program, steps).find();
    const int64_t parts = rows < 2 ? 1 : parts_of_rows(rows);
    if (parts < 2 || !is_worth_splitting(program, steps)) continue;
    replace_statement(program, 0, i, PartOfRows(program, steps, rows, parts).emit());
  }
}

}  // namespace ct::jit
