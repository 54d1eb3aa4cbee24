// Transforms of programs with sub-graphs, nested in each other: derivatives against differences, batches against loops.
#include "ir/check.h"
#include "ir/print.h"
#include "tests/cpp/op_testing.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

using testing_ops::expect_near;
using testing_ops::random;

const Aval kScalar(DType::kFloat64, {});
const Aval kVector(DType::kFloat64, {3});
const Aval kIndex(DType::kInt32, {});

std::vector<Tensor> run(const GraphPtr& graph, const std::vector<Tensor>& inputs) {
  EXPECT_EQ(check(*graph), "") << print(*graph);
  const std::vector<Tensor> result = evaluate_reference(*graph, inputs);
  // The passes of the compiler must not change what a program means.
  GraphPtr lowered = expand_regions(*graph);
  lowered = inline_calls(*lowered);
  lowered = simplify(*lowered);
  lowered = eliminate_common_subexpressions(*lowered);
  lowered = eliminate_dead_code(*lowered);
  EXPECT_EQ(check(*lowered, Stage::kLowerable), "") << print(*lowered);
  const std::vector<Tensor> again = evaluate_reference(*lowered, inputs);
  for (size_t k = 0; k < result.size(); ++k) expect_near(again[k], result[k], 1e-10);
  return result;
}
double number(const Tensor& tensor) { return load_real(tensor, 0); }
Tensor scalar(double value) { return Tensor::scalar(DType::kFloat64, value); }
Tensor index(int value) { return Tensor::scalar(DType::kInt32, value); }

GraphPtr gradient(const GraphPtr& graph, size_t input) {
  std::vector<bool> wrt(graph->num_inputs(), false);
  wrt[input] = true;
  const GraphPtr both = value_and_grad(*graph, wrt);
  Builder builder;
  Values inputs;
  for (const Aval& aval : both->input_avals()) inputs.push_back(builder.input(aval));
  return builder.finish({builder.inline_graph(*both, inputs).back()});
}

Tensor moved(const Tensor& x, int64_t element, double by) {
  Tensor result(x.aval());
  for (int64_t i = 0; i < x.size(); ++i) store_real(result, i, load_real(x, i) + (i == element ? by : 0));
  return result;
}

Tensor unit(const Aval& aval, int64_t element) {
  Tensor result(aval);
  for (int64_t i = 0; i < result.size(); ++i) store_real(result, i, i == element ? 1 : 0);
  return result;
}

// One program of every kind, with arguments and the inputs to differentiate.
struct Program {
  std::string name;
  GraphPtr graph;  // -> a scalar
  std::vector<Tensor> inputs;
  std::vector<size_t> wrt;
};

Value total(Value x) {
  Ints axes;
  for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  return reduce_sum(x, axes);
}

Program recurrence(bool reversed) {
  // h, c <- tanh(w h + x), c + 1; the slice out is h * c.
  const GraphPtr step = build_graph({kVector, kVector, kScalar, kVector}, [](Builder&, const Values& in) {
    const Value h = tanh(in[0] * in[1] + in[3]);
    return Values{h, in[2] + full_like(in[2], 1), h * broadcast_scalar(in[2], {3}), sin(in[3])};
  });
  const GraphPtr graph =
      build_graph({kVector, kVector, Aval(DType::kFloat64, {4, 3})}, [&](Builder& builder, const Values& in) {
        const Values out = scan(builder, {step, 1, 2, 4, reversed}, {in[0], in[1], full(builder, kScalar, 0), in[2]});
        return Values{total(out[0] * out[0]) + total(out[2] * out[3]) * out[1]};
      });
  return {reversed ? "scan, reversed" : "scan", graph, {random({3}, 1), random({3}, 2), random({4, 3}, 3)}, {0, 1, 2}};
}

Program branches() {
  const GraphPtr one = build_graph({kVector, kScalar}, [](Builder&, const Values& in) {
    return Values{in[0] * broadcast_scalar(in[1], {3}), in[1]};
  });
  const GraphPtr two = build_graph({kVector, kScalar}, [](Builder& builder, const Values& in) {
    return Values{sin(in[0] * in[0]), full(builder, kScalar, 2)};
  });
  const GraphPtr graph = build_graph({kVector, kScalar, kIndex}, [&](Builder& builder, const Values& in) {
    const Values out = cond(builder, {one, two}, {in[2], in[0], in[1]});
    return Values{total(out[0]) * exp(out[1])};
  });
  return {"cond", graph, {random({3}, 1), scalar(0.3), index(1)}, {0, 1}};
}

