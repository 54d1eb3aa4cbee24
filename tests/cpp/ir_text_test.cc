// Runs the programs in tests/ir_text: each file holds cases of the form
//
//   # what the case shows
//   pass: simplify
//   graph (...) { ... } -> (...)
//   expected:
//   graph (...) { ... } -> (...)
//   ----
//
// A pass may have arguments: `value_and_grad wrt=0`, `vmap in=0,-1 size=4 out=0`. Passes that give several programs
// print them one after the other. With `lengths=1` their result is to be masked. A pass that fails prints its error.
// CT_UPDATE_IR_TEXT=1 writes what comes out into the files instead of comparing: read the difference before committing
// it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "ir/check.h"
#include "ir/error.h"
#include "ir/lengths.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "transforms/transforms.h"
#include "transforms/windows.h"

namespace ct {
namespace {

namespace fs = std::filesystem;

using Arguments = std::map<std::string, std::vector<int>>;
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
      {"hoist", [](const Graph& g, const Arguments&) { return Result{hoist_products(g)}; }},
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
      {"transpose", [](const Graph& g, const Arguments& a) { return Result{transpose_graph(g, mask(g, a, "wrt"))}; }},
      {"value_and_grad",
       [](const Graph& g, const Arguments& a) { return Result{value_and_grad(g, mask(g, a, "wrt"))}; }},
      {"vjp", [](const Graph& g, const Arguments& a) { return Result{vjp(g, mask(g, a, "wrt"))}; }},
      {"vmap",
       [](const Graph& g, const Arguments& a) { return Result{vmap(g, a.at("in"), a.at("size")[0], a.at("out"))}; }},
  };
  return table;
}

struct Case {
  std::string comment;
  std::string pass;
  std::string input;
  std::string expected;
};

std::vector<Case> read(const fs::path& path) {
  std::ifstream file(path);
  std::vector<Case> cases(1);
  std::string line;
  bool in_expected = false;
  while (std::getline(file, line)) {
    Case& current = cases.back();
    if (line == "----") {
      cases.emplace_back();
      in_expected = false;
    } else if (line.starts_with("pass: ")) {
      current.pass = line.substr(6);
    } else if (line == "expected:") {
      in_expected = true;
    } else if (in_expected) {
      current.expected += line + "\n";
    } else if (line.starts_with("#")) {
      current.comment += line + "\n";
    } else {
      current.input += line + "\n";
    }
  }
  if (cases.back().pass.empty()) cases.pop_back();
  return cases;
}

std::string run(const Case& test) {
  std::istringstream words(test.pass);
  std::string name;
  words >> name;
  Arguments arguments;
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    std::istringstream numbers(word.substr(equals + 1));
    std::vector<int>& values = arguments[word.substr(0, equals)];
    for (std::string number; std::getline(numbers, number, ',');) values.push_back(std::stoi(number));
  }
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
    text = std::string("error: ") + error.what() + "\n";
  }
  return text;
}

fs::path directory() {
  for (fs::path at = fs::current_path();; at = at.parent_path()) {
    if (fs::exists(at / "tests" / "ir_text")) return at / "tests" / "ir_text";
    if (at == at.root_path()) return {};
  }
}

TEST(IrText, Programs) {
  ASSERT_FALSE(directory().empty()) << "run this inside the repository";
  const bool update = std::getenv("CT_UPDATE_IR_TEXT") != nullptr;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(directory())) {
    if (entry.path().extension() != ".txt") continue;
    std::string rewritten;
    for (Case& test : read(entry.path())) {
      SCOPED_TRACE(entry.path().filename().string() + ": " + test.comment);
      ++count;
      const std::string actual = run(test);
      if (update) {
        rewritten += test.comment + "pass: " + test.pass + "\n" + test.input + "expected:\n" + actual + "----\n";
      } else {
        EXPECT_EQ(actual, test.expected);
      }
    }
    if (update) std::ofstream(entry.path()) << rewritten;
  }
  EXPECT_GT(count, 20);
}

}  // namespace
}  // namespace ct
