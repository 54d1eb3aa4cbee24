// Primitives written in Python: `ct.primitive`. Each rule is a Python function of arrays. A rule of a transform is run
// once for every equation that it is applied to, on traced arrays, by a capture of its own; what it recorded is inlined
// where the transform is building. So a rule is free to use anything that records equations, and nothing else.
//
// Start with `captured`, then the jvp rule below it; the others are the same thing.
#include "ir/primitive.h"

#include <algorithm>
#include <unordered_map>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/primitives.h"
#include "python_bindings/array.h"
#include "python_bindings/attributes.h"
#include "python_bindings/gil.h"
#include "python_bindings/graph.h"
#include "python_bindings/python_object.h"
#include "runtime/hash.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/host_callback.h"

namespace ct::python {
namespace {

// What one primitive was given. Kept for good: graphs refer to the primitive by address.
struct Rules {
  std::string name;
  bool multiple_results = false;
  bool symbolic_zeros = false;
  bool elementwise = false;
  py::dict functions;  // slot -> function
  mutable const Primitive* primitive = nullptr;

  py::object function(const char* slot) const { return functions[slot]; }
  bool has(const char* slot) const { return functions.contains(slot) && !functions[slot].is_none(); }
};
using RulesPtr = std::shared_ptr<const Rules>;

[[noreturn]] void wrong_result(const Rules& rules, const char* slot, const std::string& expected) {
  throw Error(ErrorKind::kType, concat("the ", slot, " rule of ", rules.name, " must return ", expected));
}

// The results of a rule: several, or one by itself.
std::vector<py::object> results_of(const Rules& rules, const char* slot, const py::object& returned, size_t count) {
  std::vector<py::object> results;
  if (!rules.multiple_results) {
    results.push_back(returned);
  } else {
    if (!PyTuple_Check(returned.ptr()) && !PyList_Check(returned.ptr())) {
      wrong_result(rules, slot, "a list or tuple of its results: the primitive has multiple_results");
    }
    for (py::handle result : returned) results.push_back(py::reinterpret_borrow<py::object>(result));
  }
  if (results.size() != count) wrong_result(rules, slot, concat(count, " results; it returned ", results.size()));
  return results;
}

py::object one_or_many(const Rules& rules, const std::vector<py::object>& values) {
  if (!rules.multiple_results) return values[0];
  py::list result;
  for (const py::object& value : values) result.append(value);
  return result;
}

// (a, b) of a rule that returns a pair.
std::pair<py::object, py::object> pair_of(const Rules& rules, const char* slot, const py::object& returned,
                                          const char* expected) {
  const bool is_pair = (PyTuple_Check(returned.ptr()) || PyList_Check(returned.ptr())) && py::len(returned) == 2;
  if (!is_pair) wrong_result(rules, slot, expected);
  const auto sequence = py::reinterpret_borrow<py::sequence>(returned);
  return {sequence[0], sequence[1]};
}

// Result `i` of a rule that says what the primitive computes, in another form.
Datum result_datum(const Rules& rules, const char* slot, size_t i, const py::object& value, const Aval& expected) {
  if (value.is_none()) wrong_result(rules, slot, concat("its results; result ", i, " is None"));
  Datum datum = convert_datum(datum_from_python(value), expected.dtype());
  if (datum_aval(datum).shape() == expected.shape()) return datum;
  throw Error(ErrorKind::kShape,
              concat("result ", i, " of the ", slot, " rule of ", rules.name, " has shape ",
                     shape_string(datum_aval(datum).shape()), "; the type rule says ", shape_string(expected.shape())));
}

// An axis as Python counts, from the end where it is negative.
int axis_of(const Rules& rules, const char* slot, size_t i, const py::object& axis, int rank) {
  const bool is_integer = PyIndex_Check(axis.ptr()) != 0 && !PyBool_Check(axis.ptr());
  const auto index = py::reinterpret_steal<py::object>(is_integer ? PyNumber_Index(axis.ptr()) : nullptr);
  int overflow = 0;
  const int64_t position = index ? PyLong_AsLongLongAndOverflow(index.ptr(), &overflow) : 0;
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  if (index && overflow == 0 && position >= -rank && position < rank) return static_cast<int>((position + rank) % rank);
  wrong_result(rules, slot,
               concat("axes of its results; result ", i, " has ", rank, " axes, and none at ",
                      py::cast<std::string>(py::repr(axis))));
}

// The rule's program on fresh inputs. `run` is given them as Arrays and returns what the program returns.
using Run = std::function<std::vector<Datum>(const std::vector<py::object>& inputs)>;
GraphPtr captured(const Rules& rules, const char* slot, const Avals& avals, const Run& run) {
  EagerScope no_enclosing_capture;
  const auto capture = Capture::begin({.mode = CaptureMode::kJit, .function_name = concat(slot, " of ", rules.name)});
  Capture::Result result;
  try {
    std::vector<py::object> inputs;
    for (const Aval& aval : avals) inputs.push_back(array_object(capture->add_input(aval, "")));
    result = capture->finish(run(inputs));
  } catch (...) {
    capture->abandon();
    throw;
  }
  if (result.captured.empty()) return result.graph;
  // Numbers become literals; a program holds no arrays.
  Builder builder;
  Values inputs;
  for (const Aval& aval : avals) inputs.push_back(builder.input(aval));
  for (const Datum& datum : result.captured) {
    const Tensor* tensor = std::get_if<Tensor>(&datum);
    if (tensor == nullptr || tensor->size() != 1 || is_complex(tensor->dtype())) {
      throw Error(ErrorKind::kValue, concat("the ", slot, " rule of ", rules.name, " uses an array from outside, ",
                                            datum_aval(datum).to_string()))
          .hint("make it in the rule with ct.numpy functions, or hand it to the primitive as an operand");
    }
    const AttrValue value =
        is_float(tensor->dtype()) ? AttrValue(load_real(*tensor, 0)) : AttrValue(load_integer(*tensor, 0));
    const Shape& shape = tensor->shape();
    inputs.push_back(builder.bind1(kFull, {},
                                   Attrs::make({{"shape", Ints(shape.begin(), shape.end())},
                                                {"dtype", tensor->dtype()},
                                                {"value", value},
                                                {"weak", false}})));
  }
  return builder.finish(builder.inline_graph(*result.graph, inputs));
}

Datum zeros_of(const Aval& aval) {
  const py::float_ zero(0.0);
  return scalar_datum(zero.ptr(), aval.strong());
}

// A derivative as the transform wants it: of the operand's dtype.
Datum derivative_datum(py::handle object, const Aval& like) {
  return convert_datum(datum_from_python(object), like.dtype());
}

py::object spec_of(const Aval& aval) {
  static const auto* type = new py::object(py::module_::import("cotangent._base.capture").attr("ShapeDtypeStruct"));
  return (*type)(py::tuple(py::cast(Ints(aval.shape().begin(), aval.shape().end()))), numpy_dtype(aval.dtype()));
}

// ---- the rules
// -------------------------------------------------------------------------------------------------------

// What `elementwise` promises of shapes: rules that follow from it rely on that.
void check_one_shape(const Rules& rules, absl::Span<const Aval> operands, const Avals& results) {
  std::vector<Aval> all(operands.begin(), operands.end());
  all.insert(all.end(), results.begin(), results.end());
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].shape() == all[0].shape()) continue;
    const bool operand = i < operands.size();
    throw Error(ErrorKind::kShape,
                concat(rules.name, " is elementwise: its operands and results have one shape; operand 0 is ",
                       all[0].to_string(), ", ", operand ? "operand " : "result ", operand ? i : i - operands.size(),
                       " is ", all[i].to_string()))
        .hint("broadcast the operands first, or leave out elementwise=True and give batch and mask rules");
  }
}

