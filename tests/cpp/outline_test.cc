// Programs so large that they are cut into functions (jit/llvm/outline.h): what crosses between them, what they share.
#include <gmock/gmock.h>

#include "jit/llvm/periods.h"
#include "tests/cpp/compile_testing.h"
#include "tests/cpp/loop_testing.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// For one processor, whatever this machine has: how much code is shared depends on the length of its vectors.
std::string code_of(const GraphPtr& prepared) {
  return *jit::emit_llvm_ir(lower_prepared(*prepared, "test"),
                            {.triple = "x86_64-linux-gnu", .cpu = "x86-64-v3", .vector_bits = 0});
}

int functions_of(const GraphPtr& graph) { return count(code_of(prepare(graph)), "\ndefine "); }

int loops_of(const GraphPtr& graph) {
  const loop::Program program = lower_prepared(*prepare(graph), "test");
  int loops = 0;
  for (const loop::Statement& s : program.blocks[0].statements) loops += s.kind == loop::StatementKind::kFor;
  return loops;
}

Value constant(Value like, double value) { return full_like(like, value); }

// h <- tanh(h w + x[t]) for every row of x.
Value recurrent(Value weight, Value state, Value rows, int64_t steps) {
  for (int64_t t = 0; t < steps; ++t) {
    const Value row = slice_axis(rows, 0, t, t + 1);
    const Value product = dot_general(state, weight, {{1}, {0}, {}, {}});
    state = tanh(product + broadcast(reshape(row, {row.shape()[1]}), product.shape(), {1}));
  }
  return state;
}

GraphPtr unrolled(int64_t steps) {
  const Aval weight(DType::kFloat32, {6, 6}), state(DType::kFloat32, {3, 6}), rows(DType::kFloat32, {steps, 6});
  const GraphPtr loss = build_graph({weight, state, rows}, [&](Builder&, const Values& v) {
    const Value last = recurrent(v[0], v[1], v[2], steps);
    return Values{reduce_sum(last * last, {0, 1})};
  });
  return value_and_grad(*loss, {true, true, true});
}

std::vector<Tensor> random_inputs(const GraphPtr& graph, double low = -1, double high = 1) {
  std::mt19937 generator(3);
  std::vector<Tensor> inputs;
  for (const Aval& aval : graph->input_avals()) inputs.push_back(random_tensor(aval, generator, low, high));
  return inputs;
}

TEST(Outline, StepsOfAnUnrolledLoopShareCode) {
  const GraphPtr few = prepare(unrolled(12)), many = prepare(unrolled(96));
  expect_compiles(few, random_inputs(few), 10);
  expect_compiles(many, random_inputs(many), 50);
  // Eight times the steps are more calls, and little more code.
  const std::string of_few = code_of(few);
  const std::string of_many = code_of(many);
  EXPECT_GT(count(of_few, "\ndefine "), 1);
  EXPECT_LT(count(of_many, "@llvm.fma"), 2 * count(of_few, "@llvm.fma"));
  // Nor are the calls of a step written down for each: steps are called by the dozen. (Stores of part of a register are
  // calls, too, by their names.)
  EXPECT_LT(count(of_many, "call void @entry"), 150);
}

// A constant of its own in each step, and loops of bounded size although all of it could be one; of numbers functions
// of numbers, of whose polynomials the terms are alike, too.
TEST(Outline, StepsThatDifferInConstantsShareCode) {
  for (const Shape& shape : {Shape{8}, Shape{}}) {
    for (const auto& function : {sin, tanh}) {
      const auto steps = [&](int count) {
        return build_graph({Aval(DType::kFloat32, shape)}, [&](Builder&, const Values& v) {
          Value x = v[0];
          for (int i = 0; i < count; ++i) x = function(x) * constant(x, 0.5 + 0.25 / (i + 1));
          return Values{x};
        });
      };
      const GraphPtr few = steps(100), many = steps(800);
      expect_compiles(few, random_inputs(few), 100);
      const std::string of_few = code_of(prepare(few));
      const std::string of_many = code_of(prepare(many));
      EXPECT_LT(count(of_many, "@llvm.fma"), 2 * count(of_few, "@llvm.fma"));
    }
  }
}

