#include "jit/machine/vectorize.h"

#include <algorithm>

#include "jit/loop/visit.h"
#include "runtime/pool.h"

namespace ct::jit {

using loop::BlockId;
using loop::Carry;
using loop::For;
using loop::Index;
using loop::Statement;
using loop::StatementKind;

namespace {

constexpr int64_t kShortFold = 8;
constexpr int kShortCopy = 4;  // statements
// Statements, constants among them, and iterations from which on two vectors are computed side by side.
constexpr int kLongBody = 60;
constexpr int64_t kLongLoop = 4096;
// Loads that depend on each other, and iterations, from which on more vectors are computed side by side.
constexpr int kLongChain = 6;
constexpr int64_t kManyChains = 1 << 15;
// No loop of fewer iterations stores past the caches.
constexpr int64_t kMostOfAnyExtent = 1 << 20;

// What would happen if the loop were vectorised: which values differ between lanes and how memory is touched. This must
// find as varying at least what the emitter will make vectors of.
class Vectorizability {
 public:
  Vectorizability(const loop::Program& program, const TargetFacts& facts, const For& loop)
      : program_(program), facts_(facts), variable_(loop.variable) {
    vary(loop.variable);
    for (const Carry& carry : loop.carries) legal = legal && carry.combine.has_value();
    walk(loop.body, false);
    for (const Carry& carry : loop.carries) contributes(carry.init);
    legal = legal && widest > 0;
  }

  bool legal = true;
  int widest = 0;                   // bytes of the widest element, as it is computed with
  int narrowest_in_memory = 8;      // bytes
  int strided = 0;                  // accesses that are neither uniform nor contiguous
  int far = 0;                      // those of them that are not of elements close together
  bool branches_on_memory = false;  // vector accesses inside divergent branches: only with masks
  bool straight = true;             // no loops or branches inside
  int chain = 0;                    // loads one after the other, each of which says where the next one loads
  int statements = 0;

 private:
  // What the loop computes is numbered after its variable; what comes before does not vary.
  bool varies(loop::Value value) const {
    return value != loop::kNoValue && value >= variable_ && value - variable_ < varying_.size() &&
           varying_[value - variable_];
  }
  void vary(loop::Value value) {
    const size_t at = value - variable_;
    if (at >= varying_.size()) varying_.resize(at + 1);
    varying_[at] = true;
  }

  void contributes(loop::Value value) { widest = std::max(widest, dtype_size(program_.values[value].dtype)); }

  void access(const Statement& s, bool divergent) {
    int64_t stride = s.index.coefficient_of(variable_);
    bool indirect = false;
    for (const Index::Term& term : s.index.terms())
      indirect = indirect || (term.value != variable_ && varies(term.value));
    bool is_store = s.kind == StatementKind::kStore;
    if (stride == 0 && !indirect) {
      legal = legal && !is_store;
      return;
    }
    bool complex_pair = (stride == 2 || stride == -2) && is_complex(program_.buffers[s.buffer].dtype);
    bool contiguous = !indirect && (stride == 1 || stride == -1 || complex_pair);
    int size = dtype_size(s.dtype);
    narrowest_in_memory = std::min(narrowest_in_memory, size);
    if (!contiguous) {
      ++strided;
      if ((is_store && !facts_.masks_any_size) || indirect ||
          !is_near(facts_, facts_.vector_bits / 8 / std::max(size, 4), stride))
        ++far;
    }
    if (divergent && s.bits == 0) branches_on_memory = true;
    // Half floats are computed with as float32; gathers exist for words.
    if (is_float(s.dtype) || !contiguous) size = std::max(size, 4);
    widest = std::max(widest, size);
    if (s.result != loop::kNoValue) vary(s.result);
    if (indirect && !is_store) {
      int behind = 0;
      for (const Index::Term& term : s.index.terms()) behind = std::max(behind, loads_behind(term.value));
      follow(s.result, behind + 1);
      chain = std::max(chain, behind + 1);
    }
  }

