// Capture: recording, nesting, closure conversion, concrete shadows, raggedness, and what happens to tracers that
// escape.
#include "interpreter/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "interpreter/evaluate.h"
#include "ir/combinators.h"
#include "ir/masking.h"
#include "ir/ops.h"

namespace ct {
namespace {

using ::testing::HasSubstr;

const Aval kVector(DType::kFloat32, {3});
const Aval kLength(DType::kInt32, {});

Tensor vector_of(std::initializer_list<float> values) {
  Tensor result(Aval(DType::kFloat32, {static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), result.as<float>());
  return result;
}

std::vector<float> values_of(const Tensor& tensor) {
  return std::vector<float>(tensor.as<float>(), tensor.as<float>() + tensor.size());
}

Datum call_op(std::string_view op, std::vector<Datum> operands, std::vector<Attrs::Item> attrs = {}) {
  return ct::bind(get_primitive(op), operands, Attrs::make(std::move(attrs)))[0];
}
Datum operator+(const Datum& x, const Datum& y) { return call_op("add", {x, y}); }
Datum operator*(const Datum& x, const Datum& y) { return call_op("mul", {x, y}); }
Datum sum(const Datum& x) { return call_op("reduce_sum", {x}, {{"axes", Ints{0}}}); }

template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::kInternal, "no error");
}

// Every test must leave the thread without a capture.
class Trace : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(current_capture(), nullptr); }
};

TEST_F(Trace, EagerWithoutCapture) {
  const Datum result = Datum(vector_of({1, 2, 3})) + vector_of({1, 1, 1});
  EXPECT_EQ(values_of(std::get<Tensor>(result)), (std::vector<float>{2, 3, 4}));
}

TEST_F(Trace, RecordsAndFreezes) {
  const auto capture = Capture::begin({CaptureMode::kJit, "f", false});
  EXPECT_EQ(current_capture(), capture);
  const Datum x = capture->add_input(kVector, "x");
  const Datum y = x * x + x;
  EXPECT_TRUE(datum_aval(y) == kVector);
  const Capture::Result result = capture->finish({y, x});
  EXPECT_EQ(result.graph->num_inputs(), 1u);
  EXPECT_EQ(result.graph->equations().size(), 2u);
  EXPECT_TRUE(result.captured.empty());
  EXPECT_EQ(values_of(evaluate(*result.graph, {vector_of({1, 2, 3})})[0]), (std::vector<float>{2, 6, 12}));
}

TEST_F(Trace, TensorsBecomeInputsOncePerBuffer) {
  const auto capture = Capture::begin({CaptureMode::kJit, "f", false});
  const Datum x = capture->add_input(kVector, "x");
  const Tensor weights = vector_of({1, 2, 3});
  const Tensor same = weights;
  const Tensor other = vector_of({1, 2, 3});
  const Datum y = (x * weights + same) * other;
  const Capture::Result result = capture->finish({y, weights});
  ASSERT_EQ(result.captured.size(), 2u);
  EXPECT_EQ(std::get<Tensor>(result.captured[0]).data(), weights.data());
  EXPECT_EQ(std::get<Tensor>(result.captured[1]).data(), other.data());
  EXPECT_EQ(result.graph->num_inputs(), 3u);
  EXPECT_EQ(values_of(evaluate(*result.graph, {vector_of({1, 1, 1}), weights, other})[0]),
            (std::vector<float>{2, 8, 18}));
}

TEST_F(Trace, TheGraphDoesNotDependOnCapturedData) {
  const auto build = [](const Tensor& weights) {
    const auto capture = Capture::begin({CaptureMode::kJit, "f", false});
    const Datum x = capture->add_input(kVector, "x");
    return capture->finish({x * weights}).graph;
  };
  EXPECT_TRUE(same_graph(*build(vector_of({1, 2, 3})), *build(vector_of({4, 5, 6}))));
}

