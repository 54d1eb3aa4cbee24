// Sizes that the user names, and what is computed from them, without overflow.
//
// Every shape becomes an Aval, and an Aval refuses what cannot be addressed: at most kMostAxes axes, the sizes above
// zero multiply to at most kMostElements, and the array takes at most kMostBytes. So the number of elements, the bytes,
// every stride and every offset of an array fit an int64_t with room to spare, and code that works with them may add
// and multiply plainly. What does not come out of a shape (padding, strides, dilations, lengths of loops, the sum of
// several arrays' bytes) goes through the functions here.
#pragma once

#include <cstdint>
#include <string_view>

namespace ct {

inline constexpr int kMostAxes = 64;  // NumPy's limit
inline constexpr int64_t kMostElements = int64_t{1} << 62;
inline constexpr int64_t kMostBytes = int64_t{1} << 62;
inline constexpr int64_t kMostOffset = int64_t{1} << 61;  // two of them and a size are an int64_t still

// Throw Error(kMemory) naming `what` when the result is no int64_t.
int64_t checked_add(int64_t x, int64_t y, std::string_view what);
int64_t checked_multiply(int64_t x, int64_t y, std::string_view what);

// Whether a number that shifts, pads or spreads elements leaves arithmetic with sizes far from overflow.
inline bool is_addressable(int64_t value) { return value >= -kMostOffset && value <= kMostOffset; }
// Throws Error(kValue) naming `what` when it does not.
void check_addressable(int64_t value, std::string_view what);

// `step` as it is between `count` elements: with one or none there is nothing between, and any step means the same.
inline int64_t step_between(int64_t step, int64_t count) { return count > 1 ? step : 1; }

}  // namespace ct
