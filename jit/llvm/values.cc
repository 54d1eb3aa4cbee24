#include "jit/llvm/values.h"

#include "jit/llvm/arithmetic.h"
#include "runtime/error.h"

namespace ct::jit {

void Values::begin_function() {
  for (loop::Value value : known_) values_[value] = nullptr;
  known_.clear();
  expected_.clear();
  result_entries_.clear();
  table_ = nullptr;
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
  } else if (const auto entry = result_entries_.find(value); entry != result_entries_.end()) {
    slot = slot_by_table(entry->second);
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
  if (const auto result = result_pointers.find(value); result != result_pointers.end()) return result->second;
  if (const auto entry = result_entries_.find(value); entry != result_entries_.end())
    return slot_by_table(entry->second);
  return code_.arena_at(outline_.slots.at(value));
}

llvm::Value* Values::slot_by_table(uint64_t entry) {
  llvm::Value* offset = code_.b.CreateLoad(code_.i64, code_.b.CreateConstInBoundsGEP1_64(code_.i64, table_, entry));
  return code_.b.CreateInBoundsGEP(code_.b.getInt8Ty(), code_.arena, offset);
}

llvm::Value* Values::load_slot(loop::Value value) { return load_from(value, slot_of(value)); }

llvm::Value* Values::load_from(loop::Value value, llvm::Value* slot) {
  llvm::Type* type = register_type(code_.context, program_.values[value].dtype);
  return type->isIntegerTy(1) ? code_.b.CreateIsNotNull(code_.b.CreateLoad(code_.b.getInt8Ty(), slot))
                              : code_.b.CreateLoad(type, slot);
}

void Values::load_expected(loop::Value value) {
  if (value == loop::kNoValue) return;
  const auto expected = expected_.find(value);
  if (expected == expected_.end()) return;
  const uint64_t entry = expected->second;
  expected_.erase(expected);
  know(value, entry == kOwnSlot ? load_slot(value) : load_from(value, slot_by_table(entry)));
}

void Values::use_table(llvm::Value* table, uint64_t first, absl::Span<const loop::Value> values,
                       absl::Span<const loop::Value> results) {
  table_ = table;
  for (loop::Value value : values) expected_[value] = first++;
  for (loop::Value value : results) result_entries_[value] = first++;
}

}  // namespace ct::jit
