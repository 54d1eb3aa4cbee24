// Programs as kernels of a GPU, on the device that emulates one: results, launches, and what barriers are for.
#include <gmock/gmock.h>

#include "device/emulated/block.h"
#include "device/emulated/emulated.h"
#include "device/emulated/races.h"
#include "device/residency.h"
#include "jit/llvm/compiler.h"
#include "jit/schedule/buffers.h"
#include "tests/cpp/compile_testing.h"
#include "transforms/higher_order/higher_order.h"

namespace ct {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Before anything asks for it.
const bool races_are_checked = setenv("CT_CHECK_RACES", "1", 1) == 0;

struct Case {
  const char* name;
  Avals inputs;
  Body body;
  bool donates = false;
};

Value product(Value a, Value b) { return dot_general(a, b, {{1}, {0}, {}, {}}); }

// Gradient descent on a network of one hidden layer, by hand.
Values descend(Value w, Value v, Value x, Value y) {
  const Value hidden = tanh(product(x, w));
  const Value residual = sub(product(hidden, v), y);
  const Value one = full_like(hidden, 1), rate = full_like(v, 0.01), rate_w = full_like(w, 0.01);
  const Value dv = product(transpose(hidden, {1, 0}), residual);
  const Value dhidden = mul(product(residual, transpose(v, {1, 0})), sub(one, mul(hidden, hidden)));
  return {sub(w, mul(rate_w, product(transpose(x, {1, 0}), dhidden))), sub(v, mul(rate, dv))};
}

const Aval kRows(DType::kFloat32, {64, 100}), kW(DType::kFloat32, {20, 16}), kV(DType::kFloat32, {16, 4}),
    kA(DType::kFloat32, {80, 40}), kB(DType::kFloat32, {40, 70}), kBatch(DType::kFloat32, {9, 70, 70}),
    kX(DType::kFloat32, {32, 20}), kY(DType::kFloat32, {32, 4});

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back({"element by element", {kRows}, [](Builder&, const Values& v) { return Values{tanh(exp(v[0]))}; }});
  all.push_back({"a sum of all", {kRows}, [](Builder&, const Values& v) {
                   return Values{sub(v[0], broadcast_scalar(reduce_sum(v[0], {0, 1}), v[0].shape()))};
                 }});
  all.push_back({"two sums, one of the other", {kRows}, [](Builder&, const Values& v) {
                   const Value first = broadcast_scalar(reduce_max(v[0], {0, 1}), v[0].shape());
                   return Values{reduce_sum(exp(sub(v[0], first)), {0, 1}), first};
                 }});
  all.push_back({"a softmax of rows", {kRows}, [](Builder&, const Values& v) {
                   const Value most = broadcast(reduce_max(v[0], {1}), v[0].shape(), {0});
                   const Value e = exp(sub(v[0], most));
                   return Values{div(e, broadcast(reduce_sum(e, {1}), v[0].shape(), {0}))};
                 }});
  all.push_back(
      {"sums down columns", {kRows}, [](Builder&, const Values& v) { return Values{reduce_sum(v[0], {0})}; }});
  all.push_back({"a step of descent", {kW, kV, kX, kY}, [](Builder&, const Values& v) {
                   return descend(v[0], v[1], v[2], v[3]);
                 }});
  all.push_back({"products of tiles", {kA, kB}, [](Builder&, const Values& v) {
                   const Value first = product(v[0], v[1]);
                   return Values{product(tanh(first), transpose(first, {1, 0})), first};
                 }});
  all.push_back({"steps of descent", {kW, kV, kX, kY}, [](Builder& b, const Values& v) {
                   const GraphPtr step = build_graph(
                       {kX, kY, kW, kV}, [](Builder&, const Values& s) { return descend(s[2], s[3], s[0], s[1]); });
                   return scan(b, {step, 2, 2, 20}, {v[2], v[3], v[0], v[1]});
                 }});
  return all;
}

const Aval kLarge(DType::kFloat32, {200, 300}), kSquare(DType::kFloat32, {40, 40}), kMany(DType::kFloat32, {100}),
    kNumber(DType::kFloat32, {}), kOne(DType::kFloat32, {1});

Value scalar(Builder& b, double value) { return full(b, kNumber, value); }

