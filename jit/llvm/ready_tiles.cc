// The tables in the objects that make_tiles.cc made.
#include "jit/llvm/tiles.h"

#ifdef CT_READY_TILES
extern "C" {
extern const int32_t ct_ready_v2[], ct_ready_v3[], ct_ready_v4[];
}
#endif

namespace ct::jit {

const int32_t* ready_table([[maybe_unused]] int level) {
#ifdef CT_READY_TILES
  if (level == 2) return ct_ready_v2;
  if (level == 3) return ct_ready_v3;
  if (level == 4) return ct_ready_v4;
#endif
  return nullptr;
}

}  // namespace ct::jit
