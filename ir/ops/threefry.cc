// The counter-based generator behind all random numbers: Threefry-2x32 with 20 rounds (Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3", 2011), bit for bit as in Random123 and JAX. Two key words and two counter words
// give two random words; all operands are uint32 arrays of one shape.
#include "ir/combinators.h"
#include "ir/ops.h"
#include "ir/primitives.h"

namespace ct {
namespace {

constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
constexpr int64_t kParity = 0x1BD11BDA;

class Arithmetic {
 public:
  explicit Arithmetic(ElementBuilder& element) : element_(element) {}
  Scalar constant(int64_t value) { return element_.constant_integer(DType::kUInt32, value); }
  Scalar add(Scalar x, Scalar y) { return element_.binary(ScalarOp::kAdd, x, y); }
  Scalar exclusive_or(Scalar x, Scalar y) { return element_.binary(ScalarOp::kXor, x, y); }
  Scalar rotate_left(Scalar x, int count) {
    return element_.binary(ScalarOp::kOr, element_.binary(ScalarOp::kShl, x, constant(count)),
                           element_.binary(ScalarOp::kShrLogical, x, constant(32 - count)));
  }

 private:
  ElementBuilder& element_;
};

Scalar threefry_element(ElementBuilder& element, const Attrs&, const Aval&, int output,
                        absl::Span<const Index> position) {
  Arithmetic words(element);
  const Scalar key0 = element.read(0, position), key1 = element.read(1, position);
  const Scalar keys[3] = {key0, key1, words.exclusive_or(words.exclusive_or(key0, key1), words.constant(kParity))};
  Scalar x0 = words.add(element.read(2, position), keys[0]);
  Scalar x1 = words.add(element.read(3, position), keys[1]);
  for (int group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x0 = words.add(x0, x1);
      x1 = words.exclusive_or(words.rotate_left(x1, rotation), x0);
    }
    x0 = words.add(x0, keys[(group + 1) % 3]);
    x1 = words.add(words.add(x1, keys[(group + 2) % 3]), words.constant(group + 1));
  }
  return output == 0 ? x0 : x1;
}

Avals threefry_type(absl::Span<const Aval> operands, const Attrs&) {
  check_operand_count(operands, 4);
  check_same_types(operands);
  if (operands[0].dtype() != DType::kUInt32) {
    throw Error(ErrorKind::kDType, "takes uint32 words, got " + operands[0].to_string())
        .hint("split 64-bit keys and counters into two words");
  }
  return {operands[0].strong(), operands[0].strong()};
}

Primitive generator() {
  const PrimitiveRef self("threefry2x32");
  Primitive result;
  result.name = self.name();
  result.several_results = true;
  result.type = threefry_type;
  result.jvp = zero_jvp(self);
  result.differentiable = false;
  result.absent["transpose"] = "not differentiable: integers carry no derivative";
  result.batch = elementwise_batch(self);
  result.mask = elementwise_mask(self);
  result.element = threefry_element;
  return result;
}
}  // namespace

const Primitive& kThreefry = define(generator());

Values threefry2x32(Value key0, Value key1, Value count0, Value count1) {
  return key0.builder->bind(kThreefry, {key0, key1, count0, count1});
}

}  // namespace ct
