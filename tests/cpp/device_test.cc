// Plans as data, the walker that plays them, and a back end made of both (toy_backend.h).
#include <gmock/gmock.h>

#include "device/cpu/cpu.h"
#include "device/null/null.h"
#include "runtime/hash.h"
#include "tests/cpp/compile_testing.h"
#include "tests/cpp/doubling_plan.h"
#include "tests/cpp/toy_backend.h"
#include "transforms/higher_order/higher_order.h"

namespace ct {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Aval kVector(DType::kFloat32, {5}), kNumber(DType::kFloat32, {}), kIndex(DType::kInt32, {});

// ---- plans as data --------------------------------------------------------------------------------------------------

// Each kind of step, not meant to be run.
Plan one_of_each() {
  Plan plan;
  plan.name = "everything";
  plan.target = "cuda:sm_90";
  plan.inputs = {kVector, Aval(DType::kBFloat16, {2, 3}, true)};
  plan.outputs = {kVector};
  plan.donations = {0};
  plan.buffers = {{.kind = PlanBuffer::Kind::kInput, .position = 0, .offset = 0, .bytes = 20},
                  {.kind = PlanBuffer::Kind::kOutput, .position = 0, .offset = 4, .bytes = 16},
                  {.kind = PlanBuffer::Kind::kArena, .position = 0, .offset = 64, .bytes = 8}};
  plan.codes = {{.format = Code::Format::kPtx, .bytes = std::string("text\0more", 9)}};
  plan.host_functions = {"sort(float32[5]) -> (float32[5])"};
  plan.arena_bytes = 128;
  plan.nanoseconds = 1234;
  plan.blocks = {{KernelStep{.code = 0, .symbol = "k", .blocks = 25, .threads = 256, .arguments = {{0, 0}, {1, 16}}},
                  LoopStep{.count = -1, .go_on = {2, 7}, .body = 1}, LoopStep{.count = 3, .go_on = {}, .body = 1}},
                 {CopyStep{.to = {1, 0}, .from = {0, 4}, .bytes = 16}, BranchStep{.index = {2, 4}, .bodies = {2, 3}}},
                 {HostStep{.function = 0, .inputs = {{{0, 0}, 20}}, .outputs = {{{1, 0}, 16}}},
                  FillStep{.to = {1, 8}, .byte = 255, .bytes = 8}},
                 {ProductStep{.m = 1,
                              .n = 1,
                              .k = 3,
                              .batch = 1,
                              .a = {.at = {0, 4}, .row_stride = 3, .column_stride = 1},
                              .b = {.at = {0, 0}, .row_stride = 1, .column_stride = 3, .batch_stride = 5},
                              .c = {.at = {1, 8}, .row_stride = 2, .column_stride = 1},
                              .accumulate = true,
                              .work = "x @ w"}}};
  return plan;
}

TEST(PlanIo, RestoresWhatItSaved) {
  Plan native;
  native.codes.resize(2);
  native.blocks = {{NativeStep{"f"}}};
  for (const Plan& plan : {Plan{}, native, one_of_each()}) {
    ASSERT_EQ(check_plan(plan), "");
    const auto restored = restore_plan(save_plan(plan));
    ASSERT_TRUE(restored.ok()) << restored.status().message();
    EXPECT_EQ(*restored, plan);
  }
}

TEST(PlanIo, RefusesDamagedBytes) {
  const std::string good = save_plan(one_of_each());
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(restore_plan(good.substr(0, size)).ok()) << size;
  EXPECT_FALSE(restore_plan(good + "x").ok());
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    EXPECT_FALSE(restore_plan(bytes).ok()) << at;
  }
}

