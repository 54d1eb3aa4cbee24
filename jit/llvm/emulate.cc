#include "jit/llvm/emulate.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ReplaceConstant.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "device/emulated/block.h"
#include "device/emulated/emulated.h"
#include "jit/llvm/block_scope.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"

namespace ct::jit {

namespace {

constexpr std::string_view kIntrinsics = "llvm.nvvm.";

llvm::Value* load_member(llvm::IRBuilder<>& b, llvm::Type* type, llvm::Value* block, size_t offset) {
  return b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), block, offset));
}

// The kernel with two arguments behind its own: the thread's number, and its EmulatedBlock. What it asked the hardware
// for, it has from these; a barrier is a call of the runtime.
llvm::Function* with_thread(llvm::Function& kernel) {
  llvm::Module& module = *kernel.getParent();
  llvm::IRBuilder<> b(module.getContext());
  std::vector<llvm::Type*> types(kernel.getFunctionType()->params());
  types.insert(types.end(), {b.getInt32Ty(), b.getPtrTy()});
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                          llvm::GlobalValue::InternalLinkage, "", module);
  function->copyAttributesFrom(&kernel);
  function->setCallingConv(llvm::CallingConv::C);
  function->setLinkage(llvm::GlobalValue::InternalLinkage);
  function->takeName(&kernel);
  function->splice(function->begin(), &kernel);
  function->setSubprogram(kernel.getSubprogram());
  for (llvm::Argument& argument : kernel.args()) argument.replaceAllUsesWith(function->getArg(argument.getArgNo()));

  llvm::Value *thread = function->getArg(kernel.arg_size()), *block = function->getArg(kernel.arg_size() + 1);
  kernel.eraseFromParent();
  std::vector<llvm::CallInst*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(*function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    if (callee != nullptr && callee->getName().starts_with(kIntrinsics)) calls.push_back(call);
  }
  llvm::FunctionCallee barrier = module.getOrInsertFunction(kEmulatedBarrier, b.getVoidTy(), b.getPtrTy());
  llvm::Instruction* first = &*function->getEntryBlock().getFirstInsertionPt();
  llvm::DenseMap<llvm::Function*, llvm::Value*> known;
  const auto member = [&](llvm::CallInst* call, size_t offset) {
    llvm::Value*& found = known[call->getCalledFunction()];
    b.SetInsertPoint(first);
    if (found == nullptr) found = load_member(b, b.getInt32Ty(), block, offset);
    return found;
  };
  for (llvm::CallInst* call : calls) {
    const llvm::StringRef name = call->getCalledFunction()->getName().drop_front(kIntrinsics.size());
    if (name == "read.ptx.sreg.tid.x") call->replaceAllUsesWith(thread);
    if (name == "read.ptx.sreg.ntid.x") call->replaceAllUsesWith(member(call, offsetof(EmulatedBlock, threads)));
    if (name == "read.ptx.sreg.ctaid.x") call->replaceAllUsesWith(member(call, offsetof(EmulatedBlock, block)));
    if (name == "read.ptx.sreg.nctaid.x") call->replaceAllUsesWith(member(call, offsetof(EmulatedBlock, blocks)));
    if (name.starts_with("barrier")) {
      b.SetInsertPoint(call);
      b.CreateCall(barrier, {block})->setDoesNotThrow();
    } else {
      CT_CHECK(call->use_empty());  // else a kernel asks for something new
    }
  }
  for (llvm::CallInst* call : calls) call->eraseFromParent();
  return function;
}

// The kernels' last argument knows where the block's memory is.
void find_shared_memory(llvm::Module& module) {
  llvm::GlobalVariable* memory = module.getGlobalVariable(kSharedMemory);
  if (memory == nullptr) return;
  llvm::convertUsersOfConstantsToInstructions({memory});
  llvm::DenseMap<llvm::Function*, llvm::Value*> known;
  const std::vector<llvm::User*> users(memory->user_begin(), memory->user_end());
  for (llvm::User* user : users) {
    auto* instruction = llvm::cast<llvm::Instruction>(user);
    llvm::Function* function = instruction->getFunction();
    llvm::Value*& found = known[function];
    if (found == nullptr) {
      llvm::IRBuilder<> b(&*function->getEntryBlock().getFirstInsertionPt());
      llvm::Value* block = function->getArg(function->arg_size() - 1);
      found = b.CreateAddrSpaceCast(load_member(b, b.getPtrTy(), block, offsetof(EmulatedBlock, shared)),
                                    memory->getType());
    }
    instruction->replaceUsesOfWith(memory, found);
  }
  memory->eraseFromParent();
}