// Programs of several kernels, with loops and branches around these.
std::vector<Case> large_cases() {
  std::vector<Case> all;
  all.push_back({"a sum of all, used by a large loop", {kLarge}, [](Builder&, const Values& v) {
                   const Value total = reduce_sum(exp(v[0]), {0, 1}), most = reduce_max(tanh(v[0]), {0, 1});
                   return Values{mul(tanh(v[0]), broadcast_scalar(div(total, most), v[0].shape()))};
                 }});
  all.push_back({"a batch of products", {kBatch, kBatch}, [](Builder&, const Values& v) {
                   return Values{dot_general(v[0], tanh(v[1]), {{1}, {2}, {0}, {0}})};
                 }});
  all.push_back({"products, and what is done to their elements", {kBatch, kBatch}, [](Builder&, const Values& v) {
                   const Value made = dot_general(v[0], v[1], {{2}, {1}, {0}, {0}});
                   const Value own = tanh(add(made, v[1])), of_others = exp(sub(transpose(made, {0, 2, 1}), own));
                   return Values{own, of_others, made};
                 }});
  all.push_back({"arrays that swap an odd number of times", {kSquare, kSquare, kMany}, [](Builder& b, const Values& v) {
                   const GraphPtr step = build_graph({kSquare, kSquare}, [](Builder&, const Values& s) {
                     return Values{tanh(add(mul(transpose(s[1], {1, 0}), s[0]), s[1]))};
                   });
                   const Value x = scan(b, {step, 1, 1, 5}, {v[1], v[0]})[0];
                   return Values{mul(broadcast(x, {100, 40, 40}, {1, 2}), broadcast(v[2], {100, 40, 40}, {0}))};
                 }});
  all.push_back({"a large step", {kLarge, kLarge}, [](Builder& b, const Values& v) {
                   const GraphPtr step = build_graph({kLarge, kNumber, kLarge}, [](Builder&, const Values& s) {
                     const Value x = exp(sub(reverse(s[2], {0}), broadcast_scalar(s[1], kLarge.shape())));
                     return Values{reduce_max(x, {0, 1}), tanh(add(x, s[0])), reduce_sum(x, {0})};
                   });
                   return scan(b, {step, 1, 2, 3}, {v[1], reduce_min(v[0], {0, 1}), v[0]});
                 }});
  all.push_back({"while something is small", {kLarge}, [](Builder& b, const Values& v) {
                   const GraphPtr condition = build_graph({kLarge}, [](Builder& inner, const Values& s) {
                     return Values{lt(reduce_sum(tanh(s[0]), {0, 1}), scalar(inner, 59'000))};
                   });
                   const GraphPtr body = build_graph({kLarge}, [](Builder&, const Values& s) {
                     return Values{add(exp(tanh(s[0])), reverse(s[0], {1}))};
                   });
                   return while_loop(b, {condition, body, 0, 0}, {v[0]});
                 }});
  // Once each.
  all.push_back({"one of two", {kLarge}, [](Builder& b, const Values& v) {
                   const GraphPtr step = build_graph({kNumber, kLarge, kNumber}, [](Builder& inner, const Values& s) {
                     const GraphPtr first = build_graph({kLarge}, [](Builder&, const Values& x) {
                       return Values{reduce_sum(exp(x[0]), {0, 1}), tanh(x[0])};
                     });
                     const GraphPtr second = build_graph({kLarge}, [](Builder&, const Values& x) {
                       return Values{reduce_max(x[0], {0, 1}), exp(reverse(x[0], {0}))};
                     });
                     const Value signed_most = mul(s[2], reduce_max(exp(s[1]), {0, 1}));
                     const Value taken = convert(gt(signed_most, scalar(inner, 0)), DType::kInt32);
                     return cond(inner, {first, second}, {taken, s[1]});
                   });
                   const Value signs = concatenate({full(b, kOne, -1), full(b, kOne, 1)}, 0);
                   return scan(b, {step, 0, 2, 2}, {full(b, kNumber, 0), v[0], signs});
                 }});
  return all;
}

// One loop reads an array in another order, and makes nothing that the next one needs, which writes over that array.
std::vector<Case> cases_of_two_loops() {
  std::vector<Case> all;
  all.push_back({"transposed, then written over", {kW}, [](Builder&, const Values& v) {
                   return Values{exp(transpose(v[0], {1, 0})), tanh(v[0])};
                 }});
  all.push_back({"reversed and longer, then written over", {kSquare}, [](Builder&, const Values& v) {
                   return Values{exp(concatenate({reverse(v[0], {0}), v[0]}, 0)), tanh(v[0])};
                 }});
  all.push_back({"its product, then written over", {kSquare}, [](Builder&, const Values& v) {
                   return Values{product(v[0], v[0]), tanh(v[0])};
                 }});
  all.push_back({"running sums, then written over", {kSquare}, [](Builder&, const Values& v) {
                   return Values{cumsum(v[0], 0, false), tanh(v[0])};
                 }});
  all.push_back({"in steps, then written over", {kSquare}, [](Builder& b, const Values& v) {
                   const Aval row(DType::kFloat32, {40});
                   const GraphPtr step = build_graph({row, row}, [](Builder&, const Values& s) {
                     return Values{tanh(add(s[0], reverse(s[1], {0})))};
                   });
                   return Values{scan(b, {step, 0, 1, 40}, {full(b, row, 0), v[0]})[0], exp(v[0])};
                 }});
  all.push_back({"in one of two, then written over", {kSquare, kNumber}, [](Builder& b, const Values& v) {
                   const GraphPtr first = build_graph(
                       {kSquare}, [](Builder&, const Values& x) { return Values{exp(transpose(x[0], {1, 0}))}; });
                   const GraphPtr second =
                       build_graph({kSquare}, [](Builder&, const Values& x) { return Values{tanh(x[0])}; });
                   const Value taken = convert(gt(v[1], scalar(b, 2)), DType::kInt32);
                   return Values{cond(b, {first, second}, {taken, v[0]})[0], tanh(v[0])};
                 }});
  return all;
}

// Results may be written over any of the inputs: what threads have to wait for then, and for no other reason.
std::vector<Case> donating_cases() {
  std::vector<Case> all = cases_of_two_loops();
  all.push_back({"read in another order before", {kSquare}, [](Builder&, const Values& v) {
                   return Values{reverse(v[0], {0}), tanh(v[0])};
                 }});
  all.push_back({"read in another order before, by a grid", {kLarge}, [](Builder&, const Values& v) {
                   return Values{exp(reverse(v[0], {0})), tanh(v[0])};
                 }});
  all.push_back({"a number for all, of which the next is made", {kNumber, kLarge}, [](Builder& b, const Values& v) {
                   return Values{add(v[0], scalar(b, 1)), tanh(add(v[1], broadcast_scalar(v[0], kLarge.shape()))),
                                 reduce_sum(mul(exp(v[1]), broadcast_scalar(v[0], kLarge.shape())), {1})};
                 }});
  all.push_back({"a donating step of descent", {kW, kV, kX, kY}, [](Builder&, const Values& v) {
                   return descend(v[0], v[1], v[2], v[3]);
                 }});
  all.push_back({"a large product, and a step", {kBatch, kBatch}, [](Builder&, const Values& v) {
                   const Value made = dot_general(v[0], v[1], {{2}, {1}, {0}, {0}});
                   return Values{add(v[0], tanh(made)), exp(v[1])};
                 }});
  all.push_back({"a donating loop", {kLarge, kLarge}, [](Builder& b, const Values& v) {
                   const GraphPtr step = build_graph({kLarge, kLarge}, [](Builder&, const Values& s) {
                     return Values{tanh(add(reverse(s[1], {0}), s[0]))};
                   });
                   return scan(b, {step, 1, 1, 3}, {v[1], v[0]});
                 }});
  for (Case& one : all) one.donates = true;
  return all;
}

std::vector<Case> all_cases() {
  std::vector<Case> all = cases();
  for (Case& one : large_cases()) all.push_back(std::move(one));
  for (Case& one : donating_cases()) all.push_back(std::move(one));
  return all;
}

std::vector<Tensor> arguments(const Case& one) {
  std::mt19937 generator(7);
  std::vector<Tensor> made;
  for (const Aval& aval : one.inputs) made.push_back(random_tensor(aval, generator, -1, 1));
  return made;
}

absl::StatusOr<Plan> plan_of(const GraphPtr& graph, std::string_view architecture, int64_t without = -1,
                             const Machine& machine = kGpu, bool donates = false) {
  const loop::Program program = lower_prepared(*prepare(graph, machine), "test", machine);
  const std::vector<int> donations = jit::donations(program, {std::vector<bool>(graph->num_inputs(), donates)});
  absl::StatusOr<Plan> plan = jit::emit_kernels(program, architecture, machine, donations, without);
  if (!plan.ok()) return plan;
  plan->inputs = Avals(graph->input_avals().begin(), graph->input_avals().end());
  plan->outputs = graph->output_avals();
  plan->donations = donations;
  return plan;
}

constexpr Machine kWithLibrary{.libraries = kGpu.libraries, .chunks = kGpu.chunks, .has_product_library = true};

std::vector<Tensor> run(const GraphPtr& graph, absl::Span<const Tensor> inputs, int64_t without = -1,
                        const Machine& machine = kGpu, bool donates = false) {
  const absl::StatusOr<Plan> plan = plan_of(graph, jit::kEmulated, without, machine, donates);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const absl::StatusOr<LoadedPtr> loaded = emulated_device().load(*plan);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return (**loaded)(inputs);
}

int64_t count_of(std::string_view text, std::string_view part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Gpu, ComputesWhatTheInterpreterDoes) {
  for (const Case& one : all_cases()) {
    const GraphPtr graph = build_graph(one.inputs, one.body);
    const std::vector<Tensor> expected = evaluate(*graph, arguments(one));
    std::vector<std::vector<Tensor>> found;
    for (ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kReverse, ThreadOrder::kRandom}) {
      set_thread_order(order);
      found.push_back(run(graph, arguments(one), -1, kGpu, one.donates));
    }
    set_thread_order(ThreadOrder::kForward);
    for (size_t i = 0; i < expected.size(); ++i) {
      std::string difference;
      EXPECT_TRUE(near(found[0][i], expected[i], 1e-4, &difference)) << one.name << ": " << difference;
      const auto bytes = static_cast<size_t>(expected[i].aval().bytes());
      EXPECT_EQ(std::memcmp(found[0][i].data(), found[1][i].data(), bytes), 0) << one.name;
      EXPECT_EQ(std::memcmp(found[0][i].data(), found[2][i].data(), bytes), 0) << one.name;
    }
  }
}

TEST(Gpu, SmallProgramsAreOneLaunch) {
  for (const Case& one : cases()) {
    const absl::StatusOr<Plan> plan = plan_of(build_graph(one.inputs, one.body), "sm_90");
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->blocks[0].size(), 1u) << one.name << "\n" << to_string(*plan);
    EXPECT_EQ(count_of(plan->codes[0].bytes, ".entry"), 1) << one.name;
  }
}

// A product, and what is done to its elements; the next product needs those of other threads.
TEST(Gpu, LoopsWhoseThreadsKeepTheirElementsAreOneKernel) {
  const Aval x(DType::kFloat32, {600, 64}), w(DType::kFloat32, {64, 64}), bias(DType::kFloat32, {64});
  const GraphPtr graph = build_graph({x, w, bias}, [](Builder&, const Values& v) {
    const Value hidden = product(v[0], v[1]);
    const Value active = tanh(add(hidden, broadcast(v[2], hidden.shape(), {1})));
    return Values{product(active, v[1]), active};
  });
  const absl::StatusOr<Plan> plan = plan_of(graph, "sm_90");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->blocks[0].size(), 2u) << to_string(*plan);
  std::mt19937 generator(5);
  std::vector<Tensor> inputs;
  for (const Aval& aval : {x, w, bias}) inputs.push_back(random_tensor(aval, generator, -1, 1));
  const std::vector<Tensor> expected = evaluate(*graph, inputs), found = run(graph, inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    std::string difference;
    EXPECT_TRUE(near(found[i], expected[i], 1e-4, &difference)) << difference;
  }
}

