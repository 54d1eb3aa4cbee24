#include "jit/llvm/block_scope.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "jit/llvm/loops.h"
#include "runtime/error.h"

namespace ct::jit {

using loop::For;
using loop::Statement;
using loop::StatementKind;

namespace {

constexpr unsigned kSharedSpace = 3;  // PTX's address space
constexpr uint32_t kPartialBytes = kBlockThreads * 8;

}  // namespace

void BlockScope::begin_function() { shared_bytes_ = 0; }

void BlockScope::statement(const Statement& s) {
  if (s.kind == StatementKind::kHostCall) {
    throw Error(ErrorKind::kUnsupported, "'" + program_.host_calls[s.detail].name + "' runs on the host");
  }
  if (barriers_.before(s)) barrier();
  switch (share_of(program_, s)) {
    case Share::kAlike:
      if (s.kind == StatementKind::kFor) {
        const For& loop = program_.fors[s.detail];
        return emit_scalar_for(e_, loop, b_.getInt64(0), extent_of(e_, loop));
      }
      return emit_statement(e_, s);
    case Share::kFirst:
      return first_thread_only([&] { alone(s); });
    case Share::kItems:
      return items(s, {thread(), b_.getInt64(kBlockThreads)});
    case Share::kFold:
      return fold(program_.fors[s.detail]);
  }
}

void BlockScope::on_grid(const Statement& s) {
  llvm::Value* block_size = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  llvm::Value* block = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  llvm::Value* blocks = special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  items(s, {b_.CreateAdd(b_.CreateMul(block, block_size), thread()), b_.CreateMul(blocks, block_size)});
}

llvm::Value* BlockScope::special(llvm::Intrinsic::ID id) {
  return b_.CreateZExt(b_.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), {}), e_.code.i64);
}

llvm::Value* BlockScope::thread() { return special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x); }

void BlockScope::barrier() {
  if (barriers_emitted_++ == without_barrier_) return;
#if LLVM_VERSION_MAJOR >= 22
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {b_.getInt32(0)});
#else
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
#endif
}

// How much there is, is said when the kernel is launched.
llvm::Value* BlockScope::shared_memory(uint32_t offset, uint32_t bytes) {
  shared_bytes_ = std::max(shared_bytes_, offset + bytes);
  llvm::GlobalVariable* memory = e_.code.module.getGlobalVariable(kSharedMemory);
  if (memory == nullptr) {
    memory = new llvm::GlobalVariable(e_.code.module, llvm::ArrayType::get(b_.getInt8Ty(), 0), false,
                                      llvm::GlobalValue::ExternalLinkage, nullptr, kSharedMemory, nullptr,
                                      llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    memory->setAlignment(llvm::Align(16));
  }
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), memory, offset);
}

// By the thread that is here, as on a processor.
void BlockScope::alone(const Statement& s) {
  e_.scope = nullptr;
  emit_statement(e_, s);
  e_.scope = this;
}

void BlockScope::first_thread_only(llvm::function_ref<void()> body) {
  llvm::BasicBlock* inside = e_.code.new_block("first");
  llvm::BasicBlock* join = e_.code.new_block("join");
  b_.CreateCondBr(b_.CreateICmpEQ(thread(), b_.getInt64(0)), inside, join);
  b_.SetInsertPoint(inside);
  body();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
}

// ---- items ----------------------------------------------------------------------------------------------------------

void BlockScope::strided(const Stride& stride, llvm::Value* count, llvm::function_ref<void(llvm::Value*)> body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = e_.code.new_block("loop");
  llvm::BasicBlock* exit = e_.code.new_block("done");
  b_.CreateCondBr(b_.CreateICmpSLT(stride.first, count), header, exit);
  b_.SetInsertPoint(header);
  llvm::PHINode* item = b_.CreatePHI(e_.code.i64, 2);
  item->addIncoming(stride.first, before);
  body(item);
  llvm::Value* next = b_.CreateNSWAdd(item, stride.step);
  item->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, count), header, exit);
  b_.SetInsertPoint(exit);
}

void BlockScope::items(const Statement& s, const Stride& stride) {
  e_.scope = nullptr;
  if (s.kind == StatementKind::kFor) {
    loop_items(program_.fors[s.detail], stride);
  } else {
    range_items(s, stride);
  }
  e_.scope = this;
}

void BlockScope::loop_items(const For& outer, const Stride& stride) {
  const std::vector<const For*> nest = nest_of(program_, outer);
  int64_t inner_items = 1;
  for (size_t i = 1; i < nest.size(); ++i) inner_items *= nest[i]->extent.constant();
  llvm::Value* count = b_.CreateMul(uniform_index(e_, outer.extent), b_.getInt64(inner_items));
  strided(stride, count, [&](llvm::Value* item) {
    int64_t below = inner_items;
    llvm::Value* rest = item;
    for (size_t level = 0; level < nest.size(); ++level) {
      if (level > 0) below /= nest[level]->extent.constant();
      llvm::Value* divisor = b_.getInt64(below);
      e_.values.define(nest[level]->variable, below == 1 ? rest : b_.CreateUDiv(rest, divisor));
      if (below != 1) rest = b_.CreateURem(rest, divisor);
      const std::vector<Statement>& body = program_.blocks[nest[level]->body].statements;
      const size_t end = level + 1 < nest.size() ? body.size() - 1 : body.size();
      emit_statements(e_, nest[level]->body, 0, static_cast<uint32_t>(end), {});
    }
  });
}

