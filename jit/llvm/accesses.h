// Elements loaded and stored, by a uniform address or by that of each lane.
#pragma once

#include "jit/llvm/emission.h"

namespace ct::jit {

// `any_lane_may`: what lanes that are not active would load is there, too.
llvm::Value* emit_load(Emission& e, loop::BufferId buffer, const loop::Index& index, bool any_lane_may);
void emit_store(Emission& e, loop::BufferId buffer, const loop::Index& index, llvm::Value* value);
// Stores of the real and the imaginary parts of consecutive complex numbers as one.
void emit_store_complex(Emission& e, loop::BufferId buffer, const loop::Index& index, llvm::Value* re, llvm::Value* im);

}  // namespace ct::jit
