// Results that are larger than the caches, and that the program does not read again, are stored past them where they
// are aligned (`in_both_ways`): otherwise each line is first read from memory, only to be overwritten. Such stores are
// not ordered with others, so a fence follows the outermost loop, or the range of it that one thread runs.
#include "jit/llvm/streams.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <utility>

#include "jit/llvm/emission.h"
#include "jit/loop/visit.h"
#include "runtime/processor.h"

namespace ct::jit {

using loop::BufferId;
using loop::BufferKind;
using loop::For;
using loop::Statement;
using loop::StatementKind;

namespace {

// Shorter rows that end inside of a line are not stored past the caches: the rest of the line is stored apart, which
// takes longer than to read it (measured: 0.35 µs a row, three times as long as usual for rows of 4,000 bytes).
constexpr int64_t kLongRow = 64 << 10;

bool is_large_result(const loop::Buffer& buffer) {
  return buffer.kind == BufferKind::kOutput && !is_complex(buffer.dtype) &&
         buffer.elements * dtype_size(buffer.dtype) >= kProcessor.past_caches;
}

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
    result[id] = stores[id] == 1 && !touched[id];
  }
  return result;
}

}  // namespace

bool streams(Emission& e, BufferId buffer) {
  if (e.code.facts.arch != TargetFacts::Arch::kX86 || e.code.facts.vector_bits < 256) return false;
  if (!is_large_result(e.program.buffers[buffer])) return false;
  if (e.streams.written_once.empty()) e.streams.written_once = written_once(e.program);
  return e.streams.written_once[buffer];
}

bool fills_lines(const For& loop, const Statement& store) {
  const auto size = static_cast<int64_t>(dtype_size(store.dtype));
  if (!loop.extent.is_constant() || loop.extent.constant() * size >= kLongRow) return true;
  bool whole = loop.extent.constant() * size % kProcessor.line == 0;
  loop::visit_index(store.index, [&](loop::Value value) {
    whole = whole && (value == loop.variable || store.index.coefficient_of(value) * size % kProcessor.line == 0);
  });
  return whole;
}

bool streams_from(Emission& e, const For& loop, unsigned width) {
  bool any = false;
  for (const Statement& s : e.program.blocks[loop.body].statements) {
    if (s.kind != StatementKind::kStore || !streams(e, s.buffer)) continue;
    if (width * dtype_size(s.dtype) * 8 < static_cast<unsigned>(e.code.facts.vector_bits)) return false;
    // What the address depends on is known before the loop.
    bool known = s.index.coefficient_of(loop.variable) == 1;
    loop::visit_index(s.index, [&](loop::Value value) { known = known && value <= loop.variable; });
    if (!known || !fills_lines(loop, s)) return false;
    any = true;
  }
  return any;
}

void store_past_caches(Emission& e, llvm::Value* stored, llvm::Value* pointer) {
  llvm::StoreInst* store = e.b.CreateAlignedStore(stored, pointer, llvm::Align(static_cast<uint64_t>(kProcessor.line)));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                     llvm::MDNode::get(e.code.context, llvm::ConstantAsMetadata::get(e.b.getInt32(1))));
  e.streams.pending = true;
}

LlvmValues in_both_ways(Emission& e, const For& loop, llvm::Value* begin, const LlvmValues& sums,
                        llvm::function_ref<LlvmValues(const LlvmValues&)> emit) {
  e.values.define(loop.variable, begin);
  llvm::Value* bits = e.b.getInt64(0);
  for (const Statement& s : e.program.blocks[loop.body].statements) {
    if (s.kind != StatementKind::kStore || !streams(e, s.buffer)) continue;
    llvm::Value* pointer = e.addresses.element_pointer(s.buffer, address_of(e, s.index).uniform);
    bits = e.b.CreateOr(bits, e.b.CreatePtrToInt(pointer, e.code.i64));
  }
  llvm::BasicBlock* past = e.code.new_block("past.caches");
  llvm::BasicBlock* usual = e.code.new_block("usual");
  llvm::BasicBlock* joined = e.code.new_block("stored");
  e.b.CreateCondBr(e.b.CreateICmpEQ(e.b.CreateAnd(bits, e.b.getInt64(kProcessor.line - 1)), e.b.getInt64(0)), past,
                   usual);
  e.b.SetInsertPoint(past);
  e.streams.active = true;
  const LlvmValues first = emit(sums);
  e.streams.active = false;
  llvm::BasicBlock* past_end = e.b.GetInsertBlock();
  e.b.CreateBr(joined);
  e.b.SetInsertPoint(usual);
  const LlvmValues second = emit(sums);
  llvm::BasicBlock* usual_end = e.b.GetInsertBlock();
  e.b.CreateBr(joined);
  e.b.SetInsertPoint(joined);
  LlvmValues result;
  for (size_t i = 0; i < first.size(); ++i) {
    llvm::PHINode* phi = e.b.CreatePHI(first[i]->getType(), 2);
    phi->addIncoming(first[i], past_end);
    phi->addIncoming(second[i], usual_end);
    result.push_back(phi);
  }
  return result;
}

void finish_streams(Emission& e) {
  if (std::exchange(e.streams.pending, false)) {
    e.b.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<llvm::Value*>());
  }
}

}  // namespace ct::jit
