// Kernels of a GPU as code of the host: what only a GPU has becomes calls of device/emulated/block.h.
#pragma once

#include <llvm/IR/Module.h>

namespace ct::jit {

// The module is as for a GPU, but for its triple and data layout. Afterwards each kernel takes a list of its arguments,
// and the function kKernelsSymbol hands out the kernels' addresses, in their order.
void emulate(llvm::Module& module);

}  // namespace ct::jit
