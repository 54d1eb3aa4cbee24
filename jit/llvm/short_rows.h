// Loops over rows that are short beside vectors.
#pragma once

#include <cstdint>
#include <optional>

#include "jit/llvm/emit.h"

namespace ct::jit {

struct ShortRows {
  const loop::For* inner;
  unsigned width;
  int64_t rows, vectors;  // of one iteration: as many lanes as elements
};
std::optional<ShortRows> find_short_rows(CpuEmission& e, const loop::For& loop);
// All whole iterations from `begin` on; returns where they end.
llvm::Value* emit_short_rows(CpuEmission& e, const loop::For& loop, const ShortRows& rows, llvm::Value* begin,
                             llvm::Value* end);

}  // namespace ct::jit
