// The primitives with sub-graphs: custom rules under every transform, and the law of mask: for every length and any
// padding, NaN included, a masked program gives what the program gives on the exact arrays, and so do its derivatives,
// which are zero on padding.
#include "transforms/higher_order/higher_order.h"

#include "ir/check.h"
#include "ir/lengths.h"
#include "ir/print.h"
#include "tests/cpp/op_testing.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

using testing_ops::array;
using testing_ops::expect_near;
using testing_ops::kNan;
using testing_ops::random;
using testing_ops::window;

const Aval kScalar(DType::kFloat64, {});
const Aval kIndex(DType::kInt32, {});
Aval vector_of(int64_t n) { return Aval(DType::kFloat64, {n}); }
Tensor scalar(double value) { return Tensor::scalar(DType::kFloat64, value); }
Tensor integer(int64_t value) { return Tensor::scalar(DType::kInt32, static_cast<double>(value)); }

std::vector<Tensor> run(const GraphPtr& graph, const std::vector<Tensor>& inputs) {
  EXPECT_EQ(check(*graph), "") << print(*graph);
  const std::vector<Tensor> result = evaluate_reference(*graph, inputs);
  const GraphPtr lowered = eliminate_dead_code(*simplify(*inline_calls(*expand_regions(*graph))));
  EXPECT_EQ(check(*lowered, Stage::kLowerable), "") << print(*lowered);
  const std::vector<Tensor> again = evaluate_reference(*lowered, inputs);
  for (size_t k = 0; k < result.size(); ++k) expect_near(again[k], result[k], 1e-10);
  return result;
}

Value total(Value x) {
  Ints axes;
  for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes.empty() ? x : reduce_sum(x, axes);
}

GraphPtr gradient(const GraphPtr& graph, std::vector<bool> wrt) {
  const size_t wanted = static_cast<size_t>(std::count(wrt.begin(), wrt.end(), true));
  const GraphPtr both = value_and_grad(*graph, wrt);
  return build_graph(both->input_avals(), [&](Builder& builder, const Values& inputs) {
    const Values results = builder.inline_graph(*both, inputs);
    return Values(results.end() - static_cast<ptrdiff_t>(wanted), results.end());
  });
}

std::string error_of(const std::function<void()>& action, ErrorKind kind) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

// ---- custom rules --------------------------------------------------------------------------------------------------

// x * x with the derivative 10 x * tangent, so that one sees which rule was used.
Value custom_square(Value x) {
  const Aval aval = x.aval();
  const GraphPtr graph = build_graph({aval}, [](Builder&, const Values& in) { return Values{in[0] * in[0]}; });
  const GraphPtr rule = build_graph({aval, aval}, [](Builder&, const Values& in) {
    return Values{in[0] * in[0], full_like(in[0], 10) * in[0] * in[1]};
  });
  return custom_jvp_call(*x.builder, {graph, rule}, {x})[0];
}

// sin(w x) with the cotangents 3 and 5 times the true ones; w is a scalar.
Value custom_wave(Value w, Value x) {
  const auto wave = [](Value scale, Value at) { return sin(broadcast_scalar(scale, at.shape()) * at); };
  const std::vector<Aval> avals{w.aval(), x.aval()};
  const GraphPtr graph = build_graph(avals, [&](Builder&, const Values& in) { return Values{wave(in[0], in[1])}; });
  const GraphPtr forward = build_graph(avals, [&](Builder& builder, const Values& in) {
    return Values{wave(in[0], in[1]), in[0], in[1], full_integer(builder, kIndex, 3)};
  });
  const GraphPtr backward = build_graph({avals[0], avals[1], kIndex, avals[1]}, [](Builder&, const Values& in) {
    const Value scale = broadcast_scalar(in[0], in[1].shape());
    const Value slope = cos(scale * in[1]) * in[3];
    const Value three = convert(in[2], DType::kFloat64);
    return Values{three * total(slope * in[1]), full_like(slope, 5) * slope * scale};
  });
  return custom_vjp_call(*x.builder, {graph, forward, backward}, {w, x})[0];
}

GraphPtr wave_loss() {
  return build_graph({kScalar, vector_of(3)},
                     [](Builder&, const Values& in) { return Values{total(custom_wave(in[0], in[1]))}; });
}

