#include "runtime/process.h"

#include <pthread.h>

#include <atomic>
#include <utility>
#include <vector>

#include "runtime/forks.h"

namespace ct {
namespace {

// Threads come in and go out; who closes it waits until the others are out.
class Gate {
 public:
  void enter() {
    for (;;) {
      // Sequentially consistent, as are the closer's steps: either it sees this thread or this thread sees it closed.
      inside_.fetch_add(1);
      if (closed_.load() == 0) return;
      leave();
      for (int closed; (closed = closed_.load()) != 0;) closed_.wait(closed);
    }
  }
  void leave() {
    inside_.fetch_sub(1);
    if (closed_.load() != 0) inside_.notify_all();
  }
  bool closed() const { return closed_.load(std::memory_order_relaxed) != 0; }

  void close(bool own_thread_inside) {
    closed_.fetch_add(1);
    for (int inside; (inside = inside_.load()) > (own_thread_inside ? 1 : 0);) inside_.wait(inside);
  }
  void open() {
    if (closed_.fetch_sub(1) == 1) closed_.notify_all();
  }
  // In the child of a fork: nobody else is there.
  void reset(bool own_thread_inside) {
    inside_.store(own_thread_inside ? 1 : 0);
    closed_.store(0);
  }

 private:
  std::atomic<int> inside_ = 0;
  std::atomic<int> closed_ = 0;  // by how many
};

constexpr int kKinds = 2;
Gate gates[kKinds];
thread_local int depths[kKinds];

struct Mutexes {
  std::mutex list_mutex;
  std::vector<ProcessMutex*> list;

  static Mutexes& instance() {
    static auto* mutexes = new Mutexes;
    return *mutexes;
  }
};

int64_t fork_count = 0;  // changes while all mutexes are held

void before_fork() {
  constexpr auto kind = static_cast<int>(Work::kCompile);
  gates[kind].close(depths[kind] > 0);
  Mutexes& mutexes = Mutexes::instance();
  mutexes.list_mutex.lock();
  for (ProcessMutex* mutex : mutexes.list) mutex->lock();
  ++fork_count;
}

void unlock_all() {
  Mutexes& mutexes = Mutexes::instance();
  for (ProcessMutex* mutex : mutexes.list) mutex->unlock();
  mutexes.list_mutex.unlock();
}

void after_fork_in_parent() {
  unlock_all();
  gates[static_cast<int>(Work::kCompile)].open();
}

void after_fork_in_child() {
  unlock_all();
  for (int kind = 0; kind < kKinds; ++kind) gates[kind].reset(depths[kind] > 0);
}

}  // namespace

ProcessMutex::ProcessMutex() {
  static const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)registered;
  Mutexes& mutexes = Mutexes::instance();
  std::lock_guard lock(mutexes.list_mutex);
  mutexes.list.push_back(this);
}

int64_t forks() { return fork_count; }

Working::Working(Work work) : work_(work) {
  const auto kind = static_cast<int>(work);
  if (depths[kind]++ == 0) gates[kind].enter();
}
Working::~Working() {
  const auto kind = static_cast<int>(work_);
  if (--depths[kind] == 0) gates[kind].leave();
}

NotWorking::NotWorking() {
  for (int kind = 0; kind < kKinds; ++kind) {
    depths_[kind] = std::exchange(depths[kind], 0);
    if (depths_[kind] > 0) gates[kind].leave();
  }
}
NotWorking::~NotWorking() {
  for (int kind = kKinds; kind-- > 0;) {
    if (depths_[kind] > 0) gates[kind].enter();
    depths[kind] = depths_[kind];
  }
}

void let_others_fork() {
  for (int kind = 0; kind < kKinds; ++kind) {
    if (depths[kind] > 0 && gates[kind].closed()) {
      const NotWorking wait;
      return;
    }
  }
}

void end_all_work() {
  for (int kind = 0; kind < kKinds; ++kind) gates[kind].close(depths[kind] > 0);
}

}  // namespace ct
