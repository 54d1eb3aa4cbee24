#include "jit/llvm/library_caller.h"

#include "device/loaded.h"

namespace ct::jit {

llvm::StructType* caller_type(llvm::LLVMContext& context) {
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  return llvm::StructType::get(pointer, pointer, llvm::Type::getInt32Ty(context), pointer, pointer);
}

llvm::Value* caller_field(llvm::IRBuilderBase& b, llvm::Value* caller, CallerField field) {
  return b.CreateStructGEP(caller_type(b.getContext()), caller, static_cast<unsigned>(field));
}

llvm::Value* caller_field(FunctionBuilder& code, CallerField field) {
  return caller_field(code.b, code.arena_at(-kCallerBytes), field);
}

}  // namespace ct::jit
