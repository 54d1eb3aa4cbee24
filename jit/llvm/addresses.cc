#include "jit/llvm/addresses.h"

#include "jit/llvm/arithmetic.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::Buffer;
using loop::BufferId;
using loop::BufferKind;

void Addresses::begin_function() {
  for (BufferId id : known_) bases_[id] = nullptr;
  known_.clear();
  swapping_.clear();
  is_shared_ = are_known = false;
  table_ = nullptr;
  table_entries_.clear();
  pointer_registers_.clear();
}

uint64_t Addresses::use_table(llvm::Value* table, absl::Span<const BufferId> arrays) {
  table_ = table;
  uint64_t next = 0;
  for (BufferId id : arrays) {
    table_entries_[id] = next;
    next += program_.buffers[id].kind == BufferKind::kTemporary ? 1 : 2;
  }
  return next;
}

void Addresses::set_swapping(absl::Span<const BufferId> buffers) {
  for (BufferId id : buffers) {
    if (outline_.pointer_slots.contains(id)) swapping_.push_back(id);
  }
}

void Addresses::keep_in_register(BufferId id, llvm::Value* is) {
  llvm::Value* slot = pointer_registers_[id] = code_.new_register(code_.b.getPtrTy());
  code_.b.CreateStore(is, slot);
  swapping_.push_back(id);
}

llvm::Value* Addresses::pointer_slot(BufferId id) {
  const auto kept = pointer_registers_.find(id);
  return kept != pointer_registers_.end() ? kept->second : code_.arena_at(outline_.pointer_slots.at(id));
}

// Where a buffer is before any swap.
llvm::Value* Addresses::original_base(BufferId id) {
  const Buffer& buffer = program_.buffers[id];
  if (buffer.kind == BufferKind::kTemporary) return code_.arena_at(buffer.position);
  llvm::PointerType* pointer = code_.b.getPtrTy();
  llvm::Value* list = buffer.kind == BufferKind::kInput ? code_.inputs : code_.outputs;
  return code_.b.CreateLoad(pointer, code_.b.CreateConstInBoundsGEP1_64(pointer, list, buffer.position));
}

void Addresses::set_base(BufferId id, llvm::Value* is) {
  bases_[id] = is;
  known_.push_back(id);
}

llvm::Value* Addresses::base(BufferId id) {
  if (bases_[id] != nullptr) return bases_[id];
  if (program_.buffers[id].kind == BufferKind::kConstant) return constant(id);
  if (swaps(id)) return code_.b.CreateLoad(code_.b.getPtrTy(), pointer_slot(id));
  return table_ == nullptr ? original_base(id) : base_by_table(id);
}

llvm::Value* Addresses::base_by_table(BufferId id) {
  llvm::PointerType* pointer = code_.b.getPtrTy();
  uint64_t next = table_entries_.at(id);
  const auto entry = [&] {
    return code_.b.CreateLoad(code_.i64, code_.b.CreateConstInBoundsGEP1_64(code_.i64, table_, next++));
  };
  // Not "inbounds": what the statements add to it brings it back.
  const auto moved = [&](llvm::Value* from) { return code_.b.CreateGEP(code_.b.getInt8Ty(), from, entry()); };
  const BufferKind kind = program_.buffers[id].kind;
  if (kind == BufferKind::kTemporary) return moved(code_.arena);
  llvm::Value* list = kind == BufferKind::kInput ? code_.inputs : code_.outputs;
  return moved(code_.b.CreateLoad(pointer, code_.b.CreateGEP(pointer, list, entry())));
}

llvm::Value* Addresses::element_pointer(BufferId buffer, llvm::Value* index) {
  llvm::Type* element = memory_type(code_.context, real_dtype(program_.buffers[buffer].dtype));
  // What a shared function is given may point outside of the array, until the index is added.
  return is_shared_ ? code_.b.CreateGEP(element, base(buffer), index)
                    : code_.b.CreateInBoundsGEP(element, base(buffer), index);
}

void Addresses::swap(BufferId a, BufferId b) {
  llvm::Value *of_a = base(a), *of_b = base(b);
  keep(a, of_b);
  keep(b, of_a);
}

void Addresses::keep(BufferId buffer, llvm::Value* is) { code_.b.CreateStore(is, pointer_slot(buffer)); }

// Where each statement of a function begins, and not where the function does: there are more arrays than registers.
BufferIds Addresses::know_bases(const loop::Statement& statement) {
  BufferIds found;
  const auto look = [&](const loop::Statement& s) {
    loop::visit_buffers(program_, s, [&](BufferId id, bool) {
      if (bases_[id] != nullptr || program_.buffers[id].kind == BufferKind::kConstant || swaps(id)) return;
      set_base(id, base(id));
      found.push_back(id);
    });
  };
  look(statement);
  loop::visit_blocks_of(program_, statement,
                        [&](loop::BlockId inner) { loop::visit_statements(program_, inner, look); });
  return found;
}

BufferIds Addresses::know_swapping(loop::BlockId body) {
  BufferIds found;
  for (BufferId id : swapping_) {
    if (bases_[id] == nullptr) found.push_back(id);
  }
  if (found.empty()) return found;
  bool swaps = false;
  loop::visit_statements(program_, body,
                         [&](const loop::Statement& s) { swaps = swaps || s.kind == loop::StatementKind::kSwap; });
  if (swaps) found.clear();
  for (BufferId id : found) bases_[id] = base(id);
  return found;
}

void Addresses::forget(absl::Span<const BufferId> buffers) {
  for (BufferId id : buffers) bases_[id] = nullptr;
}

llvm::GlobalVariable* Addresses::constant(BufferId id) {
  if (constants_[id] != nullptr) return constants_[id];
  const std::string& bytes = program_.buffers[id].bytes;
  const bool once = code_.linkage != llvm::GlobalValue::InternalLinkage && bytes.size() > kLargeTable;
  llvm::Constant* data = llvm::ConstantDataArray::getRaw(bytes, bytes.size(), code_.b.getInt8Ty());
  constants_[id] =
      new llvm::GlobalVariable(code_.module, data->getType(), true,
                               once ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::PrivateLinkage,
                               once && code_.module_number != 0 ? nullptr : data,
                               once ? code_.symbol + ".table." + std::to_string(id) : "table");
  if (once) constants_[id]->setVisibility(llvm::GlobalValue::HiddenVisibility);
  constants_[id]->setAlignment(llvm::Align(64));
  return constants_[id];
}

llvm::GlobalVariable* table_of(const OutlinedCall& call, const loop::Program& program, const Outline& outline,
                               FunctionBuilder& code) {
  llvm::SmallVector<uint64_t, 64> entries;
  for (const OutlinedCall::Array& array : call.arrays) {
    const Buffer& buffer = program.buffers[array.buffer];
    const int64_t shift = array.shift * dtype_size(real_dtype(buffer.dtype));
    if (buffer.kind == BufferKind::kTemporary) {
      entries.push_back(static_cast<uint64_t>(buffer.position + shift));
    } else {
      entries.push_back(static_cast<uint64_t>(buffer.position));
      entries.push_back(static_cast<uint64_t>(shift));
    }
  }
  for (const std::vector<loop::Value>* list : {&call.values, &call.results}) {
    for (loop::Value value : *list) entries.push_back(static_cast<uint64_t>(outline.slots.at(value)));
  }
  llvm::Constant* data = llvm::ConstantDataArray::get(code.context, entries);
  return new llvm::GlobalVariable(code.module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data,
                                  "arrays");
}

}  // namespace ct::jit
