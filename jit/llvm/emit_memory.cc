// Two things about memory that loops are emitted with.
//
// Results that are larger than the caches, and that the program does not read again, are stored past them where they
// are aligned (`in_both_ways`): otherwise each line is first read from memory, only to be overwritten. Such stores are
// not ordered with others, so a fence follows the outermost loop, or the range of it that one thread runs.
//
// Copies of blocks that turn rows into columns (schedule/order.cc makes them) go through registers
// (`emit_transposed_copy`): a square of vectors is read along rows, transposed by shuffles, and written along what were
// columns.
#include <llvm/IR/IntrinsicsX86.h>

#include <bit>
#include <utility>

#include "jit/llvm/emit.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::BufferId;
using loop::BufferKind;
using loop::For;
using loop::Index;
using loop::Statement;
using loop::StatementKind;

namespace {

// About what the last level of caches holds for one program.
constexpr int64_t kPastCaches = 16 << 20;
constexpr int64_t kLine = 64;
// Shorter rows that end inside of a line are not stored past the caches: the rest of the line is stored apart, which
// takes longer than to read it (measured: 0.35 µs a row, three times as long as usual for rows of 4,000 bytes).
constexpr int64_t kLongRow = 64 << 10;

// The buffers that one statement of the program stores to, and nothing else touches.
std::vector<bool> written_once(const loop::Program& program) {
  std::vector<int> stores(program.buffers.size(), 0);
  std::vector<bool> touched(program.buffers.size(), false);
  loop::visit_statements(program, 0, [&](const Statement& s) {
    loop::visit_buffers(program, s, [&](BufferId id, bool) {
      if (s.kind == StatementKind::kStore) {
        ++stores[id];
      } else {
        touched[id] = true;
      }
    });
  });
  std::vector<bool> result(program.buffers.size());
  for (BufferId id = 0; id < program.buffers.size(); ++id) {
    const loop::Buffer& buffer = program.buffers[id];
    result[id] = stores[id] == 1 && !touched[id] && buffer.kind == BufferKind::kOutput && !is_complex(buffer.dtype) &&
                 buffer.elements * dtype_size(buffer.dtype) >= kPastCaches;
  }
  return result;
}

}  // namespace

bool Emitter::streams(BufferId buffer) {
  if (facts_.arch != TargetFacts::Arch::kX86 || facts_.vector_bits < 256) return false;
  if (streams_.empty()) streams_ = written_once(program_);
  return streams_[buffer];
}

// Whether the loop's stores fill lines, but for a few.
bool Emitter::fills_lines(const For& loop, const Statement& store) const {
  const auto size = static_cast<int64_t>(dtype_size(store.dtype));
  if (!loop.extent.is_constant() || loop.extent.constant() * size >= kLongRow) return true;
  bool whole = loop.extent.constant() * size % kLine == 0;
  loop::visit_index(store.index, [&](loop::Value value) {
    whole = whole && (value == loop.variable || store.index.coefficient_of(value) * size % kLine == 0);
  });
  return whole;
}

// Whether whole vectors of the loop store to such buffers.
bool Emitter::streams_from(const For& loop, unsigned width) {
  bool any = false;
  for (const Statement& s : program_.blocks[loop.body].statements) {
    if (s.kind != StatementKind::kStore || !streams(s.buffer)) continue;
    if (width * dtype_size(s.dtype) * 8 < static_cast<unsigned>(facts_.vector_bits)) return false;
    // What the address depends on is known before the loop.
    bool known = s.index.coefficient_of(loop.variable) == 1;
    loop::visit_index(s.index, [&](loop::Value value) { known = known && value <= loop.variable; });
    if (!known || !fills_lines(loop, s)) return false;
    any = true;
  }
  return any;
}

void Emitter::store_past_caches(llvm::Value* stored, llvm::Value* pointer) {
  llvm::StoreInst* store = b_.CreateAlignedStore(stored, pointer, llvm::Align(static_cast<uint64_t>(kLine)));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                     llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
  stores_pending_ = true;
}

// The loop's vectors, storing past the caches where all that they store is aligned, or else as usual.
Emitter::Values Emitter::in_both_ways(const For& loop, llvm::Value* begin, const Values& sums,
                                      llvm::function_ref<Values(const Values&)> emit) {
  define(loop.variable, begin);
  llvm::Value* bits = b_.getInt64(0);
  for (const Statement& s : program_.blocks[loop.body].statements) {
    if (s.kind != StatementKind::kStore || !streams(s.buffer)) continue;
    llvm::Value* pointer = element_pointer(s.buffer, address(s.index).uniform);
    bits = b_.CreateOr(bits, b_.CreatePtrToInt(pointer, i64_));
  }
  llvm::BasicBlock* past = new_block("past.caches");
  llvm::BasicBlock* usual = new_block("usual");
  llvm::BasicBlock* joined = new_block("stored");
  b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(bits, b_.getInt64(kLine - 1)), b_.getInt64(0)), past, usual);
  b_.SetInsertPoint(past);
  streaming_ = true;
  const Values first = emit(sums);
  streaming_ = false;
  llvm::BasicBlock* past_end = b_.GetInsertBlock();
  b_.CreateBr(joined);
  b_.SetInsertPoint(usual);
  const Values second = emit(sums);
  llvm::BasicBlock* usual_end = b_.GetInsertBlock();
  b_.CreateBr(joined);
  b_.SetInsertPoint(joined);
  Values result;
  for (size_t i = 0; i < first.size(); ++i) {
    llvm::PHINode* phi = b_.CreatePHI(first[i]->getType(), 2);
    phi->addIncoming(first[i], past_end);
    phi->addIncoming(second[i], usual_end);
    result.push_back(phi);
  }
  return result;
}

