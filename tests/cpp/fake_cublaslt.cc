// A cuBLASLt for the driver that has no GPU (fake_cuda_driver.cc): its products are made by loops on the host, when
// their turn in the driver's stream comes, and it fails where it is told to.
//
// As strict as the real one, or stricter: what it did not make, or has got back, is an error, and so are memory that is
// not the driver's, and a workspace that it did not ask for. Tests ask it by the functions at the end.
#include <dlfcn.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>

#include "device/cuda/libraries.h"
#include "runtime/float_types.h"

using namespace ct::cuda::cublas;  // NOLINT: what is defined here has the names of the library, in no namespace

namespace {

using DriverStatus = ct::cuda::Status;

constexpr size_t kWorkspaceBytes = 4096;

struct FakeMatmul {
  ComputeType compute;
  ElementType factors;
  std::map<MatmulAttribute, Operation> operations;
};
struct FakeLayout {
  ElementType type;
  int64_t rows, columns, pitch;
  int32_t batch = 1;
  int64_t batch_stride = 0;
};

struct Fake {
  std::recursive_mutex mutex;
  std::set<void*> live;  // handles, descriptors and preferences
  std::map<std::string, int64_t> calls;
  std::string fail_call;
  int64_t fail_at = 0;
  Status fail_with = Status::kSuccess;
};
Fake& fake() {
  static auto& one = *new Fake;
  return one;
}

Status begin(const char* call) {
  Fake& f = fake();
  return ++f.calls[call] == f.fail_at && f.fail_call == call ? f.fail_with : Status::kSuccess;
}

template <class Function>
Function* of_driver(const char* name) {
  void* library = dlopen(std::getenv("CT_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(dlsym(library, name));
}
bool holds(const void* address, size_t bytes) {
  return of_driver<bool(const void*, size_t)>("fake_cuda_holds")(address, bytes);
}

template <class Kind>
bool knows(Kind* handle) {
  return fake().live.contains(handle);
}
template <class Made, class Handle>
Status make(Handle* handle, Made* made) {
  fake().live.insert(made);
  *handle = reinterpret_cast<Handle>(made);
  return Status::kSuccess;
}
template <class Made, class Handle>
Status give_back(Handle handle) {
  if (fake().live.erase(handle) == 0) return Status::kInvalidValue;
  delete reinterpret_cast<Made*>(handle);
  return Status::kSuccess;
}

int64_t size_of(ElementType type) { return type == ElementType::kFloat64 ? 8 : type == ElementType::kFloat32 ? 4 : 2; }
double element(ElementType type, const void* memory, int64_t at) {
  switch (type) {
    case ElementType::kFloat64:
      return static_cast<const double*>(memory)[at];
    case ElementType::kFloat32:
      return static_cast<double>(static_cast<const float*>(memory)[at]);
    case ElementType::kFloat16:
      return static_cast<double>(static_cast<float>(static_cast<const ct::Float16*>(memory)[at]));
    case ElementType::kBFloat16:
      return static_cast<double>(static_cast<float>(static_cast<const ct::BFloat16*>(memory)[at]));
  }
  return 0;
}
void set_element(ElementType type, void* memory, int64_t at, double value) {
  const auto narrow = static_cast<float>(value);
  switch (type) {
    case ElementType::kFloat64:
      static_cast<double*>(memory)[at] = value;
      break;
    case ElementType::kFloat32:
      static_cast<float*>(memory)[at] = narrow;
      break;
    case ElementType::kFloat16:
      static_cast<ct::Float16*>(memory)[at] = ct::Float16(narrow);
      break;
    case ElementType::kBFloat16:
      static_cast<ct::BFloat16*>(memory)[at] = ct::BFloat16(narrow);
      break;
  }
}

// Columns first, and what is in memory behind one another.
struct Operand {
  FakeLayout layout;
  bool transposed;
  int64_t rows() const { return transposed ? layout.columns : layout.rows; }
  int64_t columns() const { return transposed ? layout.rows : layout.columns; }
  int64_t at(int64_t batch, int64_t row, int64_t column) const {
    if (transposed) std::swap(row, column);
    return batch * layout.batch_stride + row + column * layout.pitch;
  }
  size_t bytes() const {
    return static_cast<size_t>((at(layout.batch - 1, rows() - 1, columns() - 1) + 1) * size_of(layout.type));
  }
};

struct Product {
  Operand a, b, c;
  bool wide;
  bool fits() const {
    const bool sizes = a.rows() == c.rows() && b.columns() == c.columns() && a.columns() == b.rows();
    const bool pitches =
        a.layout.pitch >= a.layout.rows && b.layout.pitch >= b.layout.rows && c.layout.pitch >= c.layout.rows;
    const bool batches = a.layout.batch == c.layout.batch && b.layout.batch == c.layout.batch;
    const bool types = a.layout.type == b.layout.type && (a.layout.type == ElementType::kFloat64) == wide;
    return sizes && pitches && batches && types;
  }
  void run(double alpha, const void* of_a, const void* of_b, double beta, void* of_c) const {
    for (int64_t batch = 0; batch < c.layout.batch; ++batch) {
      for (int64_t row = 0; row < c.rows(); ++row) {
        for (int64_t column = 0; column < c.columns(); ++column) {
          double sum = 0;
          for (int64_t i = 0; i < a.columns(); ++i) {
            sum += element(a.layout.type, of_a, a.at(batch, row, i)) *
                   element(b.layout.type, of_b, b.at(batch, i, column));
          }
          const int64_t at = c.at(batch, row, column);
          const double before = beta == 0 ? 0 : beta * element(c.layout.type, of_c, at);
          set_element(c.layout.type, of_c, at, alpha * sum + before);
        }
      }
    }
  }
};

Product product_of(Matmul handle, Layout a, Layout b, Layout c) {
  auto& matmul = *reinterpret_cast<FakeMatmul*>(handle);
  const auto operand = [](Layout layout, bool transposed) {
    return Operand{*reinterpret_cast<FakeLayout*>(layout), transposed};
  };
  return {operand(a, matmul.operations[MatmulAttribute::kTransposeA] == Operation::kTranspose),
          operand(b, matmul.operations[MatmulAttribute::kTransposeB] == Operation::kTranspose), operand(c, false),
          matmul.compute == ComputeType::kFloat64};
}

}  // namespace

#define FAKE(name)                          \
  const std::lock_guard lock(fake().mutex); \
  if (const Status begun = begin(name); begun != Status::kSuccess) return begun
// What it is asked to take back is gone, also where that fails.
#define FAKE_END(name, made, handle)                 \
  const std::lock_guard lock(fake().mutex);          \
  const Status given_back = give_back<made>(handle); \
  const Status begun = begin(name);                  \
  return begun != Status::kSuccess ? begun : given_back
#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED const char* cublasLtGetStatusName(Status status) {
  return status == Status::kInternalError ? "CUBLAS_STATUS_INTERNAL_ERROR" : "CUBLAS_STATUS_OF_A_FAKE";
}

EXPORTED Status cublasLtCreate(Handle* handle) {
  FAKE("cublasLtCreate");
  return make(handle, new int(0));
}
EXPORTED Status cublasLtDestroy(Handle handle) { FAKE_END("cublasLtDestroy", int, handle); }

EXPORTED Status cublasLtMatmulDescCreate(Matmul* matmul, ComputeType compute, ElementType factors) {
  FAKE("cublasLtMatmulDescCreate");
  return make(matmul, new FakeMatmul{compute, factors, {}});
}
EXPORTED Status cublasLtMatmulDescDestroy(Matmul matmul) { FAKE_END("cublasLtMatmulDescDestroy", FakeMatmul, matmul); }
EXPORTED Status cublasLtMatmulDescSetAttribute(Matmul matmul, MatmulAttribute attribute, const void* value,
                                               size_t bytes) {
  FAKE("cublasLtMatmulDescSetAttribute");
  if (!knows(matmul) || bytes != sizeof(Operation)) return Status::kInvalidValue;
  reinterpret_cast<FakeMatmul*>(matmul)->operations[attribute] = *static_cast<const Operation*>(value);
  return Status::kSuccess;
}

EXPORTED Status cublasLtMatrixLayoutCreate(Layout* layout, ElementType type, uint64_t rows, uint64_t columns,
                                           int64_t pitch) {
  FAKE("cublasLtMatrixLayoutCreate");
  return make(layout, new FakeLayout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), pitch});
}
EXPORTED Status cublasLtMatrixLayoutDestroy(Layout layout) {
  FAKE_END("cublasLtMatrixLayoutDestroy", FakeLayout, layout);
}
EXPORTED Status cublasLtMatrixLayoutSetAttribute(Layout handle, LayoutAttribute attribute, const void* value,
                                                 size_t bytes) {
  FAKE("cublasLtMatrixLayoutSetAttribute");
  if (!knows(handle)) return Status::kInvalidValue;
  auto& layout = *reinterpret_cast<FakeLayout*>(handle);
  if (attribute == LayoutAttribute::kBatchCount && bytes == sizeof layout.batch) {
    layout.batch = *static_cast<const int32_t*>(value);
  } else if (attribute == LayoutAttribute::kBatchStride && bytes == sizeof layout.batch_stride) {
    layout.batch_stride = *static_cast<const int64_t*>(value);
  } else {
    return Status::kInvalidValue;
  }
  return Status::kSuccess;
}