  int loads_behind(loop::Value value) const {
    return varies(value) && value - variable_ < loads_behind_.size() ? loads_behind_[value - variable_] : 0;
  }
  void follow(loop::Value value, int loads) {
    if (loads == 0) return;
    const size_t at = value - variable_;
    if (at >= loads_behind_.size()) loads_behind_.resize(at + 1);
    loads_behind_[at] = loads;
  }

  void walk(BlockId block, bool divergent) {
    for (const Statement& s : program_.blocks[block].statements) {
      ++statements;
      switch (s.kind) {
        case StatementKind::kLoad:
        case StatementKind::kStore:
          access(s, divergent);
          break;
        case StatementKind::kIndex:
          for (const Index::Term& term : s.index.terms()) {
            if (varies(term.value)) vary(s.result);
            follow(s.result, std::max(loads_behind(s.result), loads_behind(term.value)));
          }
          break;
        case StatementKind::kFor: {
          straight = false;
          const For& inner = program_.fors[s.detail];
          for (const Index::Term& term : inner.extent.terms()) legal = legal && !varies(term.value);
          for (const Carry& carry : inner.carries) {
            if (carry.argument != loop::kNoValue) vary(carry.argument);
            vary(carry.result);
          }
          walk(inner.body, divergent);
          break;
        }
        case StatementKind::kWhile: {
          straight = false;
          const loop::While& inner = program_.whiles[s.detail];
          for (const Carry& carry : inner.carries) {
            vary(carry.argument);
            vary(carry.result);
          }
          walk(inner.condition_block, true);
          walk(inner.body, true);
          break;
        }
        case StatementKind::kIf: {
          straight = false;
          const loop::If& inner = program_.ifs[s.detail];
          bool differs = varies(inner.condition);
          walk(inner.then_block, divergent || differs);
          walk(inner.else_block, divergent || differs);
          for (const loop::If::Merge& merge : inner.merges) {
            if (differs || varies(merge.then_value) || varies(merge.else_value)) vary(merge.result);
          }
          break;
        }
        case StatementKind::kGemm:
        case StatementKind::kFill:
        case StatementKind::kCopy:
        case StatementKind::kSwap:
        case StatementKind::kHostCall:
          legal = false;
          break;
        default:
          for (loop::Value operand : s.operands) {
            if (!varies(operand)) continue;
            vary(s.result);
            follow(s.result, std::max(loads_behind(s.result), loads_behind(operand)));
          }
      }
    }
  }

