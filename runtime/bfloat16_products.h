// Products of bfloat16 matrices, summed up in float32, by the processor's instructions for tiles of 16 x 32 elements
// (AMX); by those for vectors (AVX-512 BF16) where the system lets the process have no tiles. These are not faster than
// float32's, so processors that have nothing else go on as before. Programs that are compiled in this process call
// them (jit/llvm/gemm_bfloat16.cc).
//
// b is packed in panels of 32 columns, in each of which the two elements that a pair of steps takes of a column lie
// next to each other; of a, strips of 32 rows are packed, or read where they lie. The number of steps is rounded up to
// a multiple of 32, with zeros. Elements that are subnormal count as zeros, as do sums.
#pragma once

#include <cstdint>

namespace ct {

inline constexpr int64_t kBfloat16Rows = 32, kBfloat16Columns = 32, kBfloat16Steps = 32;
// Of more steps than this, neither a strip nor a panel stays in the second-level cache.
inline constexpr int64_t kMostBfloat16Steps = 1 << 14;

// Whether such a product is one for instructions of tiles of bfloat16: of fewer rows, columns or steps most of what
// these compute would be thrown away.
inline bool takes_bfloat16_tiles(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kLeastSide = 8, kLeastMultiplyAdds = 1 << 13;
  return m >= kLeastSide && n >= kLeastSide && k >= kLeastSide && m * n * k >= kLeastMultiplyAdds;
}

// Of a product c = a b, or c += a b: where the elements of its matrices lie, in elements.
struct Bfloat16Product {
  int64_t a_row, a_column, b_row, b_column, c_row, c_column;
  int64_t accumulate;
  int64_t narrow;  // c is bfloat16, else float32
};

// Bytes of a packed panel of so many steps, and of scratch memory for a thread.
int64_t bfloat16_panel_bytes(int64_t steps);
int64_t bfloat16_scratch_bytes(int64_t steps);
// How many strips one call of multiply_bfloat16 should get at most, so that they stay in the second-level cache.
int64_t bfloat16_strips(int64_t steps);

// Packs panels [begin, end) of b; `packed` is where panel 0 is to lie. Aligned to 64 bytes.
void pack_bfloat16(const Bfloat16Product* product, const uint16_t* b, char* packed, int64_t steps, int64_t columns,
                   int64_t begin, int64_t end);
// Strips [first, last) of the result in panels [begin, end). `rows` and `columns` are those of all of c.
void multiply_bfloat16(const Bfloat16Product* product, const uint16_t* a, const char* packed, char* c, char* scratch,
                       int64_t rows, int64_t columns, int64_t steps, int64_t first, int64_t last, int64_t begin,
                       int64_t end);

inline constexpr const char* kPackBfloat16Symbol = "ct_pack_bfloat16";
inline constexpr const char* kMultiplyBfloat16Symbol = "ct_multiply_bfloat16";

// For tests: whether this process multiplies by tiles, and that it does not from now on.
bool has_bfloat16_tiles();
void use_bfloat16_tiles(bool wanted);

}  // namespace ct
