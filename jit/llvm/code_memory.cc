#include "jit/llvm/code_memory.h"

#include <fcntl.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/forks.h"

namespace ct::jit {

using llvm::jitlink::BasicLayout;
using llvm::jitlink::LinkGraph;

namespace {

constexpr size_t kSlab = 1 << 20;
// Larger programs have slabs of their own, which go when they do.
constexpr size_t kLarge = 1 << 18;
// A slab gets its memory in steps of this size.
constexpr size_t kStep = 1 << 16;
constexpr size_t kAlignment = 64;
// Added to addresses of allocations that are not `others_`'.
constexpr uint64_t kOwnTag = 1;

size_t rounded_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }
size_t pages(size_t bytes) { return rounded_up(bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE))); }

// A file in memory of this size; -1 where there can be none.
int memory_file(size_t bytes) {
  // Files beyond the limit raise a signal.
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)) return -1;
#ifdef MFD_EXEC
  int file = memfd_create("cotangent", MFD_CLOEXEC | MFD_EXEC);
  if (file < 0 && errno == EINVAL) file = memfd_create("cotangent", MFD_CLOEXEC);
#else
  int file = memfd_create("cotangent", MFD_CLOEXEC);
#endif
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    close(file);
    return -1;
  }
  return file;
}

bool is_writable(llvm::orc::MemProt protection) {
  return (static_cast<unsigned>(protection) & static_cast<unsigned>(llvm::orc::MemProt::Write)) != 0;
}

absl::Status no_memory() { return absl::ResourceExhaustedError("no memory for machine code"); }

}  // namespace

// ------------------------------------------------------------------------------------------------------------- slabs

CodeMemory::Slab::~Slab() {
  if (code != nullptr) munmap(code, size);
  if (writable != nullptr && writable != code) munmap(writable, size);
  if (file >= 0) close(file);
}

void CodeMemory::Slab::give_back(size_t from, size_t bytes) {
  if (bytes == 0) return;
  auto next = unused.lower_bound(from);
  if (next != unused.end() && from + bytes == next->first) {
    bytes += next->second;
    next = unused.erase(next);
  }
  if (next != unused.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == from) {
      before->second += bytes;
      return;
    }
  }
  unused.emplace(from, bytes);
}

CodeMemory::CodeMemory() : others_(pages(1)) {}
CodeMemory::~CodeMemory() = default;

