// The one exception of this library: what went wrong, in which op, at which of the user's lines, and what to do.
//
// Throw `Error` for anything the user can cause; use CT_CHECK for invariants, which throws an internal error that
// asks for a report. The Python binding maps each ErrorKind to one exception class.
#pragma once

#include <cstdint>
#include <exception>
#include <source_location>
#include <string>
#include <string_view>

#include "runtime/location.h"

namespace ct {

enum class ErrorKind : uint8_t {
  kValue,              // ValueError
  kType,               // TypeError
  kShape,              // ct.errors.ShapeError (a TypeError)
  kDType,              // ct.errors.DTypeError (a TypeError)
  kIndex,              // IndexError
  kConcretization,     // ct.errors.ConcretizationError (a TypeError)
  kTracerLeak,         // ct.errors.TracerLeakError
  kCorruptFile,        // ct.errors.CorruptFileError
  kNotDifferentiable,  // ct.errors.NotDifferentiableError (a TypeError)
  kUnsupported,        // NotImplementedError: known, stated limit
  kMemory,             // MemoryError
  kDevice,             // ct.errors.DeviceError (a RuntimeError): one is not there, or its driver reports a failure
  kFloatingPoint,      // FloatingPointError: a NaN that the user asked to be told of
  kInternal,           // ct.errors.InternalError: a bug of this library
};

class Error : public std::exception {
 public:
  // `site` is the place in this library: tests ask which places have been reached.
  Error(ErrorKind kind, std::string message, std::source_location site = std::source_location::current())
      : kind_(kind), site_(site), message_(std::move(message)) {
    render();
  }

  // Each returns *this so that a throw reads as one expression. The first op and location win: the innermost
  // frame knows best.
  Error& op(std::string_view name) {
    if (op_.empty()) op_ = name;
    render();
    return *this;
  }
  Error& at(LocationId location) {
    if (location_ == kNoLocation) location_ = location;
    render();
    return *this;
  }
  Error& hint(std::string_view text) {
    if (hint_.empty()) hint_ = text;
    render();
    return *this;
  }

  // The section of docs/errors.md that has a program with this error, and its repair.
  Error& see(std::string_view section) {
    if (section_.empty()) section_ = section;
    render();
    return *this;
  }

  ErrorKind kind() const { return kind_; }
  const std::source_location& site() const { return site_; }
  const std::string& message() const { return message_; }
  LocationId location() const { return location_; }
  const char* what() const noexcept override { return rendered_.c_str(); }

 private:
  void render();

  ErrorKind kind_;
  std::source_location site_;
  std::string message_;
  std::string op_;
  std::string hint_;
  std::string section_;
  LocationId location_ = kNoLocation;
  std::string rendered_;
};

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace ct

#define CT_CHECK(condition) ((condition) ? static_cast<void>(0) : ::ct::check_failed(#condition, __FILE__, __LINE__))
