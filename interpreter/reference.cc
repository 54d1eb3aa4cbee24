#include "interpreter/reference.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "interpreter/scalar_semantics.h"
#include "ir/loops.h"
#include "ir/ops.h"
#include "runtime/text.h"

namespace ct {
namespace {

// ---- scalar functions -----------------------------------------------------------------------------------------------

template <class T>
T load_element(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <ScalarOp op, class T>
void run_scalar(void* result, const void* x, const void* y) {
  using C = ComputeType<T>;
  using R = ResultType<op, C>;
  // Results of the small floats' arithmetic are rounded back to them; bools and complex numbers stay what they are.
  using Stored = std::conditional_t<std::is_same_v<R, C>, T, R>;
  const C a = convert_element<C>(load_element<T>(x));
  R value;
  if constexpr (scalar_op_info(op).arity == 1) {
    static_cast<void>(y);
    value = apply<op>(a);
  } else {
    value = apply<op>(a, convert_element<C>(load_element<T>(y)));
  }
  const Stored stored = convert_element<Stored>(value);
  std::memcpy(result, &stored, sizeof(Stored));
}

template <class R>
constexpr DType dtype_of_result(DType operand) {
  if constexpr (std::is_same_v<R, bool>) {
    return DType::kBool;
  } else if constexpr (std::is_same_v<R, std::complex<float>>) {
    return DType::kComplex64;
  } else if constexpr (std::is_same_v<R, std::complex<double>>) {
    return DType::kComplex128;
  } else {
    // The parts of a complex number, else the operand's own dtype.
    if (operand == DType::kComplex64) return DType::kFloat32;
    if (operand == DType::kComplex128) return DType::kFloat64;
    return operand;
  }
}

template <ScalarOp op>
ScalarFunction scalar_function_of(DType dtype) {
  return dispatch_dtype(dtype, [&](auto tag) -> ScalarFunction {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    if constexpr (defined_v<op, C>) {
      return {run_scalar<op, T>, dtype_of_result<ResultType<op, C>>(dtype)};
    } else {
      return {};
    }
  });
}

std::array<std::array<ScalarFunction, kNumDTypes>, kNumScalarOps> make_scalar_functions() {
  std::array<std::array<ScalarFunction, kNumDTypes>, kNumScalarOps> table;
  for (int d = 0; d < kNumDTypes; ++d) {
#define CT_FILL(enumerator, name, arity) \
  table[static_cast<int>(ScalarOp::enumerator)][d] = scalar_function_of<ScalarOp::enumerator>(static_cast<DType>(d));
    CT_SCALAR_OPS(CT_FILL)
#undef CT_FILL
  }
  return table;
}

// Defined, or an internal error: type rules keep users away from the holes.
ScalarFunction require_scalar_function(ScalarOp op, DType dtype) {
  const ScalarFunction result = scalar_function(op, dtype);
  if (result.function == nullptr) {
    throw Error(ErrorKind::kInternal, concat("scalar op '", scalar_op_info(op).name, "' is not defined on ",
                                             dtype_name(dtype), "; the type rule should have refused it"));
  }
  return result;
}

void convert_bytes(void* to, DType to_dtype, const void* from, DType from_dtype) {
  dispatch_dtype(from_dtype, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    dispatch_dtype(to_dtype, [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      const To value = convert_element<To>(load_element<From>(from));
      std::memcpy(to, &value, sizeof(To));
    });
  });
}

// ---- one element ----------------------------------------------------------------------------------------------------

struct Number {
  alignas(16) std::byte bytes[16];
};

// The LoopBuilder whose scalars are numbers: ids index `numbers_`, which `reset` forgets after each element, and a loop
// after each iteration.
class NumberBuilder final : public LoopBuilder {
 public:
  explicit NumberBuilder(absl::Span<const Tensor> operands, absl::Span<const Tensor> results = {})
      : operands_(operands), results_(results) {}

  void reset() {
    numbers_.clear();
    indices_.clear();
  }
  const void* number(Scalar x) const { return numbers_[x.id].bytes; }