Program called() {
  const GraphPtr inner = build_graph({kVector, kScalar}, [](Builder&, const Values& in) {
    return Values{exp(in[0]), broadcast_scalar(sin(in[1]), {3}) * in[0]};
  });
  const GraphPtr graph = build_graph({kVector, kScalar}, [&](Builder& builder, const Values& in) {
    const Values out = call(builder, inner, "inner", in);
    return Values{total(out[0] * out[1])};
  });
  return {"call", graph, {random({3}, 1), scalar(0.3)}, {0, 1}};
}

Program loop() {
  const GraphPtr condition =
      build_graph({kIndex, kScalar}, [](Builder&, const Values& in) { return Values{lt(in[0], full_like(in[0], 5))}; });
  const GraphPtr body = build_graph({kScalar, kIndex, kScalar}, [](Builder&, const Values& in) {
    return Values{in[1] + full_like(in[1], 1), sin(in[2] * in[0])};
  });
  const GraphPtr graph = build_graph({kScalar, kScalar}, [&](Builder& builder, const Values& in) {
    const Values out = while_loop(builder, {condition, body, 0, 1}, {in[0], full(builder, kIndex, 0), in[1]});
    return Values{out[1] * in[0]};
  });
  return {"while", graph, {scalar(1.2), scalar(0.4)}, {0, 1}};
}

Program scan_of_cond() {
  const GraphPtr one = build_graph({kScalar}, [](Builder&, const Values& in) { return Values{sin(in[0])}; });
  const GraphPtr two = build_graph({kScalar}, [](Builder&, const Values& in) { return Values{in[0] * in[0]}; });
  const GraphPtr step = build_graph({kScalar, kScalar}, [&](Builder& builder, const Values& in) {
    const Value positive = convert(gt(in[1], full_like(in[1], 0)), DType::kInt32);
    const Value next = cond(builder, {one, two}, {positive, in[0] + in[1]})[0];
    return Values{next, next * in[1]};
  });
  const GraphPtr graph = build_graph({kScalar, Aval(DType::kFloat64, {5})}, [&](Builder& builder, const Values& in) {
    const Values out = scan(builder, {step, 0, 1, 5, false}, in);
    return Values{out[0] + total(out[1])};
  });
  return {"cond in scan", graph, {scalar(0.5), random({5}, 4)}, {0, 1}};
}

std::vector<Program> programs() {
  return {recurrence(false), recurrence(true), branches(), called(), loop(), scan_of_cond()};
}

TEST(Nesting, JvpAgainstDifferences) {
  for (const Program& program : programs()) {
    SCOPED_TRACE(program.name);
    for (size_t input : program.wrt) {
      std::vector<bool> wrt(program.inputs.size(), false);
      wrt[input] = true;
      const JvpGraph derivative = jvp(*program.graph, wrt, {true});
      for (int64_t i = 0; i < program.inputs[input].size(); ++i) {
        std::vector<Tensor> inputs = program.inputs;
        inputs.push_back(unit(program.inputs[input].aval(), i));
        const double found = number(run(derivative.graph, inputs)[1]);
        std::vector<Tensor> up = program.inputs, down = program.inputs;
        up[input] = moved(up[input], i, 1e-5);
        down[input] = moved(down[input], i, -1e-5);
        const double expected = (number(run(program.graph, up)[0]) - number(run(program.graph, down)[0])) / 2e-5;
        EXPECT_NEAR(found, expected, 1e-6 * (1 + std::abs(expected)));
      }
    }
  }
}

TEST(Nesting, GradAgainstDifferences) {
  for (const Program& program : programs()) {
    SCOPED_TRACE(program.name);
    for (size_t input : program.wrt) {
      const Tensor found = run(gradient(program.graph, input), program.inputs)[0];
      for (int64_t i = 0; i < found.size(); ++i) {
        std::vector<Tensor> up = program.inputs, down = program.inputs;
        up[input] = moved(up[input], i, 1e-5);
        down[input] = moved(down[input], i, -1e-5);
        const double expected = (number(run(program.graph, up)[0]) - number(run(program.graph, down)[0])) / 2e-5;
        EXPECT_NEAR(load_real(found, i), expected, 1e-6 * (1 + std::abs(expected)));
      }
    }
  }
}

