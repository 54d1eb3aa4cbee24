#include "device/cuda/products.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "device/cuda/context.h"
#include "device/cuda/stored_matrix.h"
#include "runtime/text.h"

namespace ct::cuda {

using cublas::element_type;
using cublas::ElementType;
using cublas::Layout;
using cublas::LayoutAttribute;
using cublas::Library;
using cublas::Matmul;
using cublas::MatmulAttribute;
using cublas::Operation;
using cublas::Preference;
using cublas::PreferenceAttribute;
using cublas::Stored;
using cublas::stored;

namespace {

constexpr size_t kMostChosen = 4096;

// Of an address: what kernels with wide accesses ask for.
uint32_t alignment(const void* address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  return static_cast<uint32_t>(std::min<uintptr_t>(number & -number, 256));
}

}  // namespace

// A product as the library knows it, and the way that it goes. If c lies rows first, that is c' = b' a'.
class Products::Chosen {
 public:
  Chosen(std::shared_ptr<const Library> library, cublas::Handle handle, const ProductStep& step, const void* a,
         const void* b, const void* c)
      : library_(std::move(library)), flipped_(stored(step.c, step.m, step.n).transposed) {
    try {
      describe(step);
      search(handle, flipped_ ? b : a, flipped_ ? a : b, c);
    } catch (...) {
      give_back();
      throw;
    }
  }
  ~Chosen() { give_back(); }
  Chosen(const Chosen&) = delete;
  Chosen& operator=(const Chosen&) = delete;

  size_t workspace_bytes() const { return found_.workspace_bytes; }
  void make(cublas::Handle handle, const ProductStep& step, const void* a, const void* b, void* c, void* workspace,
            Stream stream) const {
    const double wide[] = {1, step.accumulate ? 1.0 : 0.0};
    const float narrow[] = {1, step.accumulate ? 1.0F : 0.0F};
    const bool is_wide = step.compute == DType::kFloat64;
    const auto factor = [&](int i) { return is_wide ? static_cast<const void*>(&wide[i]) : &narrow[i]; };
    library_->cublasLtMatmul(handle, matmul_, factor(0), flipped_ ? b : a, first_, flipped_ ? a : b, second_, factor(1),
                             c, result_, c, result_, &found_.algorithm, workspace, found_.workspace_bytes, stream);
  }

 private:
  void describe(const ProductStep& step) {
    const bool is_wide = step.compute == DType::kFloat64;
    library_->cublasLtMatmulDescCreate(&matmul_,
                                       is_wide ? cublas::ComputeType::kFloat64 : cublas::ComputeType::kFloat32,
                                       is_wide ? ElementType::kFloat64 : ElementType::kFloat32);
    const Stored a = stored(step.a, step.m, step.k), b = stored(step.b, step.k, step.n);
    operate(MatmulAttribute::kTransposeA, flipped_ ? b : a);
    operate(MatmulAttribute::kTransposeB, flipped_ ? a : b);
    lay_out(flipped_ ? second_ : first_, step.a, a, step.batch);
    lay_out(flipped_ ? first_ : second_, step.b, b, step.batch);
    lay_out(result_, step.c, stored(step.c, step.m, step.n), step.batch);
  }
  void operate(MatmulAttribute attribute, const Stored& matrix) {
    const Operation operation = matrix.transposed == flipped_ ? Operation::kNone : Operation::kTranspose;
    library_->cublasLtMatmulDescSetAttribute(matmul_, attribute, &operation, sizeof operation);
  }
  void lay_out(Layout& layout, const ProductMatrix& matrix, const Stored& as, int64_t batch) {
    library_->cublasLtMatrixLayoutCreate(&layout, element_type(matrix.dtype), static_cast<uint64_t>(as.rows),
                                         static_cast<uint64_t>(as.columns), as.pitch);
    const auto count = static_cast<int32_t>(batch);
    library_->cublasLtMatrixLayoutSetAttribute(layout, LayoutAttribute::kBatchCount, &count, sizeof count);
    library_->cublasLtMatrixLayoutSetAttribute(layout, LayoutAttribute::kBatchStride, &matrix.batch_stride,
                                               sizeof matrix.batch_stride);
  }

