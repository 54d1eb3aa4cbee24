// Many threads in the library at once: compiling, both caches, running one executable, transforms, interned types,
// evaluation. Under ThreadSanitizer (`./dev test` builds this program with it) any data race fails the test that has
// it; in other builds the results are compared.
//
// To add a test: `together` runs a function on several threads that start as one, with the thread's number. The
// interleaving is the point, so a body should be short and do the same work from every thread, then different work.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <thread>

#include "interpreter/evaluate.h"
#include "interpreter/trace.h"
#include "ir/attrs.h"
#include "ir/check.h"
#include "ir/ops.h"
#include "ir/parse.h"
#include "ir/primitive.h"
#include "ir/print.h"
#include "jit/compile.h"
#include "runtime/location.h"
#include "runtime/pool.h"
#include "tests/cpp/compile_testing.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

constexpr int kThreads = 8;

// What a thread throws fails the test.
void together(const std::function<void(int)>& body, int threads = kThreads) {
  std::barrier start(threads);
  std::vector<std::string> errors(static_cast<size_t>(threads));
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      start.arrive_and_wait();
      try {
        body(i);
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(i)] = error.what();
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

Aval vector_of(int64_t size) { return Aval(DType::kFloat32, {size}); }

// sum(tanh(x)^2 + factor x) with a sub-graph (a call), a reduction and a constant of its own.
GraphPtr loss(int64_t size, double factor) {
  const GraphPtr inner = build_graph({vector_of(size)}, [](Builder&, const Values& v) {
    const Value t = tanh(v[0]);
    return Values{t * t};
  });
  return build_graph({vector_of(size)}, [&](Builder& b, const Values& v) {
    const Value squares =
        b.bind(get_primitive("call"), {v[0]}, Attrs::make({{"graph", inner}, {"name", std::string("inner")}}))[0];
    return Values{reduce_sum(squares + v[0] * full_like(v[0], factor), {0})};
  });
}

Tensor numbers(int64_t size) {
  Tensor result(vector_of(size));
  for (int64_t i = 0; i < size; ++i) store_real(result, i, 0.25 * static_cast<double>(i % 9) - 1);
  return result;
}

void expect_same(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    std::string difference;
    EXPECT_TRUE(near(actual[i], expected[i], tolerance(expected[i].dtype()), &difference)) << difference;
  }
}

LoadedPtr compiled(const GraphPtr& graph, const CompileOptions& options) {
  auto executable = compile(graph, options);
  if (!executable.ok()) throw std::runtime_error(std::string(executable.status().message()));
  return *executable;
}

// ---- loops that threads share -----------------------------------------------------------------------------------

// Products, element-wise loops and folds that are long enough for the pool, called from many threads: who finds it busy
// works alone, with the same bits.
TEST(Threads, ProgramsShareThePool) {
  const Aval matrix(DType::kFloat32, {300, 300});
  const GraphPtr graph = build_graph({matrix}, [](Builder&, const Values& v) {
    const Value product = dot_general(v[0], v[0], {{1}, {0}, {}, {}});
    return Values{tanh(product), reduce_sum(product * product, {0}), reduce_sum(tanh(v[0] * product), {0, 1})};
  });
  Tensor x(matrix);
  for (int64_t i = 0; i < matrix.size(); ++i) store_real(x, i, 0.01 * static_cast<double>(i % 23) - 0.1);
  const auto executable = compiled(graph, {.use_disk_cache = false});
  const std::vector<Tensor> inputs{x};
  std::vector<Tensor> alone;
  {
    const ThreadLimit one(1);
    alone = (*executable)(inputs);
  }
  together([&](int thread) {
    const ThreadLimit limit(thread % 3);
    for (int i = 0; i < 5; ++i) {
      const std::vector<Tensor> results = (*executable)(inputs);
      for (size_t j = 0; j < results.size(); ++j) {
        EXPECT_EQ(std::memcmp(results[j].data(), alone[j].data(), static_cast<size_t>(alone[j].aval().bytes())), 0);
      }
    }
  });
}

