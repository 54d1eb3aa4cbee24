#include "runtime/bfloat16_products.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "runtime/error.h"

#ifdef __x86_64__
#if defined __GNUC__ && !defined __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 says so of its own header (its bug 105593)
#endif
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ct {

namespace {

constexpr int64_t kRows = kBfloat16Rows, kColumns = kBfloat16Columns, kSteps = kBfloat16Steps;
// Sums of so many products are added up, so that those of many more are as exact.
constexpr int64_t kSumGroups = 64;
// Of the second-level cache, for strips.
constexpr int64_t kStripBytes = 512 << 10, kMostStrips = 8;
constexpr int64_t kFewPanels = 2;

int64_t groups_of(int64_t steps) { return (steps + kSteps - 1) / kSteps; }
// Of 32 steps, a strip or a panel has so many bytes.
constexpr int64_t kGroupBytes = 2 * kRows * kSteps;
int64_t strip_bytes(int64_t steps) { return groups_of(steps) * kGroupBytes; }

}  // namespace

int64_t bfloat16_panel_bytes(int64_t steps) { return groups_of(steps) * kGroupBytes; }
int64_t bfloat16_strips(int64_t steps) {
  return std::clamp<int64_t>(kStripBytes / strip_bytes(std::max(steps, kSteps)), 1, kMostStrips);
}
int64_t bfloat16_scratch_bytes(int64_t steps) { return bfloat16_strips(steps) * strip_bytes(steps); }

#ifdef __x86_64__

// Of functions, as the library is for processors without these, too.
#define CT_PAIRS __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define CT_TILES __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16")))
// Compilers do not know that instructions of tiles read and write memory.
#define CT_MEMORY_BARRIER __asm__ volatile("" ::: "memory")

namespace {

// The system gives a process the registers of tiles when it asks for them (Linux, Documentation/arch/x86/xstate.rst).
bool ask_for_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return __builtin_cpu_supports("amx-tile") != 0 && __builtin_cpu_supports("amx-bf16") != 0 &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

std::atomic<bool>& tiles_wanted() {
  static std::atomic<bool> wanted = true;
  return wanted;
}

// 32 numbers of 16 bits, those that count.
CT_PAIRS __m512i load_line(const uint16_t* from, int64_t count) {
  if (count >= 32) return _mm512_loadu_si512(from);
  if (count <= 0) return _mm512_setzero_si512();
  return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << count) - 1), from);
}

// Of two lines the elements in turn: pairs, those of the first 16 places and of the others.
struct Pairs {
  __m512i low, high;
};
CT_PAIRS Pairs paired(__m512i even, __m512i odd) {
  alignas(64) static constexpr uint16_t kLow[32] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                                    8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i low = _mm512_load_si512(kLow);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  return {_mm512_permutex2var_epi16(even, low, odd), _mm512_permutex2var_epi16(even, high, odd)};
}

