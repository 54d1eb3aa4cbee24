// Which threads of a kernel touched which bytes: finds two that do so without a barrier between them, one of them
// writing, whatever their order was. For kernels that report their accesses (CT_CHECK_RACES=1).
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"

namespace ct {

class Races {
 public:
  // `own`: memory that only this block uses, whatever used it before.
  void begin_block(uint32_t block, const void* own = nullptr, uint64_t bytes = 0);
  // All threads of the block have come to a barrier.
  void pass_barrier() { ++interval_; }
  void access(const void* address, uint64_t bytes, bool writes, uint32_t thread);
  // The first that was found; empty if there was none.
  const std::string& problem() const { return problem_; }
  uintptr_t address() const { return address_; }  // of the problem

 private:
  static constexpr int kBytes = 8;
  static constexpr int64_t kNobody = -1, kSeveral = -2;
  // Of one byte, and of one interval between barriers, or of all blocks.
  struct Users {
    int64_t writer = kNobody, reader = kNobody;
    // Whether somebody else has used it in a way that does not agree.
    bool use(int64_t who, bool writes);
  };
  struct Granule {
    uint64_t interval = 0;
    Users by_thread[kBytes], by_block[kBytes];
  };

  uint64_t interval_ = 1;
  uint32_t block_ = 0;
  absl::flat_hash_map<uintptr_t, Granule> granules_;
  std::string problem_;
  uintptr_t address_ = 0;
};

}  // namespace ct
