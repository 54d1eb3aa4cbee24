// Errors as statuses: functions of the compiler that callers may want to go on after return an absl::Status.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "runtime/error.h"

namespace ct {

// What an error says. Its place in this library goes along, for tests that ask which places have been reached.
absl::Status status_of(const Error& error);

// What kind of error a status is: the way back, in which kinds that a status does not tell apart are kValue.
ErrorKind kind_of(const absl::Status& status);

// That place: a file and a line. Of statuses that were no error, nothing.
std::optional<std::pair<std::string, int>> site_of(const absl::Status& status);

}  // namespace ct
