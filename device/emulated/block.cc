#include "device/emulated/block.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "device/emulated/races.h"
#include "device/emulated/stopped.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/text.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define CT_ANNOTATE_FIBERS 1
#else
#define CT_ANNOTATE_FIBERS 0
#endif

namespace ct {
namespace {

constexpr size_t kStackBytes = 64 << 10;

ThreadOrder order_from_environment() {
  const char* order = std::getenv("CT_THREAD_ORDER");
  if (order == nullptr || order == std::string_view("forward")) return ThreadOrder::kForward;
  return order == std::string_view("reverse") ? ThreadOrder::kReverse : ThreadOrder::kRandom;
}

std::atomic<ThreadOrder> thread_order = order_from_environment();

class Block;
thread_local Block* running = nullptr;

// A stack and where it stopped. Made once, it runs one thread of a block after the other: the next one when one has
// come to its end, so that a kernel without barriers needs a single one.
class Fiber {
 public:
  Fiber(Block* block, std::byte* stack, size_t bytes)
      : block_(block), stack_(stack), stack_bytes_(bytes), here_(stack, bytes, &Fiber::begin) {}

  // On the scheduler's stack: until the scheduler is to go on.
  void resume();
  // On the fiber's: the next one goes on, or the scheduler.
  void pause();
  // On the fiber's: whether the computation is to go on. Whoever knows may need more stack than a fiber has.
  bool ask();

  bool done = true;

 private:
  static void begin();
  void enter();
  void leave_for(Fiber* next);  // null: for the scheduler

