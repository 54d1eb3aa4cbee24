#include "jit/schedule/buffers.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "jit/loop/clone.h"
#include "jit/loop/visit.h"
#include "jit/schedule/arena.h"
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

// Where the statements of a program are, in the order of the text. A lifetime is a stretch of one block: the innermost
// that contains all uses. Uses in a loop's body only are a lifetime within one iteration, as whatever is not carried
// is written before it is read; but iterations of a parallel loop may run at once, so there it is the whole loop.
struct Interval {
  BlockId block = loop::kNoBlock;
  int first = 0, last = 0;
  bool used() const { return block != loop::kNoBlock; }
};

class Timeline {
 public:
  explicit Timeline(const Program& program)
      : program_(program),
        blocks_(program.blocks.size()),
        lifetimes_(program.buffers.size()),
        group_(program.buffers.size()) {
    std::iota(group_.begin(), group_.end(), 0u);
    number(0, 0);
    now_ = 0;
    collect(0, {});
    for (BufferId id = 0; id < program.buffers.size(); ++id) {
      const BufferId root = find(id);
      if (root != id && lifetimes_[id].used()) merge(lifetimes_[root], lifetimes_[id]);
    }
  }

  // The statement of `block` that is under way at this time.
  struct Moment {
    const Statement* statement;
    int last;
  };
  Moment statement_at(BlockId block, int time) const {
    const std::vector<int>& starts = blocks_[block].starts;
    const auto after = std::upper_bound(starts.begin(), starts.end(), time);
    CT_CHECK(after != starts.begin());
    return {&program_.blocks[block].statements[static_cast<size_t>(after - starts.begin()) - 1],
            after == starts.end() ? blocks_[block].end : *after - 1};
  }

  const Interval& lifetime(BufferId id) { return lifetimes_[find(id)]; }
  // They become one buffer.
  void join(BufferId from, BufferId to) {
    const BufferId root = find(to), other = find(from);
    if (root == other) return;
    merge(lifetimes_[root], lifetimes_[other]);
    group_[other] = root;
  }
  // One number for all buffers that swaps connect, or that have become one.
  BufferId find(BufferId id) {
    while (group_[id] != id) id = group_[id] = group_[group_[id]];
    return id;
  }

 private:
  struct Block {
    BlockId parent = loop::kNoBlock;
    int depth = 0;
    int first = 0, last = 0;  // of the statement that it belongs to
    std::vector<int> starts;  // of its own statements
    int end = 0;              // of the last of them
  };

  // A statement's time is taken on entry, and once more after the blocks inside it.
  void number(BlockId block, int depth) {
    blocks_[block].depth = depth;
    for (const Statement& s : program_.blocks[block].statements) {
      const int first = ++now_;
      blocks_[block].starts.push_back(first);
      bool is_leaf = true;
      loop::visit_blocks_of(program_, s, [&](BlockId id) {
        is_leaf = false;
        number(id, depth + 1);
      });
      const int last = is_leaf ? first : ++now_;
      blocks_[block].end = last;
      loop::visit_blocks_of(program_, s, [&](BlockId id) {
        blocks_[id].parent = block;
        blocks_[id].first = first;
        blocks_[id].last = last;
      });
    }
  }

  // `parallel` is the outermost parallel loop around the block.
  void collect(BlockId block, const Interval& parallel) {
    for (const Statement& s : program_.blocks[block].statements) {
      const int now = ++now_;
      const Interval here = parallel.used() ? parallel : Interval{block, now, now};
      loop::visit_buffers(program_, s, [&](BufferId id, bool) { merge(lifetimes_[id], here); });
      if (s.kind == StatementKind::kSwap) group_[find(s.other)] = find(s.buffer);
      bool is_leaf = true;
      loop::visit_blocks_of(program_, s, [&](BlockId id) {
        is_leaf = false;
        const bool is_parallel = s.kind == StatementKind::kFor && program_.fors[s.detail].options.parallel;
        collect(id, is_parallel && !parallel.used() ? Interval{block, blocks_[id].first, blocks_[id].last} : parallel);
      });
      if (!is_leaf) ++now_;
    }
  }

  void climb(Interval& interval) const {
    const Block& block = blocks_[interval.block];
    interval = {block.parent, block.first, block.last};
  }

  void merge(Interval& into, Interval other) const {
    if (!into.used()) {
      into = other;
      return;
    }
    while (into.block != other.block) {
      climb(blocks_[into.block].depth >= blocks_[other.block].depth ? into : other);
    }
    into.first = std::min(into.first, other.first);
    into.last = std::max(into.last, other.last);
  }

