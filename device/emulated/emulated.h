// A GPU that is not there: kernels that were made for one, as code of the host (jit/llvm/emulate.h), run one after the
// other on the calling thread. Its memory is the host's.
#pragma once

#include "device/device.h"

namespace ct {

// It takes products that are a library's (ProductStep), and computes them by plain loops.
Device& emulated_device();
// Whether programs that are made for it leave large products to a library: where CT_EMULATED_PRODUCTS=1 is in the
// environment. Else kernels of ours make them, as on a GPU that has none.
bool emulates_product_library();
// Whether kernels that are made for it report their accesses (races.h): where CT_CHECK_RACES=1 is in the environment.
bool checks_races();

}  // namespace ct