  Scalar read(int operand, absl::Span<const Index> position) override {
    const Tensor& tensor = operands_[operand];
    Scalar result = fresh(tensor.dtype());
    std::memcpy(bytes(result), place_in(tensor, position), static_cast<size_t>(dtype_size(tensor.dtype())));
    return result;
  }
  Scalar read_guarded(int operand, absl::Span<const Index> position, Scalar inside, Scalar otherwise) override {
    return truth(inside) ? read(operand, position) : otherwise;
  }
  const Aval& operand_aval(int operand) const override { return operands_[operand].aval(); }

  Scalar constant(DType dtype, double value) override { return store(dtype, value); }
  Scalar constant_integer(DType dtype, int64_t value) override { return store(dtype, value); }
  Scalar constant_complex(DType dtype, double real, double imag) override {
    return store(dtype, std::complex<double>(real, imag));
  }
  Scalar unary(ScalarOp op, Scalar x) override {
    CT_CHECK(scalar_op_info(op).arity == 1);
    const ScalarFunction rule = require_scalar_function(op, x.dtype);
    const Scalar result = fresh(rule.result);
    rule.function(bytes(result), bytes(x), nullptr);
    return result;
  }
  Scalar binary(ScalarOp op, Scalar x, Scalar y) override {
    CT_CHECK(scalar_op_info(op).arity == 2 && x.dtype == y.dtype);
    const ScalarFunction rule = require_scalar_function(op, x.dtype);
    const Scalar result = fresh(rule.result);
    rule.function(bytes(result), bytes(x), bytes(y));
    return result;
  }
  Scalar select(Scalar predicate, Scalar if_true, Scalar if_false) override {
    CT_CHECK(if_true.dtype == if_false.dtype);
    return truth(predicate) ? if_true : if_false;
  }
  Scalar convert(Scalar x, DType dtype) override {
    const Scalar result = fresh(dtype);
    convert_bytes(bytes(result), dtype, bytes(x), x.dtype);
    return result;
  }
  Scalar bitcast(Scalar x, DType dtype) override {
    CT_CHECK(dtype_size(x.dtype) == dtype_size(dtype));
    const Scalar result = fresh(dtype);
    std::memcpy(bytes(result), bytes(x), dtype_size(dtype));
    return result;
  }

  Index index_constant(int64_t value) override { return index(value); }
  Index index_add(Index x, Index y) override { return index(value(x) + value(y)); }
  Index index_scale(Index x, int64_t factor) override { return index(value(x) * factor); }
  Index index_div(Index x, int64_t divisor) override {
    CT_CHECK(value(x) >= 0 && divisor > 0);
    return index(value(x) / divisor);
  }
  Index index_mod(Index x, int64_t divisor) override {
    CT_CHECK(value(x) >= 0 && divisor > 0);
    return index(value(x) % divisor);
  }
  Index index_from(Scalar integer) override {
    int64_t result;
    convert_bytes(&result, DType::kInt64, bytes(integer), integer.dtype);
    return index(result);
  }
  Scalar index_value(Index x, DType dtype) override { return store(dtype, value(x)); }

  Index wanted_end(int output, int axis, absl::Span<const Index>) override {
    return index(results_[output].shape()[axis]);
  }
  Index filled_end(int operand, int axis, double, absl::Span<const Index>) override {
    return index(operands_[operand].shape()[axis]);
  }
  void for_each(Index end, const std::function<void(Index)>& body) override {
    const Index begin = index(0);
    for_each_from(begin, end, body);
  }
  void for_each_from(Index begin, Index end, const std::function<void(Index)>& body) override {
    for (int64_t i = value(begin), count = value(end); i < count; ++i) {
      const Mark mark = this->mark();
      body(index(i));
      forget_since(mark);
    }
  }
  Scalar fold(const Along& along, Scalar start,
              const std::function<Scalar(absl::Span<const Index>, Scalar)>& body) override {
    Number folded = numbers_[start.id];
    const int64_t count = value(along.end);
    for (int64_t step = 0; step < count;) {
      const Mark mark = this->mark();
      const bool whole = along.reverse ? (count - step) % along.run == 0 : count - step >= along.run;
      const int64_t length = whole ? along.run : 1;
      Indices places;
      for (int64_t k = step; k < step + length; ++k) places.push_back(index(along.reverse ? count - 1 - k : k));
      const Scalar next = body(places, with_bytes(start.dtype, folded));
      CT_CHECK(next.dtype == start.dtype);
      folded = numbers_[next.id];
      forget_since(mark);
      step += length;
    }
    return with_bytes(start.dtype, folded);
  }
  void write(int output, absl::Span<const Index> position, Scalar element) override {
    const Tensor& tensor = results_[output];
    CT_CHECK(element.dtype == tensor.dtype());
    std::memcpy(place_in(tensor, position), bytes(element), static_cast<size_t>(dtype_size(tensor.dtype())));
  }

