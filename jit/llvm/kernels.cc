// Loop programs as kernels of a GPU: which statements are one kernel, and what kernels hand each other.
//
// What is large and has independent items is a kernel on the grid, together with what follows where each thread only
// comes back to its own elements. All statements between such ones are one kernel of
// one block, which runs them together (block_scope.h), loops with all their iterations among them. So a small program
// is one launch. Scalars of one kernel that another one uses have slots behind the arena; what is cheap is computed
// again in each kernel.
#include <llvm/IR/Verifier.h>

#include <algorithm>
#include <set>

#include "jit/cost/cost.h"
#include "jit/llvm/block_scope.h"
#include "jit/llvm/emulate.h"
#include "jit/loop/visit.h"
#include "runtime/error.h"

namespace ct::jit {

using loop::Buffer;
using loop::BufferId;
using loop::BufferKind;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

namespace {

constexpr int64_t kMostBlocks = 65535;
// What takes one core of a host less costs a block less than another launch does.
constexpr double kLeastOnGrid = 40'000;  // nanoseconds

struct Piece {
  bool on_grid = false;
  std::vector<const Statement*> statements;
};

struct Cut {
  std::vector<Piece> pieces;
  std::vector<const Statement*> repeated;  // in order
};

// Cheap, and the same whenever it is computed.
bool repeats(const loop::Program& program, const Statement& s, const std::set<Value>& known) {
  if (!loop::is_instruction(s)) return false;
  if (s.kind == StatementKind::kLoad && program.buffers[s.buffer].kind != BufferKind::kInput &&
      program.buffers[s.buffer].kind != BufferKind::kConstant) {
    return false;
  }
  bool all_known = true;
  loop::visit_inputs(program, s, [&](Value value) { all_known = all_known && known.contains(value); });
  return all_known;
}

Cut cut_in_kernels(const loop::Program& program, Barriers& barriers) {
  CostModel cost(program);
  Cut cut;
  std::set<Value> known;
  bool open = false;
  for (const Statement& s : program.blocks[0].statements) {
    if (repeats(program, s, known)) {
      cut.repeated.push_back(&s);
      known.insert(s.result);
      continue;
    }
    const bool on_grid = share_of(program, s) == Share::kItems && cost.statement(s) >= kLeastOnGrid;
    const bool joins = on_grid && !cut.pieces.empty() && cut.pieces.back().on_grid &&
                       barriers.needs_none(cut.pieces.back().statements, s);
    if (!joins && (on_grid || !open)) cut.pieces.push_back({on_grid, {}});
    cut.pieces.back().statements.push_back(&s);
    open = !on_grid;
  }
  return cut;
}

// Every value that the statements take from outside.
std::set<Value> values_from_outside(const loop::Program& program, absl::Span<const Statement* const> statements) {
  std::set<Value> inside, outside;
  const auto use = [&](Value value) {
    if (!inside.contains(value)) outside.insert(value);
  };
  const auto define = [&](Value value) { inside.insert(value); };
  const std::function<void(const Statement&)> walk = [&](const Statement& s) {
    loop::visit_inputs(program, s, use);
    loop::visit_arguments(program, s, define);
    loop::visit_blocks_of(program, s, [&](loop::BlockId block) {
      for (const Statement& inner : program.blocks[block].statements) walk(inner);
    });
    loop::visit_yields(program, s, use);
    loop::visit_results(program, s, define);
  };
  for (const Statement* s : statements) walk(*s);
  return outside;
}

std::set<BufferId> buffers_of(const loop::Program& program, absl::Span<const Statement* const> statements) {
  std::set<BufferId> found;
  const auto look = [&](const Statement& s) {
    loop::visit_buffers(program, s, [&](BufferId id, bool) { found.insert(id); });
  };
  for (const Statement* s : statements) {
    look(*s);
    loop::visit_blocks_of(program, *s, [&](loop::BlockId block) { loop::visit_statements(program, block, look); });
  }
  return found;
}

}  // namespace

class KernelEmitter {
 public:
  KernelEmitter(CpuEmission& e, int64_t without_barrier)
      : e_(e), b_(e.b), program_(e.program), barriers_(e.program), scope_(e, barriers_, without_barrier) {}

  void emit(Plan& plan);

 private:
  void number_buffers(Plan& plan);
  void find_slots(const Cut& cut);
  void emit_kernel(const Cut& cut, const Piece& piece, KernelStep& step);
  // Declares it; what it is given becomes known.
  void begin_kernel(const Piece& piece, absl::Span<const Statement* const> repeated, KernelStep& step);
  llvm::Type* slot_type(Value value) const;
  int64_t most_items(const Statement& s) const;

