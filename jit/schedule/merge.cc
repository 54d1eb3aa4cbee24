#include "jit/schedule/merge.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
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

constexpr int64_t kLeastShared = 1 << 18;  // bytes that both loops touch: what the caches hold anyway needs no merging
constexpr int64_t kMostInRow = 1 << 17;    // bytes that one iteration may touch
constexpr size_t kMostStatements = 1500;   // in a merged loop
constexpr int64_t kMostChunks = 64, kLeastChunks = 4;
constexpr int64_t kMostKept = 1 << 18;  // bytes of the rows that all chunks keep of one array
constexpr size_t kFarthest = 16;        // statements from one loop to another

// The loads and stores of a block and those inside it, by buffer.
class Accesses {
 public:
  struct Array {
    BufferId buffer;
    size_t begin, end;  // statements
    bool is_read, is_written;
  };

  Accesses(const Program& program, BlockId block) {
    loop::visit_statements(program, block, [&](const Statement& s) {
      if (s.kind == StatementKind::kLoad || s.kind == StatementKind::kStore) statements_.push_back(&s);
    });
    std::stable_sort(statements_.begin(), statements_.end(),
                     [](const Statement* a, const Statement* b) { return a->buffer < b->buffer; });
    for (size_t i = 0; i < statements_.size(); ++i) {
      const Statement& s = *statements_[i];
      if (arrays_.empty() || arrays_.back().buffer != s.buffer) arrays_.push_back({s.buffer, i, i, false, false});
      arrays_.back().end = i + 1;
      (s.kind == StatementKind::kStore ? arrays_.back().is_written : arrays_.back().is_read) = true;
    }
  }

  const std::vector<Array>& arrays() const { return arrays_; }
  const Array* find(BufferId buffer) const {
    const auto at = std::lower_bound(arrays_.begin(), arrays_.end(), buffer,
                                     [](const Array& array, BufferId wanted) { return array.buffer < wanted; });
    return at == arrays_.end() || at->buffer != buffer ? nullptr : &*at;
  }
  absl::Span<const Statement* const> statements_of(const Array& array) const {
    return absl::MakeConstSpan(statements_).subspan(array.begin, array.end - array.begin);
  }

 private:
  std::vector<const Statement*> statements_;
  std::vector<Array> arrays_;
};

// What is asked about a loop again and again. A loop's body changes, by merging loops in it, only after the last
// question about the loop.
struct Facts {
  Facts(const Program& program, const For& loop) : accesses(program, loop.body) {
    loop::visit_statements(program, loop.body, [&](const Statement& s) {
      ++statements;
      has_inner_loop = has_inner_loop || s.kind == StatementKind::kFor;
    });
    only_elements = loop::only_elements(program, loop.body);
    is_row_loop = loop.options.parallel && loop.carries.empty() && loop.extent.is_constant() &&
                  loop.extent.constant() > 1 && only_elements;
  }

  Accesses accesses;
  size_t statements = 0;
  bool has_inner_loop = false, only_elements = false, is_row_loop = false;
};

// What an iteration of a loop touches of a buffer: [iteration * stride + low, iteration * stride + high], plus what is
// the same in all iterations.
struct Window {
  int64_t stride = 0, low = 0, high = 0;
  Index common;
  bool own() const { return stride > 0 && high - low < stride; }
};

std::optional<Window> window_of(const Program& program, const For& loop, absl::Span<const Statement* const> accesses) {
  std::optional<Window> window;
  for (const Statement* access : accesses) {
    const Index& index = access->index;
    Window one;
    one.stride = index.coefficient_of(loop.variable);
    Index inside = index.constant();
    for (const Index::Term& term : index.terms()) {
      if (term.value == loop.variable) continue;
      (term.value > loop.variable ? inside : one.common) += Index::of(term.value, term.coefficient);
    }
    const loop::Range range = program.range_of(inside);
    if (!range.known()) return std::nullopt;
    one.low = range.low;
    one.high = range.high;
    if (!window) {
      window = one;
      continue;
    }
    if (window->stride != one.stride || !(window->common == one.common)) return std::nullopt;
    window->low = std::min(window->low, one.low);
    window->high = std::max(window->high, one.high);
  }
  return window;
}

// A loop over a whole array as one over `rows` rows.
For split(Program& program, const For& loop, int64_t rows) {
  const int64_t columns = loop.extent.constant() / rows;
  const BlockId home = loop::new_block(program);
  const NewLoop row = loop::append_for(program, home, rows, loop.options);
  const NewLoop column = loop::append_for(program, row.body, columns, loop.options);
  Cloner cloner(program);
  cloner.replace(loop.variable, Index::of(row.variable, columns) + Index::of(column.variable));
  cloner.clone(loop.body, column.body);
  return program.fors[program.blocks[home].statements.front().detail];
}

