#include "runtime/status.h"

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "runtime/text.h"

namespace ct {
namespace {

constexpr const char* kSite = "cotangent/site";

absl::StatusCode code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUnsupported:
      return absl::StatusCode::kUnimplemented;
    case ErrorKind::kMemory:
      return absl::StatusCode::kResourceExhausted;
    case ErrorKind::kDevice:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status status_of(const Error& error) {
  absl::Status status(code_of(error.kind()), error.what());
  status.SetPayload(kSite, absl::Cord(concat(error.site().file_name(), ":", error.site().line())));
  return status;
}

ErrorKind kind_of(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnimplemented:
      return ErrorKind::kUnsupported;
    case absl::StatusCode::kResourceExhausted:
      return ErrorKind::kMemory;
    case absl::StatusCode::kUnavailable:
      return ErrorKind::kDevice;
    default:
      return ErrorKind::kValue;
  }
}

std::optional<std::pair<std::string, int>> site_of(const absl::Status& status) {
  const auto payload = status.GetPayload(kSite);
  if (!payload) return std::nullopt;
  const std::string text(*payload);
  const size_t colon = text.rfind(':');
  int line = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &line)) return std::nullopt;
  return std::pair(text.substr(0, colon), line);
}

}  // namespace ct
