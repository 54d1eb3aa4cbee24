// From loop IR to machine code: the only door to LLVM. No LLVM header is needed to use it.
//
//   auto function = compile(program, {});               // in this process, ready to call
//   auto object = emit_object(program, "step", {});     // relocatable bytes: for the disk cache, for export
//   auto again = load_object(*object);                  // a cached object, in well under a millisecond
//   auto text = emit_ptx(program, "sm_90");             // one kernel per top-level statement
//
// The entry point's ABI, the same in memory, on disk and in exported libraries (C calling convention):
//   void entry(void* const* inputs, void* const* outputs, void* arena);
//   - inputs[i], outputs[i]: contiguous elements of buffer i of that kind, aligned to their element. bool is a byte 0
//   or 1; complex is
//     (re, im). An output may be the same pointer as an input only where the program was built for it.
//   - arena: `arena_bytes` of scratch aligned to 64 bytes, private to the call, contents undefined before and after. It
//   is at
//     least the program's own arena; matrix products may append packing space. May be null when arena_bytes is 0.
// Entry points are reentrant and call nothing but memcpy/memset/memmove; in this process also run_parallel of
// device/cpu/pool.h, for loops that threads share, and, for programs with host calls, call_host of host_call.h under
// the caller's HostScope: they return early when such a call fails. Others never fail.
//
// All functions may be called from several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/loop/loop.h"

namespace ct::jit {

struct TargetOptions {
  std::string triple;  // empty: this machine. "x86_64-linux-gnu", "aarch64-linux-gnu" for emit_object
  std::string cpu;  // empty: this machine's (or the triple's baseline). "x86-64-v2" is the least for x86, then -v3, -v4
  int vector_bits = 0;  // 0: what the cpu does best
};

// The machines that programs are exported for (export_targets.cc), and the options for one of these that a user named
// by its triple; an error lists them.
std::vector<std::string> export_target_names();
absl::StatusOr<TargetOptions> export_target(const TargetOptions& options);

using EntryPoint = void (*)(void* const* inputs, void* const* outputs, void* arena);

struct ObjectCode {
  std::vector<std::string> objects;  // relocatable ELF; a large program is several
  std::string symbol;                // of type EntryPoint, in the first
  int64_t arena_bytes = 0;
  bool can_stop = false;  // emit_c_object
};

// Machine code mapped into this process; unmapped with the last copy.
class CompiledFunction {
 public:
  CompiledFunction() = default;
  CompiledFunction(EntryPoint entry, int64_t arena_bytes, std::shared_ptr<void> memory)
      : entry_(entry), arena_bytes_(arena_bytes), memory_(std::move(memory)) {}

  EntryPoint entry() const { return entry_; }
  int64_t arena_bytes() const { return arena_bytes_; }
  void operator()(void* const* inputs, void* const* outputs, void* arena) const { entry_(inputs, outputs, arena); }

 private:
  EntryPoint entry_ = nullptr;
  int64_t arena_bytes_ = 0;
  std::shared_ptr<void> memory_;
};

// A large program is compiled on all cores that the process may use; the code does not depend on their number.
absl::StatusOr<CompiledFunction> compile(const loop::Program& program, const TargetOptions& options = {});
absl::StatusOr<ObjectCode> emit_object(const loop::Program& program, std::string_view symbol,
                                       const TargetOptions& options = {});
// What the functions of an exported library return.
enum CStatus : int { kCSuccess = 0, kCNoMemory = 1, kCLength = 5, kCStopped = 6 };
// An input whose elements, integers of `dtype`, must be from 0 to `bound`: else kCLength, before anything is written.
struct BoundedInput {
  uint32_t input;
  DType dtype;
  int64_t elements;
  int64_t bound;
};
// One object for C programs, with two functions instead of the entry point:
//   int NAME(inputs..., outputs...) brings its own scratch memory;
//   int NAME_with_workspace(inputs..., outputs..., void* workspace) takes the caller's: arena_bytes aligned to 64.
// And where a call may take long (emit_polls.cc), which `can_stop` says, a third:
//   void NAME_stop(int) sets a flag that makes calls return kCStopped, those that are under way too.
absl::StatusOr<ObjectCode> emit_c_object(const loop::Program& program, std::string_view name,
                                         const TargetOptions& options = {},
                                         absl::Span<const BoundedInput> bounded = {});
// The bytes must come from emit_object on a machine with the same host_cpu_features(): check that (and a checksum)
// first.
absl::StatusOr<CompiledFunction> load_object(const ObjectCode& object);

// A kernel of a PTX module. Parameters: one pointer per input, one per output (in order of position), then the arena.
struct Kernel {
  std::string name;
  // Work items, shared out by a grid-stride loop over any grid; at most this many are of use. 0: launch exactly one
  // block of kBlockThreads threads, which reduce together.
  int64_t threads;
  static constexpr int kBlockThreads = 256;
};
struct PtxModule {
  std::string text;
  std::vector<Kernel> kernels;  // to be launched in this order
};
// Elementwise and reduction loops; a program with Gemm or Swap is kUnimplemented.
absl::StatusOr<PtxModule> emit_ptx(const loop::Program& program, std::string_view sm);

// LLVM IR and assembly for people (`ct.explain`) and tests.
absl::StatusOr<std::string> emit_llvm_ir(const loop::Program& program, const TargetOptions& options = {});
absl::StatusOr<std::string> emit_assembly(const loop::Program& program, const TargetOptions& options = {});

// The names in passes.cc that this LLVM has no pass of: should be none.
std::vector<std::string> unknown_pass_names();

// "x86_64 sapphirerapids +avx512f ... llvm-22.1": equal strings run each other's objects.
const std::string& host_cpu_features();

}  // namespace ct::jit
