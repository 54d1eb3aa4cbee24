// Where linked code lies: slabs, each of which is mapped twice, writable for the linker and executable for the program,
// so that linking asks the system for nothing and small programs share pages. Where such memory is forbidden each
// program has a mapping of its own, which is made executable when it has been written.
//
// A fork shares the pages of slabs with the child. What was linked before it stays as it is in both processes, whoever
// drops it; what is linked later goes to new slabs.
//
// Not thread safe: the session (load.cc) has one, under its mutex.
#pragma once

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ct::jit {

class CodeMemory : public llvm::jitlink::JITLinkMemoryManager {
 public:
  CodeMemory();
  ~CodeMemory() override;

  // The objects that are linked until `finish` lie within `bytes` next to each other, so they reach each other by
  // relative addresses.
  absl::Status reserve(size_t bytes);
  // What was not used is free again, the rest can be run.
  absl::Status finish();

  void allocate(const llvm::jitlink::JITLinkDylib* library, llvm::jitlink::LinkGraph& graph,
                OnAllocatedFunction done) override;
  void deallocate(std::vector<FinalizedAlloc> allocations, OnDeallocatedFunction done) override;
  using JITLinkMemoryManager::allocate;
  using JITLinkMemoryManager::deallocate;

 private:
  struct Slab {
    char* code = nullptr;      // the view that programs have
    char* writable = nullptr;  // the linker's; the same where there is one view
    size_t size = 0;
    int file = -1;
    size_t backed = 0;                // bytes from the beginning that have memory
    int64_t forks = 0;                // when it was made
    std::map<size_t, size_t> unused;  // from, bytes
    ~Slab();
    bool takes_more() const { return code != writable; }
    bool is_unused() const { return unused.size() == 1 && unused.begin()->second == size; }
    void give_back(size_t from, size_t bytes);
  };
  struct Allocation {
    Slab* slab;
    size_t from, bytes;
    std::vector<llvm::orc::shared::WrapperFunctionCall> at_end;
  };
  class Unfinished;

  absl::StatusOr<Slab*> new_slab(size_t bytes);
  bool back(Slab& slab, size_t end);
  void free(Slab& slab, size_t from, size_t bytes);

  std::vector<std::unique_ptr<Slab>> slabs_;
  bool may_share_ = true;                         // memory is mapped twice
  llvm::jitlink::InProcessMemoryManager others_;  // for what is not code: objects for debuggers
  // The reservation: [next_, end_) of it is left.
  Slab* slab_ = nullptr;
  size_t first_ = 0, next_ = 0, end_ = 0;
};

}  // namespace ct::jit