TEST(Gpu, LargeLoopsAreKernelsOfTheGrid) {
  const Aval large(DType::kFloat32, {1000, 1000});
  const GraphPtr graph = build_graph({large}, [](Builder&, const Values& v) {
    const Value total = reduce_sum(v[0], {0, 1});
    return Values{mul(tanh(v[0]), broadcast_scalar(total, v[0].shape())), total};
  });
  const absl::StatusOr<Plan> plan = plan_of(graph, "sm_90");
  ASSERT_TRUE(plan.ok());
  // Parts of the sum, what they amount to, and the products.
  ASSERT_EQ(plan->blocks[0].size(), 3u) << to_string(*plan);
  EXPECT_THAT(to_string(*plan), HasSubstr("of 256 x 256 threads"));
  EXPECT_THAT(to_string(*plan), HasSubstr("of 3907 x 256 threads"));
  std::mt19937 generator(3);
  const std::vector<Tensor> inputs = {random_tensor(large, generator)}, expected = evaluate(*graph, inputs);
  const std::vector<Tensor> found = run(graph, inputs);
  std::string difference;
  EXPECT_TRUE(near(found[0], expected[0], 1e-3, &difference)) << difference;
}

// Each barrier is there for a reason: without it two threads meet.
TEST(Gpu, EveryBarrierIsNeeded) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the emulator looks for the races itself, in one thread of the host: the sanitizer would add "
                  "minutes, and see nothing";
