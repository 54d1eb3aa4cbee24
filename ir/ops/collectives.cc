// Collectives: operations across the examples of a batch, whose axis is known by name. Attributes "axis_name" and
// "axis_size" say which axis. In one example's program they have that example's shapes:
//
//   psum         x -> the sum of all examples' x
//   all_gather   x -> [size, ...], the x of every example
//   all_to_all   [size, ...] -> [size, ...]: element j of example i is element i of example j's operand
//   ppermute     x -> the x of example `sources[i]`, zeros where that is -1
//   axis_index   -> int32 scalar, the number of the example
//
// Their batch rules turn them into operations on arrays when vmap adds the axis of that name; over other axes they are
// elementwise. Everything else (pmax, psum_scatter, groups) is composed of these by the front end. Nothing here assumes
// that the examples are in one process.
#include <numeric>

#include "ir/combinators.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

int64_t check_axis_attributes(const Attrs& attrs) {
  const int64_t size = attrs.integer("axis_size");
  if (attrs.text("axis_name").empty() || size < 0) {
    throw Error(ErrorKind::kValue, "a named axis has a name and a size").hint("write axis_name=\"i\", axis_size=8");
  }
  return size;
}

// Of operand and result, for those that have an axis for all examples in front.
void check_front(const Aval& operand, int64_t size) {
  if (operand.rank() > 0 && operand.shape()[0] == size) return;
  throw Error(ErrorKind::kShape, concat("the first axis must have the size ", size, " of the named axis, got shape ",
                                        shape_string(operand.shape())))
      .hint("move the axis of the examples to the front, and write its size as axis_size");
}

bool is_over(const AttrsPtr& attrs, const BatchAxis& axis) { return attrs->text("axis_name") == axis.name; }

Value bind_over(Value x, std::string_view primitive, const AttrsPtr& attrs) {
  return x.builder->bind1(get_primitive(primitive), {x}, attrs);
}

// What stays the same for all of them. `batch_own`: the axis itself is added.
using OwnBatch = std::function<Batched(Builder& builder, const Batched& x, int64_t size, const AttrsPtr& attrs)>;

Primitive collective(const std::string& name, int added_axes, int fixed_axes, OwnBatch batch_own) {
  const PrimitiveRef self(name);
  Primitive result;
  result.name = name;
  result.attributes = {{"axis_name", AttributeKind::kText}, {"axis_size", AttributeKind::kInteger}};
  result.jvp = linear_jvp(self);
  result.batch = [self, added_axes, fixed_axes, batch_own = std::move(batch_own)](
                     Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                     const AttrsPtr& attrs) -> std::vector<Batched> {
    if (is_over(attrs, axis)) return {batch_own(builder, operands[0], axis, attrs)};
    // Over another axis: what the rule is about, in front, stays there.
    Batched x = operands[0];
    if (x.batched() && x.axis < fixed_axes) x = {move_axis(x.value, x.axis, fixed_axes), fixed_axes};
    return {{builder.bind1(*self, {x.value}, attrs), x.batched() ? x.axis + added_axes : -1}};
  };
  result.mask = [name](Builder&, absl::Span<const Masked>, const AttrsPtr& attrs) -> std::vector<Masked> {
    throw Error(ErrorKind::kUnsupported, concat("a collective over axis '", attrs->text("axis_name"),
                                                "' of a ragged array: the lengths of the other examples are not known"))
        .hint("reduce the ragged axes first, or use the collective outside of the mask");
  };
  result.reference = [name](const ReferenceInput& input) -> std::vector<Tensor> {
    throw Error(ErrorKind::kValue, concat("the axis '", input.attrs.text("axis_name"), "' is not bound"))
        .hint("collectives are for functions under vmap(..., axis_name=...)")
        .see("axis-name-not-bound");
  };
  result.structure = std::make_shared<structures::HostCall>();
  result.absent["element"] = "the examples are not at hand before vmap";
  result.absent["expand"] = "vmap makes array operations of it";
  return result;
}