// `a` and `b` touch much that the other touches as well, or `b` does a little for each row between loops that do.
bool worth_merging(const Program& program, const For& a, const For& b, const Facts& first, const Facts& second,
                   int64_t rows) {
  int64_t shared = 0, one = 0, two = 0;
  bool linked = false;
  for (const Accesses::Array& array : first.accesses.arrays()) {
    const int64_t bytes = bytes_of(program, array.buffer);
    one += bytes;
    if (second.accesses.find(array.buffer) == nullptr) continue;
    shared += bytes;
    linked = linked || array.is_written;
  }
  for (const Accesses::Array& array : second.accesses.arrays()) two += bytes_of(program, array.buffer);
  if ((one + two - shared) / rows > kMostInRow) return false;
  if (shared >= kLeastShared) return first.has_inner_loop || second.has_inner_loop;
  return linked && one >= kLeastShared && first.has_inner_loop && !second.has_inner_loop && a.extent == b.extent &&
         static_cast<int64_t>(second.statements) <= one / rows / 16;
}

bool may_merge(const Program& program, const For& a, const For& b, const Accesses& first, const Accesses& second) {
  for (const Accesses::Array& array : first.arrays()) {
    const Accesses::Array* other = second.find(array.buffer);
    if (other == nullptr || (!array.is_written && !other->is_written)) continue;
    const auto one = window_of(program, a, first.statements_of(array));
    const auto two = window_of(program, b, second.statements_of(*other));
    if (!one || !two || one->stride != two->stride || !(one->common == two->common)) return false;
    const Window both{one->stride, std::min(one->low, two->low), std::max(one->high, two->high), one->common};
    if (!both.own()) return false;
  }
  return true;
}

// Elements that an iteration stores for itself and that later ones of its statements may take from a register.
bool is_element(const Program& program, const For& loop, absl::Span<const Statement* const> accesses) {
  const auto window = window_of(program, loop, accesses);
  return window && window->stride == 1 && window->low == window->high;
}

For merged(Program& program, const For& a, const For& b, const Accesses& first, const Accesses& second) {
  const BlockId home = loop::new_block(program);
  const NewLoop made = loop::append_for(program, home, a.extent.constant(), a.options);
  Cloner cloner(program);
  cloner.replace(a.variable, Index::of(made.variable));
  cloner.replace(b.variable, Index::of(made.variable));
  for (const Accesses::Array& array : first.arrays()) {
    const Accesses::Array* other = second.find(array.buffer);
    if (other != nullptr && array.is_written && !is_complex(program.buffers[array.buffer].dtype) &&
        is_element(program, a, first.statements_of(array)) && is_element(program, b, second.statements_of(*other))) {
      cloner.forward(array.buffer);
    }
  }
  cloner.clone(a.body, made.body);
  cloner.clone(b.body, made.body);
  return program.fors[program.blocks[home].statements.front().detail];
}

// How often each buffer is touched by loads and stores in the whole program; kOtherwise when by something else, too.
constexpr int kOtherwise = 1 << 30;
std::vector<int> count_accesses(const Program& program) {
  std::vector<int> counts(program.buffers.size(), 0);
  loop::visit_statements(program, 0, [&](const Statement& s) {
    const bool plain = s.kind == StatementKind::kLoad || s.kind == StatementKind::kStore;
    loop::visit_buffers(program, s, [&](BufferId id, bool) {
      counts[id] = plain && counts[id] != kOtherwise ? counts[id] + 1 : kOtherwise;
    });
  });
  return counts;
}

class Merger {
 public:
  explicit Merger(Program& program) : program_(program) {}
  void merge(BlockId block);

 private:
  bool merge_with_next(BlockId block, size_t position);
  void keep_rows(BlockId block, size_t position);

  const Facts& facts_of(uint32_t loop) {
    if (loop >= facts_.size()) facts_.resize(program_.fors.size());
    if (facts_[loop] == nullptr) facts_[loop] = std::make_unique<Facts>(program_, program_.fors[loop]);
    return *facts_[loop];
  }
  bool is_passable(const Statement& s) {
    if (loop::is_instruction(s) || s.kind == StatementKind::kStore) return true;
    return s.kind == StatementKind::kFor && facts_of(s.detail).only_elements;
  }
  bool reads(const Statement& s, BufferId buffer) {
    if (s.kind != StatementKind::kFor) return s.kind == StatementKind::kLoad && s.buffer == buffer;
    const Accesses::Array* array = facts_of(s.detail).accesses.find(buffer);
    return array != nullptr && array->is_read;
  }
  bool writes(const Statement& s, BufferId buffer) {
    if (s.kind != StatementKind::kFor) return s.kind == StatementKind::kStore && s.buffer == buffer;
    const Accesses::Array* array = facts_of(s.detail).accesses.find(buffer);
    return array != nullptr && array->is_written;
  }
  std::optional<std::vector<bool>> to_pass(BlockId block, size_t from, size_t to, const Accesses& first);
  void count(const Accesses& accesses, int sign) {
    for (const Accesses::Array& array : accesses.arrays()) {
      int& known = counts_[array.buffer];
      if (known != kOtherwise) known += sign * static_cast<int>(array.end - array.begin);
    }
  }

