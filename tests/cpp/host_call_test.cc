// Primitives that run outside of generated code: compiled programs that call them, from every kind of sub-graph, and
// what happens when a call fails.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "ir/combinators.h"
#include "jit/export/library.h"
#include "runtime/error.h"
#include "tests/cpp/compile_testing.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

using testing::HasSubstr;

Primitive host_primitive(std::string name) {
  Primitive result;
  result.name = std::move(name);
  result.structure = std::make_shared<structures::HostCall>();
  for (const char* slot : {"jvp", "transpose", "batch", "mask", "element", "expand"}) result.absent[slot] = "a test";
  return result;
}

// x -> x sorted as one list, and its length. The library function that many primitives are.
const Primitive& kSort = define([] {
  Primitive sort = host_primitive("test_sort");
  sort.type = [](absl::Span<const Aval> operands, const Attrs&) {
    check_operand_count(operands, 1);
    return Avals{operands[0], Aval(DType::kInt32, {})};
  };
  sort.reference = [](const ReferenceInput& input) {
    const Tensor& x = input.operands[0];
    Tensor result(x.aval()), length(Aval(DType::kInt32, {}));
    std::vector<double> values;
    for (int64_t i = 0; i < x.size(); ++i) values.push_back(load_real(x, i));
    std::sort(values.begin(), values.end());
    for (int64_t i = 0; i < x.size(); ++i) store_real(result, i, values[static_cast<size_t>(i)]);
    store_integer(length, 0, x.size());
    return std::vector<Tensor>{result, length};
  };
  return sort;
}());

// The operand itself, in the operand's memory. Its expansion adds 0.
const Primitive& kSame = define([] {
  Primitive same = host_primitive("test_same");
  same.type = [](absl::Span<const Aval> operands, const Attrs&) { return Avals{operands[0]}; };
  same.reference = [](const ReferenceInput& input) { return std::vector<Tensor>{input.operands[0]}; };
  same.expand = [](Builder&, absl::Span<const Value> operands, const AttrsPtr&) {
    return Values{operands[0] + full_like(operands[0], 0)};
  };
  return same;
}());

int calls = 0;

// Throws at values below `least`; counts its calls. No results.
const Primitive& kCheck = define([] {
  Primitive check = host_primitive("test_check");
  check.type = [](absl::Span<const Aval>, const Attrs&) { return Avals{}; };
  check.has_side_effects = true;
  check.reference = [](const ReferenceInput& input) -> std::vector<Tensor> {
    ++calls;
    const double value = load_real(input.operands[0], 0);
    if (value < input.attrs.real("least")) throw Error(ErrorKind::kValue, "too small: " + std::to_string(value));
    if (value > 1e6) throw std::runtime_error("too large");
    return {};
  };
  return check;
}());

// Runs a compiled program of its own, with scratch memory, in the midst of the caller's.
const Primitive& kNested = define([] {
  Primitive nested = host_primitive("test_nested");
  nested.type = [](absl::Span<const Aval> operands, const Attrs&) { return Avals{operands[0]}; };
  nested.reference = [](const ReferenceInput& input) {
    const GraphPtr graph = build_graph({input.operands[0].aval()}, [](Builder& b, const Values& v) {
      const Value sorted = b.bind(kSort, {v[0] * v[0]})[0];
      return Values{cumsum(cumsum(sorted, 0, false), 0, true)};
    });
    return (**compile(graph, {.use_disk_cache = false}))(input.operands);
  };
  return nested;
}());

Value sorted(Value x) { return x.builder->bind(kSort, {x})[0]; }
Value same(Value x) { return x.builder->bind1(kSame, {x}); }
Value nested(Value x) { return x.builder->bind1(kNested, {x}); }
void require(Value x, double least) { x.builder->bind(kCheck, {x}, Attrs::make({{"least", least}})); }

TEST(HostCall, Alone) {
  for (DType dtype : {DType::kBool, DType::kInt8, DType::kUInt64, DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{7}, Shape{3, 5}, Shape{0, 2}}) {
      expect_compiles({Aval(dtype, shape)}, [](Builder& b, const Values& v) { return b.bind(kSort, {v[0]}); });
    }
  }
  expect_compiles({Aval(DType::kComplex64, {3})}, [](Builder&, const Values& v) { return Values{same(v[0])}; });
}

