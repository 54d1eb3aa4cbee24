#include "jit/loop_merge.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "jit/loop_clone.h"
#include "jit/loop_visit.h"

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

struct Access {
  const Statement* statement;
  bool is_store() const { return statement->kind == StatementKind::kStore; }
};
using Accesses = std::map<BufferId, std::vector<Access>>;

Accesses accesses_of(const Program& program, BlockId block) {
  Accesses result;
  loop::visit_statements(program, block, [&](const Statement& s) {
    if (s.kind == StatementKind::kLoad || s.kind == StatementKind::kStore) result[s.buffer].push_back({&s});
  });
  return result;
}

bool is_written(const std::vector<Access>& accesses) {
  return std::any_of(accesses.begin(), accesses.end(), [](const Access& a) { return a.is_store(); });
}

size_t statements_in(const Program& program, BlockId block) {
  size_t count = 0;
  loop::visit_statements(program, block, [&](const Statement&) { ++count; });
  return count;
}

// What an iteration of a loop touches of a buffer: [iteration * stride + low, iteration * stride + high], plus what is
// the same in all iterations.
struct Window {
  int64_t stride = 0, low = 0, high = 0;
  Index common;
  bool own() const { return stride > 0 && high - low < stride; }
};

std::optional<Window> window_of(const Program& program, const For& loop, const std::vector<Access>& accesses) {
  std::optional<Window> window;
  for (const Access& access : accesses) {
    const Index& index = access.statement->index;
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

bool is_row_loop(const Program& program, const For& loop) {
  return loop.options.parallel && loop.carries.empty() && loop.extent.is_constant() && loop.extent.constant() > 1 &&
         loop::only_elements(program, loop.body);
}

bool has_inner_loop(const Program& program, BlockId block) {
  bool found = false;
  loop::visit_statements(program, block, [&](const Statement& s) { found = found || s.kind == StatementKind::kFor; });
  return found;
}

int64_t bytes_of(const Program& program, BufferId id) {
  return program.buffers[id].elements * dtype_size(program.buffers[id].dtype);
}

// A loop over a whole array as one over `rows` rows.
For split(Program& program, const For& loop, int64_t rows) {
  const int64_t columns = loop.extent.constant() / rows;
  const BlockId home = loop::new_block(program);
  const NewLoop row = loop::append_for(program, home, rows, loop.options);
  const NewLoop column = loop::append_for(program, row.body, columns, loop.options);
  Cloner cloner(program);
  cloner.replace(loop.variable, Index::of(row.variable, columns) + Index::of(column.variable));
  cloner.clone(program.blocks[loop.body].statements, column.body);
  return program.fors[program.blocks[home].statements.front().detail];
}

// `a` and `b` touch much that the other touches as well, or `b` does a little for each row between loops that do.
bool worth_merging(const Program& program, const For& a, const For& b, const Accesses& first, const Accesses& second,
                   int64_t rows) {
  int64_t shared = 0, one = 0, two = 0;
  bool linked = false;
  for (const auto& [buffer, accesses] : first) {
    one += bytes_of(program, buffer);
    if (second.count(buffer) == 0) continue;
    shared += bytes_of(program, buffer);
    linked = linked || is_written(accesses);
  }
  for (const auto& [buffer, _] : second) two += bytes_of(program, buffer);
  if ((one + two - shared) / rows > kMostInRow) return false;
  if (shared >= kLeastShared) return has_inner_loop(program, a.body) || has_inner_loop(program, b.body);
  return linked && one >= kLeastShared && has_inner_loop(program, a.body) && !has_inner_loop(program, b.body) &&
         a.extent == b.extent && static_cast<int64_t>(statements_in(program, b.body)) <= one / rows / 16;
}

bool may_merge(const Program& program, const For& a, const For& b, const Accesses& first, const Accesses& second) {
  for (const auto& [buffer, accesses] : first) {
    const auto other = second.find(buffer);
    if (other == second.end() || (!is_written(accesses) && !is_written(other->second))) continue;
    const auto one = window_of(program, a, accesses), two = window_of(program, b, other->second);
    if (!one || !two || one->stride != two->stride || !(one->common == two->common)) return false;
    const Window both{one->stride, std::min(one->low, two->low), std::max(one->high, two->high), one->common};
    if (!both.own()) return false;
  }
  return true;
}

// Elements that an iteration stores for itself and that later ones of its statements may take from a register.
bool is_element(const Program& program, const For& loop, const std::vector<Access>& accesses) {
  const auto window = window_of(program, loop, accesses);
  return window && window->stride == 1 && window->low == window->high;
}

For merged(Program& program, const For& a, const For& b, const Accesses& first, const Accesses& second) {
  const BlockId home = loop::new_block(program);
  const NewLoop made = loop::append_for(program, home, a.extent.constant(), a.options);
  Cloner cloner(program);
  cloner.replace(a.variable, Index::of(made.variable));
  cloner.replace(b.variable, Index::of(made.variable));
  for (const auto& [buffer, accesses] : first) {
    const auto other = second.find(buffer);
    if (other != second.end() && is_written(accesses) && is_element(program, a, accesses) &&
        is_element(program, b, other->second) && !is_complex(program.buffers[buffer].dtype)) {
      cloner.forward(buffer);
    }
  }
  std::vector<Statement> both = program.blocks[a.body].statements;
  const std::vector<Statement>& more = program.blocks[b.body].statements;
  both.insert(both.end(), more.begin(), more.end());
  cloner.clone(both, made.body);
  return program.fors[program.blocks[home].statements.front().detail];
}

// Statements between two loops: those that the second loop needs go in front of the first, the others stay behind it.
class Between {
 public:
  Between(const Program& program, BlockId block, size_t from, size_t to) : program_(program) {
    const auto& statements = program.blocks[block].statements;
    between_.assign(statements.begin() + static_cast<std::ptrdiff_t>(from),
                    statements.begin() + static_cast<std::ptrdiff_t>(to));
    up_.assign(between_.size(), false);
  }

  // Whether `loop`, with `accesses`, may run before them, right after a loop with accesses `first`.
  bool may_pass(const Statement& loop, const Accesses& accesses, const Accesses& first) {
    absl::flat_hash_set<Value> wanted;
    collect(loop, wanted);
    for (size_t i = between_.size(); i-- > 0;) {
      const Statement& s = between_[i];
      bool needed = false;
      loop::visit_results(program_, s, [&](Value value) { needed = needed || wanted.contains(value); });
      if (needed) {
        // Only what does not wait for the first loop, nor for others in between.
        if (!loop::is_instruction(s)) return false;
        if (s.kind == StatementKind::kLoad) {
          const auto found = first.find(s.buffer);
          if (found != first.end() && is_written(found->second)) return false;
          for (const Statement& other : between_) {
            if (writes(other, s.buffer)) return false;
          }
        }
        up_[i] = true;
        collect(s, wanted);
        continue;
      }
      for (const auto& [buffer, all] : accesses) {
        if (writes(s, buffer) || (is_written(all) && reads(s, buffer))) return false;
      }
    }
    return true;
  }

  void take_up(std::vector<Statement>& into) const {
    for (size_t i = 0; i < between_.size(); ++i) {
      if (up_[i]) into.push_back(between_[i]);
    }
  }
  void leave(std::vector<Statement>& into) const {
    for (size_t i = 0; i < between_.size(); ++i) {
      if (!up_[i]) into.push_back(between_[i]);
    }
  }

 private:
  void collect(const Statement& s, absl::flat_hash_set<Value>& wanted) const {
    loop::visit_inputs(program_, s, [&](Value value) { wanted.insert(value); });
    loop::visit_yields(program_, s, [&](Value value) { wanted.insert(value); });
    loop::visit_blocks_of(program_, s, [&](BlockId id) {
      for (const Statement& inner : program_.blocks[id].statements) collect(inner, wanted);
    });
  }
  bool touches(const Statement& s, BufferId buffer, bool write) const {
    bool found = false;
    const auto look = [&](const Statement& at) {
      found = found || (at.buffer == buffer && at.kind == (write ? StatementKind::kStore : StatementKind::kLoad));
    };
    look(s);
    loop::visit_blocks_of(program_, s, [&](BlockId id) { loop::visit_statements(program_, id, look); });
    return found;
  }
  bool writes(const Statement& s, BufferId buffer) const { return touches(s, buffer, true); }
  bool reads(const Statement& s, BufferId buffer) const { return touches(s, buffer, false); }

  const Program& program_;
  std::vector<Statement> between_;
  std::vector<bool> up_;
};

bool is_passable(const Program& program, const Statement& s) {
  if (loop::is_instruction(s) || s.kind == StatementKind::kStore) return true;
  return s.kind == StatementKind::kFor && loop::only_elements(program, program.fors[s.detail].body);
}

// Merges the loop at `position` with one that follows. Whether it did.
bool merge_with_next(Program& program, BlockId block, size_t position) {
  const For a = program.fors[program.blocks[block].statements[position].detail];
  if (!is_row_loop(program, a)) return false;
  const Accesses first = accesses_of(program, a.body);
  const size_t end = std::min(program.blocks[block].statements.size(), position + kFarthest);
  for (size_t next = position + 1; next < end; ++next) {
    const Statement at = program.blocks[block].statements[next];
    if (!is_passable(program, at)) return false;
    if (at.kind != StatementKind::kFor) continue;
    For b = program.fors[at.detail];
    if (!is_row_loop(program, b)) continue;
    const Accesses second = accesses_of(program, b.body);
    const int64_t rows = std::min(a.extent.constant(), b.extent.constant());
    if (std::max(a.extent.constant(), b.extent.constant()) % rows != 0 ||
        !worth_merging(program, a, b, first, second, rows) ||
        statements_in(program, a.body) + statements_in(program, b.body) > kMostStatements) {
      continue;
    }
    Between between(program, block, position + 1, next);
    if (!between.may_pass(at, second, first)) continue;
    const For rows_of_a = a.extent.constant() == rows ? a : split(program, a, rows);
    const For rows_of_b = b.extent.constant() == rows ? b : split(program, b, rows);
    const Accesses one = accesses_of(program, rows_of_a.body), two = accesses_of(program, rows_of_b.body);
    if (!may_merge(program, rows_of_a, rows_of_b, one, two)) continue;
    program.fors.push_back(merged(program, rows_of_a, rows_of_b, one, two));
    Statement both{.kind = StatementKind::kFor};
    both.detail = static_cast<uint32_t>(program.fors.size() - 1);
    program.groups.push_back(program.groups[program.blocks[block].statements[position].group] + "; " +
                             program.groups[at.group]);
    both.group = static_cast<uint32_t>(program.groups.size() - 1);
    auto& statements = program.blocks[block].statements;
    std::vector<Statement> result(statements.begin(), statements.begin() + static_cast<std::ptrdiff_t>(position));
    between.take_up(result);
    result.push_back(both);
    between.leave(result);
    result.insert(result.end(), statements.begin() + static_cast<std::ptrdiff_t>(next) + 1, statements.end());
    statements = std::move(result);
    return true;
  }
  return false;
}

// ---- rows that only their own loop knows ----------------------------------------------------------------------------

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

// Temporaries of which an iteration touches a row of its own only need that row, for each of the iterations that may
// run at once: the loop becomes one over chunks of rows, and each chunk has one row, which stays in the cache.
void keep_rows(Program& program, BlockId block, size_t position) {
  const For loop = program.fors[program.blocks[block].statements[position].detail];
  const Accesses accesses = accesses_of(program, loop.body);
  const std::vector<int> counts = count_accesses(program);
  std::map<BufferId, Window> rows;
  int64_t widest = 0;
  for (const auto& [buffer, all] : accesses) {
    const loop::Buffer& whole = program.buffers[buffer];
    if (whole.kind != loop::BufferKind::kTemporary || is_complex(whole.dtype) ||
        counts[buffer] != static_cast<int>(all.size())) {
      continue;
    }
    const auto window = window_of(program, loop, all);
    if (!window || !window->own()) continue;
    rows.insert({buffer, *window});
    widest = std::max(widest, (window->high - window->low + 1) * dtype_size(whole.dtype));
  }
  const int64_t count = loop.extent.constant();
  int64_t chunks = 0;
  for (int64_t some = std::min<int64_t>(kMostChunks, kMostKept / std::max<int64_t>(widest, 1)); some > 1; --some) {
    if (count % some == 0) {
      chunks = some;
      break;
    }
  }
  if (rows.empty() || chunks < kLeastChunks) return;

  const BlockId home = loop::new_block(program);
  const NewLoop chunk = loop::append_for(program, home, chunks, {.parallel = true});
  const NewLoop row = loop::append_for(program, chunk.body, count / chunks, {});
  const Index whole_row = Index::of(chunk.variable, count / chunks) + Index::of(row.variable);
  Cloner cloner(program);
  cloner.replace(loop.variable, whole_row);
  cloner.clone(program.blocks[loop.body].statements, row.body);
  const auto move = [&](auto&& self, BlockId id) -> void {
    for (Statement& s : program.blocks[id].statements) {
      const auto found = rows.find(s.buffer);
      if ((s.kind == StatementKind::kLoad || s.kind == StatementKind::kStore) && found != rows.end()) {
        const Window& window = found->second;
        s.index = s.index - whole_row * window.stride - window.common - window.low +
                  Index::of(chunk.variable, window.high - window.low + 1);
      }
      std::vector<BlockId> inside;
      loop::visit_blocks_of(program, s, [&](BlockId inner) { inside.push_back(inner); });
      for (BlockId inner : inside) self(self, inner);
    }
  };
  move(move, row.body);
  for (const auto& [buffer, window] : rows) program.buffers[buffer].elements = chunks * (window.high - window.low + 1);
  Statement& replaced = program.blocks[block].statements[position];
  const uint32_t group = replaced.group;
  replaced = program.blocks[home].statements.front();
  replaced.group = group;
}

void merge(Program& program, BlockId block) {
  for (size_t i = 0; i < program.blocks[block].statements.size(); ++i) {
    const Statement s = program.blocks[block].statements[i];
    if (s.kind == StatementKind::kFor && program.fors[s.detail].options.parallel) {
      bool merged = false;
      while (merge_with_next(program, block, i)) {
        merged = true;
        // What moved up now lies in front of the merged loop.
        while (program.blocks[block].statements[i].kind != StatementKind::kFor) ++i;
      }
      if (merged) keep_rows(program, block, i);
      continue;
    }
    std::vector<BlockId> inside;
    loop::visit_blocks_of(program, s, [&](BlockId id) { inside.push_back(id); });
    for (BlockId id : inside) merge(program, id);
  }
}

}  // namespace

void merge_loops(loop::Program& program) { merge(program, 0); }

}  // namespace ct::jit