  Program& program_;
  std::vector<std::unique_ptr<const Facts>> facts_;  // by loop; null: nobody has asked
  std::vector<int> counts_;                          // empty until the first merge
};

// Whether the loop at `to` may run in front of the passable statements from `from` on, right after a loop with accesses
// `first`. If so: which of them must go in front of that loop, as the second one needs them. The others stay behind it.
std::optional<std::vector<bool>> Merger::to_pass(BlockId block, size_t from, size_t to, const Accesses& first) {
  const std::vector<Statement>& statements = program_.blocks[block].statements;
  std::vector<bool> up(to - from, false);
  if (from == to) return up;
  const Accesses& accesses = facts_of(statements[to].detail).accesses;
  absl::flat_hash_set<Value> wanted;
  const auto collect = [&](const Statement& s) {
    loop::visit_inputs(program_, s, [&](Value value) { wanted.insert(value); });
    loop::visit_yields(program_, s, [&](Value value) { wanted.insert(value); });
  };
  collect(statements[to]);
  loop::visit_statements(program_, program_.fors[statements[to].detail].body, collect);
  for (size_t i = to; i-- > from;) {
    const Statement& s = statements[i];
    bool needed = false;
    loop::visit_results(program_, s, [&](Value value) { needed = needed || wanted.contains(value); });
    if (needed) {
      // Only what does not wait for the first loop, nor for others in between.
      if (!loop::is_instruction(s)) return std::nullopt;
      if (s.kind == StatementKind::kLoad) {
        if (const Accesses::Array* found = first.find(s.buffer); found != nullptr && found->is_written)
          return std::nullopt;
        for (size_t other = from; other < to; ++other) {
          if (writes(statements[other], s.buffer)) return std::nullopt;
        }
      }
      up[i - from] = true;
      collect(s);
      continue;
    }
    for (const Accesses::Array& array : accesses.arrays()) {
      if (writes(s, array.buffer) || (array.is_written && reads(s, array.buffer))) return std::nullopt;
    }
  }
  return up;
}

// Merges the loop at `position` with one that follows. Whether it did.
bool Merger::merge_with_next(BlockId block, size_t position) {
  const uint32_t a = program_.blocks[block].statements[position].detail;
  const Facts& first = facts_of(a);
  if (!first.is_row_loop) return false;
  const int64_t a_extent = program_.fors[a].extent.constant();
  const size_t end = std::min(program_.blocks[block].statements.size(), position + kFarthest);
  for (size_t next = position + 1; next < end; ++next) {
    const Statement& at = program_.blocks[block].statements[next];
    if (!is_passable(at)) return false;
    if (at.kind != StatementKind::kFor) continue;
    const uint32_t b = at.detail;
    const Facts& second = facts_of(b);
    if (!second.is_row_loop) continue;
    const int64_t b_extent = program_.fors[b].extent.constant();
    const int64_t rows = std::min(a_extent, b_extent);
    if (std::max(a_extent, b_extent) % rows != 0 ||
        !worth_merging(program_, program_.fors[a], program_.fors[b], first, second, rows) ||
        first.statements + second.statements > kMostStatements) {
      continue;
    }
    const auto up = to_pass(block, position + 1, next, first.accesses);
    if (!up) continue;
    const std::string group = program_.groups[program_.blocks[block].statements[position].group] + "; " +
                              program_.groups[program_.blocks[block].statements[next].group];
    const For rows_of_a = a_extent == rows ? program_.fors[a] : split(program_, For(program_.fors[a]), rows);
    const For rows_of_b = b_extent == rows ? program_.fors[b] : split(program_, For(program_.fors[b]), rows);
    std::optional<Accesses> split_first, split_second;
    if (a_extent != rows) split_first.emplace(program_, rows_of_a.body);
    if (b_extent != rows) split_second.emplace(program_, rows_of_b.body);
    const Accesses& one = split_first ? *split_first : first.accesses;
    const Accesses& two = split_second ? *split_second : second.accesses;
    if (!may_merge(program_, rows_of_a, rows_of_b, one, two)) continue;
    if (counts_.empty()) counts_ = count_accesses(program_);
    program_.fors.push_back(merged(program_, rows_of_a, rows_of_b, one, two));
    Statement both{.kind = StatementKind::kFor};
    both.detail = static_cast<uint32_t>(program_.fors.size() - 1);
    count(first.accesses, -1);
    count(second.accesses, -1);
    count(facts_of(both.detail).accesses, 1);
    program_.groups.push_back(group);
    both.group = static_cast<uint32_t>(program_.groups.size() - 1);
    // What must go in front, the merged loop, the others; in place.
    std::vector<Statement>& statements = program_.blocks[block].statements;
    std::vector<Statement> behind;
    size_t into = position;
    for (size_t i = position + 1; i < next; ++i) {
      if ((*up)[i - position - 1]) {
        statements[into++] = std::move(statements[i]);
      } else {
        behind.push_back(std::move(statements[i]));
      }
    }
    statements[into++] = std::move(both);
    std::move(behind.begin(), behind.end(), statements.begin() + static_cast<std::ptrdiff_t>(into));
    statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(next));
    return true;
  }
  return false;
}

