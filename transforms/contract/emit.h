// Plans as equations.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "ir/builder.h"
#include "ir/terms.h"
#include "transforms/contract/plan.h"

namespace ct::contraction {

// An array with an index for each axis.
struct Array {
  Value value;
  terms::Indices indices;
};

// A term that is made in pieces: those of `index`, in `blocks` equal ones.
struct Blocks {
  terms::Index index;
  int64_t blocks;
};

// What a term is computed in. Where factors were converted to `wide` before they were squared, sums that are made
// whole, as the program makes them, and products of matrices of such factors are made in what they were before,
// `narrow`; what is made of these is in `wide`. Else both are the same.
struct Precision {
  DType narrow, wide;
  auto operator<=>(const Precision&) const = default;
};

// By axis of the result: the places of it where the elements of x go; zeros elsewhere.
Value spread_out(Value x, absl::Span<const terms::Range> ranges);

class Emitter {
 public:
  // `variable`: the value of a variable of the graph that leaves are of.
  Emitter(Builder& builder, const terms::Context& context, std::function<Value(Var)> variable, Precision precision)
      : builder_(builder), context_(context), variable_(std::move(variable)), precision_(precision) {}

  // The term, with the indices of its axes in order, times 2^exponent and not its coefficient: half of the exponent
  // goes to each of what is multiplied last, so that nothing overflows that the product would not.
  Value term(const Plan& plan, const std::optional<Blocks>& blocks, int exponent);
  Value leaf(terms::LeafId id, absl::Span<const int64_t> shape);

 private:
  Value composed(const terms::Leaf& leaf);
  Value factor(const terms::Factor& factor);
  Value concatenated(const terms::Leaf& leaf);
  // By factor: what it is made of.
  Values factors(const terms::Term& term);
  Array product(const Plan& plan, const Values& factors, Subset subset);
  std::string name_of(const Plan& plan, Subset subset) const;
  Array whole(const Plan& plan, const Values& factors, int exponent);
  Array pair(const Plan& plan, const Values& factors, Subset first, Subset second, Subset both, int exponent = 0);
  Array two_comparisons(const Plan& plan, const Values& factors, Subset first, Subset second);
  bool is_narrow(const Plan& plan, Subset both) const;
  Array comparison(const Plan& plan, const Values& factors, Subset hot, Subset other, Subset both);
  Array in_blocks(const Plan& plan, const Blocks& blocks, int exponent);

  Builder& builder_;
  const terms::Context& context_;
  std::function<Value(Var)> variable_;
  Precision precision_;
  std::optional<terms::Index> piece_;  // the index that there is only a piece of here
  std::map<std::pair<terms::LeafId, Shape>, Value> leaves_;
  struct Made {
    Value value;
    std::vector<size_t> places;  // of its axes in the order of the key
  };
  std::map<std::string, Made> made_;
};

}  // namespace ct::contraction
