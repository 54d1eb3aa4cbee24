#include "jit/schedule/results.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "jit/loop/visit.h"
#include "jit/schedule/in_place.h"
#include "runtime/processor.h"

namespace ct::jit {
namespace {

using loop::BufferId;
using loop::BufferKind;
using loop::Program;
using loop::Statement;
using loop::StatementKind;

// What is smaller had better stay in the arena, which is in the cache.
constexpr int64_t kLeastKept = 1 << 16;
constexpr size_t kMostTries = 1 << 20;  // of a place beside another one

struct Result {
  BufferId buffer;
  int64_t bytes;
  Timeline::Moment written;  // the first statement that touches it
  int free_until;            // when that begins
  bool past_caches;          // it is stored so, as long as nothing else is in it
  struct Kept {
    int first, last;
    int64_t begin, end;
  };
  std::vector<Kept> kept{};
};

// Buffers with elements that are single numbers, and that keep their memory.
std::vector<bool> movable(const Program& program) {
  std::vector<bool> result(program.buffers.size());
  for (BufferId id = 0; id < program.buffers.size(); ++id) {
    const DType dtype = program.buffers[id].dtype;
    result[id] = !is_complex(dtype) && dtype != DType::kKey;
  }
  for (const loop::Block& block : program.blocks) {
    for (const Statement& s : block.statements) {
      if (s.kind == StatementKind::kSwap) result[s.buffer] = result[s.other] = false;
    }
  }
  return result;
}

class Keeper {
 public:
  Keeper(Program& program, Timeline& timeline, const std::vector<int>& donations, const std::vector<ArenaPiece>& pieces,
         const std::vector<ArenaPlace>& places)
      : program_(program),
        pieces_(pieces),
        places_(places),
        movable_(movable(program)),
        moves_(program.buffers.size()) {
    std::vector<bool> stored(program.buffers.size(), false);
    for (const loop::Block& block : program.blocks) {
      for (const Statement& s : block.statements) {
        if (s.kind == StatementKind::kStore) stored[s.buffer] = true;
      }
    }
    size_t number = 0;
    for (BufferId id = 0; id < program.buffers.size(); ++id) {
      if (program.buffers[id].kind != BufferKind::kOutput) continue;
      const bool is_donated = donations[number++] >= 0;
      const Interval lifetime = timeline.outer_lifetime(id);
      const int64_t bytes = bytes_of(program, id);
      if (is_donated || !movable_[id] || bytes < kLeastKept || !lifetime.used()) continue;
      results_.push_back({id, bytes, timeline.statement_at(0, lifetime.first), lifetime.first,
                          stored[id] && bytes >= kProcessor.past_caches});
    }
  }

  // Whether there are results at all, of which something may be kept in one.
  void run() {
    if (results_.empty()) return;
    std::vector<std::vector<size_t>> pieces_of(places_.size());
    for (size_t p = 0; p < pieces_.size(); ++p) pieces_of[pieces_[p].place].push_back(p);
    std::vector<size_t> order(places_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
      const ArenaPlace &x = places_[a], &y = places_[b];
      return x.bytes != y.bytes ? x.bytes > y.bytes : x.last - x.first > y.last - y.first;
    });
    for (const size_t place : order) {
      if (places_[place].bytes < kLeastKept || tries_ > kMostTries) break;
      keep(places_[place], pieces_of[place]);
    }
  }

  bool is_moved(BufferId id) const { return moves_[id].has_value(); }

  void rename() {
    const auto move = [&](BufferId& id, loop::Index& offset) {
      if (id >= moves_.size() || !moves_[id]) return;
      offset += moves_[id]->offset;
      id = moves_[id]->result;
    };
    for (loop::Block& block : program_.blocks) {
      for (Statement& s : block.statements) {
        if (s.kind == StatementKind::kLoad || s.kind == StatementKind::kStore) move(s.buffer, s.index);
      }
    }
    for (loop::Gemm& gemm : program_.gemms) {
      for (loop::Matrix* matrix : {&gemm.a, &gemm.b, &gemm.c}) move(matrix->buffer, matrix->offset);
    }
    for (loop::MemoryRange& range : program_.ranges) {
      move(range.destination, range.destination_offset);
      move(range.source, range.source_offset);
    }
    for (loop::HostCall& call : program_.host_calls) {
      for (auto* arrays : {&call.inputs, &call.outputs}) {
        for (loop::HostCall::Array& array : *arrays) move(array.buffer, array.offset);
      }
    }
    for (BufferId id = 0; id < moves_.size(); ++id) {
      if (moves_[id]) program_.buffers[id].elements = 0;
    }
  }

