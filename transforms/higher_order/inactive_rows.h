// Batched control flow runs a sub-graph on a whole batch of which only some rows count: those that take a branch, those
// whose loop goes on. What the others compute is thrown away, but it must not matter: it may divide by zero, whose
// derivative times a cotangent of zero is NaN; it may loop for ever; and it takes time.
//
// `operands_of_rows` is the remedy: rows that do not count are given operands that they cannot harm with, and no
// cotangent comes back through them. Either
//   their own operands, which costs nothing once compiled (select(row, x, stop_gradient(x))): enough where the rows
//   keep apart, because NaN stays in a row that is not looked at; or those of a row that does count, so that everything
//   computed is something that the program does compute: needed where rows meet (in the cotangent of an operand that
//   all share) and where a sub-graph might not end.
#pragma once

#include "transforms/higher_order/rules.h"

namespace ct {

// `rows`: bool, one a row. Operands that are not batched are returned as they are.
std::vector<Batched> operands_of_rows(Value rows, absl::Span<const Batched> operands, bool borrow);

// Whether some row counts, as a bool scalar.
Value any_row(Value rows);

// An inexact operand that is not batched, and that the graph reads.
bool reads_shared(const GraphPtr& graph, absl::Span<const Batched> operands);
bool may_not_end(const Graph& graph);  // has a `while`, in sub-graphs too
bool is_cheap(const Graph& graph);     // element-wise operations and reductions only
// Rows that meet in a collective over the batch's axis compute with what they have.
bool meets(const Graph& graph, const BatchAxis& axis);

}  // namespace ct
