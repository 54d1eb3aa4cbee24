// Which nests go over arrays of rows that are short beside vectors, as an update by the product of two vectors does, or
// the sum of a matrix and a row:
//
//   for i { a = column[i]; for j < few: store to[few * i + j] = f(from[few * i + j], row[j], a) }
//
// As many rows as fill whole vectors are one iteration (llvm/short_rows.cc), or, where those are too many, one row
// whose last vector ends with it and overlaps the one before. Nothing but elements is computed: in which order that
// happens, and whether twice, nobody can see.
#pragma once

#include <cstdint>
#include <optional>

#include "jit/loop/loop.h"
#include "jit/machine/target_facts.h"

namespace ct::jit {

struct ShortRows {
  const loop::For* inner;
  unsigned width;
  int64_t rows, vectors;  // of one iteration
  int64_t last_vector;    // where it begins: the others lie one behind the other from 0 on
};
std::optional<ShortRows> choose_short_rows(const loop::Program& program, const TargetFacts& facts,
                                           const loop::For& loop);

// Where the elements lie that a load reads or a store writes.
enum class PlaceInRows : uint8_t { kSame, kOfRow, kOfColumn, kOfBoth, kOther };
PlaceInRows place_in_rows(const loop::Program& program, const loop::Statement& access, const loop::For& outer,
                          const loop::For& inner);

}  // namespace ct::jit
