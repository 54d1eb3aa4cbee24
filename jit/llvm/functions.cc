// The functions that a program is cut into (outline.h), and the calls between them.
#include "jit/llvm/emit.h"

namespace ct::jit {

using loop::BufferId;
using loop::BufferKind;

void begin_function(CpuEmission& e, llvm::Function* function) {
  begin_function(static_cast<Emission&>(e), function);
  e.stops.begin_function();
}

namespace {

// Parameters of a chunk: inputs, outputs, arena. Of a shared function: arena, arrays, constants, values, where the
// results go, the extent. Of a part: inputs, outputs, arena, its table.
llvm::Function* declare(CpuEmission& e, uint32_t number) {
  const OutlinedFunction& f = e.outline.functions[number];
  const std::string name = number == 0 ? e.code.symbol : e.code.symbol + "." + std::to_string(number);
  if (llvm::Function* known = e.code.module.getFunction(name)) return known;
  llvm::PointerType* pointer = e.b.getPtrTy();
  llvm::SmallVector<llvm::Type*, 16> parameters(3, pointer);
  if (f.part) {
    parameters.assign(4, pointer);
  } else if (f.shared) {
    parameters.assign(1 + f.arrays.size(), pointer);
    for (const std::vector<loop::Value>* list : {&f.varied, &f.values}) {
      for (loop::Value value : *list)
        parameters.push_back(register_type(e.code.context, e.program.values[value].dtype));
    }
    parameters.append(f.results.size(), pointer);
    if (f.any_extent) parameters.push_back(e.code.i64);
  }
  llvm::Type* result = number != 0 && f.may_fail ? e.b.getInt1Ty() : e.b.getVoidTy();
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                             number == 0 ? llvm::GlobalValue::ExternalLinkage : e.code.linkage, name, e.code.module);
  if (number != 0 && !function->hasLocalLinkage()) function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  e.code.target.set_attributes(function);
  return function;
}

void emit_function(CpuEmission& e, uint32_t number) {
  const OutlinedFunction& f = e.outline.functions[number];
  begin_function(e, declare(e, number));
  for (const loop::Statement* constant : f.constants) {
    e.values.know(constant->result, e.math.constant(constant->dtype, constant->bits));
  }
  if (f.part) {
    e.addresses.begin_shared();
    e.code.inputs = e.code.function->getArg(0);
    e.code.outputs = e.code.function->getArg(1);
    e.code.arena = e.code.function->getArg(2);
    const uint64_t next = e.addresses.use_table(e.code.function->getArg(3), f.arrays);
    e.values.use_table(e.code.function->getArg(3), next, f.values, f.results);
  } else if (f.shared) {
    e.addresses.begin_shared();
    llvm::Argument* argument = e.code.function->arg_begin();
    e.code.arena = argument++;
    for (BufferId id : f.arrays) e.addresses.set_base(id, argument++);
    for (loop::Value value : f.varied) e.values.know(value, e.values.varied[value] = argument++);
    for (loop::Value value : f.values) e.values.know(value, argument++);
    for (loop::Value value : f.results) e.values.result_pointers[value] = argument++;
    if (f.any_extent) {
      e.any_extent.loop = &e.program.fors[e.program.blocks[f.block].statements[f.begin].detail];
      e.any_extent.extent = argument++;
    }
  } else {
    e.code.inputs = e.code.function->getArg(0);
    e.code.outputs = e.code.function->getArg(1);
    e.code.arena = e.code.function->getArg(2);
    e.addresses.set_swapping(f.buffers);
    for (loop::Value value : f.entry_values) e.values.expect_in_slot(value);
  }
  if (number == 0) {
    for (BufferId id : e.outline.swapped) {
      e.b.CreateStore(e.addresses.original_base(id), e.code.arena_at(e.outline.pointer_slots.at(id)));
    }
  }
  emit_statements(e, f.block, f.begin, f.end, f.calls);
  if (e.code.function->getReturnType()->isVoidTy()) {
    e.b.CreateRetVoid();
  } else {
    e.b.CreateRet(e.b.getTrue());
  }
}

}  // namespace

void emit_call(CpuEmission& e, const OutlinedCall& call) {
  const OutlinedFunction& callee = e.outline.functions[call.function];
  llvm::SmallVector<llvm::Value*, 16> arguments;
  if (callee.part) {
    arguments = {e.code.inputs, e.code.outputs, e.code.arena, table_of(call, e.program, e.outline, e.code)};
  } else if (callee.shared) {
    arguments.push_back(e.code.arena);
    for (const OutlinedCall::Array& array : call.arrays) {
      llvm::Type* element = memory_type(e.code.context, real_dtype(e.program.buffers[array.buffer].dtype));
      // Not "inbounds": what the callee adds to it brings it back.
      arguments.push_back(array.shift == 0 ? e.addresses.base(array.buffer)
                                           : e.b.CreateConstGEP1_64(element, e.addresses.base(array.buffer),
                                                                    static_cast<uint64_t>(array.shift)));
    }
    for (const loop::Statement* is : call.constants) arguments.push_back(e.math.constant(is->dtype, is->bits));
    for (loop::Value is : call.values) arguments.push_back(value_of(e, is));
    for (loop::Value is : call.results) arguments.push_back(e.values.slot_of(is));
    if (callee.any_extent) arguments.push_back(e.b.getInt64(static_cast<uint64_t>(call.extent)));
  } else {
    arguments = {e.code.inputs, e.code.outputs, e.code.arena};
  }
  llvm::CallInst* done = e.b.CreateCall(declare(e, call.function), arguments);
  if (callee.may_fail) go_on_if(e, done);
  for (loop::Value is : callee.shared ? call.results : callee.results) {
    // Inside of loops and branches a value has to be known all over the block that it is computed in.
    if (e.addresses.are_known) {
      e.values.know(is, e.values.load_slot(is));
    } else {
      e.values.expect_in_slot(is);
    }
  }
}

void emit_module(CpuEmission& e, std::string_view symbol, std::optional<uint32_t> module) {
  e.code.symbol = symbol;
  e.code.module_number = module.value_or(0);
  const bool one_of_several = module && e.outline.modules > 1;
  if (one_of_several) e.code.linkage = llvm::GlobalValue::ExternalLinkage;
  for (uint32_t f = 0; f < e.outline.functions.size(); ++f) {
    if (!module || e.outline.functions[f].module == *module) emit_function(e, f);
  }
  e.code.promote_registers();
  if (!one_of_several || *module != 0) return;
  for (BufferId id = 0; id < e.program.buffers.size(); ++id) {
    if (e.program.buffers[id].kind == BufferKind::kConstant && e.program.buffers[id].bytes.size() > kLargeTable)
      e.addresses.constant(id);
  }
}

}  // namespace ct::jit