// Over the examples before `count`; null: over all of them.
Batched sum_of_examples(const Batched& x, Value count, int64_t size) {
  if (!x.batched()) {
    const Value times = count ? broadcast_scalar(convert(count, x.value.dtype()), x.value.shape())
                              : full_like(x.value, static_cast<double>(size));
    return {mul(x.value, times), -1};
  }
  Value examples = x.value;
  if (count) {
    examples = select(valid_positions(count, examples.shape(), x.axis), examples, full_like(examples, 0));
  }
  return {reduce_sum(examples, {x.axis}), -1};
}

// Where the axis is ragged, a second operand says how many examples there are.
Primitive psum_primitive() {
  const PrimitiveRef self("psum");
  Primitive result = collective("psum", 0, 0, {});
  result.type = [](absl::Span<const Aval> operands, const Attrs& attrs) {
    if (operands.size() != 2) check_operand_count(operands, 1);
    check_dtype(operands[0], kNumbers);
    check_axis_attributes(attrs);
    if (operands.size() == 2 && !same_type(operands[1], Aval(DType::kInt32, {}))) {
      throw Error(ErrorKind::kType, concat("the number of examples must be int32[], got ", operands[1].to_string()))
          .hint("give one number: n: int32[]");
    }
    return Avals{operands[0].strong()};
  };
  result.jvp = linear_in_first_jvp(self);
  result.transpose = [self](Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
    Values operands(input.operands.begin(), input.operands.end());
    operands[0] = input.cotangents[0];
    Values results(operands.size());
    results[0] = builder.bind1(*self, operands, attrs);
    return results;
  };
  result.batch = [self](Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                        const AttrsPtr& attrs) -> std::vector<Batched> {
    const Batched& x = operands[0];
    const bool counted = operands.size() == 2;
    if (counted && operands[1].batched()) {
      throw Error(ErrorKind::kUnsupported, concat("the axis '", attrs->text("axis_name"),
                                                  "' has another number of examples in each example of an outer vmap"))
          .op("psum")
          .hint("put the outer vmap outside of the mask");
    }
    if (is_over(attrs, axis)) return {sum_of_examples(x, counted ? operands[1].value : Value(), axis)};
    Values values;
    for (const Batched& operand : operands) values.push_back(operand.value);
    return {{builder.bind1(*self, values, attrs), x.axis}};
  };
  return result;
}

Primitive all_gather_primitive() {
  Primitive result =
      collective("all_gather", 1, 0, [](Builder&, const Batched& x, int64_t size, const AttrsPtr&) -> Batched {
        return {x.batched() ? move_axis(x.value, x.axis, 0) : broadcast_axis(x.value, 0, size), -1};
      });
  result.type = [](absl::Span<const Aval> operands, const Attrs& attrs) {
    check_operand_count(operands, 1);
    Shape shape = operands[0].shape();
    shape.insert(shape.begin(), check_axis_attributes(attrs));
    return Avals{operands[0].with_shape(shape)};
  };
  // Each example gets the sum of what all examples have for it.
  result.transpose = linear_transpose([](Value cotangent, const Aval&, const AttrsPtr& attrs) {
    return reduce_sum(bind_over(cotangent, "all_to_all", attrs), {0});
  });
  return result;
}

Primitive all_to_all_primitive() {
  // The batch axis and the first axis of the example change their roles.
  Primitive result =
      collective("all_to_all", 0, 1, [](Builder&, const Batched& x, int64_t size, const AttrsPtr&) -> Batched {
        if (!x.batched()) return {broadcast_axis(x.value, 1, size), 0};
        return {x.axis == 0 ? x.value : move_axis(x.value, x.axis, 0), 1};
      });
  result.type = [](absl::Span<const Aval> operands, const Attrs& attrs) {
    check_operand_count(operands, 1);
    check_front(operands[0], check_axis_attributes(attrs));
    return Avals{operands[0]};
  };
  result.transpose = linear_transpose(
      [](Value cotangent, const Aval&, const AttrsPtr& attrs) { return bind_over(cotangent, "all_to_all", attrs); });
  return result;
}

