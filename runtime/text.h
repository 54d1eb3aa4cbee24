// Building message strings: concat("axis ", 3, " of ", shape) and join(items, ", ").
#pragma once

#include <sstream>
#include <string>

namespace ct {

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

template <class Range>
std::string join(const Range& items, const char* separator) {
  std::ostringstream stream;
  const char* before = "";
  for (const auto& item : items) {
    stream << before << item;
    before = separator;
  }
  return stream.str();
}

}  // namespace ct
