// Runs the programs in tests/cpp/ir_text (tests/cpp/text_cases.h). A pass may have arguments: `value_and_grad wrt=0`,
// `vmap in=0,-1 size=4 out=0`. Passes that give several programs print them one after the other. With `lengths=1` their
// result is to be masked. A pass that fails prints its error.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>

#include "ir/check.h"
#include "ir/lengths.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "runtime/error.h"
#include "tests/cpp/error_sites.h"
#include "tests/cpp/text_cases.h"
#include "transforms/split.h"
#include "transforms/transforms.h"
#include "transforms/windows.h"

namespace ct {
namespace {

using text_cases::Arguments;
using text_cases::Case;
using Pass = std::function<std::vector<GraphPtr>(const Graph&, const Arguments&)>;

std::vector<bool> mask(const Graph& graph, const Arguments& arguments, const std::string& key) {
  std::vector<bool> result(graph.num_inputs(), false);
  for (int input : arguments.at(key)) result[input] = true;
  return result;
}

const std::map<std::string, Pass>& passes() {
  using Result = std::vector<GraphPtr>;
  static const std::map<std::string, Pass> table = {
      {"dce", [](const Graph& g, const Arguments&) { return Result{eliminate_dead_code(g)}; }},
      {"products_after_branches", [](const Graph& g, const Arguments&) { return Result{products_after_branches(g)}; }},
      {"factor_slopes", [](const Graph& g, const Arguments&) { return Result{factor_slopes(g)}; }},
      {"hoist", [](const Graph& g, const Arguments&) { return Result{hoist_products(g)}; }},
      {"contract", [](const Graph& g, const Arguments&) { return Result{contract(g, Products::kAlways)}; }},
      {"contract_in_blocks", [](const Graph& g, const Arguments&) { return Result{contract(g, Products::kBlocks)}; }},
      {"cse", [](const Graph& g, const Arguments&) { return Result{eliminate_common_subexpressions(g)}; }},
      {"simplify", [](const Graph& g, const Arguments&) { return Result{simplify(g)}; }},
      {"canonical_folds", [](const Graph& g, const Arguments&) { return Result{canonical_folds(g)}; }},
      {"canonical_pieces", [](const Graph& g, const Arguments&) { return Result{canonical_pieces(g)}; }},
      {"canonical_windows", [](const Graph& g, const Arguments&) { return Result{canonical_windows(g)}; }},
      {"inline_calls", [](const Graph& g, const Arguments&) { return Result{inline_calls(g)}; }},
      {"expand_regions", [](const Graph& g, const Arguments&) { return Result{expand_regions(g)}; }},
      {"jvp", [](const Graph& g, const Arguments& a) { return Result{jvp(g, mask(g, a, "wrt")).graph}; }},
      {"linearize",
       [](const Graph& g, const Arguments& a) {
         const Linearized result = linearize(g, mask(g, a, "wrt"));
         return Result{result.primal, result.tangent};
       }},
      {"split",
       [](const Graph& g, const Arguments& a) {
         const SplitGraph result = split(g, mask(g, a, "unknown"));
         return Result{result.known, result.unknown};
       }},
      {"split_with_joined_factors",
       [](const Graph& g, const Arguments& a) {
         const SplitGraph result = with_joined_factors(split(g, mask(g, a, "unknown")));
         return Result{result.known, result.unknown};
       }},
      {"transpose", [](const Graph& g, const Arguments& a) { return Result{transpose_graph(g, mask(g, a, "wrt"))}; }},
      {"value_and_grad",
       [](const Graph& g, const Arguments& a) { return Result{value_and_grad(g, mask(g, a, "wrt"))}; }},
      {"vjp", [](const Graph& g, const Arguments& a) { return Result{vjp(g, mask(g, a, "wrt"))}; }},
      {"vmap",
       [](const Graph& g, const Arguments& a) { return Result{vmap(g, a.at("in"), a.at("size")[0], a.at("out"))}; }},
  };
  return table;
}

std::string run(const Case& test) {
  const auto [name, arguments] = text_cases::pass_of(test);
  const GraphPtr input = parse(test.input, "input");
  EXPECT_EQ(check(*input), "");
  std::string text;
  std::optional<KeepLengths> lengths;
  if (arguments.contains("lengths")) lengths.emplace();
  try {
    for (const GraphPtr& graph : passes().at(name)(*input, arguments)) {
      EXPECT_EQ(check(*graph), "") << print(*graph);
      text += print(*graph);
      if (!text.ends_with('\n')) text += '\n';
    }
  } catch (const Error& error) {
    note_site(error);
    text = std::string("error: ") + error.what() + "\n";
  }
  return text;
}

TEST(IrText, Programs) { EXPECT_GT(text_cases::run_all("ir_text", run), 20); }

}  // namespace
}  // namespace ct
