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
// Start at emit(); gemm_tiles.cc has the tiles, gemm_dots.cc the dot products, gemm_complex.cc what complex numbers are
// packed by.
#pragma once

#include <vector>

#include "jit/llvm/emit.h"
#include "jit/llvm/tiles.h"

namespace ct::jit {

inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

class GemmEmitter {
 public:
  GemmEmitter(Emitter& emitter, const loop::Gemm& gemm);
  void emit();

  // For make_tiles (tiles.h): all kinds of this dtype that the target has use for, and a function for one.
  std::vector<TileKind> ready_kinds() const;
  llvm::Function* emit_ready_tile(const TileKind& kind);
  std::vector<unsigned> transposed_lanes() const;
  // lanes x lanes elements, contiguous down the columns of the source, to rows of the destination.
  llvm::Function* transpose_function(unsigned lanes);

 private:
  // An operand while emitting: element (r, c) is at pointer + r * row_stride + c * column_stride elements.
  struct View {
    llvm::Value* pointer;
    int64_t row_stride;
    int64_t column_stride;
    DType dtype;
  };
  struct Problem {
    int64_t m, n, k;
    View a, b, c;
    bool accumulate;
    // Of complex numbers: n and k count parts, c's columns are parts. So are a's, unless `pairs`. An element of b, or
    // of such an a, is at an even (row, column), or rather twice that, and its imaginary part follows.
    bool complex = false, pairs = false;
  };
  // How a problem is cut up.
  struct Tiling {
    unsigned lanes;   // elements of a vector
    int64_t vectors;  // across a tile
    int64_t rows;     // down a tile
    int64_t k_block;
    bool pack;
    bool copy_a;  // `a_rows` rows of a at a time
    int64_t a_rows;
    int64_t width() const { return static_cast<int64_t>(lanes) * vectors; }
  };

  View view(const loop::Matrix& matrix);
  static View transposed(const View& v) { return {v.pointer, v.column_stride, v.row_stride, v.dtype}; }
  void multiply(const Problem& problem);
  void multiply_complex(Problem problem);
  void multiply_tiled(const Problem& problem);
  void multiply_dots(const Problem& problem);  // n == 1, a contiguous along k
  // Dot products of `rows` rows of a with `columns` columns of b at a time, both contiguous along k.
  struct DotTiling {
    int64_t rows, columns, k_block;
    double cycles;
  };
  void multiply_dot_tiles(const Problem& problem, const DotTiling& tiling);
  void dot_tile(int64_t rows, int64_t columns, int64_t k_count, const View& a, const View& b, const View& c,
                bool accumulate);
  DotTiling choose_dot_tiling(const Problem& problem) const;
  bool prefers_dot_tiles(const Problem& problem, const DotTiling& tiling) const;
  unsigned most_lanes() const { return static_cast<unsigned>(facts_.vector_bits / 8 / size_); }
  // Element i of the result is the sum of vector i; there are no more of them than lanes.
  llvm::Value* sums_of_lanes(llvm::ArrayRef<llvm::Value*> vectors);
  Tiling choose_tiling(const Problem& problem) const;
  static int64_t panels_of(const Problem& problem, const Tiling& tiling);
  // Whether a copy of a is by strips: the rows of a tile, column by column.
  static bool in_strips(const Problem& problem);
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
  // to (+)= from, each of complex elements whose parts lie side by side.
  void copy_pairs(const View& from, const View& to, int64_t rows, int64_t columns, bool add);
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
  Emitter::Values tile_sums(const TileShape& shape, llvm::Value* k_count, int64_t unroll, llvm::Value* a,
                            const Stride& a_row, const Stride& a_column, llvm::Value* b, const Stride& b_row,
                            llvm::Value* mask);
  void prefetch_tile(const TileShape& shape, llvm::Value* c, const Stride& c_row);
  void store_tile(const TileShape& shape, const Emitter::Values& sums, llvm::Value* c, const Stride& c_row,
                  llvm::Value* mask, bool accumulate);
  // By ready-made tiles, if there are those that it takes.
  bool call_ready_block(const Problem& problem, const Tiling& tiling, const Block& block, llvm::Value* first,
                        llvm::Value* last, llvm::Value* begin, llvm::Value* end);
  llvm::FunctionType* ready_tile_type();
  static constexpr unsigned kMostTransposed = 8;
  void clear(const View& c, int64_t m, int64_t n);
  // to (+)= from, element by element, converting.
  void convert_copy(const View& from, const View& to, llvm::Value* rows, llvm::Value* columns, bool add);

  llvm::Value* scratch(int64_t elements);
  llvm::Value* offset(const View& v, llvm::Value* row, llvm::Value* column);
  llvm::Value* offset(llvm::Value* pointer, int64_t elements);
  llvm::Value* number(int64_t value);
  llvm::Value* times(llvm::Value* value, int64_t factor) { return b_.CreateMul(value, number(factor)); }
  llvm::Value* half(llvm::Value* value) { return b_.CreateLShr(value, number(1)); }
  llvm::Value* least(llvm::Value* a, llvm::Value* b);
  llvm::FixedVectorType* vector_type(unsigned lanes) { return llvm::FixedVectorType::get(real_, lanes); }
  llvm::Value* first_lanes(unsigned lanes, int64_t active);  // a mask
  llvm::Value* lanes_of(llvm::Value* mask);                  // which may be lanes, or integers whose signs count
  llvm::Value* load_vector(llvm::Value* pointer, unsigned lanes, int64_t active);
  llvm::Value* load_vector(llvm::Value* pointer, unsigned lanes, llvm::Value* mask);
  void store_vector(llvm::Value* vector, llvm::Value* pointer, int64_t active);
  void store_vector(llvm::Value* vector, llvm::Value* pointer, llvm::Value* mask);
  llvm::Value* broadcast(llvm::Value* pointer, unsigned lanes);
  void for_range(llvm::Value* begin, llvm::Value* end, int64_t step, llvm::function_ref<void(llvm::Value*)> body);
  void for_range(llvm::Value* end, int64_t step, llvm::function_ref<void(llvm::Value*)> body) {
    for_range(number(0), end, step, body);
  }
  // Whether it has questions whether the program is to go on, and such a question.
  bool is_long() const;
  void poll(int64_t multiply_adds);
  // Units [0, count) of about so many multiply-adds each, by the threads that are there.
  void share(int64_t count, int64_t multiply_adds, llvm::function_ref<void(llvm::Value* begin, llvm::Value* end)> body);

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const TargetFacts& facts_;
  const loop::Gemm& gemm_;
  DType dtype_;  // of the arithmetic
  llvm::Type* real_;
  int64_t size_;  // bytes of real_
  llvm::Align align_;
  bool has_masks_;
  int ready_level_;  // tiles.h
  int64_t scratch_used_ = 0, range_scratch_used_ = 0;
};

}  // namespace ct::jit
