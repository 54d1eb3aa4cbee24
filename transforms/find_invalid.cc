#include "transforms/find_invalid.h"

#include <cmath>

#include "interpreter/evaluate.h"
#include "interpreter/reference.h"
#include "ir/primitive.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/float_types.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/host_callback.h"

namespace ct {
namespace {

using Origin = std::optional<InvalidOrigin>;

// A run in which every value knows where its NaN or infinity, if it has one, came from.
class Tracker {
 public:
  explicit Tracker(Invalid what) : what_(what) {}

  struct Values {
    std::vector<Tensor> tensors;
    std::vector<Origin> origins;
  };

  std::vector<Origin> origins_of(absl::Span<const Tensor> inputs) const {
    std::vector<Origin> origins;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string_view number = find_invalid(inputs[i], what_);
      origins.push_back(number.empty() ? Origin() : InvalidOrigin{number, "", kNoLocation, static_cast<int>(i)});
    }
    return origins;
  }

  Values run(const Graph& graph, absl::Span<const Tensor> inputs, absl::Span<const Origin> input_origins) {
    std::vector<Tensor> tensors(graph.num_vars());
    std::vector<Origin> origins(graph.num_vars());
    for (Var var = 0; var < graph.num_inputs(); ++var) {
      tensors[var] = inputs[var].reinterpret(graph.aval(var));
      origins[var] = input_origins[var];
    }
    for (const Equation& equation : graph.equations()) {
      const AttrsPtr& attrs = graph.attrs_ptr(equation);
      if (equation.output_count == 0 && has_side_effects(*equation.primitive, *attrs)) continue;
      std::vector<Tensor> operands;
      std::vector<Origin> operand_origins;
      for (Var var : graph.operands(equation)) {
        operands.push_back(tensors[var]);
        operand_origins.push_back(origins[var]);
      }
      Values results = run_equation(equation, attrs, operands, operand_origins);
      for (uint32_t k = 0; k < equation.output_count; ++k) {
        tensors[equation.first_output + k] = std::move(results.tensors[k]);
        origins[equation.first_output + k] = std::move(results.origins[k]);
      }
    }
    Values outputs;
    for (Var var : graph.outputs()) {
      outputs.tensors.push_back(tensors[var]);
      outputs.origins.push_back(origins[var]);
    }
    return outputs;
  }

 private:
  Values run_equation(const Equation& equation, const AttrsPtr& attrs, const std::vector<Tensor>& operands,
                      const std::vector<Origin>& operand_origins) {
    const Primitive& primitive = *equation.primitive;
    LocationScope location(equation.location);
    if (primitive.region == Region::kExamples) return run_examples(*attrs, operands, operand_origins);
    if (primitive.stands_for_others()) {
      Avals avals;
      for (const Tensor& operand : operands) avals.push_back(operand.aval());
      const GraphPtr graph = expansion(primitive, avals, attrs);
      if (primitive.region != Region::kRagged) return run(*graph, operands, operand_origins);
      std::vector<Tensor> inputs = operands;
      std::vector<Origin> origins = operand_origins;
      harmless_padding(*attrs, inputs, origins);
      Values results = run(*graph, inputs, origins);
      forget_padding(*attrs, results);
      return results;
    }
    Values results;
    // What runs inside of this equation, if anything does, knows better than the equation itself.
    Origin inside;
    std::swap(inside, inside_);
    if (primitive.reference) {
      results.tensors = run_reference(primitive, attrs, operands);
    } else {
      results.tensors = evaluate_primitive(primitive, operands, attrs);
    }
    std::swap(inside, inside_);
    Origin inherited;
    for (const Origin& origin : operand_origins) {
      if (origin && !inherited) inherited = origin;
    }
    for (const Tensor& tensor : results.tensors) {
      Origin origin;
      const std::string_view number = find_invalid(tensor, what_);
      if (!number.empty()) {
        origin = inside ? inside : inherited ? inherited : InvalidOrigin{number, primitive.name, equation.location, -1};
      }
      results.origins.push_back(std::move(origin));
    }
    return results;
  }

  bool has(const Tensor& tensor) const { return !find_invalid(tensor, what_).empty(); }

  std::vector<Tensor> run_reference(const Primitive& primitive, const AttrsPtr& attrs,
                                    const std::vector<Tensor>& operands) {
    Avals avals;
    for (const Tensor& operand : operands) avals.push_back(operand.aval());
    const RunGraph run_graph = [this](const Graph& graph, absl::Span<const Tensor> inputs) {
      Values results = run(graph, inputs, origins_of(inputs));
      for (const Origin& origin : results.origins) {
        if (origin && !origin->primitive.empty() && !inside_) inside_ = origin;
      }
      return results.tensors;
    };
    return primitive.reference({operands, *attrs, primitive.type(avals, *attrs), run_graph});
  }

  // A batch of masked programs: one after the other, so that each is looked at without its padding.
  Values run_examples(const Attrs& attrs, const std::vector<Tensor>& operands, const std::vector<Origin>& origins) {
    const Graph& graph = *attrs.graph("graph");
    const Ints& axes = attrs.ints("in_axes");
    const int64_t size = attrs.integer("size");
    Values results;
    for (const Aval& aval : graph.output_avals()) {
      Shape shape = aval.shape();
      shape.insert(shape.begin(), size);
      results.tensors.emplace_back(aval.with_shape(shape));
      results.origins.emplace_back();
    }
    for (int64_t row = 0; row < size; ++row) {
      std::vector<Tensor> inputs;
      std::vector<Origin> input_origins;
      for (size_t i = 0; i < operands.size(); ++i) {
        inputs.push_back(axes[i] < 0 ? operands[i] : example(operands[i], axes[i], row));
        input_origins.push_back(origins[i] && has(inputs[i]) ? origins[i] : Origin());
      }
      const Values found = run(graph, inputs, input_origins);
      for (size_t k = 0; k < found.tensors.size(); ++k) {
        const auto bytes = static_cast<size_t>(found.tensors[k].aval().bytes());
        if (bytes != 0) {
          std::memcpy(results.tensors[k].as<char>() + static_cast<size_t>(row) * bytes, found.tensors[k].data(), bytes);
        }
        if (found.origins[k] && !results.origins[k]) results.origins[k] = found.origins[k];
      }
    }
    return results;
  }

