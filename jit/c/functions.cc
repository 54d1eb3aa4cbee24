// Functions of real numbers, which the loop IR has expanded where they are called (Statement::expansion): written once
// and called by name.
#include <algorithm>
#include <utility>

#include "jit/c/emission.h"
#include "jit/loop/visit.h"
#include "runtime/error.h"

namespace ct::jit::c {

using loop::BlockId;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

uint32_t Emission::function_call(BlockId id, uint32_t begin, uint32_t end) {
  const Call* const call_here = in_function ? nullptr : calls_.at(id, begin);
  if (call_here == nullptr) return begin;
  const auto& [after, result, arguments] = *call_here;
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
