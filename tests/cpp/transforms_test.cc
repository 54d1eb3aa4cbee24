// The transforms on small programs: against derivatives by hand and by differences, nested in each other, and against
// the laws that tie them together.
#include "transforms/transforms.h"

#include <gmock/gmock.h>

#include "ir/check.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "tests/cpp/op_testing.h"
#include "transforms/split.h"

namespace ct {
namespace {

using testing_ops::array;
using testing_ops::expect_near;
using testing_ops::random;
using testing_ops::reals;

constexpr double kTight = 1e-12;

std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& inputs) {
  EXPECT_EQ(check(graph), "") << print(graph);
  return evaluate_reference(graph, inputs);
}
Tensor scalar(double value) { return Tensor::scalar(DType::kFloat64, value); }
double number(const Tensor& tensor) { return load_real(tensor, 0); }

// Keeps only some outputs, so that transforms of transforms have the shape they need.
GraphPtr outputs_of(const Graph& graph, const std::vector<int>& kept) {
  Builder builder;
  Values inputs;
  for (const Aval& aval : graph.input_avals()) inputs.push_back(builder.input(aval));
  const Values all = builder.inline_graph(graph, inputs);
  Values outputs;
  for (int k : kept) outputs.push_back(all[k]);
  return builder.finish(outputs);
}
GraphPtr gradient(const Graph& graph, const std::vector<bool>& wrt) {
  std::vector<int> kept;
  const GraphPtr both = value_and_grad(graph, wrt);
  for (size_t k = graph.outputs().size(); k < both->outputs().size(); ++k) kept.push_back(static_cast<int>(k));
  return outputs_of(*both, kept);
}

const Aval kScalar(DType::kFloat64, {});
const Aval kVector(DType::kFloat64, {3});
const Aval kMatrix(DType::kFloat64, {2, 3});

// x sin x exp(x / 3)
GraphPtr curve() {
  return build_graph({kScalar}, [](Builder&, const Values& in) {
    const Value x = in[0];
    return Values{x * sin(x) * exp(x / full_like(x, 3))};
  });
}
double curve(double x) { return x * std::sin(x) * std::exp(x / 3); }

// sum over rows of tanh(W v) squared, with a broadcast, a select and a shape change on the way.
GraphPtr network() {
  return build_graph({kMatrix, kVector}, [](Builder&, const Values& in) {
    const Value hidden = tanh(dot_general(in[0], in[1], {{1}, {0}, {}, {}}));
    const Value wide = broadcast(hidden, {2, 3}, {0});
    const Value gated = select(gt(in[0], zeros_like(in[0])), wide * in[0], wide);
    const Value flat = reshape(gated, {6});
    return Values{reduce_sum(flat * flat, {0})};
  });
}

double difference(const Graph& graph, std::vector<Tensor> inputs, size_t input, int64_t element) {
  const double step = 1e-5;
  const Tensor base = inputs[input];
  double values[2];
  for (int side = 0; side < 2; ++side) {
    Tensor moved(base.aval());
    for (int64_t i = 0; i < base.size(); ++i) store_real(moved, i, load_real(base, i));
    store_real(moved, element, load_real(base, element) + (side == 0 ? step : -step));
    inputs[input] = moved;
    values[side] = number(run(graph, inputs)[0]);
  }
  return (values[0] - values[1]) / (2 * step);
}

// ---- jvp ----------------------------------------------------------------------------------------------------------

TEST(Builder, SharesEqualEquationsAndKnowsProducers) {
  Builder builder;
  const Aval aval(DType::kFloat64, {2, 3});
  const Value x = builder.input(aval), y = builder.input(aval);
  const Primitive& add_primitive = get_primitive("add");
  const Primitive& sum = get_primitive("reduce_sum");
  const auto over = [](int64_t axis) { return Attrs::make({{"axes", Ints{axis}}}); };
  const Value first = builder.bind1(add_primitive, {x, y});
  const Value rows = builder.bind_shared(sum, {first}, over(0))[0];
  const Value again = builder.bind1(add_primitive, {x, y});
  const Value late = builder.input(aval);
  EXPECT_EQ(builder.bind_shared(add_primitive, {x, y})[0], first);
  EXPECT_EQ(builder.bind_shared(sum, {first}, over(0))[0], rows);
  EXPECT_EQ(builder.equations().size(), 3u);
  EXPECT_NE(builder.bind_shared(sum, {first}, over(1))[0], rows);
  EXPECT_NE(builder.bind_shared(sum, {again}, over(0))[0], rows);
  EXPECT_NE(builder.bind_shared(add_primitive, {y, x})[0], first);
  const Value last = builder.bind_shared(add_primitive, {x, late})[0];
  EXPECT_EQ(builder.bind_shared(add_primitive, {x, late})[0], last);
  EXPECT_EQ(builder.equations().size(), 7u);

  EXPECT_EQ(builder.producer(x.var), nullptr);
  EXPECT_EQ(builder.producer(late.var), nullptr);
  for (const Value& value : {first, rows, again, last}) {
    EXPECT_EQ(builder.producer(value.var)->first_output, value.var);
  }
}

TEST(Jvp, OfACurveByHand) {
  const JvpGraph result = jvp(*curve(), {true});
  ASSERT_EQ(result.nonzero_out, std::vector<bool>{true});
  const double x = 0.7;
  const auto out = run(*result.graph, {scalar(x), scalar(2)});
  EXPECT_NEAR(number(out[0]), curve(x), kTight);
  const double slope = std::exp(x / 3) * (std::sin(x) + x * std::cos(x) + x * std::sin(x) / 3);
  EXPECT_NEAR(number(out[1]), 2 * slope, kTight);
}

TEST(Jvp, Nested) {
  const GraphPtr first = outputs_of(*jvp(*curve(), {true}).graph, {1});
  const GraphPtr second = outputs_of(*jvp(*first, {true, false}).graph, {1});
  const double x = 0.7, h = 1e-4;
  const double expected = (curve(x + h) - 2 * curve(x) + curve(x - h)) / (h * h);
  EXPECT_NEAR(number(run(*second, {scalar(x), scalar(1), scalar(1)})[0]), expected, 1e-6);
}

TEST(Jvp, ZeroTangentsAreLeftOut) {
  const GraphPtr graph = build_graph(
      {kScalar, kScalar}, [](Builder&, const Values& in) { return Values{sin(in[0]), sin(in[1]), gt(in[0], in[1])}; });
  EXPECT_EQ(jvp(*graph, {true, false}).nonzero_out, (std::vector<bool>{true, false, false}));
  const JvpGraph forced = jvp(*graph, {true, false}, {true, true, true});
  EXPECT_EQ(forced.nonzero_out, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(number(run(*forced.graph, {scalar(1), scalar(2), scalar(1)})[4]), 0);
}

TEST(Jvp, KeepsTheUsersLine) {
  const GraphPtr graph = parse("graph (x: float64[]) {\n\n a = sin x\n} -> (a)", "train.py");
  const JvpGraph result = jvp(*graph, {true});
  for (const Equation& equation : result.graph->equations()) {
    EXPECT_EQ(resolve_location(equation.location).line, 3);
  }
}

// ---- linearize and transpose --------------------------------------------------------------------------------------

TEST(Linearize, AgreesWithJvp) {
  const GraphPtr graph = network();
  const Linearized sheets = linearize(*graph, {true, true});
  const std::vector<Tensor> at = {random({2, 3}, 1), random({3}, 2)};
  const std::vector<Tensor> tangents = {random({2, 3}, 3), random({3}, 4)};
  std::vector<Tensor> primal = run(*sheets.primal, at);
  ASSERT_EQ(primal.size(), 1 + sheets.num_residuals);
  std::vector<Tensor> into(primal.begin() + 1, primal.end());
  into.insert(into.end(), tangents.begin(), tangents.end());
  const auto expected = run(*jvp(*graph, {true, true}).graph, {at[0], at[1], tangents[0], tangents[1]});
  expect_near(primal[0], expected[0]);
  expect_near(run(*sheets.tangent, into)[0], expected[1]);
}

TEST(Linearize, TheTangentSheetHoldsNoNonlinearWork) {
  const Linearized sheets = linearize(*network(), {true, true});
  for (const Equation& equation : sheets.tangent->equations()) {
    EXPECT_NE(equation.primitive->name, "tanh");
    EXPECT_NE(equation.primitive->name, "gt");
  }
}

TEST(Transpose, InnerProductLaw) {
  const GraphPtr graph = network();
  const Linearized sheets = linearize(*graph, {true, true});
  std::vector<bool> linear(sheets.tangent->num_inputs(), false);
  linear[linear.size() - 2] = linear[linear.size() - 1] = true;
  const GraphPtr backward = transpose_graph(*sheets.tangent, linear);
  const auto primal = run(*sheets.primal, {random({2, 3}, 1), random({3}, 2)});
  const std::vector<Tensor> residuals(primal.begin() + 1, primal.end());
  const std::vector<Tensor> tangents = {random({2, 3}, 3), random({3}, 4)};
  std::vector<Tensor> forward_in = residuals;
  forward_in.insert(forward_in.end(), tangents.begin(), tangents.end());
  std::vector<Tensor> backward_in = residuals;
  backward_in.push_back(scalar(1.5));
  const double left = 1.5 * number(run(*sheets.tangent, forward_in)[0]);
  const auto cotangents = run(*backward, backward_in);
  double right = 0;
  for (int k = 0; k < 2; ++k) {
    for (int64_t i = 0; i < tangents[k].size(); ++i) right += load_real(tangents[k], i) * load_real(cotangents[k], i);
  }
  EXPECT_NEAR(left, right, 1e-10);
}

TEST(Transpose, TwiceIsTheSameMap) {
  const GraphPtr graph = build_graph({kVector, kVector}, [](Builder&, const Values& in) {
    return Values{cumsum(in[0] * sin(in[1]), 0, false), reduce_sum(in[0], {0})};
  });
  const GraphPtr once = transpose_graph(*graph, {true, false});
  ASSERT_EQ(once->num_inputs(), 3u);
  const GraphPtr twice = transpose_graph(*once, {false, true, true});
  const Tensor x = random({3}, 5), y = random({3}, 6);
  const auto expected = run(*graph, {x, y});
  const auto actual = run(*twice, {y, x});
  for (int k = 0; k < 2; ++k) expect_near(actual[k], expected[k]);
}

TEST(Split, ResidualsThatAreInputsAreNamed) {
  const GraphPtr graph =
      build_graph({kScalar, kScalar}, [](Builder&, const Values& in) { return Values{in[1] * in[0] * exp(in[0])}; });
  const SplitGraph sheets = split(*graph, {false, true});
  EXPECT_EQ(sheets.residual_input, (std::vector<int>{0, -1}));
  EXPECT_EQ(sheets.out_known, std::vector<bool>{false});
  EXPECT_EQ(sheets.num_residuals, 2u);
}

TEST(Split, KnownOutputsCanBeForcedAcross) {
  const GraphPtr graph =
      build_graph({kScalar, kScalar}, [](Builder&, const Values& in) { return Values{exp(in[0]), exp(in[1])}; });
  const SplitGraph sheets = split(*graph, {false, true}, {true, false});
  EXPECT_EQ(sheets.out_known, (std::vector<bool>{false, false}));
  const auto known = run(*sheets.known, {scalar(1)});
  const auto unknown = run(*sheets.unknown, {known[0], scalar(2)});
  EXPECT_NEAR(number(unknown[0]), std::exp(1), kTight);
  EXPECT_NEAR(number(unknown[1]), std::exp(2), kTight);
}

TEST(Split, EverythingKnownOrNothing) {
  const GraphPtr graph = curve();
  const SplitGraph all = split(*graph, {false});
  EXPECT_EQ(all.unknown->num_inputs(), 0u);
  EXPECT_NEAR(number(run(*all.known, {scalar(0.3)})[0]), curve(0.3), kTight);
  const SplitGraph none = split(*graph, {true});
  EXPECT_EQ(none.known->outputs().size(), 0u);
  EXPECT_NEAR(number(run(*none.unknown, {scalar(0.3)})[0]), curve(0.3), kTight);
}

// ---- reverse mode -------------------------------------------------------------------------------------------------

TEST(Grad, AgainstDifferences) {
  const GraphPtr graph = network();
  const std::vector<Tensor> at = {random({2, 3}, 1), random({3}, 2)};
  const auto out = run(*value_and_grad(*graph, {true, true}), at);
  expect_near(out[0], run(*graph, at)[0]);
  for (size_t input = 0; input < 2; ++input) {
    for (int64_t i = 0; i < at[input].size(); ++i) {
      EXPECT_NEAR(load_real(out[1 + input], i), difference(*graph, at, input, i), 1e-7);
    }
  }
}

TEST(Grad, OfGradOfGrad) {
  GraphPtr graph = curve();
  const double x = 0.4, h = 1e-4;
  double (*value)(double) = curve;
  const GraphPtr first = gradient(*graph, {true});
  const GraphPtr second = gradient(*first, {true});
  const GraphPtr third = gradient(*second, {true});
  EXPECT_NEAR(number(run(*first, {scalar(x)})[0]), (value(x + h) - value(x - h)) / (2 * h), 1e-7);
  EXPECT_NEAR(number(run(*second, {scalar(x)})[0]), (value(x + h) - 2 * value(x) + value(x - h)) / (h * h), 1e-6);
  const double up = number(run(*second, {scalar(x + h)})[0]);
  const double down = number(run(*second, {scalar(x - h)})[0]);
  EXPECT_NEAR(number(run(*third, {scalar(x)})[0]), (up - down) / (2 * h), 1e-6);
}

TEST(Grad, ForwardOverReverseIsReverseOverForward) {
  const GraphPtr graph = network();
  const std::vector<Tensor> at = {random({2, 3}, 1), random({3}, 2)};
  const Tensor direction = random({2, 3}, 7);
  const GraphPtr forward_over_reverse = outputs_of(*jvp(*gradient(*graph, {true, false}), {true, false}).graph, {1});
  const GraphPtr reverse_over_forward =
      gradient(*outputs_of(*jvp(*graph, {true, false}).graph, {1}), {true, false, false});
  const std::vector<Tensor> inputs = {at[0], at[1], direction};
  expect_near(run(*forward_over_reverse, inputs)[0], run(*reverse_over_forward, inputs)[0], 1e-10);
}

TEST(Grad, SharedAndRepeatedValues) {
  const GraphPtr graph = build_graph({kScalar}, [](Builder&, const Values& in) {
    const Value square = in[0] * in[0];
    return Values{square + square, in[0], square};
  });
  const auto out = run(*value_and_grad(*graph, {true}), {scalar(3)});
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(number(out[0]), 18);
  EXPECT_EQ(number(out[1]), 3);
  EXPECT_EQ(number(out[3]), 12);
}

TEST(Grad, OfTheInputItself) {
  const GraphPtr graph = build_graph({kScalar}, [](Builder&, const Values& in) { return Values{in[0]}; });
  EXPECT_EQ(number(run(*gradient(*graph, {true}), {scalar(3)})[0]), 1);
}

TEST(Grad, ThroughStopGradientIsZero) {
  const GraphPtr graph =
      build_graph({kScalar}, [](Builder&, const Values& in) { return Values{stop_gradient(sin(in[0]))}; });
  EXPECT_EQ(number(run(*gradient(*graph, {true}), {scalar(3)})[0]), 0);
}

// The gradient of |z|^2 at x + iy is 2x - 2iy, as JAX has it.
TEST(Grad, OfAComplexInput) {
  const Aval complex(DType::kComplex128, {});
  const GraphPtr graph = build_graph({complex}, [](Builder&, const Values& in) {
    return Values{real(in[0]) * real(in[0]) + imag(in[0]) * imag(in[0])};
  });
  Tensor z(complex);
  store_complex(z, 0, {1, 2});
  const std::complex<double> found = load_complex(run(*gradient(*graph, {true}), {z})[0], 0);
  EXPECT_NEAR(found.real(), 2, kTight);
  EXPECT_NEAR(found.imag(), -4, kTight);
}

TEST(Vjp, OfSeveralOutputs) {
  const GraphPtr graph = build_graph({kVector}, [](Builder&, const Values& in) {
    return Values{sin(in[0]), gt(in[0], zeros_like(in[0])), reduce_sum(in[0] * in[0], {0})};
  });
  const GraphPtr result = vjp(*graph, {true});
  ASSERT_EQ(result->num_inputs(), 3u);
  ASSERT_EQ(result->outputs().size(), 4u);
  const Tensor x = random({3}, 1), w = random({3}, 2);
  const auto out = run(*result, {x, w, scalar(0.5)});
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(load_real(out[3], i), load_real(w, i) * std::cos(load_real(x, i)) + load_real(x, i), kTight);
  }
}

TEST(Grad, NamesThePrimitiveAndTheLineWithoutATranspose) {
  static const Primitive& one_way = []() -> const Primitive& {
    Primitive primitive;
    primitive.name = "test_one_way";
    primitive.type = [](absl::Span<const Aval> operands, const Attrs&) { return Avals{operands[0]}; };
    primitive.jvp = [](Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                       const AttrsPtr&) -> JvpResult {
      const Primitive& self = get_primitive("test_one_way");
      return {builder.bind(self, primals), builder.bind(self, tangents)};
    };
    return define(std::move(primitive));
  }();
  const GraphPtr graph = build_graph({kScalar}, [](Builder& builder, const Values& in) {
    LocationScope scope(intern_location({"train.py", 12, "loss"}));
    return builder.bind(one_way, in);
  });
  try {
    value_and_grad(*graph, {true});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNotDifferentiable);
    EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("test_one_way"), ::testing::HasSubstr("transpose"),
                                               ::testing::HasSubstr("train.py:12")));
  }
}

