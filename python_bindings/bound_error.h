// Errors of what a primitive is bound to: the one kind that a public function, which the user has called and which
// binds the primitive for its own work, says in its own name (`name_called_function` in python.h).
#pragma once

#include <string>
#include <utility>

#include "ir/primitive.h"
#include "runtime/error.h"

namespace ct::python {

class BoundError : public Error {
 public:
  BoundError(const Error& error, const Primitive& primitive) : Error(error), primitive_(primitive.name) {}
  const std::string& primitive() const { return primitive_; }

 private:
  std::string primitive_;
};

// What `body` returns, which binds the primitive.
template <class Body>
auto bound(const Primitive& primitive, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    throw BoundError(error, primitive);
  }
}

}  // namespace ct::python
