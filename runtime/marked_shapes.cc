#include "runtime/marked_shapes.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace ct {
namespace {

std::vector<std::string> texts_from_end(const MarkedShape& shape) {
  if (shape.sizes.empty()) return {"()"};
  return {shape.sizes.rbegin(), shape.sizes.rend()};
}

// Columns counted from the last one, where the shapes meet.
struct Columns {
  explicit Columns(absl::Span<const MarkedShape> shapes) {
    for (const MarkedShape& shape : shapes) {
      const std::vector<std::string> texts = texts_from_end(shape);
      widths.resize(std::max(widths.size(), texts.size()), 1);
      for (size_t column = 0; column < texts.size(); ++column) {
        widths[column] = std::max(widths[column], texts[column].size());
      }
    }
  }

  // The texts of some columns, right-aligned; trailing space is left out.
  std::string line(const std::vector<std::string>& from_end) const {
    std::string text = "\n    ";
    for (size_t column = widths.size(); column-- > 0;) {
      const std::string_view cell = column < from_end.size() ? std::string_view(from_end[column]) : "";
      if (column + 1 != widths.size()) text += "  ";
      text.append(widths[column] - cell.size(), ' ').append(cell);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  std::vector<size_t> widths;
};

std::vector<std::string> marks(const MarkedShape& shape) {
  std::vector<std::string> from_end(shape.sizes.size());
  const int rank = static_cast<int>(shape.sizes.size());
  for (int axis : shape.marked) from_end.at(static_cast<size_t>(axis < 0 ? -1 - axis : rank - 1 - axis)).assign(1, '^');
  while (!from_end.empty() && from_end.back().empty()) from_end.pop_back();
  return from_end;
}

}  // namespace

MarkedShape marked_shape(absl::Span<const int64_t> sizes, std::vector<int> marked) {
  MarkedShape shape{{}, std::move(marked)};
  for (int64_t size : sizes) shape.sizes.push_back(std::to_string(size));
  return shape;
}

MarkedShape marked_where_unlike(absl::Span<const int64_t> sizes, absl::Span<const int64_t> expected) {
  std::vector<int> unlike;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (axis >= expected.size() || sizes[axis] != expected[axis]) unlike.push_back(static_cast<int>(axis));
  }
  return marked_shape(sizes, std::move(unlike));
}

std::string marked_shapes(absl::Span<const MarkedShape> shapes) {
  const Columns columns(shapes);
  std::string text;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const MarkedShape& shape = shapes[i];
    text += columns.line(texts_from_end(shape));
    const std::vector<std::string> below = marks(shape);
    // Shapes that are marked in the same places share the marks.
    const bool shared = i + 1 < shapes.size() && marks(shapes[i + 1]) == below;
    if (!below.empty() && !shared) text += columns.line(below);
  }
  return text;
}

}  // namespace ct
