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

void BlockScope::begin_function() {
  shared_bytes_ = 0;
  swapping_.clear();
}

void BlockScope::statement(const Statement& s) {
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
      return items(s, of_block());
    case Share::kFold:
      return fold(program_.fors[s.detail]);
    case Share::kTiles:
      return product(program_.gemms[s.detail]);
  }
}

void BlockScope::on_grid(const Statement& s) { items(s, of_grid()); }

BlockScope::Stride BlockScope::of_grid() {
  llvm::Value* block_size = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  llvm::Value* block = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  llvm::Value* blocks = special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  return {b_.CreateAdd(b_.CreateMul(block, block_size), thread()), b_.CreateMul(blocks, block_size)};
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
  for (size_t i = 1; i < nest.size(); ++i) inner_items *= std::max<int64_t>(nest[i]->extent.constant(), 0);
  if (inner_items == 0) return;
  llvm::Value* count = b_.CreateMul(uniform_index(e_, outer.extent), b_.getInt64(inner_items));
  strided(stride, count, [&](llvm::Value* item) { item_of(nest, item); });
}

// The iteration of this number, in row-major order.
void BlockScope::item_of(absl::Span<const For* const> nest, llvm::Value* number) {
  int64_t below = 1;
  for (size_t i = 1; i < nest.size(); ++i) below *= nest[i]->extent.constant();
  llvm::Value* rest = number;
  for (size_t level = 0; level < nest.size(); ++level) {
    if (level > 0) below /= nest[level]->extent.constant();
    llvm::Value* divisor = b_.getInt64(below);
    e_.values.define(nest[level]->variable, below == 1 ? rest : b_.CreateUDiv(rest, divisor));
    if (below != 1) rest = b_.CreateURem(rest, divisor);
    const std::vector<Statement>& body = program_.blocks[nest[level]->body].statements;
    const size_t end = level + 1 < nest.size() ? body.size() - 1 : body.size();
    emit_statements(e_, nest[level]->body, 0, static_cast<uint32_t>(end), {});
  }
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

void BlockScope::copy(llvm::Type* type, llvm::Value* to, llvm::Value* from, llvm::Value* count) {
  strided(of_block(), count, [&](llvm::Value* i) {
    b_.CreateStore(b_.CreateLoad(type, b_.CreateInBoundsGEP(type, from, i)), b_.CreateInBoundsGEP(type, to, i));
  });
}

// ---- swaps ----------------------------------------------------------------------------------------------------------

void BlockScope::exchange(loop::BufferId of, llvm::Value* a, llvm::Value* b, const Stride& stride) {
  const loop::Buffer& buffer = program_.buffers[of];
  llvm::Type* type = memory_type(e_.code.context, real_dtype(buffer.dtype));
  strided(stride, b_.getInt64(buffer.elements * (is_complex(buffer.dtype) ? 2 : 1)), [&](llvm::Value* i) {
    llvm::Value *at_a = b_.CreateInBoundsGEP(type, a, i), *at_b = b_.CreateInBoundsGEP(type, b, i);
    llvm::Value *of_a = b_.CreateLoad(type, at_a), *of_b = b_.CreateLoad(type, at_b);
    b_.CreateStore(of_b, at_a);
    b_.CreateStore(of_a, at_b);
  });
}

void BlockScope::exchange_on_grid(loop::BufferId a, loop::BufferId b) {
  exchange(a, e_.addresses.base(a), e_.addresses.base(b), of_grid());
}

bool BlockScope::end_swaps() {
  for (const Swapping& group : swapping_) end_swaps(group);
  return !swapping_.empty();
}

// One array after the other: whoever is where it was gives way. The last one is where it was when all others are.
void BlockScope::end_swaps(const Swapping& group) {
  for (size_t i = 0; i + 1 < group.size(); ++i) {
    const auto& [id, home] = group[i];
    llvm::Value* is = e_.addresses.base(id);
    llvm::BasicBlock* away = e_.code.new_block("away");
    llvm::BasicBlock* join = e_.code.new_block("join");
    b_.CreateCondBr(b_.CreateICmpNE(is, home), away, join);
    b_.SetInsertPoint(away);
    if (i > 0 || barriers_.is_pending(id)) barrier();
    exchange(id, is, home, of_block());
    for (const auto& [other, unused] : group) {
      llvm::Value* at = e_.addresses.base(other);
      e_.addresses.keep(other, b_.CreateSelect(b_.CreateICmpEQ(at, home), is, at));
    }
    e_.addresses.keep(id, home);
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
  }
}

// ---- folds ----------------------------------------------------------------------------------------------------------

// What this thread makes of its iterations: the neutral elements if it has none.
LlvmValues BlockScope::fold_some(const For& loop, const Stride& stride) {
  llvm::Value* extent = uniform_index(e_, loop.extent);
  const auto dtype = [&](const loop::Carry& carry) { return program_.values[carry.init].dtype; };
  LlvmValues neutral;
  for (const loop::Carry& carry : loop.carries) neutral.push_back(e_.math.identity(*carry.combine, dtype(carry)));
  const auto combine_two = [&](size_t c, llvm::Value* a, llvm::Value* b) { return combined(loop.carries[c], a, b); };
  const auto step = [&](llvm::Value* number, const LlvmValues& folded) {
    e_.values.define(loop.variable, b_.CreateNSWAdd(stride.first, b_.CreateNSWMul(number, stride.step)));
    e_.scope = nullptr;
    emit_block(e_, loop.body);
    e_.scope = this;
    LlvmValues next;
    for (size_t c = 0; c < folded.size(); ++c) {
      next.push_back(combine_two(c, folded[c], value_of(e_, loop.carries[c].next)));
    }
    return next;
  };
  // Of this thread: the first one, and those that are whole strides behind it.
  llvm::Value* behind =
      b_.CreateNSWSub(b_.CreateNSWAdd(extent, stride.step), b_.CreateNSWAdd(stride.first, b_.getInt64(1)));
  llvm::Value* count = b_.CreateSDiv(behind, stride.step);
  const int64_t iterations = loop.extent.is_constant() ? loop.extent.constant() / kBlockThreads : kUnknownIterations;
  const int64_t span = span_of(e_, loop, iterations);
  return span == 0 ? e_.code.run_loop(b_.getInt64(0), count, 1, neutral, step)
                   : e_.code.run_in_spans(b_.getInt64(0), count, 1, span, neutral, neutral, step, combine_two);
}

void BlockScope::fold(const For& loop) {
  const LlvmValues partials = fold_some(loop, of_block());
  for (size_t c = 0; c < loop.carries.size(); ++c) {
    end_fold(loop.carries[c], combine(loop.carries[c], partials[c], static_cast<uint32_t>(c) * kPartialBytes));
  }
}

// float16 and bfloat16 are kept as the float32 that registers hold.
llvm::Type* BlockScope::part_type(const loop::Carry& carry) const {
  const DType dtype = program_.values[carry.init].dtype;
  return is_float(dtype) ? register_type(e_.code.context, dtype) : memory_type(e_.code.context, dtype);
}

llvm::Value* BlockScope::load_part(const loop::Carry& carry, llvm::Value* address) {
  llvm::Value* value = b_.CreateLoad(part_type(carry), address);
  return is_bool(program_.values[carry.init].dtype) ? b_.CreateTrunc(value, b_.getInt1Ty()) : value;
}

void BlockScope::store_part(const loop::Carry& carry, llvm::Value* is, llvm::Value* address) {
  b_.CreateStore(is_bool(program_.values[carry.init].dtype) ? b_.CreateZExt(is, part_type(carry)) : is, address);
}

// Halves of the block against each other until one is left: the same tree for every number of iterations.
llvm::Value* BlockScope::combine(const loop::Carry& carry, llvm::Value* partial, uint32_t offset) {
  llvm::Value *id = thread(), *shared = shared_memory(offset, kPartialBytes);
  const auto at = [&](llvm::Value* index) { return b_.CreateInBoundsGEP(part_type(carry), shared, index); };
  const auto load = [&](llvm::Value* index) { return load_part(carry, at(index)); };
  store_part(carry, partial, at(id));
  barrier();
  for (int64_t half = kBlockThreads / 2; half > 0; half /= 2) {
    llvm::BasicBlock* inside = e_.code.new_block("half");
    llvm::BasicBlock* join = e_.code.new_block("join");
    b_.CreateCondBr(b_.CreateICmpSLT(id, b_.getInt64(half)), inside, join);
    b_.SetInsertPoint(inside);
    store_part(carry, combined(carry, load(id), load(b_.CreateAdd(id, b_.getInt64(half)))), at(id));
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    barrier();
  }
  return load(b_.getInt64(0));
}

llvm::Value* BlockScope::combined(const loop::Carry& carry, llvm::Value* a, llvm::Value* b) {
  return e_.math.apply(*carry.combine, program_.values[carry.init].dtype, a, b);
}

void BlockScope::end_fold(const loop::Carry& carry, llvm::Value* folded) {
  e_.values.define(carry.result, combined(carry, value_of(e_, carry.init), folded));
}

// ---- folds of a grid ------------------------------------------------------------------------------------------------

llvm::Value* BlockScope::part(const Parts& parts, size_t carry, llvm::Value* block) {
  const int64_t position = parts.position + 8 * parts.blocks * static_cast<int64_t>(carry);
  return b_.CreateInBoundsGEP(e_.code.i64, e_.code.arena_at(position), block);
}

void BlockScope::leave_parts(const Parts& parts) {
  const For& loop = program_.fors[parts.fold->detail];
  const LlvmValues partials = fold_some(loop, of_grid());
  LlvmValues folded;
  for (size_t c = 0; c < loop.carries.size(); ++c) {
    folded.push_back(combine(loop.carries[c], partials[c], static_cast<uint32_t>(c) * kPartialBytes));
  }
  llvm::Value* block = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  first_thread_only([&] {
    for (size_t c = 0; c < loop.carries.size(); ++c) store_part(loop.carries[c], folded[c], part(parts, c, block));
  });
}

// Each thread takes one part; those without take what changes nothing.
void BlockScope::put_together(const Parts& parts) {
  const For& loop = program_.fors[parts.fold->detail];
  for (size_t c = 0; c < loop.carries.size(); ++c) {
    const loop::Carry& carry = loop.carries[c];
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* inside = e_.code.new_block("part");
    llvm::BasicBlock* join = e_.code.new_block("join");
    llvm::Value* neutral = e_.math.identity(*carry.combine, program_.values[carry.init].dtype);
    b_.CreateCondBr(b_.CreateICmpSLT(thread(), b_.getInt64(parts.blocks)), inside, join);
    b_.SetInsertPoint(inside);
    llvm::Value* own = load_part(carry, part(parts, c, thread()));
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    llvm::PHINode* partial = b_.CreatePHI(neutral->getType(), 2);
    partial->addIncoming(neutral, before);
    partial->addIncoming(own, inside);
    end_fold(carry, combine(carry, partial, static_cast<uint32_t>(c) * kPartialBytes));
  }
}

}  // namespace ct::jit
