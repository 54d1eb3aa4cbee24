// Which names an exported header may use: neither words of C and C++, nor macros, nor what the C library defines.
#pragma once

#include <string>
#include <string_view>

namespace ct::jit {

// Why no exported function can have this name; empty if it can.
std::string problem_of_function_name(std::string_view name);
// A parameter may be called like a function, but not like a keyword, type or macro.
bool can_name_parameter(std::string_view name);

}  // namespace ct::jit
