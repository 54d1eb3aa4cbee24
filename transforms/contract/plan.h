// In which order the factors of a term are multiplied: the cheapest one of all, by dynamic programming over sets of
// factors. Shapes alone decide. Factors that are to be made whole (ir/terms.h) are multiplied with each other first.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/terms.h"
#include "runtime/dtype.h"

namespace ct::contraction {

using Subset = uint32_t;    // of the factors of a term
using IndexSet = uint64_t;  // of its indices

// A sum of products over some factors, but for the names of its indices: two with the same text are one array.
struct Key {
  std::string text;
  terms::Indices order;  // of the result, in the order of the text
};

struct Step {
  double nanoseconds = 0;  // with all that it needs
  double multiply_adds = 0;
  Subset first = 0, second = 0;  // what is multiplied; 0 for a factor by itself
  bool is_twice = false;         // these are equal, and made once
  bool is_matrix_product = false;
};

class Plan {
 public:
  // `made`: the keys of what other plans leave, which costs nothing. None where there is no way.
  static std::optional<Plan> of(const terms::Context& context, const terms::Term& term, DType dtype,
                                const std::set<std::string>& made);

  const terms::Term& term() const { return term_; }
  Subset all() const { return static_cast<Subset>(steps_.size() - 1); }
  const Step& step(Subset subset) const { return steps_[subset]; }
  const Key& key(Subset subset) const { return keys_[subset]; }
  // The indices of the product of these factors: those that the other ones, or the result, have.
  terms::Indices result(Subset subset) const;
  bool has(terms::Index index, Subset subset) const;  // among them
  // The one factor that is compared rather than multiplied, if the subset is one.
  const terms::Factor* one_hot(Subset subset) const;
  double nanoseconds() const { return step(all()).nanoseconds; }
  // All that is made on the way, the whole included; of equal ones the first.
  std::vector<Subset> products() const;
  int64_t elements(Subset subset) const;

 private:
  Plan(const terms::Context& context, terms::Term term, DType dtype);

  IndexSet set_of(const terms::Indices& indices) const;
  IndexSet outer(Subset subset) const;
  double elements_of(IndexSet set) const;
  struct Cost {
    double nanoseconds, multiply_adds;
    bool is_matrix_product = false;
  };
  std::optional<Cost> pair_cost(Subset first, Subset second, IndexSet wanted, bool is_twice) const;
  std::optional<Cost> comparison_cost(IndexSet indices, IndexSet hot, IndexSet other, IndexSet wanted) const;
  std::optional<Cost> two_comparisons_cost(Subset first, Subset second, IndexSet wanted) const;
  bool comes_too_early(Subset hot, Subset other, IndexSet value, IndexSet wanted) const;
  bool keeps_whole(Subset subset) const;
  bool fill(const std::set<std::string>& made);

  terms::Term term_;
  DType dtype_;
  int64_t element_bytes_;
  double multiply_add_;
  terms::Indices indices_;      // of all factors and of the result
  std::vector<double> sizes_;   // of these
  std::vector<IndexSet> sets_;  // by factor
  IndexSet result_ = 0;
  std::vector<Step> steps_;  // by subset
  std::vector<bool> possible_;
  std::vector<Key> keys_;
};

// What tells that two terms of one sum are the same but for their coefficients.
std::string text_of(const terms::Term& term);

}  // namespace ct::contraction