  const Program& program_;
  std::vector<Block> blocks_;
  std::vector<Interval> lifetimes_;
  std::vector<BufferId> group_;
  int now_ = 0;
};

// ---- updating in place ---------------------------------------------------------------------------------------------

// The accesses to two buffers inside one statement, in the order of the text.
class ElementwiseUpdate {
 public:
  ElementwiseUpdate(const Program& program, const Statement& statement, BufferId from, BufferId to)
      : program_(program), from_(from), to_(to) {
    visit(statement);
  }

  // Every element of `to` is written after all reads of that element of `from`, and nothing reads elements of `from`
  // that another iteration writes.
  bool safe() const {
    if (!simple_ || stores_.empty()) return false;
    const loop::Index& target = stores_.front().index;
    for (const Access& store : stores_) {
      if (!(store.index == target)) return false;
    }
    for (const Access& read : loads_) {
      if (!(read.index == target) || read.order > stores_.front().order) return false;
      if (!distinct(target, read, stores_.front())) return false;
    }
    return true;
  }

 private:
  struct Access {
    loop::Index index;  // of whole elements
    int order;
    std::vector<const loop::For*> loops;
  };

  void visit(const Statement& s) {
    ++order_;
    switch (s.kind) {
      case StatementKind::kLoad:
        if (s.buffer == from_) loads_.push_back({element_index(s), order_, loops_});
        simple_ = simple_ && s.buffer != to_;
        return;
      case StatementKind::kStore:
        if (s.buffer == to_) stores_.push_back({element_index(s), order_, loops_});
        simple_ = simple_ && s.buffer != from_;
        return;
      case StatementKind::kFor:
        loops_.push_back(&program_.fors[s.detail]);
        break;
      case StatementKind::kWhile:
        simple_ = false;
        return;
      default:
        loop::visit_buffers(program_, s, [&](BufferId id, bool) { simple_ = simple_ && id != from_ && id != to_; });
    }
    loop::visit_blocks_of(program_, s, [&](BlockId block) {
      for (const Statement& inner : program_.blocks[block].statements) visit(inner);
    });
    if (s.kind == StatementKind::kFor) loops_.pop_back();
  }

  // The parts of a complex number are one element: what differs between them is 0 or 1 at the end of an even index.
  loop::Index element_index(const Statement& s) {
    if (!is_complex(program_.buffers[s.buffer].dtype)) return s.index;
    return s.index - (s.index.constant() & 1);
  }

  // Different iterations of the loops around both accesses are about different elements.
  bool distinct(const loop::Index& index, const Access& a, const Access& b) const {
    struct Stride {
      int64_t size, extent;
    };
    std::vector<Stride> strides;
    for (size_t i = 0; i < std::min(a.loops.size(), b.loops.size()) && a.loops[i] == b.loops[i]; ++i) {
      const loop::For& loop = *a.loops[i];
      if (!loop.extent.is_constant()) return false;
      if (loop.extent.constant() <= 1) continue;
      strides.push_back({std::abs(index.coefficient_of(loop.variable)), loop.extent.constant()});
    }
    // Other terms must be the same in all iterations, which values from outside of the statement are; anything computed
    // inside is not known to be.
    for (const loop::Index::Term& term : index.terms()) {
      bool is_loop = false;
      for (const loop::For* loop : a.loops) is_loop = is_loop || loop->variable == term.value;
      if (!is_loop && !a.loops.empty() && term.value > a.loops.front()->variable) return false;
    }
    std::sort(strides.begin(), strides.end(), [](const Stride& x, const Stride& y) { return x.size < y.size; });
    int64_t reach = 1;
    for (const Stride& stride : strides) {
      if (stride.size < reach) return false;
      reach = stride.size * stride.extent;
    }
    return true;
  }

  const Program& program_;
  BufferId from_, to_;
  std::vector<Access> loads_, stores_;
  std::vector<const loop::For*> loops_;
  int order_ = 0;
  bool simple_ = true;
};

bool same_layout(const Program& program, BufferId a, BufferId b) {
  const DType x = program.buffers[a].dtype, y = program.buffers[b].dtype;
  return dtype_size(x) == dtype_size(y) && is_complex(x) == is_complex(y);
}

// The copy of all of one buffer to another of its size.
bool copies_whole(const Program& program, const Statement& s, BufferId from, BufferId to) {
  if (s.kind != StatementKind::kCopy) return false;
  const loop::MemoryRange& range = program.ranges[s.detail];
  return range.source == from && range.destination == to && range.source_offset == loop::Index(0) &&
         range.destination_offset == loop::Index(0) && program.buffers[from].elements == program.buffers[to].elements &&
         range.count == loop::Index(program.buffers[to].elements);
}

