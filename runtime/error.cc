#include "runtime/error.h"

namespace ct {

void Error::render() {
  rendered_ = op_.empty() ? message_ : op_ + ": " + message_;
  if (const std::string where = location_string(location_); !where.empty()) rendered_ += "\n  at " + where;
  if (!hint_.empty()) rendered_ += "\n  " + hint_;
  if (!section_.empty()) rendered_ += "\n  see docs/errors.md#" + section_;
  // what() ends at the first byte that is 0.
  for (size_t at = rendered_.find('\0'); at != std::string::npos; at = rendered_.find('\0', at)) {
    rendered_.replace(at, 1, "\\x00");
  }
}

void check_failed(const char* condition, const char* file, int line) {
  throw Error(ErrorKind::kInternal,
              std::string("internal check failed: ") + condition + " (" + file + ":" + std::to_string(line) + ")")
      .hint("this is a bug of cotangent; please report it with the program that caused it");
}

}  // namespace ct
