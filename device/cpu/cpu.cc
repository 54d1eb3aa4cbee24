#include "device/cpu/cpu.h"

#include <cstdlib>
#include <cstring>

#include "ir/size.h"
#include "ir/text.h"

namespace ct {
namespace {

constexpr int64_t kManyPages = int64_t{4} << 20;

struct ThreadArena {
  void* data = nullptr;
  int64_t bytes = 0;
  ~ThreadArena() { std::free(data); }
};

class Cpu final : public Device {
 public:
  std::string_view name() const override { return "cpu"; }

  absl::StatusOr<std::shared_ptr<Buffer>> allocate(size_t bytes) override {
    try {
      return Buffer::allocate(bytes);
    } catch (const Error& error) {
      return absl::ResourceExhaustedError(error.what());
    }
  }
  absl::Status copy_to_device(Buffer& destination, const Tensor& source) override {
    std::memcpy(destination.data(), source.data(), static_cast<size_t>(source.aval().bytes()));
    return absl::OkStatus();
  }
  absl::Status copy_to_host(const Tensor& destination, const Buffer& source) override {
    std::memcpy(destination.data(), source.data(), static_cast<size_t>(destination.aval().bytes()));
    return absl::OkStatus();
  }
  absl::Status run(const Plan& plan, absl::Span<Buffer* const> inputs, absl::Span<Buffer* const> outputs) override {
    if (plan.entry == nullptr) return absl::FailedPreconditionError("the plan has no code for this device");
    std::vector<void*> input_pointers, output_pointers;
    for (Buffer* buffer : inputs) input_pointers.push_back(buffer->data());
    for (Buffer* buffer : outputs) output_pointers.push_back(buffer->data());
    plan.entry(input_pointers.data(), output_pointers.data(), cpu_arena(plan.arena_bytes));
    return absl::OkStatus();
  }
  absl::Status synchronize() override { return absl::OkStatus(); }
};

}  // namespace

Device& cpu_device() {
  static Cpu* device = new Cpu;
  return *device;
}

void* cpu_arena(int64_t bytes) {
  thread_local ThreadArena arena;
  if (bytes <= arena.bytes) return arena.data;
  std::free(arena.data);
  arena.data = nullptr;
  arena.bytes = 0;
  const int64_t rounded = checked_add(bytes, kArenaAlignment - 1, "the memory for intermediate results") /
                          kArenaAlignment * kArenaAlignment;
  arena.data = std::aligned_alloc(kArenaAlignment, static_cast<size_t>(rounded));
  if (arena.data == nullptr) {
    throw Error(ErrorKind::kMemory, concat("no memory for ", rounded, " bytes of intermediate results"))
        .hint("use smaller arrays or batches");
  }
  if (rounded >= kManyPages) advise_huge_pages(arena.data, static_cast<size_t>(rounded));
  arena.bytes = rounded;
  return arena.data;
}

}  // namespace ct
