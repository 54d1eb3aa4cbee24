#include "interpreter/capture_state.h"

#include <algorithm>

#include "runtime/text.h"

namespace ct {
namespace {

// Whether the value differs from example to example even where the operands do not.
bool names_an_axis(const Attrs& attrs) {
  const auto within = [](const GraphPtr& graph) {
    return std::any_of(graph->equations().begin(), graph->equations().end(),
                       [&](const Equation& equation) { return names_an_axis(*graph->attrs_ptr(equation)); });
  };
  return std::any_of(attrs.items().begin(), attrs.items().end(), [&](const Attrs::Item& item) {
    if (const GraphPtr* graph = std::get_if<GraphPtr>(&item.second)) return within(*graph);
    const std::vector<GraphPtr>* graphs = std::get_if<std::vector<GraphPtr>>(&item.second);
    return item.first == "axis_name" || (graphs != nullptr && std::any_of(graphs->begin(), graphs->end(), within));
  });
}

}  // namespace

bool repeatable(const Primitive& primitive, const Attrs& attrs) {
  return !has_side_effects(primitive, attrs) && !names_an_axis(attrs);
}

Remains Capture::State::describe(Var var) const {
  if (builder == nullptr) return remains[var];
  const Equation* equation = builder->producer(var);
  if (equation == nullptr) return {builder->aval(var)};
  return {builder->aval(var), equation->primitive, equation->location};
}

void Capture::State::note_remains() {
  remains.resize(builder->num_vars());
  for (Var var = 0; var < remains.size(); ++var) remains[var].aval = builder->aval(var);
  for (const Equation& equation : builder->equations()) {
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      Remains& output = remains[equation.first_output + k];
      output.primitive = equation.primitive;
      output.location = equation.location;
    }
  }
  if (keeps_outside()) note_outside();
}

bool Capture::State::keeps_outside() const {
  return (options.mode == CaptureMode::kTransform || options.mode == CaptureMode::kBatch) && mask == nullptr;
}

void Capture::State::note_outside() {
  std::vector<bool> outside(remains.size());
  for (Var var = declared; var < remains.size(); ++var) {
    const auto shadow = remains[var].primitive == nullptr ? shadows.find(var) : shadows.end();
    if (shadow == shadows.end()) continue;
    outside[var] = true;
    outside_values.emplace(var, shadow->second);
  }
  for (const Equation& equation : builder->equations()) {
    const auto operands = builder->operands(equation);
    if (!std::all_of(operands.begin(), operands.end(), [&](Var var) { return outside[var]; })) continue;
    const AttrsPtr attrs = builder->attrs_ptr(equation);
    if (!repeatable(*equation.primitive, *attrs)) continue;
    outside_equations.push_back({equation.primitive,
                                 attrs,
                                 {operands.begin(), operands.end()},
                                 equation.first_output,
                                 equation.output_count,
                                 equation.location});
    for (uint32_t k = 0; k < equation.output_count; ++k) outside[equation.first_output + k] = true;
  }
}

const OutsideEquation* Capture::State::outside_producer(Var var) const {
  const auto after = std::upper_bound(outside_equations.begin(), outside_equations.end(), var,
                                      [](Var v, const OutsideEquation& e) { return v < e.first_output; });
  if (after == outside_equations.begin()) return nullptr;
  const OutsideEquation& equation = *(after - 1);
  return var < equation.first_output + equation.output_count ? &equation : nullptr;
}

void Capture::State::end() {
  builder.reset();
  enclosing = nullptr;
  captured = {};
  lifted_tensors = {};
  lifted_values = {};
  stand_ins = {};
  stood_for = {};
  values = {};
  shadows = {};
  dependence = {};
  input_dependence = {};
  mask.reset();
  lengths_kept.reset();
  masked = {};
  length_vars = {};
}

// ---- words of messages