  Index index(int64_t value) {
    indices_.push_back(value);
    return {static_cast<uint32_t>(indices_.size() - 1)};
  }

 private:
  struct Mark {
    size_t numbers, indices;
  };
  Mark mark() const { return {numbers_.size(), indices_.size()}; }
  void forget_since(const Mark& mark) {
    numbers_.resize(mark.numbers);
    indices_.resize(mark.indices);
  }

  std::byte* place_in(const Tensor& tensor, absl::Span<const Index> position) const {
    const Shape& shape = tensor.shape();
    CT_CHECK(position.size() == shape.size());
    int64_t offset = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const int64_t index = value(position[axis]);
      CT_CHECK(index >= 0 && index < shape[axis]);
      offset = offset * shape[axis] + index;
    }
    return tensor.as<std::byte>() + offset * dtype_size(tensor.dtype());
  }
  int64_t value(Index x) const { return indices_[x.id]; }
  void* bytes(Scalar x) { return numbers_[x.id].bytes; }
  bool truth(Scalar x) {
    CT_CHECK(x.dtype == DType::kBool);
    return load_element<bool>(bytes(x));
  }
  Scalar fresh(DType dtype) {
    numbers_.emplace_back();
    return {static_cast<uint32_t>(numbers_.size() - 1), dtype};
  }
  Scalar with_bytes(DType dtype, const Number& number) {
    numbers_.push_back(number);
    return {static_cast<uint32_t>(numbers_.size() - 1), dtype};
  }
  template <class From>
  Scalar store(DType dtype, From from) {
    const Scalar result = fresh(dtype);
    dispatch_dtype(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T value = convert_element<T>(from);
      std::memcpy(bytes(result), &value, sizeof(T));
    });
    return result;
  }

  absl::Span<const Tensor> operands_, results_;
  std::vector<Number> numbers_;
  std::vector<int64_t> indices_;
};

// Calls body(position, linear index) for every position of `shape` in row-major order.
template <class Body>
void for_each_position(absl::Span<const int64_t> shape, Body&& body) {
  const int64_t size = num_elements(shape);
  Shape position(shape.size(), 0);
  for (int64_t linear = 0; linear < size; ++linear) {
    body(position, linear);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++position[axis] < shape[axis]) break;
      position[axis] = 0;
    }
  }
}

Tensor by_element_rule(const Primitive& primitive, absl::Span<const Tensor> operands, const Attrs& attrs,
                       const Aval& aval, int output) {
  Tensor result(aval);
  const int size = dtype_size(aval.dtype());
  NumberBuilder builder(operands);
  Indices indices;
  for_each_position(aval.shape(), [&](const Shape& position, int64_t linear) {
    builder.reset();
    indices.clear();
    for (int64_t index : position) indices.push_back(builder.index(index));
    const Scalar element = primitive.element(builder, attrs, aval, output, indices);
    CT_CHECK(element.dtype == aval.dtype());
    std::memcpy(result.as<std::byte>() + linear * size, builder.number(element), size);
  });
  return result;
}

std::vector<Tensor> by_loop_rule(const Primitive& primitive, absl::Span<const Tensor> operands, const Attrs& attrs,
                                 absl::Span<const Aval> avals) {
  std::vector<Tensor> results(avals.begin(), avals.end());
  if (std::ranges::any_of(avals, [](const Aval& aval) { return aval.size() > 0; })) {
    NumberBuilder builder(operands, results);
    primitive.loops(builder, attrs, avals);
  }
  return results;
}

// ---- structures ------------------------------------------------------------------------------------------------