TypeRule type_rule(RulesPtr rules) {
  return [rules](absl::Span<const Aval> operands, const Attrs& attrs) {
    const WithInterpreter gil;
    py::list specs;
    for (const Aval& operand : operands) specs.append(spec_of(operand));
    const py::object returned = rules->function("type")(*specs, **attrs_to_python(attrs));
    std::vector<py::object> results{returned};
    if (rules->multiple_results) {
      if (!PyTuple_Check(returned.ptr()) && !PyList_Check(returned.ptr())) {
        wrong_result(*rules, "type", "a list or tuple: the primitive has multiple_results");
      }
      results.clear();
      for (py::handle result : returned) results.push_back(py::reinterpret_borrow<py::object>(result));
    }
    Avals avals;
    for (const py::object& result : results) {
      if (!py::hasattr(result, "shape") || !py::hasattr(result, "dtype")) {
        wrong_result(*rules, "type", "things with shape and dtype, such as ct.ShapeDtypeStruct");
      }
      avals.emplace_back(dtype_from_python(result.attr("dtype")), integers_from_python(result.attr("shape")));
    }
    if (rules->elementwise) check_one_shape(*rules, operands, avals);
    return avals;
  };
}

ReferenceRule reference_rule(RulesPtr rules) {
  return [rules](const ReferenceInput& input) {
    const WithInterpreter gil;
    EagerScope eager;
    py::list arrays;
    for (const Tensor& operand : input.operands) {
      // The function may keep what it is given: bytes of a running program are copied.
      arrays.append(tensor_to_numpy(operand.buffer()->borrowed() ? leading_part(operand, operand.shape()) : operand));
    }
    const py::object returned = rules->function("reference")(*arrays, **attrs_to_python(input.attrs));
    const auto results = results_of(*rules, "reference", returned, input.output_avals.size());
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < results.size(); ++i) {
      tensors.push_back(result_tensor(results[i], input.output_avals[i],
                                      concat("result ", i, " of the reference rule of ", rules->name),
                                      "the type rule"));
    }
    return tensors;
  };
}

