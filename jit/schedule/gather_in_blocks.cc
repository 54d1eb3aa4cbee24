#include "jit/schedule/gather_in_blocks.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "jit/loop/clone.h"
#include "jit/loop/visit.h"
#include "jit/schedule/nests.h"
#include "jit/schedule/uses.h"

namespace ct::jit {
namespace {

using loop::BlockId;
using loop::BufferId;
using loop::Cloner;
using loop::For;
using loop::Gemm;
using loop::Index;
using loop::Matrix;
using loop::NewLoop;
using loop::Program;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

constexpr int64_t kLeastGrowth = 2;   // the array's elements over those that it is made of
constexpr int64_t kLeastPlaces = 32;  // of a block: products of fewer are slower
constexpr int64_t kMostChunksOfPrime = 64;
constexpr int64_t kMostSums = int64_t{1} << 23;  // bytes of the sums that all chunks have
constexpr size_t kMostReaders = 3, kMostOfGather = 48;

// A loop of the nest, and how far apart its elements lie in the array.
struct Axis {
  Value variable;
  int64_t extent, stride;
  loop::LoopOptions options;
};

// A nest that does nothing but fill an array with elements of others.
struct Gather {
  size_t position;  // in the entry block
  BufferId array;
  std::vector<Axis> axes;  // the outermost first
  BlockId body;            // of the innermost loop
};

// A dimension of the array as a matrix.
struct Dimension {
  int64_t extent, stride;
  std::vector<Axis> axes;  // those of the nest that lie in it, the largest stride first
};

// A product with the array, by itself or in a loop over its first axis.
struct Reader {
  size_t position;  // in the entry block
  uint32_t gemm;
  bool is_a;                  // which operand the array is
  std::optional<Axis> batch;  // the axis that the loop runs over, with the loop's variable
  bool sums;                  // whether places are what is summed over
  Dimension places, elements;
};

class Gathers {
 public:
  explicit Gathers(const Program& program) : program_(program) {}

  std::optional<Gather> at(size_t position) const {
    Gather found{.position = position, .array = 0, .axes = {}, .body = loop::kNoBlock};
    const Statement* s = &program_.blocks[0].statements[position];
    while (s != nullptr && s->kind == StatementKind::kFor) {
      const For& loop = program_.fors[s->detail];
      const int64_t extent = constant_extent(loop);
      if (!loop.options.parallel || !loop.carries.empty() || extent < 1) return std::nullopt;
      found.axes.push_back({loop.variable, extent, 0, loop.options});
      found.body = loop.body;
      const std::vector<Statement>& inside = program_.blocks[loop.body].statements;
      s = inside.size() == 1 ? &inside[0] : nullptr;
    }
    if (found.axes.size() < 2 || !fills_an_array(found)) return std::nullopt;
    return found;
  }