// Each access to memory that is not the thread's own is reported before it is made.
void report_accesses(llvm::Module& module) {
  const llvm::DataLayout& layout = module.getDataLayout();
  llvm::IRBuilder<> b(module.getContext());
  llvm::FunctionCallee report =
      module.getOrInsertFunction(kEmulatedAccess, b.getVoidTy(), b.getPtrTy(), b.getInt64Ty(), b.getInt1Ty());
  const auto insert = [&](llvm::Instruction& before, llvm::Value* address, llvm::Value* bytes, bool writes) {
    const llvm::Value* object = llvm::getUnderlyingObject(address);
    if (llvm::isa<llvm::AllocaInst, llvm::GlobalVariable>(object)) return;
    b.SetInsertPoint(&before);
    b.CreateCall(report, {b.CreateAddrSpaceCast(address, b.getPtrTy()), b.CreateZExtOrTrunc(bytes, b.getInt64Ty()),
                          b.getInt1(writes)});
  };
  const auto size = [&](llvm::Type* type) { return b.getInt64(layout.getTypeStoreSize(type).getFixedValue()); };
  std::vector<llvm::Instruction*> instructions;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) instructions.push_back(&instruction);
  }
  for (llvm::Instruction* instruction : instructions) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
      insert(*load, load->getPointerOperand(), size(load->getType()), false);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
      insert(*store, store->getPointerOperand(), size(store->getValueOperand()->getType()), true);
    } else if (auto* range = llvm::dyn_cast<llvm::MemIntrinsic>(instruction)) {
      insert(*range, range->getDest(), range->getLength(), true);
      if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(range))
        insert(*copy, copy->getSource(), copy->getLength(), false);
    }
  }
}

// An EmulatedKernel: takes the arguments from a list, and runs one thread after the other as long as one has not begun.
llvm::Function* with_list(llvm::Function& kernel) {
  llvm::Module& module = *kernel.getParent();
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy()}, false),
                                          llvm::GlobalValue::InternalLinkage, kernel.getName() + ".list", module);
  llvm::Value *list = function->getArg(0), *block = function->getArg(1);
  const auto add_block = [&](const char* name) { return llvm::BasicBlock::Create(context, name, function); };
  llvm::BasicBlock *entry = add_block("entry"), *next = add_block("next"), *run = add_block("run");
  llvm::BasicBlock* end = add_block("end");
  llvm::Type* number = b.getInt32Ty();
  const auto count = [&](llvm::Value* before, size_t offset) {
    b.CreateStore(b.CreateAdd(before, b.getInt32(1)), b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), block, offset));
  };

  b.SetInsertPoint(entry);
  std::vector<llvm::Value*> arguments;
  for (unsigned i = 0; i + 2 < kernel.arg_size(); ++i) {
    arguments.push_back(b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), list, i)));
  }
  llvm::Value* threads = load_member(b, number, block, offsetof(EmulatedBlock, threads));
  llvm::Value* order = load_member(b, b.getPtrTy(), block, offsetof(EmulatedBlock, order));
  b.CreateBr(next);
  b.SetInsertPoint(next);
  llvm::Value* begun = load_member(b, number, block, offsetof(EmulatedBlock, begun));
  b.CreateCondBr(b.CreateICmpULT(begun, threads), run, end);
  b.SetInsertPoint(run);
  count(begun, offsetof(EmulatedBlock, begun));
  llvm::Value* thread = b.CreateLoad(number, b.CreateGEP(number, order, b.CreateZExt(begun, b.getInt64Ty())));
  b.CreateStore(thread, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), block, offsetof(EmulatedBlock, thread)));
  arguments.insert(arguments.end(), {thread, block});
  b.CreateCall(&kernel, arguments);
  count(load_member(b, number, block, offsetof(EmulatedBlock, ended)), offsetof(EmulatedBlock, ended));
  b.CreateBr(next);
  b.SetInsertPoint(end);
  b.CreateRetVoid();
  return function;
}

// An entry point, whose outputs are where the addresses go.
void hand_out(llvm::Module& module, const std::vector<llvm::Function*>& kernels) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::PointerType* pointer = b.getPtrTy();
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer}, false),
                                          llvm::GlobalValue::ExternalLinkage, kKernelsSymbol, module);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  for (size_t i = 0; i < kernels.size(); ++i) {
    b.CreateStore(kernels[i], b.CreateConstInBoundsGEP1_64(pointer, function->getArg(1), i));
  }
  b.CreateRetVoid();
}

}  // namespace

void emulate(llvm::Module& module) {
  if (llvm::Function* ask = module.getFunction(kGoOnSymbol); ask != nullptr) ask->setName(kEmulatedGoOn);
  std::vector<llvm::Function*> kernels;
  for (llvm::Function& function : module) {
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel) kernels.push_back(&function);
  }
  for (llvm::Function*& kernel : kernels) kernel = with_thread(*kernel);
  find_shared_memory(module);
  if (checks_races()) report_accesses(module);
  std::vector<llvm::Function*> lists;
  for (llvm::Function* kernel : kernels) lists.push_back(with_list(*kernel));
  hand_out(module, lists);
}

}  // namespace ct::jit