JvpRule jvp_rule(RulesPtr rules) {
  return [rules](Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                 const AttrsPtr& attrs) {
    const WithInterpreter gil;
    const Avals outputs = type_rule(rules)(avals_of(primals), *attrs);
    Values operands(primals.begin(), primals.end());
    for (const Value& tangent : tangents) {
      if (tangent) operands.push_back(tangent);
    }
    std::vector<bool> moving;
    const GraphPtr graph = captured(*rules, "jvp", avals_of(operands), [&](const std::vector<py::object>& inputs) {
      py::list primal_arrays, tangent_arrays;
      size_t next = primals.size();
      for (size_t i = 0; i < primals.size(); ++i) {
        primal_arrays.append(inputs[i]);
        if (tangents[i]) {
          tangent_arrays.append(inputs[next++]);
        } else if (rules->symbolic_zeros || !is_inexact(primals[i].dtype())) {
          tangent_arrays.append(py::none());
        } else {
          tangent_arrays.append(array_object(zeros_of(primals[i].aval())));
        }
      }
      const auto [values, derivatives] = pair_of(
          *rules, "jvp",
          rules->function("jvp")(py::tuple(primal_arrays), py::tuple(tangent_arrays), **attrs_to_python(*attrs)),
          "a pair: results and their tangents");
      std::vector<Datum> data;
      for (const py::object& value : results_of(*rules, "jvp", values, outputs.size())) {
        data.push_back(convert_datum(datum_from_python(value), outputs[data.size()].dtype()));
      }
      size_t k = 0;
      for (const py::object& tangent : results_of(*rules, "jvp", derivatives, outputs.size())) {
        const Aval& output = outputs[k++];
        moving.push_back(!tangent.is_none() && is_inexact(output.dtype()));
        if (moving.back()) data.push_back(derivative_datum(tangent, output));
      }
      return data;
    });
    const Values values = builder.inline_graph(*graph, operands);
    JvpResult result;
    size_t next = outputs.size();
    for (size_t k = 0; k < outputs.size(); ++k) {
      result.outputs.push_back(values[k]);
      result.tangents.push_back(moving[k] ? values[next++] : Value());
    }
    return result;
  };
}

