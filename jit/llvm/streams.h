// Large results stored past the caches.
#pragma once

#include <vector>

#include "jit/llvm/function_builder.h"
#include "jit/loop/loop.h"

namespace ct::jit {

struct Emission;

struct Streams {
  std::vector<bool> written_once;  // by buffer; empty: not known yet
  bool active = false;             // the loop being emitted stores past the caches
  bool pending = false;            // such stores await a fence
};

bool streams(Emission& e, loop::BufferId buffer);
// Whether the loop's stores fill lines, but for a few.
bool fills_lines(const loop::For& loop, const loop::Statement& store);
// Whether whole vectors of the loop store to such buffers.
bool streams_from(Emission& e, const loop::For& loop, unsigned width);
void store_past_caches(Emission& e, llvm::Value* stored, llvm::Value* pointer);
// The loop's vectors, storing past the caches where all that they store is aligned, or else as usual.
LlvmValues in_both_ways(Emission& e, const loop::For& loop, llvm::Value* begin, const LlvmValues& sums,
                        llvm::function_ref<LlvmValues(const LlvmValues&)> emit);
void finish_streams(Emission& e);

}  // namespace ct::jit
