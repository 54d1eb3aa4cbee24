#include "runtime/recording.h"

#include <algorithm>

#include "runtime/clock.h"

namespace ct {
namespace {

thread_local LoopRecording* current_recording = nullptr;

}  // namespace

LoopRecording::LoopRecording(int parts) : parts_(std::max(parts, 1)), start_(nanoseconds_now()) {
  current_recording = this;
}
LoopRecording::~LoopRecording() { current_recording = nullptr; }

LoopRecording* LoopRecording::current() { return current_recording; }

int64_t LoopRecording::elapsed() const { return nanoseconds_now() - start_; }

void LoopRecording::run(const ParallelLoop& loop) noexcept {
  if (running_) return loop.body(loop.context, 0, loop.extent, loop.scratch);
  running_ = true;
  const int64_t units = (loop.extent + loop.multiple - 1) / loop.multiple;
  const int64_t count = std::min<int64_t>(units, parts_);
  RecordedLoop record{loop.extent, loop.multiple, loop.nanoseconds, loop.in_program, elapsed(), 0, {}};
  record.parts.reserve(static_cast<size_t>(count));
  int64_t before = record.began;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = i * units / count * loop.multiple;
    const int64_t end = std::min((i + 1) * units / count * loop.multiple, loop.extent);
    loop.body(loop.context, begin, end, loop.scratch);
    const int64_t after = elapsed();
    record.parts.push_back(after - before);
    before = after;
  }
  record.took = before - record.began;
  loops_.push_back(std::move(record));
  running_ = false;
}

}  // namespace ct
