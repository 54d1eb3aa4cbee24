// Which values of a graph are sums of products that nobody needs in memory.
//
//   grown   larger than what is multiplied or scattered to make it (growth.h); and what `terms` rules make of it
//   exit    what a grown value becomes when it is small again: at most half of what it was, or no larger than what was
//           multiplied. Exits are made anew, from the factors of what they are sums of
//
// A grown value that anything else needs is left as it is, and is a leaf for what follows. So are the operands of what
// grows once more; where they have become smaller before, that is where they exit.
#pragma once

#include <set>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/graph.h"
#include "ir/terms.h"
#include "transforms/contract/growth.h"
#include "transforms/transforms.h"

namespace ct::contraction {

struct Exit {
  uint32_t equation;
  Var var;
  terms::Sum sum;
  bool in_double;  // holds products of several terms, and is made in double precision
  int degree;      // how many grown values are multiplied in it
};

class Regions {
 public:
  Regions(const Graph& graph, const Growth& growth, Products products);

  // In program order.
  const std::vector<Exit>& exits() const { return exits_; }
  terms::Context& context() { return context_; }
  // Exits that share grown values, by their places in `exits`, and the equations that are left out when all of them are
  // made anew.
  struct Region {
    std::vector<size_t> exits;
    std::vector<uint32_t> equations;
  };
  std::vector<Region> regions() const;

 private:
  struct Grown {
    terms::Sum sum;
    int64_t factors = 0;      // elements of what was multiplied
    std::set<Var> roots{};    // the products, or scatters, that it is made of
    std::set<Var> smaller{};  // where it became at most half of the grown value that it is made of
    bool in_double = false;
    int degree = 1;
  };

  bool settle();
  void end_before_growth(const Grown& grown);
  void visit(uint32_t number);
  bool scatters_grown(const Equation& equation);
  void make(uint32_t number);
  bool keep_what_is_needed();
  void revisit(Var var);
  bool sums_before_squares() const { return products_ == Products::kDirect || products_ == Products::kBlocks; }
  terms::Sum sum_of(Var var);
  std::optional<terms::Sum> apply(const Equation& equation);
  std::optional<terms::Sum> apply(const Equation& equation, absl::Span<const terms::Sum> operands);
  std::optional<terms::Sum> made_of(const Equation& equation, Grown& made);
  bool is_of_single_precision(Var var);
  bool is_needed(Var var) const;
  int64_t size(Var var) const { return graph_.aval(var).size(); }

  const Graph& graph_;
  const Growth& growth_;
  const Products products_;
  terms::Context context_;
  std::vector<std::vector<uint32_t>> uses_;  // by variable: equations
  std::vector<bool> is_output_;
  std::set<Var> kept_, forced_, collapsed_, ended_;
  std::set<uint32_t> changed_;  // equations that may have become something else
  absl::flat_hash_map<Var, Grown> grown_;
  absl::flat_hash_map<Var, Exit> leaving_;
  std::vector<Exit> exits_;
};

}  // namespace ct::contraction
