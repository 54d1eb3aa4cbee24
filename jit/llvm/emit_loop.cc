// Control flow: loops scalar and vectorised, reductions, While and If with their divergent forms.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <bit>

#include "device/cpu/pool.h"
#include "ir/error.h"
#include "jit/llvm/emit.h"
#include "jit/loop/visit.h"

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
  int far = 0;                      // those of them that are not loads of elements close together
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
      if (is_store || indirect || !is_near(facts_, facts_.vector_bits / 8 / std::max(size, 4), stride)) ++far;
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

// ------------------------------------------------------------------------------------------------------------------
// loops

Emitter::Values Emitter::run_loop(llvm::Value* begin, llvm::Value* end, int64_t step, Values carries,
                                  llvm::function_ref<Values(llvm::Value*, const Values&)> body) {
  auto* known_begin = llvm::dyn_cast<llvm::ConstantInt>(begin);
  auto* known_end = llvm::dyn_cast<llvm::ConstantInt>(end);
  bool guarded = true;
  if (known_begin != nullptr && known_end != nullptr) {
    int64_t first = known_begin->getSExtValue(), last = known_end->getSExtValue();
    if (first >= last) return carries;
    if (first + step >= last) return body(begin, carries);
    guarded = false;
  }
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = new_block("loop");
  llvm::BasicBlock* exit = new_block("done");
  if (guarded) {
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), header, exit);
  } else {
    b_.CreateBr(header);
  }
  b_.SetInsertPoint(header);
  llvm::PHINode* variable = b_.CreatePHI(i64_, 2);
  variable->addIncoming(begin, before);
  llvm::SmallVector<llvm::PHINode*, 4> phis;
  Values arguments;
  for (llvm::Value* carry : carries) {
    phis.push_back(b_.CreatePHI(carry->getType(), 2));
    phis.back()->addIncoming(carry, before);
    arguments.push_back(phis.back());
  }
  Values next = body(variable, arguments);
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  llvm::Value* incremented = b_.CreateNSWAdd(variable, b_.getInt64(step));
  variable->addIncoming(incremented, latch);
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], latch);
  b_.CreateCondBr(b_.CreateICmpSLT(incremented, end), header, exit);
  b_.SetInsertPoint(exit);
  if (guarded) {
    for (size_t i = 0; i < phis.size(); ++i) {
      llvm::PHINode* result = b_.CreatePHI(next[i]->getType(), 2);
      result->addIncoming(carries[i], before);
      result->addIncoming(next[i], latch);
      next[i] = result;
    }
  }
  return next;
}

bool Emitter::swaps_within(BlockId block) const {
  for (const Statement& s : program_.blocks[block].statements) {
    switch (s.kind) {
      case StatementKind::kSwap:
        return true;
      case StatementKind::kFor:
        if (swaps_within(program_.fors[s.detail].body)) return true;
        break;
      case StatementKind::kWhile:
        if (swaps_within(program_.whiles[s.detail].body)) return true;
        break;
      case StatementKind::kIf:
        if (swaps_within(program_.ifs[s.detail].then_block) || swaps_within(program_.ifs[s.detail].else_block))
          return true;
        break;
      default:
        break;
    }
  }
  return false;
}

void Emitter::emit_for(const For& loop) {
  // Pointers that swaps elsewhere may change stay the same throughout a loop without one: read them once.
  std::vector<loop::BufferId> held;
  for (loop::BufferId id : swapping_) {
    if (bases_[id] == nullptr) held.push_back(id);
  }
  if (!held.empty() && swaps_within(loop.body)) held.clear();
  for (loop::BufferId id : held) bases_[id] = base(id);
  const bool vectorizes = lanes_.width == 0 && !find_repeats(loop);
  Vectorization how = vectorizes ? choose_vectorization(program_, facts_, loop) : Vectorization{};
  if (how.width != 0 && streams_from(loop, how.width)) how.one_body = false;
  ++depth_;
  if (emit_transposed_copy(loop)) {
    // Done.
  } else if (is_shared(loop)) {
    emit_shared_for(loop, how);
  } else if (how.width == 0) {
    const std::vector<loop::BufferId> held_arrays = find_held({loop.body});
    llvm::Value* extent = extent_of(loop);
    hold(held_arrays);
    emit_scalar_for(loop, b_.getInt64(0), extent);
    release(held_arrays);
  } else {
    emit_vector_for(loop, how, b_.getInt64(0), extent_of(loop));
  }
  if (--depth_ == 0) finish_streams();
  for (loop::BufferId id : held) bases_[id] = nullptr;
}

