// The loops of a program that threads could share, with what they take, for those who study how a pool would share
// them: benchmarks/pool_simulation.py. While a recording lives, the thread that made it runs its loops alone, in parts
// whose times it notes.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/pool.h"

namespace ct {

struct RecordedLoop {
  int64_t extent, multiple, nanoseconds, in_program;  // as in ParallelLoop
  int64_t began, took;                                // nanoseconds, since the recording began
  std::vector<int64_t> parts;                         // nanoseconds of each
};

class LoopRecording {
 public:
  // `threads()` is `parts` meanwhile: what cuts its work by it is recorded so.
  explicit LoopRecording(int parts);
  ~LoopRecording();
  LoopRecording(const LoopRecording&) = delete;
  LoopRecording& operator=(const LoopRecording&) = delete;

  // Of this thread; null: it has none.
  static LoopRecording* current();
  int parts() const { return parts_; }
  const std::vector<RecordedLoop>& loops() const { return loops_; }
  int64_t elapsed() const;
  void run(const ParallelLoop& loop) noexcept;

 private:
  const int parts_;
  const int64_t start_;
  bool running_ = false;  // a loop: those inside it are part of it
  std::vector<RecordedLoop> loops_;
};

}  // namespace ct
