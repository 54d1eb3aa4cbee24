// Matrix products, specialised to their shape, strides and target.
//
// c (m x n) is computed in register tiles of `rows` x `vectors` vectors: per step of k, one load of each vector of b's
// row, one broadcast of each of a's elements, rows * vectors fused multiply-adds. Tiles go along m in the inner loop,
// so that a panel of b (all of a block of k, `vectors` vectors wide) stays in the first-level cache; k is cut into
// blocks so that it fits. b is packed into such panels when it is large or not contiguous along n. Tiles at the right
// edge use masked accesses, or, where the target has none, zero-padded panels and a small buffer for c. Blocks of a
// large a are copied to where its rows lie close together, as rows a power of two apart would evict each other, or, of
// an a contiguous along m, to where the elements that a tile reads one after the other are. Products
// with a vector whose matrix is contiguous along k are dot products instead, and so are products of few rows and
// columns that are both contiguous along k: vectors then lie along k, and nothing needs to be packed.
//
// Threads share the rows of large products, or the columns, where there are few rows or where it is b that would have
// to go from one core's cache to another's. k is cut the same way for any number of threads, so each element of c is
// the same sum.
//
// A product of complex matrices is one of real matrices, parts side by side: a as it lies (m x 2k), times a packed b
// (2k x 2n) where each row is followed by i times itself, is c as it is to lie.
//
// Start at emit(); gemm_tiles.cc has the tiles, gemm_ready.cc the calls of ready-made products, gemm_dots.cc the dot
// products, gemm_complex.cc what complex numbers are packed by, gemm_bfloat16.cc the calls for bfloat16.
#pragma once

#include <optional>
#include <vector>

#include "jit/llvm/matrix_code.h"
#include "jit/llvm/tiles.h"
#include "jit/machine/product_plan.h"

namespace ct::jit {

class GemmEmitter : MatrixCode {
 public:
  GemmEmitter(CpuEmission& e, const loop::Gemm& gemm);
  void emit();

  // For make_tiles (tiles.h): all kinds of this dtype that the target has use for, and a function for one.
  std::vector<TileKind> ready_kinds() const;
  llvm::Function* emit_ready_tile(const TileKind& kind);
  std::vector<unsigned> transposed_lanes() const;
  // lanes x lanes elements, contiguous down the columns of the source, to rows of the destination.
  llvm::Function* transpose_function(unsigned lanes);

 private:
  struct Problem {
    int64_t m, n, k;
    View a, b, c;
    bool accumulate;
    llvm::Value *rows, *columns, *steps;  // how many of the m, n, k count (loop::Gemm)
    // Of complex numbers: n and k count parts, c's columns are parts. So are a's, unless `pairs`. An element of b, or
    // of such an a, is at an even (row, column), or rather twice that, and its imaginary part follows.
    bool complex = false, pairs = false;
  };
  using Tiling = ProductTiling;

