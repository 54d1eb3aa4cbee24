// A program being emitted: what the values and arrays of its loops are in LLVM IR. Each part has one job; what is done
// with them is functions. Nothing here knows of threads, or of the process around the code.
//
// Vectorising is a way of emitting, not a pass. While a loop is being vectorised (`lanes`), its variable is the first
// of `width` consecutive values and each loop IR value is either uniform (an LLVM scalar) or one per lane (an LLVM
// vector), whichever its operands make it: `values` says which, by type. Loads and stores look at the coefficient of
// the loop variable in their index: 0 is a uniform access, 1 a contiguous vector, -1 a reversed one, 2 of a complex
// buffer an interleaved one, anything else a gather or scatter. Lanes can be masked: by the loop's tail, and by the
// branches of a divergent If or While.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include "jit/llvm/addresses.h"
#include "jit/llvm/arithmetic.h"
#include "jit/llvm/function_builder.h"
#include "jit/llvm/held_arrays.h"
#include "jit/llvm/streams.h"
#include "jit/llvm/values.h"

namespace ct::jit {

// Of the loop that is being vectorised.
struct Lanes {
  loop::Value variable = loop::kNoValue;
  unsigned width = 0;           // 0: none is
  llvm::Value* mask = nullptr;  // null: all lanes are active
  // Of a mask that most vectors have all lanes of: that mask, and whether they are all active.
  llvm::Value* tail = nullptr;
  llvm::Value* whole = nullptr;
};

// Where the vector constants of the loop being vectorised are set up, and those that have been.
struct VectorConstants {
  llvm::BasicBlock* block = nullptr;
  llvm::DenseMap<llvm::Value*, llvm::Value*> known;
};

// The loop whose extent is a parameter of the function.
struct AnyExtent {
  const loop::For* loop = nullptr;
  llvm::Value* extent = nullptr;
};

struct Emission {
  Emission(const loop::Program& program, const Outline& outline, Target& target, llvm::Module& module)
      : program(program),
        outline(outline),
        code(target, module),
        values(program, outline, code),
        addresses(program, outline, code) {}

  const loop::Program& program;
  const Outline& outline;
  FunctionBuilder code;
  llvm::IRBuilder<>& b = code.b;
  Arithmetic math{code.b, code.facts};
  Values values;
  Addresses addresses;
  Lanes lanes;
  VectorConstants constants;
  AnyExtent any_extent;
  HeldArrays held;
  Streams streams;
};

void begin_function(Emission& e, llvm::Function* function);
void begin_lanes(Emission& e, loop::Value variable, unsigned width);

// Of the variable being vectorised, the lanes' values; its first lane is values[variable].
llvm::Value* value_of(Emission& e, loop::Value value);
llvm::Value* widen(Emission& e, llvm::Value* value);  // scalar -> all lanes; vectors pass
llvm::Constant* lane_numbers(llvm::Type* element, unsigned width);

// The lanes' addresses: uniform + lane * stride + varying.
struct Address {
  llvm::Value* uniform;
  int64_t stride = 0;
  llvm::Value* varying = nullptr;
  bool is_uniform() const { return stride == 0 && varying == nullptr; }
};
Address address_of(Emission& e, const loop::Index& index);
llvm::Value* index_value(Emission& e, const loop::Index& index);    // i64, or vector of i64
llvm::Value* uniform_index(Emission& e, const loop::Index& index);  // i64; the index does not depend on lanes
llvm::Value* extent_of(Emission& e, const loop::For& loop);

// What one statement without blocks computes; loads and stores are in accesses.h.
llvm::Value* emit_instruction(Emission& e, const loop::Statement& statement);

}  // namespace ct::jit
