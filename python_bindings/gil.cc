#include "python_bindings/gil.h"

#include <pthread.h>
#include <unistd.h>

namespace ct::python {
namespace {

bool interpreter_ended() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() == 0 || Py_IsFinalizing() != 0;
#else
  return Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0;
#endif
}

}  // namespace

void stop_strangers_at_the_end() {
  if (!interpreter_ended() || gettid() == getpid() || PyGILState_GetThisThreadState() != nullptr) return;
  while (interpreter_ended()) pause();
}

}  // namespace ct::python

#if defined(__GLIBC__) && PY_VERSION_HEX < 0x030E0000
// glibc's clean-up functions as they were before there were exceptions. They run when unwinding reaches the address of
// their buffer; one that is not on the stack counts as reached at once, before any frame is unwound.
extern "C" void _pthread_cleanup_push(struct _pthread_cleanup_buffer* buffer, void (*routine)(void*), void* argument);
extern "C" void _pthread_cleanup_pop(struct _pthread_cleanup_buffer* buffer, int execute);

namespace ct::python {
namespace {

void stop_if_ended(void*) {
  while (interpreter_ended()) pause();
}

class Stop {
 public:
  Stop() : buffer_(new _pthread_cleanup_buffer) { _pthread_cleanup_push(buffer_, stop_if_ended, nullptr); }
  ~Stop() {
    _pthread_cleanup_pop(buffer_, 0);
    delete buffer_;
  }
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;
  void stay() const {}

 private:
  _pthread_cleanup_buffer* buffer_;  // not on the stack
};

}  // namespace

void stop_at_the_end() {
  thread_local const Stop stop;
  stop.stay();
}

}  // namespace ct::python

#else

// Other systems' threads end without unwinding C++, and later Pythons do not end them.
void ct::python::stop_at_the_end() {}

#endif