void BlockScope::range_items(const Statement& s, const Stride& stride) {
  const loop::MemoryRange& range = program_.ranges[s.detail];
  const DType dtype = program_.buffers[range.destination].dtype;
  const int64_t parts = is_complex(dtype) ? 2 : 1;
  llvm::Type* type = memory_type(e_.code.context, real_dtype(dtype));
  llvm::Value* count = uniform_index(e_, range.count * parts);
  llvm::Value* to =
      e_.addresses.element_pointer(range.destination, uniform_index(e_, range.destination_offset * parts));
  llvm::Value* from = s.kind == StatementKind::kFill
                          ? nullptr
                          : e_.addresses.element_pointer(range.source, uniform_index(e_, range.source_offset * parts));
  llvm::Value* filling = s.bits == 0 ? llvm::Constant::getNullValue(type) : llvm::Constant::getAllOnesValue(type);
  strided(stride, count, [&](llvm::Value* i) {
    llvm::Value* value = from == nullptr ? filling : b_.CreateLoad(type, b_.CreateInBoundsGEP(type, from, i));
    b_.CreateStore(value, b_.CreateInBoundsGEP(type, to, i));
  });
}

// ---- folds ----------------------------------------------------------------------------------------------------------

// What this thread makes of its iterations: the neutral elements if it has none.
LlvmValues BlockScope::fold_some(const For& loop) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = e_.code.new_block("fold");
  llvm::BasicBlock* exit = e_.code.new_block("combine");
  llvm::Value *id = thread(), *extent = uniform_index(e_, loop.extent);
  const auto dtype = [&](const loop::Carry& carry) { return program_.values[carry.init].dtype; };
  before = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpSLT(id, extent), header, exit);
  b_.SetInsertPoint(header);
  llvm::PHINode* i = b_.CreatePHI(e_.code.i64, 2);
  i->addIncoming(id, before);
  llvm::SmallVector<llvm::PHINode*, 4> folded;
  LlvmValues neutral, next;
  for (const loop::Carry& carry : loop.carries) {
    neutral.push_back(e_.math.identity(*carry.combine, dtype(carry)));
    folded.push_back(b_.CreatePHI(neutral.back()->getType(), 2));
    folded.back()->addIncoming(neutral.back(), before);
  }
  e_.values.define(loop.variable, i);
  e_.scope = nullptr;
  emit_block(e_, loop.body);
  e_.scope = this;
  for (size_t c = 0; c < folded.size(); ++c) {
    const loop::Carry& carry = loop.carries[c];
    next.push_back(e_.math.apply(*carry.combine, dtype(carry), folded[c], value_of(e_, carry.next)));
  }
  llvm::Value* incremented = b_.CreateNSWAdd(i, b_.getInt64(kBlockThreads));
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  i->addIncoming(incremented, latch);
  for (size_t c = 0; c < folded.size(); ++c) folded[c]->addIncoming(next[c], latch);
  b_.CreateCondBr(b_.CreateICmpSLT(incremented, extent), header, exit);
  b_.SetInsertPoint(exit);
  LlvmValues partials;
  for (size_t c = 0; c < folded.size(); ++c) {
    llvm::PHINode* partial = b_.CreatePHI(next[c]->getType(), 2);
    partial->addIncoming(neutral[c], before);
    partial->addIncoming(next[c], latch);
    partials.push_back(partial);
  }
  return partials;
}

void BlockScope::fold(const For& loop) {
  const LlvmValues partials = fold_some(loop);
  for (size_t c = 0; c < loop.carries.size(); ++c) {
    combine(loop.carries[c], partials[c], static_cast<uint32_t>(c) * kPartialBytes);
  }
}

// Halves of the block against each other until one is left: the same tree for every number of iterations.
void BlockScope::combine(const loop::Carry& carry, llvm::Value* partial, uint32_t offset) {
  const DType dtype = program_.values[carry.init].dtype;
  // float16 and bfloat16 are kept as the float32 that registers hold.
  llvm::Type* type = is_float(dtype) ? register_type(e_.code.context, dtype) : memory_type(e_.code.context, dtype);
  llvm::Value *id = thread(), *shared = shared_memory(offset, kPartialBytes);
  const auto at = [&](llvm::Value* index) { return b_.CreateInBoundsGEP(type, shared, index); };
  const auto store = [&](llvm::Value* value) {
    b_.CreateStore(is_bool(dtype) ? b_.CreateZExt(value, type) : value, at(id));
  };
  const auto load = [&](llvm::Value* index) -> llvm::Value* {
    llvm::Value* value = b_.CreateLoad(type, at(index));
    return is_bool(dtype) ? b_.CreateTrunc(value, b_.getInt1Ty()) : value;
  };
  store(partial);
  barrier();
  for (int64_t half = kBlockThreads / 2; half > 0; half /= 2) {
    llvm::BasicBlock* inside = e_.code.new_block("half");
    llvm::BasicBlock* join = e_.code.new_block("join");
    b_.CreateCondBr(b_.CreateICmpSLT(id, b_.getInt64(half)), inside, join);
    b_.SetInsertPoint(inside);
    store(e_.math.apply(*carry.combine, dtype, load(id), load(b_.CreateAdd(id, b_.getInt64(half)))));
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    barrier();
  }
  e_.values.define(carry.result, e_.math.apply(*carry.combine, dtype, value_of(e_, carry.init), load(b_.getInt64(0))));
}

}  // namespace ct::jit
