// Nests over arrays of short rows, as an update by the product of two vectors is, or the sum of a matrix and a row:
//
//   for i { a = column[i]; for j < few: store to[few * i + j] = f(from[few * i + j], row[j], a) }
//
// As many rows as fill whole vectors are one iteration, and all that it reads is loaded before anything is stored:
// vectors of `to` and `from` lie one behind the other, those of `row` are the same in each iteration and stay in
// registers, and of `column` each vector repeats elements of one. Row by row, each would end with a part of a vector;
// where `to` is `from`, what is loaded for the next row then overlaps what has just been stored, masked lanes
// included, and waits until that has left for the cache (measured: 5 ns a row, ten times the time of the arithmetic).
#include "jit/llvm/short_rows.h"

#include <algorithm>
#include <map>
#include <numeric>
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

// Of one iteration. More code takes longer to compile than it saves, and more vectors than registers.
constexpr int64_t kMostVectors = 8, kMostStatements = 64;
constexpr int64_t kEnoughVectors = 4;  // what counting iterations costs is little beside them

// Where the elements lie that a load reads or a store writes.
enum class Place : uint8_t { kSame, kOfRow, kOfColumn, kOfBoth, kOther };

class Nest {
 public:
  Nest(CpuEmission& e, const For& outer, const For& inner)
      : e_(e), outer_(outer), inner_(inner), count_(inner.extent.constant()) {}

  Place place(const Statement& s) const {
    const loop::Buffer& buffer = e_.program.buffers[s.buffer];
    if (is_complex(buffer.dtype) || buffer.dtype == DType::kKey) return Place::kOther;
    bool known = true;
    loop::visit_index(
        s.index, [&](loop::Value value) { known = known && (value <= outer_.variable || value == inner_.variable); });
    const int64_t by_row = s.index.coefficient_of(outer_.variable), along = s.index.coefficient_of(inner_.variable);
    if (!known) return Place::kOther;
    if (along == 0) return by_row == 0 ? Place::kSame : by_row == 1 ? Place::kOfColumn : Place::kOther;
    if (along != 1) return Place::kOther;
    return by_row == 0 ? Place::kOfRow : by_row == count_ ? Place::kOfBoth : Place::kOther;
  }

  // Whether it is computed lane by lane from such elements.
  bool is_plain(const Statement& s) const {
    for (const loop::Value operand : s.operands) {
      if (operand == outer_.variable || operand == inner_.variable) return false;
    }
    if (s.kind == StatementKind::kStore) return place(s) == Place::kOfBoth;
    if (!loop::is_instruction(s) || s.kind == StatementKind::kIndex) return false;
    return s.kind != StatementKind::kLoad || place(s) != Place::kOther;
  }

 private:
  CpuEmission& e_;
  const For &outer_, &inner_;
  const int64_t count_;
};

// Of vectors one behind the other: lane l of `vector` is element `of(vector * width + l)` of what `from` holds.
llvm::Value* picked(CpuEmission& e, llvm::Value* from, int64_t vector, unsigned width,
                    llvm::function_ref<int64_t(int64_t)> of) {
  llvm::SmallVector<int, 64> lanes;
  for (unsigned lane = 0; lane < width; ++lane) lanes.push_back(static_cast<int>(of(vector * width + lane)));
  return e.b.CreateShuffleVector(from, lanes);
}