  CpuEmission& e_;
  llvm::IRBuilder<>& b_;
  const loop::Program& program_;
  Barriers barriers_;
  BlockScope scope_;
  std::vector<uint32_t> plan_buffer_;     // by buffer
  uint32_t arena_ = 0;                    // in the plan's buffers
  llvm::DenseMap<Value, int64_t> slots_;  // bytes from the begin of the arena
  int64_t arena_bytes_ = 0;
};

void KernelEmitter::number_buffers(Plan& plan) {
  plan_buffer_.resize(program_.buffers.size());
  for (BufferId id = 0; id < program_.buffers.size(); ++id) {
    const Buffer& buffer = program_.buffers[id];
    if (buffer.kind != BufferKind::kInput && buffer.kind != BufferKind::kOutput) continue;
    plan_buffer_[id] = static_cast<uint32_t>(plan.buffers.size());
    plan.buffers.push_back(
        {.kind = buffer.kind == BufferKind::kInput ? PlanBuffer::Kind::kInput : PlanBuffer::Kind::kOutput,
         .position = static_cast<int32_t>(buffer.position),
         .offset = 0,
         .bytes = buffer.elements * dtype_size(buffer.dtype)});
  }
  arena_ = static_cast<uint32_t>(plan.buffers.size());
  plan.buffers.push_back({.kind = PlanBuffer::Kind::kArena, .position = 0, .offset = 0, .bytes = arena_bytes_});
}

void KernelEmitter::find_slots(const Cut& cut) {
  arena_bytes_ = (program_.arena_bytes + 7) / 8 * 8;
  std::set<Value> again;
  for (const Statement* s : cut.repeated) again.insert(s->result);
  std::vector<std::set<Value>> defined(cut.pieces.size());
  for (size_t p = 0; p < cut.pieces.size(); ++p) {
    for (const Statement* s : cut.pieces[p].statements) {
      loop::visit_results(program_, *s, [&](Value value) { defined[p].insert(value); });
    }
    for (Value value : values_from_outside(program_, cut.pieces[p].statements)) {
      if (again.contains(value) || defined[p].contains(value) || !slots_.try_emplace(value, arena_bytes_).second) {
        continue;
      }
      arena_bytes_ += 8;
    }
  }
}

llvm::Type* KernelEmitter::slot_type(Value value) const {
  llvm::Type* type = register_type(e_.code.context, program_.values[value].dtype);
  return type->isIntegerTy(1) ? b_.getInt8Ty() : type;
}

void KernelEmitter::begin_kernel(const Piece& piece, absl::Span<const Statement* const> repeated, KernelStep& step) {
  std::vector<const Statement*> all(repeated.begin(), repeated.end());
  all.insert(all.end(), piece.statements.begin(), piece.statements.end());
  const std::set<BufferId> used = buffers_of(program_, all);
  std::vector<BufferId> passed;
  for (BufferId id : used) {
    const BufferKind kind = program_.buffers[id].kind;
    if (kind == BufferKind::kInput || kind == BufferKind::kOutput) passed.push_back(id);
  }
  const std::vector<llvm::Type*> parameters(passed.size() + 1, b_.getPtrTy());
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), parameters, false),
                                          llvm::GlobalValue::ExternalLinkage, step.symbol, e_.code.module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  e_.code.target.set_attributes(function);
  begin_function(e_, function);
  e_.code.arena = function->getArg(static_cast<unsigned>(passed.size()));
  llvm::DenseMap<BufferId, llvm::Value*> bases;
  for (size_t i = 0; i < passed.size(); ++i) {
    bases[passed[i]] = function->getArg(static_cast<unsigned>(i));
    step.arguments.push_back({plan_buffer_[passed[i]], 0});
  }
  step.arguments.push_back({arena_, 0});
  std::set<BufferId> swapping;
  for (const Statement* s : piece.statements) {
    const auto look = [&](const Statement& inner) {
      if (inner.kind == StatementKind::kSwap) swapping.insert({inner.buffer, inner.other});
    };
    look(*s);
    loop::visit_blocks_of(program_, *s, [&](loop::BlockId block) { loop::visit_statements(program_, block, look); });
  }
  for (BufferId id : used) {
    const Buffer& buffer = program_.buffers[id];
    if (buffer.kind == BufferKind::kConstant) continue;
    llvm::Value* base = buffer.kind == BufferKind::kTemporary ? e_.code.arena_at(buffer.position) : bases[id];
    if (swapping.contains(id)) {
      e_.addresses.keep_in_register(id, base);
    } else {
      e_.addresses.set_base(id, base);
    }
  }
}

