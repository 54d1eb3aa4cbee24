// Whole programs through the compiler: control flow, derivatives, donated inputs, the caches, exported libraries, PTX.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "ir/primitive.h"
#include "jit/export/library.h"
#include "jit/export/open_library.h"
#include "jit/schedule/buffers.h"
#include "jit/store/disk_cache.h"
#include "runtime/error.h"
#include "tests/cpp/compile_testing.h"
#include "tests/cpp/exported_run.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

const Aval kScalar(DType::kFloat32, {});

// The same with all graph passes in front.
void expect_prepared_compiles(const GraphPtr& graph, const std::vector<Tensor>& inputs, double loosen = 1) {
  expect_compiles(prepare(graph), inputs, loosen);
  // The passes change nothing that the reference can see.
  const auto before = evaluate_reference(*graph, inputs);
  const auto after = evaluate_reference(*prepare(graph), inputs);
  for (size_t i = 0; i < before.size(); ++i) {
    std::string difference;
    EXPECT_TRUE(near(after[i], before[i], loosen * tolerance(before[i].dtype()), &difference)) << difference;
  }
}

// ---- control flow ---------------------------------------------------------------------------------------------------

GraphPtr scan_program(const Aval& carry, const Aval& slice, int64_t length, bool reverse, const Body& body) {
  const GraphPtr inner = build_graph({carry, carry, slice}, body);
  Shape stacked(slice.shape());
  stacked.insert(stacked.begin(), length);
  return build_graph({carry, carry, slice.with_shape(stacked)},
                     [&](Builder& b, const Values& v) { return scan(b, {inner, 1, 1, length, reverse}, v); });
}

