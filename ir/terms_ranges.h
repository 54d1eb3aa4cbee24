// Slices, reversals and zero padding of sums of products: done to the factors that have the axis. And what a sum over
// padded axes, or a product of them, is without the zeros.
#pragma once

#include <optional>
#include <vector>

#include "ir/terms.h"

namespace ct::terms {

// By axis of the operand: the places of it that the result has.
std::optional<Sum> taken(const Input& input, absl::Span<const Range> ranges);
// By axis of the result: the places of it where the operand's elements go; zeros elsewhere.
std::optional<Sum> spread_out(const Input& input, absl::Span<const Range> ranges);

// The operands one behind the other along an axis: each with zeros where the others are.
std::optional<Sum> concatenated(const Input& input, size_t axis);

// A leaf under a shape without its zeros along an axis: what is left, and at which places it was.
struct Filled {
  LeafId leaf;
  Ints shape;
  Range range;
};
std::optional<Filled> filled(Context& context, LeafId leaf, const Ints& shape, size_t axis);

// A term without the places of its indices where all factors that have them are zero. `ranges`: by index of the result,
// in order, the places that are left; of none if nothing is left out.
struct Narrowed {
  Term term;
  std::vector<Range> ranges{};
};
// None where no place is left: the term is zero.
std::optional<Narrowed> narrowed(Context& context, const Term& term);

}  // namespace ct::terms
