// Cases of passes as text in, text out. Each file of a folder beside this one holds some of the form
//
//   # what the case shows
//   pass: simplify
//   graph (...) { ... } -> (...)
//   expected:
//   graph (...) { ... } -> (...)
//   ----
//
// CT_UPDATE_IR_TEXT=1 writes what comes out into the files instead of comparing: read the difference before committing
// it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace ct::text_cases {

namespace fs = std::filesystem;

using Arguments = std::map<std::string, std::vector<int>>;

struct Case {
  std::string comment;
  std::string pass;
  std::string input;
  std::string expected;
};

inline std::vector<Case> read(const fs::path& path) {
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

// A pass's name and its arguments, `name key=1,2 other=3`.
inline std::pair<std::string, Arguments> pass_of(const Case& test) {
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
  return {name, arguments};
}

inline fs::path directory(const std::string& folder) {
  for (fs::path at = fs::current_path();; at = at.parent_path()) {
    if (fs::exists(at / "tests" / "cpp" / folder)) return at / "tests" / "cpp" / folder;
    if (at == at.root_path()) return {};
  }
}

// Gives every case of `folder` to `run`, which returns what comes out; returns how many there were.
template <typename Run>
int run_all(const std::string& folder, Run&& run) {
  if (directory(folder).empty()) {
    ADD_FAILURE() << "run this inside the repository";
    return 0;
  }
  const bool update = std::getenv("CT_UPDATE_IR_TEXT") != nullptr;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(directory(folder))) {
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
  return count;
}

}  // namespace ct::text_cases
