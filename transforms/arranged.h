// What the steps of a scan put together from products that are larger than their factors, the gradients of several
// parts of one parameter say: the products are results by themselves, so that they may leave the scan, and are put
// together behind it.
//
//   y_t = concatenate(reshape(dot_general(p, q)), …)    ->    u_t = dot_general(p, q), …; y = concatenate(reshape(u),
//   …)
#pragma once

#include "ir/builder.h"
#include "transforms/higher_order/higher_order.h"

namespace ct {

class ArrangedResults {
 public:
  explicit ArrangedResults(ScanAttrs scan);

  bool found() const;
  // The body with products as results, in place of what is made of them.
  GraphPtr body() const;
  // The results of the scan as it was, of those with this body.
  Values arranged(Builder& builder, const Values& results) const;

 private:
  bool is_product(Var var) const;
  bool is_arranged(Var var) const;
  void find_products(Var var, std::vector<Var>& found) const;
  Value arranged(Builder& builder, Var var, const Values& results, size_t& next) const;

  const ScanAttrs scan_;
  const Graph& body_;
  std::vector<const Equation*> definition_;
  std::vector<int> uses_;
  std::vector<std::vector<Var>> products_;  // by result that is put together, in order; none of the others
};

}  // namespace ct
