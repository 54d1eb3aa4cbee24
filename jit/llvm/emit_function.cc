// The functions that a program is cut into (outline.h), and the calls between them.
#include "ir/error.h"
#include "jit/llvm/emit.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::Buffer;
using loop::BufferId;
using loop::BufferKind;

namespace {

// Tables above this size exist once in a program of several modules.
constexpr size_t kLargeTable = 1 << 12;

}  // namespace

void Emitter::emit_whole(std::string_view symbol) {
  symbol_ = symbol;
  for (uint32_t f = 0; f < outline_.functions.size(); ++f) emit_function(f);
  promote_registers();
}

void Emitter::emit_module(std::string_view symbol, uint32_t module) {
  symbol_ = symbol;
  module_number_ = module;
  if (outline_.modules > 1) linkage_ = llvm::GlobalValue::ExternalLinkage;
  for (uint32_t f = 0; f < outline_.functions.size(); ++f) {
    if (outline_.functions[f].module == module) emit_function(f);
  }
  promote_registers();
  if (outline_.modules == 1 || module != 0) return;
  for (BufferId id = 0; id < program_.buffers.size(); ++id) {
    if (program_.buffers[id].kind == BufferKind::kConstant && program_.buffers[id].bytes.size() > kLargeTable)
      table(id);
  }
}

// Parameters of a chunk: inputs, outputs, arena. Of a shared function: arena, arrays, constants, values, where the
// results go, the extent. Of a part: inputs, outputs, arena, its table, values, where the results go.
llvm::Function* Emitter::declare(uint32_t number) {
  const OutlinedFunction& f = outline_.functions[number];
  const std::string name = number == 0 ? symbol_ : symbol_ + "." + std::to_string(number);
  if (llvm::Function* known = module_.getFunction(name)) return known;
  llvm::PointerType* pointer = b_.getPtrTy();
  llvm::SmallVector<llvm::Type*, 16> parameters(3, pointer);
  if (f.shared) {
    parameters.assign(f.part ? 4 : 1 + f.arrays.size(), pointer);
    for (const std::vector<loop::Value>* list : {&f.varied, &f.values}) {
      for (loop::Value value : *list) parameters.push_back(register_type(context_, program_.values[value].dtype));
    }
    parameters.append(f.results.size(), pointer);
    if (f.any_extent) parameters.push_back(i64_);
  }
  llvm::Type* result = number != 0 && f.may_fail ? b_.getInt1Ty() : b_.getVoidTy();
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                          number == 0 ? llvm::GlobalValue::ExternalLinkage : linkage_, name, module_);
  if (number != 0 && !function->hasLocalLinkage()) function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  target_.set_attributes(function);
  return function;
}

void Emitter::begin_function(llvm::Function* function) {
  function_ = function;
  failed_ = nullptr;
  time_left_ = nullptr;
  is_shared_ = false;
  values_.resize(program_.values.size());
  bases_.resize(program_.buffers.size());
  for (loop::Value value : known_values_) values_[value] = nullptr;
  for (BufferId id : known_bases_) bases_[id] = nullptr;
  known_values_.clear();
  known_bases_.clear();
  swapping_.clear();
  result_pointers_.clear();
  varied_.clear();
  table_ = nullptr;
  table_entries_.clear();
  bases_known_ = false;
  any_extent_ = nullptr;
  inputs_ = outputs_ = arena_ = nullptr;
  b_.SetInsertPoint(new_block("entry"));
}