// 16 rows of 16 pairs, to columns.
CT_PAIRS void transpose(__m512i (&rows)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    rows[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    rows[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

// Up to 32 lines of a matrix, `line` elements apart, whose elements along the other axis are `step` apart. For each 32
// steps either 16 rows of pairs of steps, each of 32 lines, or (`by_lines`) 32 lines of 16 pairs.
CT_PAIRS void pack_lines(const uint16_t* from, int64_t line, int64_t step, int64_t lines, int64_t steps, char* to,
                         bool by_lines) {
  const int64_t groups = groups_of(steps);
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t first = group * kSteps, left = std::min(kSteps, steps - first);
    const uint16_t* at = from + first * step;
    for (int64_t part = 0; part < 2; ++part) {  // 16 lines each
      __m512i block[16];
      const int64_t there = std::clamp<int64_t>(lines - 16 * part, 0, 16);
      const uint16_t* lines_at = at + 16 * part * line;
      bool lines_first = true;  // the block has a line in each register, else a pair of steps
      if (step == 1) {
        for (int64_t i = 0; i < 16; ++i) block[i] = load_line(lines_at + i * line, i < there ? left : 0);
      } else if (line == 1) {
        for (int64_t i = 0; i < 16; ++i) {
          block[i] = paired(load_line(lines_at + 2 * i * step, 2 * i < left ? there : 0),
                            load_line(lines_at + (2 * i + 1) * step, 2 * i + 1 < left ? there : 0))
                         .low;
        }
        lines_first = false;
      } else {
        alignas(64) uint16_t elements[16][32] = {};
        for (int64_t i = 0; i < there; ++i) {
          for (int64_t k = 0; k < left; ++k) elements[i][k] = lines_at[i * line + k * step];
        }
        for (int64_t i = 0; i < 16; ++i) block[i] = _mm512_load_si512(elements[i]);
      }
      if (lines_first != by_lines) transpose(block);
      char* target = to + group * kGroupBytes + part * (by_lines ? 16 * 64 : 64);
      for (int64_t i = 0; i < 16; ++i) _mm512_storeu_si512(target + i * (by_lines ? 64 : 128), block[i]);
    }
  }
}

// 32 x 32 sums.
struct alignas(64) Sums {
  float at[kRows][kColumns];
};

// 32 rows of a: how far one is from the next, and its next 32 steps, in bytes.
struct Strip {
  const char* at;
  int64_t row, group;
};

CT_TILES void multiply_tiles(const Strip& strip, const char* panel, int64_t groups, bool lower, bool right,
                             Sums& sums) {
  CT_MEMORY_BARRIER;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  constexpr int64_t kPanelRow = 2 * 2 * kColumns;
  const char *a = strip.at, *a_lower = a + 16 * strip.row;
  if (lower && right) {
    for (int64_t group = 0; group < groups; ++group) {
      _tile_loadd(4, a + group * strip.group, strip.row);
      _tile_loadd(6, panel + group * kGroupBytes, kPanelRow);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(7, panel + group * kGroupBytes + 64, kPanelRow);
      _tile_dpbf16ps(1, 4, 7);
      _tile_loadd(5, a_lower + group * strip.group, strip.row);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  } else {
    for (int64_t group = 0; group < groups; ++group) {
      _tile_loadd(4, a + group * strip.group, strip.row);
      _tile_loadd(6, panel + group * kGroupBytes, kPanelRow);
      _tile_dpbf16ps(0, 4, 6);
      if (right) {
        _tile_loadd(7, panel + group * kGroupBytes + 64, kPanelRow);
        _tile_dpbf16ps(1, 4, 7);
      }
      if (lower) {
        _tile_loadd(5, a_lower + group * strip.group, strip.row);
        _tile_dpbf16ps(2, 5, 6);
      }
    }
  }
  _tile_stored(0, &sums.at[0][0], 4 * kColumns);
  if (right) _tile_stored(1, &sums.at[0][16], 4 * kColumns);
  if (lower) _tile_stored(2, &sums.at[16][0], 4 * kColumns);
  if (lower && right) _tile_stored(3, &sums.at[16][16], 4 * kColumns);
  CT_MEMORY_BARRIER;
}

constexpr int64_t kMostVectorRows = 11;

template <int64_t count>
CT_PAIRS void multiply_vectors(const Strip& strip, int64_t first, const char* panel, int64_t groups, float* sums) {
  __m512 low[count], high[count];
  for (int64_t i = 0; i < count; ++i) low[i] = high[i] = _mm512_setzero_ps();
  for (int64_t pair = 0; pair < 16 * groups; ++pair) {
    const char* a = strip.at + first * strip.row + pair / 16 * strip.group + pair % 16 * 4;
    const auto b_low = reinterpret_cast<__m512bh>(_mm512_load_si512(panel + pair * 128));
    const auto b_high = reinterpret_cast<__m512bh>(_mm512_load_si512(panel + pair * 128 + 64));
    for (int64_t i = 0; i < count; ++i) {
      int32_t both;
      std::memcpy(&both, a + i * strip.row, 4);
      const auto of_a = reinterpret_cast<__m512bh>(_mm512_set1_epi32(both));
      low[i] = _mm512_dpbf16_ps(low[i], of_a, b_low);
      high[i] = _mm512_dpbf16_ps(high[i], of_a, b_high);
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    _mm512_store_ps(sums + i * kColumns, low[i]);
    _mm512_store_ps(sums + i * kColumns + 16, high[i]);
  }
}

using VectorRows = void (*)(const Strip&, int64_t, const char*, int64_t, float*);
constexpr VectorRows kVectorRows[kMostVectorRows] = {multiply_vectors<1>,  multiply_vectors<2>, multiply_vectors<3>,
                                                     multiply_vectors<4>,  multiply_vectors<5>, multiply_vectors<6>,
                                                     multiply_vectors<7>,  multiply_vectors<8>, multiply_vectors<9>,
                                                     multiply_vectors<10>, multiply_vectors<11>};

// Of `rows` rows of a and `columns` of the panel.
CT_PAIRS void multiply_block(bool tiles, const Strip& strip, const char* panel, int64_t groups, int64_t rows,
                             int64_t columns, Sums& sums) {
  if (tiles) return multiply_tiles(strip, panel, groups, rows > 16, columns > 16, sums);
  const int64_t times = (rows + kMostVectorRows - 1) / kMostVectorRows;
  for (int64_t i = 0; i < times; ++i) {
    const int64_t first = rows * i / times, count = rows * (i + 1) / times - first;
    kVectorRows[count - 1](strip, first, panel, groups, sums.at[first]);
  }
}

CT_PAIRS __m256i narrowed(__m512 value) {
  const __m512i bits = _mm512_castps_si512(value);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff)), 16);
  const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  rounded = _mm512_mask_or_epi32(rounded, nan, _mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
  return _mm512_cvtepi32_epi16(rounded);
}
CT_PAIRS __m512 widened(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

CT_PAIRS void store(const Bfloat16Product& p, const Sums& sums, char* c, int64_t rows, int64_t columns) {
  const int64_t size = p.narrow != 0 ? 2 : 4;
  for (int64_t row = 0; row < rows; ++row) {
    char* at = c + row * p.c_row * size;
    for (int64_t begin = 0; begin < columns; begin += 16) {
      __m512 value = _mm512_load_ps(&sums.at[row][begin]);
      if (p.c_column != 1) {
        for (int64_t column = begin; column < std::min(begin + 16, columns); ++column) {
          char* element = at + column * p.c_column * size;
          float sum = sums.at[row][column];
          if (p.narrow != 0) {
            uint16_t bits;
            std::memcpy(&bits, element, 2);
            __m512 one = _mm512_set1_ps(sum);
            if (p.accumulate != 0) one = _mm512_add_ps(widened(_mm256_set1_epi16(static_cast<int16_t>(bits))), one);
            bits = static_cast<uint16_t>(_mm256_extract_epi16(narrowed(one), 0));
            std::memcpy(element, &bits, 2);
          } else {
            float before = 0;
            std::memcpy(&before, element, 4);
            if (p.accumulate != 0) sum += before;
            std::memcpy(element, &sum, 4);
          }
        }
        continue;
      }
      const auto mask = static_cast<__mmask16>((1U << std::min<int64_t>(columns - begin, 16)) - 1);
      if (p.narrow != 0) {
        auto* to = reinterpret_cast<uint16_t*>(at) + begin;
        if (p.accumulate != 0) value = _mm512_add_ps(widened(_mm256_maskz_loadu_epi16(mask, to)), value);
        _mm256_mask_storeu_epi16(to, mask, narrowed(value));
      } else {
        float* to = reinterpret_cast<float*>(at) + begin;
        if (p.accumulate != 0) value = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), value);
        _mm512_mask_storeu_ps(to, mask, value);
      }
    }
  }
}

CT_PAIRS void add(const Sums& more, Sums& sums, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t begin = 0; begin < kColumns; begin += 16) {
      float* to = &sums.at[row][begin];
      _mm512_store_ps(to, _mm512_add_ps(_mm512_load_ps(to), _mm512_load_ps(&more.at[row][begin])));
    }
  }
}

