// What an error says, for tests that compare all of it. Where it was made is noted in the folder that CT_ERROR_SITES
// names, if the environment has that: tests/errors/raises.py counts those places.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/error.h"

namespace ct {

inline void note_site(const std::string& file, int line, const std::string& message) {
  const char* folder = std::getenv("CT_ERROR_SITES");
  if (folder == nullptr) return;
  std::ofstream(std::string(folder) + "/" + std::to_string(getpid()) + ".jsonl", std::ios::app)
      << nlohmann::json{file, line, message} << "\n";
}
inline void note_site(const Error& error) {
  note_site(error.site().file_name(), static_cast<int>(error.site().line()), error.what());
}

inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    note_site(error);
    return error.what();
  }
  return "";
}

}  // namespace ct
