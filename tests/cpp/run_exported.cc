// Runs a library of an exported GPU program, in a process that has the fake driver, whose kernels are run by the
// emulated device: `run_exported FOLDER NAME products|own`, with the bytes of all inputs as standard input. The bytes
// of all results go to standard output; it ends with what the function returned.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "device/cuda/driver_calls.h"
#include "device/emulated/emulated.h"
#include "ir/serialize.h"
#include "jit/compile.h"
#include "jit/llvm/compiler.h"
#include "runtime/error.h"

namespace ct {
namespace {

constexpr size_t kMostArguments = 32;

std::string read_all(std::istream& stream) { return {std::istreambuf_iterator<char>(stream), {}}; }

// The same kernels by the same names, for the emulated device.
const Loaded* kernels = nullptr;

void run_kernel(const char* name, void** arguments, size_t count) {
  for (const std::vector<Step>& block : kernels->plan().blocks) {
    for (const Step& step : block) {
      const auto* kernel = std::get_if<KernelStep>(&step);
      if (kernel == nullptr || kernel->symbol != name) continue;
      CT_CHECK(kernel->arguments.size() == count);
      emulated_device().queue().launch(*kernels, *kernel, {arguments, count});
      return;
    }
  }
  CT_CHECK(false);
}

template <size_t>
using Pointer = void*;
template <size_t... Number>
int call(void* function, void* const* arguments, std::index_sequence<Number...>) {
  return reinterpret_cast<int (*)(Pointer<Number>...)>(function)(arguments[Number]...);
}
template <size_t Count = 1>
int call_with(void* function, const std::vector<void*>& arguments) {
  if (arguments.size() == Count) return call(function, arguments.data(), std::make_index_sequence<Count>());
  if constexpr (Count < kMostArguments) return call_with<Count + 1>(function, arguments);
  CT_CHECK(false);
}

void* function_of(void* library, const char* name) {
  void* function = dlsym(library, name);
  CT_CHECK(function != nullptr);
  return function;
}
template <class Call>
Call driver_call(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Call>(function_of(driver, name));
}

int run(const std::string& folder, const std::string& name, bool products) {
  std::ifstream file(folder + "/" + name + ".ctir", std::ios::binary);
  const SavedProgram saved = deserialize_program(read_all(file));
  Machine machine = kGpu;
  machine.has_product_library = products;
  const auto plan = compile_kernels(saved.graph, jit::kEmulated, machine);
  CT_CHECK(plan.ok());
  const auto loaded = emulated_device().load(*plan, nullptr);
  CT_CHECK(loaded.ok());
  kernels = loaded->get();

  using cuda::Address;
  using cuda::Status;
  using cuda::Stream;
  driver_call<void (*)(decltype(&run_kernel))>("fake_cuda_run_kernels")(run_kernel);
  driver_call<Status (*)(unsigned)>("cuInit")(0);
  cuda::Context context = nullptr;
  driver_call<Status (*)(cuda::Context*, int)>("cuDevicePrimaryCtxRetain")(&context, 0);
  driver_call<Status (*)(cuda::Context)>("cuCtxSetCurrent")(context);
  Stream stream = nullptr;
  driver_call<Status (*)(Stream*, unsigned)>("cuStreamCreate")(&stream, cuda::kNonBlocking);
  const auto allocate = driver_call<Status (*)(Address*, size_t, Stream)>("cuMemAllocAsync");
  const auto wait = driver_call<Status (*)(Stream)>("cuStreamSynchronize");

  // Memory of the fake driver is the host's.
  std::vector<void*> arguments;
  const auto add = [&](const Aval& aval) {
    Address address = 0;
    CT_CHECK(allocate(&address, static_cast<size_t>(std::max<int64_t>(aval.bytes(), 1)), stream) == Status::kSuccess);
    arguments.push_back(reinterpret_cast<void*>(address));
    return static_cast<char*>(arguments.back());
  };
  const std::vector<Aval> outputs = saved.graph->output_avals();
  for (uint32_t i = 0; i + saved.constants.size() < saved.graph->num_inputs(); ++i) {
    const Aval& aval = saved.graph->aval(i);
    std::cin.read(add(aval), aval.bytes());
  }
  std::vector<char*> results;
  for (const Aval& aval : outputs) results.push_back(add(aval));
  arguments.push_back(stream);
  void* library = dlopen((folder + "/lib" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  CT_CHECK(library != nullptr);
  const int result = call_with(function_of(library, name.c_str()), arguments);
  CT_CHECK(wait(stream) == Status::kSuccess);
  for (size_t i = 0; i < outputs.size(); ++i) std::cout.write(results[i], outputs[i].bytes());
  return result;
}

}  // namespace
}  // namespace ct

int main(int, char** arguments) { return ct::run(arguments[1], arguments[2], arguments[3] == std::string("products")); }