TEST(Custom, RulesAreUsed) {
  const GraphPtr square =
      build_graph({kScalar}, [](Builder&, const Values& in) { return Values{custom_square(in[0])}; });
  expect_near(run(square, {scalar(3)})[0], scalar(9));
  expect_near(run(gradient(square, {true}), {scalar(3)})[0], scalar(30));
  const Tensor x = random({3}, 1);
  const std::vector<Tensor> found = run(gradient(wave_loss(), {true, true}), {scalar(2), x});
  double by_w = 0;
  for (int64_t i = 0; i < 3; ++i) {
    const double at = load_real(x, i);
    by_w += 3 * std::cos(2 * at) * at;
    EXPECT_NEAR(load_real(found[1], i), 5 * 2 * std::cos(2 * at), 1e-12);
  }
  expect_near(found[0], scalar(by_w));
}

// The rule survives: grad of a sum over a vmap uses it, with an operand shared by all examples.
TEST(Custom, RulesSurviveVmap) {
  const GraphPtr batched = vmap(*wave_loss(), {-1, 0}, 4, {0});
  const GraphPtr loss = build_graph({kScalar, Aval(DType::kFloat64, {4, 3})}, [&](Builder& builder, const Values& in) {
    return Values{total(builder.inline_graph(*batched, in)[0])};
  });
  const Tensor x = random({4, 3}, 1);
  const std::vector<Tensor> found = run(gradient(loss, {true, true}), {scalar(2), x});
  double by_w = 0;
  for (int64_t i = 0; i < 12; ++i) {
    const double at = load_real(x, i);
    by_w += 3 * std::cos(2 * at) * at;
    EXPECT_NEAR(load_real(found[1], i), 5 * 2 * std::cos(2 * at), 1e-12);
  }
  expect_near(found[0], scalar(by_w));

  const GraphPtr each = vmap(*gradient(wave_loss(), {true, true}), {-1, 0}, 4, {0, 0});
  const std::vector<Tensor> rows = run(each, {scalar(2), x});
  expect_near(rows[1], found[1]);
  double sum = 0;
  for (int64_t i = 0; i < 4; ++i) sum += load_real(rows[0], i);
  EXPECT_NEAR(sum, by_w, 1e-12);

  const GraphPtr squares = vmap(
      *build_graph({kScalar}, [](Builder&, const Values& in) { return Values{custom_square(in[0])}; }), {0}, 3, {0});
  const GraphPtr summed = build_graph({vector_of(3)}, [&](Builder& builder, const Values& in) {
    return Values{total(builder.inline_graph(*squares, in)[0])};
  });
  expect_near(run(gradient(summed, {true}), {array(DType::kFloat64, {3}, {1, 2, 3})})[0],
              array(DType::kFloat64, {3}, {10, 20, 30}));
}

TEST(Custom, SecondDerivativesAndLoops) {
  // The second derivative differentiates the rule.
  const GraphPtr square =
      build_graph({kScalar}, [](Builder&, const Values& in) { return Values{custom_square(in[0])}; });
  expect_near(run(gradient(gradient(square, {true}), {true}), {scalar(3)})[0], scalar(10));
  // In a scan body: the product of the rules' slopes.
  const GraphPtr step = build_graph(
      {kScalar, kScalar}, [](Builder&, const Values& in) { return Values{custom_wave(in[0], custom_square(in[1]))}; });
  const GraphPtr loop = build_graph({kScalar, kScalar}, [&](Builder& builder, const Values& in) {
    return scan(builder, {step, 1, 1, 2, false}, in);
  });
  const double w = 0.7, x = 0.9;
  const double y = std::sin(w * x * x);
  const double slope_x = 5 * w * std::cos(w * x * x) * 10 * x, slope_y = 5 * w * std::cos(w * y * y) * 10 * y;
  const std::vector<Tensor> found = run(gradient(loop, {true, true}), {scalar(w), scalar(x)});
  expect_near(found[1], scalar(slope_x * slope_y));
  expect_near(found[0], scalar(3 * std::cos(w * y * y) * y * y + slope_y * 3 * std::cos(w * x * x) * x * x));
}

TEST(Custom, ForwardModeThroughCustomVjpIsAnError) {
  const JvpGraph derivative = jvp(*wave_loss(), {true, false});
  EXPECT_NE(error_of([&] { evaluate_reference(*derivative.graph, {scalar(1), random({3}, 1), scalar(1)}); },
                     ErrorKind::kNotDifferentiable)
                .find("forward-mode differentiation through a custom_vjp function"),
            std::string::npos);
}