#endif
  int64_t removed = 0;
  for (const Case& one : all_cases()) {
    const GraphPtr graph = build_graph(one.inputs, one.body);
    const absl::StatusOr<Plan> plan = plan_of(graph, "sm_90", -1, kGpu, one.donates);
    ASSERT_TRUE(plan.ok());
    const int64_t barriers =
        count_of(plan->codes[0].bytes, "bar.sync") + count_of(plan->codes[0].bytes, "barrier.sync");
    for (int64_t number = 0; number < barriers; ++number) {
      try {
        run(graph, arguments(one), number, kGpu, one.donates);
        ADD_FAILURE() << one.name << ": nobody misses barrier " << number << " of " << barriers;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("a race: thread ")) << one.name;
      }
      ++removed;
    }
  }
  EXPECT_GE(removed, 195);
}

// For no other reason than that: EveryBarrierIsNeeded leaves these barriers out, too.
TEST(Gpu, LoopsWaitBeforeTheyWriteOverWhatOthersRead) {
  const auto barriers = [](const Plan& plan) {
    return count_of(plan.codes[0].bytes, "bar.sync") + count_of(plan.codes[0].bytes, "barrier.sync");
  };
  for (const Case& one : cases_of_two_loops()) {
    const GraphPtr graph = build_graph(one.inputs, one.body);
    const absl::StatusOr<Plan> kept = plan_of(graph, "sm_90"), donated = plan_of(graph, "sm_90", -1, kGpu, true);
    ASSERT_TRUE(kept.ok() && donated.ok());
    EXPECT_THAT(donated->donations, ElementsAre(-1, 0)) << one.name;
    EXPECT_EQ(barriers(*donated), barriers(*kept) + 1) << one.name;
  }
}

