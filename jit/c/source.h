// C source of a program: C11 with the extensions that GCC and Clang share, for people to read and for any compiler and
// machine. Its results are those of the machine code for the same target, bit for bit: loops and products are cut up by
// the same decisions (jit/machine/vectorize.h, product_plan.h), and each number is computed by the same operations.
//
// Vectors are seldom written out: loops whose iterations are independent say so, and compilers make vectors of them.
// Where the order of a float sum counts, what is added is made for some lanes at a time.
//
// Start at emit_source; emission.h says what the values of a program become.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/c/helpers.h"
#include "jit/loop/loop.h"

namespace ct::jit::c {

struct Names {
  std::string program;                       // of the function
  std::vector<std::string> inputs, outputs;  // of its parameters, by position
};

struct Source {
  // static int PROGRAM(inputs, outputs, unsigned char* arena, const volatile int* stop), and the functions that it
  // calls. It returns 0, or kCStopped once *stop is not 0. Arrays and parameters that it has no use for are left out.
  std::string text;
  std::vector<uint32_t> inputs, outputs;  // those that it has
  bool takes_arena = false, takes_stop = false;
  int64_t arena_bytes = 0;
};

// What its functions call is in `helpers`. Throws Error for calls of the host.
Source emit_source(const loop::Program& program, const Names& names, Helpers& helpers);

}  // namespace ct::jit::c
