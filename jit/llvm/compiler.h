// From loop IR to machine code: the only door to LLVM. No LLVM header is needed to use it.
//
//   auto plan = emit_object(program, "step", {});       // relocatable bytes and one native step
//   auto loaded = cpu_device().load(*plan);             // in well under a millisecond
//   auto both = compile(program, {});
//   auto kernels = emit_kernels(program, "sm_90");      // kernel steps
//
// Plans made here say nothing of the types of inputs and outputs: whoever has the graph adds them.
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
// runtime/pool.h, for loops that threads share, and, for programs with host calls, call_host of device/host_call.h
// under the caller's HostScope: they return early when such a call fails. Others never fail.
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
#include "device/loaded.h"
#include "device/machine.h"
#include "device/plan.h"
#include "jit/loop/loop.h"
#include "jit/machine/target_facts.h"

namespace ct::jit {

struct TargetOptions {
  std::string triple;  // empty: this machine. "x86_64-linux-gnu", "aarch64-linux-gnu" for emit_object
  std::string cpu;  // empty: this machine's (or the triple's baseline). "x86-64-v2" is the least for x86, then -v3, -v4
  int vector_bits = 0;            // 0: what the cpu does best
  std::string features = {};      // besides those of the cpu, by LLVM's names: "+simd128,-neon"
  bool portable = false;          // 128-bit vectors, no multiply-add of one rounding: every target computes the same
  bool emulates_kernels = false;  // of a GPU, on this machine: programs are made as for that one
  bool tells_stack = false;       // objects have a section of stack sizes (stack_sizes.h)
};

// A large program is several objects, compiled on all cores that the process may use; the code does not depend on their
// number. To be loaded where host_cpu_features() are the same.
absl::StatusOr<Plan> emit_object(const loop::Program& program, std::string_view symbol,
                                 const TargetOptions& options = {});
// The same, loaded.
absl::StatusOr<LoadedPtr> compile(const loop::Program& program, const TargetOptions& options = {});
// Whether a program asks now and then whether to go on (polls.cc). It depends on the program alone.
bool may_take_long(const loop::Program& program);
// A program's entry point as one object for a library, whose other objects alone see it: it brings its own steps and
// asks its caller whether to go on where may_take_long (LibraryCaller).
struct LibraryEntry {
  std::string object;
  int64_t arena_bytes = 0;
  bool shares_loops = false;  // with threads that its caller gives it
};
absl::StatusOr<LibraryEntry> emit_library_entry(const loop::Program& program, std::string_view symbol,
                                                const TargetOptions& options = {}, bool may_share = false);

// Kernels, to be launched in order, for an architecture ("sm_80", "sm_90", ...), or, kEmulated, for the device of that
// name. What the host would have to do is kUnimplemented.
inline constexpr std::string_view kEmulated = "emulated";
// `machine` says whether the device has a library for large products; `donations`: by output, the input whose memory it
// may be (Plan::donations), or -1; empty: none is. `without_barrier`: leaves out the one with that number, for tests.
absl::StatusOr<Plan> emit_kernels(const loop::Program& program, std::string_view architecture,
                                  const Machine& machine = kGpu, absl::Span<const int> donations = {},
                                  int64_t without_barrier = -1);

// What decides how loops and products become code for a machine.
absl::StatusOr<TargetFacts> target_facts(const TargetOptions& options);

// The newest architecture that a GPU of this compute capability (90: 9.0) runs, that this LLVM knows, and whose PTX
// needs no newer version than `ptx` (78: 7.8).
std::string kernel_architecture(int capability, int ptx);

// LLVM IR and assembly for people (`ct.explain`) and tests.
absl::StatusOr<std::string> emit_llvm_ir(const loop::Program& program, const TargetOptions& options = {});
absl::StatusOr<std::string> emit_assembly(const loop::Program& program, const TargetOptions& options = {});

// The names in passes.cc that this LLVM has no pass of: should be none.
std::vector<std::string> unknown_pass_names();

// "x86_64 sapphirerapids +avx512f ... llvm-22.1": equal strings run each other's objects.
const std::string& host_cpu_features();
// Whether this processor has instructions for tiles of bfloat16 (runtime/bfloat16_products.h).
bool host_has_bfloat16_tiles();

}  // namespace ct::jit
