#include "jit/schedule/read_before_update.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/loop/visit.h"
#include "jit/schedule/in_place.h"
#include "jit/schedule/uses.h"

namespace ct::jit {
namespace {

using loop::BlockId;
using loop::BufferId;
using loop::Program;
using loop::Statement;
using loop::StatementKind;

// How far behind the update readers are looked for: programs of thousands of loops are compiled in time that grows with
// their size only.
constexpr size_t kFarthestReader = 256;

// Two buffers of which the second one holds what the first one held, changed.
struct Update {
  BufferId from, to;
};

class BlockOrder {
 public:
  BlockOrder(Program& program, BlockId block) : program_(program), statements_(program.blocks[block].statements) {}

  void run() {
    const std::vector<Update> all = updates();
    if (all.empty()) return;
    for (const Statement& s : statements_) add_uses(program_, s, uses_.emplace_back());
    for (size_t i = 0; i < uses_.size(); ++i) {
      for (const BufferId id : uses_[i].writes) first_writer_.emplace(id, i);
    }
    for (const Update& update : all) order(update);
  }

 private:
  std::vector<Update> updates() const {
    std::vector<Update> found;
    for (const Statement& s : statements_) {
      if (s.kind == StatementKind::kSwap) found.push_back({s.buffer, s.other});
      if (s.kind != StatementKind::kCopy) continue;
      const loop::MemoryRange& range = program_.ranges[s.detail];
      if (is_temporary(program_, range.source) && copies_whole(program_, s, range.source, range.destination)) {
        found.push_back({range.source, range.destination});
      }
    }
    return found;
  }

  void order(const Update& update) {
    const auto writer = first_writer_.find(update.to);
    if (writer == first_writer_.end()) return;
    const size_t first = writer->second;
    const size_t end = std::min(first + kFarthestReader, uses_.size());
    std::vector<size_t> readers;
    for (size_t i = first + 1; i < end; ++i) {
      // From here on it is another array.
      if (uses_[i].writes.contains(update.from) || exchanges(statements_[i], update)) break;
      if (uses_[i].reads.contains(update.from)) readers.push_back(i);
    }
    if (readers.empty()) return;

    // What goes up: the readers, and what they need of all that stands between.
    std::vector<bool> goes(readers.back() + 1, false);
    std::vector<size_t> moved;
    int64_t stored = 0;
    for (size_t i = readers.back() + 1; i-- > first;) {
      const auto needs_it = [&](size_t k) { return has_to_follow(program_, uses_[k], statements_[i], uses_[i]); };
      if (!std::ranges::binary_search(readers, i) && std::ranges::none_of(moved, needs_it)) continue;
      if (i == first || uses_[i].fixed) return;
      for (const BufferId id : uses_[i].writes) stored += is_temporary(program_, id) ? bytes_of(program_, id) : 0;
      goes[i] = true;
      moved.push_back(i);
    }
    if (stored >= bytes_of(program_, update.from)) return;
    const auto take = [&](auto& all) {
      std::vector<typename std::decay_t<decltype(all)>::value_type> up, down;
      for (size_t i = first; i < goes.size(); ++i) (goes[i] ? up : down).push_back(std::move(all[i]));
      const auto at = std::ranges::move(up, all.begin() + static_cast<std::ptrdiff_t>(first)).out;
      std::ranges::move(down, at);
    };
    take(statements_);
    take(uses_);
    find_first_writers(first, goes.size());
  }

  // Of what is written in [begin, end), whose statements changed places, and not before.
  void find_first_writers(size_t begin, size_t end) {
    for (size_t i = end; i-- > begin;) {
      for (const BufferId id : uses_[i].writes) {
        size_t& first = first_writer_.at(id);
        if (first >= begin) first = i;
      }
    }
  }

  static bool exchanges(const Statement& s, const Update& update) {
    return s.kind == StatementKind::kSwap && (s.buffer == update.from || s.other == update.from);
  }

  Program& program_;
  std::vector<Statement>& statements_;
  std::vector<Uses> uses_;
  absl::flat_hash_map<BufferId, size_t> first_writer_;  // the first statement that writes it
};

}  // namespace

void read_before_update(Program& program) {
  for (BlockId block = 0; block < program.blocks.size(); ++block) BlockOrder(program, block).run();
}

}  // namespace ct::jit