TEST(Gpu, ResultsAreWrittenOverDonatedInputs) {
  int64_t given = 0;
  for (const Case& one : donating_cases()) {
    const GraphPtr graph = build_graph(one.inputs, one.body);
    const absl::StatusOr<Plan> plan = plan_of(graph, jit::kEmulated, -1, kGpu, true);
    ASSERT_TRUE(plan.ok());
    const absl::StatusOr<LoadedPtr> loaded = emulated_device().load(*plan);
    ASSERT_TRUE(loaded.ok());
    const auto address = [](const Tensor& tensor) {
      return std::static_pointer_cast<const Resident>(tensor.buffer()->device_bytes())->address();
    };
    const std::vector<Tensor> expected = evaluate(*graph, arguments(one));
    for (const bool shared : {false, true}) {
      std::vector<Tensor> inputs = arguments(one);
      for (Tensor& input : inputs) input = put(emulated_device(), input);
      std::vector<void*> addresses;
      for (const Tensor& input : inputs) addresses.push_back(address(input));
      const std::vector<Tensor> others = shared ? inputs : std::vector<Tensor>();
      const std::vector<Tensor> found = (**loaded)(inputs);
      for (size_t i = 0; i < found.size(); ++i) {
        const int donated = plan->donations[i];
        if (donated >= 0) {
          ++given;
          EXPECT_EQ(address(found[i]) == addresses[static_cast<size_t>(donated)], !shared) << one.name;
        }
        std::string difference;
        EXPECT_TRUE(near(found[i], expected[i], 1e-4, &difference)) << one.name << ": " << difference;
      }
    }
  }
  EXPECT_GE(given, 10);  // one nest may make two results, of which each reads what the other is written over
}

TEST(Gpu, RacesBetweenThreadsAndBlocks) {
  int numbers[4] = {};
  Races races;
  races.begin_block(0);
  races.access(&numbers[0], 4, true, 0);
  races.access(&numbers[0], 4, false, 0);
  races.access(&numbers[1], 4, false, 1);
  races.access(&numbers[1], 4, false, 2);
  EXPECT_EQ(races.problem(), "");
  races.pass_barrier();
  races.access(&numbers[0], 4, true, 1);
  races.begin_block(1);
  races.access(&numbers[2], 4, true, 0);
  EXPECT_EQ(races.problem(), "");
  races.access(&numbers[1], 4, true, 0);
  EXPECT_THAT(races.problem(), HasSubstr("thread 0 of block 1 writes what another block uses"));
  Races within;
  within.begin_block(0);
  within.access(&numbers[3], 4, false, 5);
  within.access(reinterpret_cast<char*>(&numbers[3]) + 3, 1, true, 6);
  EXPECT_THAT(within.problem(), HasSubstr("thread 6 of block 0 writes what another thread of the block uses"));
}