void Emitter::emit_function(uint32_t number) {
  const OutlinedFunction& f = outline_.functions[number];
  begin_function(declare(number));
  for (const loop::Statement* constant : f.constants) {
    know(constant->result, scalar_.constant(constant->dtype, constant->bits));
  }
  is_shared_ = f.shared;
  if (f.shared) {
    llvm::Argument* argument = function_->arg_begin();
    if (f.part) {
      inputs_ = argument++;
      outputs_ = argument++;
      arena_ = argument++;
      table_ = argument++;
      uint64_t next = 0;
      for (BufferId id : f.arrays) {
        table_entries_[id] = next;
        next += program_.buffers[id].kind == BufferKind::kTemporary ? 1 : 2;
      }
    } else {
      arena_ = argument++;
      for (BufferId id : f.arrays) set_base(id, argument++);
    }
    for (loop::Value value : f.varied) know(value, varied_[value] = argument++);
    for (loop::Value value : f.values) know(value, argument++);
    for (loop::Value value : f.results) result_pointers_[value] = argument++;
    if (f.any_extent) {
      any_extent_ = &program_.fors[program_.blocks[f.block].statements[f.begin].detail];
      extent_ = argument++;
    }
  } else {
    inputs_ = function_->getArg(0);
    outputs_ = function_->getArg(1);
    arena_ = function_->getArg(2);
    for (BufferId id : f.buffers) {
      if (outline_.pointer_slots.contains(id)) swapping_.push_back(id);
    }
    for (loop::Value value : f.entry_values) know(value, load_slot(value));
  }
  if (number == 0) {
    for (BufferId id : outline_.swapped) {
      b_.CreateStore(original_base(id), arena_at(outline_.pointer_slots.at(id)));
    }
  }
  emit_statements(f.block, f.begin, f.end, f.calls);
  if (function_->getReturnType()->isVoidTy()) {
    b_.CreateRetVoid();
  } else {
    b_.CreateRet(b_.getTrue());
  }
}

// Where a buffer is before any swap.
llvm::Value* Emitter::original_base(BufferId id) {
  const Buffer& buffer = program_.buffers[id];
  if (buffer.kind == BufferKind::kTemporary) return arena_at(buffer.position);
  llvm::PointerType* pointer = b_.getPtrTy();
  llvm::Value* list = buffer.kind == BufferKind::kInput ? inputs_ : outputs_;
  return b_.CreateLoad(pointer, b_.CreateConstInBoundsGEP1_64(pointer, list, buffer.position));
}

void Emitter::set_base(BufferId id, llvm::Value* is) {
  bases_[id] = is;
  known_bases_.push_back(id);
}

// Of each array of a call, what base_by_table finds: for temporaries the byte in the arena, for inputs and outputs the
// position in their list and the byte from there.
llvm::GlobalVariable* Emitter::table_of(const OutlinedCall& call) {
  llvm::SmallVector<uint64_t, 64> entries;
  for (const OutlinedCall::Array& array : call.arrays) {
    const Buffer& buffer = program_.buffers[array.buffer];
    const int64_t shift = array.shift * dtype_size(real_dtype(buffer.dtype));
    if (buffer.kind == BufferKind::kTemporary) {
      entries.push_back(static_cast<uint64_t>(buffer.position + shift));
    } else {
      entries.push_back(static_cast<uint64_t>(buffer.position));
      entries.push_back(static_cast<uint64_t>(shift));
    }
  }
  llvm::Constant* data = llvm::ConstantDataArray::get(context_, entries);
  return new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "arrays");
}

llvm::Value* Emitter::base_by_table(BufferId id) {
  llvm::PointerType* pointer = b_.getPtrTy();
  uint64_t next = table_entries_.at(id);
  const auto entry = [&] { return b_.CreateLoad(i64_, b_.CreateConstInBoundsGEP1_64(i64_, table_, next++)); };
  // Not "inbounds": what the statements add to it brings it back.
  const auto moved = [&](llvm::Value* from) { return b_.CreateGEP(b_.getInt8Ty(), from, entry()); };
  const BufferKind kind = program_.buffers[id].kind;
  if (kind == BufferKind::kTemporary) return moved(arena_);
  llvm::Value* list = kind == BufferKind::kInput ? inputs_ : outputs_;
  return moved(b_.CreateLoad(pointer, b_.CreateGEP(pointer, list, entry())));
}

// Where each statement of a function begins, and not where the function does: there are more arrays than registers.
llvm::SmallVector<BufferId, 16> Emitter::know_bases(const loop::Statement& statement) {
  llvm::SmallVector<BufferId, 16> found;
  const auto look = [&](const loop::Statement& s) {
    loop::visit_buffers(program_, s, [&](BufferId id, bool) {
      if (bases_[id] != nullptr || program_.buffers[id].kind == BufferKind::kConstant ||
          outline_.pointer_slots.contains(id)) {
        return;
      }
      set_base(id, base(id));
      found.push_back(id);
    });
  };
  look(statement);
  loop::visit_blocks_of(program_, statement,
                        [&](loop::BlockId inner) { loop::visit_statements(program_, inner, look); });
  return found;
}

void Emitter::forget_bases(absl::Span<const BufferId> buffers) {
  for (BufferId id : buffers) bases_[id] = nullptr;
}