// ---- rows that only their own loop knows ----------------------------------------------------------------------------

// Temporaries of which an iteration touches a row of its own only need that row, for each of the iterations that may
// run at once: the loop becomes one over chunks of rows, and each chunk has one row, which stays in the cache.
void Merger::keep_rows(BlockId block, size_t position) {
  const uint32_t number = program_.blocks[block].statements[position].detail;
  const For loop = program_.fors[number];
  const Accesses& accesses = facts_of(number).accesses;
  std::map<BufferId, Window> rows;
  int64_t widest = 0;  // bytes
  bool any_row = false;
  for (const Accesses::Array& array : accesses.arrays()) {
    const absl::Span<const Statement* const> all = accesses.statements_of(array);
    const loop::Buffer& whole = program_.buffers[array.buffer];
    if (whole.kind != loop::BufferKind::kTemporary || is_complex(whole.dtype) ||
        counts_[array.buffer] != static_cast<int>(all.size())) {
      continue;
    }
    const auto window = window_of(program_, loop, all);
    if (!window || !window->own()) continue;
    rows.insert({array.buffer, *window});
    any_row = any_row || window->high > window->low;
    widest = std::max(widest, (window->high - window->low + 1) * dtype_size(whole.dtype));
  }
  // Chunks have no vectors of iterations, which elements are better for.
  if (!any_row) return;
  const int64_t count = loop.extent.constant();
  const int64_t chunks =
      largest_divisor(count, std::min<int64_t>(kMostChunks, kMostKept / std::max<int64_t>(widest, 1)));
  if (chunks < kLeastChunks) return;

  const BlockId home = loop::new_block(program_);
  const NewLoop chunk = loop::append_for(program_, home, chunks, {.parallel = true});
  const NewLoop row = loop::append_for(program_, chunk.body, count / chunks, {});
  const Index whole_row = Index::of(chunk.variable, count / chunks) + Index::of(row.variable);
  Cloner cloner(program_);
  cloner.replace(loop.variable, whole_row);
  cloner.clone(loop.body, row.body);
  const auto move = [&](auto&& self, BlockId id) -> void {
    for (Statement& s : program_.blocks[id].statements) {
      const auto found = rows.find(s.buffer);
      if ((s.kind == StatementKind::kLoad || s.kind == StatementKind::kStore) && found != rows.end()) {
        const Window& window = found->second;
        s.index = s.index - whole_row * window.stride - window.common - window.low +
                  Index::of(chunk.variable, window.high - window.low + 1);
      }
      std::vector<BlockId> inside;
      loop::visit_blocks_of(program_, s, [&](BlockId inner) { inside.push_back(inner); });
      for (BlockId inner : inside) self(self, inner);
    }
  };
  move(move, row.body);
  for (const auto& [buffer, window] : rows) program_.buffers[buffer].elements = chunks * (window.high - window.low + 1);
  Statement& replaced = program_.blocks[block].statements[position];
  const uint32_t group = replaced.group;
  replaced = program_.blocks[home].statements.front();
  replaced.group = group;
}

void Merger::merge(BlockId block) {
  for (size_t i = 0; i < program_.blocks[block].statements.size(); ++i) {
    const Statement s = program_.blocks[block].statements[i];
    if (s.kind == StatementKind::kFor && program_.fors[s.detail].options.parallel) {
      bool merged = false;
      while (merge_with_next(block, i)) {
        merged = true;
        // What moved up now lies in front of the merged loop.
        while (program_.blocks[block].statements[i].kind != StatementKind::kFor) ++i;
      }
      if (merged) keep_rows(block, i);
      continue;
    }
    std::vector<BlockId> inside;
    loop::visit_blocks_of(program_, s, [&](BlockId id) { inside.push_back(id); });
    for (BlockId id : inside) merge(id);
  }
}

}  // namespace

void merge_loops(loop::Program& program) { Merger(program).merge(0); }

}  // namespace ct::jit
