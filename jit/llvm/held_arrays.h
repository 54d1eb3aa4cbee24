// Small arrays that a loop keeps in registers from one iteration to the next.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <vector>

#include "jit/llvm/function_builder.h"
#include "jit/loop/loop.h"

namespace ct::jit {

struct Address;
struct Emission;

struct HeldArray {
  unsigned width = 0;  // elements of a register
  int64_t elements = 0;
  llvm::SmallVector<llvm::AllocaInst*, 4> registers{};
};
using HeldArrays = llvm::DenseMap<loop::BufferId, HeldArray>;

// Those that the statements of these blocks, which are the body of a loop, only use whole.
std::vector<loop::BufferId> find_held(Emission& e, std::initializer_list<loop::BlockId> body);
void hold(Emission& e, absl::Span<const loop::BufferId> buffers);     // their registers, from memory
void release(Emission& e, absl::Span<const loop::BufferId> buffers);  // and back
// Null: the access is one to memory.
llvm::Value* load_held(Emission& e, loop::BufferId buffer, const Address& address, DType dtype);
bool store_held(Emission& e, loop::BufferId buffer, const Address& address, llvm::Value* stored);
bool uses_held(Emission& e, const loop::For& loop);

}  // namespace ct::jit
