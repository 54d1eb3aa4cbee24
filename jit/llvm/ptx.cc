// Loop programs as CUDA kernels.
//
// A top-level loop whose iterations are independent becomes a kernel of its own: its items, and those of loops directly
// inside it, are numbered through and shared out by a grid-stride loop. What is between such loops (reductions, scalar
// code and stores after them) becomes kernels of one block: all threads compute the scalar code, share the iterations
// of independent loops, combine reductions through shared memory in a fixed order, and the first thread stores.
// Top-level constants and index arithmetic are repeated in every kernel that needs them.
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Verifier.h>

#include <algorithm>
#include <set>

#include "jit/llvm/emit.h"
#include "jit/loop/visit.h"
#include "runtime/error.h"

namespace ct::jit {

using loop::Buffer;
using loop::BufferKind;
using loop::For;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

namespace {

constexpr int64_t kBlockThreads = 256, kMostBlocks = 65535;

// All inputs, all outputs and the arena: what every kernel is given.
std::vector<PlanBuffer> buffers_of(const loop::Program& program) {
  std::vector<PlanBuffer> inputs, outputs;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind != BufferKind::kInput && buffer.kind != BufferKind::kOutput) continue;
    const bool input = buffer.kind == BufferKind::kInput;
    std::vector<PlanBuffer>& list = input ? inputs : outputs;
    list.resize(std::max(list.size(), static_cast<size_t>(buffer.position) + 1));
    list[static_cast<size_t>(buffer.position)] = {.kind = input ? PlanBuffer::Kind::kInput : PlanBuffer::Kind::kOutput,
                                                  .position = static_cast<int32_t>(buffer.position),
                                                  .offset = 0,
                                                  .bytes = buffer.elements * dtype_size(buffer.dtype)};
  }
  inputs.insert(inputs.end(), outputs.begin(), outputs.end());
  inputs.push_back({.kind = PlanBuffer::Kind::kArena, .position = 0, .offset = 0, .bytes = program.arena_bytes});
  return inputs;
}

}  // namespace

class KernelEmitter {
 public:
  explicit KernelEmitter(CpuEmission& e) : e_(e), b_(e.b), program_(e.program) {}

  // One after the other into the module; the steps are without their arguments.
  absl::Status emit(std::vector<KernelStep>& kernels);

 private:
  static bool is_independent(const For& loop) {
    return loop.carries.empty() && (loop.options.parallel || loop.options.vectorize);
  }
  bool repeats(const Statement& s) const;
  bool stands_alone(const Statement& s) const;
  bool uses_only(const Statement& s, llvm::function_ref<bool(Value)> known) const;
  void begin_kernel();
  // `items` are shared out by a grid-stride loop over any grid; at most as many threads are of use. 0: exactly one
  // block reduces together.
  void end_kernel(int64_t items);
  void grid_loop(const For& loop);
  void grid_range(const Statement& s);
  void block_statement(const Statement& s);
  void block_reduction(const For& loop);
  void strided(llvm::Value* first, llvm::Value* count, llvm::Value* stride,
               llvm::function_ref<void(llvm::Value*)> body);
  void first_thread_only(llvm::function_ref<void()> body);
  void barrier() {
#if LLVM_VERSION_MAJOR >= 22
    b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {b_.getInt32(0)});
#else
    b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
#endif
  }
  llvm::Value* special(llvm::Intrinsic::ID id) {
    return b_.CreateZExt(b_.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), {}), e_.code.i64);
  }
  llvm::Value* thread() { return special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x); }

  CpuEmission& e_;
  llvm::IRBuilder<>& b_;
  const loop::Program& program_;
  std::vector<const Statement*> repeated_;
  std::set<Value> known_everywhere_;
  std::vector<KernelStep>* kernels_ = nullptr;
  bool open_ = false;  // a kernel of one block is being emitted
};

// Cheap, and the same whenever it is computed.
bool KernelEmitter::repeats(const Statement& s) const {
  if (!loop::is_instruction(s)) return false;
  if (s.kind == StatementKind::kLoad && program_.buffers[s.buffer].kind != BufferKind::kInput &&
      program_.buffers[s.buffer].kind != BufferKind::kConstant) {
    return false;
  }
  bool all_known = true;
  loop::visit_inputs(program_, s, [&](Value value) { all_known = all_known && known_everywhere_.count(value) != 0; });
  return all_known;
}

