// A loop over vectors: unrolled with accumulators side by side, then whole vectors one by one, then what is left, under
// a mask or as scalars.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "jit/llvm/loops.h"
#include "jit/llvm/streams.h"

namespace ct::jit {

using loop::Carry;
using loop::For;

namespace {

class VectorLoop {
 public:
  VectorLoop(CpuEmission& e, const For& loop, Vectorization how, llvm::Value* begin, llvm::Value* extent)
      : e_(e),
        b_(e.b),
        loop_(loop),
        how_(how),
        width_(how.width),
        carries_(loop.carries.size()),
        begin_(begin),
        extent_(extent),
        // Pieces of the loop end where it does, or at multiples of any width.
        all_whole_(loop.extent.is_constant() && loop.extent.constant() % how.width == 0 &&
                   kVectorMultiple % how.width == 0),
        held_(uses_held(e, loop)),
        // Remaining vectors and tail share one masked body.
        shares_tail_(how.masked_tail && (how.unroll > 1 || how.one_body) && !held_),
        time_(time_if_long(e, loop)) {}

  void emit() {
    begin_lanes(e_, loop_.variable, width_);
    LlvmValues sums;
    for (unsigned u = 0; u < how_.unroll; ++u) {
      for (const Carry& carry : loop_.carries) sums.push_back(identity(carry));
    }
    unrolled_ = how_.unroll > 1 ? round_down(width_ * how_.unroll) : begin_;
    whole_ = round_down(width_);
    const auto whole_vectors = [&](const LlvmValues& start) { return emit_whole(start); };
    sums = streams_from(e_, loop_, width_) ? in_both_ways(e_, loop_, begin_, sums, whole_vectors) : whole_vectors(sums);
    sums = emit_masked(std::move(sums));
    e_.lanes = {};

    for (size_t c = 0; c < carries_; ++c) {
      const Carry& carry = loop_.carries[c];
      llvm::Value* sum = e_.math.combine_lanes(*carry.combine, dtype(carry), sums[c]);
      sums[c] = combine(carry, value_of(e_, carry.init), sum);
    }
    const auto one = [&](llvm::Value* i, const LlvmValues& arguments) { return vector_at(i, arguments); };
    if (!how_.masked_tail && !all_whole_) sums = e_.code.run_loop(whole_, extent_, 1, sums, one);
    for (size_t c = 0; c < carries_; ++c) e_.values.define(loop_.carries[c].result, sums[c]);
  }

 private:
  DType dtype(const Carry& carry) const { return e_.program.values[carry.init].dtype; }
  llvm::Value* combine(const Carry& carry, llvm::Value* a, llvm::Value* b) {
    return e_.math.apply(*carry.combine, dtype(carry), a, b);
  }
  llvm::Value* identity(const Carry& carry) { return widen(e_, e_.math.identity(*carry.combine, dtype(carry))); }

  llvm::Value* round_down(unsigned multiple) {
    if (all_whole_ && multiple == width_) return extent_;
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(extent_)) {
      const int64_t n = std::max<int64_t>(known->getSExtValue(), 0);
      return b_.getInt64(n - n % multiple);
    }
    llvm::Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, extent_, b_.getInt64(0));
    return b_.CreateAnd(count, b_.getInt64(-static_cast<int64_t>(multiple)));
  }

  // One vector of iterations from `i` on: accumulators [offset, offset + carries) take the contributions.
  void step(llvm::Value* i, LlvmValues& accumulators, size_t offset) {
    e_.values.define(loop_.variable, i);
    emit_block(e_, loop_.body);
    for (size_t c = 0; c < carries_; ++c) {
      const Carry& carry = loop_.carries[c];
      llvm::Value* contribution = widen(e_, value_of(e_, carry.next));
      if (llvm::Value* mask = e_.lanes.mask) contribution = b_.CreateSelect(mask, contribution, identity(carry));
      accumulators[offset + c] = combine(carry, accumulators[offset + c], contribution);
    }
  }

