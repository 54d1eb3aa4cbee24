// A library's functions as C source: the programs, for the functions that C calls, which the front end writes around
// them (it writes the header, too).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/c/source.h"
#include "jit/export/library.h"

namespace ct {

struct SourceFunction {
  GraphPtr graph;
  LibraryFunction function;
  jit::c::Names names;
};

struct SourceOfFunction {
  jit::c::Source program;
  jit::CWorkspace places;
  std::vector<jit::BoundedInput> lengths;
};

struct SourceOfLibrary {
  std::string text;  // includes, what the programs call, the programs
  std::vector<SourceOfFunction> functions;
};

// For the target's first level. The results are those of its machine code, bit for bit.
absl::StatusOr<SourceOfLibrary> library_source(const std::vector<SourceFunction>& functions,
                                               const LibraryTarget& target);

}  // namespace ct