TEST(HostCall, BetweenLoops) {
  const Aval x(DType::kFloat32, {4, 6});
  expect_compiles({x}, [](Builder& b, const Values& v) {
    const Value before = exp(v[0]) * v[0];
    const Values found = b.bind(kSort, {reshape(before, {24})});
    const Value again = sorted(transpose(reshape(found[0], {4, 6}), {1, 0}));
    return Values{again + again, reduce_sum(same(before) + before, {0}), found[1] + found[1], found[0]};
  });
  // Scalars, constants, the same operand twice, results that nothing uses.
  expect_compiles({Aval(DType::kFloat32, {}), x}, [](Builder& b, const Values& v) {
    b.bind(kSort, {v[1]});
    return Values{same(v[0] + v[0]) * same(full(b, v[0].aval(), 3)), same(v[0]), v[0]};
  });
}

TEST(HostCall, InLoopsAndBranches) {
  const Aval x(DType::kFloat32, {5}), scalar(DType::kFloat32, {}), count(DType::kInt32, {});
  const GraphPtr step = build_graph({x, x, scalar, x}, [](Builder&, const Values& v) {
    const Value next = sorted(v[1] + v[3]) * v[0];
    const Value total = same(v[2] + reduce_sum(next, {0}));
    return Values{next, total, sorted(v[3]), total};
  });
  for (bool reverse : {false, true}) {
    expect_compiles({x, x, scalar, Aval(DType::kFloat32, {6, 5})},
                    [&](Builder& b, const Values& v) { return scan(b, {step, 1, 2, 6, reverse}, v); });
  }
  const GraphPtr condition = build_graph(
      {count, x}, [](Builder& b, const Values& v) { return Values{lt(same(v[0]), full_integer(b, v[0].aval(), 4))}; });
  const GraphPtr body = build_graph({count, x}, [](Builder& b, const Values& v) {
    return Values{v[0] + full_integer(b, v[0].aval(), 1), ct::reverse(sorted(v[1] + v[1]), {0})};
  });
  expect_compiles({x}, [&](Builder& b, const Values& v) {
    return while_loop(b, {condition, body, 0, 0}, {full_integer(b, Aval(DType::kInt32, {}), 0), v[0]});
  });
  const GraphPtr first = build_graph({x}, [](Builder&, const Values& v) { return Values{sorted(v[0])}; });
  const GraphPtr second = build_graph({x}, [](Builder&, const Values& v) { return Values{v[0] + v[0]}; });
  expect_compiles({count, x}, [&](Builder& b, const Values& v) { return cond(b, {first, second}, v); });
}

