// Arrays that a user gives to a function inside of a mask, followed through what the function does with them.
//
// An exact array beside a ragged axis has the axis' size for one length only. Functions of this package make arrays as
// large as the bound of a ragged axis all the time, and mean them to be of its size; the arrays of the user are of the
// size that they say. So while a function that the user has called runs, it is known which axes are the user's: those
// of the arrays that were there before the call, and of what is made of them element by element. Where such an axis
// meets a ragged one, the call is an error, as it is of an operator.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "python_bindings/python.h"

namespace ct::python {

struct Sized;

// A call by the user of a function of this package, while it lives. Inside of a mask; elsewhere it does nothing, as it
// does where the package calls.
class UserCall {
 public:
  UserCall(PyObject* function, PyObject* const* args, Py_ssize_t count) {
    const Capture* capture = innermost_capture();
    if (capture != nullptr && capture->masks() && called_by_user()) begin(function, args, count);
  }
  ~UserCall() {
    if (active_) end();
  }
  UserCall(const UserCall&) = delete;
  UserCall& operator=(const UserCall&) = delete;

  // Throws where, counted from the last axis, or at one axis of each, a user's axis meets a ragged one.
  void check(absl::Span<const Datum> data, const std::optional<std::vector<int64_t>>& axes) const;

 private:
  friend void note_conversion(PyObject* object, const Datum& datum);
  friend void note_copy(const Tensor& array, const Tensor& copy);
  friend class UserAxes;
  friend std::vector<int> users_axes(const Datum& datum);
  void begin(PyObject* function, PyObject* const* args, Py_ssize_t count);
  void end();
  void note_argument(PyObject* object, int depth);
  uint64_t axes_of(const Datum& datum) const;

  bool active_ = false;
  PyObject* function_ = nullptr;
  std::shared_ptr<Capture> capture_;
  Var first_ = 0;                                 // what the call makes begins here
  std::vector<PyObject*> arguments_;              // arrays of others, and lists: converted later, maybe
  std::vector<std::shared_ptr<Buffer>> buffers_;  // of arguments; kept, so that no other array has their address
  absl::flat_hash_map<std::pair<const Capture*, Var>, uint64_t> derived_;
  std::vector<std::pair<Tensor, uint64_t>> computed_;  // the same of arrays that are known already
  UserCall* outer_ = nullptr;
};

// In the user's call that runs, if one does: see UserCall::check.
void check_sizes(absl::Span<const Datum> data, const std::optional<std::vector<int64_t>>& axes);

// The exact axes that have a size which the user means, of an array that the function that runs works with.
std::vector<int> users_axes(const Datum& datum);

// An object became an array.
void note_conversion(PyObject* object, const Datum& datum);
// An array is in another place, too.
void note_copy(const Tensor& array, const Tensor& copy);

// Around the binding of a primitive: looks at the operands first, throwing where a user's axis meets a ragged one, and
// notes what axes of the results are the user's.
class UserAxes {
 public:
  UserAxes(const Primitive& primitive, absl::Span<const Datum* const> operands, const AttrsPtr& attrs);
  void note(absl::Span<const Datum> results) const;

 private:
  void ask_mask_rule(const Primitive& primitive, absl::Span<const Sized> sides, const AttrsPtr& attrs);
  void keep(const Datum& result, uint64_t axes) const;

  UserCall* call_;
  std::vector<uint64_t> axes_;  // of each result
};

void register_user_calls(py::module_& module);

// The error of an exact axis of `size` elements that meets a ragged one, an array's `axis`.
Error unequal_sizes(int64_t size, int64_t axis, std::string_view function);

}  // namespace ct::python
