// The Plan: what compiling produces, as plain data without pointers, graphs, LLVM or a driver. The cache keeps it, a
// device loads it (device.h), tests make it by hand. A `Loaded` (loaded.h) is a Plan on one device, ready to run.
//
// A program is a list of steps. On the host that is one NativeStep, which is called; elsewhere they are kernels, copies
// and calls back to the host, in loops and branches, which run_plan (run_plan.h) plays on the device's queue. What
// steps work on are places in buffers: inputs and outputs, which a call brings, and the arena, scratch memory that is
// private to the call and holds also the scalars that steps hand each other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/aval.h"

namespace ct {

// Bytes from the beginning of a buffer.
struct Where {
  uint32_t buffer = 0;
  int64_t offset = 0;
  bool operator==(const Where&) const = default;
};

// So many bytes from there.
struct ByteRange {
  Where at;
  int64_t bytes = 0;
  bool operator==(const ByteRange&) const = default;
};

struct PlanBuffer {
  enum class Kind : uint8_t { kInput, kOutput, kArena };
  Kind kind = Kind::kArena;
  int32_t position = 0;  // kInput, kOutput: which
  int64_t offset = 0;    // kArena: bytes from its beginning
  int64_t bytes = 0;
  bool operator==(const PlanBuffer&) const = default;
};

struct Code {
  enum class Format : uint8_t { kElf, kPtx };
  Format format = Format::kElf;
  std::string bytes;
  bool operator==(const Code&) const = default;
};

// The whole program on the host: the plan's ELF codes, linked together, and the entry among their symbols. It takes all
// inputs and outputs and the arena.
struct NativeStep {
  std::string symbol;
  bool operator==(const NativeStep&) const = default;
};
struct KernelStep {
  uint32_t code = 0;
  std::string symbol;
  uint32_t blocks = 1, threads = 1;
  uint32_t shared_bytes = 0;  // of memory that the threads of a block share
  std::vector<Where> arguments;
  std::string work = {};  // what it computes, for people
  bool operator==(const KernelStep&) const = default;
};
// Of a product: element (r, c) of the i-th is r * row_stride + c * column_stride + i * batch_stride elements from `at`.
// One of the first two is 1, the other as large at least as a whole row or column.
struct ProductMatrix {
  Where at;
  DType dtype = DType::kFloat32;
  int64_t row_stride = 1, column_stride = 1, batch_stride = 0;
  bool operator==(const ProductMatrix&) const = default;
};
// c = a b, or c += a b, by the device's library: m x k times k x n, so many of them. a and b are of one type; c is of
// that one, or float32 where they are half floats. Sums are of type `compute`.
struct ProductStep {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  ProductMatrix a, b, c;
  DType compute = DType::kFloat32;
  bool accumulate = false;
  std::string work = {};  // what it computes, for people
  bool operator==(const ProductStep&) const = default;
};
struct CopyStep {
  Where to, from;
  int64_t bytes = 0;
  bool operator==(const CopyStep&) const = default;
};
struct FillStep {
  Where to;
  uint8_t byte = 0;
  int64_t bytes = 0;
  bool operator==(const FillStep&) const = default;
};
// A function of the host, by its position in host_functions.
struct HostStep {
  uint32_t function = 0;
  std::vector<ByteRange> inputs, outputs;
  bool operator==(const HostStep&) const = default;
};
// A block `count` times; or, if count is -1, while the byte at go_on is not 0.
struct LoopStep {
  int64_t count = 0;
  Where go_on;
  uint32_t body = 0;
  bool operator==(const LoopStep&) const = default;
};
// The block whose number, an int32, is at index; the first or the last where there is none.
struct BranchStep {
  Where index;
  std::vector<uint32_t> bodies;
  bool operator==(const BranchStep&) const = default;
};
using Step = std::variant<NativeStep, KernelStep, ProductStep, CopyStep, FillStep, HostStep, LoopStep, BranchStep>;

struct Plan {
  std::string name;
  std::string target;  // "cpu", "cuda:sm_80"
  std::vector<Aval> inputs, outputs;
  // By output: the input whose memory it may be given by passing the same pointer twice, or -1. Only inputs that were
  // donated when compiling occur.
  std::vector<int> donations;
  std::vector<PlanBuffer> buffers;
  std::vector<Code> codes;
  std::vector<std::vector<Step>> blocks;  // the first runs; bodies of loops and branches stand behind what has them
  // One text for each: what it computes, of which types. Whoever loads the plan brings functions of the same texts.
  std::vector<std::string> host_functions;
  int64_t arena_bytes = 0;
  int64_t nanoseconds = 0;  // that one thread takes for it, about
  bool operator==(const Plan&) const = default;
};

// Whether sums of products of such elements can be stored as such, and the type that they are then made in: of
// floats, half floats in float32.
bool is_product_type(DType operands, DType result);
DType product_compute_type(DType operands);

// Whether every index, place and number of bytes is within what it refers to: empty, or what is wrong.
std::string check_plan(const Plan& plan);

// The steps, for people and tests, of a plan that check_plan accepts.
std::string to_string(const Plan& plan);

// Bytes with version and checksum, and back again: an error for anything else, and for plans that check_plan refuses.
std::string save_plan(const Plan& plan);
absl::StatusOr<Plan> restore_plan(std::string_view bytes);

}  // namespace ct
