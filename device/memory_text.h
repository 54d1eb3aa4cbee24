// What the message of a program says that found no memory on its device.
#pragma once

#include <string>

#include "device/plan.h"

namespace ct {

// Inputs that the plan reads, results and scratch memory, the largest first.
std::string largest_arrays(const Plan& plan);

}  // namespace ct
