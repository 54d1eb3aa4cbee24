// Shapes one below the other for messages, from their last axes on, with a mark below each axis that does not fit:
//
//     3  2
//        3
//        ^
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace ct {

struct MarkedShape {
  std::vector<std::string> sizes;
  std::vector<int> marked;  // axes
};

MarkedShape marked_shape(absl::Span<const int64_t> sizes, std::vector<int> marked);
// Marked where they are not equal, counted from the first axis.
MarkedShape marked_where_unlike(absl::Span<const int64_t> sizes, absl::Span<const int64_t> expected);

// Lines that each begin with a line break, to end a message's first line.
std::string marked_shapes(absl::Span<const MarkedShape> shapes);

}  // namespace ct