 private:
  bool fills_an_array(Gather& gather) const {
    const Statement* store = nullptr;
    size_t statements = 0, stores = 0;
    bool simple = true;
    absl::flat_hash_set<BufferId> sources;
    loop::visit_statements(program_, gather.body, [&](const Statement& s) {
      ++statements;
      if (s.kind == StatementKind::kLoad) sources.insert(s.buffer);
      if (s.kind == StatementKind::kStore) ++stores;
      simple = simple && (loop::is_instruction(s) || s.kind == StatementKind::kStore || s.kind == StatementKind::kIf);
    });
    for (const Statement& s : program_.blocks[gather.body].statements) {
      if (s.kind == StatementKind::kStore) store = &s;
    }
    if (!simple || store == nullptr || stores != 1 || statements > kMostOfGather) return false;
    gather.array = store->buffer;
    const loop::Buffer& array = program_.buffer(gather.array);
    if (array.kind != loop::BufferKind::kTemporary || !is_float(array.dtype)) return false;
    if (loop::bytes_of(program_, gather.array) < kLeastGathered || store->index.constant() != 0) return false;
    // An array of the same size is as good in memory, where it may lie in what is not needed any more.
    int64_t sources_size = 0;
    for (const BufferId source : sources) sources_size += program_.buffer(source).elements;
    if (array.elements < kLeastGrowth * sources_size) return false;
    if (store->index.terms().size() + absl::c_count_if(gather.axes, [](const Axis& a) { return a.extent == 1; }) <
        gather.axes.size()) {
      return false;
    }
    // All of it, densely.
    std::vector<Axis> by_stride;
    for (Axis& axis : gather.axes) {
      axis.stride = store->index.coefficient_of(axis.variable);
      if (axis.extent > 1) by_stride.push_back(axis);
    }
    absl::c_sort(by_stride, [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
    int64_t dense = 1;
    for (const Axis& axis : by_stride) {
      if (axis.stride != dense) return false;
      dense *= axis.extent;
    }
    return dense == array.elements && by_stride.size() >= store->index.terms().size();
  }

  const Program& program_;
};

class Readers {
 public:
  Readers(const Program& program, const Gather& gather) : program_(program), gather_(gather) {}

  // All statements that read the array; nothing unless each is a product that can be made in blocks, and what the nest
  // reads is the same when the last of them runs.
  std::vector<Reader> find() const {
    const std::vector<Statement>& statements = program_.blocks[0].statements;
    Uses nest;
    add_uses(program_, statements[gather_.position], nest);
    std::vector<Reader> found;
    bool unchanged = true;
    for (size_t i = 0; i < statements.size(); ++i) {
      if (i == gather_.position) continue;
      Uses uses;
      add_uses(program_, statements[i], uses);
      if (uses.writes.contains(gather_.array)) return {};
      if (uses.reads.contains(gather_.array)) {
        std::optional<Reader> reader = i > gather_.position && unchanged ? reader_at(i) : std::nullopt;
        if (!reader || found.size() == kMostReaders) return {};
        found.push_back(*std::move(reader));
      }
      const auto is_read = [&](BufferId buffer) { return nest.reads.contains(buffer); };
      if (i > gather_.position && (uses.fixed || absl::c_any_of(uses.writes, is_read))) unchanged = false;
    }
    return found;
  }

 private:
  std::optional<Reader> reader_at(size_t position) const {
    Reader reader{
        .position = position, .gemm = 0, .is_a = false, .batch = {}, .sums = false, .places = {}, .elements = {}};
    const Statement* s = &program_.blocks[0].statements[position];
    const For* around = nullptr;
    if (s->kind == StatementKind::kFor) {
      around = &program_.fors[s->detail];
      const std::vector<Statement>& inside = program_.blocks[around->body].statements;
      if (!around->carries.empty() || inside.size() != 1) return std::nullopt;
      s = &inside[0];
    }
    if (s->kind != StatementKind::kGemm) return std::nullopt;
    reader.gemm = s->detail;
    const Gemm& gemm = program_.gemms[s->detail];
    reader.is_a = gemm.a.buffer == gather_.array;
    const Matrix& array = reader.is_a ? gemm.a : gemm.b;
    const Matrix& other = reader.is_a ? gemm.b : gemm.a;
    if (array.buffer != gather_.array || other.buffer == gather_.array || gemm.c.buffer == gather_.array)
      return std::nullopt;
    if (gemm.rows != Index(gemm.m) || gemm.columns != Index(gemm.n) || gemm.steps != Index(gemm.k)) return std::nullopt;

    std::vector<Axis> axes;
    for (const Axis& axis : gather_.axes) {
      if (axis.extent > 1) axes.push_back(axis);
    }
    if (around != nullptr) {
      const Axis first = axes.front();
      if (array.offset != Index::of(around->variable, first.stride) || constant_extent(*around) != first.extent)
        return std::nullopt;
      reader.batch = first;
      reader.batch->variable = around->variable;
      axes.erase(axes.begin());
      const bool same_result = gemm.c.offset.coefficient_of(around->variable) == 0;
      if (same_result != gemm.accumulate) return std::nullopt;
      reader.sums = same_result;
    } else if (array.offset != Index(0)) {
      return std::nullopt;
    }
    Dimension kept{reader.is_a ? gemm.m : gemm.n, reader.is_a ? array.row_stride : array.column_stride, {}};
    Dimension summed{gemm.k, reader.is_a ? array.column_stride : array.row_stride, {}};
    if (!distribute(axes, kept, summed)) return std::nullopt;
    // The first axis is a part of the places.
    if (around == nullptr) {
      const Value first = axes.front().variable;
      reader.sums = absl::c_any_of(summed.axes, [&](const Axis& axis) { return axis.variable == first; });
    }
    reader.places = reader.sums ? summed : kept;
    reader.elements = reader.sums ? kept : summed;
    return reader;
  }

  // Which axes are in which dimension: those of the larger stride are around those of the smaller one.
  static bool distribute(std::vector<Axis> axes, Dimension& one, Dimension& other) {
    Dimension& large = one.stride > other.stride ? one : other;
    Dimension& small = one.stride > other.stride ? other : one;
    absl::c_sort(axes, [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
    int64_t in_large = 1, in_small = 1;
    for (const Axis& axis : axes) {
      const bool is_large = axis.stride >= large.stride;
      (is_large ? large : small).axes.push_back(axis);
      (is_large ? in_large : in_small) *= axis.extent;
    }
    return in_large == large.extent && in_small == small.extent && !large.axes.empty() && !small.axes.empty() &&
           large.axes.back().stride == large.stride && small.axes.back().stride == small.stride && small.stride == 1;
  }

  const Program& program_;
  const Gather& gather_;
};

// How the places of a product are cut: axes that loops around the blocks run over, and one that is cut perhaps. Other
// axes lie in a block.
struct Blocks {
  std::vector<Axis> outer;
  std::optional<Axis> cut;  // in `part` elements at a time
  int64_t part = 1;
  int64_t places = 1;  // of a block
};

std::optional<Blocks> blocks_of(const Program& program, const Gather& gather, const Reader& reader) {
  const int64_t bytes = reader.elements.extent * dtype_size(program.buffer(gather.array).dtype);
  Blocks blocks;
  std::vector<Axis> axes = reader.places.axes;
  while (!axes.empty() && blocks.places * axes.back().extent * bytes <= kMostGatheredBlock) {
    blocks.places *= axes.back().extent;
    axes.pop_back();
  }
  if (!axes.empty()) {
    blocks.part = largest_divisor(axes.back().extent, kMostGatheredBlock / bytes / blocks.places);
    if (blocks.part > 1) {
      blocks.cut = axes.back();
      blocks.places *= blocks.part;
      axes.pop_back();
    }
  }
  if (reader.batch) axes.insert(axes.begin(), *reader.batch);
  blocks.outer = std::move(axes);
  if (blocks.places < kLeastPlaces || (blocks.outer.empty() && !blocks.cut)) return std::nullopt;
  return blocks;
}

// The product in blocks.
class Blocked {
 public:
  Blocked(Program& program, const Gather& gather, const Reader& reader, const Blocks& blocks)
      : program_(program), gather_(gather), reader_(reader), blocks_(blocks), gemm_(program.gemms[reader.gemm]) {}

  // In a block of its own; nothing where sums would take too much memory.
  std::optional<BlockId> emit() {
    // Loops around the blocks, of which the first is cut in chunks.
    struct Level {
      Value variable;  // of the axis
      int64_t extent, part;
    };
    std::vector<Level> levels;
    for (const Axis& axis : blocks_.outer) levels.push_back({axis.variable, axis.extent, 1});
    if (blocks_.cut) levels.push_back({blocks_.cut->variable, blocks_.cut->extent / blocks_.part, blocks_.part});
    const auto first = absl::c_find_if(levels, [](const Level& level) { return level.extent > 1; });
    if (first == levels.end()) return std::nullopt;
    int64_t most = kMostGatheredChunks;
    const int64_t sums = gemm_.m * gemm_.n * dtype_size(program_.buffer(gemm_.c.buffer).dtype);
    if (reader_.sums) {
      if (dtype_size(program_.buffer(gemm_.c.buffer).dtype) < 4) return std::nullopt;
      most = std::min(most, kMostSums / sums);
    }
    int64_t chunks = largest_divisor(first->extent, most);
    if (chunks == 1 && first->extent <= kMostChunksOfPrime && !reader_.sums) chunks = first->extent;
    if (chunks == 1) return std::nullopt;

    const BlockId made = loop::new_block(program_);
    const NewLoop chunk = loop::append_for(program_, made, chunks, {.parallel = true, .whole = true});
    chunk_ = Index::of(chunk.variable);
    places_ = loop::new_temporary(program_, program_.buffer(gather_.array).dtype, chunks * block_size());
    if (reader_.sums) {
      partial_ = loop::new_temporary(program_, program_.buffer(gemm_.c.buffer).dtype, chunks * gemm_.m * gemm_.n);
      append_zeros(chunk.body);
    }
    BlockId inside = chunk.body;
    for (const Level& level : levels) {
      const bool is_first = &level == &*first;
      const int64_t count = is_first ? level.extent / chunks : level.extent;
      Index number = is_first ? chunk_ * count : Index(0);
      if (count > 1) {
        const NewLoop loop = loop::append_for(program_, inside, count, {});
        number += Index::of(loop.variable);
        inside = loop.body;
      }
      numbers_.push_back({level.variable, number * level.part});
    }
    append_gather(inside);
    append_product(inside);
    if (reader_.sums) append_total(made, chunks);
    return made;
  }

 private:
  int64_t block_size() const { return blocks_.places * reader_.elements.extent; }
  bool places_are_rows() const { return reader_.places.stride > reader_.elements.stride; }

  // Where the block begins along an axis.
  Index begin_of(Value variable) const {
    for (const auto& [axis, number] : numbers_) {
      if (axis == variable) return number;
    }
    return 0;
  }
  // The outer axis that an axis of the nest is, or null. Of a batch the product's loop has the variable.
  const Axis* outer_of(const Axis& axis) const {
    const auto at = absl::c_find_if(blocks_.outer, [&](const Axis& each) { return each.stride == axis.stride; });
    return at == blocks_.outer.end() ? nullptr : &*at;
  }

  void append_gather(BlockId block) {
    Cloner cloner(program_);
    Index at = chunk_ * block_size();
    for (const Axis& axis : gather_.axes) {
      if (axis.extent == 1) {
        cloner.replace(axis.variable, 0);
        continue;
      }
      if (const Axis* outer = outer_of(axis)) {
        cloner.replace(axis.variable, begin_of(outer->variable));
        continue;
      }
      const bool is_cut = blocks_.cut && blocks_.cut->variable == axis.variable;
      const NewLoop loop = loop::append_for(program_, block, is_cut ? blocks_.part : axis.extent, axis.options);
      cloner.replace(axis.variable, begin_of(axis.variable) + Index::of(loop.variable));
      const bool is_element =
          absl::c_any_of(reader_.elements.axes, [&](const Axis& each) { return each.variable == axis.variable; });
      int64_t stride = axis.stride;
      if (is_element && !places_are_rows()) stride = stride / reader_.elements.stride * blocks_.places;
      at += Index::of(loop.variable, stride);
      block = loop.body;
    }
    const std::vector<Statement> body = program_.blocks[gather_.body].statements;
    for (const Statement& s : body) {
      if (s.kind != StatementKind::kStore) {
        cloner.clone(std::vector<Statement>{s}, block);
        continue;
      }
      Statement store = s;
      store.buffer = places_;
      store.index = at;
      store.operands[0] = cloner.value(s.operands[0], block);
      program_.blocks[block].statements.push_back(std::move(store));
    }
  }

  void append_product(BlockId block) {
    Cloner cloner(program_);
    if (reader_.batch) cloner.replace(reader_.batch->variable, begin_of(reader_.batch->variable));
    // The number of the block's first place.
    Index first = 0;
    for (const Axis& axis : reader_.places.axes)
      first += begin_of(axis.variable) * (axis.stride / reader_.places.stride);
    Gemm gemm = gemm_;
    for (Matrix* matrix : {&gemm.a, &gemm.b, &gemm.c}) matrix->offset = cloner.index(matrix->offset);
    Matrix& array = reader_.is_a ? gemm.a : gemm.b;
    array.buffer = places_;
    array.offset = chunk_ * block_size();
    const int64_t along_places = places_are_rows() ? reader_.elements.extent : 1;
    const int64_t along_elements = places_are_rows() ? 1 : blocks_.places;
    // The first dimension of a is kept, the first one of b is summed over.
    const bool places_first = reader_.is_a != reader_.sums;
    array.row_stride = places_first ? along_places : along_elements;
    array.column_stride = places_first ? along_elements : along_places;
    if (reader_.sums) {
      gemm.steps = gemm.k = blocks_.places;
      Matrix& other = reader_.is_a ? gemm.b : gemm.a;
      other.offset += first * (reader_.is_a ? other.row_stride : other.column_stride);
      gemm.c = {partial_, chunk_ * (gemm.m * gemm.n), partial_row_stride(), partial_column_stride()};
      gemm.accumulate = true;
    } else if (reader_.is_a) {
      gemm.rows = gemm.m = blocks_.places;
      gemm.c.offset += first * gemm.c.row_stride;
    } else {
      gemm.columns = gemm.n = blocks_.places;
      gemm.c.offset += first * gemm.c.column_stride;
    }
    append_gemm(program_, block, std::move(gemm));
  }

  // Sums lie as the result does.
  bool by_columns() const { return gemm_.c.row_stride == 1 && gemm_.c.column_stride != 1; }
  int64_t partial_row_stride() const { return by_columns() ? 1 : gemm_.n; }
  int64_t partial_column_stride() const { return by_columns() ? gemm_.m : 1; }

  void append_zeros(BlockId block) {
    const int64_t size = gemm_.m * gemm_.n;
    program_.ranges.push_back({.destination = partial_,
                               .source = partial_,
                               .destination_offset = chunk_ * size,
                               .source_offset = 0,
                               .count = size});
    Statement s{.kind = StatementKind::kFill};
    s.detail = static_cast<uint32_t>(program_.ranges.size() - 1);
    program_.blocks[block].statements.push_back(std::move(s));
  }

  void append_total(BlockId block, int64_t chunks) {
    constexpr loop::LoopOptions kAlike{.vectorize = true, .parallel = true};
    const NewLoop outer = loop::append_for(program_, block, by_columns() ? gemm_.n : gemm_.m, kAlike);
    const NewLoop inner = loop::append_for(program_, outer.body, by_columns() ? gemm_.m : gemm_.n, kAlike);
    const Index row = Index::of(by_columns() ? inner.variable : outer.variable);
    const Index column = Index::of(by_columns() ? outer.variable : inner.variable);
    const Index in_chunk = row * partial_row_stride() + column * partial_column_stride();
    const Index at = gemm_.c.offset + row * gemm_.c.row_stride + column * gemm_.c.column_stride;
    const BlockId body = inner.body;
    Value total = gemm_.accumulate ? loop::append_load(program_, body, gemm_.c.buffer, at) : loop::kNoValue;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const Value sum = loop::append_load(program_, body, partial_, in_chunk + Index(chunk * gemm_.m * gemm_.n));
      total = total == loop::kNoValue ? sum : loop::append_scalar(program_, body, ScalarOp::kAdd, total, sum);
    }
    loop::append_store(program_, body, gemm_.c.buffer, at, total);
  }

  Program& program_;
  const Gather& gather_;
  const Reader& reader_;
  const Blocks& blocks_;
  const Gemm gemm_;
  Index chunk_;
  BufferId places_ = 0, partial_ = 0;             // what the windows of a block see; the sums of each chunk
  std::vector<std::pair<Value, Index>> numbers_;  // where the block begins along the axes around it
};

// Whether the array was not needed after all.
bool gather_at(Program& program, size_t position) {
  const std::optional<Gather> gather = Gathers(program).at(position);
  if (!gather) return false;
  const std::vector<Reader> readers = Readers(program, *gather).find();
  if (readers.empty()) return false;
  std::vector<Blocks> blocks;
  for (const Reader& reader : readers) {
    if (auto found = blocks_of(program, *gather, reader)) blocks.push_back(*std::move(found));
  }
  if (blocks.size() < readers.size()) return false;
  std::vector<BlockId> made;
  for (size_t i = 0; i < readers.size(); ++i) {
    const auto block = Blocked(program, *gather, readers[i], blocks[i]).emit();
    if (!block) return false;
    made.push_back(*block);
  }
  for (size_t i = readers.size(); i-- > 0;) replace_statement(program, 0, readers[i].position, made[i]);
  auto& statements = program.blocks[0].statements;
  statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(position));
  return true;
}

}  // namespace

void gather_in_blocks(Program& program) {
  for (size_t i = 0; i < program.blocks[0].statements.size();) {
    if (!gather_at(program, i)) ++i;
  }
}

}  // namespace ct::jit
