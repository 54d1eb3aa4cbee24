// Attributes:
//   callback   the HostCallable
//   effect     "none": called for its results alone, as often as it pleases the compiler; "io" and "debug": called
//              once where it stands
//   results    their types, as text: "float32[3,4] int32[]"
//   batching   what vmap does: "sequential" calls once for each example; "expand_dims", "broadcast_all" and
//              "legacy_vectorized" call once with all examples (see batch_at_once); "" is an error
//   ragged     inside of a mask: triples (operand, axis, length); the callable is given the real elements only
//   lengths    how many of the last operands are those lengths (int32 scalars)
//
// A debug callback is about the value of its operands, so it stays with them: no derivative comes near it.
#include "transforms/higher_order/host_callback.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "ir/combinators.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

// The text up to the separator, taken off the front of `rest`.
std::string_view take_until(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

// The reverse of Aval::to_string, for a list.
Avals parse_types(std::string_view text) {
  Avals result;
  while (!text.empty()) {
    const std::string_view type = take_until(text, ' ');
    std::string_view rest = type;
    const auto dtype = dtype_from_name(take_until(rest, '['));
    bool good = dtype.has_value() && rest.ends_with(']');
    if (good) rest.remove_suffix(1);
    Shape shape;
    while (good && !rest.empty()) {
      const std::string_view size = take_until(rest, ',');
      int64_t number = -1;
      const auto end = std::from_chars(size.data(), size.data() + size.size(), number);
      good = end.ptr == size.data() + size.size() && number >= 0;
      shape.push_back(number);
    }
    if (!good) throw Error(ErrorKind::kInternal, concat("'", type, "' is no type of a result"));
    result.emplace_back(*dtype, shape);
  }
  return result;
}

std::string types_text(const Avals& avals) {
  std::vector<std::string> parts;
  for (const Aval& aval : avals) parts.push_back(aval.strong().to_string());
  return join(parts, " ");
}

size_t count_lengths(const Attrs& attrs) { return static_cast<size_t>(attrs.integer("lengths")); }

Avals callback_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  if (dynamic_cast<const HostCallable*>(attrs.opaque("callback").get()) == nullptr) {
    throw Error(ErrorKind::kInternal, "the callback cannot be called");
  }
  const size_t lengths = count_lengths(attrs);
  CT_CHECK(lengths <= operands.size() && attrs.ints("ragged").size() % 3 == 0);
  for (const Aval& length : operands.subspan(operands.size() - lengths)) {
    CT_CHECK(same_type(length, Aval(DType::kInt32, {})));
  }
  return parse_types(attrs.text("results"));
}

JvpResult callback_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value>,
                       const AttrsPtr& attrs) {
  JvpResult result;
  result.outputs = builder.bind(kHostCallback, primals, attrs);
  for (const Value& output : result.outputs) {
    if (!is_inexact(output.dtype())) continue;
    throw Error(ErrorKind::kNotDifferentiable, "a callback has no derivative: what it does is not known")
        .hint(
            "give the function that calls it a derivative with ct.custom_jvp or ct.custom_vjp, or pass it "
            "ct.lax.stop_gradient(x)")
        .see("no-derivative");
  }
  result.tangents.resize(result.outputs.size());
  return result;
}

// ---- batch ----------------------------------------------------------------------------------------------------------

// One call for each example, in their order.
std::vector<Batched> batch_in_sequence(Builder& builder, absl::Span<const Batched> operands, int64_t size,
                                       const AttrsPtr& attrs) {
  Builder body;
  Values inputs(operands.size()), outer;
  ScanAttrs loop{.graph = nullptr, .num_constants = 0, .num_carries = 0, .length = size, .reverse = false};
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].batched()) continue;
    inputs[i] = body.input(operands[i].value.aval());
    outer.push_back(operands[i].value);
    ++loop.num_constants;
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].batched()) continue;
    const Value sequence = batch_at(operands[i], 0, size);
    inputs[i] = body.input(sequence.aval().with_shape(absl::MakeConstSpan(sequence.shape()).subspan(1)));
    outer.push_back(sequence);
  }
  loop.graph = body.finish(body.bind(kHostCallback, inputs, attrs));
  std::vector<Batched> results;
  for (const Value& result : scan(builder, loop, outer)) results.push_back({result, 0});
  return results;
}

// One call for all examples: what is batched has its batch axis in front, and so have the results. What is not batched
// gets an axis of size 1 ("expand_dims"), is repeated ("broadcast_all"), or stays as it is ("legacy_vectorized").
std::vector<Batched> batch_at_once(Builder& builder, absl::Span<const Batched> operands, int64_t size,
                                   const AttrsPtr& attrs, std::string_view method) {
  const size_t arrays = operands.size() - count_lengths(*attrs);
  Values values;
  std::vector<bool> grew;
  for (size_t i = 0; i < operands.size(); ++i) {
    Value value = operands[i].value;
    const bool takes_axis = i < arrays && (operands[i].batched() || method != "legacy_vectorized");
    if (takes_axis && (operands[i].batched() || method == "broadcast_all")) {
      value = batch_at(operands[i], 0, size);
    } else if (takes_axis) {
      Shape shape = value.shape();
      shape.insert(shape.begin(), 1);
      value = reshape(value, shape);
    }
    grew.push_back(takes_axis);
    values.push_back(value);
  }
  Avals types = parse_types(attrs->text("results"));
  for (Aval& type : types) {
    Shape shape = type.shape();
    shape.insert(shape.begin(), size);
    type = type.with_shape(shape);
  }
  Ints ragged = attrs->ints("ragged");
  for (size_t i = 0; i < ragged.size(); i += 3) ragged[i + 1] += grew[static_cast<size_t>(ragged[i])];
  std::vector<Batched> results;
  for (const Value& result :
       builder.bind(kHostCallback, values, attrs->with("results", types_text(types))->with("ragged", ragged))) {
    results.push_back({result, 0});
  }
  return results;
}

