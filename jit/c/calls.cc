#include "jit/c/calls.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "jit/c/emission.h"
#include "jit/loop/visit.h"

namespace ct::jit::c {

using loop::BlockId;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

namespace {

// What a run of statements uses, takes from outside, and defines for what follows.
struct Run {
  absl::flat_hash_map<Value, uint32_t> used;  // how often, inside of it
  absl::flat_hash_set<Value> defined;
  std::vector<Value> arguments;
  bool only_computes = true;
};

template <typename IsUsed>
void add(const loop::Program& program, const Statement& s, const IsUsed& is_used, Run& run) {
  if (loop::is_instruction(s) && !is_used(s.result)) return;
  const auto use = [&](Value value, uint32_t times) {
    run.used[value] += times;
    if (!run.defined.contains(value) && std::ranges::find(run.arguments, value) == run.arguments.end())
      run.arguments.push_back(value);
  };
  c::visit_inputs(program, s, [&](Value value) { use(value, times_written(s)); });
  const bool has_blocks =
      s.kind == StatementKind::kIf || s.kind == StatementKind::kFor || s.kind == StatementKind::kWhile;
  if (!has_blocks && !loop::is_instruction(s)) run.only_computes = false;
  if (s.kind == StatementKind::kLoad && program.buffers[s.buffer].kind != loop::BufferKind::kConstant)
    run.only_computes = false;
  loop::visit_arguments(program, s, [&](Value value) { run.defined.insert(value); });
  loop::visit_blocks_of(program, s, [&](BlockId inner) {
    for (const Statement& t : program.blocks[inner].statements) add(program, t, is_used, run);
  });
  if (s.kind == StatementKind::kIf) {
    for (const loop::If::Merge& merge : program.ifs[s.detail].merges) {
      if (!is_used(merge.result)) continue;
      use(merge.then_value, 1);
      use(merge.else_value, 1);
    }
  } else {
    loop::visit_yields(program, s, [&](Value value) { use(value, 1); });
  }
  loop::visit_results(program, s, [&](Value value) { run.defined.insert(value); });
}

}  // namespace

Calls::Calls(const loop::Program& program) : program_(program), runs_(program.blocks.size()) {
  number(0, 0);
  // Nothing leads any more to blocks that passes have taken out.
  for (BlockId block = 0; block < runs_.size(); ++block) runs_[block].resize(program.blocks[block].statements.size());
}

void Calls::find(const std::function<uint32_t(Value)>& count) { find_in(0, count); }

const Call* Calls::at(BlockId block, uint32_t begin) const {
  const auto found = calls_.find({block, begin});
  return found == calls_.end() ? nullptr : &found->second;
}

// `around`: the run that the block is inside of.
void Calls::number(BlockId block, uint32_t around) {
  const std::vector<Statement>& statements = program_.blocks[block].statements;
  for (size_t i = 0; i < statements.size(); ++i) {
    const Statement& s = statements[i];
    const bool goes_on = i > 0 && s.expansion == statements[i - 1].expansion && s.group == statements[i - 1].group;
    uint32_t run = around;
    if (around == 0 && s.expansion != 0) {
      if (!goes_on) is_call_.push_back(false);
      run = static_cast<uint32_t>(is_call_.size() - 1);
    }
    runs_[block].push_back(run);
    loop::visit_blocks_of(program_, s, [&](BlockId inner) { number(inner, run); });
  }
}

void Calls::find_in(BlockId block, const std::function<uint32_t(Value)>& count) {
  const std::vector<Statement>& statements = program_.blocks[block].statements;
  const auto is_used = [&](Value value) { return count(value) > 0; };
  for (uint32_t begin = 0, end; begin < statements.size(); begin = end) {
    const uint32_t run_here = runs_[block][begin];
    end = begin + 1;
    if (run_here == 0) {
      loop::visit_blocks_of(program_, statements[begin], [&](BlockId inner) { find_in(inner, count); });
      continue;
    }
    while (end < statements.size() && runs_[block][end] == run_here) ++end;
    Run run;
    for (uint32_t i = begin; i < end; ++i) add(program_, statements[i], is_used, run);
    Value result = loop::kNoValue;
    bool is_one = true;
    for (const Value value : run.defined) {
      const auto inside = run.used.find(value);
      if (count(value) <= (inside == run.used.end() ? 0 : inside->second)) continue;
      is_one = result == loop::kNoValue;
      if (!is_one) break;
      result = value;
    }
    if (!is_one || result == loop::kNoValue || !run.only_computes || run.arguments.empty()) continue;
    is_call_[run_here] = true;
    calls_[{block, begin}] = {end, result, std::move(run.arguments)};
  }
}

}  // namespace ct::jit::c
