// Functions of real numbers, which the loop IR has expanded where they are called (Statement::expansion): written once
// and called by name.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "jit/c/emission.h"
#include "jit/loop/visit.h"
#include "runtime/error.h"

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

// `around`: the run that the block is inside of.
void Emission::find_runs(BlockId block, uint32_t around) {
  const std::vector<Statement>& statements = program.blocks[block].statements;
  for (size_t i = 0; i < statements.size(); ++i) {
    const Statement& s = statements[i];
    const bool goes_on = i > 0 && s.expansion == statements[i - 1].expansion && s.group == statements[i - 1].group;
    uint32_t run = around;
    if (around == 0 && s.expansion != 0) {
      if (!goes_on) is_call_.push_back(false);
      run = static_cast<uint32_t>(is_call_.size() - 1);
    }
    runs_[block].push_back(run);
    loop::visit_blocks_of(program, s, [&](BlockId inner) { find_runs(inner, run); });
  }
}

// Runs that compute one value for the others, of something.
void Emission::find_calls(BlockId block) {
  const std::vector<Statement>& statements = program.blocks[block].statements;
  const auto is_used = [&](Value value) { return uses_[value].count > 0; };
  for (uint32_t begin = 0, end; begin < statements.size(); begin = end) {
    const uint32_t number = runs_[block][begin];
    end = begin + 1;
    if (number == 0) {
      loop::visit_blocks_of(program, statements[begin], [&](BlockId inner) { find_calls(inner); });
      continue;
    }
    while (end < statements.size() && runs_[block][end] == number) ++end;
    Run run;
    for (uint32_t i = begin; i < end; ++i) add(program, statements[i], is_used, run);
    Value result = loop::kNoValue;
    bool is_one = true;
    for (const Value value : run.defined) {
      const auto inside = run.used.find(value);
      if (uses_[value].count <= (inside == run.used.end() ? 0 : inside->second)) continue;
      is_one = result == loop::kNoValue;
      if (!is_one) break;
      result = value;
    }
    if (!is_one || result == loop::kNoValue || !run.only_computes || run.arguments.empty()) continue;
    is_call_[number] = true;
    calls_[{block, begin}] = {end, result, std::move(run.arguments)};
  }
}

uint32_t Emission::function_call(BlockId id, uint32_t begin, uint32_t end) {
  const auto found = calls_.find({id, begin});
  if (found == calls_.end() || in_function) return begin;
  const auto& [after, result, arguments] = found->second;
  CT_CHECK(after <= end);
  const Stretch stretch{id, begin, after, {result}};
  const bool reads = std::ranges::any_of(arguments, [&](Value value) { return values_[value].reads; });
  if (sides == nullptr) {
    const std::string call = call_of(arguments, stretch, nullptr, "");
    define_at(result, {call, kAtom, reads}, id, after - 1);
    return after;
  }
  Sides usual = usual_sides(*this, stretch), asking = asking_sides(*this, stretch);
  if (sides->asks && asking.branches) {
    sides->taken.push_back(call_of(arguments, stretch, &asking, "_is_rare"));
  }
  if (!sides->needed.contains(result)) return after;
  const std::string call = call_of(arguments, stretch, &usual, asking.branches ? "_usual" : "");
  define_at(result, {call, kAtom, reads}, id, after - 1);
  return after;
}

// A call of the function that statements are, or, by `part`, of what is written of them.
std::string Emission::call_of(const std::vector<Value>& arguments, const Stretch& stretch, Sides* part,
                              std::string_view suffix) {
  // What is constant outside is an argument too: the function is the same for all.
  const Value result = stretch.results.front();
  std::string list, parameters;
  std::vector<std::pair<Value, Expression>> outside;
  for (const Value argument : arguments) {
    if (part != nullptr && !part->needed.contains(argument)) continue;
    constexpr std::string_view kNames = "xyz";
    const size_t i = outside.size();
    const std::string name = i < kNames.size() ? std::string(1, kNames[i]) : concat("x", i);
    list += concat(i == 0 ? "" : ", ", value(argument));
    parameters += concat(i == 0 ? "" : ", ", register_type(program.values[argument].dtype), " ", name);
    outside.emplace_back(argument, std::exchange(values_[argument], Expression{name}));
  }
  std::string outer_text = std::exchange(text, "");
  const size_t outer_depth = std::exchange(depth, 1);
  const size_t outer_names = begin_function();
  const int outer_loops = std::exchange(loops_open, 0);
  const bool outer_lanes = std::exchange(in_lanes, true);
  Sides* const outer_sides = std::exchange(sides, part);
  in_function = true;
  const std::vector<Statement>& statements = program.blocks[stretch.block].statements;
  for (uint32_t i = stretch.begin; i < stretch.end; ++i) statement(statements[i], stretch.block, i);
  const bool asks = part != nullptr && part->asks;
  line("return ", asks ? join(std::exchange(part->taken, {}), " | ") : value(result), ";");
  in_function = false;
  sides = outer_sides;
  in_lanes = outer_lanes;
  loops_open = outer_loops;
  end_function(outer_names);
  depth = outer_depth;
  std::string body = std::exchange(text, std::move(outer_text));
  for (auto& [argument, expression] : outside) values_[argument] = std::move(expression);
  const DType dtype = program.values[result].dtype;
  const ScalarOp op = program.expansions[statements[stretch.begin].expansion - 1];
  const std::string_view type = asks ? "bool" : register_type(dtype);
  const std::string name = helpers.function_like(concat("ct_", scalar_op_info(op).name, "_", short_name(dtype), suffix),
                                                 concat(kInline, type, " $name(", parameters, ") {\n", body, "}\n"));
  return concat(name, "(", list, ")");
}

}  // namespace ct::jit::c
