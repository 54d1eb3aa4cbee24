#include "ir/check.h"

#include "ir/primitive.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

std::string check_sub_graphs(const Attrs& attrs, Stage stage, int depth);

std::string check_nested(const Graph& graph, Stage stage, int depth) {
  if (depth > kDeepestNesting) return concat("sub-graphs nest deeper than ", kDeepestNesting);
  std::vector<bool> defined(graph.num_vars(), false);
  if (graph.num_inputs() > graph.num_vars()) return "more inputs than variables";
  for (Var var = 0; var < graph.num_inputs(); ++var) defined[var] = true;
  size_t position = 0;
  for (const Equation& equation : graph.equations()) {
    const std::string where = concat("equation ", position++, " (", equation.primitive->name, "): ");
    std::vector<Aval> avals;
    for (Var var : graph.operands(equation)) {
      if (var >= graph.num_vars() || !defined[var])
        return concat(where, "operand variable ", var, " is used before it is defined");
      avals.push_back(graph.aval(var));
    }
    if (stage == Stage::kLowerable && equation.primitive->stands_for_others())
      return where + "must be expanded before compiling";
    if (std::string error = check_sub_graphs(graph.attrs(equation), stage, depth); !error.empty()) return where + error;
    Avals expected;
    try {
      expected = equation.primitive->type(avals, graph.attrs(equation));
    } catch (const Error& error) {
      return where + error.message();
    }
    if (expected.size() != equation.output_count) {
      return concat(where, "has ", equation.output_count, " outputs, its type rule gives ", expected.size());
    }
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      const Var var = equation.first_output + k;
      if (var >= graph.num_vars() || defined[var])
        return concat(where, "output variable ", var, " is defined twice or out of range");
      if (!same_type(graph.aval(var), expected[k])) {
        return concat(where, "output ", k, " is recorded as ", graph.aval(var).to_string(), ", its type rule gives ",
                      expected[k].to_string());
      }
      defined[var] = true;
    }
  }
  for (Var var : graph.outputs()) {
    if (var >= graph.num_vars() || !defined[var]) return concat("output variable ", var, " is never defined");
  }
  return "";
}

std::string check_sub_graphs(const Attrs& attrs, Stage stage, int depth) {
  for (const auto& [key, value] : attrs.items()) {
    std::vector<GraphPtr> graphs;
    if (const auto* graph = std::get_if<GraphPtr>(&value)) graphs = {*graph};
    if (const auto* several = std::get_if<std::vector<GraphPtr>>(&value)) graphs = *several;
    for (const GraphPtr& graph : graphs) {
      if (!graph) return concat("attribute '", key, "' is a null graph");
      if (std::string error = check_nested(*graph, stage, depth + 1); !error.empty())
        return concat("in '", key, "': ", error);
    }
  }
  return "";
}

}  // namespace

std::string check(const Graph& graph, Stage stage) { return check_nested(graph, stage, 0); }

}  // namespace ct