// Loops of one long operation each are alike, however the operations take turns.
TEST(Outline, LongOperationsInTurnShareCode) {
  const auto in_turn = [](int count, int64_t elements) {
    return build_graph({Aval(DType::kFloat32, {elements})}, [&](Builder&, const Values& v) {
      Value x = v[0];
      for (int i = 0; i < count; ++i) {
        x = (i % 3 == 0 ? sin(x) : i % 3 == 1 ? exp(x) : tanh(x)) * constant(x, 1 + 1.0 / (i + 1));
      }
      return Values{x};
    });
  };
  const auto multiplications_of = [&](const GraphPtr& graph) { return count(code_of(prepare(graph)), "@llvm.fma"); };
  const GraphPtr many = in_turn(48, 100);
  expect_compiles(many, random_inputs(many), 10);
  EXPECT_LT(multiplications_of(many), 2 * multiplications_of(in_turn(6, 100)));
  // Of large arrays, what is stored and read again costs more than code.
  EXPECT_EQ(loops_of(in_turn(6, 1 << 16)), 1);
  EXPECT_GT(loops_of(in_turn(6, 100)), 1);
}

// Only some lanes of a vector, all, and none.
TEST(Outline, AnglesOfAnySizeSideBySide) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const GraphPtr graph =
        build_graph({Aval(dtype, {131})}, [&](Builder&, const Values& v) { return Values{sin(v[0]), cos(v[0])}; });
    for (int every : {1, 2, 7, 1000}) {
      std::vector<Tensor> inputs = random_inputs(graph);
      for (int i = every - 1; i < 131; i += every) {
        if (dtype == DType::kFloat32) {
          static_cast<float*>(inputs[0].data())[i] *= 1e30f;
        } else {
          static_cast<double*>(inputs[0].data())[i] *= 1e300;
        }
      }
      expect_compiles(graph, inputs, 1);
    }
    // A lane at a time: vectors of 128-bit products take longer to compile than all the rest.
    EXPECT_EQ(count(code_of(prepare(graph)), "x i128>"), 0);
  }
}

TEST(Outline, SmallProgramsAreOneFunction) {
  EXPECT_EQ(functions_of(build_graph({Aval(DType::kFloat32, {8})},
                                     [](Builder&, const Values& v) { return Values{tanh(v[0])}; })),
            1);
}

// As many pointers as arrays would not stay in registers until the loops that use them.
TEST(Outline, PointersAreLoadedAtTheirLoops) {
  std::vector<Aval> arrays;
  for (int64_t i = 0; i < 40; ++i) arrays.emplace_back(DType::kFloat32, std::vector<int64_t>{20 + i});
  const GraphPtr graph = build_graph(arrays, [](Builder&, const Values& v) {
    Values results;
    for (const Value& each : v) {
      const Value half = constant(each, 0.5);
      const Value of_ten_kinds[] = {abs(each), each * each,     each * half,     each + half, half - each,
                                    neg(each), min(each, half), max(each, half), each - half, each / half};
      results.push_back(of_ten_kinds[results.size() % 10]);
    }
    return results;
  });
  expect_compiles(prepare(graph), random_inputs(graph), 1);
  const std::string text = code_of(prepare(graph));
  const size_t entry = text.find("\nentry:");
  EXPECT_LT(count(text.substr(entry, text.find("\nloop:", entry) - entry), "load ptr"), 4);
}