// Bytes that somebody made on purpose, checksum included: they are refused, or give a plan whose every index is good.
TEST(PlanIo, ChecksWhatTheChecksumDoesNot) {
  const std::string good = save_plan(one_of_each());
  const size_t header = good.find('\n') + 1, body = header + sizeof(uint64_t);
  int refused = 0;
  for (size_t at = body; at < good.size(); ++at) {
    for (const char change : {'\x01', '\x7f', '\xff'}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      const uint64_t checksum = hash_bytes(std::string_view(bytes).substr(body));
      std::memcpy(bytes.data() + header, &checksum, sizeof checksum);
      const auto plan = restore_plan(bytes);
      refused += !plan.ok();
      if (plan.ok()) {
        EXPECT_EQ(check_plan(*plan), "") << at;
      }
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(CheckPlan, NamesWhatIsWrong) {
  const auto problem = [](const std::function<void(Plan&)>& change) {
    Plan plan = one_of_each();
    change(plan);
    return check_plan(plan);
  };
  const auto step = [&]<class Kind>(size_t block, size_t at, void (*change)(Kind&)) {
    return problem([&](Plan& plan) { change(std::get<Kind>(plan.blocks[block][at])); });
  };
  EXPECT_THAT(problem([](Plan& p) { p.arena_bytes = -1; }), HasSubstr("negative"));
  EXPECT_THAT(problem([](Plan& p) { p.donations = {2}; }), HasSubstr("a donation of input 2"));
  EXPECT_THAT(problem([](Plan& p) { p.donations = {}; }), HasSubstr("0 donations for 1 outputs"));
  EXPECT_THAT(problem([](Plan& p) { p.buffers[0].position = 2; }), HasSubstr("buffer 0 is argument 2 of 2"));
  EXPECT_THAT(problem([](Plan& p) { p.buffers[1].offset = 5; }), HasSubstr("buffer 1 is 16 bytes at 5 of 20"));
  EXPECT_THAT(problem([](Plan& p) { p.buffers[2].offset = INT64_MAX; }), HasSubstr("buffer 2 is 8 bytes"));
  EXPECT_THAT(step(0, 0, +[](KernelStep& s) { s.code = 1; }), HasSubstr("a kernel in code 1 of 1"));
  EXPECT_THAT(step(0, 0, +[](KernelStep& s) { s.threads = 0; }), HasSubstr("no threads"));
  EXPECT_THAT(step(0, 0, +[](KernelStep& s) { s.arguments[0].buffer = 3; }), HasSubstr("in buffer 3 of 3"));
  EXPECT_THAT(step(0, 1, +[](LoopStep& s) { s.go_on.offset = 8; }), HasSubstr("loop's condition of 1 bytes at 8 of 8"));
  EXPECT_THAT(step(0, 1, +[](LoopStep& s) { s.body = 0; }), HasSubstr("block 0 inside of block 0"));
  EXPECT_THAT(step(0, 2, +[](LoopStep& s) { s.count = -2; }), HasSubstr("a loop of -2 iterations"));
  EXPECT_THAT(step(1, 0, +[](CopyStep& s) { s.bytes = 17; }), HasSubstr("a copy of 17 bytes at 0 of 16"));
  EXPECT_THAT(step(1, 1, +[](BranchStep& s) { s.bodies = {1}; }), HasSubstr("block 1 inside of block 1"));
  EXPECT_THAT(step(1, 1, +[](BranchStep& s) { s.bodies = {}; }), HasSubstr("without bodies"));
  EXPECT_THAT(step(2, 0, +[](HostStep& s) { s.function = 1; }), HasSubstr("host function 1 of 1"));
  EXPECT_THAT(step(2, 0, +[](HostStep& s) { s.outputs[0].bytes = 17; }), HasSubstr("output of 17 bytes at 0 of 16"));
  EXPECT_THAT(step(2, 1, +[](FillStep& s) { s.bytes = 9; }), HasSubstr("a fill of 9 bytes at 8 of 16"));
  EXPECT_THAT(step(3, 0, +[](ProductStep& s) { s.k = 0; }), HasSubstr("a product of sizes 1, 1, 0 and 1"));
  EXPECT_THAT(step(3, 0, +[](ProductStep& s) { s.a.dtype = DType::kFloat64; }), HasSubstr("of unknown types"));
  EXPECT_THAT(step(3, 0, +[](ProductStep& s) { s.c.dtype = DType::kInt32; }), HasSubstr("of unknown types"));
  EXPECT_THAT(step(3, 0, +[](ProductStep& s) { s.compute = DType::kFloat64; }), HasSubstr("of unknown types"));
  EXPECT_THAT(step(3, 0, +[](ProductStep& s) { s.b.column_stride = 2; }), HasSubstr("strides 1, 2 and 5"));
  EXPECT_THAT(step(3, 0, +[](ProductStep& s) { s.a.column_stride = 2; }), HasSubstr("strides 3, 2 and 0"));
  EXPECT_THAT(step(3, 0, +[](ProductStep& s) { s.c.at.offset = 13; }), HasSubstr("of 4 bytes at 13 of 16"));
  EXPECT_THAT(step(3, 0, +[](ProductStep& s) { s.batch = 2; }), HasSubstr("of 32 bytes at 0 of 20"));
  EXPECT_THAT(step(3, 0, +[](ProductStep& s) { s.batch = 3, s.b.batch_stride = INT64_MAX; }), HasSubstr("too many"));
  EXPECT_THAT(problem([](Plan& p) { p.blocks[3] = {NativeStep{"f"}}; }), HasSubstr("without its code"));
}

// ---- a back end -----------------------------------------------------------------------------------------------------

void expect_same_results(const GraphPtr& graph, uint32_t seed = 1) {
  std::mt19937 generator(seed);
  std::vector<Tensor> inputs;
  for (const Aval& aval : graph->input_avals()) inputs.push_back(random_tensor(aval, generator));
  const std::vector<Tensor> expected = evaluate_reference(*graph, inputs);
  for (const char* backend : {"toy", "interpreter", "llvm"}) {
    SCOPED_TRACE(backend);
    const auto loaded = compile(graph, {.backend = backend, .use_disk_cache = false});
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const std::vector<Tensor> actual = (**loaded)(inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      std::string difference;
      EXPECT_TRUE(near(actual[i], expected[i], 10 * tolerance(expected[i].dtype()), &difference)) << difference;
    }
  }
}

TEST(Backends, AreOfferedByTheirNames) {
  EXPECT_THAT(backend_names(), testing::UnorderedElementsAre("llvm", "interpreter", "cuda", "cuda-emulated", "toy"));
  EXPECT_EQ(find_backend("toy")->device, &toy());
  EXPECT_EQ(find_backend("rocm"), nullptr);
}

TEST(Backends, AToyPlaysEquationsOneByOne) {
  const GraphPtr graph = build_graph({kVector}, [](Builder&, const Values& v) {
    const Value sum = reduce_sum(exp(v[0]), {0});
    return Values{sum, v[0], sum};
  });
  toy().take_log();
  expect_same_results(graph);
  EXPECT_THAT(toy().take_log(), ElementsAre("program(float32[5]) -> (float32[5])", "program(float32[5]) -> (float32[])",
                                            "copy 4", "copy 20", "copy 4"));
}

TEST(Backends, AToyRunsPrograms) {
  const Aval matrix(DType::kFloat32, {4, 5}), none(DType::kFloat32, {0, 3}), flags(DType::kBool, {5});
  const GraphPtr step = build_graph({kVector, kVector}, [](Builder&, const Values& v) {
    const Value next = tanh(v[0] + v[1]);
    return Values{next, reduce_max(next, {0})};
  });
  const GraphPtr condition = build_graph(
      {kIndex, kVector}, [](Builder& b, const Values& v) { return Values{lt(v[0], full_integer(b, v[0].aval(), 7))}; });
  const GraphPtr body = build_graph({kIndex, kVector}, [](Builder& b, const Values& v) {
    return Values{v[0] + full_integer(b, v[0].aval(), 1), sin(v[1])};
  });
  const std::vector<GraphPtr> branches = {
      build_graph({kVector}, [](Builder&, const Values& v) { return Values{sin(v[0])}; }),
      build_graph({kVector}, [](Builder&, const Values& v) { return Values{v[0] * v[0]}; })};
  const std::vector<std::pair<std::vector<Aval>, Body>> programs = {
      {{kVector, kVector}, [](Builder&, const Values& v) { return Values{exp(v[0] * v[1]) - v[0]}; }},
      {{matrix},
       [](Builder&, const Values& v) {
         return Values{reduce_sum(v[0], {0}), reduce_max(v[0], {0, 1}), cumsum(v[0], 1, true)};
       }},
      {{matrix, matrix},
       [](Builder&, const Values& v) {
         return Values{dot_general(v[0], v[1], {{1}, {1}, {}, {}}), transpose(v[0], {1, 0})};
       }},
      {{none}, [](Builder&, const Values& v) { return Values{v[0] * v[0], reduce_sum(v[0], {0})}; }},
      {{flags, kVector, kVector}, [](Builder&, const Values& v) { return Values{select(v[0], v[1], v[2])}; }},
      {{kVector},
       [](Builder& b, const Values& v) {
         const AttrsPtr attrs = Attrs::make({{"axis", int64_t{0}}, {"num_keys", int64_t{1}}});
         return Values{b.bind1(get_primitive("sort"), {v[0]}, attrs)};
       }},
      {{kVector, matrix}, [&](Builder& b, const Values& v) { return scan(b, {step, 0, 1, 4, false}, v); }},
      {{kIndex, kVector}, [&](Builder& b, const Values& v) { return while_loop(b, {condition, body, 0, 0}, v); }},
      {{kIndex, kVector}, [&](Builder& b, const Values& v) { return cond(b, branches, v); }},
  };
  for (const auto& [avals, body] : programs) expect_same_results(build_graph(avals, body));
}

// ---- loops and branches ---------------------------------------------------------------------------------------------

// x doubles while it is below a limit, and three times more; then it is negated if it is above another.
TEST(RunPlan, LoopsAndBranches) {
  Plan plan = doubling_without_steps();
  plan.target = "cpu";
  const Where in{0, 0}, out{1, 0}, x{2, 0}, below{3, 0}, above{3, 4};
  plan.blocks = {{CopyStep{x, in, 4}, HostStep{1, {{x, 4}}, {{below, 1}}}, LoopStep{-1, below, 1}, LoopStep{3, {}, 2},
                  HostStep{2, {{x, 4}}, {{above, 4}}}, BranchStep{above, {4, 3}}, CopyStep{out, x, 4}},
                 {HostStep{0, {{x, 4}}, {{x, 4}}}, HostStep{1, {{x, 4}}, {{below, 1}}}},
                 {HostStep{0, {{x, 4}}, {{x, 4}}}},
                 {HostStep{3, {{x, 4}}, {{x, 4}}}, FillStep{above, 7, 4}},
                 {}};
  const auto loaded = cpu_device().load(plan, std::make_shared<const DoublingFunctions>());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((**loaded)({Tensor::scalar(DType::kFloat32, 3)})[0].as<float>()[0], 96);     // 12, 96
  EXPECT_EQ((**loaded)({Tensor::scalar(DType::kFloat32, 20)})[0].as<float>()[0], -160);  // 20, 160
  EXPECT_EQ((**loaded)({Tensor::scalar(DType::kFloat32, 7)})[0].as<float>()[0], -112);   // 14, 112
}

TEST(RunPlan, KernelsAreCountedAndNotForTheHost) {
  const GraphPtr graph = build_graph({kVector}, [](Builder&, const Values& v) {
    return Values{exp(v[0]) / broadcast_scalar(reduce_sum(exp(v[0]), {0}), v[0].shape())};
  });
  const auto plan = compile_kernels(graph, "sm_80");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  NullDevice null;
  const auto counted = null.load(*plan);
  ASSERT_TRUE(counted.ok()) << counted.status().message();
  const Tensor x = Tensor(kVector);
  (**counted)({x});
  EXPECT_EQ(null.counts().kernels, static_cast<int64_t>(plan->blocks[0].size()));
  EXPECT_EQ(null.counts().kernels, 1);
  EXPECT_EQ(null.counts().waits, 1);
  EXPECT_EQ(null.counts().allocated_bytes, plan->arena_bytes);
  EXPECT_THROW((**cpu_device().load(*plan))({x}), Error);
}

TEST(RunPlan, WhatAHostFunctionThrowsLeavesTheCall) {
  const GraphPtr graph = build_graph({kVector}, [](Builder&, const Values& v) { return Values{v[0]}; });
  Plan plan = *plan_equations(graph, {}, *std::make_unique<jit::HostFunctions>());
  plan.inputs = {kVector};
  plan.blocks[0][0] = HostStep{0, {{{0, 0}, 20}}, {{{1, 0}, 20}}};
  class Fails final : public HostTable {
   public:
    std::vector<std::string> texts() const override { return {"fails"}; }
    void call(uint32_t, const void* const*, void* const*) const override { throw Error(ErrorKind::kValue, "no"); }
  };
  const auto table = std::make_shared<const Fails>();
  plan.host_functions = table->texts();
  EXPECT_THROW((**cpu_device().load(plan, table))({Tensor(kVector)}), Error);
  EXPECT_THAT(cpu_device().load(plan).status().message(), HasSubstr("nobody brought the host functions"));
}

}  // namespace
}  // namespace ct