// d/dx of sum(grad * v) against differences of it: reverse over reverse.
TEST(Nesting, GradOfGradAgainstDifferences) {
  for (const Program& program : programs()) {
    SCOPED_TRACE(program.name);
    const size_t input = program.wrt[0];
    const GraphPtr first = gradient(program.graph, input);
    Builder builder;
    Values inputs;
    for (const Aval& aval : first->input_avals()) inputs.push_back(builder.input(aval));
    const Value slope = builder.inline_graph(*first, inputs)[0];
    const GraphPtr along = builder.finish({total(slope * sin(slope))});
    const Tensor found = run(gradient(along, input), program.inputs)[0];
    for (int64_t i = 0; i < found.size(); ++i) {
      std::vector<Tensor> up = program.inputs, down = program.inputs;
      up[input] = moved(up[input], i, 1e-5);
      down[input] = moved(down[input], i, -1e-5);
      const double expected = (number(run(along, up)[0]) - number(run(along, down)[0])) / 2e-5;
      EXPECT_NEAR(load_real(found, i), expected, 1e-5 * (1 + std::abs(expected)));
    }
  }
}

Tensor row(const Tensor& batch, int64_t position) {
  Tensor result(batch.aval().with_shape(Shape(batch.shape().begin() + 1, batch.shape().end())));
  for (int64_t i = 0; i < result.size(); ++i) store_real(result, i, load_real(batch, position * result.size() + i));
  return result;
}

// Every input batched by itself, then all together.
TEST(Nesting, VmapOfGradIsALoop) {
  for (const Program& program : programs()) {
    const size_t count = program.inputs.size();
    for (size_t choice = 0; choice <= count; ++choice) {
      SCOPED_TRACE(program.name + ", input " + std::to_string(choice));
      const GraphPtr single = gradient(program.graph, program.wrt[0]);
      std::vector<int> axes(count, choice == count ? 0 : -1);
      if (choice < count) axes[choice] = 0;
      const GraphPtr batched = vmap(*single, axes, 3, {0});
      std::vector<Tensor> inputs = program.inputs;
      for (size_t i = 0; i < count; ++i) {
        if (axes[i] < 0) continue;
        Shape shape = inputs[i].shape();
        shape.insert(shape.begin(), 3);
        const Aval aval = inputs[i].aval().with_shape(shape);
        if (is_integer(aval.dtype())) {
          inputs[i] = testing_ops::array(aval.dtype(), shape, {1, 0, 1});
        } else {
          inputs[i] = random(aval, 20 + static_cast<int>(i));
        }
      }
      const Tensor out = run(batched, inputs)[0];
      for (int64_t b = 0; b < 3; ++b) {
        std::vector<Tensor> one;
        for (size_t i = 0; i < count; ++i) one.push_back(axes[i] < 0 ? inputs[i] : row(inputs[i], b));
        expect_near(row(out, b), run(single, one)[0], 1e-10);
      }
    }
  }
}

TEST(Nesting, LinearizeAgreesWithJvp) {
  for (const Program& program : programs()) {
    SCOPED_TRACE(program.name);
    std::vector<bool> wrt(program.inputs.size(), false);
    std::vector<Tensor> tangents;
    for (size_t input : program.wrt) {
      wrt[input] = true;
      tangents.push_back(random(program.inputs[input].aval(), 30 + static_cast<int>(input)));
    }
    const Linearized sheets = linearize(*program.graph, wrt);
    std::vector<Tensor> primal = run(sheets.primal, program.inputs);
    std::vector<Tensor> into(primal.begin() + 1, primal.end());
    into.insert(into.end(), tangents.begin(), tangents.end());
    std::vector<Tensor> both = program.inputs;
    both.insert(both.end(), tangents.begin(), tangents.end());
    const auto expected = run(jvp(*program.graph, wrt, {true}).graph, both);
    expect_near(primal[0], expected[0], 1e-10);
    expect_near(run(sheets.tangent, into)[0], expected[1], 1e-10);
  }
}

// A scan that carries a counter beside what it is linear in.
TEST(Nesting, TransposeTakesMixedLoopsApart) {
  const GraphPtr step = build_graph({kScalar, kScalar, kScalar}, [](Builder&, const Values& in) {
    return Values{in[0] * in[1] + in[2], in[1] + full_like(in[1], 1)};
  });
  const GraphPtr graph = build_graph({kScalar, Aval(DType::kFloat64, {4})}, [&](Builder& builder, const Values& in) {
    return scan(builder, {step, 0, 2, 4, false}, {in[0], full(builder, kScalar, 1), in[1]});
  });
  const std::vector<Tensor> out = run(transpose_graph(*graph, {true, true}), {scalar(1), scalar(5)});
  EXPECT_EQ(number(out[0]), 24);
  testing_ops::expect_near(out[1], testing_ops::vector({24, 12, 4, 1}));
}

}  // namespace
}  // namespace ct