absl::StatusOr<CodeMemory::Slab*> CodeMemory::new_slab(size_t bytes) {
  auto slab = std::make_unique<Slab>();
  slab->forks = forks();
  const size_t size = bytes > kLarge ? pages(bytes) : kSlab;
  const auto map = [](size_t length, int protection, int flags, int file) -> char* {
    void* memory = mmap(nullptr, length, protection, flags, file, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
  };
  if (may_share_) slab->file = memory_file(size);
  if (slab->file >= 0) {
    slab->size = size;
    slab->code = map(size, PROT_READ | PROT_EXEC, MAP_SHARED, slab->file);
    if (slab->code != nullptr) slab->writable = map(size, PROT_READ | PROT_WRITE, MAP_SHARED, slab->file);
    if (slab->writable == nullptr) slab = std::make_unique<Slab>();
  }
  if (slab->code == nullptr) {
    slab->size = slab->backed = pages(bytes);
    slab->code = slab->writable = map(slab->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (slab->code == nullptr) return no_memory();
  }
  slab->unused.emplace(0, slab->size);
  slabs_.push_back(std::move(slab));
  return slabs_.back().get();
}

// The memory is there before it is written: a write to a page that the system cannot give would end the process.
bool CodeMemory::back(Slab& slab, size_t end) {
  if (end <= slab.backed) return true;
  const size_t wanted = std::min(rounded_up(end, kStep), slab.size);
  int error;
  do {
    error = posix_fallocate(slab.file, static_cast<off_t>(slab.backed), static_cast<off_t>(wanted - slab.backed));
  } while (error == EINTR);
  if (error != 0) return false;
  slab.backed = wanted;
  if (wanted == slab.size) close(std::exchange(slab.file, -1));
  return true;
}

void CodeMemory::free(Slab& slab, size_t from, size_t bytes) {
  slab.give_back(from, bytes);
  if (!slab.is_unused() || &slab == slab_) return;
  // One that may be filled again is kept.
  const auto serves = [](const Slab& one) { return one.takes_more() && one.size == kSlab && one.forks == forks(); };
  if (serves(slab) &&
      std::ranges::none_of(slabs_, [&](const auto& other) { return other.get() != &slab && serves(*other); })) {
    return;
  }
  std::erase_if(slabs_, [&](const auto& one) { return one.get() == &slab; });
}

// ------------------------------------------------------------------------------------------------------ reservations

absl::Status CodeMemory::reserve(size_t bytes) {
  bytes = rounded_up(std::max<size_t>(bytes, 1), kAlignment);
  const auto take = [&](Slab& slab) {
    const auto at = std::ranges::find_if(slab.unused, [&](const auto& range) { return range.second >= bytes; });
    if (at == slab.unused.end() || !back(slab, at->first + bytes)) return false;
    slab_ = &slab;
    first_ = next_ = at->first;
    end_ = first_ + bytes;
    const size_t left = at->second - bytes;
    slab.unused.erase(at);
    if (left != 0) slab.unused.emplace(end_, left);
    return true;
  };
  for (const auto& slab : slabs_) {
    if (slab->takes_more() && slab->forks == forks() && take(*slab)) return absl::OkStatus();
  }
  absl::StatusOr<Slab*> made = new_slab(bytes);
  if (made.ok() && !take(**made)) {
    // No memory for files: there may be other.
    slabs_.pop_back();
    const bool shared = std::exchange(may_share_, false);
    made = new_slab(bytes);
    may_share_ = shared;
    if (made.ok() && !take(**made)) return no_memory();
  }
  return made.status();
}

absl::Status CodeMemory::finish() {
  Slab& slab = *std::exchange(slab_, nullptr);
  bool executable = true;
  if (next_ != first_ && !slab.takes_more()) {
    executable = mprotect(slab.code, slab.size, PROT_READ | PROT_EXEC) == 0;
  }
  __builtin___clear_cache(slab.code + first_, slab.code + next_);
  free(slab, next_, end_ - next_);
  return executable ? absl::OkStatus() : absl::ResourceExhaustedError("cannot make memory executable");
}

// ------------------------------------------------------------------------------------------------------------ linking

class CodeMemory::Unfinished : public InFlightAlloc {
 public:
  Unfinished(CodeMemory& memory, LinkGraph& graph, size_t from, size_t bytes)
      : memory_(memory), graph_(graph), slab_(memory.slab_), from_(from), bytes_(bytes) {}

  void finalize(OnFinalizedFunction done) override {
    auto at_end = llvm::orc::shared::runFinalizeActions(graph_.allocActions());
    if (!at_end) {
      memory_.free(*slab_, from_, bytes_);
      return done(at_end.takeError());
    }
    done(FinalizedAlloc(llvm::orc::ExecutorAddr::fromPtr(new Allocation{slab_, from_, bytes_, std::move(*at_end)}) +
                        kOwnTag));
  }
  void abandon(OnAbandonedFunction done) override {
    memory_.free(*slab_, from_, bytes_);
    done(llvm::Error::success());
  }

 private:
  CodeMemory& memory_;
  LinkGraph& graph_;
  Slab* slab_;
  size_t from_, bytes_;
};

void CodeMemory::allocate(const llvm::jitlink::JITLinkDylib* library, LinkGraph& graph, OnAllocatedFunction done) {
  BasicLayout layout(graph);
  size_t size = 0;
  for (auto& [group, segment] : layout.segments()) {
    if (is_writable(group.getMemProt()) || segment.Alignment.value() > kAlignment) {
      return others_.allocate(library, graph, std::move(done));
    }
    size = rounded_up(size, segment.Alignment.value()) + segment.ContentSize + segment.ZeroFillSize;
  }
  size = rounded_up(size, kAlignment);
  if (slab_ == nullptr || end_ - next_ < size) {
    return done(llvm::createStringError(llvm::inconvertibleErrorCode(), "compiled code is larger than its object"));
  }
  const size_t from = std::exchange(next_, next_ + size);
  size_t next = from;
  for (auto& [group, segment] : layout.segments()) {
    next = rounded_up(next, segment.Alignment.value());
    segment.WorkingMem = slab_->writable + next;
    segment.Addr = llvm::orc::ExecutorAddr::fromPtr(slab_->code + next);
    std::memset(segment.WorkingMem + segment.ContentSize, 0, segment.ZeroFillSize);
    next += segment.ContentSize + segment.ZeroFillSize;
  }
  if (llvm::Error error = layout.apply()) return done(std::move(error));
  done(std::make_unique<Unfinished>(*this, graph, from, size));
}

void CodeMemory::deallocate(std::vector<FinalizedAlloc> allocations, OnDeallocatedFunction done) {
  llvm::Error errors = llvm::Error::success();
  for (FinalizedAlloc& finalized : llvm::reverse(allocations)) {
    const bool own = (finalized.getAddress().getValue() & kOwnTag) != 0;
    if (!own) {
      others_.deallocate(std::move(finalized),
                         [&](llvm::Error error) { errors = llvm::joinErrors(std::move(errors), std::move(error)); });
      continue;
    }
    const std::unique_ptr<Allocation> allocation((finalized.release() - kOwnTag).toPtr<Allocation*>());
    errors = llvm::joinErrors(std::move(errors), llvm::orc::shared::runDeallocActions(allocation->at_end));
    free(*allocation->slab, allocation->from, allocation->bytes);
  }
  done(std::move(errors));
}

}  // namespace ct::jit
