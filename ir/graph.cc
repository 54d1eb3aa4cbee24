#include "ir/graph.h"

#include <algorithm>

#include "ir/primitive.h"
#include "ir/print.h"

namespace ct {

std::vector<Aval> Graph::output_avals() const {
  std::vector<Aval> result;
  result.reserve(outputs_.size());
  for (Var var : outputs_) result.push_back(aval(var));
  return result;
}

std::string Graph::to_string() const { return print(*this); }

bool same_graph(const Graph& a, const Graph& b) {
  if (&a == &b) return true;
  if (a.hash() != b.hash() || a.num_inputs() != b.num_inputs() || a.num_vars() != b.num_vars() ||
      a.equations().size() != b.equations().size() || a.outputs() != b.outputs()) {
    return false;
  }
  for (Var var = 0; var < a.num_vars(); ++var) {
    if (!(a.aval(var) == b.aval(var))) return false;
  }
  for (size_t i = 0; i < a.equations().size(); ++i) {
    const Equation& x = a.equations()[i];
    const Equation& y = b.equations()[i];
    if (x.primitive != y.primitive || x.output_count != y.output_count || a.operands(x) != b.operands(y) ||
        !(a.attrs(x) == b.attrs(y))) {
      return false;
    }
  }
  return true;
}

}  // namespace ct