// ---- types, attributes, names -----------------------------------------------------------------------------------

TEST(Threads, InternedTypesAreOne) {
  std::vector<std::vector<Aval>> made(kThreads);
  together([&](int thread) {
    for (int64_t n = 0; n < 200; ++n) {
      made[static_cast<size_t>(thread)].push_back(Aval(DType::kFloat32, {n, 3}));
      Aval(DType::kInt8, {n, thread});
      intern_location({"file", static_cast<int>(n), "function"});
      location_string(intern_location({"file", static_cast<int>(n) * 8 + thread, "function"}));
    }
  });
  for (const auto& avals : made) {
    for (size_t n = 0; n < avals.size(); ++n) EXPECT_TRUE(avals[n] == made[0][n]);
  }
}

TEST(Threads, AttributesAreShared) {
  const AttrsPtr shared = Attrs::make({{"axes", Ints{0}}, {"name", std::string("a")}});
  together([&](int thread) {
    for (int i = 0; i < 300; ++i) {
      AttrsPtr copy = shared;
      copy = copy->with("name", std::string("thread ") + std::to_string(thread));
      EXPECT_EQ(copy->ints("axes"), Ints{0});
      EXPECT_FALSE(*copy == *shared);
      EXPECT_TRUE(*Attrs::empty() == *Attrs::make({}));
    }
  });
}

TEST(Threads, PrimitivesAreFoundWhileOthersAreDefined) {
  together([&](int thread) {
    for (int i = 0; i < 50; ++i) {
      Primitive primitive;
      primitive.name = "test_thread_" + std::to_string(thread) + "_" + std::to_string(i % 5);
      define_by_user(std::move(primitive));
      EXPECT_EQ(get_primitive("add").name, "add");
      EXPECT_GT(all_primitives().size(), 50u);
    }
  });
}

// ---- graphs -------------------------------------------------------------------------------------------------------

TEST(Threads, TransformsOfOneGraph) {
  const GraphPtr shared = loss(12, 0.5);
  const std::vector<Tensor> expected = evaluate_reference(*value_and_grad(*shared, {true}), {numbers(12)});
  together([&](int thread) {
    for (int i = 0; i < 3; ++i) {
      const GraphPtr graph = thread % 2 == 0 ? shared : loss(12, 0.5);
      const GraphPtr gradient = value_and_grad(*graph, {true});
      const GraphPtr second = value_and_grad(
          *build_graph(
              {vector_of(12)},
              [&](Builder& b, const Values& v) { return Values{reduce_sum(b.inline_graph(*gradient, v)[1], {0})}; }),
          {true});
      EXPECT_EQ(check(*prepare(second)), "");
      expect_same(evaluate(*gradient, {numbers(12)}), expected);
      const GraphPtr batched = vmap(*gradient, {0}, 5, {0, 0});
      EXPECT_EQ(batched->output_avals()[1].shape(), (Shape{5, 12}));
      EXPECT_TRUE(same_graph(*parse(print(*gradient)), *gradient));
    }
  });
}

