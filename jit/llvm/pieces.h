// Loop programs cut into what a device does one after the other: kernels, calls of the host, and loops and branches
// around these. Start at `cut_in_pieces`.
//
// Large products of matrices are a library's, where the device has one (library_products.h).
// What else is large and has independent items is a kernel on the grid. All statements between such ones are one kernel
// of one block, which runs them together (block_scope.h), loops with all their iterations among them: so a small
// program is one launch. Loops and branches that hold what is large, or a call of the host, are the device's own: they
// are opened, and their bodies cut in the same way. A block of very many statements is several kernels, as is the body
// of a loop of so many that goes round a known number of times.
//
// Scalars that kernels hand each other have slots in memory, as have the variables and carries of opened loops. What is
// cheap, and the same whenever it is computed, each kernel computes again.
#pragma once

#include <set>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "device/machine.h"
#include "jit/loop/loop.h"

namespace ct::jit {

// Of a value of the program; or of what an opened loop or branch asks for, which has no value: numbers above all those.
using Slot = uint64_t;
inline constexpr Slot kFirstControl = Slot{1} << 32;

// What a kernel leaves in a slot at its end. All of a kernel's read before the first is written.
struct Assignment {
  enum class What : uint8_t {
    kValue,      // `value`
    kZero,       // an int64
    kNext,       // `value` + 1
    kCombine,    // `value` (+) `other`, as `carry` combines
    kIsBelow,    // `value` + 1, or 0 without one, is below the extent of `loop`: a byte
    kCondition,  // `value`, as a byte
    kChoice,     // `value`, as an int32
  };
  Slot to = 0;
  What what = What::kValue;
  loop::Value value = loop::kNoValue;
  loop::Value other = loop::kNoValue;
  const loop::Carry* carry = nullptr;
  const loop::For* loop = nullptr;
};

// An array of a call of the host that lies where only the program knows, or in the code, on its way to a place in the
// arena or from it.
struct Move {
  const loop::HostCall::Array* array = nullptr;
  int64_t position = 0;  // bytes in the arena
  bool to_array = false;
};

// A fold of which each block of a grid has left a part, in the arena: for each carry one after the other.
struct Parts {
  const loop::Statement* fold = nullptr;
  int64_t position = 0;  // bytes; each part has 8
  int64_t blocks = 0;    // at most as many as a block has threads
};

struct Kernel {
  enum class Kind : uint8_t {
    kBlock,  // all statements, by one block
    kGrid,   // the items of statements whose threads keep to their own elements, or the tiles of one nest of products
    kParts,  // of the one fold, for the kernel that puts them together
    kExchange,  // of the one kSwap: the contents, as names mean the same memory for all kernels
  };
  Kind kind = Kind::kBlock;
  std::vector<Parts> parts = {};  // kParts: its own; kBlock: what is put together before the statements
  std::vector<const loop::Statement*> statements = {};
  int64_t size = 0;  // kBlock: the statements and all inside them
  // kBlock: after the statements.
  std::vector<Move> moves = {};
  std::vector<Assignment> assignments = {};

  bool is_empty() const { return statements.empty() && parts.empty() && moves.empty() && assignments.empty(); }
};

struct Piece {
  enum class Kind : uint8_t { kKernel, kProduct, kHost, kLoop, kBranch };
  Kind kind = Kind::kKernel;
  uint32_t kernel = 0;                       // in Cut::kernels; a loop's condition has two places
  const loop::Statement* product = nullptr;  // kProduct: of which there are library_products
  const loop::HostCall* call = nullptr;      // kHost
  std::vector<int64_t> inputs = {},
                       outputs = {};            // kHost: positions in the arena of what is moved, -1 where nothing is
  int64_t count = 0;                            // kLoop; -1: while the byte at `control` is not 0
  Slot control = 0;                             // kLoop, kBranch: an int32
  std::vector<std::vector<Piece>> bodies = {};  // kLoop: one; kBranch: what is done if not, and if
};
using Pieces = std::vector<Piece>;

struct Cut {
  std::vector<Kernel> kernels;
  Pieces pieces;
  std::vector<const loop::Statement*> repeated;           // in order
  absl::flat_hash_map<loop::Value, loop::Value> aliases;  // what has the slot of another value
  Slot controls = kFirstControl;                          // the first number that is free
  int64_t arena_bytes = 0;                                // with the places of moved arrays and of parts

  Slot slot_of(loop::Value value) const {
    const auto alias = aliases.find(value);
    return alias == aliases.end() ? value : alias->second;
  }
};
// `donations` as of Barriers.
Cut cut_in_pieces(const loop::Program& program, const Machine& machine, absl::Span<const int> donations);

// What a kernel takes from outside: slots that it reads, and what it computes again, in order.
struct Needs {
  std::vector<loop::Value> loaded;
  std::vector<const loop::Statement*> repeated;
  std::set<loop::Value> own;  // what its statements define for later ones
};
Needs needs_of(const loop::Program& program, const Cut& cut, const Kernel& kernel);

}  // namespace ct::jit