bool KernelEmitter::stands_alone(const Statement& s) const {
  bool is_range = s.kind == StatementKind::kFill || s.kind == StatementKind::kCopy;
  if (!is_range && !(s.kind == StatementKind::kFor && is_independent(program_.fors[s.detail]))) return false;
  return uses_only(s, [&](Value value) { return known_everywhere_.count(value) != 0; });
}

// Whether every value that the statement, or a block inside it, takes from outside satisfies `known`.
bool KernelEmitter::uses_only(const Statement& s, llvm::function_ref<bool(Value)> known) const {
  std::set<Value> inside;
  bool all_known = true;
  auto use = [&](Value value) { all_known = all_known && (inside.count(value) != 0 || known(value)); };
  auto define = [&](Value value) { inside.insert(value); };
  loop::visit_inputs(program_, s, use);
  loop::visit_arguments(program_, s, define);
  loop::visit_blocks_of(program_, s, [&](loop::BlockId block) {
    loop::visit_statements(program_, block, [&](const Statement& inner) {
      loop::visit_inputs(program_, inner, use);
      loop::visit_arguments(program_, inner, define);
      loop::visit_results(program_, inner, define);
    });
  });
  return all_known;
}

void KernelEmitter::begin_kernel() {
  std::vector<llvm::Type*> parameters;
  int inputs = 0, outputs = 0;
  for (const Buffer& buffer : program_.buffers) {
    inputs += buffer.kind == BufferKind::kInput;
    outputs += buffer.kind == BufferKind::kOutput;
  }
  parameters.assign(inputs + outputs + 1, b_.getPtrTy());
  std::string name = "kernel" + std::to_string(kernels_->size());
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), parameters, false),
                                          llvm::GlobalValue::ExternalLinkage, name, e_.code.module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  e_.code.target.set_attributes(function);
  begin_function(e_, function);
  e_.code.arena = function->getArg(inputs + outputs);
  for (loop::BufferId id = 0; id < program_.buffers.size(); ++id) {
    const Buffer& buffer = program_.buffers[id];
    if (buffer.kind == BufferKind::kInput) e_.addresses.set_base(id, function->getArg(buffer.position));
    if (buffer.kind == BufferKind::kOutput) e_.addresses.set_base(id, function->getArg(inputs + buffer.position));
    if (buffer.kind == BufferKind::kTemporary) {
      e_.addresses.set_base(id, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), e_.code.arena, buffer.position));
    }
  }
  kernels_->push_back(
      {.code = 0, .symbol = name, .blocks = 1, .threads = static_cast<uint32_t>(kBlockThreads), .arguments = {}});
  for (const Statement* s : repeated_) emit_statement(e_, *s);
}

void KernelEmitter::end_kernel(int64_t items) {
  b_.CreateRetVoid();
  kernels_->back().blocks =
      static_cast<uint32_t>(std::clamp<int64_t>(items / kBlockThreads + (items % kBlockThreads != 0), 1, kMostBlocks));
}

void KernelEmitter::strided(llvm::Value* first, llvm::Value* count, llvm::Value* stride,
                            llvm::function_ref<void(llvm::Value*)> body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = e_.code.new_block("loop");
  llvm::BasicBlock* exit = e_.code.new_block("done");
  b_.CreateCondBr(b_.CreateICmpSLT(first, count), header, exit);
  b_.SetInsertPoint(header);
  llvm::PHINode* item = b_.CreatePHI(e_.code.i64, 2);
  item->addIncoming(first, before);
  body(item);
  llvm::Value* next = b_.CreateNSWAdd(item, stride);
  item->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, count), header, exit);
  b_.SetInsertPoint(exit);
}