TEST(Threads, EagerOperationsAndCaptures) {
  const Tensor x = numbers(12);
  const std::vector<Tensor> expected = evaluate_reference(*loss(12, 2), {x});
  together([&](int thread) {
    const auto call = [](std::string_view op, const std::vector<Datum>& operands, std::vector<Attrs::Item> attrs = {}) {
      return ct::bind(get_primitive(op), operands, Attrs::make(std::move(attrs)))[0];
    };
    const auto run = [&](const Datum& x, const Datum& two) {
      const Datum t = call("tanh", {x});
      return call("reduce_sum", {call("add", {call("mul", {t, t}), call("mul", {x, two})})}, {{"axes", Ints{0}}});
    };
    Tensor two(x.aval());
    for (int64_t i = 0; i < two.size(); ++i) store_real(two, i, 2);
    for (int i = 0; i < 20; ++i) {
      expect_same({std::get<Tensor>(run(x, two))}, expected);
      const auto capture = Capture::begin({CaptureMode::kJit, "f", false});
      const Datum traced = capture->add_input(x.aval(), "x");
      const Capture::Result result = capture->finish({run(traced, two)});
      ASSERT_EQ(result.captured.size(), 1u);
      expect_same(evaluate(*result.graph, {x, std::get<Tensor>(result.captured[0])}), expected);
      // A primitive that is evaluated by its expansion, which is remembered for all threads.
      const Datum running = call("cumsum", {x}, {{"axis", int64_t{0}}, {"reverse", thread % 2 == 0}});
      EXPECT_EQ(datum_aval(running), x.aval());
    }
  });
}

// ---- compiling ----------------------------------------------------------------------------------------------------

class ThreadsCompile : public ::testing::Test {
 protected:
  ThreadsCompile() { clear_cache(); }
  ~ThreadsCompile() override { clear_cache(); }
  const CompileOptions in_memory_{.use_disk_cache = false};
};

TEST_F(ThreadsCompile, TheSameGraph) {
  std::vector<LoadedPtr> made(kThreads);
  const GraphPtr shared = value_and_grad(*loss(40, 3), {true});
  const std::vector<Tensor> expected = evaluate_reference(*shared, {numbers(40)});
  together([&](int thread) {
    // Equal graphs, too, and the very same.
    const GraphPtr graph = thread % 2 == 0 ? shared : value_and_grad(*loss(40, 3), {true});
    made[static_cast<size_t>(thread)] = compiled(graph, in_memory_);
    expect_same((*made[static_cast<size_t>(thread)])({numbers(40)}), expected);
  });
  for (const auto& executable : made) EXPECT_EQ(executable, made[0]);
  EXPECT_EQ(cache_statistics().misses, 1);  // the others waited for the first
  EXPECT_EQ(cache_statistics().entries, 1);
}

TEST_F(ThreadsCompile, DifferentGraphs) {
  constexpr int kGraphs = 12;
  together([&](int thread) {
    for (int i = 0; i < kGraphs; ++i) {
      const int which = (i + thread * 5) % kGraphs;  // each thread has another order
      const GraphPtr graph = value_and_grad(*loss(8 + which, which), {true});
      expect_same((*compiled(graph, in_memory_))({numbers(8 + which)}), evaluate(*graph, {numbers(8 + which)}));
    }
  });
  EXPECT_EQ(cache_statistics().entries, kGraphs);
}

// Large enough to be compiled as several modules, by helper threads.
TEST_F(ThreadsCompile, ProgramsOfManyModules) {
  const auto large = [](int thread) {
    return build_graph({vector_of(64)}, [&](Builder&, const Values& v) {
      Value x = v[0];
      for (int i = 0; i < 60; ++i) {
        x = cumsum(tanh(x * full_like(x, 0.5 + 0.01 * (thread % 2))), 0, i % 2 == 0) * full_like(x, 0.1);
      }
      return Values{x};
    });
  };
  together(
      [&](int thread) {
        const GraphPtr graph = large(thread);
        expect_same((*compiled(graph, in_memory_))({numbers(64)}), evaluate(*graph, {numbers(64)}));
      },
      4);
}

TEST_F(ThreadsCompile, EvictionsWhileOthersHit) {
  const GraphPtr hot = loss(16, 1);
  const std::vector<Tensor> expected = evaluate(*hot, {numbers(16)});
  std::atomic<bool> done = false;
  together([&](int thread) {
    if (thread == 0) {
      // More than the table holds; interpreted programs cost nothing to make.
      for (int64_t i = 0; i < 5000; ++i) {
        const GraphPtr graph = build_graph({vector_of(i + 1)}, [](Builder&, const Values& v) { return Values{-v[0]}; });
        compiled(graph, {.backend = "interpreter"});
      }
      done = true;
      return;
    }
    while (!done) {
      expect_same((*compiled(hot, in_memory_))({numbers(16)}), expected);
      EXPECT_GE(cache_statistics().entries, 1);
    }
  });
  EXPECT_GT(cache_statistics().evictions, 0);
}

