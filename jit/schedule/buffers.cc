#include "jit/schedule/buffers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "jit/loop/clone.h"
#include "jit/loop/visit.h"
#include "jit/schedule/arena.h"
#include "jit/schedule/in_place.h"
#include "jit/schedule/results.h"
#include "jit/schedule/timeline.h"
#include "runtime/error.h"
#include "runtime/processor.h"
#include "runtime/size.h"

namespace ct::jit {
namespace {

using loop::BlockId;
using loop::BufferId;
using loop::BufferKind;
using loop::Program;
using loop::Statement;
using loop::StatementKind;

constexpr int64_t kAlignment = kProcessor.line;
// Sizes are often powers of two. Arrays that one loop goes through together, each at the same place of a page, compete
// for the same few lines of the caches, and a store delays loads from the same place of other pages: large pieces are
// made longer by this many bytes, so that those after each other begin at different places.
constexpr int64_t kLarge = 4096;
constexpr int64_t kStagger = 5 * kAlignment;

// ---- renaming -------------------------------------------------------------------------------------------------------

// name(buffer) in place of each.
template <class Name>
void rename(Program& program, Name&& name) {
  const auto change = [&](BufferId& id) { id = name(id); };
  for (loop::Block& block : program.blocks) {
    for (Statement& s : block.statements) {
      if (s.kind == StatementKind::kLoad || s.kind == StatementKind::kStore || s.kind == StatementKind::kSwap) {
        change(s.buffer);
        change(s.other);
      }
    }
  }
  for (loop::Gemm& gemm : program.gemms) {
    change(gemm.a.buffer);
    change(gemm.b.buffer);
    change(gemm.c.buffer);
  }
  for (loop::MemoryRange& range : program.ranges) {
    change(range.destination);
    change(range.source);
  }
  for (loop::HostCall& call : program.host_calls) {
    for (loop::HostCall::Array& array : call.inputs) change(array.buffer);
    for (loop::HostCall::Array& array : call.outputs) change(array.buffer);
  }
}

void erase(Program& program, BlockId block, size_t statement) {
  auto& statements = program.blocks[block].statements;
  statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(statement));
}

std::vector<bool> swapped_buffers(const Program& program) {
  std::vector<bool> swapped(program.buffers.size(), false);
  for (const loop::Block& block : program.blocks) {
    for (const Statement& s : block.statements) {
      if (s.kind == StatementKind::kSwap) swapped[s.buffer] = swapped[s.other] = true;
    }
  }
  return swapped;
}

// Blocks in whose place passes have put others say nothing about the program any more.
void clear_old_blocks(Program& program) {
  std::vector<bool> runs(program.blocks.size(), false);
  const auto mark = [&](auto&& self, BlockId block) -> void {
    runs[block] = true;
    for (const Statement& s : program.blocks[block].statements) {
      loop::visit_blocks_of(program, s, [&](BlockId inner) { self(self, inner); });
    }
  };
  mark(mark, 0);
  for (BlockId block = 0; block < program.blocks.size(); ++block) {
    if (!runs[block]) program.blocks[block].statements.clear();
  }
}

}  // namespace

void remove_swaps(Program& program) {
  clear_old_blocks(program);
  std::vector<int> swaps(program.buffers.size(), 0);
  for (const loop::Block& block : program.blocks) {
    for (const Statement& s : block.statements) {
      if (s.kind != StatementKind::kSwap) continue;
      ++swaps[s.buffer];
      ++swaps[s.other];
    }
  }
  for (BlockId block = 0; block < program.blocks.size(); ++block) {
    for (size_t i = 0; i < program.blocks[block].statements.size(); ++i) {
      const Statement s = program.blocks[block].statements[i];
      if (s.kind != StatementKind::kSwap || swaps[s.buffer] != 1 || swaps[s.other] != 1) continue;
      if (!can_overwrite(program, block, s.buffer, s.other)) continue;
      erase(program, block, i--);
      rename(program, [&](BufferId id) { return id == s.other ? s.buffer : id; });
    }
  }
}