llvm::Value* Emitter::extent_of(const For& loop) { return &loop == any_extent_ ? extent_ : uniform_index(loop.extent); }

void Emitter::emit_scalar_for(const For& loop, llvm::Value* begin, llvm::Value* end) {
  if (const auto repeats = find_repeats(loop)) {
    begin = emit_repeats(loop, *repeats, begin, end);
    if (begin == end) return;
  }
  Values inits;
  for (const Carry& carry : loop.carries) inits.push_back(widen(value(carry.init)));
  Values results =
      run_long_loop(begin, end, 1, inits, time_if_long(loop), [&](llvm::Value* i, const Values& arguments) {
        define(loop.variable, i);
        for (size_t c = 0; c < arguments.size(); ++c) {
          if (!loop.carries[c].combine) define(loop.carries[c].argument, arguments[c]);
        }
        emit_block(loop.body);
        Values next;
        for (size_t c = 0; c < arguments.size(); ++c) {
          const Carry& carry = loop.carries[c];
          llvm::Value* yielded = widen(value(carry.next));
          if (carry.combine)
            yielded = combine(*carry.combine, program_.values[carry.init].dtype, arguments[c], yielded);
          next.push_back(yielded);
        }
        return next;
      });
  for (size_t c = 0; c < results.size(); ++c) define(loop.carries[c].result, results[c]);
}

void Emitter::emit_vector_for(const For& loop, Vectorization how, llvm::Value* begin, llvm::Value* extent) {
  unsigned width = how.width;
  const double time = time_if_long(loop);
  // Pieces of the loop end where it does, or at multiples of any width.
  const bool all_whole =
      loop.extent.is_constant() && loop.extent.constant() % width == 0 && kVectorMultiple % width == 0;
  auto round_down = [&](unsigned multiple) {
    if (all_whole && multiple == width) return extent;
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(extent)) {
      int64_t n = std::max<int64_t>(known->getSExtValue(), 0);
      return static_cast<llvm::Value*>(b_.getInt64(n - n % multiple));
    }
    llvm::Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, extent, b_.getInt64(0));
    return b_.CreateAnd(count, b_.getInt64(-static_cast<int64_t>(multiple)));
  };
  auto dtype = [&](const Carry& carry) { return program_.values[carry.init].dtype; };
  // One vector of iterations from `i` on: accumulators [offset, offset + carries) take the contributions.
  auto step = [&](llvm::Value* i, Values& accumulators, size_t offset) {
    define(loop.variable, i);
    emit_block(loop.body);
    for (size_t c = 0; c < loop.carries.size(); ++c) {
      const Carry& carry = loop.carries[c];
      llvm::Value* contribution = widen(value(carry.next));
      if (lanes_.mask != nullptr) {
        contribution =
            b_.CreateSelect(lanes_.mask, contribution, widen(scalar_.identity(*carry.combine, dtype(carry))));
      }
      llvm::Value*& accumulator = accumulators[offset + c];
      accumulator = combine(*carry.combine, dtype(carry), accumulator, contribution);
    }
  };
  auto tail_mask = [&](llvm::Value* i) {
    llvm::IntegerType* lane = width > 16 ? b_.getInt8Ty() : b_.getInt32Ty();
    llvm::Value* left = b_.CreateSub(extent, i);
    // More than a vector is left when this is the loop over an unrolled loop's remainder.
    left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, b_.getInt64(width));
    return b_.CreateICmpULT(lane_numbers(lane, width), b_.CreateVectorSplat(width, b_.CreateTrunc(left, lane)));
  };

  lanes_ = {loop.variable, width, nullptr};
  constants_block_ = b_.GetInsertBlock();
  constants_.clear();
  Values accumulators;
  for (unsigned u = 0; u < how.unroll; ++u) {
    for (const Carry& carry : loop.carries)
      accumulators.push_back(widen(scalar_.identity(*carry.combine, dtype(carry))));
  }
  size_t carries = loop.carries.size();
  auto one_vector = [&](llvm::Value* i, const Values& arguments) {
    Values next = arguments;
    step(i, next, 0);
    return next;
  };
  const bool held = uses_held(loop);
  // Remaining vectors and tail share one masked body.
  const bool shares_tail = how.masked_tail && (how.unroll > 1 || how.one_body) && !held;
  auto masked_vector = [&](llvm::Value* i, const Values& arguments) {
    lanes_.mask = tail_mask(i);
    if (shares_tail && !facts_.masks_any_size) {
      lanes_.tail = lanes_.mask;
      lanes_.whole = b_.CreateICmpSLE(b_.CreateNSWAdd(i, b_.getInt64(width)), extent);
    }
    Values next = one_vector(i, arguments);
    lanes_.mask = lanes_.tail = lanes_.whole = nullptr;
    return next;
  };
  llvm::Value* unrolled = how.unroll > 1 ? round_down(width * how.unroll) : begin;
  llvm::Value* whole = round_down(width);
  auto main_part = [&](const Values& start) {
    Values sums = start;
    if (how.unroll > 1) {
      const unsigned at_once = width * how.unroll;
      sums =
          run_long_loop(begin, unrolled, at_once, sums, at_once * time, [&](llvm::Value* i, const Values& arguments) {
            Values next = arguments;
            for (unsigned u = 0; u < how.unroll; ++u) {
              step(u == 0 ? i : b_.CreateNSWAdd(i, b_.getInt64(u * width)), next, u * carries);
            }
            return next;
          });
      for (unsigned half = how.unroll / 2; half > 0; half /= 2) {
        for (size_t c = 0; c < half * carries; ++c) {
          const Carry& carry = loop.carries[c % carries];
          sums[c] = combine(*carry.combine, dtype(carry), sums[c], sums[half * carries + c]);
        }
      }
      sums.resize(carries);
    }
    return shares_tail || held ? sums : run_long_loop(unrolled, whole, width, sums, width * time, one_vector);
  };
  accumulators =
      streams_from(loop, width) ? in_both_ways(loop, begin, accumulators, main_part) : main_part(accumulators);
  if (held) {
    // Registers have no address: one vector after the other.
    const int64_t all = llvm::cast<llvm::ConstantInt>(extent)->getSExtValue();
    for (int64_t i = 0; i < all; i += width) {
      accumulators =
          i + width <= all ? one_vector(b_.getInt64(i), accumulators) : masked_vector(b_.getInt64(i), accumulators);
    }
  } else if (how.masked_tail && (shares_tail || !all_whole)) {
    accumulators =
        run_long_loop(shares_tail ? unrolled : whole, extent, width, accumulators, width * time, masked_vector);
  }
  lanes_ = {loop::kNoValue, 0, nullptr};

  for (size_t c = 0; c < carries; ++c) {
    const Carry& carry = loop.carries[c];
    llvm::Value* sum = combine_lanes(*carry.combine, dtype(carry), accumulators[c]);
    accumulators[c] = combine(*carry.combine, dtype(carry), value(carry.init), sum);
  }
  if (!how.masked_tail && !all_whole) {
    accumulators = run_loop(whole, extent, 1, accumulators, one_vector);
  }
  for (size_t c = 0; c < carries; ++c) define(loop.carries[c].result, accumulators[c]);
}

