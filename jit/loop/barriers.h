// How the threads of a block run a program together, and where they have to wait for each other.
//
// All threads run the same code. What is the same for all of them (scalars, serial loops, branches) each computes for
// itself; independent iterations are shared out; folds are shared out and combined; scalars are stored by the first
// thread. A barrier stands before a statement that reads what another thread may have written since the last barrier,
// or that writes what another thread may have read or written since; none where each thread only comes back to the
// elements that were its own. Start at `share_of`.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "jit/loop/loop.h"

namespace ct::jit {

inline constexpr int64_t kBlockThreads = 256;

enum class Share : uint8_t {
  kAlike,  // by all threads, with the same numbers
  kItems,  // each thread takes some of the iterations, or of the elements of a range
  kFold,   // each folds some of the iterations; combining what they have they meet at barriers
  kTiles,  // of a product: a block makes one after the other, meeting at barriers
  kFirst,  // by the first thread
};
Share share_of(const loop::Program& program, const loop::Statement& statement);

// Iterations may run in any order, and hand nothing on.
bool is_independent(const loop::For& loop);
// Loops directly inside one another, with nothing but instructions before the inner one, are one range of items: from
// `outer` inwards.
std::vector<const loop::For*> nest_of(const loop::Program& program, const loop::For& outer);

// Products are made in tiles of as many rows and columns.
inline constexpr int64_t kProductTile = 64;
inline int64_t tiles_across(int64_t size) { return (size + kProductTile - 1) / kProductTile; }
inline int64_t tiles_of(const loop::Gemm& gemm) { return tiles_across(gemm.m) * tiles_across(gemm.n); }
// Independent loops directly inside one another around a product, with nothing but instructions before what is inside.
struct ProductNest {
  std::vector<const loop::For*> loops;
  int64_t items = 1;
  const loop::Gemm* product = nullptr;
};
std::optional<ProductNest> product_nest(const loop::Program& program, const loop::Statement& statement);
// Whether a nest has as many items as the products have elements: then each thread may go on with those that it made.
bool may_be_epilogue(const loop::Program& program, const ProductNest& products, const loop::Statement& statement);

// Both are in the arena, where one may have memory that the other had before.
bool share_memory(const loop::Buffer& a, const loop::Buffer& b);

class Barriers {
 public:
  // `donations`: by output, the input whose memory it may be (Plan::donations); empty: none is.
  explicit Barriers(const loop::Program& program, absl::Span<const int> donations = {});

  // For a block that runs these statements one after the other. What other blocks and kernels do is behind it; it may
  // just have folded something.
  void place(absl::Span<const loop::Statement* const> statements, bool has_folded = false);
  // Whether the statements that were placed last have touched the array's memory since their last barrier.
  bool is_pending(loop::BufferId buffer) const;
  // Whether one whose items are shared out may run behind others like it, or as an epilogue of products, without one,
  // because no thread meets another one's elements: then the same holds for the threads of a grid, which cannot wait
  // for each other.
  bool needs_none(absl::Span<const loop::Statement* const> others, const loop::Statement& statement);
  bool before(const loop::Statement& statement) const { return placed_.contains(&statement); }
  // Whether a result may be written over it.
  bool may_be_written_over(loop::BufferId input) const { return written_over_[input]; }
  size_t count() const { return placed_.size(); }

 private:
  struct Access {
    uint32_t place;  // of buffers that may be the same memory
    bool writes;
    bool by_first;  // the thread that has it is known
    // Which thread touches which element; equal numbers: the same one. 0: any may touch any.
    uint32_t mapping = 0;
    bool operator==(const Access&) const = default;
    auto operator<=>(const Access&) const = default;
  };
  using Accesses = std::vector<Access>;  // sorted

  void find_donations(absl::Span<const int> donations);
  // What threads hand each other in folds is behind the buffers.
  uint32_t partials() const { return static_cast<uint32_t>(program_.buffers.size()); }
  void walk(const loop::Statement& statement, Accesses& since);
  void walk(loop::BlockId block, Accesses& since);
  void walk_product(const loop::Gemm& gemm, const loop::Statement& statement, Accesses own, Accesses& since);
  void walk_while(const loop::While& loop, Accesses& since);
  Accesses accesses_of(const loop::Statement& statement, bool by_first);
  Accesses accesses_of(const ProductNest& products);
  uint32_t number_of_mapping(std::vector<int64_t> key);
  uint32_t mapping_of(absl::Span<const loop::For* const> nest, const loop::Statement& access);
  bool conflict(const Accesses& since, const Accesses& next) const;
  bool overlap(uint32_t a, uint32_t b) const;
  bool is_same_array(uint32_t a, uint32_t b) const;

  const loop::Program& program_;
  std::vector<uint32_t> place_of_;                       // by buffer
  std::vector<std::vector<loop::BufferId>> buffers_at_;  // by place
  std::vector<loop::BufferId> memory_of_;                // by buffer: of a result the input that it may lie over
  std::vector<bool> written_over_;                       // by buffer
  absl::flat_hash_set<const loop::Statement*> placed_;
  Accesses pending_;
  std::map<std::vector<int64_t>, uint32_t> mappings_;  // from the nest and the index to the number
};

}  // namespace ct::jit
