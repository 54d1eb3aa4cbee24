// A GPU that is not there: kernels that were made for one, as code of the host (jit/llvm/emulate.h), run one after the
// other on the calling thread. Its memory is the host's.
#pragma once

#include "device/device.h"

namespace ct {

Device& emulated_device();

}  // namespace ct
