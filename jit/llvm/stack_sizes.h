// How much of the stack code takes, as LLVM notes it in an object's section of stack sizes.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace ct::jit {

struct StackSizes {
  int64_t largest = 0;  // of one function
  int64_t all = 0;      // of all functions: no call takes more, as none calls itself
};
// Of an object that was made with TargetOptions::tells_stack, return addresses included.
absl::StatusOr<StackSizes> stack_sizes(std::string_view object);

}  // namespace ct::jit