// Loops directly inside one another, with nothing but instructions before the inner one, are one range of items.
void KernelEmitter::grid_loop(const For& outer) {
  std::vector<const For*> nest = {&outer};
  for (;;) {
    const std::vector<Statement>& body = program_.blocks[nest.back()->body].statements;
    if (body.empty() || body.back().kind != StatementKind::kFor) break;
    const For& inner = program_.fors[body.back().detail];
    bool only_instructions = true;
    for (size_t i = 0; i + 1 < body.size(); ++i) only_instructions = only_instructions && loop::is_instruction(body[i]);
    if (!only_instructions || !is_independent(inner) || !inner.extent.is_constant()) break;
    nest.push_back(&inner);
  }
  llvm::Value* outer_extent = uniform_index(e_, outer.extent);
  int64_t inner_items = 1;
  for (size_t i = 1; i < nest.size(); ++i) inner_items *= nest[i]->extent.constant();
  llvm::Value* items = b_.CreateMul(outer_extent, b_.getInt64(inner_items));
  llvm::Value* block = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  llvm::Value* block_size = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  llvm::Value* blocks = special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  llvm::Value* first = b_.CreateAdd(b_.CreateMul(block, block_size), thread());
  strided(first, items, b_.CreateMul(blocks, block_size), [&](llvm::Value* item) {
    int64_t below = inner_items;
    llvm::Value* rest = item;
    for (size_t level = 0; level < nest.size(); ++level) {
      if (level > 0) below /= nest[level]->extent.constant();
      llvm::Value* divisor = b_.getInt64(below);
      e_.values.define(nest[level]->variable, below == 1 ? rest : b_.CreateUDiv(rest, divisor));
      if (below != 1) rest = b_.CreateURem(rest, divisor);
      const std::vector<Statement>& body = program_.blocks[nest[level]->body].statements;
      size_t count = level + 1 < nest.size() ? body.size() - 1 : body.size();
      for (size_t i = 0; i < count; ++i) emit_statement(e_, body[i]);
    }
  });
  int64_t most = program_.range_of(outer.extent).high;
  end_kernel(most == INT64_MAX ? INT64_MAX : std::max<int64_t>(most * inner_items, 1));
}

void KernelEmitter::grid_range(const Statement& s) {
  const loop::MemoryRange& range = program_.ranges[s.detail];
  DType dtype = program_.buffers[range.destination].dtype;
  int64_t parts = is_complex(dtype) ? 2 : 1;
  llvm::Type* type = memory_type(e_.code.context, real_dtype(dtype));
  llvm::Value* count = uniform_index(e_, range.count * parts);
  llvm::Value* to =
      e_.addresses.element_pointer(range.destination, uniform_index(e_, range.destination_offset * parts));
  llvm::Value* from = s.kind == StatementKind::kFill
                          ? nullptr
                          : e_.addresses.element_pointer(range.source, uniform_index(e_, range.source_offset * parts));
  llvm::Value* block_size = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  llvm::Value* first =
      b_.CreateAdd(b_.CreateMul(special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x), block_size), thread());
  strided(first, count, b_.CreateMul(special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x), block_size),
          [&](llvm::Value* i) {
            llvm::Value* value =
                from == nullptr
                    ? (s.bits == 0 ? llvm::Constant::getNullValue(type) : llvm::Constant::getAllOnesValue(type))
                    : static_cast<llvm::Value*>(b_.CreateLoad(type, b_.CreateInBoundsGEP(type, from, i)));
            b_.CreateStore(value, b_.CreateInBoundsGEP(type, to, i));
          });
  int64_t most = program_.range_of(range.count).high;
  end_kernel(most == INT64_MAX ? INT64_MAX : std::max<int64_t>(most * parts, 1));
}

void KernelEmitter::first_thread_only(llvm::function_ref<void()> body) {
  llvm::BasicBlock* inside = e_.code.new_block("first");
  llvm::BasicBlock* join = e_.code.new_block("join");
  b_.CreateCondBr(b_.CreateICmpEQ(thread(), b_.getInt64(0)), inside, join);
  b_.SetInsertPoint(inside);
  body();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  barrier();
}