EXPORTED Status cublasLtMatmulPreferenceCreate(Preference* preference) {
  FAKE("cublasLtMatmulPreferenceCreate");
  return make(preference, new int(0));
}
EXPORTED Status cublasLtMatmulPreferenceDestroy(Preference preference) {
  FAKE_END("cublasLtMatmulPreferenceDestroy", int, preference);
}
EXPORTED Status cublasLtMatmulPreferenceSetAttribute(Preference preference, PreferenceAttribute attribute,
                                                     const void* value, size_t bytes) {
  FAKE("cublasLtMatmulPreferenceSetAttribute");
  if (!knows(preference)) return Status::kInvalidValue;
  if (attribute == PreferenceAttribute::kMostWorkspaceBytes) {
    const bool enough = bytes == 8 && *static_cast<const uint64_t*>(value) >= kWorkspaceBytes;
    return enough ? Status::kSuccess : Status::kInvalidValue;
  }
  return bytes == 4 && *static_cast<const uint32_t*>(value) != 0 ? Status::kSuccess : Status::kInvalidValue;
}

EXPORTED Status cublasLtMatmulAlgoGetHeuristic(Handle handle, Matmul matmul, Layout a, Layout b, Layout c, Layout d,
                                               Preference preference, int wanted, Found* found, int* count) {
  FAKE("cublasLtMatmulAlgoGetHeuristic");
  const bool known = knows(handle) && knows(matmul) && knows(a) && knows(b) && knows(c) && knows(preference);
  if (!known || wanted != 1 || c != d) return Status::kInvalidValue;
  *count = product_of(matmul, a, b, c).fits() ? 1 : 0;
  *found = {
      .algorithm = {{7}}, .workspace_bytes = kWorkspaceBytes, .state = Status::kSuccess, .waves = 1, .reserved = {}};
  return Status::kSuccess;
}