// ---- vmap ---------------------------------------------------------------------------------------------------------

Tensor row(const Tensor& batch, int64_t index) {
  Shape shape(batch.shape().begin() + 1, batch.shape().end());
  Tensor result(batch.aval().with_shape(shape));
  for (int64_t i = 0; i < result.size(); ++i) store_real(result, i, load_real(batch, index * result.size() + i));
  return result;
}

TEST(Vmap, OfGradIsALoop) {
  const GraphPtr graph = gradient(*network(), {true, true});
  const GraphPtr batched = vmap(*graph, {0, 0}, 4, {0, 0});
  const Tensor w = random({4, 2, 3}, 1), v = random({4, 3}, 2);
  const auto out = run(*batched, {w, v});
  for (int64_t i = 0; i < 4; ++i) {
    const auto expected = run(*graph, {row(w, i), row(v, i)});
    expect_near(row(out[0], i), expected[0]);
    expect_near(row(out[1], i), expected[1]);
  }
}

TEST(Vmap, GradOfVmapSumsOverTheBatch) {
  const GraphPtr graph = network();
  const GraphPtr per_example = vmap(*graph, {-1, 0}, 4, {0});
  const GraphPtr total = build_graph({kMatrix, Aval(DType::kFloat64, {4, 3})}, [&](Builder& builder, const Values& in) {
    return Values{reduce_sum(builder.inline_graph(*per_example, in)[0], {0})};
  });
  const Tensor w = random({2, 3}, 1), v = random({4, 3}, 2);
  const auto out = run(*gradient(*total, {true, false}), {w, v});
  std::vector<double> expected(6, 0.0);
  const GraphPtr single = gradient(*graph, {true, false});
  for (int64_t i = 0; i < 4; ++i) {
    const auto one = reals(run(*single, {w, row(v, i)})[0]);
    for (int k = 0; k < 6; ++k) expected[k] += one[k];
  }
  expect_near(out[0], array(DType::kFloat64, {2, 3}, expected), 1e-10);
}

