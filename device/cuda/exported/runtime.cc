// The code that every exported GPU program brings (program.h): it finds the driver, keeps modules by context, and
// enqueues a program's steps. Compiled by itself, without exceptions and without C++'s library, as
// device/meson.build says; the bytes are runtime_object() (runtime_object.h). Nothing here may need more than libc.
#include <dlfcn.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): C++'s needs more

#include <bit>
#include <initializer_list>

#include "device/cuda/exported/program.h"

namespace ct::cuda::exported {

struct ChosenProduct {
  cublas::Matmul matmul;
  cublas::Layout first, second, result;
  // For addresses that are multiples of kWideBytes, and for others.
  cublas::Found wide, narrow;
};

struct Resident {
  Resident* next;
  Context context;
  Module module;
  Address constants;
  cublas::Handle handle;
  size_t product_bytes;  // of workspace
  Function* functions;
  ChosenProduct* products;
};

namespace {

constexpr uintptr_t kWideBytes = 16;
constexpr unsigned kUsualSharedBytes = 48 << 10;  // what kernels may have without asking for it

int result_of(Status status) {
  return status == Status::kSuccess ? kSuccess : kDriverFailure + static_cast<int>(status);
}
int result_of(cublas::Status status) {
  return status == cublas::Status::kSuccess ? kSuccess : kProductFailure + static_cast<int>(status);
}

// What follows is done while everything before it succeeded.
class Steps {
 public:
  template <class Status>
  bool did(Status status) {
    if (result_ == kSuccess) result_ = result_of(status);
    return result_ == kSuccess;
  }
  int result() const { return result_; }
  bool well() const { return result_ == kSuccess; }
  void fail(int result) {
    if (well()) result_ = result;
  }

 private:
  int result_ = kSuccess;
};

// ---- the libraries --------------------------------------------------------------------------------------------------

template <class Call>
bool find(void* handle, Call& call, const char* symbol) {
  call = reinterpret_cast<Call>(dlsym(handle, symbol));
  return call != nullptr;
}

// It stays open: a driver has threads of its own.
int open_driver(State& state) {
  if (state.has_driver != 0) return kSuccess;
  void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return kNoDriver;
  bool all = true;
#define CT_CUDA_FIND(name, symbol, ...) all = find(handle, state.driver.name, #symbol) && all;
  CT_CUDA_CALLS(CT_CUDA_FIND)
  CT_CUDA_CALLS_OF_EXPORTED(CT_CUDA_FIND)
#undef CT_CUDA_FIND
  state.has_driver = all ? 1 : 0;
  return all ? kSuccess : kNoDriver;
}

int open_products(State& state) {
  if (state.has_product_library != 0) return kSuccess;
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
    void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) continue;
    bool all = true;
#define CT_CUBLASLT_FIND(name, ...) all = find(handle, state.products.name, #name) && all;
    CT_CUBLASLT_CALLS(CT_CUBLASLT_FIND)
#undef CT_CUBLASLT_FIND
    if (!all) continue;
    state.has_product_library = 1;
    return kSuccess;
  }
  return kNoProductLibrary;
}

// ---- products -------------------------------------------------------------------------------------------------------

void describe(const cublas::Calls& calls, const Product& product, ChosenProduct& made, Steps& steps) {
  using cublas::ElementType;
  steps.did(calls.cublasLtMatmulDescCreate(&made.matmul, static_cast<cublas::ComputeType>(product.compute_type),
                                           static_cast<ElementType>(product.factor_type)));
  const auto operate = [&](cublas::MatmulAttribute attribute, const Matrix& matrix) {
    if (!steps.well()) return;
    const auto operation = static_cast<cublas::Operation>(matrix.operation);
    steps.did(calls.cublasLtMatmulDescSetAttribute(made.matmul, attribute, &operation, sizeof operation));
  };
  operate(cublas::MatmulAttribute::kTransposeA, product.first);
  operate(cublas::MatmulAttribute::kTransposeB, product.second);
  const auto lay_out = [&](cublas::Layout& layout, const Matrix& matrix) {
    if (!steps.well()) return;
    const auto batch = static_cast<int32_t>(product.batch);
    steps.did(calls.cublasLtMatrixLayoutCreate(&layout, static_cast<ElementType>(matrix.type),
                                               static_cast<uint64_t>(matrix.rows),
                                               static_cast<uint64_t>(matrix.columns), matrix.pitch)) &&
        steps.did(calls.cublasLtMatrixLayoutSetAttribute(layout, cublas::LayoutAttribute::kBatchCount, &batch,
                                                         sizeof batch)) &&
        steps.did(calls.cublasLtMatrixLayoutSetAttribute(layout, cublas::LayoutAttribute::kBatchStride,
                                                         &matrix.batch_stride, sizeof matrix.batch_stride));
  };
  lay_out(made.first, product.first);
  lay_out(made.second, product.second);
  lay_out(made.result, product.result);
}