TEST(Custom, WrongRulesAreErrors) {
  const GraphPtr graph = build_graph({kScalar}, [](Builder&, const Values& in) { return Values{in[0]}; });
  const GraphPtr wrong = build_graph(
      {kScalar, kScalar}, [](Builder&, const Values& in) { return Values{in[0], convert(in[1], DType::kFloat32)}; });
  Builder builder;
  const Value x = builder.input(kScalar);
  EXPECT_NE(error_of([&] { custom_jvp_call(builder, {graph, wrong}, {x}); }, ErrorKind::kType).find("tangent 0"),
            std::string::npos);
  EXPECT_NE(error_of([&] { custom_vjp_call(builder, {graph, graph, wrong}, {x}); }, ErrorKind::kType)
                .find("the backward rule"),
            std::string::npos);
}

// ---- signatures ----------------------------------------------------------------------------------------------------

TEST(Scan, SignatureErrors) {
  Builder builder;
  const Value x = builder.input(vector_of(3));
  const GraphPtr grows = build_graph({vector_of(3)}, [](Builder&, const Values& in) {
    return Values{concatenate({in[0], slice_axis(in[0], 0, 0, 1)}, 0)};
  });
  EXPECT_NE(error_of([&] { scan(builder, {grows, 0, 1, 5, false}, {x}); }, ErrorKind::kType)
                .find("carry 0 has type float64[3] on entry but the body returns float64[4]"),
            std::string::npos);
  const GraphPtr step = build_graph({kScalar, kScalar}, [](Builder&, const Values& in) { return in; });
  const Value carry = builder.input(kScalar);
  EXPECT_NE(error_of([&] { scan(builder, {step, 0, 1, 5, false}, {carry, x}); }, ErrorKind::kShape).find("sequence 0"),
            std::string::npos);
  EXPECT_NE(error_of([&] { cond(builder, {step, grows}, {builder.input(kIndex), carry, x}); }, ErrorKind::kType)
                .find("branch 0"),
            std::string::npos);
  EXPECT_NE(error_of([&] { while_loop(builder, {step, step, 0, 0}, {carry, carry}); }, ErrorKind::kType)
                .find("one bool scalar"),
            std::string::npos);
}

TEST(Scan, NoSteps) {
  const GraphPtr step = build_graph({vector_of(2), kScalar, kScalar}, [](Builder&, const Values& in) {
    return Values{in[1] * in[2] + total(in[0]), in[1]};
  });
  const GraphPtr graph = build_graph({vector_of(2), kScalar, vector_of(0)}, [&](Builder& builder, const Values& in) {
    const Values out = scan(builder, {step, 1, 1, 0, false}, in);
    return Values{out[0] * out[0] + total(out[1])};
  });
  const std::vector<Tensor> found =
      run(gradient(graph, {true, true, true}), {random({2}, 1), scalar(3), random({0}, 1)});
  expect_near(found[0], array(DType::kFloat64, {2}, {0, 0}));
  expect_near(found[1], scalar(6));
}

// ---- mask ----------------------------------------------------------------------------------------------------------

// A program on a vector or matrix whose leading axis is exactly `n` long, as a function of n (the bound makes the graph
// of the masked program), with a weight that is not ragged. The first output is a scalar.
struct Program {
  std::string name;
  std::function<Values(Builder&, Value weight, Value x)> body;
  bool empty = true;  // works on no rows
};

constexpr int64_t kBound = 5;
constexpr int64_t kColumns = 2;

Aval rows_of(int64_t n) { return Aval(DType::kFloat64, {n, kColumns}); }
const Aval kWeight(DType::kFloat64, {kColumns});

GraphPtr recurrent_step() {
  return build_graph({kWeight, kWeight, kWeight}, [](Builder&, const Values& in) {
    const Value next = tanh(in[0] * in[1] + in[2]);
    return Values{next, next * in[2]};
  });
}

Value rows_times(Value x, Value weight) { return x * broadcast(weight, x.shape(), {1}); }