  void search(cublas::Handle handle, const void* a, const void* b, const void* c) {
    library_->cublasLtMatmulPreferenceCreate(&preference_);
    const auto prefer = [&](PreferenceAttribute attribute, const auto& value) {
      library_->cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value);
    };
    prefer(PreferenceAttribute::kMostWorkspaceBytes, cublas::kMostWorkspaceBytes);
    prefer(PreferenceAttribute::kReductionSchemes, cublas::kReductionInComputeType);
    prefer(PreferenceAttribute::kAlignmentA, alignment(a));
    prefer(PreferenceAttribute::kAlignmentB, alignment(b));
    prefer(PreferenceAttribute::kAlignmentC, alignment(c));
    prefer(PreferenceAttribute::kAlignmentD, alignment(c));
    int count = 0;
    const auto& find = library_->cublasLtMatmulAlgoGetHeuristic;
    find(handle, matmul_, first_, second_, result_, result_, preference_, 1, &found_, &count);
    const cublas::Status status = count == 0 ? cublas::Status::kNotSupported : found_.state;
    if (status != cublas::Status::kSuccess) throw library_->failure(find.name(), status);
  }

  // What fails here fails because the process is ending.
  void give_back() {
    if (preference_ != nullptr) library_->cublasLtMatmulPreferenceDestroy.attempt(preference_);
    for (Layout layout : {first_, second_, result_}) {
      if (layout != nullptr) library_->cublasLtMatrixLayoutDestroy.attempt(layout);
    }
    if (matmul_ != nullptr) library_->cublasLtMatmulDescDestroy.attempt(matmul_);
  }

  const std::shared_ptr<const Library> library_;
  const bool flipped_;
  Matmul matmul_ = nullptr;
  Layout first_ = nullptr, second_ = nullptr, result_ = nullptr;
  Preference preference_ = nullptr;
  cublas::Found found_{};
};

Products::Products(std::shared_ptr<const Library> library) : library_(std::move(library)) {
  library_->cublasLtCreate(&handle_);
}

Products::~Products() {
  chosen_.clear();
  library_->cublasLtDestroy.attempt(handle_);
}

std::shared_ptr<const Products::Chosen> Products::choose(const ProductStep& step, const void* a, const void* b,
                                                         const void* c) {
  const auto number = [](DType dtype) { return static_cast<int64_t>(dtype); };
  const Key key = {step.m,
                   step.n,
                   step.k,
                   step.batch,
                   number(step.a.dtype),
                   number(step.c.dtype),
                   step.accumulate,
                   step.a.row_stride,
                   step.a.column_stride,
                   step.a.batch_stride,
                   step.b.row_stride,
                   step.b.column_stride,
                   step.b.batch_stride,
                   step.c.row_stride,
                   step.c.column_stride,
                   step.c.batch_stride,
                   alignment(a),
                   alignment(b),
                   alignment(c)};
  {
    std::lock_guard lock(mutex());
    if (const auto known = chosen_.find(key); known != chosen_.end()) return known->second;
  }
  auto chosen = std::make_shared<const Chosen>(library_, handle_, step, a, b, c);
  std::map<Key, std::shared_ptr<const Chosen>> forgotten;  // given back without the lock
  std::lock_guard lock(mutex());
  if (chosen_.size() >= kMostChosen) forgotten.swap(chosen_);
  return chosen_.try_emplace(key, std::move(chosen)).first->second;
}

// The workspace goes back at once: its next owner's work comes later in the stream.
void Products::make(GpuContext& context, const ProductStep& step, const void* a, const void* b, void* c) {
  const std::shared_ptr<const Chosen> chosen = choose(step, a, b, c);
  std::shared_ptr<Buffer> workspace;
  if (chosen->workspace_bytes() > 0) workspace = context.allocate(chosen->workspace_bytes());
  chosen->make(handle_, step, a, b, c, workspace == nullptr ? nullptr : workspace->data(), context.stream());
}

}  // namespace ct::cuda
