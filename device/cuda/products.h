// Products of matrices by cuBLASLt (libraries.h), in a context's stream. What the library chose for a product is kept,
// so that one of the same sizes is a launch and nothing else the next time.
#pragma once

#include <array>
#include <map>
#include <memory>

#include "device/cuda/libraries.h"
#include "device/plan.h"

namespace ct::cuda {

class GpuContext;

class Products {
 public:
  // The context is the thread's, here and at the end.
  explicit Products(std::shared_ptr<const cublas::Library> library);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  void make(GpuContext& context, const ProductStep& step, const void* a, const void* b, void* c);

 private:
  class Chosen;
  // Everything that the library's choice depends on.
  using Key = std::array<int64_t, 19>;

  std::shared_ptr<const Chosen> choose(const ProductStep& step, const void* a, const void* b, const void* c);

  const std::shared_ptr<const cublas::Library> library_;
  cublas::Handle handle_ = nullptr;
  std::map<Key, std::shared_ptr<const Chosen>> chosen_;  // guarded by mutex()
};

}  // namespace ct::cuda
