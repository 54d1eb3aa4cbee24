// The functions that a library of exported programs shows to C: what they look like, as data, and their emission around
// the programs' entry points, which are objects of their own (emit_library_entry).
//
//   int NAME(parameters..., const ct_run* run)
//   int NAME_leaves(const void* const* inputs, void* const* outputs, const ct_run* run)
//   void NAME_entry(void* const* inputs, void* const* outputs, void* arena)    for the front end (device/loaded.h)
//
// and of the library
//
//   int LIBRARY_check(void)              whether this processor runs it
//   uint64_t LIBRARY_signature(void)     of names, types and places
//   const char* LIBRARY_describe(void), * LIBRARY_error(int status)
//
// None of them allocates, locks, or keeps anything but which code the processor runs. What is not kCOk is returned
// before anything is written, but for kCStopped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/llvm/compiler.h"
#include "runtime/aval.h"

namespace ct::jit {

// What functions return. The numbers are those of every library that was ever exported.
enum CStatus : int {
  kCOk = 0,
  kCNull = 1,
  kCAlignment = 2,
  kCOverlap = 3,
  kCWorkspace = 4,
  kCLength = 5,
  kCCpu = 6,
  kCStopped = 7,
  kCAbi = 8,
};
// With their names in C and what they mean.
struct CStatusText {
  CStatus status;
  const char* name;
  const char* text;
};
absl::Span<const CStatusText> c_statuses();

struct CParameter {
  enum class Kind : uint8_t {
    kArrays,  // a pointer to one array or several
    kValue,   // a number
  };
  Kind kind = Kind::kArrays;
  DType dtype = DType::kFloat32;  // kValue
  int64_t bytes = 0, alignment = 1;
  bool written = false;
};

// Where an array of the program is: so many bytes behind what the parameter points to.
struct CLeaf {
  uint32_t parameter = 0;
  int64_t offset = 0;
};

// An input whose elements, integers of `dtype`, must be from 0 to `bound`: else kCLength.
struct BoundedInput {
  uint32_t input;
  DType dtype;
  int64_t elements;
  int64_t bound;
};

struct CFunction {
  std::string name;
  std::vector<CParameter> parameters;
  std::vector<CLeaf> inputs, outputs;
  std::vector<Aval> input_avals, output_avals;
  std::vector<int> pairs;      // by output: the input whose place it has; or -1
  std::vector<int> donations;  // by output: the input whose memory the program may be given for it; or -1
  std::vector<BoundedInput> lengths;
  std::vector<std::string> constants;  // bytes of further inputs; empty: the program has them itself
  int64_t arena_bytes = 0;
  bool may_stop = false;             // the program asks now and then whether to go on
  bool shares_loops = false;         // with the caller's threads
  std::vector<std::string> entries;  // symbols, one for each of the library's levels

  bool asks_caller() const { return may_stop || shares_loops; }
};

// Where in the caller's workspace what is.
struct CWorkspace {
  explicit CWorkspace(const CFunction& function);
  int64_t arena = 0;
  bool caller_on_stack = false;      // what the program asks, where it needs nothing else of the workspace
  std::vector<int64_t> temporaries;  // by output: a result that cannot be made in place; or -1
  int64_t pointers = -1;             // of arrays, where these are too many for the stack
  int64_t bytes = 0;
  int64_t copied_bytes = 0;  // from temporaries
};

// What code asks of an x86 processor, as the bits of `cpuid` and `xgetbv` that must be set (cpu_words.h).
struct CpuWord {
  uint32_t leaf = 0, subleaf = 0;  // of cpuid
  int place = 0;                   // of eax, ebx, ecx, edx
  uint32_t bits = 0;
  bool operator==(const CpuWord&) const = default;
};
struct CpuWords {
  std::vector<CpuWord> words;  // empty: every processor of the architecture has it
  uint32_t system = 0;         // what the operating system must save
  bool operator==(const CpuWords&) const = default;
};

struct CLibrary {
  std::string name;
  std::string description;
  uint64_t signature = 0;
  bool checks = true;
  std::vector<CpuWords> levels;  // what each asks of the processor, the best last
  std::vector<CFunction> functions;
};

// One object. `options` are of the least level.
absl::StatusOr<std::string> emit_c_functions(const CLibrary& library, const TargetOptions& options);

}  // namespace ct::jit
