// make_tiles LEVEL FILE: writes the object of ready-made functions for a level of x86 (tiles.h). Runs when the library
// is built.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "jit/llvm/tiles.h"

namespace ct::jit {

const int32_t* ready_table(int) { return nullptr; }

}  // namespace ct::jit

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: make_tiles LEVEL FILE\n");
    return 2;
  }
  const absl::StatusOr<std::string> object = ct::jit::make_ready(std::atoi(arguments[1]));
  if (!object.ok()) {
    std::fprintf(stderr, "%s\n", object.status().ToString().c_str());
    return 1;
  }
  std::ofstream file(arguments[2], std::ios::binary);
  file << *object;
  file.close();
  return file ? 0 : 1;
}
