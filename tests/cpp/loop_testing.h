// Running loop programs in tests: checked, compiled, called on host memory.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "jit/llvm/compiler.h"
#include "jit/loop/check.h"
#include "jit/loop/loop.h"
#include "jit/loop/parse.h"
#include "runtime/float_types.h"

namespace ct::loop {

// Every test of values runs for these: the host, and the lower levels of x86 where the host is one.
inline const std::vector<jit::TargetOptions>& test_targets() {
  static const auto& targets = *new std::vector<jit::TargetOptions>([] {
    std::vector<jit::TargetOptions> list(1);
#if defined(__x86_64__)
    list.push_back({.triple = "", .cpu = "x86-64-v2", .vector_bits = 0});
    if (__builtin_cpu_supports("avx2")) list.push_back({.triple = "", .cpu = "x86-64-v3", .vector_bits = 0});
    list.push_back({.triple = "", .cpu = "", .vector_bits = 128});
#endif
    return list;
  }());
  return targets;
}

class Runner {
 public:
  explicit Runner(const Program& program, const jit::TargetOptions& target = {}) {
    const std::string text = to_string(program);
    EXPECT_EQ(check(program), "") << text;
    const Program parsed = parse(text);
    EXPECT_EQ(to_string(parsed), text);
    EXPECT_EQ(check(parsed), "") << text;
    auto compiled = jit::compile(program, target);
    EXPECT_TRUE(compiled.ok()) << compiled.status().ToString() << to_string(program);
    if (compiled.ok()) loaded_ = *compiled;
  }
  void operator()(std::vector<const void*> inputs, std::vector<void*> outputs) const {
    ASSERT_NE(loaded_, nullptr);
    size_t bytes = static_cast<size_t>(loaded_->plan().arena_bytes + 127) / 64 * 64;
    void* arena = std::aligned_alloc(64, bytes);
    std::memset(arena, 0xa5, bytes);
    loaded_->entry()(const_cast<void* const*>(inputs.data()), outputs.data(), arena);
    std::free(arena);
  }

 private:
  LoadedPtr loaded_;
};

}  // namespace ct::loop
