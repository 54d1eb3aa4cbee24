#include "jit/schedule/read_early.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "jit/loop/visit.h"

namespace ct::jit {
namespace {

using loop::BufferId;
using loop::BufferKind;
using loop::Program;
using loop::Statement;
using loop::StatementKind;

// How far a statement may go: programs of thousands of loops are compiled in time that grows with their size only.
constexpr size_t kMostSteps = 64;

// What a statement touches, with the blocks inside it.
struct Uses {
  absl::flat_hash_set<BufferId> reads, writes;
  absl::flat_hash_set<loop::Value> values;
  bool fixed = false;  // what it does is seen from outside, or it says which memory buffers are
};

void add_uses(const Program& program, const Statement& s, Uses& uses) {
  loop::visit_inputs(program, s, [&](loop::Value value) { uses.values.insert(value); });
  loop::visit_yields(program, s, [&](loop::Value value) { uses.values.insert(value); });
  loop::visit_buffers(program, s,
                      [&](BufferId id, bool is_write) { (is_write ? uses.writes : uses.reads).insert(id); });
  if (s.kind == StatementKind::kHostCall || s.kind == StatementKind::kSwap) uses.fixed = true;
  loop::visit_blocks_of(program, s, [&](loop::BlockId block) {
    for (const Statement& inner : program.blocks[block].statements) add_uses(program, inner, uses);
  });
}

class LastReads {
 public:
  explicit LastReads(Program& program) : program_(program), statements_(program.blocks[0].statements) {
    for (size_t i = 0; i < statements_.size(); ++i) {
      uses_.emplace_back();
      add_uses(program, statements_[i], uses_.back());
      for (const auto* buffers : {&uses_.back().reads, &uses_.back().writes}) {
        for (const BufferId id : *buffers) last_[id] = i;
      }
    }
  }

  void run() {
    for (size_t i = 1; i < statements_.size(); ++i) {
      if (!may_go(i)) continue;
      size_t place = i;
      while (place > 0 && i - place < kMostSteps && !needs(i, place - 1)) --place;
      const auto up = [&](auto& all) {
        const auto at = [&](size_t k) { return all.begin() + static_cast<ptrdiff_t>(k); };
        std::rotate(at(place), at(i), at(i + 1));
      };
      up(statements_);
      up(uses_);
    }
  }

 private:
  bool is_temporary(BufferId id) const { return program_.buffers[id].kind == BufferKind::kTemporary; }

  bool may_go(size_t i) const {
    const StatementKind kind = statements_[i].kind;
    if ((kind != StatementKind::kFor && kind != StatementKind::kGemm) || uses_[i].fixed) return false;
    if (std::ranges::any_of(uses_[i].writes, [&](BufferId id) { return is_temporary(id); })) return false;
    return std::ranges::any_of(uses_[i].reads,
                               [&](BufferId id) { return is_temporary(id) && last_.find(id)->second == i; });
  }

  // Whether statement `i` has to stay behind the other one.
  bool needs(size_t i, size_t other) const {
    const Uses &mine = uses_[i], &its = uses_[other];
    if (its.fixed) return true;
    const auto written = [&](BufferId id) { return mine.writes.contains(id); };
    if (std::ranges::any_of(its.writes, [&](BufferId id) { return mine.reads.contains(id) || written(id); }))
      return true;
    for (const BufferId id : its.reads) {
      if (written(id) || (program_.buffers[id].kind == BufferKind::kInput && may_become(i, id))) return true;
    }
    bool defines = false;
    loop::visit_results(program_, statements_[other],
                        [&](loop::Value value) { defines = defines || mine.values.contains(value); });
    return defines;
  }

  // A donated input becomes the memory of an output like it, if nobody reads it after the output is written.
  bool may_become(size_t i, BufferId input) const {
    const loop::Buffer& from = program_.buffers[input];
    return std::ranges::any_of(uses_[i].writes, [&](BufferId id) {
      const loop::Buffer& to = program_.buffers[id];
      return to.kind == BufferKind::kOutput && to.dtype == from.dtype && to.elements == from.elements;
    });
  }

  Program& program_;
  std::vector<Statement>& statements_;
  std::vector<Uses> uses_;
  absl::flat_hash_map<BufferId, size_t> last_;  // the statement that is the last to touch it
};

}  // namespace

void read_early(Program& program) { LastReads(program).run(); }

}  // namespace ct::jit