TEST(HostCall, ProgramsInsidePrograms) {
  const Aval x(DType::kFloat32, {50});
  expect_compiles({x}, [](Builder&, const Values& v) {
    const Value kept = cumsum(v[0] * v[0], 0, false);
    const Value inner = nested(sorted(kept));
    return Values{cumsum(cumsum(inner, 0, false) + kept, 0, true)};
  });
  const GraphPtr graph = build_graph({x}, [](Builder&, const Values& v) {
    const Value kept = cumsum(v[0] * v[0], 0, false);
    return Values{cumsum(nested(kept), 0, false) + kept};
  });
  std::mt19937 generator(3);
  const Tensor input = random_tensor(x, generator);
  std::string difference;
  EXPECT_TRUE(near((**compile(graph, {.use_disk_cache = false}))({input})[0], evaluate_reference(*graph, {input})[0],
                   1e-4, &difference))
      << difference;
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(HostCall, FailureEndsTheProgram) {
  const Aval scalar(DType::kFloat32, {});
  // Without the early return the loop would never end.
  const GraphPtr condition =
      build_graph({scalar}, [](Builder& b, const Values& v) { return Values{lt(v[0], full(b, v[0].aval(), 1e30))}; });
  const GraphPtr body = build_graph({scalar}, [](Builder& b, const Values& v) {
    LocationScope here(intern_location({"user.py", 12, "train"}));
    require(v[0], -3);
    return Values{v[0] - full(b, v[0].aval(), 1)};
  });
  const GraphPtr graph =
      build_graph({scalar}, [&](Builder& b, const Values& v) { return while_loop(b, {condition, body, 0, 0}, v); });
  const auto executable = *compile(graph, {.use_disk_cache = false});
  calls = 0;
  const std::string failed = message_of([&] { (*executable)({Tensor::scalar(DType::kFloat32, 0)}); });
  EXPECT_EQ(calls, 5);
  EXPECT_THAT(failed, HasSubstr("test_check: too small: -4"));
  EXPECT_THAT(failed, HasSubstr("user.py:12 (train)"));
  // Any exception; and the program can be run again.
  EXPECT_EQ(message_of([&] { (*executable)({Tensor::scalar(DType::kFloat32, 2e6)}); }), "too large");
  EXPECT_THAT(message_of([&] { (*executable)({Tensor::scalar(DType::kFloat32, -1)}); }), HasSubstr("too small"));
}

// So many statements that they are several functions, which call each other.
TEST(HostCall, FailureEndsALargeProgram) {
  const Aval x(DType::kFloat32, {50});
  const GraphPtr graph = build_graph({x}, [](Builder&, const Values& v) {
    Value value = v[0];
    for (int i = 0; i < 30; ++i) {
      value = sin(cumsum(value, 0, false)) - full_like(value, 0.1 * i);
      require(reduce_sum(value, {0}), -100);
    }
    return Values{value};
  });
  const auto executable = *compile(graph, {.use_disk_cache = false});
  Tensor input(x);
  for (int64_t i = 0; i < 50; ++i) store_real(input, i, 0.01 * static_cast<double>(i));
  calls = 0;
  EXPECT_THAT(message_of([&] { (*executable)({input}); }), HasSubstr("too small"));
  EXPECT_LT(calls, 30);
  EXPECT_GT(calls, 5);
}

TEST(HostCall, EffectsHappenOnceAndInOrder) {
  const Aval scalar(DType::kFloat32, {});
  const GraphPtr graph = build_graph({scalar}, [](Builder&, const Values& v) {
    require(v[0], -1);
    require(v[0], -1);
    return Values{v[0]};
  });
  calls = 0;
  (**compile(graph, {.use_disk_cache = false}))({Tensor::scalar(DType::kFloat32, 0)});
  EXPECT_EQ(calls, 2);
}

TEST(HostCall, FromDisk) {
  const auto directory = std::filesystem::temp_directory_path() / ("ct_host_call_test_" + std::to_string(getpid()));
  setenv("CT_CACHE_DIR", directory.c_str(), 1);
  const Aval x(DType::kFloat32, {8});
  const GraphPtr graph = build_graph({x}, [](Builder&, const Values& v) {
    require(reduce_sum(v[0], {0}), -1e5);
    return Values{sorted(v[0] * v[0])};
  });
  std::mt19937 generator(4);
  const Tensor input = random_tensor(x, generator);
  const Tensor expected = evaluate_reference(*graph, {input})[0];
  for (int round = 0; round < 2; ++round) {
    clear_cache();
    const auto executable = *compile(graph);
    EXPECT_EQ(cache_statistics().disk_hits, round);
    const Tensor actual = (*executable)({input})[0];
    EXPECT_EQ(std::memcmp(actual.data(), expected.data(), 32), 0);
    EXPECT_THAT(loop_text(graph, *executable, CompileOptions{}.products), HasSubstr("host call 1 \"test_sort\""));
  }
  setenv("CT_CACHE_DIR", "", 1);
  std::filesystem::remove_all(directory);
}

// Kernels, and between them the host's functions, which are found again.
TEST(HostCall, FromDiskBetweenKernels) {
  const auto directory = std::filesystem::temp_directory_path() / ("ct_host_kernels_test_" + std::to_string(getpid()));
  setenv("CT_CACHE_DIR", directory.c_str(), 1);
  const Aval x(DType::kFloat32, {8});
  const GraphPtr graph = build_graph({x}, [](Builder&, const Values& v) { return Values{sorted(v[0] * v[0]) + v[0]}; });
  std::mt19937 generator(4);
  const Tensor input = random_tensor(x, generator);
  const Tensor expected = evaluate_reference(*graph, {input})[0];
  for (int round = 0; round < 2; ++round) {
    clear_cache();
    const auto executable = *compile(graph, {.backend = "cuda-emulated"});
    EXPECT_EQ(cache_statistics().disk_hits, round);
    EXPECT_EQ(cache_statistics().misses, 1 - round);
    const Tensor actual = (*executable)({input})[0];
    EXPECT_EQ(std::memcmp(actual.data(), expected.data(), 32), 0);
  }
  setenv("CT_CACHE_DIR", "", 1);
  std::filesystem::remove_all(directory);
}

TEST(HostCall, LibrariesExpandItOrRefuse) {
  const Aval x(DType::kFloat32, {8});
  const GraphPtr expands = build_graph({x}, [](Builder&, const Values& v) { return Values{same(v[0])}; });
  const GraphPtr refuses = build_graph({x}, [](Builder&, const Values& v) {
    LocationScope here(intern_location({"user.py", 7, "f"}));
    return Values{sorted(v[0])};
  });
  const LibraryFunction function{
      .symbol = "f",
      .parameters = {{.bytes = x.bytes(), .alignment = 4}, {.bytes = x.bytes(), .alignment = 4}},
      .inputs = {{0, 0}},
      .outputs = {{1, 0}},
      .pairs = {-1},
      .constants = {}};
  const LibraryTarget native = *library_target("native");
  const auto compiled = compile_function(expands, function, native);
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
  const auto refused = compile_function(refuses, function, native);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("test_sort: runs in this process"));
  EXPECT_THAT(refused.status().message(), HasSubstr("user.py:7 (f)"));
  EXPECT_TRUE(compile_kernels(expands, "sm_80").ok());
  EXPECT_THAT(compile_kernels(refuses, "sm_80").status().message(), HasSubstr("test_sort: runs in this process"));
}

