// fft: discrete Fourier transforms over the last axes, one for each entry of `lengths`, the sizes in the time domain; 0
// is for an axis that is left alone, between the others or after them, which complex transforms ("fft" and "ifft") may.
// `kind` says which: "fft" and "ifft" take and give complex numbers; "rfft" takes reals and gives the n / 2 + 1
// coefficients of the last axis that determine the others; "irfft" is its inverse. Inverses divide by the lengths.
#include "ir/ops/fft.h"

#include <algorithm>

#include "ir/combinators.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/runtime.h"
#include "runtime/text.h"

namespace ct {
namespace {

Value bind_fft(Value x, const std::string& kind, const Ints& lengths) {
  return x.builder->bind1(kFft, {x}, Attrs::make({{"kind", kind}, {"lengths", lengths}}));
}

Avals fft_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 1);
  const Aval& x = operands[0];
  const std::string& kind = attrs.text("kind");
  const Ints& lengths = attrs.ints("lengths");
  const bool real_to_complex = kind == "rfft", complex_to_real = kind == "irfft";
  if (!real_to_complex && !complex_to_real && kind != "fft" && kind != "ifft") {
    throw Error(ErrorKind::kValue, concat("there is no kind of transform '", kind, "'"))
        .hint("the kinds are fft, ifft, rfft and irfft");
  }
  check_dtype(x, real_to_complex ? kFloats : kComplexes);
  if (dtype_size(real_dtype(x.dtype())) < 4) {
    throw Error(ErrorKind::kDType, concat("takes float32 or float64, got ", x.to_string()))
        .hint("convert it first, for example with x.astype('float32')");
  }
  const auto count = static_cast<int>(lengths.size());
  if (count == 0 || count > x.rank()) {
    throw Error(ErrorKind::kValue, concat(count, " transformed axes do not fit ", x.to_string()))
        .hint("give a length for each of the last axes that is transformed, at least one");
  }
  Shape shape = x.shape();
  for (int i = 0; i < count; ++i) {
    if (lengths[i] == 0 && !real_to_complex && !complex_to_real) continue;
    if (lengths[i] < 1) {
      throw Error(ErrorKind::kValue, concat("invalid number of FFT data points (", lengths[i], ")"))
          .hint("a transform needs at least one");
    }
    const bool halved = i == count - 1;
    const int64_t half = lengths[i] / 2 + 1;
    const int64_t expected = complex_to_real && halved ? half : lengths[i];
    int64_t& size = shape[x.rank() - count + i];
    if (size != expected) {
      throw Error(ErrorKind::kShape, concat("axis ", x.rank() - count + i, " of ", x.to_string(), " must have size ",
                                            expected, " for a transform of length ", lengths[i]))
          .hint("cut or pad the axis first");
    }
    size = real_to_complex && halved ? half : lengths[i];
  }
  const DType dtype = real_to_complex ? complex_dtype(x.dtype()) : complex_to_real ? real_dtype(x.dtype()) : x.dtype();
  return {Aval(dtype, shape)};
}

// The matrix of a transform is symmetric. rfft is that matrix without its last rows, so its transpose puts zeros there
// and takes the real part. irfft uses each coefficient, but the first and the middle one, for two that are conjugate.
Value fft_transpose(Value cotangent, const Aval& operand, const AttrsPtr& attrs) {
  const std::string& kind = attrs->text("kind");
  const Ints& lengths = attrs->ints("lengths");
  const int axis = operand.rank() - 1;
  const int64_t n = lengths.back();
  if (kind == "rfft") {
    const Value zero = zeros(*cotangent.builder, Aval(cotangent.dtype(), {}));
    Ints none(static_cast<size_t>(operand.rank()), 0), high = none;
    high.back() = n - cotangent.shape()[axis];
    return real(bind_fft(pad(cotangent, zero, none, high, none), "fft", lengths));
  }
  if (kind == "irfft") {
    const Value spectrum = conj(bind_fft(cotangent, "rfft", lengths));
    double scale = 1;
    for (int64_t length : lengths) scale /= static_cast<double>(length);
    const Aval indices(DType::kInt32, spectrum.shape());
    const Value k = iota(*cotangent.builder, indices, axis);
    // n - k is the coefficient that k stands for as well: another one unless k is 0 or n / 2.
    const Value alone = bit_or(eq(k, zeros_like(k)), eq(add(k, k), full_integer(*cotangent.builder, indices, n)));
    return mul(spectrum, select(alone, full_like(spectrum, scale), full_like(spectrum, 2 * scale)));
  }
  return bind_fft(cotangent, kind, lengths);
}

std::vector<Masked> fft_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& x = operands[0];
  const Ints& lengths = attrs->ints("lengths");
  const int first = x.value.rank() - static_cast<int>(lengths.size());
  for (int axis = first; axis < x.value.rank(); ++axis) {
    if (!x.ragged(axis) || lengths[axis - first] == 0) continue;
    throw Error(ErrorKind::kUnsupported, concat("axis ", axis, " is ragged: a transform has one length"))
        .hint("give the length, as in fft(x, n=...): the array is then cut or padded with zeros to it");
  }
  return {{builder.bind1(kFft, {x.value}, attrs), x.lengths}};
}

std::vector<Tensor> fft_reference(const ReferenceInput& input) {
  const auto& transform = runtime().transform;
  if (!transform && input.output_avals[0].size() != 0) {
    const GraphPtr products = build_graph({input.operands[0].aval()}, [&](Builder& builder, const Values& operands) {
      return fft_expand(builder, operands, Attrs::make(input.attrs.items()));
    });
    return input.run_graph(*products, input.operands);
  }
  Tensor result(input.output_avals[0]);
  if (result.size() != 0) transform({input.attrs.text("kind"), input.operands[0], input.attrs.ints("lengths"), result});
  return {result};
}

Primitive fft_primitive() {
  const PrimitiveRef self("fft");
  Primitive result;
  result.name = self.name();
  result.attributes = {{"kind", AttributeKind::kText}, {"lengths", AttributeKind::kIntegers}};
  result.type = fft_type;
  result.jvp = linear_jvp(self);
  result.transpose = linear_transpose(fft_transpose);
  result.batch = [](Builder&, absl::Span<const Batched> operands, const BatchAxis& batch, const AttrsPtr& attrs) {
    return std::vector<Batched>{
        {bind_fft(batch_at(operands[0], 0, batch.size), attrs->text("kind"), attrs->ints("lengths")), 0}};
  };
  result.mask = fft_mask;
  result.reference = fft_reference;
  result.expand = fft_expand;
  result.structure = std::make_shared<structures::HostCall>();
  result.absent["element"] = "elements mix: a library's transform, or expanded to matrix products";
  return result;
}
}  // namespace

const Primitive& kFft = define(fft_primitive());

}  // namespace ct
