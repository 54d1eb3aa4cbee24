// As many short rows as fill whole vectors, at once: all that they read is loaded before anything is stored. Vectors of
// what has both rows and columns lie one behind the other; those of what is the same in each row are the same in each
// iteration and stay in registers; and of what is the same along rows each vector repeats elements of one.
//
// Row by row, each would end with a part of a vector. Where results take the place of what is read, what is loaded for
// the next row then overlaps what has just been stored, masked lanes included, and waits until that has left for the
// cache (measured: 7 ns a row, ten times the time of the arithmetic). A last vector that overlaps the one before ends
// with the row, too; what it computes again are the same values from the same elements.
#include "jit/llvm/short_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "jit/llvm/loops.h"
#include "jit/llvm/polls.h"
#include "jit/llvm/streams.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::For;
using loop::Statement;
using loop::StatementKind;

namespace {

// For the elements from `first` on, of `from` those that `of` says.
llvm::Value* picked(CpuEmission& e, llvm::Value* from, int64_t first, unsigned width,
                    llvm::function_ref<int64_t(int64_t)> of) {
  llvm::SmallVector<int, 64> lanes;
  for (unsigned lane = 0; lane < width; ++lane) lanes.push_back(static_cast<int>(of(first + lane)));
  return e.b.CreateShuffleVector(from, lanes);
}

class RowsEmitter {
 public:
  RowsEmitter(CpuEmission& e, const For& loop, const ShortRows& rows)
      : e_(e), loop_(loop), rows_(rows), inner_(*rows.inner), width_(rows.width), count_(inner_.extent.constant()) {
    for (const auto* block : {&e.program.blocks[loop.body], &e.program.blocks[inner_.body]}) {
      for (const Statement& s : block->statements) {
        if (s.kind == StatementKind::kStore) stores_.push_back(&s);
        if (loop::is_instruction(s)) instructions_.push_back(&s);
      }
    }
  }

  llvm::Value* emit(llvm::Value* begin, llvm::Value* end) {
    llvm::Value* whole = end;
    // Pieces of the loop begin and end at multiples of any width, but for its own end.
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(end)) {
      whole = e_.b.getInt64(known->getSExtValue() / rows_.rows * rows_.rows);
    } else if (loop_.extent.constant() % rows_.rows != 0) {
      whole = e_.b.CreateAnd(end, e_.b.getInt64(-rows_.rows));
    }
    begin_lanes(e_, inner_.variable, width_);
    e_.values.define(inner_.variable, e_.b.getInt64(0));
    for (const Statement* s : instructions_) {
      if (s->kind == StatementKind::kLoad && place(*s) == PlaceInRows::kOfRow) load_row(*s);
    }
    const double time = static_cast<double>(rows_.rows) * time_if_long(e_, loop_);
    const auto all = [&](const LlvmValues&) {
      return run_long_loop(e_, begin, whole, rows_.rows, {}, time, [&](llvm::Value* i, const LlvmValues&) {
        emit_iteration(i);
        return LlvmValues{};
      });
    };
    e_.values.define(loop_.variable, begin);
    if (stores_past_caches()) {
      in_both_ways(e_, inner_, e_.b.getInt64(0), {}, all);
    } else {
      all({});
    }
    e_.lanes = {};
    return whole;
  }

 private:
  PlaceInRows place(const Statement& s) const { return place_in_rows(e_.program, s, loop_, inner_); }

  // `offset` elements behind where the statement's index is now.
  llvm::Value* pointer(const Statement& s, llvm::Type* element, int64_t offset) {
    llvm::Value* first = e_.addresses.element_pointer(s.buffer, address_of(e_, s.index).uniform);
    return e_.b.CreateConstInBoundsGEP1_64(element, first, static_cast<uint64_t>(offset));
  }

