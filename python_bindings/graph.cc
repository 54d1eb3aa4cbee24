// Graphs and the graph-to-graph transforms, as Python functions. Transforms are memoised by graph hash and options, so
// repeating an eager `grad(f)(x)` costs one capture and a look-up.
#include "python_bindings/graph.h"

#include <list>
#include <mutex>
#include <unordered_map>

#include "absl/container/flat_hash_map.h"
#include "interpreter/evaluate.h"
#include "ir/check.h"
#include "ir/lengths.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/serialize.h"
#include "python_bindings/array.h"
#include "python_bindings/attributes.h"
#include "python_bindings/graph_documentation.h"
#include "runtime/hash.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/custom_rule.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/transforms.h"

namespace ct::python {
namespace {

// Results of transforms, keyed by what was transformed and how. Bounded: it starts afresh when full.
template <class Result>
class Memo {
 public:
  template <class Make>
  Result get(const GraphPtr& graph, const std::string& options, Make&& make) {
    const uint64_t key = hash_combine(hash_combine(graph->hash(), hash_bytes(options)), keeps_lengths());
    if (auto it = entries_.find(key); it != entries_.end() && it->second.options == options &&
                                      it->second.keeps_lengths == keeps_lengths() &&
                                      same_graph(*it->second.graph, *graph)) {
      return it->second.result;
    }
    Result result = make();
    if (entries_.size() >= kCapacity) entries_.clear();
    entries_.insert_or_assign(key, Entry{graph, options, keeps_lengths(), result});
    return result;
  }