  const loop::Program& program_;
  const TargetFacts& facts_;
  loop::Value variable_;
  std::vector<bool> varying_;
  std::vector<int> loads_behind_;  // as varying_; shorter where the rest is 0
};

// The loops directly or deeper inside `block` that ask to be vectorised.
void find_vector_loops(const loop::Program& program, BlockId block, std::vector<const For*>& found) {
  for (const Statement& s : program.blocks[block].statements) {
    if (s.kind == StatementKind::kFor) {
      const For& inner = program.fors[s.detail];
      if (inner.options.vectorize) found.push_back(&inner);
      find_vector_loops(program, inner.body, found);
    } else if (s.kind == StatementKind::kIf) {
      find_vector_loops(program, program.ifs[s.detail].then_block, found);
      find_vector_loops(program, program.ifs[s.detail].else_block, found);
    } else if (s.kind == StatementKind::kWhile) {
      find_vector_loops(program, program.whiles[s.detail].body, found);
    }
  }
}

}  // namespace

bool is_near(const TargetFacts& facts, int64_t width, int64_t stride) {
  // A shuffle of any lanes of two vectors is one instruction (AVX-512), or three.
  const int64_t most = facts.vector_registers >= 32 ? 8 : 4;
  return stride > 1 && stride <= std::min(most, width);
}

Vectorization choose_vectorization(const loop::Program& program, const TargetFacts& facts, const For& loop) {
  if (!loop.options.vectorize || facts.vector_bits == 0) return {};
  Vectorizability found(program, facts, loop);
  if (!found.legal) return {};
  if (found.branches_on_memory && !(facts.masks_any_size || (facts.masks_words && found.narrowest_in_memory >= 4)))
    return {};
  int64_t extent = loop.extent.is_constant() ? loop.extent.constant() : INT64_MAX;
  if (extent <= 1) return {};

  // An inner loop that vectorises with fewer strided accesses is the better one; with as few, the longer.
  std::vector<const For*> inner_loops;
  find_vector_loops(program, loop.body, inner_loops);
  for (const For* inner : inner_loops) {
    Vectorizability other(program, facts, *inner);
    if (!other.legal) continue;
    int64_t inner_extent = inner->extent.is_constant() ? inner->extent.constant() : INT64_MAX;
    // Adding up the lanes of a vector costs more than a short fold in each lane.
    const bool short_fold = !inner->carries.empty() && inner_extent <= kShortFold && extent >= 2 * kShortFold;
    if (short_fold && found.far == 0) continue;
    if (other.strided < found.strided && inner_extent > 2) return {};
    if (other.strided == found.strided && inner_extent >= std::min<int64_t>(extent, 16)) return {};
  }

  Vectorization how;
  unsigned width = facts.vector_bits / 8 / found.widest;
  unsigned least_width = std::max(2, 128 / 8 / found.widest);
  how.masked_tail = facts.masks_any_size || (facts.masks_words && found.narrowest_in_memory >= 4 && found.strided == 0);
  if (how.masked_tail) {
    while (width / 2 >= extent && width > least_width) width /= 2;
    // One lane of work is cheaper as scalar code.
    if (extent != INT64_MAX && extent % width == 1 && extent > width) how.masked_tail = false;
    // A masked store takes as long as some ten plain ones where masks have no registers of their own: not for copies.
    if (!facts.masks_any_size && loop.carries.empty() && extent < least_width && found.statements <= kShortCopy)
      return {};
  } else {
    while (width > extent && width > 1) width /= 2;
  }
  if (width < 2) return {};
  // A long chain of operations fills a processor's window before it ends, so that few vectors are under way at once:
  // two side by side take little longer than one. Where registers are there, and each vector is whole.
  if (found.straight && found.strided == 0 && found.statements >= kLongBody && facts.vector_registers >= 32 &&
      facts.arch == TargetFacts::Arch::kX86 && width * found.widest * 8 == static_cast<unsigned>(facts.vector_bits) &&
      2 * width <= kVectorMultiple && extent != INT64_MAX && extent % (2 * width) == 0 && extent >= kLongLoop) {
    width *= 2;
  }
  // A chain of loads waits for memory at each, so that a search takes half or a third of the time if the loads of more
  // vectors are under way at once. It is that much more to compile.
  if (found.straight && found.chain >= kLongChain && extent != INT64_MAX) {
    for (const int64_t many : {kManyChains, 8 * kManyChains}) {
      if (extent >= many && 2 * width <= kVectorMultiple) width *= 2;
    }
  }
  how.width = width;
  // A long body is not worth compiling twice to save the masks of all but the last vector.
  const bool near = found.strided > 0 && found.far == 0;  // masked, they would be gathers
  how.one_body = found.statements > 24 && !near && (extent == INT64_MAX || extent % width != 0);
  // Independent accumulators hide the latency of the combining operation.
  if (!loop.carries.empty() && found.statements <= 12 && extent >= 8 * width) how.unroll = 4;
  return how;
}

std::vector<uint64_t> decided_by_extent(const loop::Program& program, const TargetFacts& facts, CostModel& cost,
                                        const For& loop) {
  if (!loop.extent.is_constant() || !loop.carries.empty() || loop.extent.constant() > kMostOfAnyExtent) return {};
  for (const Statement& s : program.blocks[loop.body].statements) {
    if (!loop::is_instruction(s) && s.kind != StatementKind::kStore) return {};
  }
  const int64_t extent = loop.extent.constant();
  if (static_cast<double>(extent) * cost.iteration(loop) >= Pool::kLeastHot) return {};
  const Vectorization how = choose_vectorization(program, facts, loop);
  if (how.width == 0) return {};
  return {how.width, how.unroll, how.masked_tail, how.one_body, extent % how.width == 0};
}

}  // namespace ct::jit