TEST_F(ThreadsCompile, CodeOnDisk) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("cotangent-threads-" + std::to_string(getpid()));
  const char* before = std::getenv("CT_CACHE_DIR");
  const std::string restored = before == nullptr ? "" : before;
  setenv("CT_CACHE_DIR", directory.c_str(), 1);
  together([&](int thread) {
    for (int i = 0; i < 6; ++i) {
      const int size = 20 + (i + thread) % 3;
      const GraphPtr graph = loss(size, 0.125);
      expect_same((*compiled(graph, {}))({numbers(size)}), evaluate(*graph, {numbers(size)}));
      clear_cache();
    }
  });
  const CacheStatistics before_last = cache_statistics();
  compiled(loss(20, 0.125), {});
  EXPECT_EQ(cache_statistics().disk_hits, before_last.disk_hits + 1);
  setenv("CT_CACHE_DIR", restored.c_str(), 1);
  std::filesystem::remove_all(directory);
}

// ---- running ------------------------------------------------------------------------------------------------------

TEST_F(ThreadsCompile, OneExecutable) {
  // With scratch memory: each thread has its own.
  const GraphPtr graph = build_graph({vector_of(500)}, [](Builder&, const Values& v) {
    const Value x = cumsum(v[0], 0, false);
    return Values{cumsum(tanh(x), 0, true), x, reduce_max(x, {0})};
  });
  for (const char* backend : {"llvm", "interpreter"}) {
    const auto executable = compiled(graph, {.backend = backend, .use_disk_cache = false});
    const Tensor shared = numbers(500);
    const std::vector<Tensor> expected = evaluate(*graph, {shared});
    together([&](int) {
      for (int i = 0; i < 50; ++i) expect_same((*executable)({shared}), expected);
    });
  }
}

// Arrays large enough that loops are shared with the pool's threads, which serve one caller at a time, and that their
// memory is kept for the next ones.
TEST_F(ThreadsCompile, LargeArraysShareThePool) {
  constexpr int64_t kSize = int64_t{1} << 20;
  const GraphPtr graph = build_graph({vector_of(kSize)}, [](Builder&, const Values& v) {
    const Value y = tanh(v[0] * v[0]);
    return Values{y, reduce_sum(y, {0})};
  });
  const Tensor x = numbers(kSize);
  const auto executable = compiled(graph, in_memory_);
  const std::vector<Tensor> expected = (*executable)({x});
  together(
      [&](int) {
        for (int i = 0; i < 4; ++i) {
          const std::vector<Tensor> results = (*executable)({x});
          for (size_t k = 0; k < results.size(); ++k) {
            const auto bytes = static_cast<size_t>(results[k].aval().bytes());
            EXPECT_EQ(std::memcmp(results[k].data(), expected[k].data(), bytes), 0);
          }
          evaluate(*build_graph({x.aval()}, [](Builder&, const Values& v) { return Values{-v[0]}; }), {x});
        }
      },
      4);
}

// The last reference may go on any thread, while others still run the code.
TEST_F(ThreadsCompile, ExecutablesOutliveTheCache) {
  together([&](int thread) {
    for (int i = 0; i < 5; ++i) {
      const auto executable = compiled(loss(30, i), in_memory_);
      if (thread % 4 == 0) clear_cache();
      const std::vector<Tensor> results = (*executable)({numbers(30)});
      expect_same(results, evaluate(*loss(30, i), {numbers(30)}));
    }
  });
}

}  // namespace
}  // namespace ct