// Runs of neighbours that come from neighbours are slices.
Batched permute_batch(Builder& builder, const Batched& x, int64_t size, const AttrsPtr& attrs) {
  const Ints& sources = attrs->ints("sources");
  const Value value = batch_at(x, 0, size);
  Values parts;
  for (size_t begin = 0, end = 0; begin < sources.size(); begin = end) {
    const int64_t first = sources[begin];
    const auto run = [&](size_t i) { return first < 0 ? -1 : first + static_cast<int64_t>(i - begin); };
    for (end = begin; end < sources.size() && sources[end] == run(end);) ++end;
    const auto count = static_cast<int64_t>(end - begin);
    if (first >= 0) {
      parts.push_back(slice_axis(value, 0, first, first + count));
    } else {
      Shape shape = value.shape();
      shape[0] = count;
      parts.push_back(zeros(builder, value.aval().with_shape(shape)));
    }
  }
  return {parts.empty() ? value : concatenate(parts, 0), 0};
}

Primitive ppermute_primitive() {
  Primitive result = collective("ppermute", 0, 0, permute_batch);
  result.attributes.push_back({"sources", AttributeKind::kIntegers});
  result.type = [](absl::Span<const Aval> operands, const Attrs& attrs) {
    check_operand_count(operands, 1);
    const int64_t size = check_axis_attributes(attrs);
    const Ints& sources = attrs.ints("sources");
    std::vector<bool> taken(static_cast<size_t>(size), false);
    bool legal = sources.size() == taken.size();
    for (int64_t source : sources) {
      legal = legal && source >= -1 && source < size && (source < 0 || !taken[static_cast<size_t>(source)]);
      if (legal && source >= 0) taken[static_cast<size_t>(source)] = true;
    }
    if (!legal) {
      throw Error(ErrorKind::kValue,
                  concat("a permutation of ", size, " examples names each as a source at most once, got [",
                         join(sources, ", "), "]"))
          .hint(concat("write ", size, " sources, -1 for an example that gets none"));
    }
    return Avals{operands[0]};
  };
  result.transpose = linear_transpose([](Value cotangent, const Aval&, const AttrsPtr& attrs) {
    const Ints& sources = attrs->ints("sources");
    Ints back(sources.size(), -1);
    for (size_t i = 0; i < sources.size(); ++i) {
      if (sources[i] >= 0) back[static_cast<size_t>(sources[i])] = static_cast<int64_t>(i);
    }
    return bind_over(cotangent, "ppermute", attrs->with("sources", std::move(back)));
  });
  return result;
}

Primitive axis_index_primitive() {
  Primitive result = collective("axis_index", 0, 0, nullptr);
  result.type = [](absl::Span<const Aval> operands, const Attrs& attrs) {
    check_operand_count(operands, 0);
    check_axis_attributes(attrs);
    return Avals{Aval(DType::kInt32, {})};
  };
  result.batch = [](Builder& builder, absl::Span<const Batched>, const BatchAxis& axis, const AttrsPtr& attrs) {
    CT_CHECK(is_over(attrs, axis));
    return std::vector<Batched>{{iota(builder, Aval(DType::kInt32, {axis.size}), 0), 0}};
  };
  result.jvp = zero_jvp(PrimitiveRef("axis_index"));
  result.differentiable = false;
  result.absent["transpose"] = "no operands";
  return result;
}

const Primitive& kPsum = define(psum_primitive());
const Primitive& kAllGather = define(all_gather_primitive());
const Primitive& kAllToAll = define(all_to_all_primitive());
const Primitive& kPpermute = define(ppermute_primitive());
const Primitive& kAxisIndex = define(axis_index_primitive());

}  // namespace
}  // namespace ct