TEST(CompilePrograms, Scan) {
  std::mt19937 generator(5);
  for (bool reverse : {false, true}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{5}, Shape{3, 4}, Shape{0, 2}}) {
      for (int64_t length : {0, 1, 2, 7}) {
        const Aval x(DType::kFloat32, shape);
        for (int variant = 0; variant < 5; ++variant) {
          const GraphPtr graph = scan_program(x, x, length, reverse, [&](Builder&, const Values& v) {
            const Value weight = v[0], carry = v[1], slice = v[2];
            switch (variant) {
              case 0:
                return Values{tanh(carry * weight + slice), carry};
              case 1:
                return Values{carry + slice, carry * slice};
              case 2:
                return Values{carry, slice + carry};  // unchanged
              case 3:
                return Values{slice, carry};
              default: {
                // Every element of the next carry depends on several of this one.
                if (carry.rank() == 0) return Values{sin(carry), slice};
                const Value turned =
                    carry.shape()[0] > 1 ? reverse ? ct::reverse(carry, {0}) : cumsum(carry, 0, false) : carry;
                return Values{tanh(turned + slice), turned};
              }
            }
          });
          std::vector<Tensor> inputs;
          for (const Aval& aval : graph->input_avals()) inputs.push_back(random_tensor(aval, generator));
          expect_compiles(graph, inputs, 10);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(CompilePrograms, ScanOfProducts) {
  // A recurrent network: matrix state, two carries that change places, outputs stacked.
  const Aval state(DType::kFloat32, {4, 8}), weight(DType::kFloat32, {8, 8}), input(DType::kFloat32, {4, 8});
  const GraphPtr body = build_graph({weight, state, state, input}, [](Builder&, const Values& v) {
    const Value next = tanh(dot_general(v[1], v[0], {{1}, {0}, {}, {}}) + v[3]);
    return Values{v[2] + next, v[1], reduce_sum(next, {1})};
  });
  const GraphPtr graph = build_graph({weight, state, state, Aval(DType::kFloat32, {6, 4, 8})},
                                     [&](Builder& b, const Values& v) { return scan(b, {body, 1, 2, 6, false}, v); });
  std::mt19937 generator(6);
  std::vector<Tensor> inputs;
  for (const Aval& aval : graph->input_avals()) inputs.push_back(random_tensor(aval, generator, -0.5, 0.5));
  expect_compiles(graph, inputs, 10);
}

TEST(CompilePrograms, While) {
  for (const Shape& shape : {Shape{}, Shape{6}, Shape{2, 3}}) {
    const Aval x(DType::kFloat32, shape), count(DType::kInt32, {});
    const Ints all = shape.size() == 0 ? Ints{} : shape.size() == 1 ? Ints{0} : Ints{0, 1};
    const GraphPtr condition = build_graph({kScalar, count, x}, [&](Builder& b, const Values& v) {
      const Value few = lt(v[1], full_integer(b, v[1].aval(), 20));
      return Values{bit_and(few, lt(reduce_sum(abs(v[2]), all), v[0]))};
    });
    const GraphPtr body = build_graph({x, count, x}, [&](Builder& b, const Values& v) {
      return Values{v[1] + full_integer(b, v[1].aval(), 1), v[2] + v[2] * v[0]};
    });
    const GraphPtr graph = build_graph(
        {kScalar, x, count, x}, [&](Builder& b, const Values& v) { return while_loop(b, {condition, body, 1, 1}, v); });
    std::mt19937 generator(7);
    std::vector<Tensor> inputs;
    for (const Aval& aval : graph->input_avals()) inputs.push_back(random_tensor(aval, generator, 0.1, 0.4));
    inputs[0] = Tensor::scalar(DType::kFloat32, 30);
    inputs[2] = Tensor::scalar(DType::kInt32, 0);
    expect_compiles(graph, inputs, 10);
    inputs[0] = Tensor::scalar(DType::kFloat32, -1);  // no iteration at all
    expect_compiles(graph, inputs, 10);
  }
}

TEST(CompilePrograms, Cond) {
  for (const Shape& shape : {Shape{}, Shape{5}}) {
    const Aval x(DType::kFloat32, shape), index(DType::kInt32, {});
    const std::vector<GraphPtr> branches = {
        build_graph({x, x}, [](Builder&, const Values& v) { return Values{v[0] + v[1], v[0]}; }),
        build_graph({x, x},
                    [](Builder&, const Values& v) {
                      return Values{sin(v[0]), v[1].rank() == 0 ? v[1] : cumsum(v[1], 0, false)};
                    }),
        build_graph({x, x}, [](Builder&, const Values& v) { return Values{v[1], v[1]}; }),
    };
    const GraphPtr graph = build_graph({index, x, x}, [&](Builder& b, const Values& v) {
      Values results = cond(b, branches, v);
      results.push_back(results[0] * results[1]);
      return results;
    });
    std::mt19937 generator(8);
    for (int chosen : {-3, 0, 1, 2, 9}) {
      expect_compiles(
          graph, {Tensor::scalar(DType::kInt32, chosen), random_tensor(x, generator), random_tensor(x, generator)});
    }
  }
}

TEST(CompilePrograms, NestedControl) {
  // A scan whose body branches, and whose branches loop.
  const Aval x(DType::kFloat64, {4}), index(DType::kInt32, {});
  const GraphPtr step = build_graph({x, x}, [](Builder&, const Values& v) { return Values{tanh(v[0] + v[1]), v[0]}; });
  const GraphPtr loop = build_graph({x}, [&](Builder& b, const Values& v) {
    return Values{scan(b, {step, 0, 1, 3, false}, {v[0], broadcast(v[0], {3, 4}, {1})})[0]};
  });
  const GraphPtr other = build_graph({x}, [](Builder&, const Values& v) { return Values{-v[0]}; });
  const GraphPtr body = build_graph({x, index}, [&](Builder& b, const Values& v) {
    const Value next = cond(b, {loop, other}, {v[1], v[0]})[0];
    return Values{next, next};
  });
  const GraphPtr graph = build_graph({x, Aval(DType::kInt32, {5})},
                                     [&](Builder& b, const Values& v) { return scan(b, {body, 0, 1, 5, true}, v); });
  std::mt19937 generator(9);
  Tensor choices(Aval(DType::kInt32, {5}));
  for (int i = 0; i < 5; ++i) choices.as<int32_t>()[i] = i % 2;
  expect_compiles(graph, {random_tensor(x, generator), choices});
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

// Three layers and a squared error; inputs: weights and biases, a batch, targets.
GraphPtr network(int64_t batch, int64_t width, std::vector<Aval>* avals) {
  const auto f32 = [](Shape shape) { return Aval(DType::kFloat32, shape); };
  *avals = {f32({width, width}), f32({width}), f32({width, width}), f32({width}),
            f32({width, 10}),    f32({10}),    f32({batch, width}), f32({batch, 10})};
  return build_graph(*avals, [&](Builder&, const Values& v) {
    Value h = v[6];
    for (int layer = 0; layer < 3; ++layer) {
      const Value product = dot_general(h, v[2 * layer], {{1}, {0}, {}, {}});
      h = product + broadcast(v[2 * layer + 1], product.shape(), {1});
      if (layer < 2) h = tanh(h);
    }
    const Value error = h - v[7];
    return Values{reduce_sum(error * error, {0, 1})};
  });
}

TEST(CompilePrograms, GradientOfANetwork) {
  std::vector<Aval> avals;
  const GraphPtr loss = network(8, 16, &avals);
  std::vector<bool> wrt(8, true);
  wrt[6] = wrt[7] = false;
  std::mt19937 generator(10);
  std::vector<Tensor> inputs;
  for (const Aval& aval : avals) inputs.push_back(random_tensor(aval, generator, -0.5, 0.5));
  expect_prepared_compiles(value_and_grad(*loss, wrt), inputs, 20);
}

TEST(CompilePrograms, PerExampleGradients) {
  std::vector<Aval> avals;
  const GraphPtr loss = network(1, 8, &avals);
  std::vector<bool> wrt(8, true);
  wrt[6] = wrt[7] = false;
  const GraphPtr batched = vmap(*value_and_grad(*loss, wrt), {-1, -1, -1, -1, -1, -1, 0, 0}, 5, std::vector<int>(7, 0));
  // Squared norms of each example's gradients, and their clipped sums.
  const GraphPtr graph = build_graph(batched->input_avals(), [&](Builder& b, const Values& v) {
    const Values results = b.inline_graph(*batched, v);
    Value norm;
    for (size_t i = 1; i < results.size(); ++i) {
      Ints axes;
      for (int axis = 1; axis < results[i].rank(); ++axis) axes.push_back(axis);
      norm = add_tangents(norm, reduce_sum(results[i] * results[i], axes));
    }
    const Value factor = min(full_like(norm, 1), full_like(norm, 1) / sqrt(norm));
    Values outputs{norm};
    for (size_t i = 1; i < results.size(); ++i) {
      outputs.push_back(reduce_sum(results[i] * broadcast(factor, results[i].shape(), {0}), {0}));
    }
    return outputs;
  });
  std::mt19937 generator(11);
  std::vector<Tensor> inputs;
  for (const Aval& aval : graph->input_avals()) inputs.push_back(random_tensor(aval, generator, -0.5, 0.5));
  expect_prepared_compiles(graph, inputs, 50);
}

// ---- the executable and its caches
// -----------------------------------------------------------------------------------

GraphPtr add_one(int64_t size) {
  return build_graph({Aval(DType::kFloat32, {size})},
                     [](Builder&, const Values& v) { return Values{v[0] + full_like(v[0], 1)}; });
}

TEST(CompilePrograms, ExecutableChecksItsArguments) {
  auto executable = compile(add_one(8), {.use_disk_cache = false});
  ASSERT_TRUE(executable.ok());
  Tensor x(Aval(DType::kFloat32, {8}));
  for (int i = 0; i < 8; ++i) x.as<float>()[i] = static_cast<float>(i);
  EXPECT_EQ((**executable)({x})[0].as<float>()[7], 8.f);
  EXPECT_THROW((**executable)({}), Error);
  EXPECT_THROW((**executable)({Tensor(Aval(DType::kFloat32, {9}))}), Error);
}

TEST(CompilePrograms, UnknownBackendListsTheChoices) {
  const auto result = compile(add_one(8), {.backend = "gpu9"});
  EXPECT_EQ(result.status().message(),
            "there is no backend named 'gpu9'\n  choose one of: llvm, interpreter, cuda, cuda-emulated");
}

TEST(CompilePrograms, InterpreterBackend) {
  auto executable = compile(add_one(8), {.backend = "interpreter"});
  ASSERT_TRUE(executable.ok());
  EXPECT_EQ((**executable)({Tensor(Aval(DType::kFloat32, {8}))}).size(), 1u);
}

TEST(CompilePrograms, CachesInMemory) {
  clear_cache();
  const auto first = compile(add_one(12), {.use_disk_cache = false});
  const auto second = compile(add_one(12), {.use_disk_cache = false});
  EXPECT_EQ(first->get(), second->get());
  const auto third = compile(add_one(13), {.use_disk_cache = false});
  EXPECT_NE(first->get(), third->get());
  EXPECT_EQ(cache_statistics().hits, 1);
  EXPECT_EQ(cache_statistics().misses, 2);
  EXPECT_EQ(cache_statistics().entries, 2);
  clear_cache();
  EXPECT_EQ(cache_statistics().entries, 0);
}

class DiskCache : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("ct_cache_test_" + std::to_string(getpid()));
    std::filesystem::remove_all(directory_);
    setenv("CT_CACHE_DIR", directory_.c_str(), 1);
    clear_cache();
  }
  void TearDown() override {
    unsetenv("CT_CACHE_DIR");
    std::filesystem::remove_all(directory_);
    clear_cache();
  }
  std::filesystem::path only_file() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    EXPECT_EQ(files.size(), 1u);
    return files.at(0);
  }
  // Compiles and checks what comes out.
  void compile_and_run() {
    clear_cache();
    auto executable = compile(add_one(9));
    ASSERT_TRUE(executable.ok());
    Tensor x(Aval(DType::kFloat32, {9}));
    for (int i = 0; i < 9; ++i) x.as<float>()[i] = static_cast<float>(i);
    EXPECT_EQ((**executable)({x})[0].as<float>()[8], 9.f);
  }
  std::filesystem::path directory_;
};

TEST_F(DiskCache, IsPrivateAndUsedAgain) {
  compile_and_run();
  EXPECT_EQ(cache_statistics().misses, 1);
  struct stat status;
  ASSERT_EQ(stat(only_file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  for (const auto& folder : {directory_, only_file().parent_path()}) {
    ASSERT_EQ(stat(folder.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
  }
  compile_and_run();
  EXPECT_EQ(cache_statistics().disk_hits, 1);
  EXPECT_EQ(cache_statistics().misses, 0);
}

// It may call what is part of the library.
TEST_F(DiskCache, FilesBelongToTheBuildThatWroteThem) {
  compile_and_run();
  std::ifstream in(only_file(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::string build = jit::build_fingerprint();
  EXPECT_NE(bytes.find(build), std::string::npos);
  EXPECT_EQ(build.find("unknown"), std::string::npos) << build;
}

TEST_F(DiskCache, BrokenFilesAreIgnored) {
  compile_and_run();
  std::ifstream in(only_file(), std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto expect_ignored = [&](const std::string& bytes) {
    std::ofstream(only_file(), std::ios::binary | std::ios::trunc) << bytes;
    compile_and_run();
    EXPECT_EQ(cache_statistics().disk_hits, 0);
    EXPECT_EQ(cache_statistics().misses, 1);
  };
  expect_ignored("");
  expect_ignored(good.substr(0, good.size() / 2));
  for (size_t at = 0; at < good.size(); at += std::max<size_t>(good.size() / 7, 1)) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    expect_ignored(bytes);
  }
  expect_ignored(good + "x");
  // Somebody else could have written it.
  std::filesystem::permissions(only_file(), std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  compile_and_run();
  EXPECT_EQ(cache_statistics().disk_hits, 0);
}

TEST_F(DiskCache, CanBeTurnedOff) {
  setenv("CT_CACHE_DIR", "", 1);
  compile_and_run();
  EXPECT_FALSE(std::filesystem::exists(directory_));
  setenv("CT_CACHE_DIR", directory_.c_str(), 1);
  ASSERT_TRUE(compile(add_one(9), {.use_disk_cache = false}).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST(CompilePrograms, ManyThreads) {
  clear_cache();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t size = 1; size < 20; ++size) {
        auto executable = compile(add_one(size), {.use_disk_cache = false});
        Tensor x(Aval(DType::kFloat32, {size}));
        for (int64_t i = 0; i < size; ++i) x.as<float>()[i] = static_cast<float>(t);
        if ((**executable)({x})[0].as<float>()[size - 1] != static_cast<float>(t + 1)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache_statistics().entries, 19);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

TEST(CompilePrograms, TemporariesShareMemory) {
  const Aval x(DType::kFloat32, {64, 64});
  const GraphPtr graph = build_graph({x, x}, [](Builder&, const Values& v) {
    Value h = v[0];
    for (int i = 0; i < 10; ++i) h = tanh(dot_general(h, v[1], {{1}, {0}, {}, {}}));
    return Values{h};
  });
  // Two products are alive at a time.
  EXPECT_LE(lower_prepared(*graph, "test").arena_bytes, 3 * x.bytes());
}

// Two loops read stretches of an input in order, and a third loop has another as a constant: none of them is copied.
TEST(CompilePrograms, LoopsReadStretchesOfArraysInPlace) {
  const Aval x(DType::kFloat32, {60, 7}), row(DType::kFloat32, {7}), rows(DType::kFloat32, {5, 7});
  const GraphPtr body = build_graph({row, rows}, [](Builder&, const Values& v) {
    const Value sum = v[0] + reduce_sum(v[1], {0});
    return Values{sum, sum};
  });
  const GraphPtr with_constant = build_graph({rows, row}, [](Builder&, const Values& v) {
    const Value sum = v[1] + reduce_sum(v[0], {0});
    return Values{sum, sum};
  });
  const GraphPtr graph = build_graph({x}, [&](Builder& b, const Values& v) {
    const Value zero = full_like(slice_axis(reshape(v[0], {420}), 0, 0, 7), 0);
    const auto stretch = [&](int64_t first, int64_t last) { return slice_axis(v[0], 0, first, last); };
    const Values forwards = scan(b, {body, 0, 1, 4, false}, {zero, reshape(stretch(3, 23), {4, 5, 7})});
    const Values backwards = scan(b, {body, 0, 1, 4, true}, {forwards[0], reshape(stretch(40, 60), {4, 5, 7})});
    const Values repeated = scan(b, {with_constant, 1, 1, 3, false}, {stretch(20, 25), backwards[0]});
    return Values{forwards[1], backwards[1], repeated[1]};
  });
  std::mt19937 generator(7);
  expect_compiles(graph, {random_tensor(x, generator)});
  EXPECT_LE(lower_prepared(*graph, "test").arena_bytes, 8 * row.bytes());
}

TEST(CompilePrograms, DonatedInputsAreUpdatedInPlace) {
  const Aval x(DType::kFloat32, {100});
  const GraphPtr graph = build_graph({x, x}, [](Builder&, const Values& v) {
    const Value gradient = reverse(v[0], {0}) * v[1];
    return Values{v[0] - gradient * full_like(v[0], 0.1), v[1] + v[1]};
  });
  auto executable = compile(graph, {.donated = {true, true}, .use_disk_cache = false});
  ASSERT_TRUE(executable.ok());
  // Neither output may lie where it overwrites what is read backwards; the first takes the other input.
  EXPECT_EQ((*executable)->plan().donations[0], 1);
  EXPECT_EQ((*executable)->plan().donations[1], -1);
  Tensor a(x), b(x), out(x);
  for (int i = 0; i < 100; ++i) a.as<float>()[i] = b.as<float>()[i] = static_cast<float>(i);
  const std::vector<Tensor> expected = (**executable)({a, b});
  void* inputs[] = {a.data(), b.data()};
  void* outputs[] = {b.data(), out.data()};
  (*executable)->run(inputs, outputs);
  EXPECT_EQ(std::memcmp(b.data(), expected[0].data(), 400), 0);
  EXPECT_EQ(std::memcmp(out.data(), expected[1].data(), 400), 0);
}

// ---- export ---------------------------------------------------------------------------------------------------------

TEST(CompilePrograms, ExportedLibraryRuns) {
  const Aval x(DType::kFloat32, {200, 200});
  for (bool large : {false, true}) {
    const GraphPtr graph = build_graph({x, Aval(DType::kFloat32, {})}, [&](Builder&, const Values& v) {
      const Value scaled = v[0] * broadcast_scalar(v[1], v[0].shape());
      if (!large) return Values{scaled};
      return Values{dot_general(exp(scaled), scaled, {{1}, {0}, {}, {}})};
    });
    const LibraryTarget target = *library_target("native");
    const LibraryFunction function{
        .symbol = "scale",
        .parameters = {{.bytes = x.bytes(), .alignment = 4},
                       {.kind = jit::CParameter::Kind::kValue, .dtype = DType::kFloat32, .bytes = 4, .alignment = 4},
                       {.bytes = x.bytes(), .alignment = 4, .written = true}},
        .inputs = {{0, 0}, {1, 0}},
        .outputs = {{2, 0}},
        .pairs = {-1},
        .constants = {}};
    auto compiled = compile_function(graph, function, target);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    const auto files = make_library("scale", {*compiled}, "{}", 42, /*checks=*/true, target);
    ASSERT_TRUE(files.ok()) << files.status().message();
    const auto directory = std::filesystem::temp_directory_path() / ("ct_export_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(directory);
    const std::string path = directory / "libscale.so";
    std::ofstream(path, std::ios::binary) << files->linked;
    const auto library = OpenLibrary::open(path, "scale");
    ASSERT_TRUE(library.ok()) << library.status().message();
    EXPECT_EQ((*library)->signature(), 42);
    EXPECT_EQ((*library)->description(), "{}");
    EXPECT_EQ((*library)->check(), jit::kCOk);
    EXPECT_FALSE(OpenLibrary::open(path, "other").ok());
    std::mt19937 generator(12);
    const std::vector<Tensor> inputs{random_tensor(x, generator, -0.1, 0.1), Tensor::scalar(DType::kFloat32, 2)};
    const std::vector<Tensor> expected = (**compile(graph, {.use_disk_cache = false}))(inputs);

    void* handle = dlopen(path.c_str(), RTLD_NOW);
    ASSERT_NE(handle, nullptr) << dlerror();
    auto* scale = reinterpret_cast<int (*)(const void*, float, void*, const ExportedRun*)>(dlsym(handle, "scale"));
    ASSERT_NE(scale, nullptr);
    Tensor out(x);
    const Tensor workspace(Aval(DType::kUInt8, {1 << 20}));
    ExportedRun run{.workspace = workspace.data(), .workspace_bytes = 1 << 20};
    EXPECT_EQ(scale(inputs[0].data(), 2.0F, out.data(), &run), jit::kCOk);
    EXPECT_EQ(std::memcmp(out.data(), expected[0].data(), static_cast<size_t>(x.bytes())), 0);
    EXPECT_EQ(scale(nullptr, 2.0F, out.data(), &run), jit::kCNull);
    EXPECT_EQ(scale(inputs[0].as<char>() + 1, 2.0F, out.data(), &run), jit::kCAlignment);
    EXPECT_EQ(scale(out.data(), 2.0F, out.data(), &run), jit::kCOverlap);
    run.size = 8;
    EXPECT_EQ(scale(inputs[0].data(), 2.0F, out.data(), &run), jit::kCAbi);
    dlclose(handle);

    Plan facts;
    facts.arena_bytes = compiled->function.arena_bytes;
    facts.donations = {-1};
    const auto loaded = (*library)->load(*graph, facts, "scale_entry", compiled->function.asks_caller());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(std::memcmp((**loaded)(inputs)[0].data(), expected[0].data(), static_cast<size_t>(x.bytes())), 0);
    EXPECT_FALSE((*library)->load(*graph, facts, "scale_nothing", false).ok());
    facts.donations = {7};
    EXPECT_FALSE((*library)->load(*graph, facts, "scale_entry", false).ok());
    std::filesystem::remove_all(directory);
  }
}

TEST(CompilePrograms, ExportForAnotherMachine) {
  const LibraryTarget target = *library_target("aarch64");
  const LibraryFunction function{.symbol = "add",
                                 .parameters = {{.bytes = 400, .alignment = 4}, {.bytes = 400, .alignment = 4}},
                                 .inputs = {{0, 0}},
                                 .outputs = {{1, 0}},
                                 .pairs = {-1},
                                 .constants = {}};
  const auto compiled = compile_function(add_one(100), function, target);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  const auto files = make_library("add", {*compiled}, "{}", 1, true, target);
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(files->linked.substr(1, 3), "ELF");
  EXPECT_EQ(files->linked.substr(18, 2), std::string("\xb7\0", 2));  // e_machine
  EXPECT_THAT(std::string(library_target("vax").status().message()),
              testing::HasSubstr("for the target 'vax'\n  choose one of: x86-64, x86-64-v2, "));
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// Loops that were merged leave blocks behind which nothing runs: they are no second store.
TEST(CompilePrograms, LargeResultsOfMergedLoopsAreStoredPastTheCaches) {
  const auto softmax = [](int64_t rows) {
    const GraphPtr graph = build_graph({Aval(DType::kFloat32, {rows, 1024})}, [](Builder&, const Values& v) {
      const Value e = exp(v[0] - broadcast(reduce_max(v[0], {1}), v[0].shape(), {0}));
      return Values{e / broadcast(reduce_sum(e, {1}), v[0].shape(), {0})};
    });
    return *jit::emit_llvm_ir(lower_prepared(*prepare(graph), "test"),
                              {.triple = "x86_64-linux-gnu", .cpu = "x86-64-v3", .vector_bits = 0});
  };
  EXPECT_NE(softmax(8192).find("!nontemporal"), std::string::npos);
  EXPECT_EQ(softmax(1024).find("!nontemporal"), std::string::npos);
}

// Two vectors side by side where that hides how long each one's chain of operations is, and where both are whole.
TEST(CompilePrograms, LongBodiesComputeTwoVectorsAtOnce) {
  const auto code = [](int64_t size, const char* cpu, auto&& function) {
    const GraphPtr graph =
        build_graph({Aval(DType::kFloat32, {size})}, [&](Builder&, const Values& v) { return Values{function(v[0])}; });
    return *jit::emit_llvm_ir(lower_prepared(*prepare(graph), "test"),
                              {.triple = "x86_64-linux-gnu", .cpu = cpu, .vector_bits = 512});
  };
  const auto chain = [](Value x) { return tanh(x * x) * tanh(x); };
  const auto has_two = [](const std::string& text) { return text.find("<32 x float>") != std::string::npos; };
  EXPECT_TRUE(has_two(code(8192, "x86-64-v4", chain)));
  EXPECT_FALSE(has_two(code(8200, "x86-64-v4", chain)));
  EXPECT_FALSE(has_two(code(1024, "x86-64-v4", chain)));
  EXPECT_FALSE(has_two(code(8192, "x86-64-v4", [](Value x) { return x * x + x; })));
  // There is no tail where none can be.
  EXPECT_EQ(code(8192, "x86-64-v4", chain).find("masked.store"), std::string::npos);
  EXPECT_NE(code(8200, "x86-64-v4", chain).find("masked.store"), std::string::npos);
}

// Without AVX-512 masked accesses are slow: vectors that are whole take plain ones, of the one body that all share.
TEST(CompilePrograms, WholeVectorsOfAMaskedBodyAreAccessedPlainly) {
  const GraphPtr graph = build_graph({Aval(DType::kFloat32, {8204})},
                                     [](Builder&, const Values& v) { return Values{tanh(v[0] * v[0]) * tanh(v[0])}; });
  const auto code = [&](const char* cpu) {
    return *jit::emit_llvm_ir(lower_prepared(*prepare(graph), "test"),
                              {.triple = "x86_64-linux-gnu", .cpu = cpu, .vector_bits = 512});
  };
  const std::string avx2 = code("x86-64-v3"), avx512 = code("x86-64-v4");
  for (const char* access : {"llvm.masked.load", "llvm.masked.store", "load <8 x float>", "store <8 x float>"}) {
    EXPECT_NE(avx2.find(access), std::string::npos) << access;
  }
  EXPECT_EQ(avx512.find("store <16 x float>"), std::string::npos);
}

// A NaN that is in the accumulators stays there: a choice between it, which was loaded, and the larger number.
TEST(CompilePrograms, ChoicesAreNotStoredUnderMasksWhereTheseAreSlow) {
  const GraphPtr graph = build_graph({Aval(DType::kFloat32, {1024, 64})},
                                     [](Builder&, const Values& v) { return Values{reduce_max(v[0], {0})}; });
  const auto code = jit::emit_assembly(lower_prepared(*prepare(graph), "test"),
                                       {.triple = "x86_64-linux-gnu", .cpu = "x86-64-v3", .vector_bits = 256});
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_NE(code->find("vmaxps"), std::string::npos);
  EXPECT_EQ(code->find("vmaskmov"), std::string::npos);
}

}  // namespace
}  // namespace ct