  LlvmValues vector_at(llvm::Value* i, const LlvmValues& arguments) {
    LlvmValues next = arguments;
    step(i, next, 0);
    return next;
  }

  LlvmValues masked_vector_at(llvm::Value* i, const LlvmValues& arguments) {
    auto& lanes = e_.lanes;
    lanes.mask = tail_mask(i);
    if (shares_tail_ && !e_.code.facts.masks_any_size) {
      lanes.tail = lanes.mask;
      lanes.whole = b_.CreateICmpSLE(b_.CreateNSWAdd(i, b_.getInt64(width_)), extent_);
    }
    LlvmValues next = vector_at(i, arguments);
    lanes.mask = lanes.tail = lanes.whole = nullptr;
    return next;
  }

  llvm::Value* tail_mask(llvm::Value* i) {
    llvm::IntegerType* lane = width_ > 16 ? b_.getInt8Ty() : b_.getInt32Ty();
    llvm::Value* left = b_.CreateSub(extent_, i);
    // More than a vector is left when this is the loop over an unrolled loop's remainder.
    left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, b_.getInt64(width_));
    return b_.CreateICmpULT(lane_numbers(lane, width_), b_.CreateVectorSplat(width_, b_.CreateTrunc(left, lane)));
  }

  LlvmValues emit_whole(const LlvmValues& start) {
    const LlvmValues sums = how_.unroll > 1 ? emit_unrolled(start) : start;
    if (shares_tail_ || held_) return sums;
    return run_long_loop(e_, unrolled_, whole_, width_, sums, width_ * time_,
                         [&](llvm::Value* i, const LlvmValues& arguments) { return vector_at(i, arguments); });
  }

  LlvmValues emit_unrolled(const LlvmValues& start) {
    const unsigned at_once = width_ * how_.unroll;
    LlvmValues sums = run_long_loop(e_, begin_, unrolled_, at_once, start, at_once * time_,
                                    [&](llvm::Value* i, const LlvmValues& arguments) {
                                      LlvmValues next = arguments;
                                      for (unsigned u = 0; u < how_.unroll; ++u) {
                                        llvm::Value* at = u == 0 ? i : b_.CreateNSWAdd(i, b_.getInt64(u * width_));
                                        step(at, next, u * carries_);
                                      }
                                      return next;
                                    });
    for (unsigned half = how_.unroll / 2; half > 0; half /= 2) {
      for (size_t c = 0; c < half * carries_; ++c) {
        sums[c] = combine(loop_.carries[c % carries_], sums[c], sums[half * carries_ + c]);
      }
    }
    sums.resize(carries_);
    return sums;
  }

  LlvmValues emit_masked(LlvmValues sums) {
    const auto masked = [&](llvm::Value* i, const LlvmValues& arguments) { return masked_vector_at(i, arguments); };
    if (held_) {
      // Registers have no address: one vector after the other.
      const int64_t all = llvm::cast<llvm::ConstantInt>(extent_)->getSExtValue();
      for (int64_t i = 0; i < all; i += width_) {
        sums = i + width_ <= all ? vector_at(b_.getInt64(i), sums) : masked(b_.getInt64(i), sums);
      }
      return sums;
    }
    if (!how_.masked_tail || (!shares_tail_ && all_whole_)) return sums;
    return run_long_loop(e_, shares_tail_ ? unrolled_ : whole_, extent_, width_, sums, width_ * time_, masked);
  }

  CpuEmission& e_;
  llvm::IRBuilder<>& b_;
  const For& loop_;
  const Vectorization how_;
  const unsigned width_;
  const size_t carries_;
  llvm::Value *begin_, *extent_;
  llvm::Value *unrolled_ = nullptr, *whole_ = nullptr;  // where the unrolled part ends, and the whole vectors
  const bool all_whole_, held_, shares_tail_;
  const double time_;
};

}  // namespace

void emit_vector_for(CpuEmission& e, const For& loop, Vectorization how, llvm::Value* begin, llvm::Value* extent) {
  VectorLoop(e, loop, how, begin, extent).emit();
}

}  // namespace ct::jit
