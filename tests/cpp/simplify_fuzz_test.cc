// Random programs, simplified and not, must compute the same. Constants are mostly those that rules look for.
#include <random>

#include "ir/check.h"
#include "ir/print.h"
#include "tests/cpp/op_testing.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

using testing_ops::random;

class RandomProgram {
 public:
  explicit RandomProgram(int seed) : generator_(seed) {}

  GraphPtr build() {
    Builder builder;
    for (DType dtype : kDTypes) {
      values_.push_back(builder.input(Aval(dtype, {2, 3})));
      values_.push_back(builder.input(Aval(dtype, {})));
    }
    for (int i = 0; i < 30; ++i) {
      if (const Value next = step(builder)) values_.push_back(next);
    }
    Values outputs;
    for (int i = 0; i < 6; ++i) outputs.push_back(values_[values_.size() - 1 - pick(values_.size() / 2)]);
    return builder.finish(outputs);
  }

 private:
  static constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kBool, DType::kComplex64};

  size_t pick(size_t count) { return generator_() % count; }

  // A value of this type: an earlier one, or a constant.
  Value like(Builder& builder, const Aval& aval) {
    Values found;
    for (const Value& value : values_) {
      if (same_type(value.aval(), aval)) found.push_back(value);
    }
    const double constants[] = {0, 1, -1, 2, 3, 0.5};
    if (found.empty() || pick(3) == 0) {
      return full(builder, aval, is_bool(aval.dtype()) ? double(pick(2)) : constants[pick(6)]);
    }
    return found[pick(found.size())];
  }

  Value step(Builder& builder) {
    const Value x = values_[pick(values_.size())];
    const Aval aval = x.aval();
    const DType dtype = aval.dtype();
    const auto other = [&] { return like(builder, aval); };
    switch (pick(20)) {
      case 0:
        return is_bool(dtype) ? bit_or(x, other()) : add(other(), x);
      case 1:
        return is_bool(dtype) ? bit_and(x, other()) : mul(x, other());
      case 2:
        return is_bool(dtype) ? bit_and(other(), x) : mul(other(), x);
      case 3:
        return is_bool(dtype) ? logical_not(x) : sub(x, other());
      case 4:
        return is_float(dtype) ? div(x, other()) : Value{};
      case 5:
        return is_bool(dtype) ? logical_not(x) : neg(x);
      case 6:
        return is_float(dtype) ? pow(x, full(builder, aval, double(pick(4)) - 1)) : Value{};
      case 7:
        return is_complex(dtype) ? conj(x) : Value{};
      case 8:
        return is_complex(dtype) ? real(x) : Value{};
      case 9:
        return is_complex(dtype) ? imag(x) : dtype == DType::kFloat32 ? make_complex(x, other()) : Value{};
      case 10:
        return select(like(builder, aval.with_dtype(DType::kBool)), x, other());
      case 11:
        return convert(x, kDTypes[pick(is_complex(dtype) ? 5 : 4)]);
      case 12:
        if (aval.rank() == 0) return broadcast(x, {2, 3}, {});
        return reduce_sum(is_bool(dtype) ? convert(x, DType::kInt32) : x, {static_cast<int64_t>(pick(aval.rank()))});
      case 13:
        return aval.rank() == 2 ? transpose(x, {1, 0}) : Value{};
      case 14:
        if (aval.size() == 1) return reshape(x, {});
        return aval.size() == 6 ? reshape(x, pick(2) ? Shape{2, 3} : Shape{6}) : Value{};
      case 15:
        return aval.rank() >= 1 ? reverse(x, {static_cast<int64_t>(pick(aval.rank()))}) : Value{};
      case 16:
        return aval.rank() >= 1 ? slice_axis(x, 0, 0, static_cast<int64_t>(pick(aval.dim(0))) + 1) : Value{};
      case 17:
        return aval.rank() >= 1 && !is_bool(dtype) && !is_complex(dtype) ? reduce_max(x, {0}) : Value{};
      case 18:
        return aval.rank() >= 1 && !is_bool(dtype) ? cumsum(x, 0, pick(2) == 0) : Value{};
      default:
        return aval.rank() == 1 ? broadcast(x, {2, aval.dim(0)}, {1}) : Value{};
    }
  }

  std::mt19937 generator_;
  Values values_;
};

bool agree(std::complex<double> a, std::complex<double> b) {
  const auto close = [](double x, double y) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y);
    return x == y || std::abs(x - y) <= 1e-5 * (1 + std::abs(y));
  };
  return close(a.real(), b.real()) && close(a.imag(), b.imag());
}

TEST(SimplifyFuzz, ProgramsKeepTheirMeaning) {
  int shorter = 0;
  for (int seed = 0; seed < 400; ++seed) {
    const GraphPtr graph = RandomProgram(seed).build();
    ASSERT_EQ(check(*graph), "") << print(*graph);
    const GraphPtr simple = eliminate_common_subexpressions(*simplify(*simplify(*graph)));
    ASSERT_EQ(check(*simple), "") << print(*simple);
    shorter += simple->equations().size() < graph->equations().size();
    std::vector<Tensor> inputs;
    for (const Aval& aval : graph->input_avals()) inputs.push_back(random(aval, seed + 7));
    const auto expected = evaluate_reference(*graph, inputs);
    const auto actual = evaluate_reference(*simple, inputs);
    for (size_t k = 0; k < expected.size(); ++k) {
      ASSERT_TRUE(same_type(expected[k].aval(), actual[k].aval()));
      for (int64_t i = 0; i < expected[k].size(); ++i) {
        const auto was = load_complex(expected[k], i), is = load_complex(actual[k], i);
        ASSERT_TRUE(agree(is, was)) << "seed " << seed << ", output " << k << ": " << is << " was " << was << "\n"
                                    << print(*graph) << print(*simple);
      }
    }
  }
  EXPECT_GT(shorter, 300);
}

}  // namespace
}  // namespace ct