// An optimiser's step over weights of many shapes.
TEST(Outline, ElementwiseLoopsOfAnyExtentShareCode) {
  const auto step = [](int64_t leaves) {
    std::vector<Aval> arrays(1, Aval(DType::kFloat32, {}));
    for (int64_t i = 0; i < 2 * leaves; ++i) arrays.emplace_back(DType::kFloat32, std::vector<int64_t>{1 + i / 2});
    return build_graph(arrays, [](Builder&, const Values& v) {
      Values results;
      for (size_t i = 1; i < v.size(); i += 2) results.push_back(v[i] - broadcast(v[0], v[i].shape(), {}) * v[i + 1]);
      return results;
    });
  };
  // In a program that is large, and in one that is not; a single element and less than a vector are among them.
  for (int64_t leaves : {20, 100}) {
    const GraphPtr graph = step(leaves);
    expect_compiles(prepare(graph), random_inputs(graph), 1);
    EXPECT_LT(count(code_of(prepare(graph)), " fmul "), 16) << leaves;
  }
  // Pieces of an array that begin anywhere, some of them long enough for threads.
  const int64_t ends[] = {3, 50, 117, 200, 299, 400, 464, 591, 700, 817, 964, 100'000};
  const GraphPtr pieces = build_graph({Aval(DType::kFloat32, {100'000})}, [&](Builder&, const Values& v) {
    Values results;
    int64_t begin = 0;
    for (int64_t end : ends) {
      const Value piece = slice_axis(v[0], 0, begin, end);
      results.push_back(piece * piece);
      begin = end;
    }
    return results;
  });
  expect_compiles(prepare(pieces), random_inputs(pieces), 1);
}

TEST(Outline, ScalarsCrossBetweenFunctions) {
  const Aval x(DType::kFloat64, {}), n(DType::kInt32, {}), p(DType::kBool, {});
  const GraphPtr graph = build_graph({x, n, p}, [](Builder&, const Values& v) {
    Value x = v[0], n = v[1], p = v[2];
    const Value first = sin(x);
    Values kept;
    for (int i = 0; i < 60; ++i) {
      x = sin(x * constant(x, 1.01)) + cos(x);
      n = n * constant(n, 3) + constant(n, i);
      p = bit_xor(p, lt(x, constant(x, 0.5)));
      if (i % 7 == 0) kept.push_back(x);
    }
    // Every kind of value, used long after it was made.
    Value sum = first;
    for (const Value& one : kept) sum = sum + one * x;
    return Values{sum, n, p, select(p, sum, x)};
  });
  EXPECT_GT(functions_of(graph), 4);
  expect_compiles(prepare(graph), random_inputs(graph), 100);
}

TEST(Outline, BodiesOfLoopsAndBranchesAreCut) {
  const Aval state(DType::kFloat32, {3, 6}), weight(DType::kFloat32, {6, 6}), rows(DType::kFloat32, {5, 6});
  const Aval counter(DType::kInt32, {});
  const auto large = [](Value state, Value weight, Value rows) {
    for (int i = 0; i < 3; ++i) {
      state = recurrent(weight, state, rows, 5);
      state = state - cumsum(sin(state * constant(state, i + 0.5)), i % 2, false);
    }
    return state;
  };
  const GraphPtr body = build_graph({weight, rows, counter, state, state}, [&](Builder&, const Values& v) {
    const Value next = large(v[3], v[0], v[1]);
    return Values{v[2] + constant(v[2], 1), next, v[3] + next};  // one carry is the other's last value: they swap
  });
  const GraphPtr condition = build_graph(
      {counter, state, state}, [&](Builder&, const Values& v) { return Values{lt(v[0], constant(v[0], 4))}; });
  const GraphPtr looped = build_graph({weight, rows, counter, state, state}, [&](Builder& b, const Values& v) {
    return while_loop(b, {condition, body, 0, 2}, v);
  });
  EXPECT_GT(functions_of(looped), 3);
  std::vector<Tensor> inputs = random_inputs(looped);
  store_integer(inputs[2], 0, 0);
  expect_compiles(prepare(looped), inputs, 50);

  const GraphPtr scanned = build_graph({weight, state, rows, counter}, [&](Builder& b, const Values& v) {
    const Aval none(DType::kFloat32, {5, 0});
    const GraphPtr step = build_graph({weight, rows, counter, state}, [&](Builder& inner, const Values& u) {
      const GraphPtr one = build_graph({state, weight, rows},
                                       [&](Builder&, const Values& w) { return Values{large(w[0], w[1], w[2])}; });
      const GraphPtr other =
          build_graph({state, weight, rows}, [&](Builder&, const Values& w) { return Values{w[0] * w[0]}; });
      const Value next = cond(inner, {one, other}, {u[2], u[3], u[0], u[1]})[0];
      return Values{next, reduce_sum(next, {0})};
    });
    return scan(b, {step, 3, 1, 3, false}, {v[0], v[2], v[3], v[1]});
  });
  EXPECT_GT(functions_of(scanned), 3);
  for (int branch : {0, 1}) {
    inputs = random_inputs(scanned);
    store_integer(inputs[3], 0, branch);
    expect_compiles(prepare(scanned), inputs, 50);
  }
}

TEST(Outline, RealAndImaginaryPartsAreNotTheSame) {
  const Aval x(DType::kComplex64, {37}), y(DType::kFloat32, {37});
  const GraphPtr graph = build_graph({x, y}, [](Builder&, const Values& v) {
    Values results;
    Value z = v[0], sum = v[1];
    for (int i = 0; i < 12; ++i) {
      const Value part = i % 2 == 0 ? real(z) : imag(z);
      sum = cumsum(tanh(part) + sum, 0, false) * constant(sum, 0.5);
      results.push_back(sum);
    }
    return results;
  });
  expect_compiles(prepare(graph), random_inputs(graph), 100);
}

}  // namespace

namespace loop {
namespace {

// Sums of one table at many places, and the results of loops that share code. Where every step is like the one before
// steps share code, too; else it is more than a module's worth.
void sum_table(bool regular) {
  constexpr int64_t kLength = 3000, kSums = 120;
  const auto terms = [&](int64_t s) { return regular ? 8 : 8 + (s * 7919 % 104729) % 5; };
  std::vector<float> table(kLength);
  for (int64_t i = 0; i < kLength; ++i) table[static_cast<size_t>(i)] = static_cast<float>(i % 17) - 8;
  Builder b("tables");
  const BufferId in = b.input(DType::kFloat32, kLength + kSums), out = b.output(DType::kFloat32, kSums + 1);
  const BufferId numbers = b.constant_buffer(
      DType::kFloat32, kLength, std::string(reinterpret_cast<const char*>(table.data()), table.size() * sizeof(float)));
  Scalar before = b.constant(DType::kFloat32, 0);
  Scalar total = before;
  for (int64_t s = 0; s < kSums; ++s) {
    const Scalar scale = b.convert(b.constant(DType::kInt32, s % 3), DType::kFloat32);
    const Scalar start = before;
    before = b.reduce(kLength, {.vectorize = true}, ScalarOp::kAdd, start, [&](ct::loop::Index i) {
      Scalar value = b.load(in, i + s);
      for (int64_t k = 0; k < terms(s); ++k)
        value = b.fma(value, b.load(numbers, i), b.apply(ScalarOp::kMax, value, scale));
      return value;
    });
    before = b.apply(ScalarOp::kMin, before, b.constant(DType::kFloat32, 1e3));
    b.store(out, s, before);
    total = b.apply(ScalarOp::kAdd, total, before);
  }
  b.store(out, kSums, total);
  const Program program = b.finish();
  std::vector<float> x(kLength + kSums, 0.25f), expected(kSums + 1), actual(kSums + 1);
  double carried = 0, sum = 0;
  for (int64_t s = 0; s < kSums; ++s) {
    for (int64_t i = 0; i < kLength; ++i) {
      double value = x[static_cast<size_t>(i + s)];
      for (int k = 0; k < terms(s); ++k) {
        value = value * table[static_cast<size_t>(i)] + std::max(value, static_cast<double>(s % 3));
      }
      carried += value;
    }
    carried = std::min(carried, 1e3);
    expected[static_cast<size_t>(s)] = static_cast<float>(carried);
    sum += carried;
  }
  expected[kSums] = static_cast<float>(sum);
  for (const jit::TargetOptions& target : test_targets()) {
    Runner(program, target)({x.data()}, {actual.data()});
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(actual[i], expected[i], 1e-3 * std::abs(expected[i]) + 1e-3) << target.cpu << " " << i;
    }
    const auto object = jit::emit_object(program, "tables", target);
    ASSERT_TRUE(object.ok());
    EXPECT_GT(object->codes.size(), regular ? 0u : 1u);
    // The same bytes however many threads took part, and the table once.
    const auto again = jit::emit_object(program, "tables", target);
    EXPECT_EQ(object->codes, again->codes);
    size_t bytes = 0;
    for (const Code& code : object->codes) bytes += code.bytes.size();
    EXPECT_LT(bytes, 2 * kLength * sizeof(float) + 60'000);
  }
}

TEST(Outline, TablesAndResults) { sum_table(false); }
TEST(Outline, TablesAndResultsOfEqualSteps) { sum_table(true); }

// What steps compute is needed by the next one and again after all of them: by then other steps ran the same code.
TEST(Outline, ResultsOfEqualStepsAreKept) {
  constexpr int64_t kLength = 64, kSteps = 60;
  Builder b("kept");
  const BufferId in = b.input(DType::kFloat32, kLength + kSteps), out = b.output(DType::kFloat32, 2 * kSteps);
  const BufferId other = b.input(DType::kFloat32, kLength), between = b.temporary(DType::kFloat32, kSteps * kLength, 0);
  std::vector<Scalar> kept, signs;
  Scalar last = b.constant(DType::kFloat32, 1);
  for (int64_t s = 0; s < kSteps; ++s) {
    const Scalar start = last;
    b.for_each(kLength, {.vectorize = true, .parallel = true}, [&](ct::loop::Index i) {
      Scalar value = b.apply(ScalarOp::kMul, b.load(in, i + s), start);
      for (int k = 0; k < 12; ++k) value = b.fma(value, b.load(other, i), b.apply(ScalarOp::kMax, value, start));
      b.store(between, i + s * kLength, value);
    });
    last = b.reduce(kLength, {.vectorize = true}, ScalarOp::kMax, start, [&](ct::loop::Index i) {
      Scalar value = b.load(between, i + s * kLength);
      for (int k = 0; k < 12; ++k) value = b.fma(value, b.load(other, i), b.load(between, i + s * kLength));
      return value;
    });
    signs.push_back(b.apply(ScalarOp::kLt, last, b.load(in, s)));
    last = b.apply(ScalarOp::kMin, last, b.constant(DType::kFloat32, 1.5));
    last = b.apply(ScalarOp::kMax, last, b.load(in, s));
    kept.push_back(last);
  }
  for (int64_t s = 0; s < kSteps; ++s) {
    b.store(out, s, b.apply(ScalarOp::kAdd, kept[static_cast<size_t>(s)], last));
    b.store(out, s + kSteps,
            b.select(signs[static_cast<size_t>(s)], kept[static_cast<size_t>(s)], b.constant(DType::kFloat32, 9)));
  }
  const Program program = b.finish();
  std::vector<float> x(kLength + kSteps), y(kLength), expected(2 * kSteps), actual(2 * kSteps);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 100) / 100 - 0.3f;
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i * 11 % 50) / 100 - 0.2f;
  std::vector<float> numbers;
  std::vector<bool> less;
  float carried = 1;
  for (size_t s = 0; s < kSteps; ++s) {
    float greatest = carried;
    for (size_t i = 0; i < kLength; ++i) {
      float value = x[i + s] * carried;
      for (int k = 0; k < 12; ++k) value = std::fma(value, y[i], std::max(value, carried));
      const float stored = value;
      for (int k = 0; k < 12; ++k) value = std::fma(value, y[i], stored);
      greatest = std::max(greatest, value);
    }
    less.push_back(greatest < x[s]);
    carried = std::max(std::min(greatest, 1.5f), x[s]);
    numbers.push_back(carried);
  }
  for (size_t s = 0; s < kSteps; ++s) {
    expected[s] = numbers[s] + numbers.back();
    expected[s + kSteps] = less[s] ? numbers[s] : 9;
  }
  for (const jit::TargetOptions& target : test_targets()) {
    Runner(program, target)({x.data(), y.data()}, {actual.data()});
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(actual[i], expected[i], 1e-4 * std::abs(expected[i])) << target.cpu << " " << i;
    }
    EXPECT_LT(count(*jit::emit_llvm_ir(program, target), "call void @"), 80);
  }
}

TEST(Outline, PeriodicRuns) {
  const auto runs = [](const std::vector<uint64_t>& tokens) {
    return jit::find_periodic_runs(tokens, std::vector<int64_t>(tokens.size(), 1));
  };
  using Runs = std::vector<jit::PeriodicRun>;
  EXPECT_EQ(runs({}), Runs{});
  EXPECT_EQ(runs({1, 2, 3, 4}), Runs{});
  EXPECT_EQ(runs({1, 1, 1, 1}), (Runs{{0, 1, 4}}));
  EXPECT_EQ(runs({0, 0, 0, 0}), Runs{});  // like no other
  EXPECT_EQ(runs({9, 1, 2, 1, 2, 1, 2, 8}), (Runs{{1, 2, 3}}));
  EXPECT_EQ(runs({1, 2, 1, 3, 1, 2, 1, 3, 1, 2, 1}), (Runs{{0, 4, 2}}));
  // Two kinds of layers, one after the other.
  EXPECT_EQ(runs({1, 2, 3, 1, 2, 3, 1, 2, 3, 7, 4, 5, 4, 5, 4, 5}), (Runs{{0, 3, 3}, {10, 2, 3}}));
}

}  // namespace
}  // namespace loop
}  // namespace ct