TransposeRule transpose_rule(RulesPtr rules) {
  return [rules](Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
    const WithInterpreter gil;
    const Avals outputs = type_rule(rules)(input.avals, *attrs);
    Values operands;
    for (const Value& operand : input.operands) {
      if (operand) operands.push_back(operand);
    }
    const size_t known = operands.size();
    for (const Value& cotangent : input.cotangents) {
      if (cotangent) operands.push_back(cotangent);
    }
    std::vector<bool> given;
    const GraphPtr graph =
        captured(*rules, "transpose", avals_of(operands), [&](const std::vector<py::object>& inputs) {
          std::vector<py::object> cotangents;
          size_t next = known;
          for (size_t k = 0; k < input.cotangents.size(); ++k) {
            cotangents.push_back(input.cotangents[k] ? inputs[next++] : array_object(zeros_of(outputs[k])));
          }
          py::list arguments;
          arguments.append(one_or_many(*rules, cotangents));
          next = 0;
          for (size_t i = 0; i < input.operands.size(); ++i) {
            arguments.append(input.operands[i] ? inputs[next++] : spec_of(input.avals[i]));
          }
          const py::object returned = rules->function("transpose")(*arguments, **attrs_to_python(*attrs));
          py::list pulled;
          if (PyTuple_Check(returned.ptr()) || PyList_Check(returned.ptr())) {
            pulled = py::list(returned);
          } else {
            pulled.append(returned);
          }
          if (pulled.size() != input.operands.size()) {
            wrong_result(*rules, "transpose",
                         concat("one cotangent, or None, for each of the ", input.operands.size(), " operands"));
          }
          std::vector<Datum> data;
          for (size_t i = 0; i < input.operands.size(); ++i) {
            given.push_back(!pulled[i].is_none() && input.linear(static_cast<int>(i)));
            if (given.back()) data.push_back(derivative_datum(pulled[i], input.avals[i]));
          }
          return data;
        });
    const Values values = builder.inline_graph(*graph, operands);
    Values result(input.operands.size());
    size_t next = 0;
    for (size_t i = 0; i < result.size(); ++i) {
      if (given[i]) result[i] = values[next++];
    }
    return result;
  };
}

BatchRule batch_rule(RulesPtr rules) {
  return [rules](Builder& builder, absl::Span<const Batched> operands, int64_t, const AttrsPtr& attrs) {
    const WithInterpreter gil;
    Values values;
    py::list axes;
    Avals examples;
    for (const Batched& operand : operands) {
      values.push_back(operand.value);
      axes.append(operand.batched() ? py::object(py::int_(operand.axis)) : py::object(py::none()));
      Shape shape = operand.value.shape();
      if (operand.batched()) shape.erase(shape.begin() + operand.axis);
      examples.push_back(operand.value.aval().with_shape(shape));
    }
    const size_t count = type_rule(rules)(examples, *attrs).size();
    std::vector<int> out_axes;
    const GraphPtr graph = captured(*rules, "batch", avals_of(values), [&](const std::vector<py::object>& inputs) {
      py::list arrays;
      for (const py::object& input : inputs) arrays.append(input);
      const auto [outputs, positions] = pair_of(
          *rules, "batch", rules->function("batch")(py::tuple(arrays), py::tuple(axes), **attrs_to_python(*attrs)),
          "a pair: results, and the axis of each where its batch is (None: it has none)");
      std::vector<Datum> data;
      for (const py::object& output : results_of(*rules, "batch", outputs, count)) {
        data.push_back(datum_from_python(output));
      }
      for (const py::object& axis : results_of(*rules, "batch", positions, count)) {
        const size_t i = out_axes.size();
        out_axes.push_back(axis.is_none() ? -1 : axis_of(*rules, "batch", i, axis, datum_aval(data[i]).rank()));
      }
      return data;
    });
    std::vector<Batched> result;
    for (const Value& value : builder.inline_graph(*graph, values)) result.push_back({value, out_axes[result.size()]});
    return result;
  };
}

