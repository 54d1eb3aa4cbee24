#include "jit/loop/barriers.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "jit/loop/visit.h"

namespace ct::jit {

using loop::BlockId;
using loop::Buffer;
using loop::BufferId;
using loop::BufferKind;
using loop::For;
using loop::Statement;
using loop::StatementKind;

namespace {

// Shorter loops that hold longer ones, or folds, run these together instead.
constexpr int64_t kFewItems = 64;
// Shorter folds each thread computes for itself.
constexpr int64_t kShortFold = 16;

bool combines(const For& loop) {
  return !loop.carries.empty() && (loop.options.parallel || loop.options.vectorize) &&
         std::ranges::all_of(loop.carries, [](const loop::Carry& carry) { return carry.combine.has_value(); });
}

bool is_long(const For& loop, int64_t least) { return !loop.extent.is_constant() || loop.extent.constant() >= least; }

template <typename Holds>
bool any_inside(const loop::Program& program, const Statement& s, const Holds& holds) {
  bool found = false;
  loop::visit_blocks_of(program, s, [&](BlockId block) {
    loop::visit_statements(program, block, [&](const Statement& inner) { found = found || holds(inner); });
  });
  return found;
}

bool is_range(const Statement& s) { return s.kind == StatementKind::kFill || s.kind == StatementKind::kCopy; }

bool is_product(const Statement& s) { return s.kind == StatementKind::kGemm; }

// What is worth sharing out by itself.
bool is_shareable(const loop::Program& program, const Statement& s) {
  if (is_range(s) || is_product(s)) return true;
  if (s.kind != StatementKind::kFor) return false;
  const For& loop = program.fors[s.detail];
  return (is_independent(loop) || combines(loop)) && is_long(loop, kFewItems);
}

int64_t items_of(const loop::Program& program, const For& loop) {
  int64_t items = 1;
  for (const For* level : nest_of(program, loop)) {
    if (!level->extent.is_constant()) return INT64_MAX;
    items = std::min<int64_t>(items * std::max<int64_t>(level->extent.constant(), 1), INT32_MAX);
  }
  return items;
}

bool is_whole(const loop::Gemm& gemm) {
  return gemm.rows == loop::Index(gemm.m) && gemm.columns == loop::Index(gemm.n);
}

bool writes_memory(const Statement& s) { return s.kind == StatementKind::kStore || is_range(s) || is_product(s); }

Share share_of_control(const loop::Program& program, const Statement& s) {
  bool yields = false;
  loop::visit_results(program, s, [&](loop::Value) { yields = true; });
  const bool swaps = any_inside(program, s, [](const Statement& inner) { return inner.kind == StatementKind::kSwap; });
  const bool shares = any_inside(program, s, [&](const Statement& inner) { return is_shareable(program, inner); });
  if (yields || swaps || shares || !any_inside(program, s, writes_memory)) return Share::kAlike;
  return Share::kFirst;
}

}  // namespace

bool is_independent(const For& loop) {
  return loop.carries.empty() && (loop.options.parallel || loop.options.vectorize);
}

std::vector<const For*> nest_of(const loop::Program& program, const For& outer) {
  std::vector<const For*> nest = {&outer};
  for (;;) {
    const std::vector<Statement>& body = program.blocks[nest.back()->body].statements;
    if (body.empty() || body.back().kind != StatementKind::kFor) return nest;
    const For& inner = program.fors[body.back().detail];
    if (!std::all_of(body.begin(), body.end() - 1, loop::is_instruction)) return nest;
    if (!is_independent(inner) || !inner.extent.is_constant()) return nest;
    nest.push_back(&inner);
  }
}

Share share_of(const loop::Program& program, const Statement& s) {
  if (loop::is_instruction(s) || s.kind == StatementKind::kSwap) return Share::kAlike;
  if (s.kind == StatementKind::kStore) return Share::kFirst;
  if (is_range(s)) return Share::kItems;
  if (is_product(s)) return Share::kTiles;
  if (s.kind != StatementKind::kFor) return share_of_control(program, s);
  const For& loop = program.fors[s.detail];
  if (any_inside(program, s, is_product)) return Share::kAlike;
  if (is_independent(loop)) {
    const bool inner_is_longer = items_of(program, loop) < kFewItems &&
                                 any_inside(program, s, [&](const Statement& t) { return is_shareable(program, t); });
    return inner_is_longer ? Share::kAlike : Share::kItems;
  }
  if (combines(loop) && is_long(loop, kShortFold)) return Share::kFold;
  return share_of_control(program, s);
}

std::optional<ProductNest> product_nest(const loop::Program& program, const Statement& statement) {
  ProductNest nest;
  const Statement* s = &statement;
  for (; s->kind == StatementKind::kFor;) {
    const For& loop = program.fors[s->detail];
    const std::vector<Statement>& body = program.blocks[loop.body].statements;
    if (!is_independent(loop) || !loop.extent.is_constant() || loop.extent.constant() <= 0 || body.empty()) return {};
    if (!std::all_of(body.begin(), body.end() - 1, loop::is_instruction)) return {};
    nest.loops.push_back(&loop);
    nest.items *= loop.extent.constant();
    s = &body.back();
  }
  if (!is_product(*s)) return {};
  nest.product = &program.gemms[s->detail];
  return nest;
}

bool may_be_epilogue(const loop::Program& program, const ProductNest& products, const Statement& statement) {
  if (statement.kind != StatementKind::kFor || share_of(program, statement) != Share::kItems) return false;
  int64_t items = 1;
  for (const For* level : nest_of(program, program.fors[statement.detail])) {
    if (!level->extent.is_constant()) return false;
    items *= level->extent.constant();
  }
  return is_whole(*products.product) && items == products.items * products.product->m * products.product->n;
}

// ---- barriers -------------------------------------------------------------------------------------------------------

// Buffers that are exchanged anywhere have one place.
Barriers::Barriers(const loop::Program& program, absl::Span<const int> donations)
    : program_(program),
      place_of_(program.buffers.size()),
      memory_of_(program.buffers.size()),
      written_over_(program.buffers.size()) {
  std::iota(place_of_.begin(), place_of_.end(), 0);
  std::iota(memory_of_.begin(), memory_of_.end(), 0);
  find_donations(donations);
  const auto root = [&](uint32_t id) {
    while (place_of_[id] != id) id = place_of_[id];
    return id;
  };
  for (const loop::Block& block : program.blocks) {
    for (const Statement& s : block.statements) {
      if (s.kind == StatementKind::kSwap) place_of_[root(s.buffer)] = root(s.other);
    }
  }
  buffers_at_.resize(program.buffers.size() + 1);
  for (BufferId id = 0; id < program.buffers.size(); ++id) buffers_at_[root(id)].push_back(id);
  for (uint32_t place = 0; place < buffers_at_.size(); ++place) {
    for (BufferId id : buffers_at_[place]) place_of_[id] = place;
  }
}

void Barriers::find_donations(absl::Span<const int> donations) {
  const auto buffer_at = [&](BufferKind kind, int64_t position) {
    const auto found = std::ranges::find_if(
        program_.buffers, [&](const Buffer& buffer) { return buffer.kind == kind && buffer.position == position; });
    return static_cast<BufferId>(found - program_.buffers.begin());
  };
  for (size_t output = 0; output < donations.size(); ++output) {
    if (donations[output] < 0) continue;
    const BufferId input = buffer_at(BufferKind::kInput, donations[output]);
    memory_of_[buffer_at(BufferKind::kOutput, static_cast<int64_t>(output))] = input;
    written_over_[input] = true;
  }
}

void Barriers::place(absl::Span<const Statement* const> statements, bool has_folded) {
  pending_.clear();
  if (has_folded) pending_.push_back({.place = partials(), .writes = false, .by_first = false});
  for (const Statement* s : statements) walk(*s, pending_);
}

bool Barriers::is_pending(BufferId buffer) const {
  return std::ranges::any_of(pending_, [&](const Access& access) { return overlap(access.place, place_of_[buffer]); });
}

bool Barriers::needs_none(absl::Span<const Statement* const> others, const Statement& statement) {
  const Accesses own = accesses_of(statement, false);
  const auto accesses = [&](const Statement& s) {
    const auto products = product_nest(program_, s);
    return products ? accesses_of(*products) : accesses_of(s, false);
  };
  return std::ranges::none_of(others, [&](const Statement* s) { return conflict(accesses(*s), own); });
}

bool share_memory(const Buffer& a, const Buffer& b) {
  const auto end = [](const Buffer& buffer) { return buffer.position + buffer.elements * dtype_size(buffer.dtype); };
  if (a.kind != BufferKind::kTemporary || b.kind != BufferKind::kTemporary) return false;
  return a.position < end(b) && b.position < end(a);
}

bool Barriers::overlap(uint32_t a, uint32_t b) const {
  if (a == b) return true;
  for (BufferId x : buffers_at_[a]) {
    for (BufferId y : buffers_at_[b]) {
      if (memory_of_[x] == memory_of_[y] || share_memory(program_.buffers[x], program_.buffers[y])) return true;
    }
  }
  return false;
}

// Element by element: one array may take another one's place.
bool Barriers::is_same_array(uint32_t a, uint32_t b) const {
  if (a == b || memory_of_[buffers_at_[a][0]] == memory_of_[buffers_at_[b][0]]) return true;
  const Buffer &x = program_.buffers[buffers_at_[a][0]], &y = program_.buffers[buffers_at_[b][0]];
  return x.kind == BufferKind::kTemporary && y.kind == BufferKind::kTemporary && x.position == y.position &&
         dtype_size(x.dtype) == dtype_size(y.dtype);
}

bool Barriers::conflict(const Accesses& since, const Accesses& next) const {
  for (const Access& a : since) {
    for (const Access& b : next) {
      if (!(a.writes || b.writes) || (a.by_first && b.by_first)) continue;
      if (a.mapping != 0 && a.mapping == b.mapping && is_same_array(a.place, b.place)) continue;
      if (overlap(a.place, b.place)) return true;
    }
  }
  return false;
}

// Elements of the results are items, numbered in row-major order of the nest, the rows and the columns.
Barriers::Accesses Barriers::accesses_of(const ProductNest& products) {
  const loop::Gemm& gemm = *products.product;
  bool in_order = is_whole(gemm) && gemm.c.column_stride == 1 && gemm.c.row_stride == gemm.n &&
                  buffers_at_[place_of_[gemm.c.buffer]].size() == 1;
  size_t known = 0;
  int64_t stride = gemm.m * gemm.n;
  for (size_t level = products.loops.size(); level-- > 0;) {
    const For& loop = *products.loops[level];
    const int64_t coefficient = gemm.c.offset.coefficient_of(loop.variable);
    known += coefficient != 0;
    in_order = in_order && (coefficient == stride || loop.extent.constant() == 1);
    stride *= loop.extent.constant();
  }
  in_order = in_order && known == gemm.c.offset.terms().size();
  Access result{.place = place_of_[gemm.c.buffer], .writes = true, .by_first = false};
  if (in_order) result.mapping = number_of_mapping({gemm.c.offset.constant(), 1});
  Accesses found = {{.place = place_of_[gemm.a.buffer], .writes = false, .by_first = false},
                    {.place = place_of_[gemm.b.buffer], .writes = false, .by_first = false},
                    result};
  for (const For* loop : products.loops) {
    for (const Statement& s : program_.blocks[loop->body].statements) {
      if (s.kind != StatementKind::kLoad) continue;
      found.push_back({.place = place_of_[s.buffer], .writes = false, .by_first = false});
    }
  }
  std::ranges::sort(found);
  return found;
}

uint32_t Barriers::number_of_mapping(std::vector<int64_t> key) {
  return mappings_.try_emplace(std::move(key), static_cast<uint32_t>(mappings_.size() + 1)).first->second;
}

// Items of nests of equal extents are shared out alike; an index that names each element at most once, and is the same
// function of the item, is the same thread's.
uint32_t Barriers::mapping_of(absl::Span<const For* const> nest, const Statement& access) {
  if (access.kind != StatementKind::kLoad && access.kind != StatementKind::kStore) return 0;
  if (buffers_at_[place_of_[access.buffer]].size() != 1) return 0;
  const int64_t parts = is_complex(program_.buffers[access.buffer].dtype) ? 2 : 1;
  std::vector<int64_t> key = {access.index.constant() / parts};
  std::vector<std::pair<int64_t, int64_t>> strides;  // and how many steps there are
  size_t known = 0;
  for (const For* level : nest) {
    if (!level->extent.is_constant()) return 0;
    const int64_t coefficient = access.index.coefficient_of(level->variable), extent = level->extent.constant();
    if (coefficient % parts != 0) return 0;
    known += coefficient != 0;
    key.push_back(extent);
    key.push_back(coefficient / parts);
    if (extent > 1) strides.emplace_back(std::abs(coefficient / parts), extent - 1);
  }
  if (known != access.index.terms().size()) return 0;
  // A multiple of the item's number is that whatever loops it is made of.
  int64_t items = 1, step = 0;
  bool counts = true;
  for (size_t level = nest.size(); level-- > 0;) {
    const int64_t extent = key[2 * level + 1], coefficient = key[2 * level + 2];
    if (extent == 1) continue;
    if (step == 0) step = coefficient;
    counts = counts && coefficient == step * items;
    items *= extent;
  }
  if (counts) key = {key[0], step};
  std::ranges::sort(strides);
  int64_t reached = 0;
  for (const auto& [stride, steps] : strides) {
    if (stride <= reached) return 0;
    reached += stride * steps;
  }
  return number_of_mapping(std::move(key));
}

Barriers::Accesses Barriers::accesses_of(const Statement& s, bool by_first) {
  Accesses found;
  std::vector<const For*> nest;
  if (s.kind == StatementKind::kFor && !by_first && is_independent(program_.fors[s.detail])) {
    nest = nest_of(program_, program_.fors[s.detail]);
  }
  const auto look = [&](const Statement& one) {
    const uint32_t mapping = nest.empty() ? 0 : mapping_of(nest, one);
    loop::visit_buffers(program_, one, [&](BufferId id, bool writes) {
      if (program_.buffers[id].kind == BufferKind::kConstant) return;
      found.push_back({place_of_[id], writes, by_first, mapping});
    });
  };
  look(s);
  loop::visit_blocks_of(program_, s, [&](BlockId block) { loop::visit_statements(program_, block, look); });
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

namespace {

template <typename List>
List union_of(const List& a, const List& b) {
  List all;
  std::ranges::set_union(a, b, std::back_inserter(all));
  return all;
}

}  // namespace

void Barriers::walk(const Statement& s, Accesses& since) {
  const Share share = share_of(program_, s);
  if (share == Share::kAlike) {
    if (s.kind == StatementKind::kSwap) return;  // of pointers, which each thread has
    if (s.kind == StatementKind::kWhile) return walk_while(program_.whiles[s.detail], since);
    if (s.kind == StatementKind::kIf) {
      Accesses other = since;
      walk(program_.ifs[s.detail].then_block, since);
      walk(program_.ifs[s.detail].else_block, other);
      since = union_of(since, other);
      return;
    }
    if (s.kind == StatementKind::kFor) {
      // What one iteration leaves meets the next one.
      Accesses before;
      do {
        before = since;
        Accesses after = since;
        walk(program_.fors[s.detail].body, after);
        since = union_of(since, after);
      } while (before != since);
      return;
    }
  }
  Accesses own = accesses_of(s, share == Share::kFirst);
  if (share == Share::kTiles) return walk_product(program_.gemms[s.detail], s, std::move(own), since);
  if (share == Share::kFold) own.push_back({.place = partials(), .writes = true, .by_first = false});
  if (placed_.contains(&s)) {
    since.clear();
  } else if (conflict(since, own)) {
    placed_.insert(&s);
    since.clear();
  }
  // Combining what they have, all threads have met; last of all they read the result.
  since = share == Share::kFold ? Accesses{{.place = partials(), .writes = false, .by_first = false}}
                                : union_of(since, own);
}

// All threads meet before operands are brought to shared memory, and before they are read there.
void Barriers::walk_product(const loop::Gemm& gemm, const Statement& s, Accesses own, Accesses& since) {
  Accesses last = {{.place = place_of_[gemm.c.buffer], .writes = true, .by_first = false},
                   {.place = partials(), .writes = false, .by_first = false}};
  std::ranges::sort(last);
  if (is_whole(gemm) && gemm.steps == loop::Index(gemm.k) && gemm.k > 0) {
    since = std::move(last);
    return;
  }
  if (placed_.contains(&s)) {
    since.clear();
  } else if (conflict(since, own)) {
    placed_.insert(&s);
    since.clear();
  }
  since = union_of(union_of(since, own), last);
}

void Barriers::walk(BlockId block, Accesses& since) {
  for (const Statement& s : program_.blocks[block].statements) walk(s, since);
}

void Barriers::walk_while(const loop::While& loop, Accesses& since) {
  Accesses before;
  do {
    before = since;
    Accesses after = since;
    walk(loop.condition_block, after);
    since = union_of(since, after);
    walk(loop.body, after);
    since = union_of(since, after);
  } while (before != since);
}

}  // namespace ct::jit
