// What the steps of a scan put together from products that are larger than their factors, the gradients of several
// parts of one parameter say: the products are results by themselves, so that they may leave the scan, and are put
// together behind it. What is added up over the steps is put together once.
//
//   y_t = concatenate(reshape(dot_general(p, q)), …)    ->    u_t = dot_general(p, q), …;
//                                                             y = concatenate(reshape(u), …)
//   s = s + pad(dot_general(p, q))                      ->    u = u + dot_general(p, q);  s = s0 + pad(u)
#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"
#include "transforms/higher_order/higher_order.h"

namespace ct {

// What an equation (null: none) adds to a variable, if it adds something else to it.
std::optional<Var> added_to(const Graph& body, Var variable, const Equation* sum);
// A carry that starts as `start`, after steps that add up to `sum`.
Value sum_from(Value start, Value sum);

class ArrangedResults {
 public:
  explicit ArrangedResults(ScanAttrs scan);

  bool found() const;
  // The scan with products as results, and as what is added up, in place of what is made of them.
  ScanAttrs scan() const;
  // And what it is given, of what the scan as it was is given.
  Values operands(Builder& builder, absl::Span<const Value> operands) const;
  // The results of the scan as it was, of those of this one and of what that one was given.
  Values arranged(Builder& builder, absl::Span<const Value> operands, const Values& results) const;

 private:
  bool is_product(Var var) const;
  bool is_zero(Var var) const;
  bool is_arranged(Var var) const;
  std::optional<Var> added(size_t carry) const;
  void find_products(Var var, std::vector<Var>& found) const;
  Value arranged(Builder& builder, Var var, const Values& results, size_t& next, bool stacked) const;

  const ScanAttrs scan_;
  const Graph& body_;
  std::vector<const Equation*> definition_;
  std::vector<int> uses_;
  size_t constants_, carries_;
  std::vector<Var> arranged_;               // by result: what is put together; the result itself but for sums
  std::vector<std::vector<Var>> products_;  // by result that is put together, in order; none of the others
};

}  // namespace ct
