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

// Statements, and what they are for beside what they store.
struct Stretch {
  loop::BlockId block;
  uint32_t begin, end;
  std::vector<loop::Value> results;
};
Sides usual_sides(const Emission& e, const Stretch& stretch);
Sides asking_sides(const Emission& e, const Stretch& stretch);
// The body of a loop and what it carries on.
Stretch stretch_of(const Emission& e, const loop::For& loop);
// Whether it has rare branches that can be asked for.
bool asks_for_rare(const Emission& e, const Stretch& stretch);

// Writes statements of independent iterations, as above. `iterate` writes the head of a C loop over them, which may be
// vectors or not, what it is given, and the end; `write` writes the statements, and, where they are not only asked,
// what becomes of `results`.
using Body = std::function<void()>;
void write_by_sides(Emission& e, const Stretch& stretch, const std::function<void(bool, const Body&)>& iterate,
                    const std::function<void(bool)>& write);

// Which side of a branch is rare: the block, or none.
loop::BlockId rare_side(const loop::Program& program, const loop::If& branch);

}  // namespace ct::jit::c
