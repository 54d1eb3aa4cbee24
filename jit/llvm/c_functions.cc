// The functions that an exported library shows to C programs, around a program's entry point:
//
//   int NAME(const void* input0, ..., void* output0, ...)
//   int NAME_with_workspace(const void* input0, ..., void* output0, ..., void* workspace)
//   void NAME_stop(int stop)                                 where a call may take long
//
// They return a CStatus; whatever is not kCSuccess comes before anything is written, but for kCStopped.
#include "jit/llvm/c_functions.h"

#include <llvm/IR/IRBuilder.h>

#include "runtime/error.h"
#include "runtime/processor.h"

namespace ct::jit {
namespace {

// Scratch memory up to this size is on the stack.
constexpr int64_t kStackBytes = 16 << 10;
constexpr int64_t kAlignment = kProcessor.line;

class CFunctions {
 public:
  CFunctions(llvm::Module& module, const Target& target, llvm::Function* entry, unsigned inputs, unsigned outputs,
             absl::Span<const BoundedInput> bounded, int64_t stop_slot)
      : module_(module),
        target_(target),
        b_(module.getContext()),
        entry_(entry),
        inputs_(inputs),
        outputs_(outputs),
        bounded_(bounded),
        stop_slot_(stop_slot) {}

  void add(const std::string& name, int64_t arena_bytes) {
    llvm::Function* function = begin(name, inputs_ + outputs_);
    if (arena_bytes <= kStackBytes) {
      llvm::AllocaInst* arena = b_.CreateAlloca(b_.getInt8Ty(), b_.getInt64(std::max<int64_t>(arena_bytes, 1)));
      arena->setAlignment(llvm::Align(kAlignment));
      b_.CreateRet(call(function, arena));
    } else {
      llvm::Type* i64 = b_.getInt64Ty();
      llvm::FunctionCallee allocate = module_.getOrInsertFunction("malloc", b_.getPtrTy(), i64);
      llvm::FunctionCallee release = module_.getOrInsertFunction("free", b_.getVoidTy(), b_.getPtrTy());
      llvm::Value* memory = b_.CreateCall(allocate, {b_.getInt64(arena_bytes + kAlignment)});
      auto* failed = llvm::BasicBlock::Create(module_.getContext(), "failed", function);
      auto* run = llvm::BasicBlock::Create(module_.getContext(), "run", function);
      b_.CreateCondBr(b_.CreateIsNull(memory), failed, run);
      b_.SetInsertPoint(failed);
      b_.CreateRet(b_.getInt32(kCNoMemory));
      b_.SetInsertPoint(run);
      llvm::Value* address = b_.CreatePtrToInt(memory, i64);
      llvm::Value* gap = b_.CreateAnd(b_.CreateNeg(address), b_.getInt64(kAlignment - 1));
      llvm::Value* status = call(function, b_.CreateGEP(b_.getInt8Ty(), memory, gap));
      b_.CreateCall(release, {memory});
      b_.CreateRet(status);
    }

    function = begin(name + "_with_workspace", inputs_ + outputs_ + 1);
    b_.CreateRet(call(function, function->getArg(inputs_ + outputs_)));
    if (stop_slot_ < 0) return;

    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getInt32Ty()}, false);
    function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name + "_stop", module_);
    target_.set_attributes(function);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    b_.CreateStore(function->getArg(0), stop_flag(module_))->setVolatile(true);
    b_.CreateRetVoid();
  }

 private:
  llvm::Function* begin(const std::string& name, unsigned parameters) {
    const llvm::SmallVector<llvm::Type*, 16> types(parameters, b_.getPtrTy());
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), types, false);
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module_);
    target_.set_attributes(function);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    for (const BoundedInput& input : bounded_) check(function, input);
    return function;
  }

  // Returns from the function if an element is out of range.
  void check(llvm::Function* function, const BoundedInput& input) {
    if (input.elements == 0) return;
    llvm::LLVMContext& context = module_.getContext();
    llvm::Type* type = b_.getIntNTy(static_cast<unsigned>(8 * dtype_size(input.dtype)));
    llvm::Value* data = function->getArg(input.input);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(context, "length", function);
    auto* next = llvm::BasicBlock::Create(context, "next_length", function);
    auto* wrong = llvm::BasicBlock::Create(context, "wrong_length", function);
    auto* done = llvm::BasicBlock::Create(context, "lengths_are_right", function);
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(b_.getInt64(0), before);
    llvm::Value* length = b_.CreateLoad(type, b_.CreateGEP(type, data, i));
    // As unsigned numbers of 64 bits: what is negative is larger than any bound.
    length = is_signed_integer(input.dtype) ? b_.CreateSExt(length, b_.getInt64Ty())
                                            : b_.CreateZExt(length, b_.getInt64Ty());
    b_.CreateCondBr(b_.CreateICmpUGT(length, b_.getInt64(input.bound)), wrong, next);
    b_.SetInsertPoint(wrong);
    b_.CreateRet(b_.getInt32(kCLength));
    b_.SetInsertPoint(next);
    llvm::Value* following = b_.CreateAdd(i, b_.getInt64(1));
    i->addIncoming(following, next);
    b_.CreateCondBr(b_.CreateICmpEQ(following, b_.getInt64(input.elements)), done, loop);
    b_.SetInsertPoint(done);
  }

  llvm::Value* list(llvm::Function* function, unsigned first, unsigned count) {
    llvm::Value* pointers = b_.CreateAlloca(b_.getPtrTy(), b_.getInt64(std::max(count, 1u)));
    for (unsigned i = 0; i < count; ++i) {
      b_.CreateStore(function->getArg(first + i), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), pointers, i));
    }
    return pointers;
  }

  // Returns the status.
  llvm::Value* call(llvm::Function* function, llvm::Value* arena) {
    llvm::Value* inputs = list(function, 0, inputs_);
    llvm::Value* outputs = list(function, inputs_, outputs_);
    llvm::Value* slot = nullptr;
    if (stop_slot_ >= 0) {
      slot = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), arena, static_cast<uint64_t>(stop_slot_));
      b_.CreateStore(b_.getInt32(0), slot);
    }
    b_.CreateCall(entry_, {inputs, outputs, arena});
    if (slot == nullptr) return b_.getInt32(kCSuccess);
    llvm::Value* told = b_.CreateIsNotNull(b_.CreateLoad(b_.getInt32Ty(), slot));
    return b_.CreateSelect(told, b_.getInt32(kCStopped), b_.getInt32(kCSuccess));
  }

  llvm::Module& module_;
  const Target& target_;
  llvm::IRBuilder<> b_;
  llvm::Function* entry_;
  unsigned inputs_, outputs_;
  absl::Span<const BoundedInput> bounded_;
  int64_t stop_slot_;  // in the arena; -1: calls cannot be stopped
};

}  // namespace

llvm::GlobalVariable* stop_flag(llvm::Module& module) {
  constexpr const char* kName = "stop_flag";
  if (llvm::GlobalVariable* known = module.getNamedGlobal(kName)) return known;
  llvm::Type* type = llvm::Type::getInt32Ty(module.getContext());
  return new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                  llvm::ConstantInt::get(type, 0), kName);
}

void add_c_functions(llvm::Module& module, const Target& target, const loop::Program& program,
                     std::string_view entry_symbol, const std::string& name, int64_t arena_bytes,
                     absl::Span<const BoundedInput> bounded, int64_t stop_slot) {
  llvm::Function* entry = module.getFunction(llvm::StringRef(entry_symbol.data(), entry_symbol.size()));
  CT_CHECK(entry != nullptr);
  entry->setLinkage(llvm::GlobalValue::InternalLinkage);
  unsigned inputs = 0, outputs = 0;
  for (const loop::Buffer& buffer : program.buffers) {
    inputs += buffer.kind == loop::BufferKind::kInput;
    outputs += buffer.kind == loop::BufferKind::kOutput;
  }
  CFunctions(module, target, entry, inputs, outputs, bounded, stop_slot).add(name, arena_bytes);
}

}  // namespace ct::jit
