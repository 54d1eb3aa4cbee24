// The few facts about a machine that decide how loops and products become code for it, and with that in which order
// sums are made.
#pragma once

#include <cstdint>

namespace ct::jit {

struct TargetFacts {
  enum class Arch { kX86, kAArch64, kNvptx, kRiscv, kArm, kWasm } arch;
  int vector_bits;       // 0: scalar code only (NVPTX)
  int vector_registers;  // 16 or 32
  bool masks_any_size;   // masked loads and stores of 8-bit elements and up are one instruction (AVX-512BW)
  bool masks_words;      // ... of 32-bit elements and up (AVX)
  bool fma;
  bool half_conversions;        // float16 <-> float32 is an instruction
  bool rounds;                  // so are floor, ceil and rounding to even
  bool doubles = true;          // so is arithmetic in float64, and the root
  bool wide_products = true;    // so is the upper half of a product of 64-bit integers
  bool bfloat16_tiles = false;  // products of 16 x 32 and 32 x 16 elements of bfloat16 are an instruction (AMX)
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;

  bool has_masks() const { return masks_words || masks_any_size; }
};

}  // namespace ct::jit