namespace {

// Stores to temporaries that nothing reads: results of folds that only their own nest uses.
void remove_dead_stores(Program& program) {
  std::vector<bool> needed(program.buffers.size());
  for (BufferId id = 0; id < program.buffers.size(); ++id) needed[id] = !is_temporary(program, id);
  for (const loop::Block& block : program.blocks) {
    for (const Statement& s : block.statements) {
      loop::visit_buffers(program, s, [&](BufferId id, bool is_write) {
        if (!is_write || s.kind != StatementKind::kStore) needed[id] = true;
      });
    }
  }
  for (loop::Block& block : program.blocks) {
    std::erase_if(block.statements,
                  [&](const Statement& s) { return s.kind == StatementKind::kStore && !needed[s.buffer]; });
  }
}

bool touches(const Program& program, const Statement& s, BufferId buffer) {
  bool found = false;
  loop::visit_buffers(program, s, [&](BufferId id, bool) { found |= id == buffer; });
  loop::visit_blocks_of(program, s, [&](BlockId block) {
    const std::vector<Statement>& statements = program.blocks[block].statements;
    found =
        found || std::ranges::any_of(statements, [&](const Statement& each) { return touches(program, each, buffer); });
  });
  return found;
}

// Copies that are changed and copied back, while nobody looks at what they were made of: that is changed itself.
// Several updates of a carried buffer, the one after the other, are such a copy.
void remove_round_trips(Program& program) {
  const std::vector<bool> swapped = swapped_buffers(program);
  const auto is_candidate = [&](const Statement& s) {
    if (s.kind != StatementKind::kCopy) return false;
    const loop::MemoryRange& range = program.ranges[s.detail];
    const BufferKind source = program.buffers[range.source].kind;
    return range.source != range.destination && (source == BufferKind::kTemporary || source == BufferKind::kOutput) &&
           is_temporary(program, range.destination) && !swapped[range.source] && !swapped[range.destination] &&
           copies_whole(program, s, range.source, range.destination);
  };
  // From the statement on that copies: the one that copies back, or the end.
  const auto way_back = [&](Timeline& timeline, BlockId block, size_t from) {
    const std::vector<Statement>& statements = program.blocks[block].statements;
    const loop::MemoryRange& there = program.ranges[statements[from].detail];
    const Interval life = timeline.lifetime(there.destination);
    if (life.block != block || timeline.statement_at(block, life.first).statement != &statements[from]) {
      return statements.size();
    }
    for (size_t i = from + 1; i < statements.size(); ++i) {
      if (!touches(program, statements[i], there.source)) continue;
      const bool is_last = timeline.statement_at(block, life.last).statement == &statements[i];
      return is_last && copies_whole(program, statements[i], there.destination, there.source) ? i : statements.size();
    }
    return statements.size();
  };
  std::optional<Timeline> timeline;
  for (BlockId block = 0; block < program.blocks.size(); ++block) {
    for (size_t i = 0; i < program.blocks[block].statements.size(); ++i) {
      if (!is_candidate(program.blocks[block].statements[i])) continue;
      if (!timeline) timeline.emplace(program);
      const size_t back = way_back(*timeline, block, i);
      if (back == program.blocks[block].statements.size()) continue;
      const loop::MemoryRange there = program.ranges[program.blocks[block].statements[i].detail];
      erase(program, block, back);
      erase(program, block, i--);
      rename(program, [&](BufferId id) { return id == there.destination ? there.source : id; });
      timeline.reset();
    }
  }
}

// Copies from a buffer that is dead afterwards to one that was not alive before: they are one buffer. What is copied or
// renamed does not move in time, so the timeline stays good.
void remove_copies(Program& program) {
  Timeline timeline(program);
  const std::vector<bool> swapped = swapped_buffers(program);
  std::vector<BufferId> names(program.buffers.size());
  std::iota(names.begin(), names.end(), 0u);
  const auto name = [&](BufferId id) {
    while (names[id] != id) id = names[id] = names[names[id]];
    return id;
  };
  const auto is_needless = [&](BlockId block, const Statement& s) {
    if (s.kind != StatementKind::kCopy) return false;
    const loop::MemoryRange& range = program.ranges[s.detail];
    if (!copies_whole(program, s, range.source, range.destination)) return false;
    const BufferId from = name(range.source), to = name(range.destination);
    if (from == to) return true;
    if (!is_temporary(program, from) || swapped[from]) return false;
    const Interval source = timeline.lifetime(from), destination = timeline.lifetime(to);
    if (source.block != block || destination.block != block || source.last != destination.first) return false;
    timeline.join(from, to);
    names[from] = to;
    return true;
  };
  for (BlockId block = 0; block < program.blocks.size(); ++block) {
    std::vector<Statement>& statements = program.blocks[block].statements;
    // One after the other: each may make later ones needless.
    size_t kept = 0;
    for (size_t i = 0; i < statements.size(); ++i) {
      if (is_needless(block, statements[i])) continue;
      if (kept != i) statements[kept] = std::move(statements[i]);
      ++kept;
    }
    statements.resize(kept);
  }
  rename(program, name);
}

// ---- the arena ------------------------------------------------------------------------------------------------------

// In the order in which they come alive.
std::vector<ArenaPiece> pieces_of(Program& program, Timeline& timeline) {
  std::vector<ArenaPiece> pieces;
  for (BufferId id = 0; id < program.buffers.size(); ++id) {
    loop::Buffer& buffer = program.buffers[id];
    if (buffer.kind != BufferKind::kTemporary) continue;
    if (!timeline.lifetime(id).used()) {
      buffer.elements = 0;  // renamed or never needed
      continue;
    }
    const int64_t exact = checked_multiply(buffer.elements, dtype_size(buffer.dtype), "an intermediate result");
    const int64_t bytes = checked_add(exact, kAlignment - 1, "an intermediate result") / kAlignment * kAlignment;
    pieces.push_back({id, timeline.lifetime(id), bytes < kLarge ? bytes : bytes + kStagger});
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const ArenaPiece& a, const ArenaPiece& b) { return a.lifetime.first < b.lifetime.first; });
  return pieces;
}