// Loops of ours where there are some, in sub-graphs too; else what they expand to. Never a call.
TEST(HostCall, FourierTransformsAreLoopsOrExpand) {
  const auto program_of = [](int64_t length, const Machine& machine) {
    const GraphPtr graph = build_graph({Aval(DType::kComplex64, {3, length})}, [&](Builder& b, const Values& v) {
      const AttrsPtr attrs = Attrs::make({{"kind", std::string("fft")}, {"lengths", Ints{length}}});
      return Values{b.bind1(get_primitive("fft"), {v[0]}, attrs)};
    });
    return lower_prepared(*prepare(graph, machine), "test", machine);
  };
  for (int64_t length : {64, 1000, 30000}) {
    const std::string text = loop::to_string(program_of(length, kAnyHost));
    EXPECT_THAT(text, HasSubstr(" whole")) << length;
    EXPECT_THAT(text, testing::Not(HasSubstr("host"))) << length;
  }
  for (const std::string& text : {loop::to_string(program_of(97, kAnyHost)), loop::to_string(program_of(64, kGpu))}) {
    EXPECT_THAT(text, testing::Not(HasSubstr(" whole")));
    EXPECT_THAT(text, testing::Not(HasSubstr("host")));
  }
}

TEST(HostCall, IsCheckedAndPrinted) {
  loop::Builder b;
  const loop::BufferId in = b.input(DType::kFloat32, 10), out = b.output(DType::kComplex64, 10);
  const auto program = [&](loop::HostCall call) {
    loop::Builder copy = b;
    copy.host_call(std::move(call));
    return copy.finish();
  };
  EXPECT_EQ(loop::check(program({0, "f", {{in, 0, 10}}, {{out, 2, 8}}})), "");
  EXPECT_THAT(loop::to_string(program({3, "f", {{in, 0, 10}}, {{out, 2, 8}}})),
              HasSubstr("host call 3 \"f\" (out0[2] count 8) = (in0[0] count 10)"));
  EXPECT_THAT(loop::check(program({0, "f", {{in, 1, 10}}, {}})), HasSubstr("input of a host call"));
  EXPECT_THAT(loop::check(program({0, "f", {}, {{out, 3, 8}}})), HasSubstr("output of a host call"));
  EXPECT_THAT(loop::check(program({0, "f", {{out, 0, 3}}, {{out, 2, 2}}})),
              HasSubstr("writes to a buffer that it reads"));
  EXPECT_THAT(loop::check(program({0, "f", {{out, 4, 2}}, {{out, 2, 3}}})),
              HasSubstr("writes to a buffer that it reads"));
  // Parts of a buffer that have no element in common.
  EXPECT_EQ(loop::check(program({0, "f", {{out, 0, 2}}, {{out, 2, 2}}})), "");
  EXPECT_EQ(loop::check(program({0, "f", {{out, 4, 2}}, {{out, 2, 2}}})), "");
}

}  // namespace
}  // namespace ct
