// What functions of exported libraries find out about their arguments before they write anything. What is not so leaves
// the function with a status.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "jit/llvm/c_functions.h"

namespace ct::jit {

class CChecks {
 public:
  // Returns the status from the function where the condition does not hold.
  using Require = std::function<void(llvm::Value* condition, CStatus status)>;
  CChecks(llvm::IRBuilder<>& b, Require require) : b_(b), require_(std::move(require)) {}

  struct Range {
    llvm::Value* pointer;
    int64_t bytes;
    int64_t alignment;
    bool written;
  };
  // That none is NULL, and each aligned.
  void pointers(absl::Span<const Range> ranges);
  // That nothing which is written overlaps any other. The workspace is one of them, where there is one.
  void overlaps(absl::Span<const Range> ranges);
  // The same of arrays whose pointers are in memory.
  void pointers_of_leaves(llvm::Value* pointers, absl::Span<const Aval> avals);
  // Likewise; an output may be the whole input that it is paired with.
  void overlaps_of_leaves(llvm::Value* inputs, llvm::Value* outputs, absl::Span<const Aval> input_avals,
                          absl::Span<const Aval> output_avals, absl::Span<const int> pairs);
  // Whether arrays whose pointers are in memory overlap what is not one of them.
  void leaves_apart(llvm::Value* pointers, absl::Span<const Aval> avals, const Range& other);
  void length(llvm::Value* lengths, const BoundedInput& input);

 private:
  void overlaps_in_loops(absl::Span<const Range> ranges);
  llvm::BasicBlock* block(const char* name);
  llvm::Value* address(llvm::Value* pointer);
  llvm::Value* apart(llvm::Value* x, llvm::Value* x_bytes, llvm::Value* y, llvm::Value* y_bytes);
  // for (i64 i = 0; i < count; ++i) body(i)
  void repeat(llvm::Value* count, const std::function<void(llvm::Value* i)>& body);
  llvm::Value* table(llvm::ArrayRef<uint64_t> numbers);

  llvm::IRBuilder<>& b_;
  const Require require_;
};

}  // namespace ct::jit
