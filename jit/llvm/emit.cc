#include "jit/llvm/emit.h"

#include <utility>

#include "device/host_call.h"
#include "jit/llvm/accesses.h"
#include "jit/llvm/debugging.h"
#include "jit/llvm/gemm.h"
#include "jit/llvm/loops.h"
#include "jit/loop/visit.h"
#include "runtime/error.h"
#include "runtime/pool.h"
#include "runtime/processor.h"

namespace ct::jit {

using loop::BlockId;
using loop::BufferId;
using loop::Statement;
using loop::StatementKind;

CpuEmission::CpuEmission(const loop::Program& program, const Outline& outline, Target& target, llvm::Module& module,
                         Sharing::Threads threads)
    : Emission(program, outline, target, module),
      cost(program),
      sharing{.threads = threads, .arena_bytes = outline.arena_bytes},
      stops{.wanted = (sharing.in_process() || outline.asks_caller) && outline.may_take_long} {}

namespace {

void emit_range(CpuEmission& e, const Statement& s) {
  const loop::MemoryRange& range = e.program.ranges[s.detail];
  DType dtype = e.program.buffers[range.destination].dtype;
  int64_t real_parts = is_complex(dtype) ? 2 : 1;
  llvm::Value* bytes = e.b.CreateMul(uniform_index(e, range.count), e.b.getInt64(dtype_size(dtype)));
  llvm::Align align(dtype_size(dtype) / real_parts);
  llvm::Value* to =
      e.addresses.element_pointer(range.destination, uniform_index(e, range.destination_offset * real_parts));
  if (s.kind == StatementKind::kCopy) {
    llvm::Value* from = e.addresses.element_pointer(range.source, uniform_index(e, range.source_offset * real_parts));
    e.b.CreateMemCpy(to, align, from, align, bytes);
    return;
  }
  const auto fill = [&](llvm::Value* begin, llvm::Value* end) {
    llvm::Value* first = e.b.CreateInBoundsGEP(e.b.getInt8Ty(), to, begin);
    e.b.CreateMemSet(first, e.b.getInt8(static_cast<uint8_t>(s.bits)), e.b.CreateSub(end, begin), align);
  };
  // Pages of what is long, for threads to share.
  const double nanoseconds = e.cost.statement(s);
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(bytes);
  if (known == nullptr || e.lanes.width != 0 || nanoseconds < Pool::kLeastHot) return fill(e.b.getInt64(0), bytes);
  share_range(e, bytes, nanoseconds / static_cast<double>(known->getSExtValue()), kProcessor.page, 0, fill);
}

void emit_host_call(CpuEmission& e, const loop::HostCall& call) {
  CT_CHECK(e.lanes.width == 0);
  llvm::PointerType* pointer = e.b.getPtrTy();
  // On the stack from the entry block on: the call may be in a loop.
  const auto list = [&](const std::vector<loop::HostCall::Array>& arrays) {
    llvm::IRBuilder<> entry = e.code.at_entry();
    llvm::Value* pointers = entry.CreateAlloca(pointer, entry.getInt64(std::max<size_t>(arrays.size(), 1)));
    for (size_t i = 0; i < arrays.size(); ++i) {
      const BufferId buffer = arrays[i].buffer;
      const int64_t parts = is_complex(e.program.buffers[buffer].dtype) ? 2 : 1;
      e.b.CreateStore(e.addresses.element_pointer(buffer, uniform_index(e, arrays[i].offset * parts)),
                      e.b.CreateConstInBoundsGEP1_64(pointer, pointers, i));
    }
    return pointers;
  };
  llvm::Value* inputs = list(call.inputs);
  llvm::Value* outputs = list(call.outputs);
  llvm::FunctionCallee host =
      e.code.module.getOrInsertFunction(kHostCallSymbol, e.b.getInt1Ty(), e.b.getInt32Ty(), pointer, pointer);
  auto* declared = llvm::cast<llvm::Function>(host.getCallee());
  declared->addRetAttr(llvm::Attribute::ZExt);
  declared->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::Value* succeeded = e.b.CreateCall(host, {e.b.getInt32(call.function), inputs, outputs});
  go_on_if(e, succeeded);
}

}  // namespace

void emit_block(CpuEmission& e, BlockId id) {
  if (e.scope != nullptr) {
    for (const Statement& s : e.program.blocks[id].statements) e.scope->statement(s);
    return;
  }
  emit_statements(e, id, 0, static_cast<uint32_t>(e.program.blocks[id].statements.size()), e.outline.calls_in(id));
}

namespace {

// What the statement, or what is inside of it, takes from slots.
void load_expected(CpuEmission& e, const Statement& statement) {
  const auto load = [&](loop::Value value) { e.values.load_expected(value); };
  const auto look = [&](const Statement& s) {
    loop::visit_inputs(e.program, s, load);
    loop::visit_yields(e.program, s, load);
  };
  look(statement);
  loop::visit_blocks_of(e.program, statement, [&](BlockId inner) { loop::visit_statements(e.program, inner, look); });
}

}  // namespace

void emit_statements(CpuEmission& e, BlockId id, uint32_t begin, uint32_t end, absl::Span<const OutlinedCall> calls) {
  const std::vector<Statement>& statements = e.program.blocks[id].statements;
  double pending = 0;  // time since the last question
  for (uint32_t i = begin; i < end; ++i) {
    if (!calls.empty() && calls.front().begin == i) {
      const uint32_t after = calls.front().end;
      if (!e.addresses.are_known && !e.outline.functions[calls.front().function].part) {
        for (const loop::Value value : calls.front().values) e.values.load_expected(value);
      }
      emit_call(e, calls.front());
      if (may_stop(e, id, i, after)) stop_if_told(e, 1e9);
      count_time(e, absl::MakeConstSpan(statements).subspan(i, after - i), pending);
      i = after - 1;
      calls.remove_prefix(1);
      continue;
    }
    bool took_following = false;
    const bool outermost = !std::exchange(e.addresses.are_known, true);
    if (outermost && debugging_wanted()) mark_group(e.b, e.code.module, statements[i].group);
    if (outermost) {
      load_expected(e, statements[i]);
      if (i + 1 < end && statements[i + 1].kind == StatementKind::kStore) load_expected(e, statements[i + 1]);
    }
    const BufferIds bases = outermost ? e.addresses.know_bases(statements[i]) : BufferIds();
    emit_statement(e, statements[i], i + 1 < end ? &statements[i + 1] : nullptr, &took_following);
    if (outermost) {
      e.addresses.forget(bases);
      e.addresses.are_known = false;
    }
    count_time(e, absl::MakeConstSpan(statements).subspan(i, 1), pending);
    if (took_following) ++i;
  }
}

void emit_statement(CpuEmission& e, const Statement& s, const Statement* following, bool* took_following) {
  switch (s.kind) {
    case StatementKind::kStore: {
      bool even = is_complex(e.program.buffers[s.buffer].dtype) && e.lanes.width != 0;
      if (even && following != nullptr && following->kind == StatementKind::kStore && following->buffer == s.buffer &&
          following->index == s.index + 1 &&
          (s.index.coefficient_of(e.lanes.variable) == 2 ||
           (s.index.coefficient_of(e.lanes.variable) == -2 && e.lanes.mask == nullptr))) {
        *took_following = true;
        return emit_store_complex(e, s.buffer, s.index, value_of(e, s.operands[0]),
                                  value_of(e, following->operands[0]));
      }
      return emit_store(e, s.buffer, s.index, value_of(e, s.operands[0]));
    }
    case StatementKind::kFor:
      return emit_for(e, e.program.fors[s.detail]);
    case StatementKind::kWhile:
      return emit_while(e, e.program.whiles[s.detail]);
    case StatementKind::kIf:
      return emit_if(e, e.program.ifs[s.detail]);
    case StatementKind::kGemm:
      return GemmEmitter(e, e.program.gemms[s.detail]).emit();
    case StatementKind::kFill:
    case StatementKind::kCopy:
      return emit_range(e, s);
    case StatementKind::kSwap:
      return e.addresses.swap(s.buffer, s.other);
    case StatementKind::kHostCall:
      return emit_host_call(e, e.program.host_calls[s.detail]);
    default:
      e.values.define(s.result, emit_instruction(e, s));
  }
}

}  // namespace ct::jit
