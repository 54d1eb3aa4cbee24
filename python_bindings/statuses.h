// What a status of the compiler is for Python.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace ct::python {

// What could not be done, as the kind of error that it was.
[[noreturn]] void throw_status(const absl::Status& status, const std::string& what);

}  // namespace ct::python
