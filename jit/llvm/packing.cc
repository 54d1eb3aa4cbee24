#include "jit/llvm/packing.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "jit/llvm/tiles.h"

namespace ct::jit {

namespace {

// `count` lines of elements that lie side by side; distances are in bytes.
using CopyLines = void (*)(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t count);

template <size_t bytes>
void copy_lines(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, bytes);
}

// By the bytes of a line: multiples of a word, then those of vectors.
constexpr size_t kWord = 4, kVector = 64, kMostWords = 48, kMostVectors = 8;
template <size_t step, size_t... i>
constexpr std::array<CopyLines, sizeof...(i)> copies_of(std::index_sequence<i...>) {
  return {&copy_lines<step*(i + 1)>...};
}
constexpr auto kCopiesOfWords = copies_of<kWord>(std::make_index_sequence<kMostWords>());
constexpr auto kCopiesOfVectors = copies_of<kVector>(std::make_index_sequence<kMostVectors>());

void copy(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t count, int64_t bytes) {
  const auto line = static_cast<size_t>(bytes);
  if (line <= kWord * kMostWords) return kCopiesOfWords[line / kWord - 1](from, from_step, to, to_step, count);
  if (line % kVector == 0 && line <= kVector * kMostVectors) {
    return kCopiesOfVectors[line / kVector - 1](from, from_step, to, to_step, count);
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, line);
}

// Rows of any strides.
template <class Element>
void copy_elements(const PanelPacking& p, const char* from, char* to, int64_t rows, int64_t columns) {
  const auto* source = reinterpret_cast<const Element*>(from);
  auto* target = reinterpret_cast<Element*>(to);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) target[r * p.width + c] = source[r * p.row + c * p.column];
  }
}

void copy_rows(const PanelPacking& p, const char* from, char* to, int64_t rows, int64_t columns) {
  if (p.column == 1) return copy(from, p.row * p.size, to, p.width * p.size, rows, columns * p.size);
  if (p.size == sizeof(uint32_t)) return copy_elements<uint32_t>(p, from, to, rows, columns);
  copy_elements<uint64_t>(p, from, to, rows, columns);
}

// lanes x lanes elements, contiguous down the columns of the source, to rows of the destination. Strides are in
// elements.
using Transpose = void (*)(const char* from, int64_t from_stride, char* to, int64_t to_stride);

void pack_columns(const PanelPacking& p, const char* from, char* to, int64_t rows) {
  const char* function = ready_function(ready_table(static_cast<int>(p.level)), p.transpose);
  const auto transpose = reinterpret_cast<Transpose>(reinterpret_cast<uintptr_t>(function));
  const int64_t whole = rows / p.lanes * p.lanes;
  for (int64_t k = 0; k < whole; k += p.lanes) {
    for (int64_t j = 0; j < p.width; j += p.lanes) {
      transpose(from + (k + j * p.column) * p.size, p.column, to + (k * p.width + j) * p.size, p.width);
    }
  }
  copy_rows(p, from + whole * p.size, to + whole * p.width * p.size, rows - whole, p.width);
}

}  // namespace

void pack_panels(const PanelPacking* packing, const char* b, char* packed, int64_t k_count, int64_t begin,
                 int64_t end) {
  const PanelPacking& p = *packing;
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t first = panel * p.width;
    const char* from = b + first * p.column * p.size;
    char* to = packed + (panel - begin) * p.width * p.k_block * p.size;
    if (first >= p.full_columns) {
      std::memset(to, 0, static_cast<size_t>(k_count * p.width * p.size));
      copy_rows(p, from, to, k_count, p.columns - p.full_columns);
    } else if (p.column != 1 && p.row == 1) {
      pack_columns(p, from, to, k_count);
    } else {
      copy_rows(p, from, to, k_count, p.width);
    }
  }
}

void pack_strips(const StripPacking* packing, const char* a, char* strips, int64_t k_count, int64_t first,
                 int64_t last) {
  const StripPacking& p = *packing;
  // Rows of the matrix of which a is the transpose: so many are read from their beginnings to their ends at once.
  constexpr int64_t kColumns = 8;
  for (int64_t k = 0; k < k_count; k += kColumns) {
    const int64_t count = std::min(kColumns, k_count - k);
    for (int64_t row = first; row < last;) {
      // The rest of the rows is the last strip.
      const int64_t rows = row < p.full_rows ? p.rows : last - row;
      copy(a + (row + k * p.column) * p.size, p.column * p.size, strips + (row * p.k_block + k * p.rows) * p.size,
           p.rows * p.size, count, rows * p.size);
      row += rows;
    }
  }
}

}  // namespace ct::jit