std::vector<Batched> callback_batch(Builder& builder, absl::Span<const Batched> operands, int64_t size,
                                    const AttrsPtr& attrs) {
  const std::string& method = attrs->text("batching");
  if (method.empty()) {
    throw Error(ErrorKind::kUnsupported, "vmap of a pure_callback needs to be told how")
        .hint(
            "pass vmap_method=\"sequential\" to call it once for each example, or \"expand_dims\", \"broadcast_all\" "
            "or \"legacy_vectorized\" if the callback takes arrays with a leading batch axis")
        .see("callback-under-vmap");
  }
  bool lengths_differ = false;
  for (const Batched& length : operands.subspan(operands.size() - count_lengths(*attrs))) {
    lengths_differ |= length.batched();
  }
  // Examples of different lengths cannot be one array.
  if (method == "sequential" || lengths_differ) return batch_in_sequence(builder, operands, size, attrs);
  return batch_at_once(builder, operands, size, attrs, method);
}

// ---- mask -----------------------------------------------------------------------------------------------------------

std::vector<Masked> callback_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const size_t arrays = operands.size() - count_lengths(*attrs);
  Values values, lengths;
  for (size_t i = 0; i < operands.size(); ++i) (i < arrays ? values : lengths).push_back(operands[i].value);
  Ints ragged = attrs->ints("ragged");
  for (size_t i = 0; i < arrays; ++i) {
    for (size_t axis = 0; axis < operands[i].lengths.size(); ++axis) {
      if (!operands[i].ragged(static_cast<int>(axis))) continue;
      ragged.push_back(static_cast<int64_t>(i));
      ragged.push_back(static_cast<int64_t>(axis));
      ragged.push_back(static_cast<int64_t>(lengths.size()));
      lengths.push_back(operands[i].lengths[axis]);
    }
  }
  const auto num_lengths = static_cast<int64_t>(lengths.size());
  append(values, lengths);
  std::vector<Masked> results;
  for (const Value& result :
       builder.bind(kHostCallback, values, attrs->with("ragged", ragged)->with("lengths", num_lengths))) {
    results.push_back(exact(result));
  }
  return results;
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

std::vector<Tensor> callback_reference(const ReferenceInput& input) {
  const size_t arrays = input.operands.size() - count_lengths(input.attrs);
  std::vector<Shape> shapes;
  for (const Tensor& operand : input.operands.subspan(0, arrays)) shapes.push_back(operand.shape());
  const Ints& ragged = input.attrs.ints("ragged");
  for (size_t i = 0; i < ragged.size(); i += 3) {
    const Tensor& length = input.operands[arrays + static_cast<size_t>(ragged[i + 2])];
    int64_t& size = shapes[static_cast<size_t>(ragged[i])][static_cast<size_t>(ragged[i + 1])];
    size = std::min(size, std::max<int64_t>(load_integer(length, 0), 0));
  }
  std::vector<Tensor> operands;
  for (size_t i = 0; i < arrays; ++i) {
    const Tensor& operand = input.operands[i];
    // The callable may keep what it is given: bytes of a running program are copied.
    const bool whole = absl::MakeConstSpan(operand.shape()) == absl::MakeConstSpan(shapes[i]);
    operands.push_back(whole && !operand.buffer()->borrowed() ? operand : leading_part(operand, shapes[i]));
  }
  const auto& callable = dynamic_cast<const HostCallable&>(*input.attrs.opaque("callback"));
  return callable.call(operands, input.output_avals);
}

Primitive host_callback_primitive() {
  Primitive result;
  result.name = "host_callback";
  result.attributes = {{"batching", AttributeKind::kText},   {"callback", AttributeKind::kOpaque},
                       {"effect", AttributeKind::kText},     {"lengths", AttributeKind::kInteger},
                       {"ragged", AttributeKind::kIntegers}, {"results", AttributeKind::kText}};
  result.several_results = true;
  result.type = callback_type;
  result.jvp = callback_jvp;
  result.batch = callback_batch;
  result.mask = callback_mask;
  result.reference = callback_reference;
  result.structure = std::make_shared<structures::HostCall>();
  result.effects = [](const Attrs& attrs) { return attrs.text("effect") != "none"; };
  result.absent["transpose"] = "nothing is known to be linear";
  result.absent["element"] = "a function of whole arrays outside of the program";
  result.absent["expand"] = "nothing is known about what it computes";
  return result;
}
}  // namespace

const Primitive& kHostCallback = define(host_callback_primitive());

Tensor leading_part(const Tensor& x, const Shape& shape) {
  Tensor result(x.aval().with_shape(shape));
  if (result.size() == 0) return result;
  const auto element = static_cast<size_t>(dtype_size(x.dtype()));
  const size_t rank = shape.size();
  const size_t row = rank == 0 ? element : element * static_cast<size_t>(shape[rank - 1]);
  const int64_t rows = result.aval().bytes() / static_cast<int64_t>(row);
  Shape position(rank, 0);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < rank; ++axis) offset = offset * x.shape()[axis] + position[axis];
    std::memcpy(result.as<char>() + static_cast<size_t>(i) * row, x.as<char>() + static_cast<size_t>(offset) * element,
                row);
    for (size_t axis = rank > 0 ? rank - 1 : 0; axis-- > 0;) {
      if (++position[axis] < shape[axis]) break;
      position[axis] = 0;
    }
  }
  return result;
}

}  // namespace ct
