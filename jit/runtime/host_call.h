// Calls out of generated code, for primitives that a library or the front end computes (Lowering::kHost).
//
// Lowering writes down what is to be called as a table of `HostFunction`; generated code knows positions in it only, so
// that objects hold no addresses and may be kept on disk. While a `HostScope` is alive its table is the one that calls
// of this thread mean; scopes nest, because what is called may run programs of its own.
//
// Nothing unwinds through generated code. A call that throws leaves its exception in the scope and returns false; the
// generated code then returns at once, and whoever made the scope asks it to rethrow.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "ir/primitive.h"

namespace ct::jit {

struct HostFunction {
  const Primitive* primitive = nullptr;
  AttrsPtr attrs;
  Avals inputs;
  Avals outputs;
  LocationId location = kNoLocation;
  std::function<void()> action = {};  // instead of a primitive: a clock, say
};
using HostFunctions = std::vector<HostFunction>;

class HostScope {
 public:
  explicit HostScope(const HostFunctions& functions);
  ~HostScope();
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;

  // Throws what a call threw; an Error with the op's name and the user's line.
  void rethrow() const;

 private:
  friend bool call_host(uint32_t function, const void* const* inputs, void* const* outputs) noexcept;
  void call(uint32_t function, const void* const* inputs, void* const* outputs) const;

  const HostFunctions& functions_;
  HostScope* enclosing_;
  std::exception_ptr failure_;
  const HostFunction* failed_ = nullptr;
};

// What generated code calls: row-major elements in, row-major elements out. False: it must return.
bool call_host(uint32_t function, const void* const* inputs, void* const* outputs) noexcept;

// Its name in object code.
inline constexpr const char* kHostCallSymbol = "ct_host_call";

}  // namespace ct::jit
