// What to do where there is no memory for arrays.
#pragma once

namespace ct {

inline constexpr const char* kMemoryAdvice =
    "use smaller arrays or batches: ct.vmap(f, chunk_size=...), ct.jit(f, memory_limit=...)";

}  // namespace ct
