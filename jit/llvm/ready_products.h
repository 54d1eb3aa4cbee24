// Products of matrices that were compiled when the library was built: what is compiled of such a product in this
// process is one call, with a record that says how the product is cut up (jit/machine/product_plan.h). The register
// tiles are those of tiles.h, by which bits are those of a product that brings its own code (gemm.h).
//
// gemm_ready.cc writes the calls.
#pragma once

#include <cstdint>

#include "jit/llvm/packing.h"
#include "jit/llvm/tiles.h"

namespace ct::jit {

// All of int64. Strides are in elements of `size` bytes, times in picoseconds.
struct ReadyProduct {
  int64_t size;
  int64_t m, n, k;  // the most that there are of rows, columns and steps
  int64_t k_block;
  int64_t a_row, a_column, b_row, b_column, c_row;
  int64_t tile_rows;
  ReadyBlock tiles;
  int64_t packs;  // b, as `panels`
  PanelPacking panels;
  int64_t copied_rows;  // of a at a time, or 0: by strips, or with rows `copied_stride` apart
  int64_t by_strips;
  StripPacking strips;
  int64_t copied_stride;
  int64_t by_panels;  // threads share the columns, else the rows
  int64_t clears;     // c, to which blocks of k are added
  // Of a panel to pack, and of a panel or strip to multiply; 0: threads do not share them.
  int64_t time_to_pack, time_to_multiply;
  int64_t time_of_tile;  // 0: the product is too short for questions whether to go on
  int64_t nanoseconds_of_program;
  int64_t packed_bytes, scratch_bytes;  // of all panels; then of a thread's copies
};

inline constexpr const char* kReadyProductSymbol = "ct_ready_product";
// `rows`, `columns`, `steps`: how many there are. `scratch` has packed_bytes + scratch_bytes. `program` is an address
// in the program's code (runtime/pool.h).
void multiply_ready_product(const ReadyProduct* product, const char* a, const char* b, char* c, int64_t rows,
                            int64_t columns, int64_t steps, char* scratch, const void* program);

}  // namespace ct::jit