 private:
  struct Move {
    BufferId result;
    int64_t offset;  // in elements
  };

  void keep(const ArenaPlace& place, const std::vector<size_t>& pieces) {
    int64_t bytes = 0;
    for (const size_t p : pieces) bytes = std::max(bytes, bytes_of(program_, pieces_[p].buffer));
    Result* best = nullptr;
    int64_t offset = 0;
    for (Result& result : results_) {
      if (best != nullptr && best->bytes <= result.bytes) continue;
      const bool is_alike = std::ranges::all_of(pieces, [&](size_t p) {
        const BufferId id = pieces_[p].buffer;
        return movable_[id] && program_.buffers[id].dtype == program_.buffers[result.buffer].dtype;
      });
      if (!is_alike || bytes > result.bytes) continue;
      if (place.last >= result.free_until) {
        if (!becomes(place, pieces, result)) continue;
        best = &result;
        offset = 0;
        break;
      }
      if (result.past_caches) continue;
      if (const auto free = free_place(place, bytes, result)) {
        best = &result;
        offset = *free;
      }
    }
    if (best == nullptr) return;
    best->kept.push_back({place.first, place.last, offset, offset + bytes});
    for (const size_t p : pieces) {
      const BufferId id = pieces_[p].buffer;
      moves_[id] = {best->buffer, offset / dtype_size(program_.buffers[id].dtype)};
    }
  }

  // Whether the result is made of the last of these pieces, element by element.
  bool becomes(const ArenaPlace& place, const std::vector<size_t>& pieces, const Result& result) {
    if (place.first >= result.free_until || place.last > result.written.last) return false;
    const ArenaPiece& last =
        pieces_[*std::ranges::max_element(pieces, {}, [&](size_t p) { return pieces_[p].lifetime.last; })];
    if (last.lifetime.first >= result.free_until || bytes_of(program_, last.buffer) != result.bytes) return false;
    for (const size_t p : pieces) {
      if (pieces_[p].buffer != last.buffer && pieces_[p].lifetime.last >= result.free_until) return false;
    }
    return free_place(place, result.bytes, result) &&
           updates_in_place(program_, *result.written.statement, last.buffer, result.buffer);
  }

  // The lowest place that nothing has at this time.
  std::optional<int64_t> free_place(const ArenaPlace& place, int64_t bytes, const Result& result) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    tries_ += result.kept.size() + 1;
    for (const Result::Kept& kept : result.kept) {
      if (kept.first <= place.last && place.first <= kept.last) taken.emplace_back(kept.begin, kept.end);
    }
    std::ranges::sort(taken);
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - offset >= bytes) break;
      offset = std::max(offset, (end + kProcessor.line - 1) / kProcessor.line * kProcessor.line);
    }
    if (offset + bytes > result.bytes) return std::nullopt;
    return offset;
  }

  Program& program_;
  const std::vector<ArenaPiece>& pieces_;
  const std::vector<ArenaPlace>& places_;
  std::vector<bool> movable_;
  std::vector<std::optional<Move>> moves_;  // by buffer
  std::vector<Result> results_;
  size_t tries_ = 0;
};

}  // namespace

void keep_in_results(Program& program, Timeline& timeline, const std::vector<int>& donations,
                     std::vector<ArenaPiece>& pieces, std::vector<ArenaPlace>& places) {
  Keeper keeper(program, timeline, donations, pieces, places);
  keeper.run();
  keeper.rename();
  std::erase_if(pieces, [&](const ArenaPiece& piece) {
    if (!keeper.is_moved(piece.buffer)) return false;
    places[piece.place].bytes = 0;
    return true;
  });
}

}  // namespace ct::jit