  static ProductShape shape_of(const Problem& problem);
  static Problem flipped(const Problem& problem);
  void multiply(const Problem& problem);
  void multiply_complex(Problem problem);
  // Of bfloat16, by functions of this process.
  bool takes_bfloat16(const Problem& problem) const;
  void multiply_bfloat16(Problem problem);
  void multiply_tiled(const Problem& problem);
  void multiply_dots(const Problem& problem);  // n == 1, a contiguous along k
  void multiply_dot_tiles(const Problem& problem);
  void dot_tile(int64_t rows, int64_t columns, llvm::Value* k_count, const View& a, const View& b, const View& c,
                bool accumulate);
  // Element i of the result is the sum of vector i; there are no more of them than lanes.
  llvm::Value* sums_of_lanes(llvm::ArrayRef<llvm::Value*> vectors);
  int64_t a_stride(const Tiling& tiling) const;
  // One block of k; `b` is packed or not.
  struct Block {
    llvm::Value* k_count;
    View a, b;
    llvm::Value* packed;  // panel by panel, from b's first; null when b is not packed
    llvm::Value* strips;  // of a, from its first; null when a is read by its strides
    bool accumulate;
  };
  void multiply_by_rows(const Problem& problem, const Tiling& tiling, bool accumulate);
  void multiply_by_panels(const Problem& problem, const Tiling& tiling, bool accumulate);
  // Rows [first, last) of c times panels [begin, end).
  void multiply_block(const Problem& problem, const Tiling& tiling, const Block& block, llvm::Value* first,
                      llvm::Value* last, llvm::Value* begin, llvm::Value* end);
  void for_blocks(const Problem& problem, const Tiling& tiling, llvm::function_ref<void(const Block&)> body);
  // Rows [first, last) of a block's a, as they lie in the copy.
  View copy_rows(const Tiling& tiling, const Block& block, llvm::Value* first, llvm::Value* last, llvm::Value* to);
  // And strip by strip, each t.rows x k_block, as if the first of them were the matrix's.
  llvm::Value* pack_strips(const Problem& problem, const Tiling& tiling, const Block& block, llvm::Value* first,
                           llvm::Value* last, llvm::Value* to);
  // Panels [begin, end) of the block's b, zero-padded to whole tiles; the first of them at `packed`.
  void pack_panels(const Problem& problem, const Tiling& tiling, const Block& block, llvm::Value* begin,
                   llvm::Value* end, llvm::Value* packed);
  llvm::Value* pack_complex_strips(const Problem& problem, const Tiling& tiling, const Block& block, llvm::Value* first,
                                   llvm::Value* last, llvm::Value* to);
  void pack_complex_panels(const Problem& problem, const Tiling& tiling, const Block& block, llvm::Value* begin,
                           llvm::Value* end, llvm::Value* packed);
  // One tile: `columns` elements of c, fewer than the tile's width at the right edge.
  void tile(const Tiling& tiling, int64_t rows, int64_t columns, llvm::Value* k_count, const View& a, const View& b,
            const View& c, bool accumulate, llvm::Value* edge_buffer);
  // Its parts, for sizes that may be known or not, which are in bytes. `mask` is for the last vector; null: it is
  // whole.
  struct TileShape {
    unsigned lanes;
    int64_t rows, vectors;
  };
  struct Stride {
    llvm::Value* bytes;
    llvm::SmallVector<llvm::Value*, 24> times;  // what is computed before a loop, where it is not known
  };
  Stride stride(llvm::Value* bytes, int64_t most_times);
  llvm::Value* moved(llvm::Value* pointer, const Stride& stride, int64_t times);
  LlvmValues tile_sums(const TileShape& shape, llvm::Value* k_count, int64_t unroll, llvm::Value* a,
                       const Stride& a_row, const Stride& a_column, llvm::Value* b, const Stride& b_row,
                       llvm::Value* mask);
  void prefetch_tile(const TileShape& shape, llvm::Value* c, const Stride& c_row);
  void store_tile(const TileShape& shape, const LlvmValues& sums, llvm::Value* c, const Stride& c_row,
                  llvm::Value* mask, bool accumulate);
  // Whether threads share the columns of the result, and not its rows.
  bool share_panels(const Problem& problem, const Tiling& tiling) const;
  // By ready-made tiles, if there are those that it takes: the block; and the whole product, unless that is a block.
  std::optional<ReadyBlock> ready_block(const Problem& problem, const Tiling& tiling, const ProductStrides& a,
                                        bool strips, bool accumulate) const;
  bool call_ready_product(const Problem& problem, const Tiling& tiling);
  bool call_ready_block(const Problem& problem, const Tiling& tiling, const Block& block, llvm::Value* first,
                        llvm::Value* last, llvm::Value* begin, llvm::Value* end);
  llvm::FunctionType* ready_tile_type();
  // Moving an element, as multiply-adds in registers.
  static constexpr int64_t kPackCost = 16;
  // Whether it has questions whether the program is to go on, and such a question.
  bool is_long() const;
  void poll(int64_t multiply_adds);
  const loop::Gemm& gemm_;
  int ready_level_;  // tiles.h
};

}  // namespace ct::jit