// Pieces of which one nest reads the last of one and writes the first of the other share a place.
std::vector<ArenaPlace> share_places(const Program& program, const Timeline& timeline,
                                     std::vector<ArenaPiece>& pieces) {
  const std::vector<bool> swapped = swapped_buffers(program);
  std::vector<ArenaPlace> places;
  std::multimap<int, size_t> alive;  // by the end of their lifetimes, in `pieces`
  for (size_t p = 0; p < pieces.size(); ++p) {
    ArenaPiece& piece = pieces[p];
    alive.erase(alive.begin(), alive.lower_bound(piece.lifetime.first));
    const Timeline::Moment moment = timeline.statement_at(piece.lifetime.block, piece.lifetime.first);
    auto in_place = alive.end();
    for (auto at = alive.begin(); at != alive.end() && at->first <= moment.last && !swapped[piece.buffer]; ++at) {
      const ArenaPiece& other = pieces[at->second];
      if (other.bytes == piece.bytes && other.lifetime.block == piece.lifetime.block && !swapped[other.buffer] &&
          other.lifetime.first < piece.lifetime.first && other.shared_until < piece.lifetime.first &&
          same_layout(program, other.buffer, piece.buffer) &&
          updates_in_place(program, *moment.statement, other.buffer, piece.buffer)) {
        in_place = at;
        break;
      }
    }
    if (in_place == alive.end()) {
      piece.place = places.size();
      places.push_back({piece.lifetime.first, piece.lifetime.last, piece.bytes});
    } else {
      piece.place = pieces[in_place->second].place;
      piece.shared_until = in_place->first;
      places[piece.place].last = std::max(piece.lifetime.last, in_place->first);
      alive.erase(in_place);
    }
    alive.emplace(places[piece.place].last, p);
  }
  return places;
}

void assign_offsets(Program& program, const Donated* donated) {
  Timeline timeline(program);
  std::vector<ArenaPiece> pieces = pieces_of(program, timeline);
  std::vector<ArenaPlace> places = share_places(program, timeline, pieces);
  if (donated != nullptr) keep_in_results(program, timeline, donations(program, *donated), pieces, places);
  program.arena_bytes = lay_out(places);
  for (const ArenaPiece& piece : pieces) program.buffers[piece.buffer].position = places[piece.place].offset;
}

// Copies that are left and long become loops: threads share these, and what they write goes past the cache.
void make_loops_of_long_copies(Program& program) {
  constexpr int64_t kLong = 1 << 18;  // bytes
  for (BlockId block = 0, blocks = static_cast<BlockId>(program.blocks.size()); block < blocks; ++block) {
    for (size_t i = 0; i < program.blocks[block].statements.size(); ++i) {
      const Statement copy = program.blocks[block].statements[i];
      if (copy.kind != StatementKind::kCopy) continue;
      const loop::MemoryRange range = program.ranges[copy.detail];
      const DType dtype = program.buffers[range.source].dtype;
      if (!range.count.is_constant() || range.count.constant() * dtype_size(dtype) < kLong) continue;
      const int64_t parts = is_complex(dtype) ? 2 : 1;
      const BlockId made = loop::new_block(program);
      const loop::NewLoop loop =
          loop::append_for(program, made, range.count.constant() * parts, {.vectorize = true, .parallel = true});
      const auto at = [&](const loop::Index& offset) { return offset * parts + loop::Index::of(loop.variable); };
      const loop::Value element = loop::append_load(program, loop.body, range.source, at(range.source_offset));
      loop::append_store(program, loop.body, range.destination, at(range.destination_offset), element);
      program.blocks[block].statements[i] = std::move(program.blocks[made].statements.back());
      program.blocks[block].statements[i].group = copy.group;
    }
  }
}

}  // namespace

void assign_buffers(Program& program, const Donated* donated) {
  clear_old_blocks(program);
  remove_dead_stores(program);
  remove_swaps(program);
  remove_copies(program);
  remove_round_trips(program);
  assign_offsets(program, donated);
  make_loops_of_long_copies(program);
}

std::vector<int> donations(const Program& program, const Donated& donated) {
  std::vector<BufferId> inputs, outputs;
  for (BufferId id = 0; id < program.buffers.size(); ++id) {
    if (program.buffers[id].kind == BufferKind::kInput) inputs.push_back(id);
    if (program.buffers[id].kind == BufferKind::kOutput) outputs.push_back(id);
  }
  std::vector<int> result(outputs.size(), -1);
  std::vector<bool> taken(inputs.size(), false);
  for (size_t o = 0; o < outputs.size(); ++o) {
    const loop::Buffer& output = program.buffers[outputs[o]];
    for (size_t i = 0; i < inputs.size() && result[o] < 0; ++i) {
      const loop::Buffer& input = program.buffers[inputs[i]];
      if (!donated.may_give(i, o) || taken[i] || input.dtype != output.dtype || input.elements != output.elements ||
          !can_overwrite(program, 0, inputs[i], outputs[o])) {
        continue;
      }
      result[o] = static_cast<int>(i);
      taken[i] = true;
    }
  }
  return result;
}

}  // namespace ct::jit