TEST_F(Trace, NestedCapturesConvertClosures) {
  const auto outer = Capture::begin({CaptureMode::kTransform, "outer", false});
  const Datum x = outer->add_input(kVector, "x");
  const Datum doubled = x + x;
  const auto middle = Capture::begin({CaptureMode::kTransform, "middle", false});
  const Datum y = middle->add_input(kVector, "y");
  const auto inner = Capture::begin({CaptureMode::kTransform, "inner", false});
  const Datum z = inner->add_input(kVector, "z");
  // Uses a value of every level; one of the outermost twice.
  const Datum value = z * y + doubled + doubled * x;
  const Capture::Result inner_result = inner->finish({value});
  ASSERT_EQ(inner_result.captured.size(), 3u);

  std::vector<Datum> operands{y};
  operands.insert(operands.end(), inner_result.captured.begin(), inner_result.captured.end());
  const std::vector<Datum> inlined = bind_graph(inner_result.graph, operands);
  const Capture::Result middle_result = middle->finish(inlined);
  ASSERT_EQ(middle_result.captured.size(), 2u);
  for (const Datum& captured : middle_result.captured) EXPECT_EQ(std::get<Traced>(captured).capture, outer);

  operands = {x};
  operands.insert(operands.end(), middle_result.captured.begin(), middle_result.captured.end());
  const Capture::Result outer_result = outer->finish(bind_graph(middle_result.graph, operands));
  EXPECT_TRUE(outer_result.captured.empty());
  // x*x + 2x + 2x*x
  EXPECT_EQ(values_of(evaluate(*outer_result.graph, {vector_of({1, 2, 3})})[0]), (std::vector<float>{5, 16, 33}));
}

TEST_F(Trace, BindGraphRunsEagerly) {
  const GraphPtr graph = build_graph({kVector}, [](Builder&, const Values& x) { return Values{x[0] * x[0]}; });
  const std::vector<Datum> results = bind_graph(graph, {Datum(vector_of({1, 2, 3}))});
  EXPECT_EQ(values_of(std::get<Tensor>(results[0])), (std::vector<float>{1, 4, 9}));

  static int runs;
  runs = 0;
  set_eager_graph_runner([](const GraphPtr& g, absl::Span<const Tensor> inputs) {
    ++runs;
    return evaluate(*g, inputs);
  });
  bind_graph(graph, {Datum(vector_of({1, 2, 3}))});
  set_eager_graph_runner(nullptr);
  EXPECT_EQ(runs, 1);
}

TEST_F(Trace, ConcreteShadowOfNestedCaptures) {
  const auto outer = Capture::begin({CaptureMode::kTransform, "outer", true});
  const Datum x = outer->add_input(kVector, "x", Datum(vector_of({1, 2, 3})));
  const Datum squares = x * x;
  EXPECT_EQ(values_of(concrete(squares)), (std::vector<float>{1, 4, 9}));
  const auto inner = Capture::begin({CaptureMode::kTransform, "inner", true});
  const Datum y = inner->add_input(kVector, "y", squares);
  const Datum total = y + squares + vector_of({1, 1, 1});
  EXPECT_EQ(values_of(concrete(total)), (std::vector<float>{3, 9, 19}));
  EXPECT_EQ(values_of(concrete(sum(total))), (std::vector<float>{31}));
  EXPECT_EQ(current_capture(), inner);
  // Asking for values records nothing.
  EXPECT_EQ(inner->finish({total}).graph->equations().size(), 2u);
  outer->abandon();
}

TEST_F(Trace, ConcretizationErrorsNameFunctionOpAndRemedy) {
  LocationScope scope(intern_location({"train.py", 12, "loss"}));
  const auto jit = Capture::begin({CaptureMode::kJit, "step", false});
  const Datum x = jit->add_input(kVector, "x");
  const Datum total = sum(x);
  Error error = error_of([&] { concrete(total); });
  EXPECT_EQ(error.kind(), ErrorKind::kConcretization);
  EXPECT_THAT(error.what(), HasSubstr("'step'"));
  EXPECT_THAT(error.what(), HasSubstr("captured by jit"));
  EXPECT_THAT(error.what(), HasSubstr("made by 'reduce_sum'"));
  EXPECT_THAT(error.what(), HasSubstr("train.py:12"));
  EXPECT_THAT(error.what(), HasSubstr("ct.lax.cond"));
  EXPECT_THAT(error_of([&] { concrete(x); }).what(), HasSubstr("an argument"));

  // A grad inside of jit has shadows, but they end at the jit's arguments.
  const auto grad = Capture::begin({CaptureMode::kTransform, "loss", true});
  const Datum y = grad->add_input(kVector, "y", x);
  error = error_of([&] { concrete(sum(y)); });
  EXPECT_EQ(error.kind(), ErrorKind::kConcretization);
  EXPECT_THAT(error.what(), HasSubstr("captured by jit"));
  grad->abandon();
  jit->abandon();

  const auto vmap = Capture::begin({CaptureMode::kBatch, "example", false});
  const Datum row = vmap->add_input(kVector, "row");
  EXPECT_THAT(error_of([&] { concrete(row); }).what(), HasSubstr("example to example"));
  vmap->abandon();
}