TEST(Vmap, OfVmap) {
  const GraphPtr graph = network();
  const GraphPtr twice = vmap(*vmap(*graph, {-1, 0}, 4, {0}), {0, -1}, 5, {1});
  const Tensor w = random({5, 2, 3}, 1), v = random({4, 3}, 2);
  const auto out = run(*twice, {w, v});
  ASSERT_EQ(out[0].shape(), Shape({4, 5}));
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      EXPECT_NEAR(load_real(out[0], i * 5 + j), number(run(*graph, {row(w, j), row(v, i)})[0]), 1e-12);
    }
  }
}

TEST(Vmap, OfNone) {
  const GraphPtr batched = vmap(*gradient(*network(), {true, true}), {0, -1}, 0, {0, 0});
  const auto out = run(*batched, {Tensor(Aval(DType::kFloat64, {0, 2, 3})), random({3}, 1)});
  EXPECT_EQ(out[0].shape(), Shape({0, 2, 3}));
  EXPECT_EQ(out[1].shape(), Shape({0, 3}));
}

TEST(Vmap, AxesOutOfRangeAreErrors) {
  EXPECT_THROW(vmap(*curve(), {1}, 3, {0}), Error);
  EXPECT_THROW(vmap(*curve(), {0}, 3, {1}), Error);
  EXPECT_THROW(vmap(*curve(), {0}, 3, {-1}), Error);
}

// ---- passes -------------------------------------------------------------------------------------------------------

TEST(Passes, DoNotChangeValues) {
  const GraphPtr graph = gradient(*gradient(*curve(), {true}), {true});
  const double expected = number(run(*graph, {scalar(0.6)})[0]);
  for (const auto pass :
       {eliminate_dead_code, eliminate_common_subexpressions, simplify, inline_calls, expand_regions}) {
    EXPECT_NEAR(number(run(*pass(*graph), {scalar(0.6)})[0]), expected, kTight);
  }
  const GraphPtr small = eliminate_common_subexpressions(*simplify(*graph));
  EXPECT_LT(small->equations().size(), graph->equations().size());
  EXPECT_NEAR(number(run(*small, {scalar(0.6)})[0]), expected, kTight);
}

TEST(Passes, KeepInputsAndTheirNames) {
  const GraphPtr graph = parse("graph (x: float64[], unused: float64[]) { a = sin x } -> (a)");
  for (const auto pass :
       {eliminate_dead_code, eliminate_common_subexpressions, simplify, inline_calls, expand_regions}) {
    EXPECT_EQ(pass(*graph)->input_names(), graph->input_names());
  }
}

}  // namespace
}  // namespace ct