TEST(Gpu, LargeStepsAreKernelsInLoopsAndBranches) {
  const auto text = [](std::string_view name) {
    for (const Case& one : large_cases()) {
      if (one.name != name) continue;
      const absl::StatusOr<Plan> plan = plan_of(build_graph(one.inputs, one.body), "sm_90");
      EXPECT_TRUE(plan.ok()) << plan.status().message();
      return to_string(*plan);
    }
    return std::string();
  };
  EXPECT_THAT(text("a large step"), ContainsRegex("for 3 times\n( *kernel .*\n)* *kernel kernel[0-9]+ of 235 x 256"));
  EXPECT_THAT(text("while something is small"),
              ContainsRegex("while arena.*\n( *kernel .*\n)* *kernel kernel[0-9]+ of 235"));
  EXPECT_THAT(text("one of two"), ContainsRegex("branch arena.*\n *case 0\n( *kernel .*\n)* *case 1\n"));
}

// Inputs at a place that only the program knows, and constants, are brought; results are taken there.
TEST(Gpu, CallsOfTheHostAreSteps) {
  class Doubling final : public HostTable {
   public:
    std::vector<std::string> texts() const override { return {"double"}; }
    void call(uint32_t, const void* const* inputs, void* const* outputs) const override {
      const auto *x = static_cast<const float*>(inputs[0]), *y = static_cast<const float*>(inputs[1]);
      for (int i = 0; i < 4; ++i) static_cast<float*>(outputs[0])[i] = 2 * x[i] + y[i];
    }
  };
  loop::Builder b;
  const loop::BufferId x = b.input(DType::kFloat32, 12), y = b.output(DType::kFloat32, 12);
  const float fixed[] = {100, 200, 300, 400};
  const loop::BufferId constant =
      b.constant_buffer(DType::kFloat32, 4, std::string(reinterpret_cast<const char*>(fixed), sizeof fixed));
  b.for_each(3, {}, [&](const loop::Index& i) {
    b.host_call(
        {.function = 0, .name = "double", .inputs = {{x, 4 * i, 4}, {constant, 0, 4}}, .outputs = {{y, 8 - 4 * i, 4}}});
  });
  absl::StatusOr<Plan> plan = jit::emit_kernels(b.finish(), jit::kEmulated);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  plan->inputs = plan->outputs = {Aval(DType::kFloat32, {12})};
  plan->donations = {-1};
  plan->host_functions = {"double"};
  const absl::StatusOr<LoadedPtr> loaded = emulated_device().load(*plan, std::make_shared<Doubling>());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  Tensor numbers(plan->inputs[0]);
  for (int i = 0; i < 12; ++i) static_cast<float*>(numbers.data())[i] = static_cast<float>(i);
  const std::vector<Tensor> found = (**loaded)({&numbers, 1});
  const auto* values = static_cast<const float*>(found[0].data());
  EXPECT_THAT(std::vector<float>(values, values + 12),
              ElementsAre(116, 218, 320, 422, 108, 210, 312, 414, 100, 202, 304, 406));
}

// ---- products of a library ------------------------------------------------------------------------------------------

struct Product {
  const char* name;
  Avals inputs;
  Body body;
  std::string step;  // a part of it
  size_t steps;      // of the whole plan
  double near;       // of single elements
};