void KernelEmitter::block_statement(const Statement& s) {
  if (loop::is_instruction(s)) return emit_statement(e_, s);
  if (s.kind == StatementKind::kFor) {
    const For& loop = program_.fors[s.detail];
    bool combines = !loop.carries.empty();
    for (const loop::Carry& carry : loop.carries) combines = combines && carry.combine.has_value();
    bool shared = loop.options.parallel || loop.options.vectorize;
    if (combines && shared) return block_reduction(loop);
    if (is_independent(loop)) {
      strided(thread(), uniform_index(e_, loop.extent), b_.getInt64(kBlockThreads), [&](llvm::Value* i) {
        e_.values.define(loop.variable, i);
        emit_block(e_, loop.body);
      });
      return barrier();
    }
  }
  // Sequential code that hands out scalars is run by every thread alike; what stores must not be.
  bool stores = false, yields = false;
  auto look = [&](const Statement& inner) {
    stores = stores || inner.kind == StatementKind::kStore || inner.kind == StatementKind::kFill ||
             inner.kind == StatementKind::kCopy;
  };
  look(s);
  loop::visit_blocks_of(program_, s, [&](loop::BlockId block) { loop::visit_statements(program_, block, look); });
  loop::visit_results(program_, s, [&](Value) { yields = true; });
  if (stores && yields)
    throw Error(ErrorKind::kUnsupported, "a loop that both stores and carries scalars has no GPU kernel yet");
  if (!stores) return emit_statement(e_, s);
  first_thread_only([&] { emit_statement(e_, s); });
}

// Each thread reduces every 256th iteration; then halves of the block combine until one value is left.
void KernelEmitter::block_reduction(const For& loop) {
  llvm::Value* id = thread();
  auto dtype = [&](const loop::Carry& carry) { return program_.values[carry.init].dtype; };
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = e_.code.new_block("reduce");
  llvm::BasicBlock* exit = e_.code.new_block("combine");
  llvm::Value* extent = uniform_index(e_, loop.extent);
  b_.CreateCondBr(b_.CreateICmpSLT(id, extent), header, exit);
  b_.SetInsertPoint(header);
  llvm::PHINode* i = b_.CreatePHI(e_.code.i64, 2);
  i->addIncoming(id, before);
  std::vector<llvm::PHINode*> sums;
  for (const loop::Carry& carry : loop.carries) {
    llvm::Value* identity = e_.math.identity(*carry.combine, dtype(carry));
    sums.push_back(b_.CreatePHI(identity->getType(), 2));
    sums.back()->addIncoming(identity, before);
  }
  e_.values.define(loop.variable, i);
  emit_block(e_, loop.body);
  std::vector<llvm::Value*> next;
  for (size_t c = 0; c < sums.size(); ++c) {
    const loop::Carry& carry = loop.carries[c];
    next.push_back(e_.math.apply(*carry.combine, dtype(carry), sums[c], value_of(e_, carry.next)));
    sums[c]->addIncoming(next.back(), b_.GetInsertBlock());
  }
  llvm::Value* incremented = b_.CreateNSWAdd(i, b_.getInt64(kBlockThreads));
  i->addIncoming(incremented, b_.GetInsertBlock());
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpSLT(incremented, extent), header, exit);
  b_.SetInsertPoint(exit);
  std::vector<llvm::PHINode*> partials;
  for (size_t c = 0; c < sums.size(); ++c) {
    partials.push_back(b_.CreatePHI(next[c]->getType(), 2));
    partials.back()->addIncoming(e_.math.identity(*loop.carries[c].combine, dtype(loop.carries[c])), before);
    partials.back()->addIncoming(next[c], latch);
  }
  for (size_t c = 0; c < sums.size(); ++c) {
    const loop::Carry& carry = loop.carries[c];
    llvm::Type* type = memory_type(e_.code.context, dtype(carry));
    // float16 and bfloat16 are kept as the float32 that registers hold.
    if (is_float(dtype(carry))) type = register_type(e_.code.context, dtype(carry));
    auto* array = llvm::ArrayType::get(type, kBlockThreads);
    auto* shared = new llvm::GlobalVariable(e_.code.module, array, false, llvm::GlobalValue::InternalLinkage,
                                            llvm::PoisonValue::get(array), "partials", nullptr,
                                            llvm::GlobalValue::NotThreadLocal, /*AddressSpace=*/3);
    auto at = [&](llvm::Value* index) { return b_.CreateInBoundsGEP(type, shared, index); };
    auto store = [&](llvm::Value* value, llvm::Value* index) {
      b_.CreateStore(is_bool(dtype(carry)) ? b_.CreateZExt(value, type) : value, at(index));
    };
    auto load = [&](llvm::Value* index) -> llvm::Value* {
      llvm::Value* value = b_.CreateLoad(type, at(index));
      return is_bool(dtype(carry)) ? b_.CreateTrunc(value, b_.getInt1Ty()) : value;
    };
    store(partials[c], id);
    barrier();
    for (int64_t half = kBlockThreads / 2; half > 0; half /= 2) {
      llvm::BasicBlock* inside = e_.code.new_block("half");
      llvm::BasicBlock* join = e_.code.new_block("join");
      b_.CreateCondBr(b_.CreateICmpSLT(id, b_.getInt64(half)), inside, join);
      b_.SetInsertPoint(inside);
      store(e_.math.apply(*carry.combine, dtype(carry), load(id), load(b_.CreateAdd(id, b_.getInt64(half)))), id);
      b_.CreateBr(join);
      b_.SetInsertPoint(join);
      barrier();
    }
    e_.values.define(carry.result,
                     e_.math.apply(*carry.combine, dtype(carry), value_of(e_, carry.init), load(b_.getInt64(0))));
  }
}