// Registers of tiles for 16 rows of 64 bytes each, while this stands.
struct __attribute__((packed)) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
CT_TILES void begin_tiles() {
  const TileShapes shapes;
  CT_MEMORY_BARRIER;
  _tile_loadconfig(&shapes);
}
CT_TILES void end_tiles() { _tile_release(); }

}  // namespace

bool has_bfloat16_tiles() {
  static const bool allowed = ask_for_tiles();
  return allowed && tiles_wanted().load(std::memory_order_relaxed);
}
void use_bfloat16_tiles(bool wanted) { tiles_wanted().store(wanted, std::memory_order_relaxed); }

void pack_bfloat16(const Bfloat16Product* product, const uint16_t* b, char* packed, int64_t steps, int64_t columns,
                   int64_t begin, int64_t end) {
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t first = panel * kColumns;
    pack_lines(b + first * product->b_column, product->b_column, product->b_row, std::min(kColumns, columns - first),
               steps, packed + panel * bfloat16_panel_bytes(steps), false);
  }
}

void multiply_bfloat16(const Bfloat16Product* product, const uint16_t* a, const char* packed, char* c, char* scratch,
                       int64_t rows, int64_t columns, int64_t steps, int64_t first, int64_t last, int64_t begin,
                       int64_t end) {
  const Bfloat16Product& p = *product;
  const int64_t groups = groups_of(steps), panel_bytes = bfloat16_panel_bytes(steps), size = p.narrow != 0 ? 2 : 4;
  const bool tiles = has_bfloat16_tiles();
  const auto strip = [&](int64_t number, char* own) -> Strip {
    const int64_t row = number * kRows, there = std::min(kRows, rows - row);
    const uint16_t* from = a + row * p.a_row;
    // What few panels read is not worth a copy, where a row is one.
    const bool whole = p.a_column == 1 && steps % kSteps == 0 && (there == kRows || !tiles);
    if (whole && end - begin <= kFewPanels) return {reinterpret_cast<const char*>(from), 2 * p.a_row, 2 * kSteps};
    pack_lines(from, p.a_row, p.a_column, there, steps, own, true);
    return {own, 64, kGroupBytes};
  };
  if (tiles) begin_tiles();
  const int64_t together = bfloat16_strips(steps);
  for (int64_t group = first; group < last; group += together) {
    Strip strips[kMostStrips];
    const int64_t count = std::min(together, last - group);
    for (int64_t i = 0; i < count; ++i) strips[i] = strip(group + i, scratch + i * strip_bytes(steps));
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t column = panel * kColumns, wide = std::min(kColumns, columns - column);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t there = std::min(kRows, rows - (group + i) * kRows);
        Strip part = strips[i];
        Sums sums;
        for (int64_t done = 0; done == 0 || done < groups; done += kSumGroups) {
          Sums more;
          multiply_block(tiles, part, packed + panel * panel_bytes + done * kGroupBytes,
                         std::min(kSumGroups, groups - done), there, wide, done == 0 ? sums : more);
          part.at += kSumGroups * part.group;
          if (done > 0) add(more, sums, there);
        }
        store(p, sums, c + ((group + i) * kRows * p.c_row + column * p.c_column) * size, there, wide);
      }
    }
  }
  if (tiles) end_tiles();
}

#else

bool has_bfloat16_tiles() { return false; }
void use_bfloat16_tiles(bool) {}
void pack_bfloat16(const Bfloat16Product*, const uint16_t*, char*, int64_t, int64_t, int64_t, int64_t) {
  CT_CHECK(false);
}
void multiply_bfloat16(const Bfloat16Product*, const uint16_t*, const char*, char*, char*, int64_t, int64_t, int64_t,
                       int64_t, int64_t, int64_t, int64_t) {
  CT_CHECK(false);
}

#endif

}  // namespace ct
