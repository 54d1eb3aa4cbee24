#include "jit/llvm/ready_products.h"

#include <algorithm>
#include <cstring>

#include "jit/machine/product_plan.h"
#include "jit/machine/questions.h"
#include "runtime/interrupt.h"
#include "runtime/pool.h"

namespace ct::jit {

namespace {

// What a call of multiply_ready_product was given.
struct Call {
  const ReadyProduct& p;
  const char* a;
  const char* b;
  char* c;
  int64_t rows, columns, steps;
  const void* program;
};

// One block of k.
struct Block {
  const char* a;
  const char* b;
  int64_t k_count;
};

// Whether there was no answer that the program is not to go on.
template <class Body>
bool for_blocks(const Call& call, const Body& body) {
  const ReadyProduct& p = call.p;
  // Of no steps, too, there is a block.
  if (p.k_block >= p.k) return body(Block{call.a, call.b, call.steps});
  for (int64_t first = 0; first < call.steps; first += p.k_block) {
    const Block block{call.a + first * p.a_column * p.size, call.b + first * p.b_row * p.size,
                      std::min(p.k_block, call.steps - first)};
    if (!body(block)) return false;
  }
  return true;
}

// body(begin, end, scratch), of units that take so long each.
template <class Body>
void share(const Call& call, int64_t count, int64_t picoseconds, int64_t scratch_bytes, char* scratch, Body body) {
  if (picoseconds == 0) return body(0, count, scratch);
  const RangeBody run = [](void* context, int64_t begin, int64_t end, void* own) {
    (*static_cast<Body*>(context))(begin, end, static_cast<char*>(own));
  };
  const ParallelLoop loop{.body = run,
                          .context = &body,
                          .extent = count,
                          .multiple = 1,
                          .scratch_bytes = scratch_bytes,
                          .scratch = scratch,
                          .nanoseconds = std::min(count, INT64_MAX / picoseconds) * picoseconds / 1000,
                          .in_program = call.p.nanoseconds_of_program,
                          .program = call.program};
  run_parallel(&loop);
}

// Asks, every now and then, whether the program is to go on.
class Questions {
 public:
  explicit Questions(int64_t time_of_tile) : time_of_tile_(time_of_tile) {}

  bool wanted() const { return time_of_tile_ != 0; }
  bool go_on_after_tile() {
    left_ -= time_of_tile_;
    if (left_ >= 0) return true;
    left_ = kAll;
    return go_on();
  }

 private:
  static constexpr auto kAll = static_cast<int64_t>(kBetweenQuestions * 1000);
  const int64_t time_of_tile_;
  int64_t left_ = kAll;
};

// Rows [first, last) of panels [begin, end). False: the program is not to go on.
bool multiply_block(const Call& call, const char* a, const char* b, int64_t k_count, int64_t first, int64_t last,
                    int64_t begin, int64_t end, Questions& questions) {
  const ReadyProduct& p = call.p;
  if (!questions.wanted()) {
    multiply_ready_block(&p.tiles, a, b, call.c, k_count, first, last, begin, end);
    return true;
  }
  for (int64_t panel = begin; panel < end; ++panel) {
    for (int64_t row = first; row < last; row += p.tile_rows) {
      if (!questions.go_on_after_tile()) return false;
      multiply_ready_block(&p.tiles, a, b, call.c, k_count, row, std::min(row + p.tile_rows, last), panel, panel + 1);
    }
  }
  return true;
}

// Rows [first, last) of a block's a, so that they lie close together; where its first row would be.
const char* copy_rows(const Call& call, const Block& block, int64_t first, int64_t last, char* to) {
  const ReadyProduct& p = call.p;
  if (p.by_strips != 0) {
    char* strips = to - first * p.k_block * p.size;
    pack_strips(&p.strips, block.a, strips, block.k_count, first, last);
    return strips;
  }
  for (int64_t row = first; row < last; ++row) {
    std::memcpy(to + (row - first) * p.copied_stride * p.size, block.a + row * p.a_row * p.size,
                static_cast<size_t>(block.k_count * p.size));
  }
  return to - first * p.copied_stride * p.size;
}

void multiply_by_rows(const Call& call, char* packed, char* scratch) {
  const ReadyProduct& p = call.p;
  const int64_t panels = divide_up(call.columns, p.panels.width);
  for_blocks(call, [&](const Block& block) {
    const char* b = block.b;
    if (p.packs != 0) {
      share(call, panels, p.time_to_pack, 0, nullptr, [&](int64_t begin, int64_t end, char*) {
        char* to = packed + begin * p.k_block * p.panels.width * p.size;
        pack_panels(&p.panels, block.b, to, block.k_count, begin, end);
      });
      b = packed;
    }
    const auto multiply = [&](int64_t begin, int64_t end, char* own) {
      Questions questions(p.time_of_tile);
      const int64_t last = std::min(end * p.tile_rows, p.m);
      const int64_t together = p.copied_rows == 0 ? p.m : p.copied_rows;
      for (int64_t first = begin * p.tile_rows; first < last; first += together) {
        const int64_t next = std::min(first + together, last);
        const char* a = p.copied_rows == 0 ? block.a : copy_rows(call, block, first, next, own);
        if (!multiply_block(call, a, b, block.k_count, first, next, 0, panels, questions)) return;
      }
    };
    share(call, divide_up(call.rows, p.tile_rows), p.time_to_multiply, p.scratch_bytes, scratch, multiply);
    return p.time_of_tile == 0 || go_on();
  });
}

// Each panel is packed when its turn comes, by who multiplies with it.
void multiply_by_panels(const Call& call, char* scratch) {
  const ReadyProduct& p = call.p;
  const int64_t last = std::min(divide_up(call.rows, p.tile_rows) * p.tile_rows, p.m);
  const int64_t panel_bytes = p.k_block * p.panels.width * p.size;
  const auto multiply = [&](int64_t begin, int64_t end, char* own) {
    Questions questions(p.time_of_tile);
    for_blocks(call, [&](const Block& block) {
      if (p.packs == 0) {
        return multiply_block(call, block.a, block.b, block.k_count, 0, last, begin, end, questions);
      }
      for (int64_t panel = begin; panel < end; ++panel) {
        pack_panels(&p.panels, block.b, own, block.k_count, panel, panel + 1);
        // It counts from the first panel of all.
        const char* b = own - panel * panel_bytes;
        if (!multiply_block(call, block.a, b, block.k_count, 0, last, panel, panel + 1, questions)) return false;
      }
      return true;
    });
  };
  share(call, divide_up(call.columns, p.panels.width), p.time_to_multiply, p.scratch_bytes, scratch, multiply);
}

}  // namespace

void multiply_ready_product(const ReadyProduct* product, const char* a, const char* b, char* c, int64_t rows,
                            int64_t columns, int64_t steps, char* scratch, const void* program) {
  const ReadyProduct& p = *product;
  const Call call{p, a, b, c, rows, columns, steps, program};
  if (p.clears != 0) {
    const auto row_bytes = static_cast<size_t>(p.n * p.size);
    for (int64_t row = 0; row < p.m; ++row) std::memset(c + row * p.c_row * p.size, 0, row_bytes);
  }
  char* own = scratch + p.packed_bytes;
  if (p.by_panels != 0) {
    multiply_by_panels(call, own);
  } else {
    multiply_by_rows(call, scratch, own);
  }
}

}  // namespace ct::jit