absl::Status KernelEmitter::emit(std::vector<KernelStep>& kernels) {
  kernels_ = &kernels;
  for (const Statement& s : program_.blocks[0].statements) {
    if (s.kind == StatementKind::kSwap) return absl::UnimplementedError("swapped buffers have no GPU kernel yet");
    if (repeats(s)) {
      repeated_.push_back(&s);
      loop::visit_results(program_, s, [&](Value value) { known_everywhere_.insert(value); });
      if (open_) emit_statement(e_, s);
      continue;
    }
    if (stands_alone(s)) {
      if (open_) end_kernel(0);
      open_ = false;
      begin_kernel();
      if (s.kind == StatementKind::kFor) {
        grid_loop(program_.fors[s.detail]);
      } else {
        grid_range(s);
      }
      continue;
    }
    if (!open_) begin_kernel();
    open_ = true;
    if (!uses_only(s, [&](Value value) { return e_.values[value] != nullptr; })) {
      return absl::UnimplementedError(
          "a scalar computed by one GPU kernel and used by a later one must go through a buffer");
    }
    block_statement(s);
  }
  if (open_) end_kernel(0);
  return absl::OkStatus();
}

absl::StatusOr<Plan> emit_ptx(const loop::Program& program, std::string_view sm) {
  if (!program.gemms.empty())
    return absl::UnimplementedError("matrix products on a GPU are not loops: use the library's");
  if (!program.host_calls.empty()) {
    return absl::UnimplementedError("'" + program.host_calls[0].name + "' runs on the host: a GPU cannot call it");
  }
  absl::StatusOr<TargetHandle> target =
      borrow_target({.triple = "nvptx64-nvidia-cuda", .cpu = std::string(sm), .vector_bits = 0});
  if (!target.ok()) return target.status();
  std::unique_ptr<llvm::Module> module = (*target)->new_module(program.name);
  std::vector<KernelStep> kernels;
  try {
    const Outline none;  // kernels are cut out another way
    CpuEmission emission(program, none, **target, *module, /*has_pool=*/false);
    absl::Status status = KernelEmitter(emission).emit(kernels);
    if (!status.ok()) return status;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUnsupported) return absl::UnimplementedError(error.what());
    return absl::InternalError(error.what());
  }
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream)) return absl::InternalError("malformed LLVM IR: " + problem);
  Plan plan;
  plan.name = program.name;
  plan.target = "cuda:" + std::string(sm);
  plan.buffers = buffers_of(program);
  plan.codes.push_back({.format = Code::Format::kPtx, .bytes = (*target)->emit(*module, /*as_text=*/true)});
  plan.arena_bytes = program.arena_bytes;
  std::vector<Where> arguments;
  for (uint32_t i = 0; i < plan.buffers.size(); ++i) arguments.push_back({i, 0});
  std::vector<Step>& steps = plan.blocks.emplace_back();
  for (KernelStep& kernel : kernels) {
    kernel.arguments = arguments;
    steps.emplace_back(std::move(kernel));
  }
  return plan;
}

}  // namespace ct::jit
