// What a loop computes and a later one wants, as arrays of the fewest bytes: derivatives are full of it.
//
//   z = x * s(x)         s and what it is made of stand in the loop of z; the derivative's loop, behind a product that
//   y = s(x) * (1 - …)   needs z, wants y only: y is stored, computed beside z, in place of all that it is made of
//
// Walking backwards from consumers (storage.cc) sees one variable at a time: y is wanted once, by a later loop, and so
// it would be computed there, from what then has to be stored.
#pragma once

#include <vector>

#include "jit/fuse/graph_facts.h"
#include "jit/fuse/storage.h"

namespace ct::jit {

// Requires memory for such variables. `cost` is what an element of a variable costs, if what can be is computed anew;
// `cheap` what is not worth an array. Whether there were any.
bool require_for_later_loops(const GraphFacts& facts, const std::vector<double>& cost, double cheap, Storage& storage);

}  // namespace ct::jit
