#include "jit/llvm/crossings.h"

#include "absl/container/flat_hash_set.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::Block;
using loop::BlockId;
using loop::BufferId;
using loop::Program;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

namespace {

class Crossings {
 public:
  Crossings(const Program& program, absl::Span<const Statement* const> constants, Outline& outline)
      : program_(program),
        constants_(constants),
        outline_(outline),
        owners_(program.values.size(), kNobody),
        parents_(outline.functions.size(), kNobody),
        slots_end_((program.arena_bytes + 7) / 8 * 8) {}

  void run() {
    find_swaps();
    for (const OutlinedFunction& f : outline_.functions) {
      if (f.part) give_slots_inside(f);
    }
    trace(0, 0, 0, outline_.functions[0].end, outline_.functions[0].calls);
    // Without slots the program's own arena will do.
    const bool none = outline_.slots.empty() && outline_.pointer_slots.empty();
    outline_.arena_bytes = none ? program_.arena_bytes : slots_end_;
  }

 private:
  static constexpr uint32_t kNobody = ~0u;

  // Results of calls that a part makes.
  void give_slots_inside(const OutlinedFunction& f) {
    const auto give = [&](absl::Span<const OutlinedCall> calls) {
      for (const OutlinedCall& call : calls) {
        for (Value value : call.results) give_slot(value);
      }
    };
    give(f.calls);
    for (uint32_t i = f.begin; i < f.end; ++i) {
      const auto visit = [&](BlockId inner, auto& again) -> void {
        give(outline_.calls_in(inner));
        for (const Statement& s : program_.blocks[inner].statements) {
          loop::visit_blocks_of(program_, s, [&](BlockId deeper) { again(deeper, again); });
        }
      };
      loop::visit_blocks_of(program_, program_.blocks[f.block].statements[i],
                            [&](BlockId inner) { visit(inner, visit); });
    }
  }

  void find_swaps() {
    for (const Block& block : program_.blocks) {
      for (const Statement& s : block.statements) {
        if (s.kind != StatementKind::kSwap) continue;
        for (BufferId id : {s.buffer, s.other}) {
          if (outline_.pointer_slots.emplace(id, slots_end_).second) {
            outline_.swapped.push_back(id);
            slots_end_ += 8;
          }
        }
      }
    }
  }

  void give_slot(Value value) {
    if (outline_.slots.emplace(value, slots_end_).second) slots_end_ += 8;
  }

  void define(uint32_t f, Value value) { owners_[value] = f; }

  void use(uint32_t f, Value value) {
    if (value == loop::kNoValue) return;
    const uint32_t owner = owners_[value];
    if (owner == f || !seen_values_.emplace(f, value).second) return;
    if (!constants_.empty() && constants_[value] != nullptr) {
      outline_.functions[f].constants.push_back(constants_[value]);
      return;
    }
    give_slot(value);
    uint32_t callee = owner;
    while (callee != kNobody && parents_[callee] != f) callee = parents_[callee];
    if (callee == kNobody) {
      outline_.functions[f].entry_values.push_back(value);
    } else {
      outline_.functions[callee].results.push_back(value);
    }
  }

  void use_buffer(uint32_t f, BufferId buffer) {
    if (seen_buffers_.emplace(f, buffer).second) outline_.functions[f].buffers.push_back(buffer);
  }

  // Everything that function f does in these statements, in order.
  void trace(uint32_t f, BlockId block, uint32_t begin, uint32_t end, absl::Span<const OutlinedCall> calls) {
    size_t next = 0;
    for (uint32_t i = begin; i < end; ++i) {
      if (next < calls.size() && calls[next].begin == i) {
        const OutlinedCall& call = calls[next++];
        trace_call(f, call);
        i = call.end - 1;
      } else {
        trace_statement(f, program_.blocks[block].statements[i]);
      }
    }
  }

  void trace_call(uint32_t f, const OutlinedCall& call) {
    const OutlinedFunction& callee = outline_.functions[call.function];
    if (!callee.shared) {
      parents_[call.function] = f;
      return trace(call.function, callee.block, callee.begin, callee.end, callee.calls);
    }
    // A part finds values in their slots, as the table says.
    for (Value value : call.values) callee.part ? give_slot(value) : use(f, value);
    if (!callee.part) {
      for (const OutlinedCall::Array& array : call.arrays) use_buffer(f, array.buffer);
    }
    for (Value value : call.results) {
      give_slot(value);
      define(f, value);
    }
  }

  void trace_statement(uint32_t f, const Statement& s) {
    loop::visit_inputs(program_, s, [&](Value value) { use(f, value); });
    loop::visit_buffers(program_, s, [&](BufferId buffer, bool) { use_buffer(f, buffer); });
    loop::visit_arguments(program_, s, [&](Value value) { define(f, value); });
    loop::visit_blocks_of(program_, s, [&](BlockId inner) {
      trace(f, inner, 0, static_cast<uint32_t>(program_.blocks[inner].statements.size()), outline_.calls_in(inner));
    });
    loop::visit_yields(program_, s, [&](Value value) { use(f, value); });
    loop::visit_results(program_, s, [&](Value value) { define(f, value); });
  }

  const Program& program_;
  const absl::Span<const Statement* const> constants_;
  Outline& outline_;
  std::vector<uint32_t> owners_;   // by value: the function that defines it
  std::vector<uint32_t> parents_;  // by function: of a chunk, its caller
  absl::flat_hash_set<std::pair<uint32_t, Value>> seen_values_;
  absl::flat_hash_set<std::pair<uint32_t, BufferId>> seen_buffers_;
  int64_t slots_end_;
};

}  // namespace

void find_crossings(const Program& program, absl::Span<const Statement* const> constants, Outline& outline) {
  Crossings(program, constants, outline).run();
}

}  // namespace ct::jit