void search(const cublas::Calls& calls, cublas::Handle handle, const ChosenProduct& made, uint32_t alignment,
            cublas::Found& found, Steps& steps) {
  using cublas::PreferenceAttribute;
  if (!steps.well()) return;
  cublas::Preference preference = nullptr;
  if (!steps.did(calls.cublasLtMatmulPreferenceCreate(&preference))) return;
  const auto prefer = [&](PreferenceAttribute attribute, const void* value, size_t bytes) {
    if (steps.well()) steps.did(calls.cublasLtMatmulPreferenceSetAttribute(preference, attribute, value, bytes));
  };
  const uint64_t most = cublas::kMostWorkspaceBytes;
  const uint32_t reductions = cublas::kReductionInComputeType;
  prefer(PreferenceAttribute::kMostWorkspaceBytes, &most, sizeof most);
  prefer(PreferenceAttribute::kReductionSchemes, &reductions, sizeof reductions);
  for (const PreferenceAttribute attribute : {PreferenceAttribute::kAlignmentA, PreferenceAttribute::kAlignmentB,
                                              PreferenceAttribute::kAlignmentC, PreferenceAttribute::kAlignmentD}) {
    prefer(attribute, &alignment, sizeof alignment);
  }
  int count = 0;
  if (steps.well() &&
      steps.did(calls.cublasLtMatmulAlgoGetHeuristic(handle, made.matmul, made.first, made.second, made.result,
                                                     made.result, preference, 1, &found, &count))) {
    steps.did(count == 0 ? cublas::Status::kNotSupported : found.state);
  }
  calls.cublasLtMatmulPreferenceDestroy(preference);
}

void choose(const Program& program, Resident& resident, Steps& steps) {
  const cublas::Calls& calls = program.state.products;
  if (program.product_count == 0 || !steps.did(calls.cublasLtCreate(&resident.handle))) return;
  for (int64_t i = 0; i < program.product_count; ++i) {
    ChosenProduct& made = resident.products[i];
    describe(calls, program.products[i], made, steps);
    search(calls, resident.handle, made, kWideBytes, made.wide, steps);
    search(calls, resident.handle, made, static_cast<uint32_t>(program.products[i].element_bytes), made.narrow, steps);
    for (const cublas::Found& found : {made.wide, made.narrow}) {
      if (found.workspace_bytes > resident.product_bytes) resident.product_bytes = found.workspace_bytes;
    }
  }
}

void make(const Program& program, const Resident& resident, int64_t number, Address first, Address second,
          Address result, Address workspace, Stream stream, Steps& steps) {
  const Product& product = program.products[number];
  const ChosenProduct& made = resident.products[number];
  const double wide[] = {1, product.accumulate != 0 ? 1.0 : 0.0};
  const float narrow[] = {1, product.accumulate != 0 ? 1.0F : 0.0F};
  const bool is_wide = static_cast<cublas::ElementType>(product.factor_type) == cublas::ElementType::kFloat64;
  const auto factor = [&](int i) { return is_wide ? static_cast<const void*>(&wide[i]) : &narrow[i]; };
  const cublas::Found& found = (first | second | result) % kWideBytes == 0 ? made.wide : made.narrow;
  auto* const to = std::bit_cast<void*>(result);
  steps.did(program.state.products.cublasLtMatmul(
      resident.handle, made.matmul, factor(0), std::bit_cast<void*>(first), made.first, std::bit_cast<void*>(second),
      made.second, factor(1), to, made.result, to, made.result, &found.algorithm,
      found.workspace_bytes == 0 ? nullptr : std::bit_cast<void*>(workspace), found.workspace_bytes, stream));
}

// ---- what is kept by context ----------------------------------------------------------------------------------------