// Sizes of which each is another one, so that no two strides are the same.
std::vector<Product> products() {
  const Aval a(DType::kFloat32, {160, 150}), b(DType::kFloat32, {150, 180}), bias(DType::kFloat32, {180});
  const auto as = [](const Aval& aval, DType dtype) { return Aval(dtype, aval.shape()); };
  const Body plain = [](Builder&, const Values& v) { return Values{product(v[0], v[1])}; };
  const std::string sizes = "product 160 x 180 x 150 in ";
  std::vector<Product> all;
  all.push_back({"float32",
                 {a, b},
                 plain,
                 sizes + "float32 (float32 input 0 strides 150, 1; float32 input 1 strides 180, 1) -> (float32 output "
                         "0 strides 180, 1)",
                 1,
                 1e-4});
  all.push_back({"float64",
                 {as(a, DType::kFloat64), as(b, DType::kFloat64)},
                 plain,
                 sizes + "float64 (float64 input 0 strides",
                 1,
                 1e-12});
  all.push_back({"float16",
                 {as(a, DType::kFloat16), as(b, DType::kFloat16)},
                 plain,
                 sizes + "float32 (float16 input 0 strides",
                 1,
                 2e-2});
  all.push_back({"bfloat16",
                 {as(a, DType::kBFloat16), as(b, DType::kBFloat16)},
                 plain,
                 sizes + "float32 (bfloat16 input 0 strides",
                 1,
                 1e-1});
  all.push_back({"the first transposed",
                 {Aval(DType::kFloat32, {150, 160}), b},
                 [](Builder&, const Values& v) { return Values{dot_general(v[0], v[1], {{0}, {0}, {}, {}})}; },
                 "(float32 input 0 strides 1, 160; float32 input 1 strides 180, 1)",
                 1,
                 1e-4});
  all.push_back({"the second transposed",
                 {a, Aval(DType::kFloat32, {180, 150})},
                 [](Builder&, const Values& v) { return Values{dot_general(v[0], v[1], {{1}, {1}, {}, {}})}; },
                 "(float32 input 0 strides 150, 1; float32 input 1 strides 1, 150)",
                 1,
                 1e-4});
  all.push_back({"with more to do for its elements",
                 {a, b, bias},
                 [](Builder&, const Values& v) {
                   const Value made = product(v[0], v[1]);
                   return Values{tanh(add(made, broadcast(v[2], made.shape(), {1})))};
                 },
                 sizes,
                 2,
                 1e-4});
  all.push_back({"a batch",
                 {Aval(DType::kFloat32, {6, 90, 100}), Aval(DType::kFloat32, {6, 100, 110})},
                 [](Builder&, const Values& v) { return Values{dot_general(v[0], v[1], {{2}, {1}, {0}, {0}})}; },
                 "product 6 of 90 x 110 x 100 in float32 (float32 input 0 strides 100, 1 each 9000; float32 input 1 "
                 "strides 110, 1 each 11000) -> (float32 output 0 strides 110, 1 each 9900)",
                 1,
                 1e-4});
  all.push_back({"a batch in two axes",
                 {Aval(DType::kFloat32, {2, 3, 90, 100}), Aval(DType::kFloat32, {2, 3, 100, 110})},
                 [](Builder&, const Values& v) { return Values{dot_general(v[0], v[1], {{3}, {2}, {0, 1}, {0, 1}})}; },
                 "product 6 of 90 x 110 x 100",
                 1,
                 1e-4});
  // Heads inside of positions, as in attention: a batch of heads for each sequence.
  all.push_back({"a batch of batches",
                 {Aval(DType::kFloat32, {2, 160, 3, 90}), Aval(DType::kFloat32, {2, 170, 3, 90})},
                 [](Builder&, const Values& v) { return Values{dot_general(v[0], v[1], {{3}, {3}, {0, 2}, {0, 2}})}; },
                 "product 3 of 160 x 170 x 90 in float32 (float32 input 0+172800 strides 270, 1 each 90; float32 input "
                 "1+183600 strides 1, 270 each 90) -> (float32 output 0+326400 strides 170, 1 each 27200)",
                 2,
                 1e-4});
  all.push_back({"in a loop",
                 {a, Aval(DType::kFloat32, {150, 160}), Aval(DType::kFloat32, {160, 180})},
                 [](Builder& outer, const Values& v) {
                   const GraphPtr step =
                       build_graph({Aval(DType::kFloat32, {160, 150}), Aval(DType::kFloat32, {150, 160}),
                                    Aval(DType::kFloat32, {160, 180})},
                                   [](Builder&, const Values& s) {
                                     const Value made = product(s[0], product(s[1], s[2]));
                                     return Values{tanh(mul(made, full_like(made, 0.01)))};
                                   });
                   return scan(outer, {step, 2, 1, 3}, {v[0], v[1], v[2]});
                 },
                 "product 150 x 180 x 160",
                 0,
                 1e-3});
  return all;
}

TEST(Gpu, LargeProductsAreALibrarys) {
  for (const Product& one : products()) {
    SCOPED_TRACE(one.name);
    const GraphPtr graph = build_graph(one.inputs, one.body);
    const absl::StatusOr<Plan> with = plan_of(graph, "sm_90", -1, kWithLibrary), without = plan_of(graph, "sm_90");
    ASSERT_TRUE(with.ok() && without.ok());
    EXPECT_THAT(to_string(*with), HasSubstr(one.step));
    EXPECT_THAT(to_string(*without), Not(HasSubstr("product ")));
    if (one.steps != 0) {
      EXPECT_EQ(with->blocks[0].size(), one.steps) << to_string(*with);
    }
    std::mt19937 generator(5);
    std::vector<Tensor> inputs;
    for (const Aval& aval : one.inputs) inputs.push_back(random_tensor(aval, generator, -1, 1));
    const std::vector<Tensor> expected = evaluate(*graph, inputs), found = run(graph, inputs, -1, kWithLibrary);
    std::string difference;
    EXPECT_TRUE(near(found[0], expected[0], one.near, &difference)) << difference;
  }
}

