// Several short rows at once (machine/short_rows.h).
#pragma once

#include <optional>

#include "jit/llvm/emit.h"
#include "jit/machine/short_rows.h"

namespace ct::jit {

std::optional<ShortRows> find_short_rows(CpuEmission& e, const loop::For& loop);
// All whole iterations from `begin` on; returns where they end.
llvm::Value* emit_short_rows(CpuEmission& e, const loop::For& loop, const ShortRows& rows, llvm::Value* begin,
                             llvm::Value* end);

}  // namespace ct::jit
