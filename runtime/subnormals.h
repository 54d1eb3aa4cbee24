// Numbers too small for a full significand: computed with, as IEEE 754 has it, or taken for zeros, as by XLA on
// processors. A process chooses (`set_flush_subnormals`); what is computed then goes on under a `SubnormalScope`, and
// the program around it keeps its own arithmetic. Workers of the pool take over that of their caller (pool.h).
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace ct {

inline std::atomic<bool> flushes_subnormals = false;
inline void set_flush_subnormals(bool flush) { flushes_subnormals.store(flush, std::memory_order_relaxed); }

class SubnormalScope {
 public:
  SubnormalScope() {
    if (!flushes_subnormals.load(std::memory_order_relaxed)) return;
    before_ = control();
    if ((before_ & kFlush) == kFlush) return;
    set_control(before_ | kFlush);
    changed_ = true;
  }
  ~SubnormalScope() {
    if (changed_) set_control(before_);
  }
  SubnormalScope(const SubnormalScope&) = delete;
  SubnormalScope& operator=(const SubnormalScope&) = delete;

 private:
#if defined(__SSE__)
  using Control = unsigned int;
  static constexpr Control kFlush = 0x8040;  // of results, and of operands
  static Control control() { return _mm_getcsr(); }
  static void set_control(Control control) { _mm_setcsr(control); }
#elif defined(__aarch64__)
  using Control = uint64_t;
  static constexpr Control kFlush = Control{1} << 24;
  static Control control() {
    Control control;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return control;
  }
  static void set_control(Control control) { asm volatile("msr fpcr, %0" : : "r"(control)); }
#else
  using Control = int;
  static constexpr Control kFlush = 0;
  static Control control() { return 0; }
  static void set_control(Control) {}
#endif

  Control before_ = 0;
  bool changed_ = false;
};

}  // namespace ct