llvm::Value* Emitter::combine(ScalarOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
  return scalar_.apply(op, dtype, a, b);
}

// Halves against each other: the same tree whatever the target makes of it.
llvm::Value* Emitter::combine_lanes(ScalarOp op, DType dtype, llvm::Value* vector) {
  unsigned width = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  while (width > 1) {
    width /= 2;
    llvm::SmallVector<int, 64> low, high;
    for (unsigned i = 0; i < width; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(width + i));
    }
    vector = combine(op, dtype, b_.CreateShuffleVector(vector, low), b_.CreateShuffleVector(vector, high));
  }
  return b_.CreateExtractElement(vector, uint64_t{0});
}

// --------------------------------------------------------------------------------------------------------- while and
// if

void Emitter::emit_while(const loop::While& loop) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = new_block("while");
  llvm::BasicBlock* body = new_block("do");
  llvm::BasicBlock* exit = new_block("done");
  Values inits;
  for (const Carry& carry : loop.carries) inits.push_back(widen(value(carry.init)));
  const std::vector<loop::BufferId> held_arrays = find_held({loop.condition_block, loop.body});
  hold(held_arrays);
  before = b_.GetInsertBlock();
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::SmallVector<llvm::PHINode*, 4> phis;
  for (size_t c = 0; c < inits.size(); ++c) {
    phis.push_back(b_.CreatePHI(inits[c]->getType(), 2));
    phis.back()->addIncoming(inits[c], before);
  }
  for (size_t c = 0; c < inits.size(); ++c) define(loop.carries[c].argument, phis[c]);
  emit_block(loop.condition_block);
  // Lanes whose condition fails keep their values while the others go on.
  llvm::Value* outer_mask = lanes_.mask;
  llvm::Value* active = widen(value(loop.condition));
  if (outer_mask != nullptr) active = b_.CreateAnd(active, outer_mask);
  b_.CreateCondBr(any_lane(active), body, exit);
  b_.SetInsertPoint(body);
  poll(cost_.block(loop.condition_block) + cost_.block(loop.body));
  if (lanes_.width != 0) lanes_.mask = active;
  emit_block(loop.body);
  for (size_t c = 0; c < phis.size(); ++c) {
    llvm::Value* next = widen(value(loop.carries[c].next));
    if (lanes_.width != 0) next = b_.CreateSelect(active, next, phis[c]);
    phis[c]->addIncoming(next, b_.GetInsertBlock());
  }
  // The selects above must precede the branch, and all of them end in one block.
  b_.CreateBr(header);
  lanes_.mask = outer_mask;
  b_.SetInsertPoint(exit);
  for (size_t c = 0; c < phis.size(); ++c) define(loop.carries[c].result, phis[c]);
  release(held_arrays);
}

