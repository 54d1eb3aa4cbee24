// The processor that programs are made for, as far as decisions depend on it: how long things take on one core, and
// what its caches hold. Good to a factor of two or three for cores of some 3 GHz with vectors of 256 bits. It is the
// same table on every machine, so that decisions, and with them bits, are the same everywhere.
#pragma once

#include <cstdint>

#include "runtime/dtype.h"

namespace ct {

struct Processor {
  // Nanoseconds.
  double instruction = 0.3;
  double slow_instruction = 3;  // division, square root
  double byte_in_cache = 0.02, byte_in_memory = 0.06;
  double host_call = 20'000;
  // One of a matrix product.
  double multiply_add(DType dtype) const { return dtype_size(dtype) == 8 ? 0.04 : 0.02; }

  // Bytes.
  int64_t line = 64, page = 4096;
  int64_t second_cache = 1 << 20;
  int64_t past_caches = 16 << 20;  // an array of so many is read from memory again when it is wanted again
};

inline constexpr Processor kProcessor{};

}  // namespace ct
