// Where a stack of this thread has stopped, while the thread runs on another one.
//
// Threads of a block change at every barrier. On x86-64 that is a dozen instructions: longjmp has calls in it that come
// back on another stack, so that the processor guesses wrong where each of the next functions returns to.
#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <pthread.h>
#include <setjmp.h>
#include <ucontext.h>

#include <vector>
#endif

#if !defined(__x86_64__) && defined(__GLIBC__)
extern "C" void _pthread_cleanup_push(struct _pthread_cleanup_buffer* buffer, void (*routine)(void*), void* argument);
extern "C" void _pthread_cleanup_pop(struct _pthread_cleanup_buffer* buffer, int execute);
#endif

namespace ct {

class Stopped {
 public:
  Stopped() = default;  // of the stack that runs: it stops when it leaves
  // A new stack, at the begin of a function that never returns. The end of the stack is a multiple of 16.
  Stopped(std::byte* stack, size_t bytes, void (*function)()) {
#if defined(__x86_64__)
    auto** top = reinterpret_cast<void**>(stack + bytes);
    *--top = nullptr;  // as if the function had been called
    *--top = nullptr;  // rbp
    *--top = reinterpret_cast<void*>(function);
    at_ = top;
#else
    getcontext(&begin_);
    begin_.uc_stack = {.ss_sp = stack, .ss_flags = 0, .ss_size = bytes};
    begin_.uc_link = nullptr;
    makecontext(&begin_, function, 0);
    is_new_ = true;
#endif
  }

  // Until somebody leaves for this one.
  void leave_for(Stopped& other) {
#if defined(__x86_64__)
    void** here = &at_;
    void* there = other.at_;
    // Below the stack pointer there may be 128 bytes in use.
    asm volatile(
        "leaq -128(%%rsp), %%rsp\n\t"
        "pushq %%rbp\n\t"
        "leaq 1f(%%rip), %%rax\n\t"
        "pushq %%rax\n\t"
        "movq %%rsp, (%0)\n\t"
        "movq %1, %%rsp\n\t"
        "popq %%rax\n\t"
        "popq %%rbp\n\t"
        "jmpq *%%rax\n"
        "1:\n\t"
        "leaq 128(%%rsp), %%rsp"
        : "+D"(here), "+S"(there)
        :
        : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2",
          "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
          "cc", "memory");
#else
    if (_setjmp(here_) != 0) return;
    if (!other.is_new_) _longjmp(other.here_, 1);
    other.is_new_ = false;
    setcontext(&other.begin_);
#endif
  }

 private:
#if defined(__x86_64__)
  void* at_ = nullptr;
#else
  bool is_new_ = false;
  ucontext_t begin_;
  jmp_buf here_;
#endif
};

// What this thread is to do when it ends (python_bindings/gil.cc): glibc's longjmp takes it for that of frames which
// are left, and drops it. It is there again afterwards.
class KeptCleanUps {
#if !defined(__x86_64__) && defined(__GLIBC__)
 public:
  KeptCleanUps() : before_(registered()) {}
  ~KeptCleanUps() {
    if (registered() == before_) return;
    for (auto each = before_.rbegin(); each != before_.rend(); ++each) {
      _pthread_cleanup_push(*each, (*each)->__routine, (*each)->__arg);
    }
  }
  KeptCleanUps(const KeptCleanUps&) = delete;
  KeptCleanUps& operator=(const KeptCleanUps&) = delete;

 private:
  using CleanUps = std::vector<_pthread_cleanup_buffer*>;
  static CleanUps registered() {
    CleanUps found;
    _pthread_cleanup_buffer first;
    _pthread_cleanup_push(&first, [](void*) {}, nullptr);
    for (auto* each = first.__prev; each != nullptr; each = each->__prev) found.push_back(each);
    _pthread_cleanup_pop(&first, 0);
    return found;
  }
  const CleanUps before_;
#endif
};

}  // namespace ct