// By axis; nothing where the axis is as long as it is.
std::vector<std::optional<Datum>> lengths_of_result(const Rules& rules, size_t i, const py::object& given,
                                                    const Aval& result) {
  if (!PyDict_Check(given.ptr())) {
    wrong_result(
        rules, "mask",
        concat("a dict from the ragged axes of each result to their lengths, {} where there are none; for result ", i,
               " it returned ", Py_TYPE(given.ptr())->tp_name));
  }
  std::vector<std::optional<Datum>> lengths(static_cast<size_t>(result.rank()));
  for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(given)) {
    const int axis = axis_of(rules, "mask", i, py::reinterpret_borrow<py::object>(key), result.rank());
    const std::string described = concat("axis ", axis, " of result ", i);
    std::optional<Datum>& length = lengths[static_cast<size_t>(axis)];
    if (length) wrong_result(rules, "mask", concat("one length for ", described, ", not two"));
    if (value.is_none())
      wrong_result(rules, "mask", concat("integer scalars as lengths; that of ", described, " is None"));
    length = datum_from_python(value);
    const Aval aval = datum_aval(*length);
    if (aval.rank() != 0 || !(is_signed_integer(aval.dtype()) || is_unsigned_integer(aval.dtype()))) {
      wrong_result(rules, "mask", concat("integer scalars as lengths; that of ", described, " is ", aval.to_string()));
    }
    if (is_array(value.ptr())) continue;
    const auto known = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!known) throw py::error_already_set();
    const int64_t size = result.shape()[static_cast<size_t>(axis)];
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(known.ptr(), &overflow);
    if (overflow == 0 && number >= 0 && number <= size) continue;
    wrong_result(rules, "mask",
                 concat("lengths from 0 to ", size, ", the padded size, for ", described, "; it returned ", number));
  }
  return lengths;
}

MaskRule mask_rule(RulesPtr rules) {
  return [rules](Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
    const WithInterpreter gil;
    Values values;
    Avals avals;
    for (const Masked& operand : operands) values.push_back(operand.value);
    for (const Value& value : values) avals.push_back(value.aval());
    const Avals expected = type_rule(rules)(avals, *attrs);
    const size_t count = expected.size();
    // A length that several axes share is one array.
    std::vector<std::pair<Value, size_t>> lengths;
    const auto position_of = [&](Value length) {
      for (const auto& [known, position] : lengths) {
        if (known == length) return position;
      }
      lengths.emplace_back(length, values.size());
      values.push_back(length);
      return values.size() - 1;
    };
    for (const Masked& operand : operands) {
      for (const Value& length : operand.lengths) {
        if (length) position_of(length);
      }
    }
    std::vector<std::vector<bool>> ragged;  // by output and axis
    const GraphPtr graph = captured(*rules, "mask", avals_of(values), [&](const std::vector<py::object>& inputs) {
      py::list arrays, axes;
      for (size_t i = 0; i < operands.size(); ++i) {
        arrays.append(inputs[i]);
        py::dict of_operand;
        for (size_t axis = 0; axis < operands[i].lengths.size(); ++axis) {
          if (operands[i].lengths[axis]) of_operand[py::int_(axis)] = inputs[position_of(operands[i].lengths[axis])];
        }
        axes.append(of_operand);
      }
      const auto [outputs, found] = pair_of(
          *rules, "mask", rules->function("mask")(py::tuple(arrays), py::tuple(axes), **attrs_to_python(*attrs)),
          "a pair: results, and for each a dict from its ragged axes to their lengths");
      std::vector<Datum> data;
      for (const py::object& output : results_of(*rules, "mask", outputs, count)) {
        data.push_back(result_datum(*rules, "mask", data.size(), output, expected[data.size()]));
      }
      for (const py::object& of_output : results_of(*rules, "mask", found, count)) {
        ragged.emplace_back();
        const size_t i = ragged.size() - 1;
        for (const std::optional<Datum>& length : lengths_of_result(*rules, i, of_output, expected[i])) {
          ragged.back().push_back(length.has_value());
          if (length) data.push_back(*length);
        }
      }
      return data;
    });
    const Values found = builder.inline_graph(*graph, values);
    std::vector<Masked> result;
    size_t next = count;
    for (size_t k = 0; k < count; ++k) {
      result.push_back({found[k], Values(found[k].rank())});
      for (size_t axis = 0; axis < ragged[k].size(); ++axis) {
        if (ragged[k][axis]) result.back().lengths[axis] = clamp_length(found[next++], found[k].shape()[axis]);
      }
    }
    return result;
  };
}

// An equation without its place in a graph.
uint64_t equation_hash(const Primitive& primitive, const Avals& operands, const Attrs& attrs) {
  uint64_t hash = hash_combine(reinterpret_cast<uintptr_t>(&primitive), attrs.hash());
  for (const Aval& aval : operands) hash = hash_combine(hash, aval.hash());
  return hash;
}