std::vector<Program> masked_programs() {
  const auto scanned = [](bool reverse) {
    return [reverse](Builder& builder, Value weight, Value x) {
      const Values out =
          scan(builder, {recurrent_step(), 1, 1, x.shape()[0], reverse}, {weight, zeros(builder, kWeight), x});
      return Values{total(out[0]) + total(out[1] * out[1]), out[1]};
    };
  };
  std::vector<Program> programs;
  programs.push_back({"reduce", [](Builder&, Value weight, Value x) {
                        const Value y = sin(rows_times(x, weight));
                        return Values{total(y * y), y};
                      }});
  programs.push_back({"dot", [](Builder&, Value, Value x) {
                        const Value gram = dot_general(x, exp(x), {{0}, {0}, {}, {}});
                        return Values{total(sin(gram)), gram};
                      }});
  programs.push_back({"broadcast of a sum", [](Builder&, Value weight, Value x) {
                        const Value mean = total(x);
                        const Value y = x * broadcast_scalar(mean, x.shape());
                        return Values{total(exp(y * rows_times(y, weight) * full_like(y, 0.01))), y};
                      }});
  programs.push_back({"size as a value", [](Builder&, Value, Value x) {
                        const Value n = convert(dimension_size(x, 0), DType::kFloat64);
                        return Values{total(x * x) / (n + full_like(n, 1)), x};
                      }});
  programs.push_back({"concatenate", [](Builder&, Value weight, Value x) {
                        const Value more = expand_dims(weight, 0);
                        const Value y = concatenate({x, more}, 0);
                        return Values{total(y * y * y), y};
                      }});
  programs.push_back({"scan", scanned(false)});
  programs.push_back({"reversed scan", scanned(true)});
  programs.push_back({"scan over columns", [](Builder& builder, Value weight, Value x) {
                        const Value first = reduce_sum(x * full_like(x, 0), {1});
                        const Aval column = first.aval();
                        const GraphPtr step = build_graph({column, column, kScalar}, [](Builder&, const Values& in) {
                          const Value scale = broadcast_scalar(in[2] + total(in[1]), in[0].shape());
                          return Values{sin(in[0] + in[1] * scale), total(in[0] * in[1])};
                        });
                        const Ints order{1, 0};
                        const Values out =
                            scan(builder, {step, 0, 1, kColumns, false}, {first, transpose(x, order), weight});
                        return Values{total(out[0]) + total(out[1]), out[0]};
                      }});
  programs.push_back({"cond", [](Builder& builder, Value weight, Value x) {
                        const Aval aval = x.aval();
                        const GraphPtr one = build_graph({aval, kWeight}, [](Builder&, const Values& in) {
                          return Values{rows_times(in[0], in[1]), total(in[0])};
                        });
                        const GraphPtr two = build_graph({aval, kWeight}, [](Builder&, const Values& in) {
                          return Values{exp(in[0]), total(sin(in[0]))};
                        });
                        const Value choice = convert(gt(total(x), full(builder, kScalar, 0)), DType::kInt32);
                        const Values out = cond(builder, {one, two}, {choice, x, weight});
                        return Values{total(out[0]) * out[1], out[0]};
                      }});
  programs.push_back({"call", [](Builder& builder, Value weight, Value x) {
                        const GraphPtr inner = build_graph({x.aval(), kWeight}, [](Builder&, const Values& in) {
                          return Values{total(sin(rows_times(in[0], in[1])))};
                        });
                        return call(builder, inner, "inner", {x, weight});
                      }});
  programs.push_back({"custom_jvp", [](Builder&, Value weight, Value x) {
                        const Value y = custom_square(rows_times(x, weight));
                        return Values{total(y), y};
                      }});
  programs.push_back({"custom_vjp", [](Builder&, Value weight, Value x) {
                        const Value y = custom_wave(total(weight), x);
                        return Values{total(y * y), y};
                      }});
  return programs;
}

GraphPtr exact_graph(const Program& program, int64_t n) {
  return build_graph({kWeight, rows_of(n)},
                     [&](Builder& builder, const Values& in) { return program.body(builder, in[0], in[1]); });
}

// Inputs: the length, the weight, padded rows.
MaskAttrs mask_of(const GraphPtr& graph) {
  const GraphPtr with_length = build_graph({kIndex, kWeight, graph->aval(1)}, [&](Builder& builder, const Values& in) {
    return builder.inline_graph(*graph, {in[1], in[2]});
  });
  return {with_length, 1, {1, 0, 0}};
}

GraphPtr masked_graph(const GraphPtr& graph) {
  return build_graph({kIndex, kWeight, graph->aval(1)},
                     [&](Builder& builder, const Values& in) { return mask_region(builder, mask_of(graph), in); });
}

// Rows after the first n become `value`.
Tensor padded(const Tensor& x, int64_t n, double value) {
  Tensor result(x.aval());
  for (int64_t i = 0; i < x.size(); ++i) {
    store_real(result, i, i / (x.size() / x.shape()[0]) < n ? load_real(x, i) : value);
  }
  return result;
}

