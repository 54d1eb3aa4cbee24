// toy_records FOLDER: runs each program NAME.graph of the folder on the toy back end, with the operands whose bytes
// NAME.in holds, one after the other. Writes the results' bytes to NAME.out and what the queue was told to NAME.log.
// tests/device/test_toy_backend.py makes the folder and looks at the results.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/serialize.h"
#include "tests/cpp/toy_backend.h"

namespace ct {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void run_program(const std::filesystem::path& folder, const std::string& name) {
  const GraphPtr graph = deserialize(contents(folder / (name + ".graph")));
  const std::string bytes = contents(folder / (name + ".in"));
  std::vector<Tensor> inputs;
  size_t at = 0;
  for (const Aval& aval : graph->input_avals()) {
    const Tensor& input = inputs.emplace_back(aval);
    const auto size = static_cast<size_t>(aval.bytes());
    CT_CHECK(at + size <= bytes.size());
    if (size != 0) std::memcpy(input.data(), bytes.data() + at, size);
    at += size;
  }
  CT_CHECK(at == bytes.size());
  const auto loaded = compile(graph, {.backend = "toy", .use_disk_cache = false});
  if (!loaded.ok()) throw Error(ErrorKind::kInternal, std::string(loaded.status().message()));
  toy().take_log();
  std::ofstream out(folder / (name + ".out"), std::ios::binary);
  for (const Tensor& result : (**loaded)(inputs)) {
    out.write(static_cast<const char*>(result.data()), static_cast<std::streamsize>(result.aval().bytes()));
  }
  std::ofstream log(folder / (name + ".log"));
  for (const std::string& line : toy().take_log()) log << line << '\n';
}

}  // namespace
}  // namespace ct

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: toy_records FOLDER\n");
    return 2;
  }
  int failed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
    if (entry.path().extension() != ".graph") continue;
    const std::string name = entry.path().stem().string();
    try {
      ct::run_program(arguments[1], name);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
      failed = 1;
    }
  }
  return failed;
}
