// Which variables of a graph get memory.
#pragma once

#include <vector>

#include "jit/fuse/graph_facts.h"

namespace ct::jit {

// What is decided about the memory of variables.
struct Storage {
  explicit Storage(uint32_t vars) : required(vars), stored(vars), cut(vars), reasons(vars) {}

  std::vector<bool> required;        // must be stored, whatever comes of the others
  std::vector<bool> stored;          // is
  std::vector<bool> cut;             // is, so that loops stay small: only other loops may read it
  std::vector<const char*> reasons;  // the first one there was; null: it has no memory

  void require(Var var, const char* reason) {
    required[var] = true;
    if (reasons[var] == nullptr) reasons[var] = reason;
  }
  void store(Var var, const char* reason) {
    stored[var] = true;
    if (reasons[var] == nullptr) reasons[var] = reason;
  }
};

// Whether the equation's result is made in the memory of the array that it updates, by a step of its own. What is
// computed by elements is where it has memory and is more than one number.
bool is_written_into_memory(const GraphFacts& facts, const Storage& storage, uint32_t equation);

class ProductViews;  // products.h
void decide_storage(const GraphFacts& facts, Storage& storage, ProductViews& products);

}  // namespace ct::jit