// Loops by hand: sums that go on, matrices inside of larger ones, offsets, a result that lies the other way round.
TEST(Gpu, ProductsOfALibraryAddToPartsOfArrays) {
  constexpr int64_t kM = 170, kN = 160, kK = 155, kPitch = 200;
  loop::Builder b;
  const loop::BufferId x = b.input(DType::kFloat32, 7 + kM * kPitch), y = b.input(DType::kFloat32, kN * kK),
                       z = b.output(DType::kFloat32, kN * kPitch);
  b.fill(z, 0, kN * kPitch, b.constant(DType::kFloat32, 0));
  for (int time = 0; time < 2; ++time) {
    b.gemm({kM, kN, kK, {x, 7, kPitch, 1}, {y, 0, 1, kK}, {z, 20, 1, kPitch}, true, kM, kN, kK});
  }
  absl::StatusOr<Plan> plan = jit::emit_kernels(b.finish(), jit::kEmulated, kWithLibrary);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(count_of(to_string(*plan),
                     "(float32 input 0+28 strides 200, 1; float32 input 1 strides 1, 155) added to "
                     "(float32 output 0+80 strides 1, 200)"),
            2)
      << to_string(*plan);
  plan->inputs = {Aval(DType::kFloat32, {7 + kM * kPitch}), Aval(DType::kFloat32, {kN * kK})};
  plan->outputs = {Aval(DType::kFloat32, {kN * kPitch})};
  plan->donations = {-1};
  const absl::StatusOr<LoadedPtr> loaded = emulated_device().load(*plan);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  std::mt19937 generator(5);
  const std::vector<Tensor> inputs = {random_tensor(plan->inputs[0], generator),
                                      random_tensor(plan->inputs[1], generator)};
  const std::vector<Tensor> found = (**loaded)(inputs);
  const auto *of_x = inputs[0].as<float>(), *of_y = inputs[1].as<float>(), *of_z = found[0].as<float>();
  for (const auto& [row, column] : {std::pair<int64_t, int64_t>{0, 0}, {kM - 1, kN - 1}, {3, 100}, {150, 20}}) {
    double sum = 0;
    for (int64_t i = 0; i < kK; ++i) sum += double(of_x[7 + row * kPitch + i]) * of_y[column * kK + i];
    EXPECT_NEAR(of_z[20 + row + column * kPitch], 2 * sum, 1e-3);
  }
  EXPECT_EQ(of_z[0], 0);
  EXPECT_EQ(of_z[20 + kM], 0);
}

// What is not large, not of floats, or lies as no library takes it, kernels of ours make.
TEST(Gpu, OtherProductsAreKernels) {
  const auto library_takes = [](DType dtype, int64_t m, loop::Matrix a, loop::Matrix b_matrix) {
    loop::Builder b;
    const loop::BufferId x = b.input(dtype, 1 << 17), y = b.input(dtype, 1 << 17), z = b.output(dtype, 1 << 17);
    a.buffer = x;
    b_matrix.buffer = y;
    b.gemm({m, 170, 170, a, b_matrix, {z, 0, 170, 1}, false, m, 170, 170});
    const absl::StatusOr<Plan> plan = jit::emit_kernels(b.finish(), jit::kEmulated, kWithLibrary);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return count_of(to_string(*plan), "product ") == 1;
  };
  const loop::Matrix rows{0, 0, 170, 1}, columns{0, 0, 1, 170};
  EXPECT_TRUE(library_takes(DType::kFloat32, 170, rows, columns));
  EXPECT_FALSE(library_takes(DType::kFloat32, 140, rows, rows));  // too small
  EXPECT_FALSE(library_takes(DType::kInt32, 170, rows, rows));
  EXPECT_FALSE(library_takes(DType::kFloat32, 170, {0, 0, 1, 1}, rows));    // windows
  EXPECT_FALSE(library_takes(DType::kFloat32, 170, {0, 0, 0, 1}, rows));    // one row for all
  EXPECT_FALSE(library_takes(DType::kFloat32, 170, {0, 0, 340, 2}, rows));  // every other one
  EXPECT_FALSE(library_takes(DType::kFloat32, 170, {0, 28900, -170, 1}, rows));
}

}  // namespace
}  // namespace ct
