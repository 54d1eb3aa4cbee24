#include "jit/llvm/passes.h"

#include <llvm/Pass.h>

#include <algorithm>

namespace ct::jit {

namespace {

// They look for what the emitter never writes: calls with unwinding, indirect branches, garbage collected pointers,
// debug information, dynamic stack objects, freeze, memcmp.
constexpr std::string_view kNothingToFind[] = {
    "Canonicalize Freeze Instructions in Loops",
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Lower Garbage Collection Instructions",
    "Shadow Stack GC Lowering",
    "Replace intrinsics with calls to vector library",
    "Partially inline calls to library functions",
    "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
    "Expand indirectbr instructions",
    "Exception handling preparation",
    "ObjC ARC contraction",
    "Prepare callbr",
    "Safe Stack instrumentation pass",
    "Insert stack protectors",
    "Local Dynamic TLS Access Clean-up",
    "X86 PIC Global Base Reg Initialization",
    "Argument Stack Rebase",
    "Merge disjoint stack slots",
    "Local Stack Slot Allocation",
    "X86 Suppress APX features for relocation",
    "Register Allocation Pass Scoring",
    "Remove Redundant DEBUG_VALUE analysis",
    "Fixup Statepoint Caller Saved",
    "Analyze Machine Code For Garbage Collection",
    "Insert fentry calls",
    "Insert XRay ops",
    "Implement the 'patchable-function' attribute",
    "X86 insert wait instruction",
    "Contiguously Lay Out Funclets",
    "Remove Loads Into Fake Uses",
    "StackMap Liveness Analysis",
    "Live DEBUG_VALUE analysis",
    "Machine Sanitizer Binary Metadata",
    "Stack Frame Layout Analysis",
    "Check CFA info and insert CFI instructions if needed",
    "Pseudo Probe Inserter",
    // Hardening, which is off unless a function asks for it.
    "Insert KCFI indirect call checks",
    "X86 speculative load hardening",
    "X86 Load Value Injection (LVI) Load Hardening",
    "X86 Load Value Injection (LVI) Ret-Hardening",
    "X86 Speculative Execution Side Effect Suppression",
    "X86 Indirect Branch Tracking",
    "X86 Indirect Thunks",
    "X86 Return Thunks",
};

// They optimise, and gain little here: no workload got slower without them, but for one with AVX2
// (docs/design/014-compile-time.md).
constexpr std::string_view kNoGain[] = {
    "Loop Strength Reduction",  // a fifth of the time of all passes
    "CodeGen Prepare",
    "Constant Hoisting",
    "Interleaved Access Pass",
    "X86 Partial Reduction",
    "X86 Domain Reassignment Pass",
    "Early Tail Duplication",
    "Early If-Conversion",
    "Machine InstCombiner",
    "X86 cmov Conversion",
    "Machine Common Subexpression Elimination",
    "Machine code sinking",
    "Live Range Shrink",
    "X86 Fixup SetCC",
    "X86 LEA Optimize",
    "X86 Avoid Store Forwarding Blocks",
    "Stack Slot Coloring",
    "Machine Copy Propagation Pass",
    "PostRA Machine Sink",
    "Shrink Wrapping analysis",
    "Machine Late Instructions Cleanup Pass",
    "Tail Duplication",
    "Post RA top-down list latency scheduler",
    "X86 Byte/Word Instruction Fixup",
    "X86 Atom pad short functions",
    "X86 LEA Fixup",
    "X86 Fixup Vector Constants",
};

// With 32 registers the order that the emitter writes in is as good. With 16 it spills: products get 1.4 times slower.
constexpr std::string_view kScheduler = "Machine Instruction Scheduler";

bool left_out(std::string_view name, const TargetFacts& facts) {
  // The list was measured on x86 only.
  if (facts.arch != TargetFacts::Arch::kX86) return false;
  if (name == kScheduler) return facts.vector_registers >= 32;
  return std::ranges::find(kNothingToFind, name) != std::end(kNothingToFind) ||
         std::ranges::find(kNoGain, name) != std::end(kNoGain);
}

}  // namespace

void PassFilter::add(llvm::Pass* pass) {
  const llvm::StringRef name = pass->getPassName();
  if (!left_out({name.data(), name.size()}, facts_)) return passes_.add(pass);
  left_out_.emplace_back(name.data(), name.size());  // names are literals
  delete pass;
}

std::vector<std::string_view> PassFilter::unknown_names() const {
  std::vector<std::string_view> unknown;
  auto look_for = [&](std::string_view name) {
    if (left_out(name, facts_) && std::ranges::find(left_out_, name) == left_out_.end()) unknown.push_back(name);
  };
  for (std::string_view name : kNothingToFind) look_for(name);
  for (std::string_view name : kNoGain) look_for(name);
  look_for(kScheduler);
  return unknown;
}

}  // namespace ct::jit