class RowsEmitter {
 public:
  RowsEmitter(CpuEmission& e, const For& loop, const ShortRows& rows)
      : e_(e),
        loop_(loop),
        rows_(rows),
        inner_(*rows.inner),
        width_(rows.width),
        count_(inner_.extent.constant()),
        nest_(e, loop, inner_) {
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
      if (s->kind == StatementKind::kLoad && nest_.place(*s) == Place::kOfRow) load_row(*s);
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

  // With any lanes behind those that there are.
  llvm::Value* widened(llvm::Value* from, int64_t lanes) {
    return picked(e_, from, 0, width_, [&](int64_t lane) { return lane < lanes ? lane : -1; });
  }

  // Of a row, all vectors that an iteration has.
  void load_row(const Statement& s) {
    const auto column = [&](int64_t element) { return element % count_; };
    llvm::Value* all = count_ < width_ ? load(s, count_, 0) : nullptr;
    for (int64_t v = 0; v < rows_.vectors; ++v) {
      const int64_t first = column(v * width_), left = std::min<int64_t>(count_ - first, width_);
      llvm::Value*& made = of_rows_[{&s, first}];
      if (made != nullptr) continue;
      if (all != nullptr) {
        made = picked(e_, all, v, width_, column);
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
    const int64_t first = row(v * width_), last = row(v * width_ + width_ - 1);
    llvm::Value* loaded = first == last ? load(s, memory_type(e_.code.context, s.dtype), first)
                                        : picked(e_, load(s, rows_.rows, 0), v, width_, row);
    return e_.math.decode(loaded, s.dtype);
  }

  llvm::Value* instruction(const Statement& s, int64_t v) {
    if (s.kind != StatementKind::kLoad) return emit_instruction(e_, s);
    switch (nest_.place(s)) {
      case Place::kOfRow:
        return of_rows_.at({&s, v * width_ % count_});
      case Place::kOfColumn:
        return load_column(s, v);
      case Place::kOfBoth:
        return e_.math.decode(load(s, width_, v * width_), s.dtype);
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
        llvm::Value* to = pointer(*s, (*next)->getType()->getScalarType(), v * width_);
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
  const Nest nest_;
  std::vector<const Statement*> instructions_, stores_;
  std::map<std::pair<const Statement*, int64_t>, llvm::Value*> of_rows_;  // by the column of the first lane
};

}  // namespace

std::optional<ShortRows> find_short_rows(CpuEmission& e, const For& loop) {
  if (e.lanes.width != 0 || e.scope != nullptr || e.code.facts.vector_bits == 0 || !loop.options.vectorize ||
      !loop.carries.empty() || !loop.extent.is_constant() || e.any_extent.loop == &loop) {
    return {};
  }
  const auto& outside = e.program.blocks[loop.body].statements;
  if (outside.empty() || outside.back().kind != StatementKind::kFor) return {};
  const For& inner = e.program.fors[outside.back().detail];
  if (!inner.options.vectorize || !inner.carries.empty() || !inner.extent.is_constant() ||
      e.any_extent.loop == &inner) {
    return {};
  }
  const Nest nest(e, loop, inner);
  int widest = 0;  // bytes, as it is computed with
  int64_t statements = 0;
  bool stores = false;
  for (const auto* block : {&outside, &e.program.blocks[inner.body].statements}) {
    for (const Statement& s : *block) {
      if (&s == &outside.back()) continue;
      const bool is_store = s.kind == StatementKind::kStore;
      // Whole iterations read before they write: a load behind a store might be of what that wrote.
      if (!nest.is_plain(s) || (stores && !is_store)) return {};
      stores = is_store;
      if (s.kind != StatementKind::kConstant) ++statements;
      widest = std::max(widest, is_float(s.dtype) ? std::max(dtype_size(s.dtype), 4) : dtype_size(s.dtype));
    }
  }
  if (!stores || !e.outline.calls_in(loop.body).empty() || !e.outline.calls_in(inner.body).empty() ||
      uses_held(e, loop)) {
    return {};
  }
  const int64_t width = e.code.facts.vector_bits / 8 / widest, count = inner.extent.constant();
  const int64_t extent = loop.extent.constant();
  if (width < 2 || count < 2 || extent < 2) return {};
  int64_t rows = width / std::gcd(width, count);
  int64_t vectors = rows * count / width;
  const auto fits = [&] {
    return vectors <= kMostVectors && vectors * statements <= kMostStatements && rows <= extent &&
           rows <= kVectorMultiple;
  };
  if (!fits()) return {};
  while (2 * vectors <= kEnoughVectors && 2 * rows <= extent && 2 * vectors * statements <= kMostStatements &&
         2 * rows <= width) {
    rows *= 2;
    vectors *= 2;
  }
  return ShortRows{&inner, static_cast<unsigned>(width), rows, vectors};
}

llvm::Value* emit_short_rows(CpuEmission& e, const For& loop, const ShortRows& rows, llvm::Value* begin,
                             llvm::Value* end) {
  return RowsEmitter(e, loop, rows).emit(begin, end);
}

}  // namespace ct::jit
