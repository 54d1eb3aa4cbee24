// How a program is cut into functions of bounded size. LLVM's time per instruction grows with the size of a function,
// and nothing keeps a program small: an unrolled loop of the user's is thousands of statements in one block.
//
// Three kinds of functions, all found among the statements that run one after the other (outside of vectorised loops):
//
//   shared  One statement that occurs several times, with other buffers, offsets and scalars (the layers of a network,
//           the steps of an unrolled recurrence). Its first occurrence becomes the code; the arrays, the values that it
//           takes from outside and a few float constants that differ are parameters, and so is where each of its
//           results goes. Of an elementwise loop the extent may differ, too (an optimiser's step over weights of many
//           shapes).
//   parts   Several statements that come again and again back to back (a layer; some steps of a loop), calls of the
//           others among them. Each call has a table, in which the part finds where its arrays are, and
//           where in the arena the values are that it takes and makes.
//   chunks  Runs of statements of about the same weight, in order, including calls of the others; and chunks of chunks,
//           until what is left is small. They take what the entry point takes.
//
// Values that cross from one function into another have a slot in the arena; constants are made again.
//
// A small program is one function, the entry. Functions are bundled into modules of some weight, which are compiled
// independently of each other. All of this depends on the program only, never on the machine's cores.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "jit/loop/loop.h"

namespace ct::jit {

struct OutlinedCall {
  uint32_t begin, end;  // the statements of the block that it stands for
  uint32_t function;
  // Of a shared function only, in the order of its parameters.
  struct Array {
    loop::BufferId buffer;
    int64_t shift;  // what the code finds at [i] is at [i + shift] of this buffer, in real elements
  };
  std::vector<Array> arrays;
  std::vector<const loop::Statement*> constants;
  std::vector<loop::Value> values;
  std::vector<loop::Value> results;
  int64_t extent = 0;  // of a function of any extent
};

struct OutlinedFunction {
  loop::BlockId block = 0;
  uint32_t begin = 0, end = 0;
  bool shared = false;
  bool part = false;                // shared too, with a table for its arrays
  bool any_extent = false;          // shared, a loop: its extent is a parameter
  bool may_fail = false;            // holds a host call: returns whether the program goes on
  std::vector<OutlinedCall> calls;  // among its statements, in order
  // Shared: parameters, by the names that they have in its statements.
  std::vector<loop::BufferId> arrays;
  std::vector<loop::Value> varied;  // float constants that differ from call to call
  std::vector<loop::Value> values;
  // Shared: parameters too. Chunks: values that the caller uses after the call.
  std::vector<loop::Value> results;
  // What its own statements use from outside.
  std::vector<loop::BufferId> buffers;
  std::vector<loop::Value> entry_values;  // in their slots when it is called
  std::vector<const loop::Statement*> constants;
  int64_t weight = 0;  // of its own statements
  uint32_t module = 0;
};

struct Outline {
  std::vector<OutlinedFunction> functions;                                    // [0] is the entry
  absl::flat_hash_map<loop::BlockId, std::vector<OutlinedCall>> inner_calls;  // of blocks inside statements
  // Byte offsets in the arena: of values that cross, and of the current pointers of buffers that swap.
  absl::flat_hash_map<loop::Value, int64_t> slots;
  absl::flat_hash_map<loop::BufferId, int64_t> pointer_slots;
  std::vector<loop::BufferId> swapped;
  int64_t arena_bytes = 0;     // the program's, and the slots
  bool asks_caller = false;    // of a library: before the arena is a CallerQuestion (device/loaded.h)
  bool may_take_long = false;  // when it runs: it asks whether to go on
  uint32_t modules = 1;
  // All of them, those first that take the longest to compile.
  std::vector<uint32_t> longest_first = {0};

  absl::Span<const OutlinedCall> calls_in(loop::BlockId inner_block) const {
    const auto at = inner_calls.find(inner_block);
    return at == inner_calls.end() ? absl::Span<const OutlinedCall>() : at->second;
  }
};

// What the emitter decides about loops.
struct LoopFacts {
  std::function<bool(const loop::For&)> vectorized;  // which makes it one piece
  // All that depends on the extent in how it is emitted: where this is equal the extent may be a parameter. Empty:
  // never.
  std::function<std::vector<uint64_t>(const loop::For&)> decided_by_extent;
  std::function<bool(const loop::Gemm&)> ready_made;  // which products are a call (gemm_ready.cc). Empty: none
};
// The outline points into the program.
Outline outline(const loop::Program& program, const LoopFacts& facts);

}  // namespace ct::jit
