// Loop programs as kernels of a GPU: code for the kernels that a program is cut in (pieces.h), and the plan that has
// them.
#include <llvm/IR/Verifier.h>

#include <algorithm>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "device/step_text.h"
#include "jit/llvm/block_scope.h"
#include "jit/llvm/debugging.h"
#include "jit/llvm/emulate.h"
#include "jit/llvm/library_products.h"
#include "jit/llvm/pieces.h"
#include "jit/loop/visit.h"
#include "runtime/error.h"
#include "runtime/status.h"

namespace ct::jit {

using loop::Buffer;
using loop::BufferId;
using loop::BufferKind;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

namespace {

constexpr int64_t kMostBlocks = 65535;

// These and all inside them, in order.
template <typename Visit>
void visit_all(const loop::Program& program, absl::Span<const Statement* const> statements, const Visit& visit) {
  for (const Statement* s : statements) {
    visit(*s);
    loop::visit_blocks_of(program, *s, [&](loop::BlockId block) { loop::visit_statements(program, block, visit); });
  }
}

std::set<BufferId> buffers_of(const loop::Program& program, absl::Span<const Statement* const> statements) {
  std::set<BufferId> found;
  visit_all(program, statements,
            [&](const Statement& s) { loop::visit_buffers(program, s, [&](BufferId id, bool) { found.insert(id); }); });
  return found;
}

// Which names exchange their memory while the kernel runs.
std::vector<std::set<BufferId>> swapping_groups(const loop::Program& program, const Kernel& kernel) {
  std::vector<std::set<BufferId>> found;
  if (kernel.kind == Kernel::Kind::kExchange) return found;
  visit_all(program, kernel.statements, [&](const Statement& s) {
    if (s.kind != StatementKind::kSwap) return;
    std::set<BufferId> group = {s.buffer, s.other};
    std::erase_if(found, [&](std::set<BufferId>& other) {
      const bool meets = other.contains(s.buffer) || other.contains(s.other);
      if (meets) group.merge(other);
      return meets;
    });
    found.push_back(std::move(group));
  });
  return found;
}

// Whether other kernels may read what they hold. Memory of arrays that nobody reads any more is that of others, to
// which the kernel comes after it has exchanged these last.
bool outlive(const loop::Program& program, const Kernel& kernel, const std::set<BufferId>& swapping) {
  bool kept = true;
  visit_all(program, kernel.statements, [&](const Statement& s) {
    if (s.kind == StatementKind::kSwap && swapping.contains(s.buffer)) kept = true;
    loop::visit_buffers(program, s, [&](BufferId id, bool) {
      if (swapping.contains(id)) return;
      kept = kept && absl::c_none_of(swapping, [&](BufferId other) {
               return share_memory(program.buffers[id], program.buffers[other]);
             });
    });
  });
  return kept;
}

// The group of each statement: that of the one in the entry block that it is in.
using Groups = absl::flat_hash_map<const Statement*, uint32_t>;
void find_groups(const loop::Program& program, loop::BlockId block, uint32_t around, Groups& groups) {
  for (const Statement& s : program.blocks[block].statements) {
    const uint32_t group = around == 0 ? s.group : around;
    if (group != 0) groups[&s] = group;
    loop::visit_blocks_of(program, s, [&](loop::BlockId inner) { find_groups(program, inner, group, groups); });
  }
}

// The names of the groups that a kernel's statements are of, each once.
std::string work_of(const loop::Program& program, const Groups& groups, const Kernel& kernel) {
  std::vector<uint32_t> found;
  const auto add = [&](const Statement* s) {
    const auto group = groups.find(s);
    if (group != groups.end() && !absl::c_linear_search(found, group->second)) found.push_back(group->second);
  };
  for (const Parts& parts : kernel.parts) add(parts.fold);
  for (const Statement* s : kernel.statements) add(s);
  std::string text;
  for (uint32_t group : found) text += (text.empty() ? "" : kBetweenGroups) + program.groups[group];
  return text;
}

}  // namespace

class KernelEmitter {
 public:
  KernelEmitter(CpuEmission& e, const Machine& machine, absl::Span<const int> donations, int64_t without_barrier)
      : e_(e),
        b_(e.b),
        program_(e.program),
        barriers_(e.program, donations),
        scope_(e, barriers_, without_barrier),
        cut_(cut_in_pieces(e.program, machine, donations)) {
    find_groups(program_, 0, 0, groups_);
  }

  void emit(Plan& plan);

