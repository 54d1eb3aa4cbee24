// C functions that Python calls, made safe to throw from.
//
// An exception that leaves a slot, a getter or a method written against the CPython API ends the process. Tables name
// such functions as kGuarded<function>, which turns what they throw into the Python exception and their failure value:
// null, or -1.
#pragma once

#include <type_traits>

#include "python_bindings/gil.h"
#include "python_bindings/python.h"

namespace ct::python {

template <auto kFunction, class Type = decltype(kFunction)>
struct GuardedSlot;
template <auto kFunction, class Result, class... Arguments>
struct GuardedSlot<kFunction, Result (*)(Arguments...)> {
  static Result call(Arguments... arguments) noexcept {
    constexpr auto kFailure = [] {
      if constexpr (std::is_pointer_v<Result>) {
        return Result{nullptr};
      } else {
        return Result{-1};
      }
    };
    stop_at_the_end();  // nothing else that ends a thread may pass here either
    return guarded(kFailure(), [&] { return kFunction(arguments...); });
  }
};

template <auto kFunction>
inline constexpr auto kGuarded = &GuardedSlot<kFunction>::call;

// The same as an entry of PyType_Slot.
template <auto kFunction>
void* guarded_slot() {
  return reinterpret_cast<void*>(kGuarded<kFunction>);
}

}  // namespace ct::python