 private:
  static constexpr size_t kCapacity = 4096;
  struct Entry {
    GraphPtr graph;
    std::string options;
    bool keeps_lengths;
    Result result;
  };
  absl::flat_hash_map<uint64_t, Entry> entries_;  // guarded by the GIL
};

std::string bits(const std::vector<bool>& flags) {
  std::string text;
  for (bool flag : flags) text += flag ? '1' : '0';
  return text;
}

py::list aval_tuples(absl::Span<const Aval> avals) {
  py::list result;
  for (const Aval& aval : avals) result.append(aval_tuple(aval));
  return result;
}

py::list evaluate_graph(const GraphHandle& handle, const py::list& operands,
                        std::vector<Tensor> (*run)(const Graph&, absl::Span<const Tensor>)) {
  std::vector<Tensor> inputs;
  for (py::handle operand : operands) inputs.push_back(concrete(datum_from_python(operand)));
  py::list result;
  for (Tensor& output : run(*handle.graph, inputs)) result.append(array_object(std::move(output)));
  return result;
}

// Equations as dicts, for tools and tests: primitive, operands, outputs (variable numbers), attributes, location.
py::list equations(const GraphHandle& handle) {
  py::list result;
  const Graph& graph = *handle.graph;
  for (const Equation& equation : graph.equations()) {
    const auto operands = graph.operands(equation);
    py::list outputs;
    for (uint32_t k = 0; k < equation.output_count; ++k) outputs.append(equation.first_output + k);
    using namespace py::literals;
    result.append(py::dict("primitive"_a = equation.primitive->name,
                           "operands"_a = std::vector<Var>(operands.begin(), operands.end()), "outputs"_a = outputs,
                           "attributes"_a = attrs_to_python(graph.attrs(equation)),
                           "location"_a = location_string(equation.location)));
  }
  return result;
}

const Equation& equation_at(const Graph& graph, size_t index) {
  if (index >= graph.equations().size()) {
    throw Error(ErrorKind::kIndex,
                concat("the graph has ", graph.equations().size(), " equations, and none at ", index))
        .hint("they are counted from 0: ct.ir.equations(graph) lists them");
  }
  return graph.equations()[index];
}

// The equation on other operands: evaluated, or recorded as of the line that the graph says. `changes` replace
// attributes.
py::list bind_equation(const GraphHandle& handle, size_t index, const py::list& operands, const py::dict& changes) {
  const Graph& graph = *handle.graph;
  const Equation& equation = equation_at(graph, index);
  AttrsPtr attrs = graph.attrs_ptr(equation);
  for (const auto& [key, value] : changes) attrs = attrs->with(py::cast<std::string>(key), attr_from_python(value));
  if (const auto wrong = check_attributes(*equation.primitive, *attrs)) {
    throw Error(ErrorKind::kType, wrong->problem).hint("equation.attributes has those that it was made with");
  }
  std::vector<Datum> values;
  for (py::handle operand : operands) values.push_back(datum_from_python(operand));
  LocationScope location(equation.location);
  const std::vector<Datum> results = ct::bind(*equation.primitive, values, attrs);
  if (config().invalid().any() && !current_capture()) check_results(*equation.primitive, values, attrs, results);
  py::list arrays;
  for (const Datum& result : results) arrays.append(array_object(result));
  return arrays;
}

// What the equation's `expand` rule makes of it, as a graph of its operands; None without one.
py::object expand_equation(const GraphHandle& handle, size_t index) {
  const Graph& graph = *handle.graph;
  const Equation& equation = equation_at(graph, index);
  if (!equation.primitive->expand) return py::none();
  Avals avals;
  for (Var var : graph.operands(equation)) avals.push_back(graph.aval(var));
  return py::cast(GraphHandle{expansion(*equation.primitive, avals, graph.attrs_ptr(equation))});
}

// Which rules every primitive has: slot -> "yes", "derived", or the declared reason for its absence ("" is a hole).
py::dict slot_matrix() {
  py::dict matrix;
  for (const Primitive* primitive : all_primitives()) {
    if (primitive->user_defined) continue;
    py::dict row;
    const auto fill = [&](const char* slot, bool present) {
      const auto reason = primitive->absent.find(slot);
      row[slot] = present ? "yes" : reason != primitive->absent.end() ? reason->second : std::string();
    };
    const bool computed =
        primitive->expand || primitive->element || primitive->loops || primitive->structure != nullptr;
    fill("type", static_cast<bool>(primitive->type));
    fill("jvp", static_cast<bool>(primitive->jvp) || !primitive->differentiable);
    fill("transpose", static_cast<bool>(primitive->transpose));
    fill("batch", static_cast<bool>(primitive->batch));
    fill("mask", static_cast<bool>(primitive->mask));
    fill("lower", computed);
    fill("reference", computed || primitive->reference);
    matrix[py::str(primitive->name)] = row;
  }
  return matrix;
}

}  // namespace

py::tuple aval_tuple(const Aval& aval) {
  return py::make_tuple(py::tuple(py::cast(Ints(aval.shape().begin(), aval.shape().end()))), numpy_dtype(aval.dtype()),
                        aval.weak());
}

namespace {

void register_class(py::module_& module) {
  py::class_<GraphHandle>(module, "Graph", py::dynamic_attr(), documentation::kGraph)
      .def_property_readonly(
          "num_inputs", [](const GraphHandle& self) { return self.graph->num_inputs(); }, "The number of inputs.")
      .def_property_readonly(
          "num_equations", [](const GraphHandle& self) { return self.graph->equations().size(); },
          "The number of equations.")
      .def_property_readonly(
          "in_avals", [](const GraphHandle& self) { return aval_tuples(self.graph->input_avals()); },
          "Shape, dtype and weak type of each input.")
      .def_property_readonly(
          "out_avals", [](const GraphHandle& self) { return aval_tuples(self.graph->output_avals()); },
          "Shape, dtype and weak type of each output.")
      .def_property_readonly(
          "outputs",
          [](const GraphHandle& self) {
            return std::vector<Var>(self.graph->outputs().begin(), self.graph->outputs().end());
          },
          "The numbers of the variables that are the outputs.")
      .def(
          "aval",
          [](const GraphHandle& self, Var var) {
            if (var >= self.graph->num_vars()) {
              throw Error(ErrorKind::kIndex,
                          concat("the graph has ", self.graph->num_vars(), " variables, and none ", var))
                  .hint("inputs are counted from 0, what equations define comes behind them: equation.outputs");
            }
            return aval_tuple(self.graph->aval(var));
          },
          documentation::kAval, py::arg("var"))
      .def_property_readonly(
          "input_names", [](const GraphHandle& self) { return self.graph->input_names(); },
          "What each input is called where it is printed; empty for none.")
      .def("equations", equations, documentation::kEquations)
      .def("bind_equation", bind_equation, documentation::kBindEquation, py::arg("index"), py::arg("operands"),
           py::arg("changes"))
      .def("expand_equation", expand_equation, documentation::kExpandEquation, py::arg("index"))
      .def(
          "text", [](const GraphHandle& self) { return print(*with_rules_captured(self.graph)); }, documentation::kText)
      .def("__str__", [](const GraphHandle& self) { return print_annotated(*self.graph); })
      .def("__repr__", [](const GraphHandle& self) { return print_annotated(*self.graph); })
      .def("__eq__",
           [](const GraphHandle& self, const py::object& other) {
             return py::isinstance<GraphHandle>(other) && same_graph(*self.graph, *py::cast<GraphHandle&>(other).graph);
           })
      .def("__hash__", [](const GraphHandle& self) { return self.graph->hash(); })
      .def(
          "evaluate",
          [](const GraphHandle& self, const py::list& operands) { return evaluate_graph(self, operands, evaluate); },
          documentation::kEvaluate, py::arg("operands"))
      .def(
          "evaluate_reference",
          [](const GraphHandle& self, const py::list& operands) {
            return evaluate_graph(self, operands, evaluate_reference);
          },
          documentation::kEvaluateReference, py::arg("operands"))
      .def(
          "check", [](const GraphHandle& self) { return check(*self.graph); }, documentation::kCheck)
      .def(
          "serialize",
          [](const GraphHandle& self) {
            const std::string bytes = serialize(*with_rules_captured(self.graph));
            return py::bytes(bytes.data(), bytes.size());
          },
          documentation::kSerialize);
}

}  // namespace

void register_graph(py::module_& module) {
  register_class(module);
  module.def("parse_graph", [](const std::string& text) { return GraphHandle{parse(text)}; });
  module.def("deserialize_graph", [](const std::string& bytes) { return GraphHandle{deserialize(bytes)}; });
  module.def("slot_matrix", slot_matrix);

  module.def(
      "graph_jvp", [](const GraphHandle& self, const std::vector<bool>& nonzero, const std::vector<bool>& force) {
        static auto* memo = new Memo<JvpGraph>;
        const JvpGraph result =
            memo->get(self.graph, bits(nonzero) + "/" + bits(force), [&] { return jvp(*self.graph, nonzero, force); });
        return py::make_tuple(GraphHandle{result.graph}, result.nonzero_out);
      });
  module.def("graph_linearize", [](const GraphHandle& self, const std::vector<bool>& wrt) {
    static auto* memo = new Memo<Linearized>;
    const Linearized result = memo->get(self.graph, bits(wrt), [&] { return linearize(*self.graph, wrt); });
    return py::make_tuple(GraphHandle{result.primal}, GraphHandle{result.tangent}, result.num_residuals);
  });
  static auto* graphs = new Memo<GraphPtr>;
  module.def("graph_transpose", [](const GraphHandle& self, const std::vector<bool>& linear) {
    return GraphHandle{
        graphs->get(self.graph, "transpose" + bits(linear), [&] { return transpose_graph(*self.graph, linear); })};
  });
  module.def("graph_value_and_grad", [](const GraphHandle& self, const std::vector<bool>& wrt) {
    return GraphHandle{
        graphs->get(self.graph, "value_and_grad" + bits(wrt), [&] { return value_and_grad(*self.graph, wrt); })};
  });
  module.def("graph_vjp", [](const GraphHandle& self, const std::vector<bool>& wrt) {
    return GraphHandle{graphs->get(self.graph, "vjp" + bits(wrt), [&] { return vjp(*self.graph, wrt); })};
  });
  module.def(
      "graph_vmap",
      [](const GraphHandle& self, const std::vector<int>& in_axes, int64_t size, const std::vector<int>& out_axes,
         const std::string& axis_name) {
        const std::string options =
            concat("vmap", join(in_axes, ","), "/", size, "/", join(out_axes, ","), "/", axis_name);
        return GraphHandle{
            graphs->get(self.graph, options, [&] { return vmap(*self.graph, in_axes, size, out_axes, axis_name); })};
      },
      py::arg("graph"), py::arg("in_axes"), py::arg("size"), py::arg("out_axes"), py::arg("axis_name") = "");
  module.def("custom_vjp_rule", [](const GraphHandle& graph, const GraphHandle& forward, const GraphHandle& backward) {
    return GraphHandle{custom_vjp_rule(graph.graph, forward.graph, backward.graph)};
  });
  module.def("has_custom_vjp_rule", [](const GraphHandle& self) { return is_custom_vjp_rule(*self.graph); });
  module.def("with_rules_captured",
             [](const GraphHandle& self) { return GraphHandle{with_rules_captured(self.graph)}; });
  using Pass = GraphPtr (*)(const Graph&);
  const std::pair<const char*, Pass> passes[] = {{"dce", eliminate_dead_code},
                                                 {"cse", eliminate_common_subexpressions},
                                                 {"simplify", simplify},
                                                 {"inline", inline_calls},
                                                 {"expand", expand_regions}};
  py::dict pass_table;
  for (const auto& [name, pass] : passes) {
    pass_table[name] = py::cpp_function([pass](const GraphHandle& self) { return GraphHandle{pass(*self.graph)}; });
  }
  module.attr("passes") = pass_table;
}

}  // namespace ct::python
