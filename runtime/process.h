// What threads that run without Python's lock owe to a fork and to the end of the process.
//
// A fork copies the thread that calls it and no other: locks that others hold stay taken in the child for good. The end
// of the process destroys what static objects hold while other threads go on. So
//   - a mutex of state that lives as long as the process is a `ProcessMutex`: a fork takes all of them;
//   - who does more than a lock covers (LLVM has locks and tables of its own) does it in a `Working` scope: a fork
//   waits until no other thread is in one, and so does the end of the process, after which none begins.
// Generated code needs neither: it uses memory that it was given, and nothing else.
#pragma once

#include <cstdint>
#include <mutex>

namespace ct {

// Never destroyed. Held for moments; whoever holds one waits for no other and not for Python's lock, which what it
// destroys may ask for.
class ProcessMutex {
 public:
  ProcessMutex();
  ProcessMutex(const ProcessMutex&) = delete;
  ProcessMutex& operator=(const ProcessMutex&) = delete;
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

enum class Work : uint8_t {
  kCompile,  // a fork waits for it, and the end of the process
  kCompute,  // only the end of the process does: a library or the interpreter computes, for as long as it takes
};

// Scopes of one kind nest. Python's lock is not waited for inside, except within a NotWorking.
class Working {
 public:
  explicit Working(Work work);
  ~Working();
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  Work work_;
};

// While it lives this thread is in no Working scope: around whatever waits for other threads.
class NotWorking {
 public:
  NotWorking();
  ~NotWorking();
  NotWorking(const NotWorking&) = delete;
  NotWorking& operator=(const NotWorking&) = delete;

 private:
  int depths_[2];
};

// Where a thread that works a long time may be stopped: between the parts of a compilation, say.
void let_others_fork();

// Returns when no other thread works, and lets none begin again. For the end of the process.
void end_all_work();

}  // namespace ct
