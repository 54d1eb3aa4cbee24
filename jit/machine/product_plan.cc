#include "jit/machine/product_plan.h"

#include <algorithm>
#include <utility>

namespace ct::jit {

namespace {

// With fewer strips of rows than this, b is read again and again from where it is.
constexpr int64_t kFewUnits = 8;
// Up to so many rows, packing b costs more than it saves.
constexpr int64_t kFewRows = 192;

unsigned most_lanes(const TargetFacts& facts, int64_t size) {
  return static_cast<unsigned>(facts.vector_bits / 8 / size);
}

bool prefers_dot_tiles(const TargetFacts& facts, const ProductShape& p, int64_t size, const DotTiling& tiling) {
  constexpr double kPacked = 1.5;  // cycles to pack an element of b
  const auto lanes = static_cast<int64_t>(most_lanes(facts, size));
  if (lanes < 4 || p.k < 4 * lanes || (p.k % lanes != 0 && !facts.has_masks())) return false;
  const auto k = static_cast<double>(p.k);
  return tiling.cycles < k * (static_cast<double>(p.m * divide_up(p.n, lanes)) + kPacked * static_cast<double>(p.n));
}

}  // namespace

ProductShape ProductShape::flipped() const {
  const auto turned = [](const ProductStrides& strides) { return ProductStrides{strides.column, strides.row}; };
  ProductShape result = *this;
  std::swap(result.m, result.n);
  std::swap(result.all_rows, result.all_columns);
  result.a = turned(b);
  result.b = turned(a);
  result.c = turned(c);
  return result;
}

ProductPlan plan_product(const TargetFacts& facts, const ProductShape& p, int64_t size) {
  constexpr bool kAsItIs = false, kFlipped = true;
  if (p.n == 1) {
    if (p.m == 1 || p.a.column == 1 || p.k == 1) return {ProductForm::kDots, kAsItIs};
    return p.c.row == 1 ? ProductPlan{ProductForm::kTiles, kFlipped} : ProductPlan{ProductForm::kDots, kAsItIs};
  }
  // One row is one column of the transposed product.
  if (p.m == 1) {
    if (p.b.row == 1 && p.b.column != 1) return {ProductForm::kDots, kFlipped};
    if (p.c.column == 1) return {ProductForm::kTiles, kAsItIs};
    return {ProductForm::kDots, kFlipped};
  }
  if (p.a.column == 1 && p.b.row == 1) {
    const DotTiling tiling = choose_dot_tiling(facts, p, size);
    if ((p.all_steps || facts.has_masks()) && prefers_dot_tiles(facts, p, size, tiling)) {
      return {ProductForm::kDotTiles, kAsItIs};
    }
  }
  return {ProductForm::kTiles, p.c.column != 1};
}

ComplexPlan plan_complex_product(const ProductShape& shape) {
  // Up to so many rows, a copy of a by rows is small, and threads may have to share the columns.
  constexpr int64_t kFewRowsOfPairs = 192;
  const bool flips = shape.c.column != 2 && shape.c.row == 2;
  ProductShape parts = flips ? shape.flipped() : shape;
  parts.n *= 2;
  parts.k *= 2;
  parts.all_rows = parts.all_columns = parts.all_steps = true;
  parts.complex = true;
  if (parts.a.column == 2) {
    parts.a.column = 1;
  } else {
    parts.pairs = parts.m > kFewRowsOfPairs;
    if (!parts.pairs) parts.a = {parts.k, 1};
  }
  parts.c = parts.c.column == 2 ? ProductStrides{parts.c.row, 1} : ProductStrides{parts.n, 1};
  return {flips, parts};
}

unsigned lanes_of_dots(const TargetFacts& facts, const ProductShape& p, int64_t size) {
  unsigned lanes = most_lanes(facts, size);
  while (lanes / 2 >= p.k && lanes * size > 16) lanes /= 2;
  return lanes;
}

ProductTiling choose_tiling(const TargetFacts& facts, const ProductShape& p, int64_t size) {
  ProductTiling best{};
  unsigned lanes = most_lanes(facts, size);
  while (lanes / 2 >= p.n && lanes * size > 16) lanes /= 2;
  int64_t all_vectors = divide_up(p.n, lanes);
  // Whether b is read from the second level of cache, where a vector of it costs more than an element of a, which is in
  // the first level: narrow tiles of many rows then.
  const bool streamed = p.b.column != 1 || (p.k * p.n * size > facts.l1_bytes && p.m > kFewUnits);
  const double of_a = streamed ? 0.1 : 0.2, of_b = streamed ? 0.4 : 0.2, of_rest = streamed ? 0.05 : 0.03;
  // Cycles per step of k: two multiply-adds and two loads a cycle, and a latency that only independent accumulators
  // hide.
  auto cycles = [&](int64_t rows, int64_t vectors) {
    const auto r = static_cast<double>(rows), v = static_cast<double>(vectors);
    return rows * vectors == 0 ? 0 : std::max({r * v / 2, (r + v) / 2, 4.0}) + r * of_a + v * of_b;
  };
  // Into whole pieces and a rest; of as many as the program says, on average, whole pieces only.
  const auto divided = [](int64_t all, int64_t piece, bool all_there) -> std::pair<double, int64_t> {
    if (all_there) return {all / piece, all % piece};
    return {static_cast<double>(all + piece) / static_cast<double>(2 * piece), 0};
  };
  double least = 0;
  for (int64_t vectors : {1, 2, 3, 4, 6, 8}) {
    if (vectors > all_vectors) break;
    int64_t most_rows = std::min<int64_t>((facts.vector_registers - vectors - 1) / vectors, 24);
    for (int64_t rows = 1; rows <= std::min(most_rows, p.m); ++rows) {
      const auto [strips, strip_rest] = divided(p.m, rows, p.all_rows);
      const auto [panels, panel_rest] = divided(all_vectors, vectors, p.all_columns);
      auto column = [&, strips = strips, strip_rest = strip_rest](int64_t v) {
        return strips * cycles(rows, v) + cycles(strip_rest, v);
      };
      double total = panels * column(vectors) + column(panel_rest);
      // Each kind of tile is code of its own: to compile, and to keep in the instruction cache.
      total *= 1 + of_rest * ((p.m % rows != 0) + (all_vectors % vectors != 0 || p.n % lanes != 0));
      if (best.lanes == 0 || total < least) {
        least = total;
        best = {lanes, vectors, rows, 0, false, false, 0};
      }
    }
  }
  // A panel of b takes a sixteenth of the second-level cache, from where the loop over k reads it as fast as it
  // computes: that it does not fit the first level costs less than taking more steps over c would.
  int64_t most_k = std::max<int64_t>(facts.l2_bytes / 16 / (best.width() * size), 64);
  int64_t blocks = divide_up(p.k, most_k);
  best.k_block = divide_up(p.k, blocks);
  if (p.complex) best.k_block = divide_up(best.k_block, 2) * 2;
  bool edge_needs_padding = !facts.has_masks() && p.n % lanes != 0;
  // What few rows read again and again, the second-level cache holds as it is, unless many of b's rows would have the
  // same place there.
  const int64_t row_bytes = std::max<int64_t>(p.b.row * size, 1);
  const bool stays = p.m <= kFewRows && p.k <= facts.l2_bytes / (row_bytes & -row_bytes);
  const bool large = p.k * p.n * size > facts.l1_bytes && p.m > 4 * best.rows;
  best.pack = p.complex || p.b.column != 1 || edge_needs_padding || (large && !stays);
  if (!best.pack) {
    // Without packing, blocks of k buy nothing while a panel stays in the cache: rows of b are where they are.
    if (p.k * best.width() * size <= facts.l2_bytes / 4 || p.m <= best.rows) best.k_block = p.k;
  }
  // Copying costs a's elements once, and saves misses once for every panel. But threads then share the rows, and with
  // them the packed panels, which go from core to core.
  const int64_t panels = panels_of(p, best), in_cache = facts.l2_bytes;
  const int64_t least_copied = in_strips(p) ? in_cache / 2 : 4 * in_cache;
  best.copy_a = p.pairs || (p.m * p.k * size >= least_copied && panels >= 4);
  best.a_rows = std::max<int64_t>(facts.l2_bytes / 2 / (best.k_block * size) / best.rows, 1) * best.rows;
  return best;
}

int64_t panels_of(const ProductShape& p, const ProductTiling& t) { return divide_up(p.n, t.width()); }

bool in_strips(const ProductShape& p) { return p.pairs || (p.a.row == 1 && p.a.column != 1); }

DotTiling choose_dot_tiling(const TargetFacts& facts, const ProductShape& p, int64_t size) {
  DotTiling best{};
  // A multiply-add and a load a cycle; adding up a tile's lanes.
  auto cycles = [](int64_t rows, int64_t columns) {
    return rows * columns == 0 ? 0 : static_cast<double>(std::max<int64_t>({rows * columns, rows + columns, 4}));
  };
  for (int64_t rows = 1; rows <= std::min<int64_t>(p.m, 8); ++rows) {
    for (int64_t columns = 1; columns <= std::min<int64_t>(p.n, 8); ++columns) {
      if (rows * columns + std::min(rows, columns) + 1 > facts.vector_registers) continue;
      const int64_t rest_rows = p.m % rows, rest_columns = p.n % columns;
      const auto down = static_cast<double>(p.m / rows), across = static_cast<double>(p.n / columns);
      double total = down * across * cycles(rows, columns) + down * cycles(rows, rest_columns) +
                     across * cycles(rest_rows, columns) + cycles(rest_rows, rest_columns);
      // Each kind of tile is code of its own, and what is loaded comes from the second level of cache.
      total *= 1 + 0.02 * ((rest_rows != 0) + (rest_columns != 0)) +
               0.2 * (1.0 / static_cast<double>(rows) + 1.0 / static_cast<double>(columns));
      if (best.rows == 0 || total < best.cycles) best = {rows, columns, 0, total};
    }
  }
  const int64_t lanes = most_lanes(facts, size);
  // What both take together is read again and again.
  const int64_t most_k = std::max<int64_t>(facts.l2_bytes / 2 / ((p.m + p.n) * size), 512);
  best.k_block = p.k <= most_k ? p.k : divide_up(divide_up(p.k, divide_up(p.k, most_k)), lanes) * lanes;
  const auto blocks = static_cast<double>(divide_up(p.k, best.k_block));
  best.cycles = best.cycles * static_cast<double>(divide_up(p.k, lanes)) +
                3 * static_cast<double>(p.m) * static_cast<double>(p.n) * blocks;
  return best;
}

}  // namespace ct::jit