EXPORTED Status cublasLtMatmul(Handle handle, Matmul matmul, const void* alpha, const void* a, Layout of_a,
                               const void* b, Layout of_b, const void* beta, const void* c, Layout of_c, void* d,
                               Layout of_d, const Algorithm* algorithm, void* workspace, size_t workspace_bytes,
                               ct::cuda::Stream stream) {
  FAKE("cublasLtMatmul");
  const bool known = knows(handle) && knows(matmul) && knows(of_a) && knows(of_b) && knows(of_c);
  if (!known || of_c != of_d || c != d || algorithm->data[0] != 7) return Status::kInvalidValue;
  if (workspace_bytes != kWorkspaceBytes || !holds(workspace, workspace_bytes)) return Status::kInvalidValue;
  const Product product = product_of(matmul, of_a, of_b, of_c);
  if (!product.fits()) return Status::kInvalidValue;
  const ElementType factors = reinterpret_cast<FakeMatmul*>(matmul)->factors;
  const double one = element(factors, alpha, 0), before = element(factors, beta, 0);
  const std::function<DriverStatus()> work = [=] {
    if (!holds(a, product.a.bytes()) || !holds(b, product.b.bytes()) || !holds(d, product.c.bytes())) {
      return DriverStatus::kIllegalAddress;
    }
    product.run(one, a, b, before, d);
    return DriverStatus::kSuccess;
  };
  const auto queue = of_driver<DriverStatus(ct::cuda::Stream, const std::function<DriverStatus()>&)>("fake_cuda_queue");
  return queue(stream, work) == DriverStatus::kSuccess ? Status::kSuccess : Status::kExecutionFailed;
}

// ---- for tests ------------------------------------------------------------------------------------------------------

// How often that was called since the restart.
EXPORTED int64_t fake_cublaslt_calls(const char* call) { return fake().calls[call]; }

// How many handles, descriptors and preferences somebody has got and has not given back.
EXPORTED int64_t fake_cublaslt_live() { return static_cast<int64_t>(fake().live.size()); }

// From now on the n-th call of that name fails: "call:n:status"; or none does.
EXPORTED void fake_cublaslt_restart(const char* fail) {
  std::istringstream stream(fail);
  std::string at, status;
  fake().calls.clear();
  std::getline(stream, fake().fail_call, ':');
  std::getline(stream, at, ':');
  std::getline(stream, status);
  fake().fail_at = std::atoll(at.c_str());
  fake().fail_with = static_cast<Status>(std::atoll(status.c_str()));
}
