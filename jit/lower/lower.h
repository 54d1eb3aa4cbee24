// Graph to loop IR: every step that fusion chose becomes loops in ONE program, control flow included.
//
// Temporaries get no memory here, each is a buffer of its own: schedule/buffers.h packs them into the arena afterwards.
#pragma once

#include "device/machine.h"
#include "ir/graph.h"
#include "jit/loop/loop.h"
#include "jit/runtime/host_functions.h"

namespace ct::jit {

struct LoweringOptions {
  Machine machine = kThisProcess;
  // What the program's host calls mean is appended here. Null: there will be nobody to make them, so a primitive that
  // needs one is an Error(kUnsupported).
  HostFunctions* host_functions = nullptr;
};

// Whether an equation that the host computes is loops of ours in a program that has no host.
bool always_loops(const Primitive& primitive, const Attrs& attrs, absl::Span<const Aval> operands);

// `graph` must be legal at Stage::kLowerable; throws Error(kUnsupported) naming a primitive that cannot be lowered.
// Inputs and outputs of the program are the graph's, in order.
loop::Program lower(const Graph& graph, std::string_view name, const LoweringOptions& options = {});

}  // namespace ct::jit