Shape strides_of(absl::Span<const int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

int64_t dot_strides(absl::Span<const int64_t> position, absl::Span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < position.size(); ++axis) offset += position[axis] * strides[axis];
  return offset;
}

// element `index` of `into` becomes itself combined with a number of the same dtype
void combine_into(const Tensor& into, int64_t index, ScalarOp op, const void* number) {
  const int size = dtype_size(into.dtype());
  void* place = into.as<std::byte>() + index * size;
  Number result;
  require_scalar_function(op, into.dtype()).function(result.bytes, place, number);
  std::memcpy(place, result.bytes, size);
}

Number load_number(const Tensor& tensor, int64_t index, DType dtype) {
  Number result;
  convert_bytes(result.bytes, dtype, tensor.as<std::byte>() + index * dtype_size(tensor.dtype()), tensor.dtype());
  return result;
}

Tensor converted(const Tensor& tensor, const Aval& aval) {
  if (tensor.dtype() == aval.dtype()) return tensor.reinterpret(aval);
  Tensor result(aval);
  const int to = dtype_size(aval.dtype());
  const int from = dtype_size(tensor.dtype());
  for (int64_t i = 0; i < aval.size(); ++i) {
    convert_bytes(result.as<std::byte>() + i * to, aval.dtype(), tensor.as<std::byte>() + i * from, tensor.dtype());
  }
  return result;
}

Tensor filled(const Aval& aval, double value) {
  Tensor result(aval);
  for (int64_t i = 0; i < aval.size(); ++i) store_real(result, i, value);
  return result;
}

Tensor reduce(const structures::Fold& fold, const Tensor& x, const Attrs& attrs, const Aval& aval) {
  const DType wide = accumulation_dtype(x.dtype());
  Tensor sum = filled(Aval(wide, aval.shape()), fold.identity(x.dtype()));
  // Reduced axes get stride 0 in the result.
  const Shape kept_strides = strides_of(aval.shape());
  const Ints& axes = attrs.ints("axes");
  Shape strides;
  size_t kept = 0;
  for (int axis = 0; axis < x.aval().rank(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    strides.push_back(reduced ? 0 : kept_strides[kept++]);
  }
  for_each_position(x.shape(), [&](const Shape& position, int64_t linear) {
    combine_into(sum, dot_strides(position, strides), fold.combine, load_number(x, linear, wide).bytes);
  });
  return converted(sum, aval);
}

Tensor dot_general(const Tensor& lhs, const Tensor& rhs, const Attrs& attrs, const Aval& aval) {
  const auto& [lhs_contract, rhs_contract, lhs_batch, rhs_batch] = DotDimensions::from(attrs);
  const Ints lhs_free = free_axes(lhs.aval().rank(), lhs_contract, lhs_batch);
  const Ints rhs_free = free_axes(rhs.aval().rank(), rhs_contract, rhs_batch);
  const Shape lhs_strides = strides_of(lhs.shape());
  const Shape rhs_strides = strides_of(rhs.shape());
  Shape contracted;
  for (int64_t axis : lhs_contract) contracted.push_back(lhs.shape()[axis]);

  const DType wide = accumulation_dtype(lhs.dtype());
  const ScalarFunction multiply = require_scalar_function(ScalarOp::kMul, wide);
  Tensor sum = filled(Aval(wide, aval.shape()), 0);
  for_each_position(aval.shape(), [&](const Shape& position, int64_t linear) {
    int64_t lhs_base = 0;
    int64_t rhs_base = 0;
    size_t at = 0;
    for (size_t i = 0; i < lhs_batch.size(); ++i, ++at) {
      lhs_base += position[at] * lhs_strides[lhs_batch[i]];
      rhs_base += position[at] * rhs_strides[rhs_batch[i]];
    }
    for (int64_t axis : lhs_free) lhs_base += position[at++] * lhs_strides[axis];
    for (int64_t axis : rhs_free) rhs_base += position[at++] * rhs_strides[axis];
    for_each_position(contracted, [&](const Shape& inner, int64_t) {
      int64_t lhs_offset = lhs_base;
      int64_t rhs_offset = rhs_base;
      for (size_t i = 0; i < inner.size(); ++i) {
        lhs_offset += inner[i] * lhs_strides[lhs_contract[i]];
        rhs_offset += inner[i] * rhs_strides[rhs_contract[i]];
      }
      Number product;
      multiply.function(product.bytes, load_number(lhs, lhs_offset, wide).bytes,
                        load_number(rhs, rhs_offset, wide).bytes);
      combine_into(sum, linear, ScalarOp::kAdd, product.bytes);
    });
  });
  return converted(sum, aval);
}

// operand [batch, before, N, after], indices [batch, indices], updates [batch, before, indices, after].
Tensor scatter(std::optional<ScalarOp> combine, absl::Span<const Tensor> operands, const Attrs& attrs,
               const Aval& aval) {
  const Tensor& indices = operands[1];
  const Tensor& updates = operands[2];
  Tensor result(aval);
  std::memcpy(result.data(), operands[0].data(), static_cast<size_t>(aval.bytes()));
  const auto [indexed, batch] = GatherAttrs::from(attrs);
  const auto axis = static_cast<size_t>(indexed), batch_dims = static_cast<size_t>(batch);
  const size_t index_dims = indices.shape().size() - batch_dims;
  const Shape operand_strides = strides_of(aval.shape());
  const Shape index_strides = strides_of(indices.shape());
  for_each_position(updates.shape(), [&](const Shape& position, int64_t linear) {
    int64_t index_offset = 0;
    for (size_t i = 0; i < batch_dims; ++i) index_offset += position[i] * index_strides[i];
    for (size_t i = 0; i < index_dims; ++i) index_offset += position[axis + i] * index_strides[batch_dims + i];
    const int64_t index = load_integer(indices, index_offset);
    if (index < 0 || index >= aval.shape()[axis]) return;
    int64_t offset = index * operand_strides[axis];
    for (size_t i = 0; i < axis; ++i) offset += position[i] * operand_strides[i];
    for (size_t i = axis + 1; i < operand_strides.size(); ++i) {
      offset += position[i - 1 + index_dims] * operand_strides[i];
    }
    const Number update = load_number(updates, linear, aval.dtype());
    if (combine) {
      combine_into(result, offset, *combine, update.bytes);
    } else {
      const int size = dtype_size(aval.dtype());
      std::memcpy(result.as<std::byte>() + offset * size, update.bytes, size);
    }
  });
  return result;
}

}  // namespace