std::string_view mode_name(CaptureMode mode) {
  switch (mode) {
    case CaptureMode::kTransform:
      return "a transform";
    case CaptureMode::kJit:
      return "jit";
    case CaptureMode::kBatch:
      return "vmap";
    case CaptureMode::kMask:
      return "mask";
  }
  return "";
}

namespace {

// What asks for a value: what to write instead, and whether a Python value is wanted, as a static argument is one.
struct Use {
  std::string_view name, instead;
  bool could_be_static = false;
};

constexpr std::string_view kAfterwards = "return it, and do that with what is returned";

constexpr Use kUses[] = {
    {"int()", "leave it an array: x.astype('int32') for int(x), ct.numpy.floor(x) for math.floor(x)", true},
    {"float()", "leave it an array: x.astype('float32') for float(x), ct.numpy.sin(x) for math.sin(x)", true},
    {"complex()", "leave it an array: x.astype('complex64') for complex(x), ct.numpy.exp(x) for cmath.exp(x)", true},
    {"index()",
     "use ct.lax.fori_loop(0, n, body, state) for a loop over range(n), ct.numpy.array(items)[i] for items[i]", true},
    {"item()", "leave it an array: x[i] for x.item(i)", true},
    {"tolist()", "leave it an array: ct.vmap or ct.lax.scan goes over its elements"},
    {"format()",
     "to print it while the program runs: ct.debug.print('{:.2f}', x); or return it, and format what is returned"},
    {"tobytes()", kAfterwards},
    {"pickling", kAfterwards},
    {"saving", kAfterwards},
    {"conversion to a NumPy array",
     "leave it an array: ct.numpy.asarray(x) for numpy.asarray(x); what needs an array of NumPy's is called through "
     "ct.pure_callback"},
};

// Of an `if`, a loop, or what nobody knows: nothing to write instead, and a static argument would do.
Use use_named(std::string_view name) {
  for (const Use& use : kUses) {
    if (use.name == name) return use;
  }
  return {.name = name, .instead = "", .could_be_static = true};
}

}  // namespace

std::string concretization_hint(CaptureMode mode, std::string_view use) {
  const auto [name, instead, could_be_static] = use_named(use);
  switch (mode) {
    case CaptureMode::kTransform:
      return concat("the function is captured without values here; ",
                    !instead.empty() ? instead
                                     : "use ct.numpy.where or ct.lax.cond for `if` on values and ct.lax.while_loop for "
                                       "`while`");
    case CaptureMode::kJit:
      return concat(!instead.empty() ? instead
                                     : "use ct.numpy.where or ct.lax.cond instead of `if`, ct.lax.while_loop or "
                                       "ct.lax.fori_loop instead of a loop that depends on values",
                    could_be_static ? ", or pass the argument as static (static_argnums, static_argnames)" : "");
    case CaptureMode::kBatch:
      return concat("under vmap the value differs from example to example; ",
                    !instead.empty() ? instead
                                     : "use ct.numpy.where or ct.lax.cond instead of `if`, ct.lax.while_loop instead "
                                       "of `while`");
    case CaptureMode::kMask:
      return concat("one masked program serves every length; ",
                    !instead.empty() ? instead
                                     : "use ct.numpy.where or ct.lax.cond for `if` on values. Sizes (x.shape[i]) may "
                                       "be compared in Python where the bound settles the answer");
  }
  return "";
}

std::string quoted_function(const CaptureOptions& options) {
  return options.function_name.empty() ? "the function" : "'" + options.function_name + "'";
}

std::string described(const Remains& remains) {
  std::string text = concat("an array of type ", remains.aval.to_string());
  if (remains.primitive == nullptr) {
    text += " (an argument)";
  } else {
    text += concat(" (made by '", remains.primitive->name, "'");
    const std::string place = location_string(remains.location);
    if (!place.empty()) text += " at " + place;
    text += ")";
  }
  return text;
}

}  // namespace ct
