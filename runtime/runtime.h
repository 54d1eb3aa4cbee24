// What the program around this library brings along: how its code is named, how its user stops a computation, which
// libraries it has. The Python package registers its own; a program in C++ may do without any of it.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/location.h"
#include "runtime/tensor.h"

namespace ct {

// `begin` and `end` come on the thread of a computation that has gone on for some milliseconds, and enclose every
// `check` of it, which returns false after storing what is to be thrown (interrupt.h). `stops`: whether an exception
// that functions of the front end have thrown is the wish to stop, and no error.
struct InterruptHooks {
  void (*begin)() = nullptr;
  bool (*check)(std::exception_ptr* reason) = nullptr;
  void (*end)() = nullptr;
  bool (*stops)(const std::exception& error) = nullptr;
};

// A discrete Fourier transform (ir/ops/fft.cc).
struct FourierCall {
  const std::string& kind;  // "fft", "ifft", "rfft", "irfft"
  const Tensor& operand;
  absl::Span<const int64_t> lengths;  // of the last axes: of the time domain
  const Tensor& result;               // to be written
};

struct Runtime {
  // Where an instruction of a code object stands; without it, what was made by code objects has no place.
  std::function<SourceLocation(const void* code, int instruction)> locate;
  InterruptHooks interrupts;  // without them a computation runs to its end
  // A library's; without one, transforms are matrix products (ir/ops/fft_expand.cc).
  std::function<void(const FourierCall& call)> transform;
  // A folder of shared libraries to look for LAPACK in, before the system's.
  std::string library_directory;
  // Where the front end's packages are, among them those that bring libraries of a GPU.
  std::vector<std::string> package_directories;
};

// To be called once, before anything is computed or captured.
void register_runtime(Runtime runtime);
const Runtime& runtime();

}  // namespace ct