// The address and what it is the end of are freed in the stream's order. What fails here fails because the context has.
void give_back(const Program& program, Resident* resident, Stream stream) {
  const DriverCalls& driver = program.state.driver;
  const cublas::Calls& products = program.state.products;
  for (int64_t i = 0; i < program.product_count; ++i) {
    const ChosenProduct& made = resident->products[i];
    for (cublas::Layout layout : {made.first, made.second, made.result}) {
      if (layout != nullptr) products.cublasLtMatrixLayoutDestroy(layout);
    }
    if (made.matmul != nullptr) products.cublasLtMatmulDescDestroy(made.matmul);
  }
  if (resident->handle != nullptr) products.cublasLtDestroy(resident->handle);
  if (resident->constants != 0) driver.cuMemFreeAsync(resident->constants, stream);
  if (resident->module != nullptr) driver.cuModuleUnload(resident->module);
  free(resident);
}

void load_module(const Program& program, Resident& resident, Steps& steps) {
  const DriverCalls& driver = program.state.driver;
  if (program.kernel_count == 0) return;
  steps.did(driver.cuModuleLoadDataEx(&resident.module, program.ptx, 0, nullptr, nullptr));
  const char* symbol = program.symbols;
  for (int64_t i = 0; i < program.kernel_count && steps.well(); ++i) {
    Function& function = resident.functions[i];
    steps.did(driver.cuModuleGetFunction(&function, resident.module, symbol));
    if (steps.well() && program.shared_bytes[i] > kUsualSharedBytes) {
      steps.did(driver.cuFuncSetAttribute(function, FunctionAttribute::kMostDynamicSharedBytes,
                                          static_cast<int>(program.shared_bytes[i])));
    }
    while (*symbol != '\0') ++symbol;
    ++symbol;
  }
}

// Waits: the stream of the next call may be another one.
void load_constants(const Program& program, Resident& resident, Stream stream, Steps& steps) {
  const DriverCalls& driver = program.state.driver;
  const auto bytes = static_cast<size_t>(program.constant_bytes);
  if (bytes == 0 || !steps.well()) return;
  if (!steps.did(driver.cuMemAllocAsync(&resident.constants, bytes, stream))) return;
  steps.did(driver.cuMemcpyHtoDAsync(resident.constants, program.constants, bytes, stream));
  steps.did(driver.cuStreamSynchronize(stream));
}

// The current context's. The lock is held.
int find_resident(Program& program, Stream stream, Resident*& found) {
  State& state = program.state;
  Steps steps;
  steps.fail(open_driver(state));
  if (program.product_count > 0) steps.fail(open_products(state));
  Context context = nullptr;
  if (!steps.well() || !steps.did(state.driver.cuCtxGetCurrent(&context))) return steps.result();
  if (context == nullptr) return result_of(Status::kInvalidContext);
  for (found = state.residents; found != nullptr; found = found->next) {
    if (found->context == context) return kSuccess;
  }
  const auto kernels = static_cast<size_t>(program.kernel_count), products = static_cast<size_t>(program.product_count);
  auto* memory =
      static_cast<char*>(calloc(1, sizeof(Resident) + products * sizeof(ChosenProduct) + kernels * sizeof(Function)));
  if (memory == nullptr) return kNoMemory;
  auto* made = reinterpret_cast<Resident*>(memory);
  made->context = context;
  made->products = reinterpret_cast<ChosenProduct*>(memory + sizeof(Resident));
  made->functions = reinterpret_cast<Function*>(memory + sizeof(Resident) + products * sizeof(ChosenProduct));
  load_module(program, *made, steps);
  choose(program, *made, steps);
  load_constants(program, *made, stream, steps);
  if (!steps.well()) {
    give_back(program, made, stream);
    return steps.result();
  }
  made->next = state.residents;
  state.residents = found = made;
  return kSuccess;
}