void Emitter::finish_streams() {
  if (std::exchange(stores_pending_, false)) {
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<llvm::Value*>());
  }
}

bool Emitter::emit_transposed_copy(const For& outer) {
  if (lanes_.width != 0 || facts_.vector_bits == 0 || !outer.carries.empty() || !outer.extent.is_constant()) {
    return false;
  }
  const auto& body = program_.blocks[outer.body].statements;
  if (body.size() != 1 || body[0].kind != StatementKind::kFor || !outline_.calls_in(outer.body).empty()) return false;
  const For& inner = program_.fors[body[0].detail];
  const auto& work = program_.blocks[inner.body].statements;
  if (!inner.options.vectorize || !inner.carries.empty() || !inner.extent.is_constant() || work.size() != 2 ||
      work[0].kind != StatementKind::kLoad || work[1].kind != StatementKind::kStore ||
      work[1].operands[0] != work[0].result) {
    return false;
  }
  const Statement &load = work[0], &store = work[1];
  // Rows are what is read; columns what is written.
  const bool along_rows = load.index.coefficient_of(inner.variable) == 1;
  const For &rows = along_rows ? inner : outer, &columns = along_rows ? outer : inner;
  const loop::Buffer &from = program_.buffers[load.buffer], &to = program_.buffers[store.buffer];
  const DType dtype = load.dtype;
  bool plain = store.dtype == dtype && from.dtype != DType::kKey && to.dtype != DType::kKey &&
               load.index.coefficient_of(rows.variable) == 1 && store.index.coefficient_of(columns.variable) == 1;
  for (const Index* index : {&load.index, &store.index}) {
    loop::visit_index(
        *index, [&](loop::Value value) { plain = plain && (value <= outer.variable || value == inner.variable); });
  }
  const int64_t size = dtype_size(dtype);
  const int64_t both = rows.extent.constant() | columns.extent.constant();
  const int64_t width = std::min(both & -both, facts_.vector_bits / 8 / size);
  if (!plain || size < 4 || width < 4) return false;

  llvm::Type* element = memory_type(context_, dtype);
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(width));
  const llvm::Align align(static_cast<uint64_t>(size));
  llvm::SmallVector<int, 16> low, high;
  for (int i = 0; i < width; ++i) {
    low.push_back(i / 2 + (i % 2) * static_cast<int>(width));
    high.push_back(static_cast<int>(width) / 2 + i / 2 + (i % 2) * static_cast<int>(width));
  }
  const double time = time_if_long(outer) * static_cast<double>(width);
  const auto begin = b_.getInt64(0), end = b_.getInt64(outer.extent.constant());
  run_long_loop(begin, end, width, {}, time, [&](llvm::Value* first, const Values&) {
    define(outer.variable, first);
    return run_loop(
        b_.getInt64(0), b_.getInt64(inner.extent.constant()), width, {}, [&](llvm::Value* second, const Values&) {
          define(inner.variable, second);
          const auto at = [&](const Statement& s, int64_t step) {
            return element_pointer(s.buffer, b_.CreateAdd(address(s.index).uniform, b_.getInt64(step)));
          };
          llvm::SmallVector<llvm::Value*, 16> vectors, next(static_cast<size_t>(width));
          for (int64_t i = 0; i < width; ++i) {
            vectors.push_back(
                b_.CreateAlignedLoad(vector, at(load, i * load.index.coefficient_of(columns.variable)), align));
          }
          // As often as the width can be halved: the first half of the vectors zipped with the second half.
          for (int64_t left = width; left > 1; left /= 2) {
            for (size_t i = 0; i < static_cast<size_t>(width) / 2; ++i) {
              llvm::Value *a = vectors[i], *b = vectors[i + static_cast<size_t>(width) / 2];
              next[2 * i] = b_.CreateShuffleVector(a, b, low);
              next[2 * i + 1] = b_.CreateShuffleVector(a, b, high);
            }
            std::swap(vectors, next);
          }
          for (int64_t i = 0; i < width; ++i) {
            b_.CreateAlignedStore(vectors[static_cast<size_t>(i)],
                                  at(store, i * store.index.coefficient_of(rows.variable)), align);
          }
          return Values{};
        });
  });
  return true;
}

}  // namespace ct::jit