  Block* const block_;
  std::byte* const stack_;
  const size_t stack_bytes_;
  Stopped here_;
  void* fake_stack_ = nullptr;
};

// The fibers of one thread of the host.
class Block : public EmulatedBlock {
 public:
  Block() = default;
  ~Block() {
    if (stacks_ != nullptr) munmap(stacks_, stack_bytes_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void run(EmulatedKernel kernel, absl::Span<void* const> arguments, uint32_t blocks, uint32_t threads,
           uint32_t shared_bytes);
  // The current fiber, until all threads are at the barrier.
  void wait();
  // The fiber that goes on when the current one waits; null: it is the scheduler's turn.
  Fiber* next();

  EmulatedKernel kernel = nullptr;
  void* const* arguments = nullptr;
  Fiber* current = nullptr;
  Races* races = nullptr;
  bool asks = false;     // the current fiber, whether to go on
  bool goes_on = false;  // what it was told last
  Stopped scheduler;
  const void* scheduler_stack = nullptr;
  size_t scheduler_bytes = 0;

 private:
  void make_fibers(uint32_t count);
  // Whether all threads came to their end; else all are at a barrier.
  bool round();
  [[noreturn]] static void report(const Races& races, absl::Span<void* const> arguments);

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<uint32_t> order_;  // of threads
  std::vector<Fiber*> waiting_;  // at a barrier
  size_t turn_ = 0;              // of these
  std::byte* stacks_ = nullptr;
  size_t stack_bytes_ = 0;
  std::minstd_rand random_;
};

void Fiber::begin() {
  Block* block = running;
  Fiber* self = block->current;
#if CT_ANNOTATE_FIBERS
  __sanitizer_finish_switch_fiber(nullptr, &block->scheduler_stack, &block->scheduler_bytes);
#endif
  for (;;) {
    block->kernel(block->arguments, block);
    self->done = true;
    self->pause();
  }
}

void Fiber::resume() {
  block_->current = this;
  done = false;
  enter();
  while (std::exchange(block_->asks, false)) {
    block_->goes_on = block_->goes_on && go_on();
    if (!block_->goes_on) block_->begun = block_->threads;  // the others need not begin
    block_->current->enter();
  }
}

void Fiber::enter() {
#if CT_ANNOTATE_FIBERS
  void* scheduler_fake = nullptr;
  __sanitizer_start_switch_fiber(&scheduler_fake, stack_, stack_bytes_);
#endif
  block_->scheduler.leave_for(here_);
#if CT_ANNOTATE_FIBERS
  __sanitizer_finish_switch_fiber(scheduler_fake, nullptr, nullptr);
#endif
}

void Fiber::pause() {
  Fiber* next = block_->next();
  if (next != nullptr) {
    block_->current = next;
    next->done = false;
  }
  leave_for(next);
}

bool Fiber::ask() {
  block_->asks = true;
  leave_for(nullptr);
  return block_->goes_on;
}

void Fiber::leave_for(Fiber* next) {
#if CT_ANNOTATE_FIBERS
  __sanitizer_start_switch_fiber(&fake_stack_, next != nullptr ? next->stack_ : block_->scheduler_stack,
                                 next != nullptr ? next->stack_bytes_ : block_->scheduler_bytes);
#endif
  here_.leave_for(next != nullptr ? next->here_ : block_->scheduler);
#if CT_ANNOTATE_FIBERS
  __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
#endif
}

// Below each stack a page that nobody may touch. The stacks begin at different lines of the cache, so that those of all
// threads of a block find a place there.
void Block::make_fibers(uint32_t count) {
  if (fibers_.size() >= count) return;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t each = kStackBytes + page;
  fibers_.clear();
  if (stacks_ != nullptr) munmap(stacks_, stack_bytes_);
  stack_bytes_ = each * count;
  void* memory =
      mmap(nullptr, stack_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  stacks_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  if (stacks_ == nullptr) throw std::bad_alloc();
  for (uint32_t i = 0; i < count; ++i) {
    std::byte* stack = stacks_ + i * each;
    mprotect(stack, page, PROT_NONE);
    const size_t left_out = size_t{64} * i % page;
    fibers_.push_back(std::make_unique<Fiber>(this, stack + page, kStackBytes - left_out));
  }
}

void Block::wait() {
  const uint32_t own = thread;
  current->pause();
  thread = own;
}

Fiber* Block::next() {
  if (turn_ >= waiting_.size()) return nullptr;
  return waiting_[turn_++];
}

bool Block::round() {
  [[maybe_unused]] const KeptCleanUps clean_ups;
  turn_ = 0;
  if (Fiber* first = next(); first != nullptr) first->resume();
  if (ended != 0) std::erase_if(waiting_, [](const Fiber* fiber) { return fiber->done; });
  while (begun < threads) {
    Fiber* fiber = fibers_[waiting_.size()].get();
    turn_ = waiting_.size();  // nobody's
    fiber->resume();
    if (!fiber->done) waiting_.push_back(fiber);
  }
  if (goes_on && ended != 0 && ended != threads) {
    fibers_.clear();  // they are in the middle of something
    throw Error(ErrorKind::kInternal, "some threads of a block wait at a barrier that others never come to");
  }
  return ended == threads;
}

void Block::run(EmulatedKernel given_kernel, absl::Span<void* const> given_arguments, uint32_t given_blocks,
                uint32_t given_threads, uint32_t shared_bytes) {
  if (running != nullptr) throw Error(ErrorKind::kInternal, "a kernel cannot launch another one");
  kernel = given_kernel;
  arguments = given_arguments.data();
  const auto memory = std::make_unique<std::byte[]>(shared_bytes);
  make_fibers(given_threads);
  order_.resize(given_threads);
  static_cast<EmulatedBlock&>(*this) = {
      .order = order_.data(), .shared = memory.get(), .threads = given_threads, .blocks = given_blocks};
  std::iota(order_.begin(), order_.end(), 0);
  const ThreadOrder wanted = thread_order.load();
  if (wanted == ThreadOrder::kReverse) std::ranges::reverse(order_);
  struct Running {
    explicit Running(Block* block) { running = block; }
    ~Running() { running = nullptr; }
  } const scope(this);
  Races found;
  races = &found;
  goes_on = true;
  for (; block < blocks; ++block) {
    found.begin_block(block, shared, shared_bytes);
    ended = begun = 0;
    waiting_.clear();
    if (wanted == ThreadOrder::kRandom) std::ranges::shuffle(order_, random_);
    for (bool is_over = false; !is_over;) {
      if (wanted == ThreadOrder::kRandom) std::ranges::shuffle(waiting_, random_);
      is_over = round();
      found.pass_barrier();
      if (goes_on && go_on()) continue;
      fibers_.clear();
      throw_if_stopped();
      return;  // whoever is helped throws
    }
  }
  if (!found.problem().empty()) report(found, given_arguments);
}

void Block::report(const Races& races, absl::Span<void* const> given_arguments) {
  std::string where = "in memory of the block";
  uintptr_t nearest = 0;
  for (size_t i = 0; i < given_arguments.size(); ++i) {
    const auto begin = reinterpret_cast<uintptr_t>(given_arguments[i]);
    if (begin > races.address() || begin < nearest || races.address() - begin > (uintptr_t{1} << 32)) continue;
    nearest = begin;
    where = concat("at byte ", races.address() - begin, " of argument ", i);
  }
  throw Error(ErrorKind::kInternal, concat("a race: ", races.problem(), ", ", where));
}

// ---- what kernels call ----------------------------------------------------------------------------------------------

void wait_at_barrier(EmulatedBlock* block) { static_cast<Block*>(block)->wait(); }
bool ask_to_go_on() { return running->current->ask(); }
void note_access(const void* address, uint64_t bytes, bool writes) {
  running->races->access(address, bytes, writes, running->thread);
}

}  // namespace

void set_thread_order(ThreadOrder order) { thread_order = order; }

void run_blocks(EmulatedKernel kernel, absl::Span<void* const> arguments, uint32_t blocks, uint32_t threads,
                uint32_t shared_bytes) {
  thread_local Block block;
  block.run(kernel, arguments, blocks, threads, shared_bytes);
}

const void* find_emulated(std::string_view name) {
  const auto known = [](auto* function) { return reinterpret_cast<const void*>(function); };
  if (name == kEmulatedBarrier) return known(&wait_at_barrier);
  if (name == kEmulatedGoOn) return known(&ask_to_go_on);
  if (name == kEmulatedAccess) return known(&note_access);
  return nullptr;
}

}  // namespace ct