TEST_F(Trace, EscapedValuesAreErrors) {
  Datum leaked;
  {
    LocationScope scope(intern_location({"model.py", 7, "f"}));
    const auto capture = Capture::begin({CaptureMode::kJit, "f", false});
    const Datum x = capture->add_input(kVector, "x");
    leaked = x * x;
    capture->finish({x});
  }
  EXPECT_TRUE(datum_aval(leaked) == kVector);
  for (int kind = 0; kind < 3; ++kind) {
    const Error error = error_of([&] {
      if (kind == 0) leaked + leaked;
      if (kind == 1) concrete(leaked);
      if (kind == 2) {
        const auto capture = Capture::begin({CaptureMode::kJit, "g", false});
        try {
          leaked + leaked;
        } catch (...) {
          capture->abandon();
          throw;
        }
      }
    });
    EXPECT_EQ(error.kind(), ErrorKind::kTracerLeak) << kind;
    EXPECT_THAT(error.what(), HasSubstr("float32[3]"));
    EXPECT_THAT(error.what(), HasSubstr("made by 'mul'"));
    EXPECT_THAT(error.what(), HasSubstr("model.py:7"));
    EXPECT_THAT(error.what(), HasSubstr("'f' by jit"));
    EXPECT_THAT(error.what(), HasSubstr("return the value"));
  }
}

TEST_F(Trace, WhatDoesNotDependOnArgumentsOutlivesVmapAndDerivatives) {
  for (const CaptureMode mode : {CaptureMode::kBatch, CaptureMode::kTransform}) {
    Datum leaked, argument;
    const Datum constant = vector_of({1, 2, 3});
    const auto outer = Capture::begin({CaptureMode::kJit, "g", false});
    const Datum w = outer->add_input(kVector, "w");
    Datum of_outer;
    {
      const auto capture = Capture::begin({mode, "f", false});
      const Datum x = capture->add_input(kVector, "x");
      argument = x * constant;
      leaked = constant * constant + constant;
      of_outer = w * constant;
      if (mode == CaptureMode::kBatch) {
        EXPECT_EQ(values_of(concrete(leaked)), (std::vector<float>{2, 6, 12}));
        EXPECT_EQ(error_of([&] { concrete(argument); }).kind(), ErrorKind::kConcretization);
      }
      capture->finish({x});
    }
    const Datum used = of_outer + leaked;
    EXPECT_EQ(error_of([&] { argument + used; }).kind(), ErrorKind::kTracerLeak);
    const auto result = outer->finish({used});
    EXPECT_EQ(result.graph->equations().size(), 2u) << result.graph->to_string();
    EXPECT_EQ(values_of(concrete(leaked)), (std::vector<float>{2, 6, 12}));
    EXPECT_EQ(values_of(concrete(leaked + leaked)), (std::vector<float>{4, 12, 24}));
    EXPECT_EQ(error_of([&] { of_outer + leaked; }).kind(), ErrorKind::kTracerLeak);
    EXPECT_EQ(error_of([&] { concrete(argument); }).kind(), ErrorKind::kTracerLeak);
  }
}

TEST_F(Trace, OutputsMayNotLeakEither) {
  Datum leaked;
  const auto first = Capture::begin({CaptureMode::kJit, "f", false});
  leaked = first->add_input(kVector, "x");
  first->abandon();
  const auto second = Capture::begin({CaptureMode::kJit, "g", false});
  EXPECT_EQ(error_of([&] { second->finish({leaked}); }).kind(), ErrorKind::kTracerLeak);
  EXPECT_TRUE(second->live());
  second->abandon();
  EXPECT_FALSE(second->live());
}