ScalarFunction scalar_function(ScalarOp op, DType dtype) {
  static const auto table = make_scalar_functions();
  return table[static_cast<int>(op)][static_cast<int>(dtype)];
}

DType accumulation_dtype(DType dtype) {
  if (is_float(dtype)) return DType::kFloat64;
  return is_complex(dtype) ? DType::kComplex128 : dtype;
}

std::vector<Tensor> reference_primitive(const Primitive& primitive, absl::Span<const Tensor> operands,
                                        const Attrs& attrs, absl::Span<const Aval> output_avals,
                                        const RunGraph& run_graph) {
  if (primitive.reference) return primitive.reference({operands, attrs, output_avals, run_graph});
  std::vector<Tensor> results;
  if (primitive.element) {
    for (size_t i = 0; i < output_avals.size(); ++i) {
      results.push_back(by_element_rule(primitive, operands, attrs, output_avals[i], static_cast<int>(i)));
    }
    return results;
  }
  if (primitive.loops) return by_loop_rule(primitive, operands, attrs, output_avals);
  if (const auto* fold = primitive.structure_as<structures::Fold>()) {
    return {reduce(*fold, operands[0], attrs, output_avals[0])};
  }
  if (const auto* scatters = primitive.structure_as<structures::Scatter>()) {
    return {scatter(scatters->combine, operands, attrs, output_avals[0])};
  }
  if (primitive.is<structures::Product>()) return {dot_general(operands[0], operands[1], attrs, output_avals[0])};
  if (primitive.is<structures::SameBytes>()) return {operands[0].reinterpret(output_avals[0])};
  throw Error(ErrorKind::kUnsupported, "this primitive has no evaluation: no reference, element, loops or expand rule")
      .op(primitive.name)
      .hint("define one of these rules on the primitive");
}

}  // namespace ct