  static Tensor example(const Tensor& batch, int64_t axis, int64_t row) {
    Ints start(batch.shape().size(), 0), limit(batch.shape().begin(), batch.shape().end());
    start[static_cast<size_t>(axis)] = row;
    limit[static_cast<size_t>(axis)] = row + 1;
    const Tensor slice = evaluate_primitive(
        kSlice, {&batch, 1}, Attrs::make({{"start", start}, {"limit", limit}, {"stride", Ints(start.size(), 1)}}))[0];
    Shape shape(batch.shape());
    shape.erase(shape.begin() + axis);
    return slice.reinterpret(batch.aval().with_shape(shape));
  }

  // Padding reaches no result, whatever it holds. Ones make the fewest NaN and infinities.
  void harmless_padding(const Attrs& attrs, std::vector<Tensor>& inputs, std::vector<Origin>& origins) const {
    const Ints& ragged = attrs.ints("in_ragged");
    const auto lengths = static_cast<size_t>(attrs.integer("num_lengths"));
    for (size_t i = lengths; i < inputs.size(); ++i) {
      if (!is_inexact(inputs[i].dtype())) continue;
      const Tensor& given = inputs[i];
      Shape real(given.shape());
      for (size_t t = 0; t < ragged.size(); t += 3) {
        if (static_cast<size_t>(ragged[t]) + lengths != i) continue;
        real[static_cast<size_t>(ragged[t + 1])] = load_integer(inputs[static_cast<size_t>(ragged[t + 2])], 0);
      }
      if (real == given.shape()) continue;
      Tensor filled = leading_part(given, given.shape());
      Shape position(real.size(), 0);
      for (int64_t element = 0; element < given.size(); ++element) {
        bool inside = true;
        for (size_t axis = 0; axis < real.size(); ++axis) inside = inside && position[axis] < real[axis];
        if (!inside) store_complex(filled, element, 1);
        for (size_t axis = real.size(); axis-- > 0;) {
          if (++position[axis] < given.shape()[axis]) break;
          position[axis] = 0;
        }
      }
      if (!has(filled)) origins[i].reset();
      inputs[i] = filled;
    }
  }

  // What is in the padding of a result is nobody's business.
  void forget_padding(const Attrs& attrs, Values& results) const {
    const Ints& ragged = attrs.ints("out_ragged");
    size_t lengths = 0;
    for (size_t i = 0; i < ragged.size(); i += 3) lengths = std::max(lengths, static_cast<size_t>(ragged[i + 2]) + 1);
    const size_t arrays = results.tensors.size() - lengths;
    for (size_t k = 0; k < arrays; ++k) {
      if (!results.origins[k]) continue;
      Shape real(results.tensors[k].shape());
      for (size_t i = 0; i < ragged.size(); i += 3) {
        if (static_cast<size_t>(ragged[i]) != k) continue;
        real[static_cast<size_t>(ragged[i + 1])] =
            load_integer(results.tensors[arrays + static_cast<size_t>(ragged[i + 2])], 0);
      }
      if (!has(leading_part(results.tensors[k], real))) results.origins[k].reset();
    }
  }

  Invalid what_;
  Origin inside_;
};

}  // namespace

std::string_view find_invalid(const Tensor& tensor, Invalid what) {
  if (!tensor || !is_inexact(tensor.dtype())) return {};
  const DType real = real_dtype(tensor.dtype());
  const int64_t count = tensor.size() * (is_complex(tensor.dtype()) ? 2 : 1);
  return dispatch_dtype(real, [&](auto tag) -> std::string_view {
    using T = typename decltype(tag)::type;
    const T* elements = tensor.as<T>();
    for (int64_t i = 0; i < count; ++i) {
      const auto number = convert_element<double>(elements[i]);
      if (what.nans && std::isnan(number)) return "nan";
      if (what.infs && std::isinf(number)) return "inf";
    }
    return {};
  });
}

std::optional<InvalidOrigin> find_invalid(const Graph& graph, absl::Span<const Tensor> inputs, Invalid what) {
  Tracker tracker(what);
  for (const Origin& origin : tracker.run(graph, inputs, tracker.origins_of(inputs)).origins) {
    if (origin) return origin;
  }
  return std::nullopt;
}

Error invalid_error(const InvalidOrigin& origin, const Graph* graph) {
  const std::string found = concat("invalid value (", origin.number, ") encountered in ");
  if (!origin.primitive.empty()) {
    Error error(ErrorKind::kFloatingPoint, found + origin.primitive);
    return error.at(origin.location)
        .hint(
            "keep its operand where it has a value, with ct.numpy.where before it, or compute it outside of the check")
        .see("nan-found");
  }
  const std::string name =
      graph != nullptr ? input_name(*graph, static_cast<uint32_t>(origin.input)) : concat("input ", origin.input);
  return Error(ErrorKind::kFloatingPoint, concat(found, name, " of the program"))
      .hint("it was there before the program ran");
}

}  // namespace ct