class Lock {
 public:
  explicit Lock(State& state) : state_(state) { pthread_mutex_lock(&state_.mutex); }
  ~Lock() { pthread_mutex_unlock(&state_.mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  State& state_;
};

int enter(Program& program, Stream stream, Resident*& resident) {
  const Lock lock(program.state);
  return find_resident(program, stream, resident);
}

// ---- calls ----------------------------------------------------------------------------------------------------------

class Player {
 public:
  Player(const Program& program, const Resident& resident, const Address* arguments, Address* scratch,
         Address workspace, Stream stream)
      : program_(program),
        resident_(resident),
        bases_(scratch),
        products_at_(workspace + static_cast<Address>(program.workspace_bytes)),
        stream_(stream) {
    for (int64_t i = 0; i < program.argument_count; ++i) *scratch++ = arguments[i];
    for (int64_t i = 0; i < program.constant_count; ++i) {
      *scratch++ = resident.constants + static_cast<Address>(program.constant_offsets[i]);
    }
    *scratch++ = workspace;
    values_ = scratch;
  }

  int play() {
    block(program_.steps, program_.steps + program_.word_count);
    return steps_.result();
  }

 private:
  Address place(const int64_t*& at) {
    const Address base = bases_[*at++];
    return base + static_cast<Address>(*at++);
  }

  void block(const int64_t* at, const int64_t* end) {
    while (at < end && steps_.well()) step(at);
  }

  void step(const int64_t*& at) {
    const DriverCalls& driver = program_.state.driver;
    switch (static_cast<StepWord>(*at++)) {
      case kLaunch:
        launch(at);
        break;
      case kProduct: {
        const int64_t number = *at++;
        const Address first = place(at), second = place(at), result = place(at);
        make(program_, resident_, number, first, second, result, products_at_, stream_, steps_);
        break;
      }
      case kCopy: {
        const Address to = place(at), from = place(at);
        steps_.did(driver.cuMemcpyDtoDAsync(to, from, static_cast<size_t>(*at++), stream_));
        break;
      }
      case kFill: {
        const Address to = place(at);
        const auto byte = static_cast<unsigned char>(*at++);
        steps_.did(driver.cuMemsetD8Async(to, byte, static_cast<size_t>(*at++), stream_));
        break;
      }
      case kRepeat: {
        const int64_t count = *at++, words = *at++;
        for (int64_t i = 0; i < count && steps_.well(); ++i) block(at, at + words);
        at += words;
        break;
      }
    }
  }

  void launch(const int64_t*& at) {
    const int64_t kernel = *at++;
    LaunchConfig config{};
    config.grid_x = static_cast<unsigned>(*at++);
    config.block_x = static_cast<unsigned>(*at++);
    config.shared_bytes = static_cast<unsigned>(*at++);
    config.grid_y = config.grid_z = config.block_y = config.block_z = 1;
    config.stream = stream_;
    const int64_t count = *at++;
    auto** const places = reinterpret_cast<void**>(values_ + count);
    for (int64_t i = 0; i < count; ++i) {
      values_[i] = place(at);
      places[i] = &values_[i];
    }
    steps_.did(program_.state.driver.cuLaunchKernelEx(&config, resident_.functions[kernel], places, nullptr));
  }

  const Program& program_;
  const Resident& resident_;
  Address* bases_;
  Address products_at_;
  Address* values_ = nullptr;
  Stream stream_;
  Steps steps_;
};

static_assert(sizeof(pthread_mutex_t) <= sizeof(State::mutex_words));

}  // namespace

// Weak: programs that are linked together have one.
extern "C" {

__attribute__((weak)) int ct_cuda_load(Program* program, Stream stream) {
  Resident* resident = nullptr;
  return enter(*program, stream, resident);
}

__attribute__((weak)) int ct_cuda_unload(Program* program, Stream stream) {
  const Lock lock(program->state);
  const DriverCalls& driver = program->state.driver;
  if (program->state.has_driver == 0) return kSuccess;
  Context context = nullptr;
  Steps steps;
  if (!steps.did(driver.cuCtxGetCurrent(&context))) return steps.result();
  Resident** at = &program->state.residents;
  while (*at != nullptr && (*at)->context != context) at = &(*at)->next;
  Resident* const resident = *at;
  if (resident == nullptr) return kSuccess;
  steps.did(driver.cuCtxSynchronize());  // kernels may be under way
  *at = resident->next;
  give_back(*program, resident, stream);
  return steps.result();
}

__attribute__((weak)) int ct_cuda_call_with_workspace(Program* program, const Address* arguments, Address* scratch,
                                                      Address workspace, Stream stream) {
  Resident* resident = nullptr;
  const int entered = enter(*program, stream, resident);
  if (entered != kSuccess) return entered;
  return Player(*program, *resident, arguments, scratch, workspace, stream).play();
}

__attribute__((weak)) int ct_cuda_call(Program* program, const Address* arguments, Address* scratch, Stream stream) {
  Resident* resident = nullptr;
  const int entered = enter(*program, stream, resident);
  if (entered != kSuccess) return entered;
  const DriverCalls& driver = program->state.driver;
  const size_t bytes = static_cast<size_t>(program->workspace_bytes) + resident->product_bytes;
  Address workspace = 0;
  Steps steps;
  if (bytes > 0 && !steps.did(driver.cuMemAllocAsync(&workspace, bytes, stream))) return steps.result();
  steps.fail(Player(*program, *resident, arguments, scratch, workspace, stream).play());
  if (bytes > 0) steps.did(driver.cuMemFreeAsync(workspace, stream));
  return steps.result();
}
}

}  // namespace ct::cuda::exported