void Emitter::emit_call(const OutlinedCall& call) {
  const OutlinedFunction& callee = outline_.functions[call.function];
  llvm::SmallVector<llvm::Value*, 16> arguments;
  if (callee.shared) {
    if (callee.part) {
      arguments = {inputs_, outputs_, arena_, table_of(call)};
    } else {
      arguments.push_back(arena_);
      for (const OutlinedCall::Array& array : call.arrays) {
        llvm::Type* element = memory_type(context_, real_dtype(program_.buffers[array.buffer].dtype));
        // Not "inbounds": what the callee adds to it brings it back.
        arguments.push_back(
            array.shift == 0 ? base(array.buffer)
                             : b_.CreateConstGEP1_64(element, base(array.buffer), static_cast<uint64_t>(array.shift)));
      }
    }
    for (const loop::Statement* is : call.constants) arguments.push_back(scalar_.constant(is->dtype, is->bits));
    for (loop::Value is : call.values) arguments.push_back(value(is));
    for (loop::Value is : call.results) arguments.push_back(slot_of(is));
    if (callee.any_extent) arguments.push_back(b_.getInt64(static_cast<uint64_t>(call.extent)));
  } else {
    arguments = {inputs_, outputs_, arena_};
  }
  llvm::CallInst* done = b_.CreateCall(declare(call.function), arguments);
  if (callee.may_fail) go_on_if(done);
  for (loop::Value is : callee.shared ? call.results : callee.results) know(is, load_slot(is));
}

void Emitter::go_on_if(llvm::Value* succeeded) {
  if (failed_ == nullptr) {
    failed_ = new_block("failed");
    llvm::IRBuilder<> at(failed_);
    if (function_->getReturnType()->isVoidTy()) {
      at.CreateRetVoid();
    } else {
      at.CreateRet(at.getFalse());
    }
  }
  llvm::BasicBlock* next = new_block("called");
  b_.CreateCondBr(succeeded, next, failed_);
  b_.SetInsertPoint(next);
}

// ------------------------------------------------------------------------------------------------------------- values

void Emitter::know(loop::Value value, llvm::Value* is) {
  values_[value] = is;
  known_values_.push_back(value);
}

void Emitter::define(loop::Value value, llvm::Value* is) {
  know(value, is);
  llvm::Value* slot = nullptr;
  if (const auto result = result_pointers_.find(value); result != result_pointers_.end()) {
    slot = result->second;
  } else if (outline_.slots.empty()) {
    return;
  } else if (const auto at = outline_.slots.find(value); at != outline_.slots.end() && arena_ != nullptr) {
    slot = arena_at(at->second);
  } else {
    return;
  }
  CT_CHECK(!is->getType()->isVectorTy());
  b_.CreateStore(is->getType()->isIntegerTy(1) ? b_.CreateZExt(is, b_.getInt8Ty()) : is, slot);
}

llvm::Value* Emitter::slot_of(loop::Value value) {
  const auto result = result_pointers_.find(value);
  return result != result_pointers_.end() ? result->second : arena_at(outline_.slots.at(value));
}

llvm::Value* Emitter::load_slot(loop::Value value) {
  llvm::Value* slot = slot_of(value);
  llvm::Type* type = register_type(context_, program_.values[value].dtype);
  return type->isIntegerTy(1) ? b_.CreateIsNotNull(b_.CreateLoad(b_.getInt8Ty(), slot)) : b_.CreateLoad(type, slot);
}

llvm::Value* Emitter::arena_at(int64_t offset) {
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), arena_, static_cast<uint64_t>(offset));
}

// ------------------------------------------------------------------------------------------------------------- tables

llvm::GlobalVariable* Emitter::table(BufferId id) {
  if (globals_[id] != nullptr) return globals_[id];
  const std::string& bytes = program_.buffers[id].bytes;
  const bool once = linkage_ != llvm::GlobalValue::InternalLinkage && bytes.size() > kLargeTable;
  llvm::Constant* data = llvm::ConstantDataArray::getRaw(bytes, bytes.size(), b_.getInt8Ty());
  globals_[id] = new llvm::GlobalVariable(
      module_, data->getType(), true, once ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::PrivateLinkage,
      once && module_number_ != 0 ? nullptr : data, once ? symbol_ + ".table." + std::to_string(id) : "table");
  if (once) globals_[id]->setVisibility(llvm::GlobalValue::HiddenVisibility);
  globals_[id]->setAlignment(llvm::Align(64));
  return globals_[id];
}

}  // namespace ct::jit
