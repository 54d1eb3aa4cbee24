#include "device/emulated/races.h"

#include <algorithm>

#include "runtime/text.h"

namespace ct {

bool Races::Users::use(int64_t who, bool writes) {
  const auto other = [who](int64_t user) { return user == kSeveral || (user != kNobody && user != who); };
  const bool conflicts = other(writer) || (writes && other(reader));
  int64_t& user = writes ? writer : reader;
  user = user == kNobody || user == who ? who : kSeveral;
  return conflicts;
}

void Races::begin_block(uint32_t block, const void* own, uint64_t bytes) {
  block_ = block;
  ++interval_;
  const auto first = reinterpret_cast<uintptr_t>(own);
  for (uintptr_t at = first; at < first + bytes; at += kBytes) granules_.erase(at / kBytes);
}

void Races::access(const void* address, uint64_t bytes, bool writes, uint32_t thread) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  for (uintptr_t at = first; at < first + bytes; ++at) {
    Granule& granule = granules_[at / kBytes];
    if (granule.interval != interval_) {
      granule.interval = interval_;
      std::fill(std::begin(granule.by_thread), std::end(granule.by_thread), Users());
    }
    const bool in_block = granule.by_thread[at % kBytes].use(thread, writes);
    const bool in_grid = granule.by_block[at % kBytes].use(block_, writes);
    if (!problem_.empty() || (!in_block && !in_grid)) continue;
    address_ = at;
    problem_ = concat("thread ", thread, " of block ", block_, writes ? " writes" : " reads", " what another ",
                      in_block ? "thread of the block" : "block", " uses, without a barrier between them");
  }
}

}  // namespace ct
