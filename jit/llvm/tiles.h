// Functions of matrix products that were compiled when the library was built, by make_tiles.cc: programs that are
// compiled in this process call them instead of bringing their own, which were most of what they compiled. They are
// register tiles, and transposes of blocks for packing.
//
// There is one object of them for each level of x86 ("x86-64-v2" to "x86-64-v4"), which is linked into the library, and
// has a table of where each is. What is compiled says which tiles it wants, and has this library go through the blocks
// of its products. So code on disk belongs to the build that compiled it, which its key names.
//
// gemm_tiles.cc emits them, by what emits the tiles of exported libraries too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/dtype.h"

namespace llvm {
class Module;
}

namespace ct::jit {

struct TileKind {
  DType dtype;        // float32 or float64
  unsigned lanes;     // of a vector: 16, 32 or 64 bytes
  int64_t rows;       // at most kMostTileRows
  int64_t vectors;    // at most kMostTileVectors
  bool a_by_columns;  // a's rows lie next to each other, else its columns do
  bool masked;        // the last vector is not whole
};
inline constexpr int64_t kMostTileRows = 24, kMostTileVectors = 8;
inline constexpr int64_t kTileKinds = 2 * 3 * 2 * 2 * kMostTileRows * kMostTileVectors;
inline constexpr int64_t kReadyFunctions = kTileKinds + 6;

// Of smaller products a call would be a large part.
inline bool ready_tiles_pay(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kLeastSteps = 8, kLeastMultiplyAdds = 2048;
  return k >= kLeastSteps && m * n * k >= kLeastMultiplyAdds;
}

int64_t tile_number(const TileKind& kind);
// Of a block of lanes x lanes elements, 2, 4 or 8; and how many those for vectors of so many lanes have.
int64_t transpose_number(DType dtype, unsigned lanes);
inline unsigned lanes_of_transposes(unsigned lanes) { return lanes < 8 ? lanes : 8; }

// The last parameter of a tile: this many int64.
enum TileParameter : unsigned {
  kTileAStride,   // bytes from a row of a to the next, or from a column
  kTileAAdvance,  // bytes from the first row of a strip to that of the next
  kTileBStride,   // bytes from a row of b to the next
  kTileCStride,   // bytes from a row of c to the next
  kTileActive,    // lanes of the last vector
  kTileFlags,
  kTileParameters
};
enum TileFlag : int64_t { kTileAccumulate = 1, kTilePrefetch = 2 };

// A block of a product: which tiles, and where they go. Rows and panels are those of the whole product, pointers where
// its first are. Distances are in bytes.
struct ReadyBlock {
  int64_t level;
  int64_t full_rows;    // those of whole strips
  int64_t full_panels;  // those as wide as a tile
  int64_t a_row, b_panel, c_row, c_panel;
  struct Part {
    int64_t tile;
    int64_t parameters[kTileParameters];
  };
  Part parts[4];  // whole tiles, those of the last rows, of the last columns, of both
};
inline constexpr const char* kReadyBlockSymbol = "ct_ready_block";
// Rows [first, last), where first is that of a strip, of panels [begin, end); k_count steps.
void multiply_ready_block(const ReadyBlock* block, const char* a, const char* b, char* c, int64_t k_count,
                          int64_t first, int64_t last, int64_t begin, int64_t end);

// A flag of a module: the level whose functions its processor can call, or 0.
inline constexpr const char* kReadyLevel = "ct_ready_level";
int ready_level(const llvm::Module& module);

std::string ready_symbol(int level, int64_t number);
bool is_ready(int level, int64_t number);
// What symbols in code stand for. Null: there is no such function.
const void* find_ready(std::string_view symbol);

// The object for a level, with the table as `ct_ready_vLEVEL`: of each function where it is, in bytes from the table,
// or 0.
absl::StatusOr<std::string> make_ready(int level);

// That table as it is linked; null where there is none. In ready_tiles.cc, which make_tiles.cc has to do without.
const int32_t* ready_table(int level);
// A function in it, by its number.
inline const char* ready_function(const int32_t* table, int64_t number) {
  return reinterpret_cast<const char*>(table) + table[number];
}

}  // namespace ct::jit
