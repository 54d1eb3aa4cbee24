// Branches that are rarely taken (jit/machine/rare_branches.h), in loops whose iterations are independent. Compilers
// make no vectors of a loop with such a branch, so that for some iterations at a time it is asked first whether any
// takes one:
//
//   int32_t rare = 0;
//   for (j = i; j < i + 64; ++j) rare = rare | ct_sin_f32_is_rare(x[j]);
//   if (rare == 0) {
//     for (j = i; j < i + 64; ++j) y[j] = ct_sin_f32_usual(x[j]);
//   } else {
//     for (j = i; j < i + 64; ++j) y[j] = ct_sin_f32(x[j]);
//   }
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "jit/loop/loop.h"

namespace ct::jit::c {

class Emission;

// Iterations for which it is asked at once.
constexpr int64_t kAskedAtOnce = 64;

// What of some statements is written when not all is: what computes the usual sides of rare branches, or what tells
// whether any is taken.
struct Sides {
  bool asks = false;
  bool possible = true;
  bool branches = false;  // there is a rare one
  absl::flat_hash_set<loop::Value> needed;
  std::vector<std::string> taken;  // when one is: expressions that the writing of statements leaves
};

// `results`: what the statements are for, beside what they store.
Sides usual_sides(const Emission& e, loop::BlockId block, uint32_t begin, uint32_t end,
                  const std::vector<loop::Value>& results);
Sides asking_sides(const Emission& e, loop::BlockId block, uint32_t begin, uint32_t end,
                   const std::vector<loop::Value>& results);

// Whether a loop has rare branches that can be asked for.
bool asks_for_rare(const Emission& e, const loop::For& loop);

// Writes the iterations of a loop, as above. `iterate` writes the head of a C loop over them, which may be vectors or
// not, what it is given, and the end; `after` writes what follows the body.
using Body = std::function<void()>;
void write_by_sides(Emission& e, const loop::For& loop, const std::function<void(bool, const Body&)>& iterate,
                    const Body& after);

// Which side of a branch is rare: the block, or none.
loop::BlockId rare_side(const loop::Program& program, const loop::If& branch);

}  // namespace ct::jit::c