void collect_user_defined(const Graph& graph, std::vector<uint64_t>& found) {
  for (const Equation& equation : graph.equations()) {
    const Attrs& attrs = graph.attrs(equation);
    if (equation.primitive->user_defined) {
      Avals operands;
      for (Var var : graph.operands(equation)) operands.push_back(graph.aval(var));
      found.push_back(equation_hash(*equation.primitive, operands, attrs));
    }
    any_sub_graph(attrs, [&](const Graph& inner) {
      collect_user_defined(inner, found);
      return false;
    });
  }
}

// Throws when expand rules lead back to the equation that is expanded, by way of others or not: there would be no end.
void check_that_expansion_ends(const Rules& rules, const Avals& operands, const Attrs& attrs, const Graph& expansion) {
  static auto* leads_to = new std::unordered_map<uint64_t, std::vector<uint64_t>>;  // guarded by the GIL
  const uint64_t self = equation_hash(*rules.primitive, operands, attrs);
  std::vector<uint64_t> reached;
  collect_user_defined(expansion, reached);
  if (reached.empty()) return;
  (*leads_to)[self] = reached;
  for (size_t i = 0; i < reached.size(); ++i) {
    if (reached[i] == self) {
      leads_to->erase(self);
      throw Error(ErrorKind::kValue, concat("the expand rule of ", rules.name, " leads back to ", rules.name,
                                            " of the same operands and attributes, without end"))
          .hint("write it with other operations, or give a reference rule, which says what to compute");
    }
    const auto further = leads_to->find(reached[i]);
    if (further == leads_to->end()) continue;
    for (const uint64_t next : further->second) {
      if (std::find(reached.begin(), reached.end(), next) == reached.end()) reached.push_back(next);
    }
  }
}

ExpandRule expand_rule(RulesPtr rules) {
  return [rules](Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
    const WithInterpreter gil;
    const Avals avals = avals_of(operands);
    const Avals outputs = type_rule(rules)(avals, *attrs);
    const GraphPtr graph = captured(*rules, "expand", avals, [&](const std::vector<py::object>& inputs) {
      py::list arrays;
      for (const py::object& input : inputs) arrays.append(input);
      const py::object returned = rules->function("expand")(*arrays, **attrs_to_python(*attrs));
      std::vector<Datum> data;
      for (const py::object& output : results_of(*rules, "expand", returned, outputs.size())) {
        data.push_back(result_datum(*rules, "expand", data.size(), output, outputs[data.size()]));
      }
      return data;
    });
    check_that_expansion_ends(*rules, avals, *attrs, *graph);
    return builder.inline_graph(*graph, operands);
  };
}

void define_primitive(std::string name, const py::dict& functions, bool multiple_results, bool symbolic_zeros,
                      bool has_side_effects, bool elementwise) {
  auto rules = std::make_shared<Rules>();
  rules->name = name;
  rules->multiple_results = multiple_results;
  rules->symbolic_zeros = symbolic_zeros;
  rules->elementwise = elementwise;
  rules->functions = functions;
  Primitive primitive;
  primitive.name = std::move(name);
  primitive.has_side_effects = has_side_effects;
  primitive.several_results = multiple_results;
  primitive.type = type_rule(rules);
  const auto set = [&](const char* slot, auto& field, auto make) {
    if (rules->has(slot)) {
      field = make(rules);
    } else {
      primitive.absent[slot] = concat("ct.primitive was given no ", slot, " rule");
    }
  };
  set("jvp", primitive.jvp, jvp_rule);
  if (rules->has("expand")) primitive.absent.erase("jvp");  // follows from it
  set("transpose", primitive.transpose, transpose_rule);
  set("batch", primitive.batch, batch_rule);
  set("mask", primitive.mask, mask_rule);
  set("reference", primitive.reference, reference_rule);
  set("expand", primitive.expand, expand_rule);
  if (elementwise) {
    const PrimitiveRef self(primitive.name);
    if (!primitive.batch) primitive.batch = elementwise_batch(self);
    if (!primitive.mask) primitive.mask = elementwise_mask(self);
  }
  if (primitive.reference) primitive.structure = std::make_shared<structures::HostCall>();
  rules->primitive = &define_by_user(std::move(primitive));
}

}  // namespace

void register_primitives(py::module_& module) { module.def("define_primitive", define_primitive); }

}  // namespace ct::python
