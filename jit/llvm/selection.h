// A flag of a module: its instructions are selected one by one where that can be done, and not by looking for the best
// of each block's (docs/design/014-compile-time.md).
#pragma once

namespace ct::jit {

inline constexpr const char* kQuickSelection = "ct_quick_selection";

}  // namespace ct::jit
