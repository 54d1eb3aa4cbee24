#include "jit/schedule/read_early.h"

#include <algorithm>
#include <ranges>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/loop/visit.h"
#include "jit/schedule/uses.h"

namespace ct::jit {
namespace {

using loop::BufferId;
using loop::BufferKind;
using loop::Program;
using loop::Statement;
using loop::StatementKind;

// How far a statement may go: programs of thousands of loops are compiled in time that grows with their size only.
constexpr size_t kMostSteps = 64;
constexpr size_t kMostTogether = 8;

class LastReads {
 public:
  explicit LastReads(Program& program) : program_(program), statements_(program.blocks[0].statements) {
    for (size_t i = 0; i < statements_.size(); ++i) {
      uses_.emplace_back().number = i;
      add_uses(program, statements_[i], uses_.back());
      for_touched(uses_.back(), [&](BufferId id) {
        last_[id] = i;
        ++count_[id];
      });
    }
  }

  void run() {
    for (size_t i = 1; i < statements_.size(); ++i) {
      if (may_go(i)) move_up(i);
    }
  }

 private:
  bool may_go(size_t i) const {
    const StatementKind kind = statements_[i].kind;
    if ((kind != StatementKind::kFor && kind != StatementKind::kGemm) || uses_[i].fixed) return false;
    if (stores(i) && !makes_room(i, i + 1)) return false;
    return std::ranges::any_of(uses_[i].reads,
                               [&](BufferId id) { return is_temporary(program_, id) && last_.find(id)->second == i; });
  }

  // Moves statement `i` up, and with it those right before it that make what only it reads, as well as smaller results:
  // the memory of large ones is of use until they are made. The statements from `begin` to `end` are what moves; the
  // one in front of them goes behind them, or joins them.
  void move_up(size_t i) {
    size_t begin = i, end = i + 1;
    for (size_t steps = 0; begin > 0 && steps < kMostSteps && end - begin <= kMostTogether; ++steps) {
      const size_t other = begin - 1;
      const auto members = std::views::iota(begin, end);
      if (std::ranges::any_of(members, [&](size_t k) { return needs(k, other); })) {
        if (!may_join(begin, end, other)) return;
        --begin;
        continue;
      }
      if (stores(end - 1) && reads_the_same(begin, end, other)) return;
      if (end - begin > 1) {
        if (!makes_room(begin, end)) return;
        const bool is_smaller = makes_results(other) && bytes_written(other) < bytes_written(end - 1);
        if (is_smaller) {
          --begin;
          continue;
        }
        if (reads_what_is_overwritten(begin, end, other)) return;
      }
      const auto up = [&](auto& all) {
        const auto at = [&](size_t k) { return all.begin() + static_cast<ptrdiff_t>(k); };
        std::rotate(at(other), at(begin), at(end));
      };
      up(statements_);
      up(uses_);
      --begin;
      --end;
    }
  }

  // Whether all that statement `other` makes is for these.
  bool may_join(size_t begin, size_t end, size_t other) const {
    const StatementKind kind = statements_[other].kind;
    const Uses& uses = uses_[other];
    if (uses.fixed) return false;
    if (kind != StatementKind::kFor && kind != StatementKind::kGemm && !loop::is_instruction(statements_[other]))
      return false;
    return std::ranges::all_of(uses.writes, [&](BufferId id) {
      const auto touches = [&](size_t k) { return uses_[k].reads.contains(id) || uses_[k].writes.contains(id); };
      return is_temporary(program_, id) &&
             std::ranges::count_if(std::views::iota(begin, end), touches) + 1 == count_.at(id);
    });
  }

  // Whether what these store for each other is no larger than what they are the last to read.
  bool makes_room(size_t begin, size_t end) const {
    int64_t stored = 0, freed = 0;
    for (size_t k = begin; k < end; ++k) {
      for_touched(uses_[k], [&](BufferId id) {
        if (!is_temporary(program_, id)) return;
        const bool is_own = std::ranges::any_of(std::views::iota(begin, end),
                                                [&](size_t member) { return uses_[member].writes.contains(id); });
        if (uses_[k].writes.contains(id)) stored += bytes_of(program_, id);
        if (!is_own && last_.at(id) == uses_[k].number) freed += bytes_of(program_, id);
      });
    }
    return stores(end - 1) ? stored < freed : stored <= freed;
  }

  // Whether it writes temporaries.
  bool stores(size_t i) const {
    return std::ranges::any_of(uses_[i].writes, [&](BufferId id) { return is_temporary(program_, id); });
  }

  // Whether what these are the last to read would live on for the other one.
  bool reads_the_same(size_t begin, size_t end, size_t other) const {
    return std::ranges::any_of(std::views::iota(begin, end), [&](size_t k) {
      return std::ranges::any_of(uses_[k].reads, [&](BufferId id) {
        return is_temporary(program_, id) && last_.at(id) == uses_[k].number && uses_[other].reads.contains(id);
      });
    });
  }

  // Whether the other one reads what one of these may write in place.
  bool reads_what_is_overwritten(size_t begin, size_t end, size_t other) const {
    for (size_t k = begin; k < end; ++k) {
      for (const BufferId made : uses_[k].writes) {
        for (const BufferId read : uses_[k].reads) {
          if (is_temporary(program_, made) && is_temporary(program_, read) &&
              bytes_of(program_, made) == bytes_of(program_, read) && uses_[other].reads.contains(read)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  bool makes_results(size_t i) const {
    return !uses_[i].writes.empty() &&
           std::ranges::none_of(uses_[i].writes, [&](BufferId id) { return is_temporary(program_, id); });
  }

  int64_t bytes_written(size_t i) const {
    int64_t sum = 0;
    for (const BufferId id : uses_[i].writes) sum += bytes_of(program_, id);
    return sum;
  }

  template <class Visit>
  static void for_touched(const Uses& uses, Visit&& visit) {
    for (const BufferId id : uses.reads) visit(id);
    for (const BufferId id : uses.writes) {
      if (!uses.reads.contains(id)) visit(id);
    }
  }

  // Whether statement `i` has to stay behind the other one.
  bool needs(size_t i, size_t other) const {
    if (has_to_follow(program_, uses_[i], statements_[other], uses_[other])) return true;
    return std::ranges::any_of(uses_[other].reads, [&](BufferId id) {
      return program_.buffers[id].kind == BufferKind::kInput && may_become(i, id);
    });
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
  absl::flat_hash_map<BufferId, size_t> last_;    // the statement that is the last to touch it
  absl::flat_hash_map<BufferId, int64_t> count_;  // how many touch it
};

}  // namespace

void read_early(Program& program) { LastReads(program).run(); }

}  // namespace ct::jit
