// A function of a library that is opened at run time: it is called, and what it returns becomes an error of ours.
#pragma once

#include <dlfcn.h>

namespace ct::cuda {

// `Library` makes the error: failure(name, status).
template <class Library, class Status, class... Parameters>
class LibraryCall {
 public:
  LibraryCall(const Library& library, const char* name) : library_(library), name_(name) {}
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

  void operator()(Parameters... arguments) const {
    const Status status = function_(arguments...);
    if (status != Status::kSuccess) throw library_.failure(name_, status);
  }
  Status attempt(Parameters... arguments) const { return function_(arguments...); }
  const char* name() const { return name_; }

 private:
  friend Library;
  // Whether the library, a handle of dlopen, has it.
  bool find(void* handle, const char* symbol) {
    function_ = reinterpret_cast<decltype(function_)>(dlsym(handle, symbol));
    return function_ != nullptr;
  }

  const Library& library_;
  const char* name_;
  Status (*function_)(Parameters...) = nullptr;
};

}  // namespace ct::cuda