  llvm::Value* load(const Statement& s, llvm::Type* type, int64_t offset) {
    const llvm::Align align(static_cast<uint64_t>(dtype_size(s.dtype)));
    return e_.b.CreateAlignedLoad(type, pointer(s, type->getScalarType(), offset), align);
  }
  llvm::Value* load(const Statement& s, int64_t lanes, int64_t offset) {
    llvm::Type* element = memory_type(e_.code.context, s.dtype);
    return load(s, llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes)), offset);
  }

  // The first element of a vector.
  int64_t start(int64_t vector) const { return vector + 1 < rows_.vectors ? vector * width_ : rows_.last_vector; }

  // With any lanes behind those that there are.
  llvm::Value* widened(llvm::Value* from, int64_t lanes) {
    return picked(e_, from, 0, width_, [&](int64_t lane) { return lane < lanes ? lane : -1; });
  }

  // Of a row, all vectors that an iteration has.
  void load_row(const Statement& s) {
    const auto column = [&](int64_t element) { return element % count_; };
    llvm::Value* all = count_ < width_ ? load(s, count_, 0) : nullptr;
    for (int64_t v = 0; v < rows_.vectors; ++v) {
      const int64_t first = column(start(v)), left = std::min<int64_t>(count_ - first, width_);
      llvm::Value*& made = of_rows_[{&s, first}];
      if (made != nullptr) continue;
      if (all != nullptr) {
        made = picked(e_, all, start(v), width_, column);
      } else if (left == width_) {
        made = load(s, width_, first);
      } else {
        llvm::SmallVector<int, 64> ends_first;
        for (int64_t lane = 0; lane < width_; ++lane) {
          ends_first.push_back(static_cast<int>(lane < left ? lane : width_ + lane - left));
        }
        llvm::Value* ends = widened(load(s, left, first), left);
        made = e_.b.CreateShuffleVector(ends, widened(load(s, width_ - left, 0), width_ - left), ends_first);
      }
      made = e_.math.decode(made, s.dtype);
    }
  }

  llvm::Value* load_column(const Statement& s, int64_t v) {
    const auto row = [&](int64_t element) { return element / count_; };
    const int64_t first = row(start(v)), last = row(start(v) + width_ - 1);
    llvm::Value* loaded = first == last ? load(s, memory_type(e_.code.context, s.dtype), first)
                                        : picked(e_, load(s, rows_.rows, 0), start(v), width_, row);
    return e_.math.decode(loaded, s.dtype);
  }

  llvm::Value* instruction(const Statement& s, int64_t v) {
    if (s.kind != StatementKind::kLoad) return emit_instruction(e_, s);
    switch (place(s)) {
      case PlaceInRows::kOfRow:
        return of_rows_.at({&s, start(v) % count_});
      case PlaceInRows::kOfColumn:
        return load_column(s, v);
      case PlaceInRows::kOfBoth:
        return e_.math.decode(load(s, width_, start(v)), s.dtype);
      default:
        return emit_instruction(e_, s);
    }
  }

  void emit_iteration(llvm::Value* i) {
    e_.values.define(loop_.variable, i);
    std::vector<llvm::Value*> stored;
    for (int64_t v = 0; v < rows_.vectors; ++v) {
      for (const Statement* s : instructions_) e_.values.define(s->result, instruction(*s, v));
      for (const Statement* s : stores_) {
        stored.push_back(e_.math.encode(widen(e_, value_of(e_, s->operands[0])), s->dtype));
      }
    }
    auto next = stored.begin();
    for (int64_t v = 0; v < rows_.vectors; ++v) {
      for (const Statement* s : stores_) {
        llvm::Value* to = pointer(*s, (*next)->getType()->getScalarType(), start(v));
        if (e_.streams.active && streams(e_, s->buffer)) {
          store_past_caches(e_, *next++, to);
        } else {
          e_.b.CreateAlignedStore(*next++, to, llvm::Align(static_cast<uint64_t>(dtype_size(s->dtype))));
        }
      }
    }
  }

  // All that goes to memory is whole vectors, one behind the other: there lines are filled, whatever a row is.
  bool stores_past_caches() const {
    bool any = false;
    for (const Statement* s : stores_) {
      if (!streams(e_, s->buffer)) continue;
      any = true;
      if (width_ * static_cast<unsigned>(dtype_size(s->dtype)) * 8 != static_cast<unsigned>(e_.code.facts.vector_bits))
        return false;
    }
    return any;
  }

  CpuEmission& e_;
  const For& loop_;
  const ShortRows rows_;
  const For& inner_;
  const unsigned width_;
  const int64_t count_;
  std::vector<const Statement*> instructions_, stores_;
  std::map<std::pair<const Statement*, int64_t>, llvm::Value*> of_rows_;  // by the column of the first lane
};

}  // namespace

std::optional<ShortRows> find_short_rows(CpuEmission& e, const For& loop) {
  if (e.lanes.width != 0 || e.scope != nullptr || e.any_extent.loop == &loop) return {};
  const std::optional<ShortRows> found = choose_short_rows(e.program, e.code.facts, loop);
  if (!found || e.any_extent.loop == found->inner || !e.outline.calls_in(loop.body).empty() ||
      !e.outline.calls_in(found->inner->body).empty() || uses_held(e, loop)) {
    return {};
  }
  // Vectors that overlap do not fill lines.
  for (const Statement& s : e.program.blocks[found->inner->body].statements) {
    const bool overlaps = found->last_vector % found->width != 0;
    if (overlaps && s.kind == StatementKind::kStore && streams(e, s.buffer)) return {};
  }
  return found;
}

llvm::Value* emit_short_rows(CpuEmission& e, const For& loop, const ShortRows& rows, llvm::Value* begin,
                             llvm::Value* end) {
  return RowsEmitter(e, loop, rows).emit(begin, end);
}

}  // namespace ct::jit
