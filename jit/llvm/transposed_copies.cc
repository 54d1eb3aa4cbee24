// Copies of blocks that turn rows into columns (schedule/order.cc makes them) go through registers: a square of vectors
// is read along rows, transposed by shuffles, and written along what were columns.
#include <utility>

#include "jit/llvm/loops.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::For;
using loop::Index;
using loop::Statement;
using loop::StatementKind;

bool emit_transposed_copy(CpuEmission& e, const For& outer) {
  if (e.lanes.width != 0 || e.code.facts.vector_bits == 0 || !outer.carries.empty() || !outer.extent.is_constant()) {
    return false;
  }
  const auto& body = e.program.blocks[outer.body].statements;
  if (body.size() != 1 || body[0].kind != StatementKind::kFor || !e.outline.calls_in(outer.body).empty()) return false;
  const For& inner = e.program.fors[body[0].detail];
  const auto& work = e.program.blocks[inner.body].statements;
  if (!inner.options.vectorize || !inner.carries.empty() || !inner.extent.is_constant() || work.size() != 2 ||
      work[0].kind != StatementKind::kLoad || work[1].kind != StatementKind::kStore ||
      work[1].operands[0] != work[0].result) {
    return false;
  }
  const Statement &load = work[0], &store = work[1];
  // Rows are what is read; columns what is written.
  const bool along_rows = load.index.coefficient_of(inner.variable) == 1;
  const For &rows = along_rows ? inner : outer, &columns = along_rows ? outer : inner;
  const loop::Buffer &from = e.program.buffers[load.buffer], &to = e.program.buffers[store.buffer];
  const DType dtype = load.dtype;
  bool plain = store.dtype == dtype && from.dtype != DType::kKey && to.dtype != DType::kKey &&
               load.index.coefficient_of(rows.variable) == 1 && store.index.coefficient_of(columns.variable) == 1;
  for (const Index* index : {&load.index, &store.index}) {
    loop::visit_index(
        *index, [&](loop::Value value) { plain = plain && (value <= outer.variable || value == inner.variable); });
  }
  const int64_t size = dtype_size(dtype);
  const int64_t both = rows.extent.constant() | columns.extent.constant();
  const int64_t width = std::min(both & -both, e.code.facts.vector_bits / 8 / size);
  if (!plain || size < 4 || width < 4) return false;

  llvm::Type* element = memory_type(e.code.context, dtype);
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(width));
  const llvm::Align align(static_cast<uint64_t>(size));
  llvm::SmallVector<int, 16> low, high;
  for (int i = 0; i < width; ++i) {
    low.push_back(i / 2 + (i % 2) * static_cast<int>(width));
    high.push_back(static_cast<int>(width) / 2 + i / 2 + (i % 2) * static_cast<int>(width));
  }
  const double time = time_if_long(e, outer) * static_cast<double>(width);
  const auto begin = e.b.getInt64(0), end = e.b.getInt64(outer.extent.constant());
  run_long_loop(e, begin, end, width, {}, time, [&](llvm::Value* first, const LlvmValues&) {
    e.values.define(outer.variable, first);
    return e.code.run_loop(
        e.b.getInt64(0), e.b.getInt64(inner.extent.constant()), width, {}, [&](llvm::Value* second, const LlvmValues&) {
          e.values.define(inner.variable, second);
          const auto at = [&](const Statement& s, int64_t step) {
            return e.addresses.element_pointer(s.buffer,
                                               e.b.CreateAdd(address_of(e, s.index).uniform, e.b.getInt64(step)));
          };
          llvm::SmallVector<llvm::Value*, 16> vectors, next(static_cast<size_t>(width));
          for (int64_t i = 0; i < width; ++i) {
            vectors.push_back(
                e.b.CreateAlignedLoad(vector, at(load, i * load.index.coefficient_of(columns.variable)), align));
          }
          // As often as the width can be halved: the first half of the vectors zipped with the second half.
          for (int64_t left = width; left > 1; left /= 2) {
            for (size_t i = 0; i < static_cast<size_t>(width) / 2; ++i) {
              llvm::Value *a = vectors[i], *b = vectors[i + static_cast<size_t>(width) / 2];
              next[2 * i] = e.b.CreateShuffleVector(a, b, low);
              next[2 * i + 1] = e.b.CreateShuffleVector(a, b, high);
            }
            std::swap(vectors, next);
          }
          for (int64_t i = 0; i < width; ++i) {
            e.b.CreateAlignedStore(vectors[static_cast<size_t>(i)],
                                   at(store, i * store.index.coefficient_of(rows.variable)), align);
          }
          return LlvmValues{};
        });
  });
  return true;
}

}  // namespace ct::jit