// At most as many threads are of use.
int64_t KernelEmitter::most_items(const Statement& s) const {
  if (s.kind != StatementKind::kFor) {
    const loop::MemoryRange& range = program_.ranges[s.detail];
    const int64_t most = program_.range_of(range.count).high;
    return is_complex(program_.buffers[range.destination].dtype) ? std::min(most, INT64_MAX / 2) * 2 : most;
  }
  int64_t items = 1;
  for (const loop::For* level : nest_of(program_, program_.fors[s.detail])) {
    const int64_t most = std::max<int64_t>(program_.range_of(level->extent).high, 1);
    if (__builtin_mul_overflow(items, most, &items)) return INT64_MAX;
  }
  return items;
}

void KernelEmitter::emit_kernel(const Cut& cut, const Piece& piece, KernelStep& step) {
  std::set<Value> wanted = values_from_outside(program_, piece.statements);
  std::vector<const Statement*> repeated;
  for (auto s = cut.repeated.rbegin(); s != cut.repeated.rend(); ++s) {
    if (!wanted.contains((*s)->result)) continue;
    repeated.insert(repeated.begin(), *s);
    loop::visit_inputs(program_, **s, [&](Value value) { wanted.insert(value); });
  }
  begin_kernel(piece, repeated, step);
  scope_.begin_function();
  for (const Statement* s : repeated) emit_statement(e_, *s);
  std::set<Value> own;
  for (const Statement* s : piece.statements) {
    loop::visit_results(program_, *s, [&](Value value) { own.insert(value); });
  }
  for (Value value : wanted) {
    const auto slot = slots_.find(value);
    if (slot == slots_.end() || own.contains(value)) continue;
    llvm::Value* is = b_.CreateLoad(slot_type(value), e_.code.arena_at(slot->second));
    const bool is_flag = program_.values[value].dtype == DType::kBool;
    e_.values.define(value, is_flag ? b_.CreateTrunc(is, b_.getInt1Ty()) : is);
  }
  barriers_.place(piece.statements);
  e_.scope = &scope_;
  if (piece.on_grid) {
    int64_t items = 1;
    for (const Statement* s : piece.statements) {
      scope_.on_grid(*s);
      items = std::max(items, most_items(*s));
    }
    step.blocks = static_cast<uint32_t>(
        std::clamp<int64_t>(items / kBlockThreads + (items % kBlockThreads != 0), 1, kMostBlocks));
  } else {
    for (const Statement* s : piece.statements) scope_.statement(*s);
    scope_.first_thread_only([&] {
      for (Value value : own) {
        const auto slot = slots_.find(value);
        if (slot == slots_.end()) continue;
        llvm::Value* is = value_of(e_, value);
        const bool is_flag = program_.values[value].dtype == DType::kBool;
        b_.CreateStore(is_flag ? b_.CreateZExt(is, b_.getInt8Ty()) : is, e_.code.arena_at(slot->second));
      }
    });
  }
  e_.scope = nullptr;
  b_.CreateRetVoid();
  e_.code.promote_registers();
  step.threads = static_cast<uint32_t>(kBlockThreads);
  step.shared_bytes = scope_.shared_bytes();
}

void KernelEmitter::emit(Plan& plan) {
  const Cut cut = cut_in_kernels(program_, barriers_);
  find_slots(cut);
  number_buffers(plan);
  std::vector<Step>& steps = plan.blocks.emplace_back();
  for (const Piece& piece : cut.pieces) {
    KernelStep step{.code = 0, .symbol = "kernel" + std::to_string(steps.size()), .arguments = {}};
    emit_kernel(cut, piece, step);
    steps.emplace_back(std::move(step));
  }
  plan.arena_bytes = arena_bytes_;
}

absl::StatusOr<Plan> emit_kernels(const loop::Program& program, std::string_view architecture,
                                  int64_t without_barrier) {
  const bool emulated = architecture == kEmulated;
  absl::StatusOr<TargetHandle> target = borrow_target({.triple = emulated ? "" : "nvptx64-nvidia-cuda",
                                                       .cpu = emulated ? "" : std::string(architecture),
                                                       .vector_bits = 0,
                                                       .emulates_kernels = emulated});
  if (!target.ok()) return target.status();
  std::unique_ptr<llvm::Module> module = (*target)->new_module(program.name);
  Plan plan;
  plan.name = program.name;
  plan.target = emulated ? std::string(kEmulated) : "cuda:" + std::string(architecture);
  try {
    const Outline none;  // kernels are cut out another way
    CpuEmission emission(program, none, **target, *module, /*has_pool=*/false);
    KernelEmitter(emission, without_barrier).emit(plan);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUnsupported) return absl::UnimplementedError(error.what());
    return absl::InternalError(error.what());
  }
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream)) return absl::InternalError("malformed LLVM IR: " + problem);
  if (emulated) emulate(*module);
  plan.codes.push_back({.format = emulated ? Code::Format::kElf : Code::Format::kPtx,
                        .bytes = (*target)->emit(*module, /*as_text=*/!emulated)});
  return plan;
}

}  // namespace ct::jit
