// How long a program runs before it asks whether to go on (jit/llvm/polls.h, jit/c/emission.h): nanoseconds of
// estimated time.
#pragma once

namespace ct::jit {

inline constexpr double kLongProgram = 2e6;  // shorter ones do not ask
inline constexpr double kBetweenQuestions = 5e5;
inline constexpr double kShortIteration = 2e4;  // loops of such ask between runs of them

}  // namespace ct::jit