TEST_F(Trace, ValuesOfAnotherThreadAreErrors) {
  const auto capture = Capture::begin({CaptureMode::kJit, "f", false});
  const Datum x = capture->add_input(kVector, "x");
  std::thread([&] {
    EXPECT_EQ(current_capture(), nullptr);
    const auto other = Capture::begin({CaptureMode::kJit, "g", false});
    const Error error = error_of([&] { x + x; });
    EXPECT_EQ(error.kind(), ErrorKind::kTracerLeak);
    EXPECT_THAT(error.what(), HasSubstr("another thread"));
    other->abandon();
  }).join();
  capture->abandon();
}

TEST_F(Trace, AbandonEndsTheCapturesWithin) {
  const auto outer = Capture::begin({CaptureMode::kJit, "f", false});
  const auto inner = Capture::begin({CaptureMode::kJit, "g", false});
  outer->abandon();
  EXPECT_FALSE(inner->live());
  inner->abandon();  // does nothing
}

TEST_F(Trace, EagerScopeHidesTheCapture) {
  const auto capture = Capture::begin({CaptureMode::kJit, "f", false});
  {
    EagerScope eager;
    EXPECT_EQ(current_capture(), nullptr);
    EXPECT_TRUE(std::holds_alternative<Tensor>(Datum(vector_of({1})) + vector_of({2})));
  }
  EXPECT_EQ(current_capture(), capture);
  capture->abandon();
}

TEST_F(Trace, TypeErrorsLeaveTheCaptureUsable) {
  const auto capture = Capture::begin({CaptureMode::kJit, "f", false});
  const Datum x = capture->add_input(kVector, "x");
  const Error error = error_of([&] { x + vector_of({1}); });
  EXPECT_NE(error.kind(), ErrorKind::kInternal);
  EXPECT_THAT(error.what(), HasSubstr("add"));
  EXPECT_EQ(capture->finish({x + x}).graph->equations().size(), 1u);
}

// ---- mask -----------------------------------------------------------------------------------------------------------

TEST_F(Trace, RaggednessFollowsTheMaskRules) {
  const auto capture = Capture::begin({CaptureMode::kMask, "f", false});
  const Traced n = capture->add_input(kLength, "n");
  const Traced x = capture->add_ragged_input(Aval(DType::kFloat32, {5, 2}), "x", {n, std::nullopt});
  const Traced y = capture->add_input(Aval(DType::kFloat32, {5, 2}), "y");

  ASSERT_TRUE(capture->length(x, 0));
  EXPECT_EQ(capture->length(x, 0)->var, n.var);
  EXPECT_FALSE(capture->length(x, 1));
  EXPECT_FALSE(capture->length(y, 0));

  const Traced sine = std::get<Traced>(call_op("sin", {x}));
  EXPECT_EQ(capture->length(sine, 0)->var, n.var);
  const Traced turned = std::get<Traced>(call_op("transpose", {sine}, {{"permutation", Ints{1, 0}}}));
  EXPECT_FALSE(capture->length(turned, 0));
  EXPECT_EQ(capture->length(turned, 1)->var, n.var);
  const Traced total = std::get<Traced>(call_op("reduce_sum", {x}, {{"axes", Ints{0}}}));
  EXPECT_FALSE(capture->length(total, 0));
  EXPECT_EQ(capture->lengths_of(total.var).size(), 1u);

  // A length that has no name yet is read from the value, once.
  const Traced both = std::get<Traced>(call_op("concatenate", {x, x}, {{"axis", int64_t{0}}}));
  const std::optional<Traced> twice = capture->length(both, 0);
  ASSERT_TRUE(twice);
  EXPECT_NE(twice->var, n.var);
  EXPECT_EQ(capture->length(both, 0)->var, twice->var);

  // Declared by the program.
  const Traced m = std::get<Traced>(call_op("dimension_size", {y}, {{"axis", int64_t{1}}}));
  const Traced cut = std::get<Traced>(call_op("set_length", {y, m}, {{"axis", int64_t{0}}}));
  EXPECT_EQ(capture->length(cut, 0)->var, m.var);
  capture->abandon();
}