 private:
  void number_buffers(Plan& plan);
  void find_slots();
  Slot slot_of(Value value) const { return cut_.slot_of(value); }
  Where place(Slot slot) const { return {arena_, slots_.at(slot)}; }
  ByteRange place(const loop::HostCall::Array& array, int64_t moved) const;
  ProductMatrix matrix(const LibraryMatrix& matrix) const;
  ProductStep product_step(const LibraryProduct& product, std::string work) const;
  void add_steps(Plan& plan, const Pieces& pieces, uint32_t block) const;
  void emit_kernel(const Kernel& kernel, KernelStep& step);
  // Declares it; what it is given becomes known.
  void begin_kernel(const Kernel& kernel, const Needs& needs, KernelStep& step);
  void end_block(const Kernel& kernel, const Needs& needs);
  void move(const Move& move);
  llvm::Value* assigned(const Assignment& assignment);
  llvm::Value* load_slot(Value value);
  void store_slot(Slot slot, llvm::Value* is);
  int64_t most_items(const Statement& s) const;
  static uint32_t blocks_for(int64_t items) {
    return static_cast<uint32_t>(
        std::clamp<int64_t>(items / kBlockThreads + (items % kBlockThreads != 0), 1, kMostBlocks));
  }

  CpuEmission& e_;
  llvm::IRBuilder<>& b_;
  const loop::Program& program_;
  Barriers barriers_;
  BlockScope scope_;
  const Cut cut_;
  Groups groups_;
  std::vector<KernelStep> kernels_;
  std::vector<uint32_t> plan_buffer_;    // by buffer
  uint32_t arena_ = 0;                   // in the plan's buffers
  llvm::DenseMap<Slot, int64_t> slots_;  // bytes from the begin of the arena
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

void KernelEmitter::find_slots() {
  arena_bytes_ = cut_.arena_bytes;
  const auto add = [&](Slot slot) {
    if (slots_.try_emplace(slot, arena_bytes_).second) arena_bytes_ += 8;
  };
  for (const Kernel& kernel : cut_.kernels) {
    for (Value value : needs_of(program_, cut_, kernel).loaded) add(slot_of(value));
    for (const Assignment& assignment : kernel.assignments) add(assignment.to);
  }
}

llvm::Value* KernelEmitter::load_slot(Value value) {
  llvm::Type* type = register_type(e_.code.context, program_.values[value].dtype);
  llvm::Value* address = e_.code.arena_at(slots_.at(slot_of(value)));
  if (!type->isIntegerTy(1)) return b_.CreateLoad(type, address);
  return b_.CreateTrunc(b_.CreateLoad(b_.getInt8Ty(), address), type);
}

void KernelEmitter::store_slot(Slot slot, llvm::Value* is) {
  if (is->getType()->isIntegerTy(1)) is = b_.CreateZExt(is, b_.getInt8Ty());
  b_.CreateStore(is, e_.code.arena_at(slots_.at(slot)));
}

void KernelEmitter::begin_kernel(const Kernel& kernel, const Needs& needs, KernelStep& step) {
  std::vector<const Statement*> all = needs.repeated;
  all.insert(all.end(), kernel.statements.begin(), kernel.statements.end());
  std::set<BufferId> used = buffers_of(program_, all);
  for (const Move& move : kernel.moves) used.insert(move.array->buffer);
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
  const std::vector<std::set<BufferId>> groups = swapping_groups(program_, kernel);
  std::set<BufferId> swapping;
  for (const std::set<BufferId>& group : groups) swapping.insert(group.begin(), group.end());
  for (BufferId id : used) {
    const Buffer& buffer = program_.buffers[id];
    if (buffer.kind == BufferKind::kConstant) continue;
    llvm::Value* base = buffer.kind == BufferKind::kTemporary ? e_.code.arena_at(buffer.position) : bases[id];
    if (swapping.contains(id)) {
      e_.addresses.keep_in_register(id, base);
      bases[id] = base;
    } else {
      e_.addresses.set_base(id, base);
    }
  }
  for (const std::set<BufferId>& group : groups) {
    if (!outlive(program_, kernel, group)) continue;
    auto& arrays = scope_.swapping().emplace_back();
    for (BufferId id : group) arrays.emplace_back(id, bases[id]);
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

void KernelEmitter::move(const Move& move) {
  const loop::HostCall::Array& array = *move.array;
  const DType dtype = program_.buffers[array.buffer].dtype;
  const int64_t parts = is_complex(dtype) ? 2 : 1;
  llvm::Value* inside = e_.addresses.element_pointer(array.buffer, uniform_index(e_, array.offset * parts));
  llvm::Value* outside = e_.code.arena_at(move.position);
  scope_.copy(memory_type(e_.code.context, real_dtype(dtype)), move.to_array ? inside : outside,
              move.to_array ? outside : inside, b_.getInt64(array.elements * parts));
}

llvm::Value* KernelEmitter::assigned(const Assignment& assignment) {
  const auto value = [&] { return value_of(e_, assignment.value); };
  const auto next = [&] { return b_.CreateNSWAdd(value(), b_.getInt64(1)); };
  switch (assignment.what) {
    case Assignment::What::kValue:
    case Assignment::What::kCondition:
      return value();
    case Assignment::What::kZero:
      return b_.getInt64(0);
    case Assignment::What::kNext:
      return next();
    case Assignment::What::kCombine:
      return e_.math.apply(*assignment.carry->combine, program_.values[assignment.carry->init].dtype, value(),
                           value_of(e_, assignment.other));
    case Assignment::What::kIsBelow:
      return b_.CreateICmpSLT(assignment.value == loop::kNoValue ? b_.getInt64(0) : next(),
                              uniform_index(e_, assignment.loop->extent));
    case Assignment::What::kChoice:
      return b_.CreateZExt(value(), b_.getInt32Ty());
  }
  return nullptr;
}

// What a block does behind its statements, for other kernels.
void KernelEmitter::end_block(const Kernel& kernel, const Needs& needs) {
  const bool swaps = cut_.pieces.size() > 1 && scope_.end_swaps();
  if (std::ranges::any_of(kernel.moves,
                          [&](const Move& each) { return swaps || barriers_.is_pending(each.array->buffer); })) {
    scope_.barrier();
  }
  for (const Move& each : kernel.moves) move(each);
  std::vector<std::pair<Slot, llvm::Value*>> stored;
  for (Value value : needs.own) {
    if (slots_.contains(slot_of(value))) stored.emplace_back(slot_of(value), value_of(e_, value));
  }
  for (const Assignment& assignment : kernel.assignments) stored.emplace_back(assignment.to, assigned(assignment));
  // Other threads may not have read yet what the first one is about to write.
  const bool is_read = std::ranges::any_of(needs.loaded, [&](Value value) {
    return std::ranges::any_of(stored, [&](const auto& one) { return one.first == slot_of(value); });
  });
  if (is_read) scope_.barrier();
  scope_.first_thread_only([&] {
    for (const auto& [slot, is] : stored) store_slot(slot, is);
  });
}

void KernelEmitter::emit_kernel(const Kernel& kernel, KernelStep& step) {
  const Needs needs = needs_of(program_, cut_, kernel);
  scope_.begin_function();
  begin_kernel(kernel, needs, step);
  for (Value value : needs.loaded) e_.values.define(value, load_slot(value));
  for (const Statement* s : needs.repeated) emit_statement(e_, *s);
  barriers_.place(kernel.statements, !kernel.parts.empty());
  e_.scope = &scope_;
  switch (kernel.kind) {
    case Kernel::Kind::kGrid:
      if (const auto nest = product_nest(program_, *kernel.statements[0])) {
        scope_.products_on_grid(*kernel.statements[0], absl::MakeConstSpan(kernel.statements).subspan(1));
        step.blocks = static_cast<uint32_t>(std::min(nest->items * tiles_of(*nest->product), kMostBlocks));
      } else {
        int64_t items = 1;
        for (const Statement* s : kernel.statements) {
          scope_.on_grid(*s);
          items = std::max(items, most_items(*s));
        }
        step.blocks = blocks_for(items);
      }
      break;
    case Kernel::Kind::kParts:
      scope_.leave_parts(kernel.parts[0]);
      step.blocks = static_cast<uint32_t>(kernel.parts[0].blocks);
      break;
    case Kernel::Kind::kExchange: {
      const Statement& s = *kernel.statements[0];
      scope_.exchange_on_grid(s.buffer, s.other);
      step.blocks = blocks_for(program_.buffers[s.buffer].elements);
      break;
    }
    case Kernel::Kind::kBlock:
      for (const Parts& parts : kernel.parts) scope_.put_together(parts);
      for (const Statement* s : kernel.statements) scope_.statement(*s);
      end_block(kernel, needs);
      break;
  }
  e_.scope = nullptr;
  b_.CreateRetVoid();
  e_.code.promote_registers();
  step.threads = static_cast<uint32_t>(kBlockThreads);
  step.shared_bytes = scope_.shared_bytes();
  step.work = work_of(program_, groups_, kernel);
}

ByteRange KernelEmitter::place(const loop::HostCall::Array& array, int64_t moved) const {
  const Buffer& buffer = program_.buffers[array.buffer];
  const int64_t size = dtype_size(buffer.dtype), bytes = array.elements * size;
  if (moved >= 0) return {{arena_, moved}, bytes};
  const int64_t offset = array.offset.constant() * size;
  if (buffer.kind == BufferKind::kTemporary) return {{arena_, buffer.position + offset}, bytes};
  return {{plan_buffer_[array.buffer], offset}, bytes};
}

ProductMatrix KernelEmitter::matrix(const LibraryMatrix& matrix) const {
  const Buffer& buffer = program_.buffers[matrix.buffer];
  const int64_t offset = matrix.offset * dtype_size(buffer.dtype);
  const bool in_arena = buffer.kind == BufferKind::kTemporary;
  return {.at = in_arena ? Where{arena_, buffer.position + offset} : Where{plan_buffer_[matrix.buffer], offset},
          .dtype = buffer.dtype,
          .row_stride = matrix.row_stride,
          .column_stride = matrix.column_stride,
          .batch_stride = matrix.batch_stride};
}

ProductStep KernelEmitter::product_step(const LibraryProduct& product, std::string work) const {
  const ProductMatrix a = matrix(product.a);
  return {.m = product.m,
          .n = product.n,
          .k = product.k,
          .batch = product.batch,
          .a = a,
          .b = matrix(product.b),
          .c = matrix(product.c),
          .compute = product_compute_type(a.dtype),
          .accumulate = product.accumulate,
          .work = std::move(work)};
}

void KernelEmitter::add_steps(Plan& plan, const Pieces& pieces, uint32_t block) const {
  const auto body = [&](const Pieces& inside) {
    const auto number = static_cast<uint32_t>(plan.blocks.size());
    plan.blocks.emplace_back();
    add_steps(plan, inside, number);
    return number;
  };
  for (const Piece& piece : pieces) {
    switch (piece.kind) {
      case Piece::Kind::kKernel:
        plan.blocks[block].emplace_back(kernels_[piece.kernel]);
        break;
      case Piece::Kind::kProduct:
        for (const LibraryProduct& product : library_products(program_, *piece.product)) {
          plan.blocks[block].emplace_back(
              product_step(product, work_of(program_, groups_, {.statements = {piece.product}})));
        }
        break;
      case Piece::Kind::kHost: {
        HostStep step{piece.call->function, {}, {}};
        for (size_t i = 0; i < piece.inputs.size(); ++i) {
          step.inputs.push_back(place(piece.call->inputs[i], piece.inputs[i]));
        }
        for (size_t i = 0; i < piece.outputs.size(); ++i) {
          step.outputs.push_back(place(piece.call->outputs[i], piece.outputs[i]));
        }
        plan.blocks[block].emplace_back(std::move(step));
        break;
      }
      case Piece::Kind::kLoop: {
        LoopStep step{piece.count, piece.count < 0 ? place(piece.control) : Where{arena_, 0}, body(piece.bodies[0])};
        plan.blocks[block].emplace_back(step);
        break;
      }
      case Piece::Kind::kBranch: {
        BranchStep step{place(piece.control), {}};
        for (const Pieces& inside : piece.bodies) step.bodies.push_back(body(inside));
        plan.blocks[block].emplace_back(std::move(step));
        break;
      }
    }
  }
}

void KernelEmitter::emit(Plan& plan) {
  find_slots();
  number_buffers(plan);
  size_t made = 0;
  for (const Kernel& kernel : cut_.kernels) {
    if (kernel.is_empty()) {
      kernels_.emplace_back();
      continue;
    }
    kernels_.push_back({.code = 0, .symbol = "kernel" + std::to_string(made++), .arguments = {}});
    emit_kernel(kernel, kernels_.back());
  }
  plan.blocks.emplace_back();
  add_steps(plan, cut_.pieces, 0);
  plan.arena_bytes = arena_bytes_;
}

absl::StatusOr<Plan> emit_kernels(const loop::Program& program, std::string_view architecture, const Machine& machine,
                                  absl::Span<const int> donations, int64_t without_barrier) {
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
  const Outline none;  // kernels are cut out another way
  try {
    CpuEmission emission(program, none, **target, *module, Sharing::Threads::kNone);
    // Where threads meet, it is known whether they are to go on; between barriers they ask. Those of a GPU have nobody.
    emission.stops.wanted = emulated && may_take_long(program);
    KernelEmitter(emission, machine, donations, without_barrier).emit(plan);
  } catch (const Error& error) {
    return status_of(error);
  }
  if (debugging_wanted()) add_debug_information(*module, program, none, "");
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream)) return absl::InternalError("malformed LLVM IR: " + problem);
  if (emulated) emulate(*module);
  plan.codes.push_back({.format = emulated ? Code::Format::kElf : Code::Format::kPtx,
                        .bytes = (*target)->emit(*module, /*as_text=*/!emulated)});
  return plan;
}

}  // namespace ct::jit
