// Plans linked into this process: memory that comes and goes, and forks that share it.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "device/cpu/cpu.h"
#include "jit/llvm/compiler.h"

namespace ct::jit {
namespace {

// x * factor for four numbers.
Plan times(float factor) {
  loop::Builder b("times");
  const loop::BufferId in = b.input(DType::kFloat32, 4), out = b.output(DType::kFloat32, 4);
  b.for_each(4, {.vectorize = true}, [&](const loop::Index& i) {
    b.store(out, i, b.apply(ScalarOp::kMul, b.load(in, i), b.constant(DType::kFloat32, factor)));
  });
  absl::StatusOr<Plan> plan = emit_object(b.finish(), "times");
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

float call(const LoadedPtr& loaded) {
  float in[4] = {1, 2, 3, 4}, out[4] = {};
  void *inputs[] = {in}, *outputs[] = {out};
  loaded->run(inputs, outputs);
  return out[1] / 2;
}

std::vector<LoadedPtr> load_many(const Plan& plan, size_t count) {
  std::vector<LoadedPtr> loaded;
  for (size_t i = 0; i < count; ++i) loaded.push_back(*cpu_device().load(plan));
  return loaded;
}

// Of code that is not a file's on disk.
size_t executable_bytes() {
  std::ifstream maps("/proc/self/maps");
  size_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, flags, offset, device, file, path;
    words >> range >> flags >> offset >> device >> file >> path;
    if (flags[2] != 'x' || (!path.empty() && path.find("memfd:cotangent") == std::string::npos)) continue;
    const size_t middle = range.find('-');
    bytes += std::stoull(range.substr(middle + 1), nullptr, 16) - std::stoull(range.substr(0, middle), nullptr, 16);
  }
  return bytes;
}

// What it returns, in a child of this process.
int in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Load, ProgramsOfOneNameAreApart) {
  const LoadedPtr two = *cpu_device().load(times(2)), three = *cpu_device().load(times(3));
  const LoadedPtr again = *cpu_device().load(times(2));
  EXPECT_EQ(call(two), 2);
  EXPECT_EQ(call(three), 3);
  EXPECT_EQ(call(again), 2);
}

TEST(Load, DroppedProgramsLeaveNothing) {
  const Plan plan = times(2);
  const LoadedPtr kept = *cpu_device().load(plan);
  load_many(plan, 3000);
  const size_t before = executable_bytes();
  for (int i = 0; i < 2; ++i) {
    const std::vector<LoadedPtr> many = load_many(plan, 20000);
    EXPECT_GT(executable_bytes(), before);
    EXPECT_EQ(call(many.back()), 2);
  }
  EXPECT_LE(executable_bytes(), before);
  EXPECT_EQ(call(kept), 2);
}

TEST(Load, SmallProgramsSharePages) {
  const size_t before = executable_bytes();
  const std::vector<LoadedPtr> many = load_many(times(2), 5000);
  EXPECT_LT(executable_bytes() - before, size_t{5000} * 512);
}

TEST(Load, ForksKeepWhatTheOtherSideDrops) {
  const Plan two = times(2), three = times(3);
  std::vector<LoadedPtr> dropped_here = load_many(two, 100), dropped_there = load_many(two, 100);
  int ready[2], go[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(go), 0);
  char byte = 0;
  const auto all = [](const std::vector<LoadedPtr>& list, float expected) {
    return std::ranges::all_of(list, [&](const LoadedPtr& one) { return call(one) == expected; });
  };
  const pid_t child = fork();
  if (child == 0) {
    dropped_there.clear();
    const std::vector<LoadedPtr> made = load_many(three, 300);
    bool good = all(made, 3) && write(ready[1], "x", 1) == 1 && read(go[0], &byte, 1) == 1;
    good = good && all(made, 3) && all(dropped_here, 2);
    _exit(good ? 0 : 1);
  }
  dropped_here.clear();
  const std::vector<LoadedPtr> made = load_many(three, 300);
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(all(made, 3));
  EXPECT_TRUE(all(dropped_there, 2));
  ASSERT_EQ(write(go[1], "x", 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Load, ManyForks) {
  const Plan plan = times(2);
  const LoadedPtr kept = *cpu_device().load(plan);
  const size_t before = executable_bytes();
  for (int i = 0; i < 20; ++i) {
    const LoadedPtr one = *cpu_device().load(plan);
    EXPECT_EQ(in_child([&] { return call(*cpu_device().load(plan)) == 2 && call(one) == 2; }), 0);
  }
  EXPECT_LE(executable_bytes(), before + (size_t{2} << 20));
  EXPECT_EQ(call(kept), 2);
}

TEST(Load, WithoutFilesInMemory) {
  const Plan plan = times(2);
  for (int what : {RLIMIT_FSIZE, RLIMIT_NOFILE}) {
    EXPECT_EQ(in_child([&] {
                const rlimit none{0, 0};
                if (setrlimit(static_cast<__rlimit_resource>(what), &none) != 0) return false;
                const std::vector<LoadedPtr> many = load_many(plan, 50);
                return call(many.front()) == 2 && call(many.back()) == 2;
              }),
              0);
  }
}

TEST(Load, NoMemoryIsAnError) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer needs memory of its own, and ends the process without";
#endif
  Plan plan = times(2);
  ASSERT_TRUE(cpu_device().load(plan).ok());
  EXPECT_EQ(in_child([&] {
              const rlimit none{1 << 20, 1 << 20};
              if (setrlimit(RLIMIT_AS, &none) != 0) return false;
              const absl::StatusOr<LoadedPtr> loaded = cpu_device().load(plan);
              return !loaded.ok() && loaded.status().code() == absl::StatusCode::kResourceExhausted;
            }),
            0);
}

TEST(Load, BrokenObjectsAreErrors) {
  const Plan good = times(2);
  Plan plan = good;
  plan.codes[0].bytes.resize(plan.codes[0].bytes.size() / 2);
  EXPECT_FALSE(cpu_device().load(plan).ok());
  plan = good;
  plan.codes[0].bytes = "no object";
  EXPECT_FALSE(cpu_device().load(plan).ok());
  plan = good;
  plan.blocks = {{NativeStep{"other"}}};
  EXPECT_FALSE(cpu_device().load(plan).ok());
  EXPECT_EQ(call(*cpu_device().load(good)), 2);
}

}  // namespace
}  // namespace ct::jit