// `found` is as `expected`, on its valid rows where it is longer; zero after them.
void expect_valid(const Tensor& found, const Tensor& expected) {
  if (found.shape() == expected.shape()) return expect_near(found, expected, 1e-9);
  const int64_t n = expected.shape()[0];
  expect_near(window(found, 0, 0, n), expected, 1e-9);
  const Tensor rest = window(found, 0, n, found.shape()[0] - n);
  for (int64_t i = 0; i < rest.size(); ++i) EXPECT_EQ(load_real(rest, i), 0) << "padding " << i;
}

// Calls `test` for each program, length and padding.
void for_all(const std::function<void(const Program&, int64_t n, const Tensor& weight, const Tensor& exact,
                                      const Tensor& padded)>& test) {
  for (const Program& program : masked_programs()) {
    for (int64_t n = 0; n <= kBound; ++n) {
      for (const double padding : {kNan, 1e300}) {
        SCOPED_TRACE(program.name + ", n = " + std::to_string(n));
        const Tensor x = random(rows_of(kBound), 7);
        try {
          test(program, n, random(kWeight, 8), window(x, 0, 0, n), padded(x, n, padding));
        } catch (const Error& error) {
          FAIL() << error.what();
        }
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Mask, Values) {
  for_all([](const Program& program, int64_t n, const Tensor& weight, const Tensor& exact, const Tensor& x) {
    const std::vector<Tensor> expected = run(exact_graph(program, n), {weight, exact});
    const std::vector<Tensor> found = run(masked_graph(exact_graph(program, kBound)), {integer(n), weight, x});
    for (size_t k = 0; k < expected.size(); ++k) expect_valid(found[k], expected[k]);
  });
}

// Differentiating the region.
TEST(Mask, GradOfMask) {
  for_all([](const Program& program, int64_t n, const Tensor& weight, const Tensor& exact, const Tensor& x) {
    const std::vector<Tensor> expected = run(gradient(exact_graph(program, n), {true, true}), {weight, exact});
    const GraphPtr region = masked_graph(exact_graph(program, kBound));
    const std::vector<Tensor> found = run(gradient(region, {false, true, true}), {integer(n), weight, x});
    for (size_t k = 0; k < expected.size(); ++k) expect_valid(found[k], expected[k]);
  });
}

// Masking the derivative.
TEST(Mask, MaskOfGrad) {
  for_all([](const Program& program, int64_t n, const Tensor& weight, const Tensor& exact, const Tensor& x) {
    const std::vector<Tensor> expected = run(gradient(exact_graph(program, n), {true, true}), {weight, exact});
    const KeepLengths lengths;
    const GraphPtr region = masked_graph(gradient(exact_graph(program, kBound), {true, true}));
    const std::vector<Tensor> found = run(region, {integer(n), weight, x});
    for (size_t k = 0; k < expected.size(); ++k) expect_valid(found[k], expected[k]);
  });
}

// A gradient through a ragged output of the region: its cotangent is whatever on padding.
TEST(Mask, GradThroughRaggedOutputs) {
  for_all([](const Program& program, int64_t n, const Tensor& weight, const Tensor& exact, const Tensor& x) {
    const auto loss = [&](const GraphPtr& graph) {
      return build_graph(graph->input_avals(), [&](Builder& builder, const Values& in) {
        const Values out = builder.inline_graph(*graph, in);
        return Values{program.name == "call" ? out[0] : total(exp(sin(out[1])) - full_like(out[1], 1))};
      });
    };
    const std::vector<Tensor> expected = run(gradient(loss(exact_graph(program, n)), {true, true}), {weight, exact});
    const GraphPtr region = loss(masked_graph(exact_graph(program, kBound)));
    const std::vector<Tensor> found = run(gradient(region, {false, true, true}), {integer(n), weight, x});
    for (size_t k = 0; k < expected.size(); ++k) expect_valid(found[k], expected[k]);
  });
}

GraphPtr slope_norm(const GraphPtr& graph, const std::vector<bool>& wrt) {
  const GraphPtr first = gradient(graph, wrt);
  return build_graph(first->input_avals(), [&](Builder& builder, const Values& in) {
    Value sum;
    for (const Value& slope : builder.inline_graph(*first, in)) sum = add_tangents(sum, total(slope * slope));
    return Values{sum};
  });
}

TEST(Mask, GradOfGradOfMask) {
  for_all([](const Program& program, int64_t n, const Tensor& weight, const Tensor& exact, const Tensor& x) {
    const std::vector<Tensor> expected =
        run(gradient(slope_norm(exact_graph(program, n), {true, true}), {true, true}), {weight, exact});
    const GraphPtr region = slope_norm(masked_graph(exact_graph(program, kBound)), {false, true, true});
    const std::vector<Tensor> found = run(gradient(region, {false, true, true}), {integer(n), weight, x});
    for (size_t k = 0; k < expected.size(); ++k) expect_valid(found[k], expected[k]);
  });
}

double inner_product(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    for (int64_t i = 0; i < a[k].size(); ++i) sum += load_real(a[k], i) * load_real(b[k], i);
  }
  return sum;
}

// Forward mode agrees with reverse mode, and forward over reverse with reverse over reverse; tangents are NaN on
// padding.
TEST(Mask, JvpOfMaskAndOfItsGrad) {
  for_all([](const Program& program, int64_t n, const Tensor& weight, const Tensor& exact, const Tensor& x) {
    if (program.name == "custom_vjp") return;  // has no forward mode
    const Tensor by_weight = random(kWeight, 11), by_rows = random(rows_of(kBound), 12);
    const std::vector<Tensor> exact_tangents{by_weight, window(by_rows, 0, 0, n)};
    const std::vector<Tensor> inputs{integer(n), weight, x, by_weight, padded(by_rows, n, kNan)};
    const GraphPtr region = masked_graph(exact_graph(program, kBound));
    const std::vector<bool> wrt{false, true, true};
    const auto tangent = [&](const GraphPtr& graph) {
      const JvpGraph derivative = jvp(*graph, wrt, {true});
      return load_real(run(derivative.graph, inputs)[graph->outputs().size()], 0);
    };
    const double first =
        inner_product(run(gradient(exact_graph(program, n), {true, true}), {weight, exact}), exact_tangents);
    EXPECT_NEAR(tangent(region), first, 1e-9 * (1 + std::abs(first)));
    const double second =
        inner_product(run(gradient(slope_norm(exact_graph(program, n), {true, true}), {true, true}), {weight, exact}),
                      exact_tangents);
    EXPECT_NEAR(tangent(slope_norm(region, wrt)), second, 1e-9 * (1 + std::abs(second)));
  });
}

// A while loop over ragged carries, whose condition looks at them.
TEST(Mask, WhileLoops) {
  const Program program{
      "while", [](Builder& builder, Value weight, Value x) {
        const Aval aval = x.aval();
        const GraphPtr condition = build_graph({aval, kIndex}, [](Builder&, const Values& in) {
          const Value few = convert(lt(in[1], full_like(in[1], 4)), DType::kInt32);
          const Value small = convert(lt(total(in[0] * in[0]), full(*in[0].builder, kScalar, 50)), DType::kInt32);
          return Values{gt(few * small, zeros_like(few))};
        });
        const GraphPtr body = build_graph({kWeight, aval, kIndex}, [](Builder&, const Values& in) {
          return Values{in[1] + sin(rows_times(in[1], in[0])), in[2] + full_like(in[2], 1)};
        });
        const Values out = while_loop(builder, {condition, body, 0, 1}, {weight, x, zeros(builder, kIndex)});
        return Values{total(out[0]), out[0]};
      }};
  for (int64_t n = 0; n <= kBound; ++n) {
    const Tensor all = random(rows_of(kBound), 7), weight = random(kWeight, 8), slope = random(rows_of(kBound), 9);
    const auto derivative = [&](const GraphPtr& graph, std::vector<bool> wrt) {
      std::vector<bool> outputs(graph->outputs().size(), false);
      outputs[0] = outputs[1] = true;
      return jvp(*graph, wrt, outputs).graph;
    };
    const GraphPtr exact = exact_graph(program, n), masked = masked_graph(exact_graph(program, kBound));
    const std::vector<Tensor> expected =
        run(derivative(exact, {false, true}), {weight, window(all, 0, 0, n), window(slope, 0, 0, n)});
    const std::vector<Tensor> found = run(derivative(masked, {false, false, true}),
                                          {integer(n), weight, padded(all, n, kNan), padded(slope, n, kNan)});
    expect_valid(found[0], expected[0]);
    expect_valid(found[1], expected[1]);
    EXPECT_EQ(load_integer(found[2], 0), n);
    expect_valid(found[3], expected[2]);
    expect_valid(found[4], expected[3]);
  }
}

// ---- mask and vmap -------------------------------------------------------------------------------------------------

struct Batch {
  std::vector<int64_t> lengths{3, 0, 5};
  Tensor weight = random(kWeight, 8);
  Tensor rows;  // padded with NaN
  std::vector<Tensor> exact;

  Batch() {
    rows = Tensor(Aval(DType::kFloat64, {3, kBound, kColumns}));
    for (int64_t b = 0; b < 3; ++b) {
      const Tensor x = random(rows_of(kBound), 40 + static_cast<int>(b));
      exact.push_back(window(x, 0, 0, lengths[static_cast<size_t>(b)]));
      const Tensor own = padded(x, lengths[static_cast<size_t>(b)], kNan);
      for (int64_t i = 0; i < x.size(); ++i) store_real(rows, b * x.size() + i, load_real(own, i));
    }
  }
  Tensor length_array() const { return array(DType::kInt32, {3}, {3, 0, 5}); }
};

Tensor row(const Tensor& batch, int64_t position) {
  return testing_ops::without_axis(window(batch, 0, position, 1), 0);
}

TEST(MaskAndVmap, VmapOfMask) {
  const Batch batch;
  for (const Program& program : masked_programs()) {
    SCOPED_TRACE(program.name);
    const GraphPtr region = masked_graph(exact_graph(program, kBound));
    const GraphPtr batched = vmap(*region, {0, -1, 0}, 3, std::vector<int>(region->outputs().size(), 0));
    const std::vector<Tensor> found = run(batched, {batch.length_array(), batch.weight, batch.rows});
    for (int64_t b = 0; b < 3; ++b) {
      const auto i = static_cast<size_t>(b);
      const std::vector<Tensor> expected = run(exact_graph(program, batch.lengths[i]), {batch.weight, batch.exact[i]});
      for (size_t k = 0; k < expected.size(); ++k) expect_valid(row(found[k], b), expected[k]);
    }
  }
}

TEST(MaskAndVmap, VmapOfGradOfMask) {
  const Batch batch;
  for (const Program& program : masked_programs()) {
    SCOPED_TRACE(program.name);
    const GraphPtr region = gradient(masked_graph(exact_graph(program, kBound)), {false, true, true});
    const std::vector<Tensor> found =
        run(vmap(*region, {0, -1, 0}, 3, {0, 0}), {batch.length_array(), batch.weight, batch.rows});
    for (int64_t b = 0; b < 3; ++b) {
      const auto i = static_cast<size_t>(b);
      const std::vector<Tensor> expected =
          run(gradient(exact_graph(program, batch.lengths[i]), {true, true}), {batch.weight, batch.exact[i]});
      for (size_t k = 0; k < expected.size(); ++k) expect_valid(row(found[k], b), expected[k]);
    }
  }
}

// The region is kept while the batch waits outside: the weight's gradient is summed over the examples.
TEST(MaskAndVmap, GradOfVmapOfMask) {
  const Batch batch;
  for (const Program& program : masked_programs()) {
    SCOPED_TRACE(program.name);
    const GraphPtr region = masked_graph(exact_graph(program, kBound));
    const GraphPtr batched = vmap(*region, {0, -1, 0}, 3, std::vector<int>(region->outputs().size(), 0));
    const GraphPtr loss = build_graph(batched->input_avals(), [&](Builder& builder, const Values& in) {
      return Values{total(builder.inline_graph(*batched, in)[0])};
    });
    const std::vector<Tensor> found =
        run(gradient(loss, {false, true, true}), {batch.length_array(), batch.weight, batch.rows});
    std::vector<double> by_weight(kColumns, 0);
    for (int64_t b = 0; b < 3; ++b) {
      const auto i = static_cast<size_t>(b);
      const std::vector<Tensor> expected =
          run(gradient(exact_graph(program, batch.lengths[i]), {true, true}), {batch.weight, batch.exact[i]});
      for (int64_t c = 0; c < kColumns; ++c) by_weight[static_cast<size_t>(c)] += load_real(expected[0], c);
      expect_valid(row(found[1], b), expected[1]);
    }
    expect_near(found[0], array(DType::kFloat64, {kColumns}, by_weight), 1e-9);
  }
}

TEST(MaskAndVmap, VmapOfVmapOfGradOfMask) {
  const Batch batch;
  const GraphPtr region = gradient(masked_graph(exact_graph(masked_programs()[5], kBound)), {false, true, true});
  const GraphPtr inner = vmap(*region, {0, -1, 0}, 3, {0, 0});
  const GraphPtr outer = vmap(*inner, {-1, 0, -1}, 2, {0, 1});
  const Tensor weights = random(Aval(DType::kFloat64, {2, kColumns}), 9);
  const std::vector<Tensor> found = run(outer, {batch.length_array(), weights, batch.rows});
  for (int64_t w = 0; w < 2; ++w) {
    const std::vector<Tensor> expected = run(inner, {batch.length_array(), row(weights, w), batch.rows});
    expect_near(row(found[0], w), expected[0]);
    expect_near(testing_ops::without_axis(window(found[1], 1, w, 1), 1), expected[1]);
  }
}

// ---- masks in masks, errors ----------------------------------------------------------------------------------------

// The inner region's columns are ragged in the rows that the outer one measures.
TEST(Mask, MaskOfMask) {
  const GraphPtr inner = build_graph({kIndex, rows_of(kBound)},
                                     [](Builder&, const Values& in) { return Values{total(sin(in[1])), exp(in[1])}; });
  const MaskAttrs columns{inner, 1, {0, 1, 0}};
  const GraphPtr middle = build_graph({kIndex, kIndex, rows_of(kBound)}, [&](Builder& builder, const Values& in) {
    const Values out = mask_region(builder, columns, {in[1], in[2]});
    return Values{out[0] + total(out[1] * out[1]), out[1]};
  });
  const MaskAttrs rows{middle, 1, {1, 0, 0}};
  const GraphPtr outer = build_graph({kIndex, kIndex, rows_of(kBound)}, [&](Builder& builder, const Values& in) {
    return mask_region(builder, rows, in);
  });
  const GraphPtr loss = gradient(outer, {false, false, true});
  const Tensor x = random(rows_of(kBound), 3);
  for (int64_t n = 0; n <= kBound; ++n) {
    for (int64_t m = 0; m <= kColumns; ++m) {
      Tensor spoiled(x.aval());
      double expected = 0;
      for (int64_t i = 0; i < x.size(); ++i) {
        const bool valid = i / kColumns < n && i % kColumns < m;
        store_real(spoiled, i, valid ? load_real(x, i) : kNan);
        if (valid) expected += std::sin(load_real(x, i)) + std::exp(2 * load_real(x, i));
      }
      EXPECT_NEAR(load_real(run(outer, {integer(n), integer(m), spoiled})[0], 0), expected, 1e-12);
      const Tensor slope = run(loss, {integer(n), integer(m), spoiled})[0];
      for (int64_t i = 0; i < x.size(); ++i) {
        const double at = load_real(spoiled, i);
        EXPECT_NEAR(load_real(slope, i), std::isnan(at) ? 0 : std::cos(at) + 2 * std::exp(2 * at), 1e-12);
      }
    }
  }
}

TEST(Mask, LengthsThatDifferAreErrors) {
  const GraphPtr sum = build_graph({kIndex, kIndex, vector_of(4), vector_of(4)},
                                   [](Builder&, const Values& in) { return Values{in[2] + in[3]}; });
  EXPECT_NE(error_of([&] { ragged_outputs({sum, 2, {0, 0, 0, 1, 0, 1}}); }, ErrorKind::kShape).find("length"),
            std::string::npos);
}

TEST(Mask, SequencesOfDifferentLengthsAreErrors) {
  const GraphPtr step = build_graph({kScalar, kScalar, kScalar},
                                    [](Builder&, const Values& in) { return Values{in[0] + in[1] * in[2]}; });
  const GraphPtr loop = build_graph(
      {kIndex, kIndex, kScalar, vector_of(4), vector_of(4)},
      [&](Builder& builder, const Values& in) { return scan(builder, {step, 0, 1, 4, false}, {in[2], in[3], in[4]}); });
  EXPECT_NE(error_of([&] { ragged_outputs({loop, 2, {1, 0, 0, 2, 0, 1}}); }, ErrorKind::kShape).find("length"),
            std::string::npos);
}

// Each loop asks for its body's derivative several times; nested, the work must not multiply.
TEST(Nesting, DeepLoopsStayQuick) {
  GraphPtr step =
      build_graph({kScalar, kScalar}, [](Builder&, const Values& in) { return Values{in[0] * sin(in[1]), in[0]}; });
  for (int depth = 0; depth < 6; ++depth) {
    step = build_graph({kScalar, kScalar},
                       [&](Builder& builder, const Values& in) { return scan(builder, {step, 0, 2, 1, false}, in); });
  }
  const GraphPtr loss = build_graph({kScalar, kScalar}, [&](Builder& builder, const Values& in) {
    return Values{builder.inline_graph(*step, in)[0]};
  });
  const GraphPtr second = gradient(gradient(loss, {true, false}), {false, true});
  expect_near(run(second, {scalar(0.4), scalar(0.6)})[0], scalar(std::cos(0.6)));
}

}  // namespace
}  // namespace ct
