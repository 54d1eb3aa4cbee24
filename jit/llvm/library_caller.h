// What code of a library asks of whoever calls it: a structure before the arena (LibraryCaller of device/loaded.h).
#pragma once

#include "jit/llvm/function_builder.h"

namespace ct::jit {

// Fields of LibraryCaller, in its order.
enum class CallerField : unsigned { kStops, kContext, kTold, kParallel, kPool };

llvm::StructType* caller_type(llvm::LLVMContext& context);
// Where a field is in the structure at `caller`.
llvm::Value* caller_field(llvm::IRBuilderBase& b, llvm::Value* caller, CallerField field);
// In a function that has an arena.
llvm::Value* caller_field(FunctionBuilder& code, CallerField field);

}  // namespace ct::jit
