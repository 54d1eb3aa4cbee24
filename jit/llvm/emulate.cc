#include "jit/llvm/emulate.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ReplaceConstant.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "device/emulated/block.h"
#include "jit/llvm/block_scope.h"

namespace ct::jit {

namespace {

constexpr const char* kIntrinsics = "llvm.nvvm.";

// Calls of the same type, by the name that the runtime has for them.
void call_instead_of_intrinsics(llvm::Module& module) {
  std::vector<llvm::Function*> intrinsics;
  for (llvm::Function& function : module) {
    if (function.getName().starts_with(kIntrinsics)) intrinsics.push_back(&function);
  }
  for (llvm::Function* intrinsic : intrinsics) {
    const std::string name =
        kEmulatedPrefix + intrinsic->getName().drop_front(std::string_view(kIntrinsics).size()).str();
    llvm::FunctionCallee call = module.getOrInsertFunction(name, intrinsic->getFunctionType());
    llvm::cast<llvm::Function>(call.getCallee())->addFnAttr(llvm::Attribute::NoUnwind);
    intrinsic->replaceAllUsesWith(call.getCallee());
    intrinsic->eraseFromParent();
  }
}

// Each function asks once where its block's memory is.
void ask_for_shared_memory(llvm::Module& module) {
  llvm::GlobalVariable* memory = module.getGlobalVariable(kSharedMemory);
  if (memory == nullptr) return;
  llvm::convertUsersOfConstantsToInstructions({memory});
  llvm::FunctionCallee ask =
      module.getOrInsertFunction(kEmulatedShared, llvm::PointerType::get(module.getContext(), 0));
  llvm::DenseMap<llvm::Function*, llvm::Value*> known;
  const std::vector<llvm::User*> users(memory->user_begin(), memory->user_end());
  for (llvm::User* user : users) {
    auto* instruction = llvm::cast<llvm::Instruction>(user);
    llvm::Value*& found = known[instruction->getFunction()];
    if (found == nullptr) {
      llvm::IRBuilder<> b(&*instruction->getFunction()->getEntryBlock().getFirstInsertionPt());
      found = b.CreateAddrSpaceCast(b.CreateCall(ask), memory->getType());
    }
    instruction->replaceUsesOfWith(memory, found);
  }
  memory->eraseFromParent();
}

// CT_CHECK_RACES=1 in the environment.
bool races_wanted() {
  static const bool wanted = std::getenv("CT_CHECK_RACES") != nullptr;
  return wanted;
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

// From a list of arguments to arguments.
llvm::Function* with_list(llvm::Function& kernel) {
  llvm::Module& module = *kernel.getParent();
  llvm::IRBuilder<> b(module.getContext());
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false),
                                          llvm::GlobalValue::InternalLinkage, kernel.getName() + ".list", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  std::vector<llvm::Value*> arguments;
  for (unsigned i = 0; i < kernel.arg_size(); ++i) {
    arguments.push_back(b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), function->getArg(0), i)));
  }
  b.CreateCall(&kernel, arguments);
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
  std::vector<llvm::Function*> kernels;
  for (llvm::Function& function : module) {
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel) kernels.push_back(&function);
  }
  call_instead_of_intrinsics(module);
  ask_for_shared_memory(module);
  if (races_wanted()) report_accesses(module);
  std::vector<llvm::Function*> lists;
  for (llvm::Function* kernel : kernels) {
    kernel->setCallingConv(llvm::CallingConv::C);
    kernel->setLinkage(llvm::GlobalValue::InternalLinkage);
    lists.push_back(with_list(*kernel));
  }
  hand_out(module, lists);
}

}  // namespace ct::jit