// Whether `to` may lie where `from` does, as far as the statements of `block` go: nothing in it reads an element of
// `from` once that element of `to` is written, but by copying it whole.
bool can_overwrite(const Program& program, BlockId block, BufferId from, BufferId to) {
  if (!same_layout(program, from, to)) return false;
  bool written = false;
  for (const Statement& s : program.blocks[block].statements) {
    if (!written && copies_whole(program, s, from, to)) continue;
    bool reads = false, writes = false;
    auto look = [&](const Statement& at) {
      if (at.kind == StatementKind::kSwap) return;
      loop::visit_buffers(program, at, [&](BufferId id, bool) {
        reads = reads || id == from;
        writes = writes || id == to;
      });
    };
    look(s);
    loop::visit_blocks_of(program, s, [&](BlockId inner) { loop::visit_statements(program, inner, look); });
    if (reads && written) return false;
    if (reads && writes && !ElementwiseUpdate(program, s, from, to).safe()) return false;
    written = written || writes;
  }
  return true;
}

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

bool is_temporary(const Program& program, BufferId id) { return program.buffers[id].kind == BufferKind::kTemporary; }

std::vector<bool> swapped_buffers(const Program& program) {
  std::vector<bool> swapped(program.buffers.size(), false);
  for (const loop::Block& block : program.blocks) {
    for (const Statement& s : block.statements) {
      if (s.kind == StatementKind::kSwap) swapped[s.buffer] = swapped[s.other] = true;
    }
  }
  return swapped;
}

// Exchanges at the end of a loop's body that the body makes unnecessary.
void remove_swaps(Program& program) {
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

// A buffer, and its memory: that of another which is dead once it is written, or its own.
struct Piece {
  BufferId buffer;
  Interval lifetime;
  int64_t bytes;
  size_t place = 0;
  int shared_until = -1;  // when whatever had this place before is dead
};

// In the order in which they come alive.
std::vector<Piece> pieces_of(Program& program, Timeline& timeline) {
  std::vector<Piece> pieces;
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
                   [](const Piece& a, const Piece& b) { return a.lifetime.first < b.lifetime.first; });
  return pieces;
}

// Pieces of which one nest reads the last of one and writes the first of the other share a place.
std::vector<ArenaPlace> share_places(const Program& program, const Timeline& timeline, std::vector<Piece>& pieces) {
  const std::vector<bool> swapped = swapped_buffers(program);
  std::vector<ArenaPlace> places;
  std::multimap<int, size_t> alive;  // by the end of their lifetimes, in `pieces`
  for (size_t p = 0; p < pieces.size(); ++p) {
    Piece& piece = pieces[p];
    alive.erase(alive.begin(), alive.lower_bound(piece.lifetime.first));
    const Timeline::Moment moment = timeline.statement_at(piece.lifetime.block, piece.lifetime.first);
    auto in_place = alive.end();
    for (auto at = alive.begin(); at != alive.end() && at->first <= moment.last && !swapped[piece.buffer]; ++at) {
      const Piece& other = pieces[at->second];
      if (other.bytes == piece.bytes && other.lifetime.block == piece.lifetime.block && !swapped[other.buffer] &&
          other.lifetime.first < piece.lifetime.first && other.shared_until < piece.lifetime.first &&
          same_layout(program, other.buffer, piece.buffer) &&
          ElementwiseUpdate(program, *moment.statement, other.buffer, piece.buffer).safe()) {
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

void assign_offsets(Program& program) {
  Timeline timeline(program);
  std::vector<Piece> pieces = pieces_of(program, timeline);
  std::vector<ArenaPlace> places = share_places(program, timeline, pieces);
  program.arena_bytes = lay_out(places);
  for (const Piece& piece : pieces) program.buffers[piece.buffer].position = places[piece.place].offset;
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

void assign_buffers(Program& program) {
  remove_dead_stores(program);
  remove_swaps(program);
  remove_copies(program);
  assign_offsets(program);
  make_loops_of_long_copies(program);
}

std::vector<int> donations(const Program& program, const std::vector<bool>& donated) {
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
      if (i >= donated.size() || !donated[i] || taken[i] || input.dtype != output.dtype ||
          input.elements != output.elements || !can_overwrite(program, 0, inputs[i], outputs[o])) {
        continue;
      }
      result[o] = static_cast<int>(i);
      taken[i] = true;
    }
  }
  return result;
}

}  // namespace ct::jit