// What no rule reads as an expression is the same length when it is made in the same way: for capture, and for the
// region that the captured program becomes.
TEST_F(Trace, IntegersAreSharedAsInTheRegion) {
  const auto capture = Capture::begin({CaptureMode::kMask, "f", false});
  const Traced n = capture->add_input(kLength, "n");
  const auto rest = [&] {
    const Datum three =
        call_op("full", {}, {{"dtype", DType::kInt32}, {"shape", Ints()}, {"value", int64_t{3}}, {"weak", false}});
    return std::get<Traced>(call_op("rem", {n, three}));
  };
  const Traced once = rest(), again = rest();
  EXPECT_NE(once.var, again.var);
  EXPECT_TRUE(capture->same_sizes(once, again));
  const GraphPtr graph = capture->finish({once, again}).graph;

  Builder builder;
  const std::vector<Masked> found = mask_inline(builder, *graph, {exact(builder.input(kLength))});
  EXPECT_EQ(found[0].value, found[1].value);
  EXPECT_EQ(builder.equations().size(), 2u);
}

TEST_F(Trace, ErrorsAboutRaggednessAreThoseOfTheRegion) {
  const auto capture = Capture::begin({CaptureMode::kMask, "f", false});
  const Traced n = capture->add_input(kLength, "n");
  const Aval aval(DType::kFloat32, {4});
  const Traced x = capture->add_ragged_input(aval, "x", {n});
  const std::string captured = error_of([&] { call_op("reshape", {x}, {{"shape", Ints{2, 2}}}); }).what();
  capture->abandon();
  const GraphPtr graph = build_graph({aval}, [](Builder&, const Values& in) { return Values{reshape(in[0], {2, 2})}; });
  Builder builder;
  const Value length = builder.input(kLength);
  const std::string masked =
      error_of([&] { mask_inline(builder, *graph, {{Masked{builder.input(aval), {length}}}}); }).what();
  EXPECT_NE(captured.find("ragged axis 0 would be split"), std::string::npos) << captured;
  EXPECT_EQ(captured, masked);
}

TEST_F(Trace, RaggednessReachesNestedCaptures) {
  const auto mask = Capture::begin({CaptureMode::kMask, "f", false});
  const Traced n = mask->add_input(kLength, "n");
  const Traced x = mask->add_ragged_input(Aval(DType::kFloat32, {5}), "x", {n});
  const auto grad = Capture::begin({CaptureMode::kTransform, "g", false});
  const Traced y = grad->add_input(Aval(DType::kFloat32, {5}), "y", Datum(x));
  const Traced z = grad->add_ragged_input(Aval(DType::kFloat32, {2, 5}), "z", {std::nullopt, n});
  EXPECT_EQ(grad->length(y, 0)->capture, mask);
  EXPECT_EQ(grad->length(y, 0)->var, n.var);
  EXPECT_EQ(grad->length(z, 1)->var, n.var);
  const Traced product = std::get<Traced>(Datum(y) * x);  // lifts x
  EXPECT_EQ(grad->length(product, 0)->var, n.var);
  EXPECT_EQ(grad->length(x, 0)->var, n.var);
  const Capture::Result result = grad->finish({Datum(product)});
  EXPECT_EQ(result.captured.size(), 1u);
  const std::vector<Datum> inlined = bind_graph(result.graph, {Datum(x), Datum(Traced{mask, x.var}), Datum(x)});
  EXPECT_EQ(mask->length(std::get<Traced>(inlined[0]), 0)->var, n.var);
  mask->abandon();
}

TEST_F(Trace, RaggedErrorsComeFromTheOperation) {
  const auto capture = Capture::begin({CaptureMode::kMask, "f", false});
  const Traced n = capture->add_input(kLength, "n");
  const Traced x = capture->add_ragged_input(Aval(DType::kFloat32, {6}), "x", {n});
  const Error error = error_of([&] { call_op("reshape", {x}, {{"shape", Ints{2, 3}}}); });
  EXPECT_NE(error.kind(), ErrorKind::kInternal);
  EXPECT_THAT(error.what(), HasSubstr("reshape"));
  // The capture goes on without it.
  EXPECT_EQ(capture->length(std::get<Traced>(call_op("neg", {x})), 0)->var, n.var);
  capture->abandon();
}

}  // namespace
}  // namespace ct
