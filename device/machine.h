// What the compiler's passes ask about where a program is going to run.
#pragma once

#include <cstdint>

namespace ct {

struct Machine {
  enum class Libraries : uint8_t {
    kProcess,  // those of this process, and Python: programs call back
    kLoops,    // none; sorting, factorisations and Fourier transforms are loops of ours where there are some
    kNone,     // nor those: everything expands
  };
  Libraries libraries = Libraries::kProcess;
  // Loops are ordered, merged and cut in chunks for the caches and threads of one host. Else their items are threads of
  // their own.
  bool chunks = true;
  // The device has a library that large products of matrices are left to (ProductStep).
  bool has_product_library = false;
  // Products of bfloat16 that are summed in float32 take a fraction of the time of those of float32.
  bool bfloat16_products = false;
};

inline constexpr Machine kThisProcess{};
inline constexpr Machine kAnyHost{.libraries = Machine::Libraries::kLoops, .chunks = true};  // of C programs
inline constexpr Machine kGpu{.libraries = Machine::Libraries::kNone, .chunks = false};

}  // namespace ct
