// Calls out of generated code: sorting, LAPACK, Python callbacks (structures::HostCall).
//
// Generated code knows the positions of functions in a table only, so that objects hold no addresses and may be kept on
// disk. While a `HostScope` is alive its table is the one that calls of this thread mean; scopes nest, because what is
// called may run programs of its own.
//
// Nothing unwinds through generated code. A call that throws leaves its exception in the scope and returns false; the
// generated code then returns at once, and whoever made the scope asks it to rethrow.
#pragma once

#include <cstdint>
#include <exception>

#include "device/loaded.h"

namespace ct {

class HostScope {
 public:
  explicit HostScope(const HostTable& table);
  ~HostScope();
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;

  // Throws what a call threw.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  friend bool call_host(uint32_t function, const void* const* inputs, void* const* outputs) noexcept;

  const HostTable& table_;
  HostScope* enclosing_;
  std::exception_ptr failure_;
};

// What generated code calls: row-major elements in, row-major elements out. False: it must return.
bool call_host(uint32_t function, const void* const* inputs, void* const* outputs) noexcept;

// Its name in object code.
inline constexpr const char* kHostCallSymbol = "ct_host_call";

}  // namespace ct