void Emitter::emit_if(const loop::If& branch) {
  llvm::Value* condition = value(branch.condition);
  bool divergent = condition->getType()->isVectorTy();
  llvm::Value* outer_mask = lanes_.mask;
  // Runs `block` where `mask` says, and returns the values that it hands out, with zeros where it did not run.
  auto guarded = [&](BlockId block, llvm::Value* mask, llvm::function_ref<loop::Value(const loop::If::Merge&)> pick) {
    Values results;
    bool empty = program_.blocks[block].statements.empty();
    if (empty) {
      for (const loop::If::Merge& merge : branch.merges) results.push_back(widen(value(pick(merge))));
      return results;
    }
    llvm::Value* active = outer_mask == nullptr ? mask : b_.CreateAnd(mask, outer_mask);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* inside = new_block("then");
    llvm::BasicBlock* join = new_block("join");
    llvm::BranchInst* enter = b_.CreateCondBr(any_lane(active), inside, join);
    b_.SetInsertPoint(inside);
    if (is_rare(block)) {
      enter->setMetadata(llvm::LLVMContext::MD_prof, llvm::MDBuilder(context_).createBranchWeights(1, 1000));
      std::vector<loop::Value> wanted;
      for (const loop::If::Merge& merge : branch.merges) wanted.push_back(pick(merge));
      results = emit_rare(block, active, wanted);
    } else {
      lanes_.mask = active;
      emit_block(block);
      for (const loop::If::Merge& merge : branch.merges) results.push_back(widen(value(pick(merge))));
      lanes_.mask = outer_mask;
    }
    llvm::BasicBlock* end = b_.GetInsertBlock();
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    for (llvm::Value*& result : results) {
      llvm::PHINode* phi = b_.CreatePHI(result->getType(), 2);
      phi->addIncoming(result, end);
      phi->addIncoming(llvm::Constant::getNullValue(result->getType()), before);
      result = phi;
    }
    return results;
  };
  if (divergent) {
    Values if_true = guarded(branch.then_block, condition, [](const loop::If::Merge& m) { return m.then_value; });
    Values if_false =
        guarded(branch.else_block, b_.CreateNot(condition), [](const loop::If::Merge& m) { return m.else_value; });
    for (size_t i = 0; i < branch.merges.size(); ++i) {
      define(branch.merges[i].result, b_.CreateSelect(condition, if_true[i], if_false[i]));
    }
    return;
  }
  llvm::BasicBlock* then_block = new_block("then");
  llvm::BasicBlock* else_block = new_block("else");
  llvm::BasicBlock* join = new_block("join");
  b_.CreateCondBr(condition, then_block, else_block);
  struct Side {
    Values values;
    llvm::BasicBlock* end;
  };
  auto side = [&](llvm::BasicBlock* start, BlockId block,
                  llvm::function_ref<loop::Value(const loop::If::Merge&)> pick) {
    b_.SetInsertPoint(start);
    emit_block(block);
    Side result;
    for (const loop::If::Merge& merge : branch.merges) result.values.push_back(widen(value(pick(merge))));
    result.end = b_.GetInsertBlock();
    b_.CreateBr(join);
    return result;
  };
  Side if_true = side(then_block, branch.then_block, [](const loop::If::Merge& m) { return m.then_value; });
  Side if_false = side(else_block, branch.else_block, [](const loop::If::Merge& m) { return m.else_value; });
  b_.SetInsertPoint(join);
  llvm::SmallVector<llvm::PHINode*, 4> phis;
  for (size_t i = 0; i < branch.merges.size(); ++i) {
    phis.push_back(b_.CreatePHI(if_true.values[i]->getType(), 2));
    phis.back()->addIncoming(if_true.values[i], if_true.end);
    phis.back()->addIncoming(if_false.values[i], if_false.end);
  }
  for (size_t i = 0; i < phis.size(); ++i) define(branch.merges[i].result, phis[i]);
}

}  // namespace ct::jit
