// Elements as bits: for code that moves elements without computing with them, whatever their dtype.
#pragma once

#include <array>
#include <cstdint>

namespace ct {

// Calls the visitor with a zero of the unsigned type of `bytes` bytes, an element's size.
template <class Visitor>
void dispatch_size(int bytes, Visitor&& visitor) {
  switch (bytes) {
    case 1:
      return visitor(uint8_t{});
    case 2:
      return visitor(uint16_t{});
    case 4:
      return visitor(uint32_t{});
    case 8:
      return visitor(uint64_t{});
    default:
      return visitor(std::array<uint64_t, 2>{});
  }
}

}  // namespace ct
