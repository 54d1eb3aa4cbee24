#include "jit/llvm/values.h"

#include "jit/llvm/arithmetic.h"
#include "runtime/error.h"

namespace ct::jit {

void Values::begin_function() {
  for (loop::Value value : known_) values_[value] = nullptr;
  known_.clear();
  varied.clear();
  result_pointers.clear();
}

void Values::know(loop::Value value, llvm::Value* is) {
  values_[value] = is;
  known_.push_back(value);
}

void Values::define(loop::Value value, llvm::Value* is) {
  know(value, is);
  llvm::Value* slot = nullptr;
  if (const auto result = result_pointers.find(value); result != result_pointers.end()) {
    slot = result->second;
  } else if (outline_.slots.empty()) {
    return;
  } else if (const auto at = outline_.slots.find(value); at != outline_.slots.end() && code_.arena != nullptr) {
    slot = code_.arena_at(at->second);
  } else {
    return;
  }
  CT_CHECK(!is->getType()->isVectorTy());
  code_.b.CreateStore(is->getType()->isIntegerTy(1) ? code_.b.CreateZExt(is, code_.b.getInt8Ty()) : is, slot);
}

llvm::Value* Values::slot_of(loop::Value value) {
  const auto result = result_pointers.find(value);
  return result != result_pointers.end() ? result->second : code_.arena_at(outline_.slots.at(value));
}

llvm::Value* Values::load_slot(loop::Value value) {
  llvm::Value* slot = slot_of(value);
  llvm::Type* type = register_type(code_.context, program_.values[value].dtype);
  return type->isIntegerTy(1) ? code_.b.CreateIsNotNull(code_.b.CreateLoad(code_.b.getInt8Ty(), slot))
                              : code_.b.CreateLoad(type, slot);
}

}  // namespace ct::jit
