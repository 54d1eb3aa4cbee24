// What a step does, for people: `ct.explain` lists it, profiles and tools name times by it.
#pragma once

#include <string>

#include "device/plan.h"

namespace ct {

// Between the names of groups in what kernels and products compute, their `work`.
inline constexpr const char* kBetweenGroups = "; ";

// Of kernels and products, what they compute, by the user's lines.
std::string step_text(const Plan& plan, const Step& step);

}  // namespace ct
