#include "jit/schedule/in_place.h"

#include <algorithm>
#include <vector>

#include "jit/loop/visit.h"

namespace ct::jit {

using loop::BlockId;
using loop::BufferId;
using loop::Program;
using loop::Statement;
using loop::StatementKind;

namespace {

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

}  // namespace

bool updates_in_place(const Program& program, const Statement& statement, BufferId from, BufferId to) {
  return ElementwiseUpdate(program, statement, from, to).safe();
}

bool same_layout(const Program& program, BufferId a, BufferId b) {
  const DType x = program.buffers[a].dtype, y = program.buffers[b].dtype;
  return dtype_size(x) == dtype_size(y) && is_complex(x) == is_complex(y);
}

bool copies_whole(const Program& program, const Statement& s, BufferId from, BufferId to) {
  if (s.kind != StatementKind::kCopy) return false;
  const loop::MemoryRange& range = program.ranges[s.detail];
  return range.source == from && range.destination == to && range.source_offset == loop::Index(0) &&
         range.destination_offset == loop::Index(0) && program.buffers[from].elements == program.buffers[to].elements &&
         range.count == loop::Index(program.buffers[to].elements);
}

namespace {

// What `can_overwrite` says of the statements of a block, of which some may stand behind one that wrote `to`.
bool can_overwrite(const Program& program, BlockId block, BufferId from, BufferId to, bool& written) {
  for (const Statement& s : program.blocks[block].statements) {
    if (!written && copies_whole(program, s, from, to)) continue;
    if (s.kind == StatementKind::kIf) {  // each branch for itself
      const bool before = written;
      bool in_either = written;
      bool safe = true;
      loop::visit_blocks_of(program, s, [&](BlockId branch) {
        bool in_this = before;
        safe = safe && can_overwrite(program, branch, from, to, in_this);
        in_either = in_either || in_this;
      });
      if (!safe) return false;
      written = in_either;
      continue;
    }
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

}  // namespace

bool can_overwrite(const Program& program, BlockId block, BufferId from, BufferId to) {
  bool written = false;
  return same_layout(program, from, to) && can_overwrite(program, block, from, to, written);
}

}  // namespace ct::jit
