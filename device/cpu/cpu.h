// The host's processor: its memory is the host's, its code is called, and its queue does at once what it is told.
#pragma once

#include "device/device.h"

namespace ct {

Device& cpu_device();

// Links a plan's ELF codes and maps them. `device` has no linker of its own: jit/llvm/load.cc registers LLVM's.
using NativeLoader = absl::StatusOr<NativeCode> (*)(const Plan& plan);
void set_native_loader(NativeLoader loader);
absl::StatusOr<NativeCode> load_native(const Plan& plan);

// For memory of the host: runs native code, host functions, copies, loops and branches; kernels and products of
// a library are an error.
class HostQueue : public Queue {
 public:
  void native(const Loaded& loaded, void* const* inputs, void* const* outputs) override;
  void launch(const Loaded& loaded, const KernelStep& kernel, absl::Span<void* const> arguments) override;
  void product(const ProductStep& product, const void* a, const void* b, void* c) override;
  void copy(void* to, const void* from, int64_t bytes) override;
  void fill(void* to, uint8_t byte, int64_t bytes) override;
  void host(const Loaded& loaded, const HostStep& step, absl::Span<const void* const> inputs,
            absl::Span<void* const> outputs) override;
  void loop(int64_t count, const void* go_on, const Body& body) override;
  void branch(const void* index, absl::Span<const Body> bodies) override;
  void wait() override {}
  bool copy_to_device(void* to, const void* from, int64_t bytes) override;
  void copy_to_host(void* to, const void* from, int64_t bytes) override { copy(to, from, bytes); }
};

}  // namespace ct
